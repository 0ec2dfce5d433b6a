# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Editing a server's files by hand, so that sources disagree."""

import contextlib

from tempest_format_plugin import cloud
from tempest_format_plugin.tests.scenario import base

# Every undo may be run twice, and where nothing was edited.
EDIT_DISK_INFO = """
cp -a disk.info disk.info.kept
sed -i 's|\\(/disk": "\\)qcow2|\\1raw|' disk.info
"""
UNDO_DISK_INFO = """
[ ! -e disk.info.kept ] || mv disk.info.kept disk.info
"""
# The root disk comes first in the XML.
EDIT_XML = """
virsh -q dumpxml --inactive --security-info "$ID" > inactive.xml.kept
sed "0,/type='qcow2'/s//type='raw'/" inactive.xml.kept > edited.xml
virsh -q define edited.xml < /dev/null
rm edited.xml
"""
UNDO_XML = """
[ ! -e inactive.xml.kept ] || virsh -q define inactive.xml.kept < /dev/null
rm -f inactive.xml.kept
"""
CONVERT_DISK = """
cp -a disk disk.kept
qemu-img convert -f qcow2 -O raw disk disk.converted
mv disk.converted disk
"""
EDIT_BACKING = """
cp -a disk disk.kept
backing=$(qemu-img info --output=json disk |
          sed -n 's/.*"full-backing-filename": "\\(.*\\)".*/\\1/p')
qemu-img rebase -u -f qcow2 -F qcow2 -b "$backing" disk
"""
UNDO_DISK = """
[ ! -e disk.kept ] || mv disk.kept disk
"""


class SabotageTest(base.FormatScenarioTest):
    """A server whose files are edited, one edit after another."""

    needed_hosts = {'qcow2': 1}
    damage = 'It edits files of its server on a compute host'

    def boot_victim(self):
        self.server = self.boot_server(cloud.hosts_of_backend('qcow2')[0])
        self.expect_boot_and_agreement(self.server, 'before-any-edit')

    @contextlib.contextmanager
    def sabotage(self, what, edit, undo):
        """Edit the server's files on its host; undo it and expect agreement.

        :param what: what is edited, for the evidence
        :param edit: shell script, run as root in the instance directory with
            the server's id in $ID
        :param undo: the script that takes it back
        """
        self.what = what
        self.addCleanup(self._root_shell, undo)
        self._root_shell(edit)
        yield
        self._root_shell(undo)
        self.expect_agreement(self.server, f'{what}-undone')

    def _root_shell(self, script):
        host = cloud.compute_hosts().get(self.host_of(self.server))
        directory = host.profile.instance_dir(self.server)
        host.instances_shell(f'set -e\nID={self.server}\ncd {directory}\n'
                             f'{script}').check()

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

import contextlib

from tempest.common import utils
from tempest.lib import decorators

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.scenario import base

DISK_INFO = models.DISK_INFO
FILE = models.FILE
INACTIVE = models.INACTIVE_XML
LIVE = models.LIVE_XML


class TestObservation(base.FormatScenarioTest):
    """The observation itself: a disagreement that was made by hand is seen."""

    needed_hosts = {'qcow2': 1}
    damage = 'It edits files of its server on a compute host'

    @decorators.idempotent_id('9b376ac7-709e-4681-9a11-0461f5f5b821')
    @utils.services('compute', 'image')
    def test_each_sabotage_is_named(self):
        """Each hand-made disagreement is named, and nothing besides.

        1. Boot a server on a host of the qcow2 backend: all agree.
        2. While it runs, edit in turn its root disk's entry in disk.info and
           the driver type in the inactive XML.
        3. Stop it; convert its root disk in place, then declare another
           format for the disk's backing file.
        4. Each time exactly the pairs that the edit broke disagree, and none
           once it is undone.
        """
        self.server = self.boot_server(cloud.hosts_of_backend('qcow2')[0])
        self.expect_boot_and_agreement(self.server, 'before-any-edit')
        with self.sabotage('disk.info', EDIT_DISK_INFO, UNDO_DISK_INFO):
            self.expect_exactly((2, DISK_INFO, FILE), (2, DISK_INFO, LIVE),
                                (2, DISK_INFO, INACTIVE))
        with self.sabotage('inactive-xml', EDIT_XML, UNDO_XML):
            self.expect_exactly((1, INACTIVE, FILE), (1, LIVE, INACTIVE),
                                (2, DISK_INFO, INACTIVE))
        self.stop_server(self.server)
        with self.sabotage('file', CONVERT_DISK, UNDO_DISK):
            self.expect_exactly((1, INACTIVE, FILE), (2, DISK_INFO, FILE))
        with self.sabotage('backing-format', EDIT_BACKING, UNDO_DISK):
            self.expect_exactly((4, FILE, FILE))

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

    def expect_exactly(self, *expected):
        """Expect these (rule, left source, right source), all of the root."""
        _, disagreements = self.observe(self.server, f'{self.what}-edited')
        self.assertEqual(
            sorted(('disk', *pair) for pair in expected),
            sorted((d.disk, d.rule, d.left.source, d.right.source)
                   for d in disagreements))

    def _root_shell(self, script):
        host = cloud.compute_hosts().get(self.host_of(self.server))
        directory = host.profile.instance_dir(self.server)
        host.root_shell(f'set -e\nID={self.server}\ncd {directory}\n'
                        f'{script}').check()


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

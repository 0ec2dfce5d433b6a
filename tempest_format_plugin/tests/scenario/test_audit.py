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

import json
import subprocess
import sys

from tempest.common import utils
from tempest.lib import decorators

from tempest_format_plugin.tests.scenario import sabotage


class TestAudit(sabotage.SabotageTest):
    """``tempest disk-format audit`` sees what the tests see."""

    @decorators.idempotent_id('59ec68ed-2adc-4682-8393-0cc3794e021e')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_each_sabotage_is_listed(self):
        """Each hand-made disagreement is listed, and nothing besides.

        1. Boot a server on a host of the qcow2 backend: an audit of it finds
           nothing.
        2. While it runs, edit in turn its root disk's entry in disk.info and
           the driver type in the inactive XML.
        3. Stop it; convert its root disk in place, then declare another
           format for the disk's backing file.
        4. Each time an audit finds what the observation finds, and nothing
           once it is undone.
        """
        self.boot_victim()
        self.expect_audited()
        with self.sabotage('disk.info', sabotage.EDIT_DISK_INFO,
                           sabotage.UNDO_DISK_INFO):
            self.expect_audited(2)
        with self.sabotage('inactive-xml', sabotage.EDIT_XML,
                           sabotage.UNDO_XML):
            self.expect_audited(1, 2)
        self.stop_server(self.server)
        with self.sabotage('file', sabotage.CONVERT_DISK,
                           sabotage.UNDO_DISK):
            self.expect_audited(1, 2)
        with self.sabotage('backing-format', sabotage.EDIT_BACKING,
                           sabotage.UNDO_DISK):
            self.expect_audited(4)
        self.expect_audited()

    def expect_audited(self, *rules):
        """Expect an audit to find what an observation does.

        :param rules: those that are broken
        """
        _, disagreements = self.observe(self.server, 'beside-the-audit')
        self.assertEqual({*rules}, {one.rule for one in disagreements})
        ended = subprocess.run(
            [sys.executable, '-m', 'tempest.cmd.main', 'disk-format', 'audit',
             '--server', self.server, '--format', 'json'],
            capture_output=True, text=True)
        self.assertEqual(1 if rules else 0, ended.returncode, ended.stderr)
        self.assertEqual(
            sorted((one.disk, one.rule, one.what) for one in disagreements),
            sorted((one['disk'], one['rule'], one['what'])
                   for one in json.loads(ended.stdout)['findings']))

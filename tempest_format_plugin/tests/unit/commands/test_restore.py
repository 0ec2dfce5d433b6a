# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
import fixtures

from tempest_format_plugin import cloud
from tempest_format_plugin.commands import restore
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin.tests.unit.commands import base

EDIT = {'file': '/etc/x.conf', 'holder': 'a test', 'since': 0, 'held': False}
MADE = 'an edit of /etc/x.conf, made by a test at 1970-01-01 00:00:00 UTC'


class RestoreTest(base.CommandTestCase):

    command = restore.Restore
    modules = (cloud,)

    def setUp(self):
        super().setUp()
        self.conf.set(compute_backends={'node-1': 'raw', 'node-2': 'qcow2'})
        self.useFixture(fixtures.MockPatchObject(
            cloud, 'compute_hosts')).mock.return_value.get = str
        self.edits = {}
        self.useFixture(fixtures.MockPatchObject(
            host_edit, 'find', side_effect=lambda host: self.edits.get(host)))
        self.restore = self.useFixture(fixtures.MockPatchObject(
            host_edit, 'restore')).mock

    def restored(self, *arguments):
        """Return the exit status, and the lines that it printed."""
        status, printed, _ = self.run_command(*arguments)
        return status, printed.splitlines()

    def test_nothing(self):
        self.assertEqual((0, ['node-1: nothing to undo',
                              'node-2: nothing to undo']), self.restored())
        self.assertFalse(self.restore.called)

    def test_undo(self):
        self.edits['node-2'] = EDIT
        self.assertEqual((0, ['node-1: nothing to undo',
                              f'node-2: {MADE}: undone']), self.restored())
        self.restore.assert_called_once_with('node-2')

    def test_list(self):
        self.edits['node-1'] = EDIT
        self.assertEqual((1, [f'node-1: {MADE}, held by nobody',
                              'node-2: nothing to undo']),
                         self.restored('--list'))
        self.assertFalse(self.restore.called)

    def test_held(self):
        self.edits['node-1'] = EDIT | {'held': True}
        status, lines = self.restored()
        self.assertEqual(1, status)
        self.assertEqual(f'node-1: {MADE}, still held: left alone', lines[0])
        self.assertFalse(self.restore.called)

    def test_one_that_fails(self):
        self.edits = {'node-1': EDIT, 'node-2': EDIT}
        self.restore.side_effect = [exceptions.EditError(
            'node-1', 'it died', False, 'the log'), True]
        status, lines = self.restored()
        self.assertEqual(1, status)
        self.assertIn('node-1: compute host node-1: it died', lines[0])
        self.assertEqual(f'node-2: {MADE}: undone', lines[1])

    def test_bad_hosts_file(self):
        self.conf.set(hosts_file='/nowhere')
        self.assertEqual(
            (1, '', 'restore: hosts file /nowhere ([disk_format] hosts_file): '
                    'No such file or directory\n'), self.run_command())

    def test_no_hosts(self):
        self.conf.set(compute_backends={})
        self.assertEqual(
            (1, ['neither [disk_format] compute_backends nor its hosts_file '
                 'names a compute host with its backend']),
            self.restored())

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
import os

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.audit import fleet
from tempest_format_plugin.audit import walk
from tempest_format_plugin import cloud
from tempest_format_plugin.commands import audit
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.tests.unit.commands import base
from tempest_format_plugin.tests.unit.formats import observed

SERVERS = [('s-1', 'h-1', 'p', []), ('s-2', 'h-2', 'p', []),
           ('s-3', None, 'p', [])]
SERVER_ID = '22749d77-83a1-4ae9-ade8-7bd9548406cd'


class AuditTest(base.CommandTestCase):

    command = audit.Audit

    def setUp(self):
        super().setUp()
        self.hosts = self.useFixture(fixtures.MockPatchObject(
            cloud, 'compute_hosts')).mock
        self.admin = self.useFixture(fixtures.MockPatchObject(
            cloud, 'admin')).mock
        self.servers = self.useFixture(fixtures.MockPatchObject(
            fleet, 'servers', side_effect=lambda *_: iter(SERVERS))).mock
        self.observe = self.useFixture(fixtures.MockPatchObject(
            fleet.Observer, 'observe')).mock
        self.observe.return_value = observed.server(observed.disk())
        self.leave = self.useFixture(fixtures.MockPatchObject(
            fleet.Observer, 'leave')).mock

    def test_agree(self):
        status, printed, said = self.run_command()
        self.assertEqual(0, status)
        self.assertRegex(printed, '^Of the servers that nova listed at 20.* '
                         "UTC: 2 agrees, 0 disagrees, 0 couldn't tell\n$")
        self.assertIn('1 servers are on no host', said)
        self.assertEqual(['h-1', 'h-2'], sorted(
            call.args[0] for call in self.leave.mock_calls))

    def test_disagree(self):
        self.observe.return_value = observed.server(
            observed.disk(file='qcow2'))
        status, printed, _ = self.run_command('--format', 'json')
        self.assertEqual(1, status)
        self.assertEqual(6, len(json.loads(printed)['findings']))

    def test_unknown(self):
        self.observe.side_effect = [
            observed.server(observed.disk()),
            walk.Untold('cinder has none')]
        status, printed, _ = self.run_command()
        self.assertEqual(2, status)
        self.assertIn('cinder has none', printed)

    def test_filters(self):
        self.run_command('--host', 'h-1', '--host', 'h-2', '--project', 'p',
                         '--server', SERVER_ID)
        self.assertEqual((['h-1', 'h-2'], ['p'], [SERVER_ID]),
                         self.servers.call_args.args[1:4])

    def test_interrupted_and_gone_on_with(self):
        journal = self.useFixture(fixtures.TempDir()).join('journal')
        arguments = ('--journal', journal, '--hosts-at-once', '1')
        self.observe.side_effect = [observed.server(observed.disk()),
                                    KeyboardInterrupt]
        status, printed, said = self.run_command(*arguments)
        self.assertEqual(2, status)
        self.assertIn('1 agrees', printed)
        self.assertIn('1 not looked at', printed)
        self.assertIn('audit: interrupted; waiting for', said)
        self.assertIn('can be gone on with', said)
        self.observe.side_effect = None
        status, printed, _ = self.run_command(*arguments)
        self.assertEqual((0, 1), (status, self.servers.call_count))
        self.assertIn('2 agrees', printed)

    def test_other_servers_than_those_of_the_journal(self):
        journal = self.useFixture(fixtures.TempDir()).join('journal')
        self.run_command('--journal', journal, '--host', 'h-1')
        status, printed, said = self.run_command('--journal', journal,
                                                 '--host', 'h-2')
        self.assertEqual((3, ''), (status, printed))
        self.assertIn('an audit of other servers', said)

    def test_no_servers(self):
        self.servers.side_effect = lambda *_: iter([])
        status, printed, said = self.run_command('--host', 'tpyo')
        self.assertEqual((3, ''), (status, printed))
        self.assertIn('there is no server to look at', said)

    def test_cannot_begin(self):
        """Whatever it is, it isn't the exit status of a disagreement."""
        for error in (lib_exc.Unauthorized('no'), OSError('token=abcdef'),
                      fleet.NoAdmin('no admin')):
            self.admin.side_effect = error
            status, printed, said = self.run_command()
            self.assertEqual((3, ''), (status, printed))
            self.assertIn(f'audit: {type(error).__name__}: ', said)
            self.assertNotIn('abcdef', said)

    def test_options_that_contradict_each_other(self):
        self.hosts.side_effect = exceptions.ProfileError('no', 'profile')
        self.assertEqual(3, self.run_command()[0])

    def test_usage(self):
        for arguments in (['--hosts-at-once', '0'], ['--format', 'xml'],
                          ['--server', '../flavors']):
            error = self.assertRaises(SystemExit, self.run_command,
                                      *arguments)
            self.assertEqual(3, error.code)

    def test_progress(self):
        self.useFixture(fixtures.MockPatchObject(audit, 'PROGRESS', 0))
        said = self.run_command()[2]
        self.assertIn('audit: 3 servers listed\n', said)
        self.assertIn('audit: 2 servers looked at, 0 to go: 2 agrees', said)

    def test_interrupted_while_listing(self):
        self.servers.side_effect = KeyboardInterrupt
        status, printed, said = self.run_command()
        self.assertEqual((3, ''), (status, printed))
        self.assertIn('stopped before', said)

    def test_output(self):
        directory = self.useFixture(fixtures.TempDir())
        path = directory.join('out')
        self.assertEqual('', self.run_command('--output', path)[1])
        with open(path) as output:
            self.assertIn('2 agrees', output.read())

    def test_output_that_fails(self):
        """What was there stays."""
        directory = self.useFixture(fixtures.TempDir())
        path = directory.join('out')
        with open(path, 'w') as output:
            output.write('yesterday')
        self.useFixture(fixtures.MockPatch(
            'os.replace', side_effect=OSError('No space left')))
        status, _, said = self.run_command('--output', path)
        self.assertEqual(3, status)
        self.assertIn('No space left', said)
        with open(path) as output:
            self.assertEqual('yesterday', output.read())
        self.assertEqual(['out'], os.listdir(directory.path))

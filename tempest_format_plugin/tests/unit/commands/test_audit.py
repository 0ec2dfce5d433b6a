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

import io
import json
from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.audit import fleet
from tempest_format_plugin.commands import audit
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

SERVERS = [('s-1', 'h-1', 'p', False), ('s-2', 'h-2', 'p', False),
           ('s-3', None, 'p', False)]


class AuditTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.admin = self.useFixture(fixtures.MockPatchObject(
            fleet, 'admin')).mock
        self.servers = self.useFixture(fixtures.MockPatchObject(
            fleet, 'servers', side_effect=lambda *_: iter(SERVERS))).mock
        self.observe = self.useFixture(fixtures.MockPatchObject(
            fleet.Observer, 'observe')).mock
        self.observe.return_value = observed.server(observed.disk())
        self.leave = self.useFixture(fixtures.MockPatchObject(
            fleet.Observer, 'leave')).mock

    def run_command(self, *arguments):
        """Return the exit status, what it printed and what it said."""
        streams = [self.useFixture(fixtures.MockPatch(
            f'sys.{name}', new_callable=io.StringIO)).mock
            for name in ('stdout', 'stderr')]
        one = audit.Audit(mock.Mock(), None)
        status = one.run(one.get_parser('x').parse_args([*arguments]))
        return status, *(stream.getvalue() for stream in streams)

    def test_agree(self):
        status, printed, said = self.run_command()
        self.assertEqual(0, status)
        self.assertEqual("2 agrees, 0 disagrees, 0 couldn't tell\n", printed)
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
            audit.walk.ServerGone('it was deleted meanwhile')]
        status, printed, _ = self.run_command()
        self.assertEqual(2, status)
        self.assertIn('it was deleted meanwhile', printed)

    def test_filters(self):
        self.run_command('--host', 'h-1', '--host', 'h-2', '--project', 'p',
                         '--server', 's')
        self.assertEqual((['h-1', 'h-2'], ['p'], ['s']),
                         self.servers.call_args.args[1:])

    def test_interrupted_and_gone_on_with(self):
        journal = self.useFixture(fixtures.TempDir()).join('journal')
        arguments = ('--journal', journal, '--hosts-at-once', '1')
        self.observe.side_effect = [observed.server(observed.disk()),
                                    KeyboardInterrupt]
        status, printed, said = self.run_command(*arguments)
        self.assertEqual(2, status)
        self.assertIn('1 agrees', printed)
        self.assertIn('1 not looked at', printed)
        self.assertIn('can be gone on with', said)
        self.observe.side_effect = None
        status, printed, _ = self.run_command(*arguments)
        self.assertEqual((0, 1), (status, self.servers.call_count))
        self.assertIn('2 agrees', printed)

    def test_cannot_begin(self):
        self.admin.side_effect = lib_exc.Unauthorized('no')
        status, printed, said = self.run_command()
        self.assertEqual((3, ''), (status, printed))
        self.assertIn('audit: Unauthorized', said)

    def test_output(self):
        path = self.useFixture(fixtures.TempDir()).join('out')
        self.assertEqual('', self.run_command('--output', path)[1])
        with open(path) as output:
            self.assertIn('2 agrees', output.read())

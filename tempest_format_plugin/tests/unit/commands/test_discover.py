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

import pathlib
from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.commands import discover
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.discovery import find
from tempest_format_plugin import hosts_file
from tempest_format_plugin.tests.unit.commands import base
from tempest_format_plugin.tests.unit.discovery import found

FACTS = facts.CloudFacts(hosts=(found.host(),), images=(found.image(1),))


class DiscoverTest(base.CommandTestCase):

    command = discover.Discover

    def setUp(self):
        super().setUp()
        self.look = self.useFixture(fixtures.MockPatchObject(
            find, 'look', return_value=FACTS)).mock

    def test_all_found(self):
        status, printed, said = self.run_command()
        self.assertEqual((0, ''), (status, said))
        self.assertIn('compute_backends = host-1:raw\n', printed)
        self.look.assert_called_once_with([], 20, mock.ANY)

    def test_progress(self):
        self.look.side_effect = (
            lambda hosts, at_once, told: told('asking') or FACTS)
        self.assertEqual('discover: asking\n', self.run_command()[2])

    def test_partly(self):
        self.look.return_value = facts.CloudFacts(hosts=(
            found.host(problems=('no virsh',)),))
        status, printed, said = self.run_command(
            '--host', 'host-1', '--host', 'h', '--hosts-at-once', '3')
        self.assertEqual((1, 'discover: host-1: no virsh\n'), (status, said))
        self.assertIn('# - host-1: no virsh\n', printed)
        self.look.assert_called_once_with(['host-1', 'h'], 3, mock.ANY)

    def test_orders_to_the_terminal(self):
        self.look.return_value = facts.CloudFacts(hosts=(
            found.host(problems=('a\x1b]0;x\x07b\r\x9bc\nd',)),))
        _, printed, said = self.run_command()
        self.assertEqual('discover: host-1: a\\x1b]0;x\\x07b \\x9bc d\n', said)
        self.assertTrue(printed.replace('\n', '').isprintable())

    def test_nothing(self):
        for error in (lib_exc.Unauthorized('password = secret'),
                      OSError('no route'), KeyError('x')):
            self.look.side_effect = error
            status, printed, said = self.run_command()
            self.assertEqual((2, ''), (status, printed))
            self.assertIn(f'discover: {type(error).__name__}: ', said)
            self.assertNotIn('secret', said)

    def test_no_configuration(self):
        status, _, said = self.run_command('--config-file', '/nowhere')
        self.assertEqual(2, status)
        self.assertIn('--config-file /nowhere: expected a file, found none',
                      said)

    def test_interrupted(self):
        self.look.side_effect = KeyboardInterrupt
        self.assertEqual(
            (2, '', 'discover: stopped before there was anything to tell\n'),
            self.run_command())

    def test_added_to_a_file(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'c'
        path.write_text('[auth]\nadmin_username = admin\n')
        status, printed, _ = self.run_command('--output', str(path))
        self.assertEqual((0, ''), (status, printed))
        text = path.read_text()
        self.assertIn('[auth]\nadmin_username = admin\n\n# Found out', text)
        self.assertIn('compute_backends = host-1:raw\n', text)

    def test_hosts_file(self):
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'hosts.yaml'
        self.assertNotIn('hosts_file', self.run_command(
            '--hosts-file', str(path))[1])
        self.assertFalse(path.exists())
        self.look.return_value = facts.CloudFacts(hosts=(
            found.host(), found.host('host-2'),
            found.host('host-3', deployment='rdo',
                       overrides={'instances_path': '/srv'})))
        status, printed, _ = self.run_command('--hosts-file', str(path))
        self.assertEqual(0, status)
        self.assertIn(f'hosts_file = {path}\n', printed)
        # It can be read as what it is for.
        self.assertEqual({'host-3': hosts_file.Host(
            profile='rdo', overrides={'instances_path': '/srv'})},
            hosts_file.read(str(path)))

    def test_file_that_cannot_be_written(self):
        status, _, said = self.run_command('--output', '/nowhere/x')
        self.assertEqual(2, status)
        self.assertIn('FileNotFoundError', said)
        # Before anything is asked.
        self.assertFalse(self.look.called)

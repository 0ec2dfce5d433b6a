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


from unittest import mock
import uuid

import fixtures
from oslo_config import cfg
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models
from tempest_format_plugin.guests import boot
from tempest_format_plugin.guests import exceptions as guest_exceptions
from tempest_format_plugin.tests.scenario import base as scenario_base
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

SERVER = 'some-server'
HOST = observed.HOST
ONE, TWO, THREE = (str(uuid.UUID(int=number)) for number in (1, 2, 3))


def console(boot_id, counter):
    """Return what the lab's guest writes in one boot."""
    return '\r\n'.join([
        '', f'FORMAT-GUEST boot_id={boot_id} root=vda',
        f'FORMAT-GUEST disk=vda sectors={observed.SIZE // 512} serial=',
        f'FORMAT-GUEST ready boot_id={boot_id} counter={counter}', ''])


class SkipChecksTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud, scenario_base))
        self.conf.register_opt(cfg.BoolOpt('console_output', default=True),
                               'compute_feature_enabled')
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'skip_checks'))

    def skip_checks(self, **hosts):
        class Scenario(scenario_base.FormatScenarioTest):
            needed_hosts = hosts
        Scenario.skip_checks()

    def assertSkips(self, reason, **hosts):
        error = self.assertRaises(self.skipException, self.skip_checks,
                                  **hosts)
        self.assertEqual(reason, str(error))

    def test_nothing_needed(self):
        self.skip_checks()

    def test_enough(self):
        self.conf.set(compute_backends={'a': 'raw', 'b': 'flat',
                                        'c': 'qcow2'})
        self.skip_checks(raw=2, qcow2=1)

    def test_too_few(self):
        self.conf.set(compute_backends={'a': 'raw', 'c': 'qcow2'})
        self.assertSkips('2 compute hosts of the image backend raw are '
                         'needed, [disk_format] compute_backends names 1',
                         qcow2=1, raw=2)

    def test_no_console(self):
        self.conf.config(console_output=False,
                         group='compute_feature_enabled')
        self.assertSkips('The proof of boot is read from the console: '
                         '[compute-feature-enabled] console_output is false')

    def test_unknown_bug_is_no_skip(self):
        self.conf.set(known_bugs=['1'])
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'resource_setup'))
        self.assertRaises(
            exceptions.FormatsError,
            scenario_base.FormatScenarioTest.resource_setup)


class ScenarioTestCase(base.TestCase):
    """A scenario on a cloud of which only the answers exist."""

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud, scenario_base))
        self.conf.set(boot_timeout=1, operation_timeout=1,
                      boot_marker='FORMAT-GUEST ready')
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'setUp'))
        self.useFixture(fixtures.MockPatch('time.sleep'))
        self.servers = mock.Mock()
        self.answer()
        self.console('')

        class Scenario(scenario_base.FormatScenarioTest):
            os_admin = mock.Mock(servers_client=self.servers)

            def runTest(self):
                """What a TestCase must have."""
        self.scenario = Scenario()
        self.scenario.setUp()

    def answer(self, status='ACTIVE', task=None, host=HOST, **fields):
        self.servers.show_server.return_value = {'server': {
            'status': status, 'OS-EXT-STS:task_state': task,
            'OS-EXT-SRV-ATTR:host': host, **fields}}

    def console(self, text):
        self.servers.get_console_output.return_value = {'output': text}


class WaitForStatusTest(ScenarioTestCase):

    def wait(self, status='VERIFY_RESIZE'):
        self.scenario._wait_for_status(SERVER, status)

    def test_reached(self):
        self.answer('VERIFY_RESIZE')
        self.wait()

    def test_reached_once_the_task_is_over(self):
        answers = [{'server': {'status': status, 'OS-EXT-STS:task_state': task,
                               'OS-EXT-SRV-ATTR:host': HOST}}
                   for status, task in (
                       ('ACTIVE', 'resize_prep'), ('VERIFY_RESIZE', 'late'),
                       ('VERIFY_RESIZE', None))]
        self.servers.show_server.side_effect = answers
        self.wait()
        self.assertEqual(3, self.servers.show_server.call_count)

    def test_not_in_time(self):
        self.answer('RESIZE', 'resize_migrating')
        # time.time is call_until_true's clock.
        self.useFixture(fixtures.MockPatch('time.time',
                                           side_effect=range(100)))
        error = self.assertRaises(lib_exc.TimeoutException, self.wait)
        self.assertIn('server some-server on node-1: expected status '
                      'VERIFY_RESIZE within 1 s, it is RESIZE, task '
                      'resize_migrating', str(error))

    def test_error(self):
        self.answer('ERROR', fault={'message': 'No valid host'})
        error = self.assertRaises(AssertionError, self.wait)
        self.assertIn('server some-server on node-1: No valid host',
                      str(error))

    def test_error_without_a_fault(self):
        self.answer('ERROR')
        error = self.assertRaises(AssertionError, self.wait)
        self.assertIn('no fault recorded', str(error))


class VerbsTest(ScenarioTestCase):

    def test_cold_migrate(self):
        self.answer('VERIFY_RESIZE', host='node-2')
        self.scenario.cold_migrate(SERVER, 'node-2')
        self.servers.migrate_server.assert_called_once_with(SERVER,
                                                            host='node-2')

    def test_on_another_host(self):
        self.answer('VERIFY_RESIZE', host='node-3')
        error = self.assertRaises(
            AssertionError, self.scenario.cold_migrate, SERVER, 'node-2')
        self.assertIn('server some-server is on another host', str(error))

    def test_console_that_is_gone(self):
        for error in (lib_exc.NotFound, lib_exc.Conflict):
            self.servers.get_console_output.side_effect = error
            self.assertEqual('', self.scenario._console(SERVER))


class ExpectTest(ScenarioTestCase):

    def setUp(self):
        super().setUp()
        self.disks = [observed.disk()]
        host = mock.Mock()
        host.observe.side_effect = lambda server: observed.server(*self.disks)
        self.useFixture(fixtures.MockPatchObject(cloud, 'compute_hosts')
                        ).mock.return_value.get.return_value = host
        self.heartbeat = self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_heartbeat', autospec=True)).mock
        self.scenario._console_before[SERVER] = ''

    def expect(self, when='after'):
        self.scenario.expect_boot_and_agreement(SERVER, when)

    def booted(self, boot_id, counter):
        """Let the guest boot, as is expected."""
        self.console(console(boot_id, counter))
        self.expect('before')

    def operate(self):
        """Do whatever should make the guest boot again."""
        self.scenario._expect_new_boot(SERVER)

    def silent(self):
        """Let the guest stay silent from now on."""
        self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_boot', return_value=boot.Boot(
                bugs.SILENT, 'SeaBIOS', None, 45.0)))

    def detail(self, name):
        return self.scenario.getDetails()[name].as_text()

    def test_evidence(self):
        self.booted(ONE, 1)
        self.assertEqual(['1-before.txt', '1-before.json'],
                         list(self.scenario.getDetails()))
        table = self.detail('1-before.txt')
        self.assertIn(SERVER, table)
        self.assertIn(f'1 times, now as {ONE}', table)

    def test_steps_are_numbered(self):
        self.scenario.expect_agreement(SERVER, 'before')
        self.scenario.expect_agreement(SERVER, 'after')
        self.assertEqual(['1-before.txt', '1-before.json', '2-after.txt',
                          '2-after.json'], list(self.scenario.getDetails()))

    def test_boots_again(self):
        self.booted(ONE, 1)
        self.operate()
        self.console(console(TWO, 2))
        self.expect()
        self.assertEqual([ONE, TWO],
                         [call.args[1] for call in
                          self.heartbeat.call_args_list])

    def assertBootsAnotherDisk(self, counter):
        self.booted(ONE, 1)
        self.operate()
        self.console(console(TWO, counter))
        error = self.assertRaises(AssertionError, self.expect)
        self.assertNotIsInstance(error, (verdicts.DisagreementFound,
                                         verdicts.GuestSilent))
        self.assertIn(
            'after: the root disk of server some-server is not the one that '
            'booted before: its boot counter is wrong', str(error))

    def test_boot_of_a_fresh_disk(self):
        self.assertBootsAnotherDisk(1)

    def test_boot_in_between(self):
        self.assertBootsAnotherDisk(3)

    def test_guest_that_stops_writing(self):
        self.heartbeat.side_effect = guest_exceptions.HeartbeatError(
            ONE, 'a write to the root disk failed', '')
        self.console(console(ONE, 1))
        self.assertRaises(guest_exceptions.HeartbeatError, self.expect)

    def test_guest_without_boot_ids(self):
        self.conf.set(boot_marker='login:')
        self.console('cirros login: ')
        self.expect()
        self.operate()
        self.console('cirros login: reboot\r\ncirros login: ')
        self.expect()
        self.heartbeat.assert_not_called()

    def test_disagreement_comes_before_the_counter(self):
        self.booted(ONE, 1)
        self.operate()
        self.console(console(TWO, 1))
        self.disks = [observed.disk(info='qcow2')]
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual(bugs.BOOTED, error.outcome)

    def test_disagreement_comes_before_the_silence(self):
        self.silent()
        self.disks = [observed.disk(file='qcow2')]
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual((bugs.SILENT, SERVER),
                         (error.outcome, error.server.server_id))
        self.assertEqual('SeaBIOS', self.detail('1-after-console.txt'))

    def test_silent(self):
        self.silent()
        error = self.assertRaises(verdicts.GuestSilent, self.expect)
        self.assertIn("after: the guest of server some-server did not write "
                      "'FORMAT-GUEST ready' to its console within 1 s; the "
                      "console ends with: 'SeaBIOS'", str(error))
        self.assertIn(SERVER, self.detail('1-after.txt'))

    def test_silence_after_a_boot(self):
        self.booted(ONE, 1)
        self.operate()
        self.silent()
        self.disks = [observed.disk(file='qcow2')]
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual(bugs.SILENT, error.outcome)
        # What the guest told before is no evidence of now.
        self.assertIsNone(error.server.of('disk', models.GUEST))

    def test_size_that_the_guest_sees(self):
        self.console(console(ONE, 1).replace(str(observed.SIZE // 512), '8'))
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual([5], [one.rule for one in error.disagreements])

    def revert(self):
        self.answer('ACTIVE')
        self.scenario.revert_resize(SERVER, HOST)
        self.console(console(THREE, 2))
        self.expect()

    def migrate(self):
        self.answer('VERIFY_RESIZE', host='node-2')
        self.scenario.cold_migrate(SERVER, 'node-2')

    def test_revert_brings_back_the_disk_of_the_source(self):
        self.booted(ONE, 1)
        self.migrate()
        self.revert()

    def test_revert_after_a_boot_on_the_target(self):
        self.booted(ONE, 1)
        self.migrate()
        self.booted(TWO, 2)
        self.revert()

    def test_revert_that_brings_back_another_disk(self):
        self.booted(ONE, 3)
        self.migrate()
        error = self.assertRaises(AssertionError, self.revert)
        self.assertIn('its boot counter is wrong', str(error))

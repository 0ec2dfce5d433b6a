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
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import models
from tempest_format_plugin.guests import boot
from tempest_format_plugin.guests import exceptions as guest_exceptions
from tempest_format_plugin.hosts import exceptions as hosts_exceptions
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
        *(f'FORMAT-GUEST disk={disk} sectors={observed.SIZE // 512} serial='
          for disk in ('vda', 'vdb', 'vdc')),
        f'FORMAT-GUEST ready boot_id={boot_id} counter={counter}', ''])


class SkipChecksTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud, scenario_base))
        self.conf.config(group='compute', max_microversion='2.74')
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'skip_checks'))

    def skip_checks(self, placement=None, features=(), **hosts):
        class Scenario(scenario_base.FormatScenarioTest):
            needed_features = features
            needed_hosts = hosts
            placement_min_microversion = placement
        Scenario.skip_checks()

    def assertSkips(self, reason, **needed):
        error = self.assertRaises(self.skipException, self.skip_checks,
                                  **needed)
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

    def test_feature_that_is_off(self):
        for feature in ('console_output', 'config_drive'):
            self.conf.config(group='compute-feature-enabled',
                             **{feature: False})
            self.assertSkips(f'[compute-feature-enabled] {feature} is false')
            self.conf.config(group='compute-feature-enabled',
                             **{feature: True})

    def test_feature_that_a_class_needs(self):
        self.conf.config(group='compute-feature-enabled', resize=False)
        self.assertSkips('[compute-feature-enabled] resize is false',
                         features=('resize',))
        self.skip_checks()

    def test_compute_microversion(self):
        for limit in (None, '2.9', '2.73'):
            self.conf.config(group='compute', max_microversion=limit)
            self.assertSkips('[compute] max_microversion must be 2.74 or '
                             f'later, it is {limit}')
        for limit in ('2.74', '2.100', 'latest'):
            self.conf.config(group='compute', max_microversion=limit)
            self.skip_checks()

    def test_placement_microversion(self):
        self.assertSkips('[placement] max_microversion must be 1.6 or later, '
                         'it is None', placement='1.6')
        self.conf.config(group='placement', max_microversion='1.39')
        self.skip_checks(placement='1.6')

    def test_unknown_bug_is_no_skip(self):
        self.conf.set(known_bugs=['1'])
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'resource_setup'))
        error = self.assertRaises(
            lib_exc.InvalidConfiguration,
            scenario_base.FormatScenarioTest.resource_setup)
        self.assertIn('[disk_format] known_bugs: ', str(error))


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
        self.servers.list_instance_actions.return_value = {'instanceActions': [
            {'action': 'migrate', 'request_id': 'req-2'},
            {'action': 'create', 'request_id': 'req-1'}]}
        self.events()
        self.answer()
        self.console('')

        self.admin = mock.MagicMock(servers_client=self.servers)

        class Scenario(scenario_base.FormatScenarioTest):
            os_admin = self.admin

            def runTest(self):
                """What a TestCase must have."""
        self.scenario = Scenario()
        self.scenario.setUp()

    def answer(self, status='ACTIVE', task=None, host=HOST, **fields):
        self.servers.show_server.return_value = {'server': {
            'status': status, 'OS-EXT-STS:task_state': task,
            'OS-EXT-SRV-ATTR:host': host, **fields}}

    def events(self, *events):
        self.servers.show_instance_action.return_value = {
            'instanceAction': {'events': events}}

    def console(self, text):
        self.servers.get_console_output.return_value = {'output': text}


class WaitForStatusTest(ScenarioTestCase):

    def wait(self, **options):
        self.scenario._wait_for_status(SERVER, 'VERIFY_RESIZE', **options)

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
        self.assertEqual(
            'server some-server on node-1: expected status VERIFY_RESIZE, it '
            'is ERROR: No valid host; last operation migrate (req-2): no '
            'events', str(error))

    def test_error_without_a_fault(self):
        self.answer('ERROR')
        error = self.assertRaises(AssertionError, self.wait)
        self.assertIn('no fault recorded', str(error))

    def test_rolled_back(self):
        self.answer('ACTIVE')
        self.events({'event': 'prep', 'host': 'node-2', 'result': 'Error',
                     'details': 'No space left'},
                    {'event': 'select', 'result': 'Success', 'details': None})
        error = self.assertRaises(AssertionError, self.wait,
                                  rolled_back='ACTIVE')
        self.assertEqual(1, self.servers.show_server.call_count)
        self.servers.show_instance_action.assert_called_once_with(SERVER,
                                                                  'req-2')
        self.assertIn(
            'expected status VERIFY_RESIZE, it is ACTIVE: no fault recorded; '
            'last operation migrate (req-2): prep on node-2: Error No space '
            'left; select on None: Success', str(error))


class VerbsTest(ScenarioTestCase):

    def boot_server(self):
        self.conf.config(group='compute', image_ref='some-image')
        self.admin.flavors_client.create_flavor.return_value = {
            'flavor': {'id': 'some-flavor'}}
        self.servers.create_server.return_value = {'server': {'id': SERVER}}
        return self.scenario.boot_server(HOST)

    def test_boot_server(self):
        self.assertEqual(SERVER, self.boot_server())
        self.servers.create_server.assert_called_once_with(
            name=mock.ANY, imageRef='some-image', flavorRef='some-flavor',
            host=HOST, networks='none', config_drive=True)

    def test_boot_server_on_another_host(self):
        self.answer(host='node-2')
        error = self.assertRaises(AssertionError, self.boot_server)
        self.assertIn('server some-server is on another host', str(error))

    def test_server_that_does_not_come_up_is_deleted(self):
        self.useFixture(fixtures.MockPatchObject(
            self.scenario, '_wait_for_status', side_effect=LookupError))
        self.assertRaises(LookupError, self.boot_server)
        self.admin.reset_mock()
        self.admin.servers_client.show_server.side_effect = lib_exc.NotFound
        self.scenario.doCleanups()
        self.assertEqual(
            [mock.call.servers_client.delete_server(SERVER),
             mock.call.servers_client.show_server(SERVER),
             mock.call.flavors_client.delete_flavor('some-flavor')],
            self.admin.mock_calls)

    def test_server_that_does_not_go(self):
        self.conf.set(operation_timeout=1)
        self.useFixture(fixtures.MockPatch('time.sleep'))
        self.useFixture(fixtures.MockPatch('time.time',
                                           side_effect=range(100)))
        error = self.assertRaises(lib_exc.TimeoutException,
                                  self.scenario._wait_for_deletion, SERVER)
        self.assertIn(f'server {SERVER}: expected to be gone', str(error))

    def test_migration_that_nova_gave_up(self):
        for operation in (self.scenario.cold_migrate, self.scenario.resize):
            with mock.patch.object(self.scenario, '_mark_host'):
                error = self.assertRaises(AssertionError, operation, SERVER,
                                          HOST)
            self.assertIn('expected status VERIFY_RESIZE, it is ACTIVE',
                          str(error))

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


class TraitsTest(ScenarioTestCase):

    def setUp(self):
        super().setUp()
        self.admin.hypervisor_client.list_hypervisors.return_value = {
            'hypervisors': [{'id': f'provider-{number}',
                             'hypervisor_hostname': f'node-{number}.example',
                             'service': {'host': f'node-{number}'}}
                            for number in (1, 2)]}
        self.client = self.admin.resource_providers_client
        self.client.list_resource_provider_traits.side_effect = ({
            'traits': ['HW_CPU', f'CUSTOM_{generation}'],
            'resource_provider_generation': generation}
            for generation in range(100))
        self.update = self.client.update_resource_provider_traits

    def test_mark_host(self):
        trait = self.scenario._mark_host('node-2')
        self.update.assert_called_once_with(
            'provider-2', resource_provider_generation=0,
            traits=sorted(['HW_CPU', 'CUSTOM_0', trait]))

    def test_mark_of_a_host_that_nova_does_not_know(self):
        error = self.assertRaises(AssertionError, self.scenario._mark_host,
                                  'node-3')
        self.assertIn('[disk_format] compute_backends names a host that nova '
                      'has no hypervisor of', str(error))
        self.update.assert_not_called()

    def test_traits_that_change_under_the_update(self):
        self.update.side_effect = [lib_exc.Conflict, None]
        self.scenario._update_traits('provider-1', lambda traits: traits)
        self.assertEqual(
            [mock.call('provider-1', resource_provider_generation=generation,
                       traits=[f'CUSTOM_{generation}', 'HW_CPU'])
             for generation in (0, 1)], self.update.call_args_list)

    def test_traits_that_go_on_changing(self):
        self.update.side_effect = lib_exc.Conflict
        self.useFixture(fixtures.MockPatch('time.time',
                                           side_effect=range(100)))
        error = self.assertRaises(
            AssertionError, self.scenario._update_traits, 'provider-1',
            lambda traits: traits)
        self.assertIn('provider-1 kept changing', str(error))


class ExpectTest(ScenarioTestCase):

    def setUp(self):
        super().setUp()
        self.disks = {name: observed.disk(name)
                      for name in scenario_base.DISKS}
        self.state = 'running'
        host = mock.Mock()
        host.profile.instances_path = '/var/lib/nova/instances'
        host.observe.side_effect = lambda server: observed.server(
            *self.disks.values(), state=self.state)
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
        error = self.assertRaises(verdicts.OtherDiskBooted, self.expect)
        self.assertEqual(
            'after: expected boot 2 of the root disk of server some-server, '
            f'the guest tells of its boot {counter}: another disk, or another '
            'state of it', str(error))

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

    def test_guest_that_is_not_understood(self):
        self.console('FORMAT-GUEST ready: boot one\r\n')
        error = self.assertRaises(AssertionError, self.expect)
        self.assertIn('after: what the guest of server some-server tells of '
                      'its boot is not understood', str(error))

    def test_guest_that_leaves_out_a_disk(self):
        self.console(console(ONE, 1).replace('disk=vdc', 'disk=sda'))
        error = self.assertRaises(AssertionError, self.expect)
        self.assertIn('the guest of server some-server told of its disks, '
                      'but not of vdc (disk.swap)', str(error))

    def assertRefuses(self, problem, option):
        error = self.assertRaises(
            hosts_exceptions.HostAccessError, self.scenario.expect_agreement,
            SERVER, 'before')
        self.assertEqual((HOST, problem, option),
                         (error.host, error.problem, error.option))

    def assertRefusesXml(self, disk, domain):
        self.assertRefuses(
            f'expected {disk} in the domain XML of server some-server, which '
            f'nova says is here; the domain is {domain}',
            'compute_addresses, virsh_command or container_name')

    def test_absent_domain(self):
        self.state = models.ABSENT
        self.disks = {}
        self.assertRefusesXml('disk', 'absent and has no disks')

    def test_absent_domain_whose_files_are_there(self):
        self.state = models.ABSENT
        self.disks = {'disk': observed.disk(live=None, inactive=None)}
        self.assertRefusesXml('disk', 'absent and has no disks')

    def test_disk_that_is_missing(self):
        del self.disks['disk.swap']
        self.assertRefusesXml(
            'disk.swap', 'running and has disk, disk.config, disk.eph0')

    def test_disks_elsewhere(self):
        self.disks['disk'] = observed.disk(live_xml={'path': '/nova/disk'})
        self.assertRefuses(
            'expected disk of server some-server in '
            '/var/lib/nova/instances/some-server, the domain XML has '
            '/nova/disk', 'instances_path')

    def test_stopped_server(self):
        self.disks = {name: observed.disk(name, live=None)
                      for name in scenario_base.DISKS}
        self.scenario.expect_agreement(SERVER, 'stopped')

    def test_what_is_found_after_an_operation_is_told(self):
        self.disks['disk'] = observed.disk(file='qcow2')

        def found():
            return self.assertRaises(
                verdicts.DisagreementFound, self.scenario.expect_agreement,
                SERVER, 'now').after_operation
        self.assertFalse(found())
        self.migrate()
        self.assertTrue(found())
        self.answer('ACTIVE', host='node-2')
        self.scenario.confirm_resize(SERVER)
        self.assertTrue(found())

    def test_what_is_found_after_a_resize_is_told(self):
        self.disks['disk'] = observed.disk(file='qcow2')
        self.answer('VERIFY_RESIZE', host='node-2')
        with mock.patch.object(self.scenario, '_mark_host'):
            self.scenario.resize(SERVER, 'node-2')
        error = self.assertRaises(
            verdicts.DisagreementFound, self.scenario.expect_agreement,
            SERVER, 'now')
        self.assertTrue(error.after_operation)

    def test_disagreement_comes_before_the_counter(self):
        self.booted(ONE, 1)
        self.operate()
        self.console(console(TWO, 1))
        self.disks['disk'] = observed.disk(info='qcow2')
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual(bugs.BOOTED, error.outcome)

    def test_disagreement_comes_before_the_silence(self):
        self.silent()
        self.disks['disk'] = observed.disk(file='qcow2')
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual((bugs.SILENT, SERVER),
                         (error.outcome, error.server.server_id))
        self.assertEqual('SeaBIOS', self.detail('1-after-console.txt'))

    def test_nobody_has_waited_for_the_guest(self):
        # That is not silence: no signature may be made of it.
        self.booted(ONE, 1)
        self.operate()
        self.disks['disk'] = observed.disk(file='qcow2')
        error = self.assertRaises(verdicts.DisagreementFound,
                                  self.scenario.expect_agreement, SERVER,
                                  'after')
        self.assertIsNone(error.outcome)
        self.assertIn('guest not waited for', str(error))

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
        self.disks['disk'] = observed.disk(file='qcow2')
        error = self.assertRaises(verdicts.DisagreementFound, self.expect)
        self.assertEqual(bugs.SILENT, error.outcome)
        # What the guest told before is no evidence of now.
        self.assertIsNone(error.server.of('disk', models.GUEST))

    def test_size_that_the_guest_sees(self):
        self.console(console(ONE, 1).replace(
            f'vda sectors={observed.SIZE // 512}', 'vda sectors=8'))
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
        self.assertRaises(verdicts.OtherDiskBooted, self.revert)

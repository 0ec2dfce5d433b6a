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

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.unit.scenario import base

SERVER, HOST, TARGET = base.SERVER, base.HOST, base.TARGET


class WaitForStatusTest(base.ScenarioTestCase):

    def wait(self, **options):
        self.scenario.wait_for_status(SERVER, 'VERIFY_RESIZE', **options)

    def test_reached(self):
        self.answer('VERIFY_RESIZE')
        self.wait()
        self.assertEqual(0, self.clock.now)

    def test_reached_once_the_task_is_over(self):
        self.answers(base.answer('ACTIVE', 'resize_prep'),
                     base.answer('VERIFY_RESIZE', 'late'),
                     base.answer('VERIFY_RESIZE'))
        self.wait()
        self.assertEqual(3, self.servers.show_server.call_count)

    def test_not_in_time(self):
        self.answer('RESIZE', 'resize_migrating')
        error = self.assertRaises(lib_exc.TimeoutException, self.wait)
        self.assertIn('server some-server on node-1: expected status '
                      'VERIFY_RESIZE within 5 s, it is RESIZE, task '
                      'resize_migrating', str(error))
        self.assertEqual(5, self.clock.now)

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
        self.events({'event': 'prep', 'host': 'node-2', 'result': 'Error',
                     'details': 'No space left'},
                    {'event': 'select', 'result': 'Success', 'details': None})
        error = self.assertRaises(AssertionError, self.wait,
                                  rolled_back='ACTIVE')
        self.servers.show_instance_action.assert_called_once_with(SERVER,
                                                                  'req-2')
        self.assertIn(
            'expected status VERIFY_RESIZE, it is ACTIVE: no fault recorded; '
            'last operation migrate (req-2): prep on node-2: Error No space '
            'left; select on None: Success', str(error))

    def test_status_before_the_operation_has_begun(self):
        self.answers(base.answer('ACTIVE'), base.answer('VERIFY_RESIZE'))
        self.wait(rolled_back='ACTIVE')

    def test_deletion(self):
        self.servers.show_server.side_effect = [
            base.answer(task='deleting'), lib_exc.NotFound]
        self.scenario._wait_for_deletion(SERVER)
        self.assertEqual(1, self.clock.now)

    def test_server_that_does_not_go(self):
        error = self.assertRaises(lib_exc.TimeoutException,
                                  self.scenario._wait_for_deletion, SERVER)
        self.assertIn(f'server {SERVER}: expected to be gone', str(error))


class CreateTest(base.ScenarioTestCase):

    def boot_server(self):
        return self.scenario.boot_server(HOST)

    def flavor(self, **kwargs):
        self.scenario.create_format_flavor(**kwargs)
        _, created = self.admin.flavors_client.create_flavor.call_args
        return created['disk'], created['ephemeral'], created['swap']

    def test_flavor(self):
        self.conf.set(flavor_disk=2, flavor_ephemeral=3, flavor_swap=4)
        self.assertEqual((2, 3, 4), self.flavor())
        self.assertEqual((3, 3, 4), self.flavor(disk_growth=1))
        self.assertEqual((0, 0, 0), self.flavor(local_disks=False))

    def test_boot_server(self):
        self.assertEqual(SERVER, self.boot_server())
        self.servers.create_server.assert_called_once_with(
            name=mock.ANY, imageRef='some-image', flavorRef='some-flavor',
            host=HOST, networks='none', config_drive=True)
        self.assertEqual(('disk', 'disk.eph0', 'disk.swap', 'disk.config'),
                         self.scenario.followed[SERVER].disks)

    def test_boot_server_on_another_host(self):
        self.answer(host=TARGET)
        error = self.assertRaises(AssertionError, self.boot_server)
        self.assertIn('server some-server is on another host', str(error))

    def test_server_that_does_not_come_up(self):
        self.answer('ERROR')
        self.assertRaises(AssertionError, self.boot_server)
        # There may be evidence of it.
        self.assertIn(SERVER, self.scenario.followed)
        self.admin.reset_mock()
        self.scenario.doCleanups()
        self.assertEqual(
            [mock.call.servers_client.delete_server(SERVER),
             mock.call.servers_client.show_server(SERVER),
             mock.call.flavors_client.delete_flavor('some-flavor')],
            self.admin.mock_calls)

    def test_server_that_is_gone_already(self):
        self.boot_server()
        self.servers.delete_server.side_effect = lib_exc.NotFound
        self.scenario.doCleanups()


class VerbsTest(base.ScenarioTestCase):

    def setUp(self):
        super().setUp()
        self.followed = self.follow()
        self.useFixture(fixtures.MockPatchObject(
            self.scenario, '_mark_host', return_value='CUSTOM_X'))

    def test_what_is_called(self):
        for verb, arguments, status, call in (
                ('cold_migrate', [HOST], 'VERIFY_RESIZE',
                 mock.call.migrate_server(SERVER, host=HOST)),
                ('resize', [HOST], 'VERIFY_RESIZE',
                 mock.call.resize_server(SERVER, 'some-flavor')),
                ('confirm_resize', [], 'ACTIVE',
                 mock.call.confirm_resize_server(SERVER)),
                ('revert_resize', [HOST], 'ACTIVE',
                 mock.call.revert_resize_server(SERVER)),
                ('stop_server', [], 'SHUTOFF',
                 mock.call.stop_server(SERVER)),
                ('start_server', [], 'ACTIVE',
                 mock.call.start_server(SERVER)),
                ('hard_reboot', [], 'ACTIVE',
                 mock.call.reboot_server(SERVER, type='HARD')),
                ('rebuild_server', [], 'SHUTOFF',
                 mock.call.rebuild_server(SERVER, 'some-image')),
                ('shelve_server', [], 'SHELVED_OFFLOADED',
                 mock.call.shelve_server(SERVER)),
                ('unshelve_server', [], 'ACTIVE',
                 mock.call.unshelve_server(SERVER))):
            self.servers.reset_mock()
            self.answers(base.answer('PENDING', 'under way'),
                         base.answer(status))
            getattr(self.scenario, verb)(SERVER, *arguments)
            # The console is of the time before the operation.
            did, *waited = [each for each in self.servers.mock_calls
                            if each != mock.call.get_console_output(SERVER)]
            self.assertEqual(call, did, verb)
            self.assertGreaterEqual(len(waited), 2, verb)

    def test_guest_that_is_to_boot_again(self):
        for verb, status, *arguments in (
                ('cold_migrate', 'VERIFY_RESIZE', HOST),
                ('resize', 'VERIFY_RESIZE', HOST),
                ('revert_resize', 'ACTIVE', HOST),
                ('start_server', 'ACTIVE'), ('hard_reboot', 'ACTIVE'),
                ('unshelve_server', 'ACTIVE')):
            self.servers.reset_mock()
            self.answer(status)
            self.console(f'before {verb}')
            self.followed.outcome = bugs.BOOTED
            getattr(self.scenario, verb)(SERVER, *arguments)
            self.assertEqual(mock.call.get_console_output(SERVER),
                             self.servers.mock_calls[0], verb)
            self.assertEqual((f'before {verb}', None, None),
                             (self.followed.console, self.followed.booted,
                              self.followed.outcome))

    def test_no_boot_is_to_come(self):
        self.followed.outcome = bugs.BOOTED
        for verb, status in (('confirm_resize', 'ACTIVE'),
                             ('stop_server', 'SHUTOFF'),
                             ('rebuild_server', 'SHUTOFF')):
            self.answer(status)
            getattr(self.scenario, verb)(SERVER)
        self.assertEqual(bugs.BOOTED, self.followed.outcome)

    def test_operations_that_tests_are_about(self):
        for verb, expected in (('hard_reboot', False), ('start_server', False),
                               ('cold_migrate', True), ('resize', True)):
            self.followed.operated_on = False
            self.answer('VERIFY_RESIZE' if expected else 'ACTIVE')
            getattr(self.scenario, verb)(SERVER, *[HOST] * expected)
            self.assertIs(expected, self.followed.operated_on, verb)

    def test_resize_by_trait(self):
        self.answer('VERIFY_RESIZE')
        self.scenario.resize(SERVER, HOST)
        client = self.admin.flavors_client
        self.assertEqual(2, client.create_flavor.call_args.kwargs['disk'])
        client.set_flavor_extra_spec.assert_called_once_with(
            'some-flavor', **{'trait:CUSTOM_X': 'required'})

    def test_migration_that_nova_gave_up(self):
        for operation in (self.scenario.cold_migrate, self.scenario.resize):
            error = self.assertRaises(AssertionError, operation, SERVER, HOST)
            self.assertIn('expected status VERIFY_RESIZE, it is ACTIVE',
                          str(error))

    def test_on_another_host(self):
        self.answer('VERIFY_RESIZE', host='node-3')
        for operation in (self.scenario.cold_migrate, self.scenario.resize):
            error = self.assertRaises(AssertionError, operation, SERVER, HOST)
            self.assertIn('server some-server is on another host', str(error))

    def test_refused_start(self):
        for verb, status in (('start_server', 'SHUTOFF'),
                             ('start_server', 'ERROR'),
                             ('hard_reboot', 'ERROR')):
            self.answers(base.answer(status, 'under way'),
                         base.answer(status, fault={'message': 'no lock'}))
            getattr(self.scenario, verb)(SERVER)
            self.assertEqual(bugs.REFUSED, self.followed.outcome)
            self.assertIn(f'expected status ACTIVE, it is {status}: no lock',
                          self.followed.refusal)

    def test_start_after_a_refused_one(self):
        self.answer('ERROR')
        self.scenario.hard_reboot(SERVER)
        self.answer('ACTIVE')
        self.scenario.hard_reboot(SERVER)
        self.assertEqual((None, ''),
                         (self.followed.outcome, self.followed.refusal))

    def test_start_that_has_not_begun(self):
        self.answers(base.answer('SHUTOFF'), base.answer('ACTIVE'))
        self.scenario.start_server(SERVER)
        self.assertIsNone(self.followed.outcome)

    def test_start_that_does_not_end(self):
        self.answer('SHUTOFF', 'powering-on')
        self.assertRaises(lib_exc.TimeoutException,
                          self.scenario.start_server, SERVER)


class SayingsTest(base.ScenarioTestCase):

    def test_console_that_is_gone(self):
        for error in (lib_exc.NotFound, lib_exc.Conflict):
            self.servers.get_console_output.side_effect = error
            self.assertEqual('', self.scenario.console(SERVER))

    def test_domain_name(self):
        self.assertEqual(base.DOMAIN, self.scenario.domain_name(SERVER))

    def test_volumes(self):
        self.follow('volume-1', 'disk', 'disk.config', 'volume-2')
        self.assertEqual(['volume-1', 'volume-2'],
                         self.scenario.volumes_of(SERVER))
        self.follow(*servers.LOCAL_DISKS)
        self.assertEqual([], self.scenario.volumes_of(SERVER))


class TraitsTest(base.ScenarioTestCase):

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
        # Without a body: see there.
        self.admin.placement_client.put.assert_called_once_with(
            f'/traits/{trait}', body=None)

    def test_mark_goes_before_its_trait(self):
        self.client.list_resource_provider_traits.side_effect = None
        self.client.list_resource_provider_traits.return_value = {
            'traits': [self.scenario._mark_host('node-2'), 'HW_CPU'],
            'resource_provider_generation': 7}
        self.scenario.doCleanups()
        self.update.assert_called_with(
            'provider-2', resource_provider_generation=7, traits=['HW_CPU'])
        self.assertEqual(
            ['resource_providers_client.update_resource_provider_traits'] * 2
            + ['placement_client.delete_trait'],
            self.calls('update_resource_provider_traits', 'delete_trait'))

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
        error = self.assertRaises(
            AssertionError, self.scenario._update_traits, 'provider-1',
            lambda traits: traits)
        self.assertIn('provider-1 kept changing', str(error))


class RescueTest(base.ScenarioTestCase):
    """A rescued server boots another disk, then its own once more."""

    def setUp(self):
        super().setUp()
        self.followed = self.follow()
        self.own = self.followed.booted = mock.sentinel.own_boot

    def rescue(self):
        self.answer('RESCUE')
        self.scenario.rescue_server(SERVER, 'some-image')
        self.servers.rescue_server.assert_called_once_with(
            SERVER, rescue_image_ref='some-image')

    def test_rescue(self):
        self.rescue()
        self.assertIsNone(self.followed.previous)
        self.assertEqual(servers.RESCUE_DISKS, self.followed.disks)
        self.assertTrue(self.followed.operated_on)

    def test_unrescue(self):
        self.rescue()
        self.followed.booted = mock.sentinel.boot_of_rescue_disk
        self.answer('ACTIVE')
        self.scenario.unrescue_server(SERVER)
        self.assertIs(self.own, self.followed.previous)
        self.assertEqual(servers.LOCAL_DISKS, self.followed.disks)

    def test_evacuated_server_has_another_disk(self):
        self.answer(host=TARGET)
        self.scenario.evacuate_server(SERVER, TARGET)
        self.assertIsNone(self.followed.previous)

    def test_unshelved_server_has_the_same(self):
        self.answer('SHELVED_OFFLOADED', host=None)
        self.scenario.shelve_server(SERVER)
        self.answer(host=TARGET)
        self.scenario.unshelve_server(SERVER, TARGET)
        self.servers.unshelve_server.assert_called_once_with(
            SERVER, host=TARGET)
        self.assertIs(self.own, self.followed.previous)

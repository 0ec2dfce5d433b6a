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
from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin.tests.scenario import images
from tempest_format_plugin.tests.scenario import reconfiguration
from tempest_format_plugin.tests.unit.scenario import base

HOST, SERVER = base.HOST, base.SERVER
OPTIONS = {'libvirt': {'images_type': 'flat'}}
OTHERS = {'libvirt': {'images_type': 'raw'}}


class ReconfigurationTest(base.ScenarioTestCase):

    scenario_class = reconfiguration.ReconfigureScenarioTest
    modules = (images, reconfiguration)

    def setUp(self):
        super().setUp()
        self.conf.set(compute_ready_timeout=5)
        self.edit = mock.Mock()
        self.edit.state.return_value = True, 'the log'
        self.hold = self.useFixture(fixtures.MockPatchObject(
            host_edit, 'hold', return_value=self.edit)).mock
        self.servers.list_servers.return_value = {'servers': []}
        self.reports('1', '1', '2')
        hypervisors = self.admin.hypervisor_client
        hypervisors.list_hypervisors.return_value = {'hypervisors': [
            {'id': 'h-2', 'service': {'host': base.TARGET}},
            {'id': 'h-1', 'service': {'host': HOST}}]}
        self.uptime = hypervisors.show_hypervisor_uptime
        self.uptime.return_value = {'hypervisor': {'uptime': '1 day'}}

    def reports(self, *times, state='up'):
        """Let nova-compute have reported at these times, again and again."""
        self.times = []

        def list_services(**kwargs):
            self.times = self.times or [*times]
            return {'services': [{'updated_at': self.times.pop(0),
                                  'state': state}]}
        self.admin.services_client.list_services.side_effect = list_services

    def set(self, options=OPTIONS):
        self.scenario.set_options(HOST, options)

    def test_until_the_end(self):
        order = mock.Mock()
        order.attach_mock(self.edit.undo, 'undo')
        order.attach_mock(self.servers.delete_server, 'delete_server')

        def body(scenario):
            scenario.set_options(HOST, OPTIONS)
            scenario.boot_server(HOST)
            self.assertFalse(order.mock_calls)
        _, result = self.run_scenario(body)
        self.assertTrue(result.wasSuccessful(), result.errors)
        self.assertEqual(['delete_server', 'undo'],
                         [call[0] for call in order.mock_calls
                          if '(' not in call[0]])
        host, options, holder = self.hold.call_args.args
        self.assertEqual((self.host, OPTIONS), (host, options))
        self.assertRegex(holder, r'runTest of \S+ at \S+, process \d+$')

    def test_hosts_in_turn(self):
        """The last one to be changed is restored first, after the server."""
        edits = [mock.Mock(**{'state.return_value': (True, '')})
                 for _ in range(2)]
        self.hold.side_effect = edits
        order = mock.Mock()
        for number, edit in enumerate(edits):
            order.attach_mock(edit.undo, f'undo_{number}')
        order.attach_mock(self.servers.delete_server, 'delete_server')
        edits[1].undo.side_effect = OSError

        def body(scenario):
            # Made before the host is changed.
            scenario.boot_server(HOST)
            for host in (HOST, base.TARGET):
                scenario.set_options(host, OPTIONS)
        self.run_scenario(body)
        self.assertEqual(['delete_server', 'undo_1', 'undo_0'],
                         [call[0] for call in order.mock_calls
                          if '(' not in call[0]])

    def test_report_between_the_order_and_its_answer(self):
        self.reports('1', '2', '2')
        self.set()
        self.assertEqual(0, self.clock.now)

    def test_does_not_answer_yet(self):
        self.uptime.side_effect = [lib_exc.BadRequest, lib_exc.ServerFault,
                                   {'hypervisor': {'uptime': '1 day'}}]
        self.set()
        self.assertGreaterEqual(self.clock.now, 2)

    def test_waits_until_it_is_ready(self):
        self.reports('1', '1', '1', '2')
        self.uptime.side_effect = [{'hypervisor': {'uptime': None}},
                                   {'hypervisor': {'uptime': '1 day'}}]
        self.set()
        self.assertEqual(3, self.clock.now)
        self.uptime.assert_called_with('h-1')

    def test_other_options(self):
        self.set()
        self.set(OTHERS)
        self.edit.change.assert_called_once_with(OTHERS)
        self.assertEqual(1, self.hold.call_count)
        self.scenario.restore_options(HOST)
        self.scenario.restore_options(HOST)
        self.assertEqual(1, self.edit.undo.call_count)

    def test_other_options_that_it_does_not_start_with(self):
        self.set()
        self.edit.change.side_effect = exceptions.EditError(
            HOST, 'it died', True, 'the log')
        self.assertRaises(exceptions.EditError, self.set, OTHERS)
        # The host has undone it.
        self.scenario.restore_options(HOST)
        self.assertFalse(self.edit.undo.called)

    def test_does_not_come_back(self):
        for times, state in ((('1',), 'up'), (('1', '2'), 'down')):
            self.edit.undo.reset_mock()
            self.reports(*times, state=state)
            error = self.assertRaises(reconfiguration.ComputeNotReady,
                                      self.set)
            self.assertIn(f'compute host {HOST}: expected nova-compute to '
                          'report and to answer within 5 s', str(error))
            self.assertIn('its log ends with: the log', str(error))
            self.edit.undo.assert_called_once_with()

    def test_dies(self):
        self.edit.state.side_effect = [(True, ''), (False, ''),
                                       *[(False, 'bad option')] * 2]
        error = self.assertRaises(reconfiguration.ComputeNotReady, self.set)
        self.assertIn('its log ends with: bad option', str(error))
        self.assertLess(self.clock.now, 5)
        self.edit.undo.assert_called_once_with()

    def test_does_not_come_back_with_its_own_options(self):
        self.set()
        self.reports('1')
        error = self.assertRaises(reconfiguration.ComputeNotReady,
                                  self.scenario.restore_options, HOST)
        self.assertIn('see its log', str(error))

    def test_backend(self):
        # HOST has raw by the options, TARGET qcow2.
        for host, backend in ((HOST, 'raw'), (base.TARGET, 'qcow2')):
            self.assertEqual(host, self.scenario.host_of_backend(backend))
        self.assertFalse(self.hold.called)
        self.scenario.set_backend(HOST, 'qcow2')
        self.assertEqual({'libvirt': {'images_type': 'qcow2'}},
                         self.hold.call_args.args[1])
        # It has it no more.
        self.scenario.set_backend(HOST, 'raw')
        self.edit.change.assert_called_once_with(
            {'libvirt': {'images_type': 'raw'}})

    def test_backend_that_no_host_has(self):
        self.conf.set(compute_backends={HOST: 'raw'})
        self.assertEqual(HOST, self.scenario.host_of_backend('qcow2'))
        self.assertTrue(self.hold.called)

    def test_another_host(self):
        self.conf.set(compute_backends={HOST: 'raw', base.TARGET: 'raw'})
        self.assertEqual(HOST, self.scenario.host_of_backend('raw'))
        self.assertFalse(self.hold.called)
        self.assertEqual(base.TARGET, self.scenario.host_of_backend(
            'qcow2', other_than=HOST))
        self.assertTrue(self.hold.called)

    def test_forget_image(self):
        self.scenario.forget_image(HOST, 'some-image')
        script, = self.host.instances_shell.call_args.args
        self.assertEqual(
            'rm /var/lib/nova/instances/_base/'
            'c7447c0dc65ce9454f373d6cf8981eb95d33c849 < /dev/null', script)
        self.assertTrue(self.host.instances_shell.return_value.check.called)

    def test_servers_of_others(self):
        self.servers.list_servers.return_value = {'servers': [
            {'id': 'somebodys'}, {'id': SERVER}]}
        self.follow()
        error = self.assertRaises(AssertionError, self.set)
        self.assertIn("['somebodys']", str(error))
        self.assertIn('set [disk_format] reconfigure_beside_servers',
                      str(error))
        self.assertFalse(self.hold.called)
        self.conf.set(reconfigure_beside_servers=True)
        self.set()

    def test_safety_level(self):
        self.conf.set(safety_level='operations')
        self.useFixture(fixtures.MonkeyPatch(
            'tempest.scenario.manager.ScenarioTest.skip_checks',
            classmethod(lambda cls: None)))
        scenario = self.scenario_type()
        for name in ('compute', 'volume', 'placement'):
            setattr(scenario, f'{name}_min_microversion', None)
        self.conf.config(group='compute-feature-enabled',
                         console_output=True, config_drive=True)
        error = self.assertRaises(scenario.skipException,
                                  scenario.skip_checks)
        self.assertIn('the safety level reconfigure, [disk_format] '
                      'safety_level is operations', str(error))
        self.conf.set(safety_level='reconfigure')
        scenario.skip_checks()
        scenario.damage = 'It fills a disk'
        error = self.assertRaises(scenario.skipException,
                                  scenario.skip_checks)
        self.assertEqual('It fills a disk: [disk_format] allow_sabotage is '
                         'false', str(error))
        self.conf.set(allow_sabotage=True)
        scenario.skip_checks()

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

import fixtures
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.guests import boot
from tempest_format_plugin.tests.scenario import base as scenario_base
from tempest_format_plugin.tests.scenario import test_nfs_volume_snapshot
from tempest_format_plugin.tests.scenario import volumes
from tempest_format_plugin.tests.unit import base as unit_base
from tempest_format_plugin.tests.unit.formats import observed
from tempest_format_plugin.tests.unit.scenario import base

SERVER, VOLUME = base.SERVER, observed.VOLUME
BUG = '1989514'


class SkipChecksTest(unit_base.TestCase):

    def test_volume_type(self):
        conf = self.useFixture(unit_base.PluginConf(
            cloud, scenario_base, test_nfs_volume_snapshot, volumes))
        conf.set(compute_backends={base.HOST: 'raw'}, nfs_volume_type='nfs')
        for group in ('compute', 'volume'):
            conf.config(group=group, max_microversion='latest')
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'skip_checks'))
        check = test_nfs_volume_snapshot.NfsSnapshotTest.skip_checks
        check()
        conf.set(nfs_volume_type=None)
        error = self.assertRaises(self.skipException, check)
        self.assertIn('nfs_volume_type', str(error))


class BugReportTest(base.ScenarioTestCase):
    """The whole test, on clouds with the bug and without it."""

    scenario_class = test_nfs_volume_snapshot.TestNfsVolumeSnapshot
    modules = (test_nfs_volume_snapshot, volumes)

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_boot', return_value=boot.Boot(
                bugs.BOOTED, '', None, 1.0)))
        self.volumes = self.admin.volumes_client_latest
        self.volumes.create_volume.return_value = {'volume': {'id': VOLUME}}
        self.volumes.show_volume.return_value = {
            'volume': {'status': 'available'}}
        self.volumes.delete_volume.side_effect = self.delete
        snapshots = self.admin.snapshots_client_latest
        snapshots.create_snapshot.side_effect = self.snapshot
        snapshots.show_snapshot.return_value = {
            'snapshot': {'status': 'available'}}
        self.servers.stop_server.side_effect = (
            lambda server: self.answer('SHUTOFF'))
        self.servers.start_server.side_effect = self.start
        self.observes(self.server(observed.volume))
        self.attached(('attachment-1', SERVER, 'raw', 'raw'))

    def server(self, volume, state='running', **changes):
        return observed.server(
            volume(attached=None, listed=None, **changes),
            observed.disk('disk.config', live=changes.get('live', 'raw')),
            state=state)

    def snapshot(self, **kwargs):
        self.attached(('attachment-1', SERVER, self.format, self.format),
                      name=f'volume-{VOLUME}.some-snapshot')
        self.observes(self.server(observed.snapshotted, 'shut off',
                                  live=None))
        return {'snapshot': {'id': 'snapshot'}}

    def start(self, server_id):
        if self.format == 'raw':
            # nova undefines the domain that it can't start.
            self.observes(base.absent())
        else:
            self.observes(self.server(observed.snapshotted))
            self.answer()

    def delete(self, volume_id, cascade):
        self.volumes.show_volume.side_effect = lib_exc.NotFound

    def run_test(self, format_, known_bugs=(BUG,)):
        """Run it where the attachment has that format after the snapshot."""
        self.format = format_
        self.conf.set(known_bugs=list(known_bugs))
        scenario, result = self.run_scenario(
            lambda scenario: scenario.test_snapshot_of_stopped_server())
        self.volumes.delete_volume.assert_called_once_with(VOLUME,
                                                           cascade=True)
        return scenario, result

    def test_bug(self):
        # Only the moment that was noted tells of it in the end.
        scenario, result = self.run_test('raw')
        (_, traceback), = result.expectedFailures
        self.assertIn('StartRefused', traceback)
        self.assertIn('after-the-snapshot: ', traceback)
        self.assertEqual(
            ['1-before-the-snapshot.txt', '2-after-the-snapshot.txt',
             '3-after-the-start.txt'],
            [name for name in scenario.getDetails()
             if name[0] in '123456789' and name.endswith('.txt')])

    def test_bug_that_is_not_listed(self):
        _, result = self.run_test('raw', known_bugs=())
        (_, traceback), = result.failures
        self.assertIn('StartRefused', traceback)

    def test_no_bug(self):
        _, result = self.run_test('qcow2')
        self.assertEqual(1, len(result.unexpectedSuccesses))

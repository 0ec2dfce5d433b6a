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
from tempest.scenario import manager

from tempest_format_plugin import cloud
from tempest_format_plugin.tests.scenario import base as scenario_base
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import volumes
from tempest_format_plugin.tests.unit import base as unit_base
from tempest_format_plugin.tests.unit.scenario import base

SERVER, HOST = base.SERVER, base.HOST


class SkipChecksTest(unit_base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(
            unit_base.PluginConf(cloud, scenario_base, volumes))
        self.conf.config(group='compute', max_microversion='latest')
        self.conf.config(group='volume', max_microversion='3.27')
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'skip_checks'))

    def assertSkips(self, reason, group, **options):
        volumes.VolumeScenarioTest.skip_checks()
        self.conf.config(group=group, **options)
        error = self.assertRaises(self.skipException,
                                  volumes.VolumeScenarioTest.skip_checks)
        self.assertEqual(reason, str(error))

    def test_microversion(self):
        self.assertSkips('[volume] max_microversion must be 3.27 or later, '
                         'it is 3.9', 'volume', max_microversion='3.9')

    def test_no_cinder(self):
        self.assertSkips('[service_available] cinder is false',
                         'service_available', cinder=False)

    def test_no_snapshots(self):
        self.assertSkips('[volume-feature-enabled] snapshot is false',
                         'volume-feature-enabled', snapshot=False)


class VolumeTestCase(base.ScenarioTestCase):

    scenario_class = volumes.VolumeScenarioTest
    modules = (volumes,)

    def setUp(self):
        super().setUp()
        self.volumes = self.admin.volumes_client_latest
        self.snapshots = self.admin.snapshots_client_latest
        self.volumes.create_volume.return_value = {'volume': {'id': 'volume'}}
        self.snapshots.create_snapshot.return_value = {
            'snapshot': {'id': 'snapshot'}}
        self.volume_is('available')
        self.snapshot_is('available')

    def volume_is(self, *statuses):
        """Let a volume have these statuses; '' once it is gone."""
        self.volumes.show_volume.side_effect = self._show('volume', statuses)

    def snapshot_is(self, *statuses):
        self.snapshots.show_snapshot.side_effect = self._show('snapshot',
                                                              statuses)

    @staticmethod
    def _show(what, statuses):
        return base.in_turn(*(
            {what: {'status': status, 'size': 1}} if status
            else lib_exc.NotFound() for status in statuses))


class VolumesTest(VolumeTestCase):

    def created(self, **kwargs):
        self.scenario.create_format_volume(**kwargs)
        _, created = self.volumes.create_volume.call_args
        del created['name']
        return created

    def test_create(self):
        self.conf.set(flavor_disk=3)
        self.assertEqual({'size': 3, 'imageRef': 'some-image'},
                         self.created())
        self.assertEqual({'size': 3}, self.created(bootable=False))

    def test_create_on_nfs(self):
        self.conf.set(nfs_volume_type='nfs')
        for bootable in (True, False):
            self.assertEqual('nfs',
                             self.created(bootable=bootable)['volume_type'])

    def test_create_waits(self):
        self.volume_is('creating', 'downloading', 'available')
        self.created()
        self.assertEqual(2, self.clock.now)

    def test_volume_that_fails_is_deleted(self):
        self.volume_is('creating', 'error', 'error_deleting', '')
        error = self.assertRaises(AssertionError, self.created)
        self.assertIn('volume volume: expected status available', str(error))
        self.assertEqual(1, self.clock.now)

    def test_cleanup_waits_until_all_of_it_is_gone(self):
        self.created()
        self.volume_is('deleting', 'deleting', '')
        self.scenario.doCleanups()
        self.volumes.delete_volume.assert_called_once_with('volume',
                                                           cascade=True)
        self.assertEqual(2, self.clock.now)

    def test_cleanup_of_a_volume_that_is_gone(self):
        self.created()
        self.volumes.delete_volume.side_effect = lib_exc.NotFound
        self.volume_is('')
        self.scenario.doCleanups()

    def test_not_in_time(self):
        self.volume_is('creating')
        error = self.assertRaises(AssertionError, self.created)
        self.assertIn('volume volume: expected status available within 5 s',
                      str(error))
        self.assertIn('creating', str(error))

    def test_extend(self):
        self.volume_is('available', 'extending', 'available')
        self.scenario.extend_volume('volume')
        self.volumes.extend_volume.assert_called_once_with('volume',
                                                           new_size=2)
        self.assertEqual(1, self.clock.now)


class SnapshotsTest(VolumeTestCase):

    def test_snapshot(self):
        self.snapshot_is('creating', 'available')
        self.assertEqual('snapshot', self.scenario.snapshot_volume('volume'))
        self.snapshots.create_snapshot.assert_called_once_with(
            volume_id='volume', force=True, name=mock.ANY)
        self.assertEqual(1, self.clock.now)

    def test_snapshot_operates_on_the_servers_with_that_volume(self):
        for server, disks in (('one', ('volume', 'disk.config')),
                              ('two', ('other', 'volume')),
                              ('three', ('other',))):
            self.scenario.followed[server] = servers.Followed(disks)
        self.scenario.snapshot_volume('volume')
        self.assertEqual(['one', 'two'],
                         [server for server, followed
                          in self.scenario.followed.items()
                          if followed.operated_on])

    def test_snapshot_that_fails(self):
        self.snapshot_is('creating', 'error')
        error = self.assertRaises(AssertionError,
                                  self.scenario.snapshot_volume, 'volume')
        self.assertIn('snapshot snapshot: expected status available',
                      str(error))

    def test_delete(self):
        self.snapshot_is('deleting', '')
        self.scenario.delete_snapshot('snapshot')
        self.snapshots.delete_snapshot.assert_called_once_with('snapshot')
        self.assertEqual(1, self.clock.now)

    def test_deletion_that_fails(self):
        self.snapshot_is('deleting', 'error_deleting')
        error = self.assertRaises(AssertionError,
                                  self.scenario.delete_snapshot, 'snapshot')
        self.assertIn("'error_deleting'", str(error))


class ServersWithVolumesTest(VolumeTestCase):

    def boot(self, *volumes):
        return self.scenario.boot_volume_backed_server(HOST, *volumes)

    def test_boot(self):
        self.boot('root', 'data')
        self.servers.create_server.assert_called_once_with(
            name=mock.ANY, host=HOST, networks='none', config_drive=True,
            imageRef='', flavorRef='some-flavor', block_device_mapping_v2=[
                {'boot_index': 0, 'uuid': 'root', 'source_type': 'volume',
                 'destination_type': 'volume'},
                {'boot_index': -1, 'uuid': 'data', 'source_type': 'volume',
                 'destination_type': 'volume'}])
        self.assertEqual(
            0, self.admin.flavors_client.create_flavor.call_args.kwargs[
                'disk'])
        self.assertEqual(('root', 'data', 'disk.config'),
                         self.scenario.followed[SERVER].disks)

    def test_server_goes_before_its_volume(self):
        self.boot(self.scenario.create_format_volume())
        self.volume_is('')
        self.scenario.doCleanups()
        self.assertEqual(
            ['servers_client.delete_server', 'volumes_client_latest.'
             'delete_volume'], self.calls('delete_server', 'delete_volume'))

    def test_attach_and_detach(self):
        self.boot('root')
        self.volume_is('attaching', 'in-use')
        self.scenario.attach_volume(SERVER, 'data')
        self.servers.attach_volume.assert_called_once_with(SERVER,
                                                           volumeId='data')
        self.assertEqual(['root', 'data'], self.scenario.volumes_of(SERVER))
        self.volume_is('detaching', 'available')
        self.scenario.detach_volume(SERVER, 'data')
        self.servers.detach_volume.assert_called_once_with(SERVER, 'data')
        self.assertEqual(['root'], self.scenario.volumes_of(SERVER))
        self.assertEqual(2, self.clock.now)

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

"""Servers with volumes: the verbs of the bug reports about them."""

from oslo_log import log
from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.tests.scenario import base
from tempest_format_plugin.tests.scenario import servers

CONF = config.CONF
LOG = log.getLogger(__name__)


class VolumeScenarioTest(base.FormatScenarioTest):
    """Servers that boot from a volume, or have one beside their root disk."""

    # 3.27: attachments.
    volume_min_microversion = '3.27'

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.service_available.cinder:
            raise cls.skipException('[service_available] cinder is false')
        if not CONF.volume_feature_enabled.snapshot:
            raise cls.skipException('[volume-feature-enabled] snapshot is '
                                    'false')

    def setUp(self):
        super().setUp()
        self.admin_volumes = self.os_admin.volumes_client_latest
        self.admin_snapshots = self.os_admin.snapshots_client_latest

    # Volumes

    def create_format_volume(self, bootable=True):
        """Create a volume of [disk_format] flavor_disk GiB.

        Its snapshots go with it in the end, and after any server that is
        made later: deleting one under a server would be an operation of its
        own.

        :param bootable: from [compute] image_ref; False: an empty one
        :returns: the volume's id
        """
        options = {'imageRef': CONF.compute.image_ref} if bootable else {}
        if CONF.disk_format.nfs_volume_type:
            options['volume_type'] = CONF.disk_format.nfs_volume_type
        volume_id = self.admin_volumes.create_volume(
            name=data_utils.rand_name(type(self).__name__),
            size=CONF.disk_format.flavor_disk, **options)['volume']['id']
        self.addCleanup(self._delete_volume, volume_id)
        self.wait_for_volume(volume_id, 'available')
        return volume_id

    def snapshot_volume(self, volume_id):
        """Take a snapshot of a volume, attached or not.

        :returns: the snapshot's id
        """
        LOG.info('Taking a snapshot of volume %s', volume_id)
        self._operating_on_users_of(volume_id)
        # It is deleted with its volume.
        snapshot_id = self.admin_snapshots.create_snapshot(
            volume_id=volume_id, force=True,
            name=data_utils.rand_name(type(self).__name__))['snapshot']['id']
        self.wait_for_snapshot(snapshot_id)
        return snapshot_id

    def delete_snapshot(self, snapshot_id):
        """Delete a snapshot and wait until it is gone."""
        LOG.info('Deleting snapshot %s', snapshot_id)
        self.admin_snapshots.delete_snapshot(snapshot_id)
        self.wait_until_gone('snapshot', snapshot_id,
                             lambda: self.admin_snapshots.show_snapshot(
                                 snapshot_id)['snapshot']['status'])

    def extend_volume(self, volume_id):
        """Extend a volume that is attached nowhere by 1 GiB."""
        LOG.info('Extending volume %s', volume_id)
        volume = self.admin_volumes.show_volume(volume_id)['volume']
        self.admin_volumes.extend_volume(volume_id,
                                         new_size=volume['size'] + 1)
        self.wait_for_volume(volume_id, 'available')

    # Servers with volumes

    def boot_volume_backed_server(self, host, volume_id, *data_volumes):
        """Boot a server from a volume on a compute host, with a config drive.

        :param data_volumes: volumes that it has besides
        :returns: the server's id, once it is ACTIVE
        """
        return self.create_followed_server(
            host, (volume_id, *data_volumes, servers.CONFIG_DRIVE),
            imageRef='', flavorRef=self.create_format_flavor(
                local_disks=False),
            block_device_mapping_v2=[
                {'boot_index': 0 if volume == volume_id else -1,
                 'uuid': volume, 'source_type': 'volume',
                 'destination_type': 'volume'}
                for volume in (volume_id, *data_volumes)])

    def attach_volume(self, server_id, volume_id):
        """Attach a volume to a server."""
        LOG.info('Attaching volume %s to server %s', volume_id, server_id)
        self.admin_servers.attach_volume(server_id, volumeId=volume_id)
        self.followed[server_id].disks += (volume_id,)
        self.followed[server_id].hot_plugged += (volume_id,)
        self.wait_for_volume(volume_id, 'in-use')

    def detach_volume(self, server_id, volume_id):
        """Detach a volume from a server."""
        LOG.info('Detaching volume %s from server %s', volume_id, server_id)
        self.admin_servers.detach_volume(server_id, volume_id)
        self.wait_for_volume(volume_id, 'available')
        followed = self.followed[server_id]
        followed.disks = tuple(disk for disk in followed.disks
                               if disk != volume_id)

    # Waiting

    def wait_for_volume(self, volume_id, status):
        """Wait until a volume has a status."""
        self._wait_for('volume', volume_id, status,
                       lambda: self.admin_volumes.show_volume(
                           volume_id)['volume']['status'])

    def wait_for_snapshot(self, snapshot_id):
        """Wait until a snapshot is available."""
        self._wait_for('snapshot', snapshot_id, 'available',
                       lambda: self.admin_snapshots.show_snapshot(
                           snapshot_id)['snapshot']['status'])

    def wait_until_gone(self, what, resource_id, read_status):
        """Wait until a resource is found no more.

        :param read_status: function that returns its status, or raises
            NotFound
        """
        def read():
            try:
                return read_status()
            except lib_exc.NotFound:
                return 'gone'
        self._wait_for(what, resource_id, 'gone', read)

    def _wait_for(self, what, resource_id, status, read_status):
        seen = []

        def ended():
            seen.append(read_status())
            return seen[-1] == status or seen[-1].startswith('error')
        timeout = CONF.disk_format.operation_timeout
        in_time = test_utils.call_until_true(ended, timeout, 1)
        self.assertEqual(
            status, seen[-1],
            f'{what} {resource_id}: expected status {status}'
            + ('' if in_time else f' within {timeout} s'))

    def _operating_on_users_of(self, volume_id):
        for server_id, followed in self.followed.items():
            if volume_id in followed.disks:
                self.operating_on(server_id)

    def _delete_volume(self, volume_id):
        """Delete a volume with all of its snapshots."""
        test_utils.call_and_ignore_notfound_exc(
            self.admin_volumes.delete_volume, volume_id, cascade=True)
        self.wait_until_gone('volume', volume_id,
                             lambda: self.admin_volumes.show_volume(
                                 volume_id)['volume']['status'])

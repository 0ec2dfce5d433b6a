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

from oslo_log import log
from tempest.common import utils
from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import findings
from tempest_format_plugin.formats import glance_image
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.scenario import volumes

CONF = config.CONF
LOG = log.getLogger(__name__)


class VolumeBackedSnapshotTest(volumes.VolumeScenarioTest):
    """Images of servers that boot from a volume.

    Such an image has no data: its block device mapping names the volume's
    snapshot. nova uploads nothing all the same, for the image to become
    active, and says what format that nothing has (nova e28f90866b).
    """

    needed_features = ('snapshot',)
    # Whether it is about a glance that takes raw images, or one that doesn't.
    raw_images_allowed = True
    needed_hosts = {cloud.ANY: 2}

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if CONF.disk_format.raw_images_allowed != cls.raw_images_allowed:
            raise cls.skipException('[disk_format] raw_images_allowed is '
                                    f'{not cls.raw_images_allowed}')

    def setUp(self):
        super().setUp()
        self.images = self.os_admin.image_client_v2
        self.host, self.other_host = cloud.hosts_of_backend(cloud.ANY)[:2]

    def create_server_image(self, server_id):
        """Make an image of a server; return it once it is active.

        :returns: a glance_image.Image
        :raises ImageFailed: it doesn't become active, or createImage fails
        """
        LOG.info('Making an image of server %s', server_id)
        name = data_utils.rand_name(type(self).__name__)
        self.addCleanup(self._delete_images, name)
        self.operating_on(server_id)
        before = self._snapshots_of(server_id)
        try:
            self.os_admin.compute_images_client.create_image(
                server_id, name=name)
        except lib_exc.RestClientException as error:
            self._image_failed(server_id, name, before, error)
        if not test_utils.call_until_true(
                lambda: [i.status for i in self._images(name)] == ['active'],
                CONF.disk_format.operation_timeout, 1):
            self._image_failed(server_id, name, before, None)
        image, = self._images(name)
        for snapshot_id in image.snapshot_ids:
            self.wait_for_snapshot(snapshot_id)
        return image

    def boot_from_image(self, image, host, like):
        """Boot a volume-backed server from the image of another one.

        :param like: id of that other one, whose disk boots once more
        :returns: the server's id
        """
        self.addCleanup(self._delete_volumes_from, image)
        server_id = self.create_followed_server(
            host, (servers.CONFIG_DRIVE,), imageRef=image.id,
            flavorRef=self.create_format_flavor(local_disks=False))
        attached = self.admin_servers.list_volume_attachments(
            server_id)['volumeAttachments']
        self.followed[server_id].disks += tuple(
            each['volumeId'] for each in attached)
        self.followed[server_id].previous = self.followed[like].booted
        return server_id

    def expect_image_without_data(self, image, *volume_ids):
        """Expect the image of a volume-backed server to be what it is.

        :param volume_ids: the server's volumes, each of which must have a
            snapshot in the image
        """
        self.assertEqual(('active', 'raw', 0),
                         (image.status, image.disk_format, image.size))
        of_volumes = [
            self.admin_snapshots.show_snapshot(snapshot)['snapshot'][
                'volume_id'] for snapshot in image.snapshot_ids]
        self.assertEqual(sorted(volume_ids), sorted(of_volumes))

    def _images(self, name):
        return [glance_image.parse(body) for body in self.images.list_images(
            {'name': name})['images']]

    def _snapshots_of(self, server_id):
        """Return {id: status} of the snapshots of a server's volumes."""
        return {snapshot['id']: snapshot['status']
                for volume in self.volumes_of(server_id)
                for snapshot in self.admin_snapshots.list_snapshots(
                    detail=True, volume_id=volume)['snapshots']}

    def _image_failed(self, server_id, name, before, error):
        """Find out what a failed createImage has left, and raise it."""
        # What it has begun with may still be under way.
        self.settle_server(server_id, 'ACTIVE', 'SHUTOFF')
        for snapshot_id in self._snapshots_of(server_id).keys() - before:
            self.wait_for_snapshot(snapshot_id)
        left = self._snapshots_of(server_id).items()
        fact = findings.ImageFailed(
            http_status=error.status_code if error else None,
            image=next(iter(self._images(name)), None),
            snapshots=tuple(each for each in left if each[0] not in before),
            message=str(error) if error else '')
        raise verdicts.ImageFailed(
            f'createImage of server {server_id}: expected an active image, '
            f'nova answered {fact.message or "nothing"}; left behind: image '
            f'{fact.image or "none"}, volume snapshots '
            f'{fact.snapshots or "none"}', fact)

    def _delete_images(self, name):
        for image in self._images(name):
            self.images.delete_image(image.id)
            self.wait_until_gone('image', image.id,
                                 lambda: self.images.show_image(
                                     image.id)['status'])

    def _delete_volumes_from(self, image):
        """Delete the volumes that were made from an image's snapshots."""
        for volume in self.admin_volumes.list_volumes(detail=True)['volumes']:
            if volume['snapshot_id'] in image.snapshot_ids:
                self._delete_volume(volume['id'])


class TestVolumeBackedSnapshot(VolumeBackedSnapshotTest):
    """The bug report."""

    @decorators.idempotent_id('7814f481-cc3f-4125-a29b-f01159104acf')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image', 'volume')
    @verdicts.known_bug('volume-backed-snapshot-format')
    def test_image_of_stopped_server(self):
        """The image of a stopped volume-backed server boots elsewhere.

        1. Boot a server from a volume; its guest boots, all agree.
        2. Stop it and make an image of it.
        3. The image is active, raw and empty, and names a snapshot of the
           volume that is available.
        4. Boot a server from the image on another host: the same disk boots
           there, all agree.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-image')
        self.stop_server(server)
        image = self.create_server_image(server)
        self.expect_image_without_data(image, volume)
        second = self.boot_from_image(image, self.other_host, like=server)
        self.expect_boot_and_agreement(second, 'booted-from-the-image')

    @decorators.idempotent_id('46366cc2-1d0f-4d21-8314-623914d3a44e')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image', 'volume')
    @verdicts.known_bug('volume-backed-snapshot-format')
    def test_image_of_running_server(self):
        """The image of a running volume-backed server boots elsewhere.

        As test_image_of_stopped_server, without the stop: afterwards the
        server still runs, the same boot goes on writing, and all agree.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-image')
        image = self.create_server_image(server)
        self.expect_image_without_data(image, volume)
        self.expect_same_boot(server)
        self.expect_agreement(server, 'after-the-image')
        second = self.boot_from_image(image, self.other_host, like=server)
        self.expect_boot_and_agreement(second, 'booted-from-the-image')

    @decorators.idempotent_id('c385d3dc-5019-4435-a65e-8d40d250ee2b')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image', 'volume')
    @verdicts.known_bug('volume-backed-snapshot-format')
    def test_image_with_data_volume(self):
        """The image of a server with a data volume has both volumes.

        As test_image_of_stopped_server, with a second, empty volume attached:
        it has a snapshot in the image too, and the second server has a copy
        of it.
        """
        volumes_ = [self.create_format_volume(),
                    self.create_format_volume(bootable=False)]
        server = self.boot_volume_backed_server(self.host, *volumes_)
        self.expect_boot_and_agreement(server, 'before-the-image')
        self.stop_server(server)
        image = self.create_server_image(server)
        self.expect_image_without_data(image, *volumes_)
        second = self.boot_from_image(image, self.other_host, like=server)
        self.assertEqual(2, len(self.volumes_of(second)))
        self.expect_boot_and_agreement(second, 'booted-from-the-image')


class TestGlanceEnforcement(VolumeBackedSnapshotTest):
    """The control: glance looks at what it is given."""

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.image_feature_enabled.image_format_enforcement:
            raise cls.skipException('[image-feature-enabled] '
                                    'image_format_enforcement is false')

    @decorators.idempotent_id('4a447cc4-3cec-4349-9f01-cbe626a00f79')
    @utils.services('image')
    def test_empty_qcow2_is_refused(self):
        """No data at all, said to be qcow2, is refused.

        1. Create a qcow2 image and upload nothing to it.
        2. glance refuses it, and the image doesn't become active.
        """
        name = data_utils.rand_name(type(self).__name__)
        self.addCleanup(self._delete_images, name)
        image_id = self.images.create_image(
            name=name, disk_format='qcow2', container_format='bare')['id']
        self.assertRaises((lib_exc.InvalidContentType, lib_exc.BadRequest),
                          self.images.store_image_file, image_id,
                          io.BytesIO())
        self.assertNotEqual('active',
                            self.images.show_image(image_id)['status'])


class TestRawImagesDisallowed(VolumeBackedSnapshotTest):
    """A glance whose operator doesn't allow raw images at all.

    nova has no other format to offer for an image without data: see
    GlanceImageServiceV2._get_image_create_disk_format_default in
    nova/image/glance.py.
    """

    raw_images_allowed = False

    @decorators.idempotent_id('f88d947b-7854-43b2-af61-326ebdfd1949')
    @decorators.attr(type=['multinode', 'slow', 'raw_disallowed'])
    @utils.services('compute', 'image', 'volume')
    @verdicts.known_bug('volume-backed-snapshot-raw-disallowed')
    def test_image_is_refused_cleanly(self):
        """createImage says what is wrong, and leaves nothing behind.

        1. Boot a server from a volume; its guest boots, all agree.
        2. Stop it and make an image of it: nova answers with 400.
        3. There is no image, and no snapshot of the volume.
        4. Start the server: the same volume boots, all agree.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-image')
        self.stop_server(server)
        self.expect_clean_refusal(server)
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    def expect_clean_refusal(self, server_id):
        """Expect createImage to fail with 400 and to leave nothing.

        :raises ImageFailed: it fails otherwise, leaves something, or makes
            an image all the same
        """
        try:
            image = self.create_server_image(server_id)
        except verdicts.ImageFailed as error:
            fact = error.fact
            if (fact.http_status, fact.image, fact.snapshots) != (
                    400, None, ()):
                raise
        else:
            raise verdicts.ImageFailed(
                f'createImage of server {server_id}: expected to be refused '
                f'where raw images are not allowed, it made {image}')

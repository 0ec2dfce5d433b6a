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

"""Images of both formats, and what their data are."""

import tempfile

from oslo_log import log
from oslo_utils.imageutils import format_inspector
from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils

from tempest_format_plugin.formats import glance_image
from tempest_format_plugin.tests.scenario import base

CONF = config.CONF
LOG = log.getLogger(__name__)


class ImageScenarioTest(base.FormatScenarioTest):
    """Tests that make images or need some of a certain format."""

    def setUp(self):
        super().setUp()
        self.images = self.os_admin.image_client_v2

    def image_of(self, format_):
        """Return the id of an image of a format, whose guest is the tests'.

        One of [compute] image_ref and image_ref_alt; where neither has this
        format, own_image.
        """
        return self._configured_image(format_) or self.own_image(format_)

    def own_image(self, format_):
        """Return the id of an image of a format that only this test uses.

        A copy of a configured one, else a snapshot of a server: that has the
        format of its host's image backend.
        """
        configured = self._configured_image(format_)
        if configured is not None:
            return self._copy_image(configured, format_)
        if not CONF.compute_feature_enabled.snapshot:
            raise self.skipException(
                f'neither [compute] image_ref nor image_ref_alt is {format_}, '
                f'and [compute-feature-enabled] snapshot is false')
        server = self.boot_server(self.host_of_backend(format_))
        self.expect_boot_and_agreement(server, f'before-the-{format_}-image')
        image = self.snapshot_server(server)
        self.assertEqual(format_, image.disk_format)
        self.delete_followed_server(server)
        return image.id

    def host_of_backend(self, backend):
        """Return a compute host of an image backend, or skip the test."""
        return self.hosts_of(backend, 1)[0]

    def snapshot_server(self, server_id):
        """Make an image of a server with a local root disk.

        :returns: a formats.glance_image.Image, once it is active
        """
        LOG.info('Making an image of server %s', server_id)
        name = data_utils.rand_name(type(self).__name__)
        image_id = self.os_admin.compute_images_client.create_image(
            server_id, name=name)['image_id']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.images.delete_image, image_id)
        seen = []

        def active():
            seen.append(glance_image.parse(
                self.images.show_image(image_id)))
            return seen[-1].status == 'active'
        self.wait_until(active, lambda in_time: (
            f'image {image_id} of server {server_id}: expected to be active '
            f'{in_time}, it is {seen[-1].status}'))
        return seen[-1]

    def detected_format(self, image_id):
        """Return the format that an image's data have.

        :returns: as QEMU calls it; raw for what has no other
        """
        with tempfile.NamedTemporaryFile() as file:
            self._download(image_id, file)
            found = str(format_inspector.detect_file_format(file.name))
        # oslo.utils looks further, at the partition table in a raw disk.
        return 'raw' if found == 'gpt' else found

    def _configured_image(self, format_):
        for image_id in (CONF.compute.image_ref, CONF.compute.image_ref_alt):
            image = glance_image.parse(self.images.show_image(image_id))
            if image.disk_format == format_:
                return image_id
        return None

    def _copy_image(self, image_id, format_):
        LOG.info('Copying image %s', image_id)
        copy = self.images.create_image(
            name=data_utils.rand_name(type(self).__name__),
            disk_format=format_, container_format='bare')['id']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.images.delete_image, copy)
        with tempfile.NamedTemporaryFile() as file:
            self._download(image_id, file)
            file.seek(0)
            self.images.store_image_file(copy, file)
        return copy

    def _download(self, image_id, file):
        """Write an image's data to a file, without keeping them in memory."""
        response = self.images.show_image_file(image_id, chunked=True)
        try:
            for chunk in response.stream(1024 * 1024):
                file.write(chunk)
        finally:
            response.release_conn()
        file.flush()

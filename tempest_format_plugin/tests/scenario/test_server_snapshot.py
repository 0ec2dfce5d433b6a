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

from tempest.common import utils
from tempest.lib import decorators

from tempest_format_plugin.tests.scenario import images


class TestServerSnapshot(images.ImageScenarioTest):
    """Images of servers with a local root disk.

    Without [libvirt] snapshot_image_format they have the format of the disk
    (snapshot in nova/virt/libvirt/driver.py).
    """

    needed_features = ('snapshot',)
    needed_hosts = {'raw': 1, 'qcow2': 1}

    def snapshot_and_boot(self, backend, other_backend):
        """The steps of both tests."""
        host, other = map(self.host_of_backend, (backend, other_backend))
        server = self.boot_server(host)
        self.expect_boot_and_agreement(server, 'before-the-snapshot')
        image = self.snapshot_server(server)
        self.expect_same_boot(server)
        self.expect_agreement(server, 'after-the-snapshot')
        self.assertEqual((backend, backend), (
            image.disk_format, self.detected_format(image.id)))
        for each in (host, other):
            copy = self.boot_copy(server, image.id, each)
            self.expect_boot_and_agreement(copy, f'copy-on-{each}')

    def boot_copy(self, server_id, image, host):
        """Boot a server on a host from the image of another one.

        :returns: its id; the boot to come is one more of the same disk
        """
        copy = self.boot_server(host, image)
        self.followed[copy].previous = self.followed[server_id].booted
        return copy

    @decorators.idempotent_id('3b678a02-00d4-4e8e-be57-85e50c901192')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    def test_of_raw_server(self):
        """The image of a server of the raw backend.

        1. Boot a server on a host of the raw backend; all agree.
        2. Make an image of it: the server goes on, all agree.
        3. glance says raw, and so are its data.
        4. Boot servers from it on this host and on one of the qcow2 backend:
           a copy of the same disk boots, all agree.
        """
        self.snapshot_and_boot('raw', 'qcow2')

    @decorators.idempotent_id('cec17ee5-615e-4b69-b0c2-cbd8b58676d7')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    def test_of_qcow2_server(self):
        """The image of a server of the qcow2 backend.

        The steps are those of test_of_raw_server, with qcow2 and raw the
        other way round.
        """
        self.snapshot_and_boot('qcow2', 'raw')

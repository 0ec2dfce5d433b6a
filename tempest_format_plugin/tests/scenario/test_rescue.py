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


class TestRescue(images.ImageScenarioTest):
    """Rescue: nova makes disk.rescue of an image, beside the root disk."""

    needed_features = ('rescue',)

    def rescue_and_unrescue(self, backend, image_format):
        """The steps of each test."""
        image = self.image_of(image_format)
        server = self.boot_server(self.host_of_backend(backend))
        self.expect_boot_and_agreement(server, 'before-the-rescue')
        self.rescue_server(server, image)
        self.expect_boot_and_agreement(server, 'rescued')
        self.unrescue_server(server)
        self.expect_boot_and_agreement(server, 'unrescued')
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    @decorators.idempotent_id('ef62ab4c-02c8-4ef4-bdf3-62565f3d371d')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_raw_server_with_raw_image(self):
        """A server of the raw backend is rescued with a raw image.

        1. Boot a server on a host of the raw backend; all agree.
        2. Rescue it with a raw image: that boots, with the server's own root
           disk beside it; all agree about both.
        3. Unrescue it: its own disk boots, all agree.
        4. Hard reboot it: the same disk boots, all agree.
        """
        self.rescue_and_unrescue('raw', 'raw')

    @decorators.idempotent_id('125a6a98-6a94-4c31-9b94-c6ff02909f71')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_raw_server_with_qcow2_image(self):
        """As test_raw_server_with_raw_image, with a qcow2 image."""
        self.rescue_and_unrescue('raw', 'qcow2')

    @decorators.idempotent_id('8278acc0-2ba0-4b84-9a59-806bc7d7d5ae')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_qcow2_server_with_raw_image(self):
        """As test_raw_server_with_raw_image, on a qcow2 host."""
        self.rescue_and_unrescue('qcow2', 'raw')

    @decorators.idempotent_id('e90284ba-d40e-4de1-8c28-3a41047ab32a')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_qcow2_server_with_qcow2_image(self):
        """As test_raw_server_with_raw_image, both qcow2."""
        self.rescue_and_unrescue('qcow2', 'qcow2')

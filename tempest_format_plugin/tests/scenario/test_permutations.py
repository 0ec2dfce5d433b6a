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
from tempest.common import utils
from tempest.lib import decorators
from testtools import content

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import permutations
from tempest_format_plugin.tests.scenario import reconfiguration


@decorators.serial
class TestPermutations(reconfiguration.ReconfigureScenarioTest):
    """What the options of a compute host make of an image."""

    needed_hosts = {cloud.ANY: 1}

    def setUp(self):
        super().setUp()
        self.host = cloud.hosts_of_backend(cloud.ANY)[0]
        self.rows = []

    @decorators.idempotent_id('8a150624-dc2a-434b-b27a-362e72120f67')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_permutations(self):
        """Each configuration makes of each image what nova documents.

        1. Make an image of either format: snapshots of a server under the
           qcow2 and under the raw backend.
        2. For each images_type, use_cow_images and force_raw_images, restart
           nova-compute with them and boot a server from each image.
        3. It boots; XML, disk.info, file and backing file agree, and are as
           the table says.
        """
        images = self.make_images()
        for configuration in permutations.CONFIGURATIONS:
            self.set_options(self.host, configuration.options)
            for image_format in permutations.IMAGE_FORMATS:
                self.boot_and_look(configuration, image_format,
                                   images[image_format])
        self.keep_table()
        self.assertEqual([], [row for row in self.rows
                              if row.believed != row.expected])

    def make_images(self):
        """Return {format: id} of an image of each format."""
        images = {}
        for image_format in permutations.IMAGE_FORMATS:
            self.set_options(self.host, permutations.Configuration(
                image_format, True, True).options)
            server = self.boot_server(self.host)
            self.expect_boot_and_agreement(
                server, f'before-the-{image_format}-snapshot')
            image = self.snapshot_server(server)
            self.assertEqual(image_format, image.disk_format)
            images[image_format] = image.id
            self.delete_followed_server(server)
        return images

    def boot_and_look(self, configuration, image_format, image):
        """Boot a server, keep what is believed of its root disk, delete it."""
        server = self.boot_server(self.host, image)
        when = '-'.join(map(str, (*configuration, image_format)))
        self.expect_boot_and_agreement(server, when)
        self.rows.append(permutations.Row(
            configuration, image_format, permutations.Believed.of(
                self.followed[server].observed)))
        self.delete_followed_server(server)

    def keep_table(self):
        self.addDetail('permutations.txt', content.text_content(
            permutations.render(self.rows)))
        self.addDetail('permutations.json', content.json_content([
            {**row.configuration._asdict(), 'image': row.image_format,
             **row.believed._asdict()} for row in self.rows]))

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

        1. Make an image of either format.
        2. For each images_type, use_cow_images and force_raw_images, restart
           nova-compute with them and boot a server from each image, which
           the host's image cache doesn't have.
        3. It boots; XML, disk.info, file and backing file agree, and are as
           the table says.
        4. By the table, flat is raw by another name, and use_cow_images
           matters with the default images_type alone.
        """
        images = {format_: self.own_image(format_)
                  for format_ in permutations.IMAGE_FORMATS}
        for configuration in permutations.CONFIGURATIONS:
            self.set_options(self.host, configuration.options)
            for format_, image in images.items():
                self.boot_and_look(configuration, format_, image)
        self.keep_rows()
        self.assertEqual([], [row for row in self.rows
                              if row.believed != row.expected])
        self.assertEqual({}, permutations.differing(
            self.rows, 'images_type', 'flat', 'raw'))
        self.assertEqual({'default'}, {
            configuration.images_type
            for configuration, _ in permutations.differing(
                self.rows, 'use_cow_images', True, False)})

    def boot_and_look(self, configuration, image_format, image):
        """Boot a server, keep what is believed of its root disk, delete it."""
        server = self.boot_server(self.host, image)
        when = '-'.join(map(str, (*configuration, image_format)))
        self.expect_boot_and_agreement(server, when)
        self.rows.append(permutations.Row(
            configuration, image_format, permutations.Believed.of(
                self.followed[server].observed)))
        self.delete_followed_server(server)
        self.forget_image(self.host, image)

    def keep_rows(self):
        self.keep_table('permutations', permutations.render(self.rows), [
            {**row.configuration._asdict(), 'image': row.image_format,
             **row.believed._asdict()} for row in self.rows])

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

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        # Of all tests so far: the last one shows the whole table.
        cls.rows = []

    def go_through(self, images_type):
        """Steps 1 to 4 of each test.

        1. Make an image of either format.
        2. For each use_cow_images and force_raw_images, restart nova-compute
           with them and boot a server from each image, which the host's image
           cache doesn't have.
        3. It boots; XML, disk.info, file and backing file agree, and are as
           the table says.
        4. By all rows of the tests that ran so far in this run, flat is raw
           by another name, and use_cow_images matters with the default
           images_type alone.
        """
        host, = self.hosts_of(cloud.ANY, 1)
        # Of a boot that goes wrong, too, the table has those before it.
        self.addCleanup(self.keep_rows)
        images = {format_: self.own_image(format_)
                  for format_ in permutations.IMAGE_FORMATS}
        for configuration in permutations.configurations_of(images_type):
            self.set_options(host, configuration.options)
            for format_, image in images.items():
                self.boot_and_look(host, configuration, format_, image)
        self.expect_rows_as_documented()

    def boot_and_look(self, host, configuration, image_format, image):
        """Boot a server, keep what is believed of its root disk, delete it."""
        server = self.boot_server(host, image)
        when = '-'.join(map(str, (*configuration, image_format)))
        self.expect_boot_and_agreement(server, when)
        self.rows.append(permutations.Row(
            configuration, image_format, permutations.Believed.of(
                self.followed[server].observed)))
        self.delete_followed_server(server)
        self.forget_image(host, image)

    def keep_rows(self):
        self.keep_table('permutations', permutations.render(self.rows), [
            {**row.configuration._asdict(), 'image': row.image_format,
             **row.believed._asdict()} for row in self.rows])

    def expect_rows_as_documented(self):
        self.assertEqual([], [row for row in self.rows
                              if row.believed != row.expected])
        self.assertEqual({}, permutations.differing(
            self.rows, 'images_type', 'flat', 'raw'))
        self.assertLessEqual({
            configuration.images_type
            for configuration, _ in permutations.differing(
                self.rows, 'use_cow_images', True, False)}, {'default'})

    @decorators.idempotent_id('8a150624-dc2a-434b-b27a-362e72120f67')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_default(self):
        """"default" is qcow2 or flat, by use_cow_images."""
        self.go_through('default')

    @decorators.idempotent_id('ea768316-f56d-45ad-afd3-d8669ff227c1')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_qcow2(self):
        """qcow2 is an overlay over what force_raw_images makes."""
        self.go_through('qcow2')

    @decorators.idempotent_id('56e293cd-1061-4a9e-bdf4-bb7e04acda09')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_flat(self):
        """flat is a copy of what force_raw_images makes."""
        self.go_through('flat')

    @decorators.idempotent_id('0a58fecb-e346-4ed9-874a-d35a9dcedf50')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_raw(self):
        """raw is flat by another name."""
        self.go_through('raw')

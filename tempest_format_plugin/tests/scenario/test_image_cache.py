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

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import permutations
from tempest_format_plugin.tests.scenario import reconfiguration
from tempest_format_plugin.tests.scenario import verdicts


class ImageCacheTest(reconfiguration.ReconfigureScenarioTest):
    """A host whose force_raw_images changes after it has cached an image.

    The cache has one file for an image, whatever its format, and nova looks
    only whether it is there (Image.cache in nova/virt/libvirt/
    imagebackend.py). LP 2038898's last comment tells of it.
    """

    images_type = None

    def set_force_raw(self, host, force_raw):
        """Have images forced to raw on a host, or not."""
        configuration = permutations.Configuration(
            self.images_type, True, force_raw)
        self.set_options(host, configuration.options)
        return configuration

    def expect_as_documented(self, server_id, configuration):
        """Expect a root disk from a qcow2 image to be as for an empty cache.

        :raises OtherFormat: it isn't
        """
        believed = permutations.Believed.of(self.followed[server_id].observed)
        expected = permutations.expected(configuration, 'qcow2')
        if believed != expected:
            raise verdicts.OtherFormat(
                f'server {server_id}: expected of its root disk {expected} '
                f'with {configuration}, found {believed}')


@decorators.serial
class TestFlatOverCache(ImageCacheTest):
    """images_type = flat: the disk is a copy of the cached file."""

    images_type = 'flat'
    needed_hosts = {cloud.ANY: 1}

    def flip(self, force_raw):
        """The steps of both tests."""
        host, = self.hosts_of(cloud.ANY, 1)
        image = self.own_image('qcow2')
        before = self.set_force_raw(host, force_raw)
        old = self.boot_server(host, image)
        self.expect_boot_and_agreement(old, 'before-the-change')
        self.expect_as_documented(old, before)
        after = self.set_force_raw(host, not force_raw)
        warm = self.boot_server(host, image)
        self.expect_boot_and_agreement(warm, 'over-the-warm-cache')
        self.hard_reboot(old)
        self.expect_boot_and_agreement(old, 'old-server-rebooted')
        self.expect_as_documented(old, before)
        self.forget_image(host, image)
        cold = self.boot_server(host, image)
        self.expect_boot_and_agreement(cold, 'over-the-clean-cache')
        self.expect_as_documented(cold, after)
        self.hard_reboot(warm)
        self.expect_boot_and_agreement(warm, 'warm-server-rebooted')

    @decorators.idempotent_id('745ef1ac-c4e6-4b3c-8783-08280dcdf3d6')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    def test_forced_afterwards(self):
        """force_raw_images is turned on over a cached qcow2 image.

        1. Boot a server from a qcow2 image with force_raw_images = False:
           its disk is qcow2, all agree.
        2. Turn it on and boot another from the same image, which the cache
           has: it boots, all agree, in whatever format.
        3. Hard reboot the first: it boots, all agree, nothing has changed.
        4. Take the image out of the cache and boot a third: raw, all agree.
        5. Hard reboot the second: it boots, all agree.
        """
        self.flip(force_raw=False)

    @decorators.idempotent_id('d278e289-5fc8-4672-9160-fdf4998c4f65')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    def test_no_longer_forced(self):
        """force_raw_images is turned off over a cached raw image.

        The steps are those of test_forced_afterwards, the other way round.
        """
        self.flip(force_raw=True)


class OverlayTest(ImageCacheTest):
    """images_type = qcow2: the disk is an overlay over the cached file."""

    images_type = 'qcow2'

    def boot_over_cache(self, host, image, force_raw):
        """Boot a server from a qcow2 image that is new to a host."""
        configuration = self.set_force_raw(host, force_raw)
        server = self.boot_server(host, image)
        self.expect_boot_and_agreement(server, 'before-the-change')
        self.expect_as_documented(server, configuration)
        return server


@decorators.serial
class TestOverlayOverCache(OverlayTest):
    """The option changes under overlays that are there."""

    needed_hosts = {cloud.ANY: 1}

    def flip(self, force_raw):
        """The steps of both tests."""
        host, = self.hosts_of(cloud.ANY, 1)
        image = self.own_image('qcow2')
        old = self.boot_over_cache(host, image, force_raw)
        self.set_force_raw(host, not force_raw)
        self.hard_reboot(old)
        self.expect_boot_and_agreement(old, 'after-the-hard-reboot')
        new = self.boot_server(host, image)
        self.expect_boot_and_agreement(new, 'over-the-warm-cache')

    @decorators.idempotent_id('5a7e2a6c-dace-4cad-bf82-342ba76012df')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_forced_afterwards(self):
        """force_raw_images is turned on under overlays over qcow2.

        1. Boot a server from a qcow2 image with force_raw_images = False:
           an overlay over a qcow2 file, all agree.
        2. Turn it on and hard reboot the server: it boots, all agree.
        3. Boot another from the same image: it boots, all agree.
        """
        self.flip(force_raw=False)

    @decorators.idempotent_id('70e3f4d1-d5eb-4266-8bce-75433a18aa6e')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_no_longer_forced(self):
        """force_raw_images is turned off under overlays over raw.

        The steps are those of test_forced_afterwards, the other way round.
        """
        self.flip(force_raw=True)


@decorators.serial
class TestOverlayMigrated(OverlayTest):
    """A server goes to a host that has force_raw_images the other way."""

    needed_features = ('cold_migration',)
    needed_hosts = {cloud.ANY: 2}

    def migrate(self, force_raw):
        """The steps of both tests."""
        source, target = self.hosts_of(cloud.ANY, 2)
        self.clear_in_the_end(source)
        # First: to make it, a host may be given other options.
        image = self.own_image('qcow2')
        self.set_force_raw(target, not force_raw)
        server = self.boot_over_cache(source, image, force_raw)
        self.cold_migrate(server, target)
        self.expect_boot_and_agreement(server, 'after-the-migration')
        self.confirm_resize(server)
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    @decorators.idempotent_id('5041e8f2-4ede-4dce-b710-96693407646b')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_to_a_host_that_forces_raw(self):
        """An overlay over qcow2 is cold migrated to where images are raw.

        1. Boot a server from a qcow2 image on a host with force_raw_images =
           False: an overlay over a qcow2 file, all agree.
        2. Cold migrate it to a host with force_raw_images = True: the same
           disk boots there, all agree, its backing file too.
        3. Confirm and hard reboot it: it boots, all agree.
        """
        self.migrate(force_raw=False)

    @decorators.idempotent_id('816479b9-9813-456c-aec1-2a8581c9aee9')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_to_a_host_that_does_not_force_raw(self):
        """An overlay over raw is cold migrated to where images stay qcow2.

        The steps are those of test_to_a_host_that_forces_raw, the other way
        round.
        """
        self.migrate(force_raw=True)

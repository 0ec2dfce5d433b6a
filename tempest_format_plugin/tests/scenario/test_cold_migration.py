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
from tempest_format_plugin.tests.scenario import base
from tempest_format_plugin.tests.scenario import verdicts


class RawBackendTest(base.FormatScenarioTest):
    """Two hosts of the raw image backend.

    LP 2038898: with [libvirt] images_type raw or flat and use_cow_images left
    at its default, finish_migration converts the disks to qcow2 on the
    target; the domain XML and disk.info go on saying raw.
    """

    needed_hosts = {'raw': 2}

    def setUp(self):
        super().setUp()
        self.source, self.target = cloud.hosts_of_backend('raw')[:2]


class TestColdMigration(RawBackendTest):
    """Cold migration between hosts of the raw image backend."""

    needed_features = ('cold_migration',)

    @decorators.idempotent_id('aa21cd59-173a-4ec1-8b4c-6a83c80f50dc')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    @verdicts.known_bug('2038898')
    def test_cold_migrate_and_confirm(self):
        """A cold migrated server keeps its format and boots.

        1. Boot a server with root, ephemeral and swap disk and a config
           drive on a host of the raw backend.
        2. Its guest boots; XML, disk.info and files agree.
        3. Cold migrate it to another host of the raw backend.
        4. The same disk boots there; all agree.
        5. Confirm; all still agree.
        """
        server = self.boot_server(self.source)
        self.expect_boot_and_agreement(server, 'before-the-migration')
        self.cold_migrate(server, self.target)
        self.expect_boot_and_agreement(server, 'after-the-migration')
        self.confirm_resize(server)
        self.expect_agreement(server, 'after-the-confirm')

    @decorators.idempotent_id('0485f225-41ad-4697-81db-c2b2c74fcdec')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    def test_cold_migrate_and_revert(self):
        """A reverted cold migration leaves the server as it was.

        1. Boot a server on a host of the raw backend.
        2. Its guest boots; XML, disk.info and files agree.
        3. Cold migrate it to another host of the raw backend. What is
           believed there is kept as evidence; it is the test above that
           judges it.
        4. Revert: the way out for whoever meets the bug before confirming.
        5. The same disk boots on the source; all agree.
        """
        server = self.boot_server(self.source)
        self.expect_boot_and_agreement(server, 'before-the-migration')
        self.cold_migrate(server, self.target)
        self.observe(server, 'after-the-migration')
        self.revert_resize(server, self.source)
        self.expect_boot_and_agreement(server, 'after-the-revert')


class TestResize(RawBackendTest):
    """Resize from one host of the raw image backend to another."""

    # 1.6: traits, by which the target is chosen.
    placement_min_microversion = '1.6'

    needed_features = ('resize',)

    @decorators.idempotent_id('90c549ae-296c-40df-9825-d6dabeef1c53')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    @verdicts.known_bug('2038898')
    def test_resize_to_another_host(self):
        """A resized server keeps its format and boots.

        1. Boot a server on a host of the raw backend.
        2. Its guest boots; XML, disk.info and files agree.
        3. Resize it to a flavor with a larger root disk, on another host of
           the raw backend.
        4. The same disk boots there, larger; all agree.
        5. Confirm; all still agree.
        """
        server = self.boot_server(self.source)
        self.expect_boot_and_agreement(server, 'before-the-resize')
        self.resize(server, self.target)
        self.expect_boot_and_agreement(server, 'after-the-resize')
        self.confirm_resize(server)
        self.expect_agreement(server, 'after-the-confirm')


class TestColdMigrationBetweenBackends(base.FormatScenarioTest):
    """Cold migration between hosts of different image backends."""

    needed_features = ('cold_migration',)
    needed_hosts = {'raw': 1, 'qcow2': 1}

    def migrate(self, source, target):
        """Steps 1 to 4 of each test: the same whatever the backends are."""
        self.clear_in_the_end(source)
        server = self.boot_server(source)
        self.expect_boot_and_agreement(server, 'before-the-migration')
        self.cold_migrate(server, target)
        self.expect_boot_and_agreement(server, 'after-the-migration')
        self.confirm_resize(server)
        self.expect_agreement(server, 'after-the-confirm')
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    @decorators.idempotent_id('f58d0307-4a19-4668-8020-cb286733332a')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    @verdicts.known_bug('2038898')
    def test_raw_to_qcow2(self):
        """A server of a raw host boots on a qcow2 host.

        1. Boot a server on a host of the raw backend; all agree.
        2. Cold migrate it to a host of the qcow2 backend: the same disk
           boots there, all agree.
        3. Confirm: all still agree.
        4. Hard reboot it: it boots, all agree.
        """
        self.migrate(cloud.hosts_of_backend('raw')[0],
                     cloud.hosts_of_backend('qcow2')[0])

    @decorators.idempotent_id('b9815aab-0a6d-4c20-84b2-27f0263335d7')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    def test_qcow2_to_raw(self):
        """A server of a qcow2 host boots on a raw host.

        The steps are those of test_raw_to_qcow2, the other way round.
        """
        self.migrate(cloud.hosts_of_backend('qcow2')[0],
                     cloud.hosts_of_backend('raw')[0])

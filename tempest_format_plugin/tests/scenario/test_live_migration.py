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
from tempest_format_plugin.tests.scenario import live_migrations
from tempest_format_plugin.tests.scenario import verdicts


class LiveMigrationTest(live_migrations.LiveMigrationVerbs):
    """The steps that all tests share."""

    def migrate_there_and_back(self, source, target):
        """Steps 2 to 6 of each test: the same whatever the backends are."""
        server = self.boot_server(source)
        self.expect_boot_and_agreement(server, 'before-the-migration')
        self.live_migrate(server, target)
        self.expect_same_boot(server)
        self.expect_agreement(server, 'after-the-migration')
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')
        self.live_migrate(server, source)
        self.expect_same_boot(server)
        self.expect_agreement(server, 'back-on-the-source')


class TestMixedBackends(LiveMigrationTest):
    """Between hosts of different image backends: the bug report."""

    needed_hosts = {'raw': 1, 'qcow2': 1}

    def setUp(self):
        super().setUp()
        self.raw, = cloud.hosts_of_backend('raw')[:1]
        self.qcow2, = cloud.hosts_of_backend('qcow2')[:1]

    @decorators.idempotent_id('be3093c7-f8da-46bd-b6a0-f01adbd7789d')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    @verdicts.known_bug('live-migration-mixed-backends')
    def test_qcow2_to_raw(self):
        """A qcow2 server goes to a raw host and stays qcow2.

        1. Boot a server on a host of the qcow2 backend; all agree.
        2. Live migrate it to a host of the raw backend.
        3. It is there, the same boot goes on writing, all agree.
        4. Hard reboot it: it boots, all agree.
        5. Live migrate it back: the same boot goes on, all agree.
        """
        self.migrate_there_and_back(self.qcow2, self.raw)

    @decorators.idempotent_id('dd8276d6-c9cd-42a8-b1b2-e7b295cda5d1')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    @verdicts.known_bug('live-migration-mixed-backends')
    def test_raw_to_qcow2(self):
        """A raw server goes to a qcow2 host and stays raw.

        The steps are those of test_qcow2_to_raw, the other way round.
        """
        self.migrate_there_and_back(self.raw, self.qcow2)


class TestSameBackend(LiveMigrationTest):
    """Between hosts of one image backend: the controls."""

    @decorators.idempotent_id('0c1d351f-4d14-47fe-a752-d6711858def1')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    def test_qcow2_to_qcow2(self):
        """A qcow2 server goes to another qcow2 host."""
        self.migrate_there_and_back(*self.hosts_of('qcow2', 2))

    @decorators.idempotent_id('798685cf-921a-437d-b2dc-de596c4bd1a5')
    @decorators.attr(type='multinode')
    @utils.services('compute', 'image')
    def test_raw_to_raw(self):
        """A raw server goes to another raw host."""
        self.migrate_there_and_back(*self.hosts_of('raw', 2))

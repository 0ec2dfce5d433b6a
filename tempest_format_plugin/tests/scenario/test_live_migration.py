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

from oslo_log import log
from tempest.common import utils
from tempest import config
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import findings
from tempest_format_plugin.formats import models
from tempest_format_plugin.guests import exceptions as guests_exceptions
from tempest_format_plugin.tests.scenario import base
from tempest_format_plugin.tests.scenario import verdicts

CONF = config.CONF
LOG = log.getLogger(__name__)

# A migration whose record has one of these is over.
FINAL = ('completed', 'error', 'failed', 'cancelled')


class LiveMigrationTest(base.FormatScenarioTest):
    """Block migration: the disks go along with the running guest.

    pre_live_migration makes the disks on the target by the images_type of
    the target, and the XML that goes there keeps the source's formats
    (nova/virt/libvirt/driver.py; review 570528).
    """

    needed_features = ('live_migration', 'block_migration_for_live_migration')

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

    def live_migrate(self, server_id, host):
        """Live migrate a server with its disks to a host.

        :raises MigrationFailed: it is not there afterwards
        """
        LOG.info('Live migrating server %s to %s', server_id, host)
        before = self.followed[server_id].observed
        self.operating_on(server_id)
        self.admin_servers.live_migrate_server(
            server_id, host=host, block_migration='auto')
        server = self.settle_server(server_id, 'ACTIVE')
        migration = self._wait_for_migration(server_id)
        if (migration['status'], server['status'],
                self.host_of(server_id)) != ('completed', 'ACTIVE', host):
            self._migration_failed(before, host, server, migration)

    def _wait_for_migration(self, server_id):
        """Return the record of a server's last migration, once it is over.

        Just after the server is ACTIVE it may still say that it runs.
        """
        found = []

        def over():
            found[:] = self.os_admin.migrations_client.list_migrations(
                instance_uuid=server_id)['migrations']
            return found and found[0]['status'] in FINAL
        self.wait_until(over, lambda in_time: (
            f'server {server_id}: expected its migration to be over '
            f'{in_time}, its record says '
            f'{found[0]["status"] if found else "nothing"}'))
        # The latest comes first.
        return found[0]

    def _migration_failed(self, before, target, server, migration):
        """Find out what a failed migration has left, and raise it."""
        server_id = server['id']
        host = cloud.compute_hosts().get(target)
        fact = findings.MigrationFailed(
            source=before.host, target=target,
            server_status=server['status'], server_host=self.host_of(
                server_id),
            migration_status=migration['status'],
            guest_alive=self._guest_alive(server_id),
            qemu_log=host.qemu_log(self.domain_name(server_id)),
            before=before, left_on_target=self._left_on(host, server_id),
            fault=server.get('fault', {}).get('message', ''))
        self.observe(server_id, 'after-the-failed-migration')
        left = ', '.join(fact.left_on_target.disks()) or 'nothing'
        log_end = fact.qemu_log.strip().splitlines()[-3:]
        raise verdicts.MigrationFailed(
            f'live migration of server {server_id} from {fact.source} to '
            f'{target}: expected it to be completed, its record says '
            f'{migration["status"]}; the server is {fact.server_status} on '
            f'{fact.server_host}, its guest '
            f'{"goes on" if fact.guest_alive else "is silent"}, '
            f'{left} of it is on {target}; '
            f'{fact.fault or self.last_action(server_id)}; QEMU there: '
            f'{" | ".join(log_end) or "no log"}', fact)

    def _guest_alive(self, server_id):
        try:
            self.expect_same_boot(server_id)
        except guests_exceptions.HeartbeatError:
            return False
        return self.followed[server_id].outcome == bugs.BOOTED

    def _left_on(self, host, server_id):
        """Return what a host has of a server that isn't on it.

        nova takes some seconds to clean up behind a migration.
        """
        seen = [host.observe(server_id)]

        def clean():
            seen.append(host.observe(server_id))
            return (seen[-1].state == models.ABSENT
                    and not seen[-1].observations)
        test_utils.call_until_true(clean, CONF.disk_format.settle_timeout, 1)
        return seen[-1]


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

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

"""Live migrating servers, and finding out what a failed one has left."""

from oslo_log import log

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import findings
from tempest_format_plugin.guests import exceptions as guests_exceptions
from tempest_format_plugin.tests.scenario import base
from tempest_format_plugin.tests.scenario import verdicts

LOG = log.getLogger(__name__)

# A migration whose record has one of these is over.
FINAL = ('completed', 'error', 'failed', 'cancelled')


class LiveMigrationVerbs(base.FormatScenarioTest):
    """Block migration: the disks go along with the running guest.

    pre_live_migration makes the disks on the target by the images_type of
    the target, and the XML that goes there keeps the source's formats
    (nova/virt/libvirt/driver.py; review 570528).
    """

    needed_features = ('live_migration', 'block_migration_for_live_migration')

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
            before=before, left_on_target=self.left_on(host, server_id),
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

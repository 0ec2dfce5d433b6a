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
from tempest import config
from tempest.lib import decorators

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.scenario import live_migrations
from tempest_format_plugin.tests.scenario import reconfiguration
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import verdicts

CONF = config.CONF


class FleetConversionTest(reconfiguration.ReconfigureScenarioTest,
                          live_migrations.LiveMigrationVerbs):
    """Compute hosts are given another image backend under running servers.

    What the report of the live migration bug expects: a server keeps the
    format that it was made with, whatever is done with it, and only new
    servers have the new one (review 570528).
    """

    needed_features = ('cold_migration', 'resize',
                       *live_migrations.LiveMigrationVerbs.needed_features)
    # 1.6: traits, by which the target of a resize is chosen.
    placement_min_microversion = '1.6'
    needed_hosts = {cloud.ANY: 2}
    # The image backends before and after.
    old_backend = new_backend = None

    def boot_before_conversion(self):
        """Steps 1 and 2 of each test.

        :returns: the server's id, and the name of another converted host
        """
        host = self.host_of_backend(self.old_backend)
        self.clear_in_the_end(host)
        server = self.boot_server(host)
        self.expect_boot_and_agreement(server, 'before-the-conversion')
        self.set_backend(host, self.new_backend)
        other = self.host_of_backend(self.new_backend, other_than=host)
        self.expect_same_boot(server)
        self.expect_agreement(server, 'after-the-conversion')
        return server, other

    def expect_boot_in_old_format(self, server_id, when):
        """Expect a boot, agreement, and the format to be the one it had.

        :raises OtherFormat: some local disk has another one
        """
        self.expect_boot_and_agreement(server_id, when)
        self.expect_old_format(server_id, when)

    def expect_old_format(self, server_id, when):
        observed = self.followed[server_id].observed
        files = {disk: observed.of(disk, models.FILE).format
                 for disk in servers.LOCAL_DISKS
                 if not models.is_config_drive(disk)}
        if set(files.values()) != {self.old_backend}:
            raise verdicts.OtherFormat(
                f'{when}, server {server_id} on {observed.host}: expected '
                f'its disks to stay {self.old_backend}, they are {files}')

    # The steps from the third on

    def stop_and_start(self):
        server, _ = self.boot_before_conversion()
        self.operating_on(server)
        self.stop_server(server)
        self.start_server(server)
        self.expect_boot_in_old_format(server, 'after-the-start')

    def reboot(self):
        server, _ = self.boot_before_conversion()
        self.operating_on(server)
        self.hard_reboot(server)
        self.expect_boot_in_old_format(server, 'after-the-hard-reboot')

    def resize_in_place(self):
        if not CONF.disk_format.resize_to_same_host:
            raise self.skipException(
                '[disk_format] resize_to_same_host is false')
        server, _ = self.boot_before_conversion()
        self.resize(server, self.host_of(server))
        self.expect_boot_in_old_format(server, 'after-the-resize')
        self.confirm_resize(server)
        self.expect_agreement(server, 'after-the-confirm')

    def migrate_live(self):
        server, other = self.boot_before_conversion()
        self.live_migrate(server, other)
        self.expect_same_boot(server)
        self.expect_agreement(server, 'after-the-migration')
        self.expect_old_format(server, 'after-the-migration')
        self.hard_reboot(server)
        self.expect_boot_in_old_format(server, 'after-the-hard-reboot')

    def migrate_cold(self):
        server, other = self.boot_before_conversion()
        self.cold_migrate(server, other)
        self.expect_boot_in_old_format(server, 'after-the-migration')
        self.confirm_resize(server)
        self.expect_agreement(server, 'after-the-confirm')


@decorators.serial
class TestQcow2FleetMadeRaw(FleetConversionTest):
    """The fleet of the report: its servers are qcow2, its hosts become raw.

    The first steps of each test:

    1. Boot a server on a host of the qcow2 backend; all agree.
    2. Give this host and another one images_type = raw: the same boot goes
       on writing, all agree.
    """

    old_backend, new_backend = 'qcow2', 'raw'

    @decorators.idempotent_id('36696822-baf8-47d1-a849-b05ef3ed034a')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_stop_and_start(self):
        """The server is stopped and started.

        3. Stop it and start it: the same disk boots, all agree, it is
           qcow2 still.
        """
        self.stop_and_start()

    @decorators.idempotent_id('bb83a6f1-667b-4edd-8049-c4748bd81fa6')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_hard_reboot(self):
        """The server is rebooted the hard way.

        3. Hard reboot it: the same disk boots, all agree, it is
           qcow2 still.
        """
        self.reboot()

    @decorators.idempotent_id('a100e428-9a41-490c-a289-605de29914c3')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_resize(self):
        """The server is resized on its host.

        3. Resize it there to a larger root disk: the same disk
           boots, all agree, it is qcow2 still.
        4. Confirm: all still agree.
        """
        self.resize_in_place()

    @decorators.idempotent_id('492b1b52-87c9-471c-b2a8-d3015e0e4432')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @verdicts.known_bug('live-migration-mixed-backends')
    def test_live_migrate(self):
        """The server is live migrated.

        3. Live migrate it to the other host: the same boot goes on
           there, all agree, it is qcow2 still.
        4. Hard reboot it: the same disk boots, all agree, qcow2 still.
        """
        self.migrate_live()

    @decorators.idempotent_id('26515cdd-e5ea-4160-84eb-a76624d10d2c')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_cold_migrate(self):
        """The server is cold migrated.

        3. Cold migrate it to the other host: the same disk
           boots, all agree, it is qcow2 still.
        4. Confirm: all still agree.
        """
        self.migrate_cold()


@decorators.serial
class TestRawFleetMadeQcow2(FleetConversionTest):
    """The way back: servers are raw, their hosts become qcow2.

    The first steps of each test:

    1. Boot a server on a host of the raw backend; all agree.
    2. Give this host and another one images_type = qcow2: the same boot goes
       on writing, all agree.
    """

    old_backend, new_backend = 'raw', 'qcow2'

    @decorators.idempotent_id('a8de6520-a7f3-43f7-a350-0f485da38a9a')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @verdicts.known_bug('live-migration-mixed-backends')
    def test_stop_and_start(self):
        """The server is stopped and started.

        3. Stop it and start it: the same disk boots, all agree, it is
           raw still.
        """
        self.stop_and_start()

    @decorators.idempotent_id('9caf2720-fc6b-4fe1-a5a7-1b37785fe984')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @verdicts.known_bug('live-migration-mixed-backends')
    def test_hard_reboot(self):
        """The server is rebooted the hard way.

        3. Hard reboot it: the same disk boots, all agree, it is
           raw still.
        """
        self.reboot()

    @decorators.idempotent_id('8edc9c82-ed7d-4f85-8231-f2bb354e2049')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_resize(self):
        """The server is resized on its host.

        3. Resize it there to a larger root disk: the same disk
           boots, all agree, it is raw still.
        4. Confirm: all still agree.
        """
        self.resize_in_place()

    @decorators.idempotent_id('afc8fb9a-4395-4092-af70-95827df765da')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @verdicts.known_bug('live-migration-mixed-backends')
    def test_live_migrate(self):
        """The server is live migrated.

        3. Live migrate it to the other host: the same boot goes on
           there, all agree, it is raw still.
        4. Hard reboot it: the same disk boots, all agree, raw still.
        """
        self.migrate_live()

    @decorators.idempotent_id('b74ce7e1-b03b-4354-8e01-f7c90c0300cb')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    @verdicts.known_bug('2038898')
    def test_cold_migrate(self):
        """The server is cold migrated.

        3. Cold migrate it to the other host: the same disk
           boots, all agree, it is raw still.
        4. Confirm: all still agree.
        """
        self.migrate_cold()

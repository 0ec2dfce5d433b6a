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
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.scenario import volumes

CONF = config.CONF


class NfsSnapshotTest(volumes.VolumeScenarioTest):
    """Volumes on NFS, whose snapshots make the active file a qcow2 overlay.

    LP 1989514: the attachment of a volume that is attached during the
    snapshot goes on saying raw, and nova believes it when it next builds the
    domain XML.
    """

    needed_hosts = {cloud.ANY: 1}

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.disk_format.nfs_volume_type:
            raise cls.skipException('[disk_format] nfs_volume_type names no '
                                    'volume type')

    def setUp(self):
        super().setUp()
        self.host = cloud.hosts_of_backend(cloud.ANY)[0]


class TestNfsVolumeSnapshot(NfsSnapshotTest):
    """The bug report, and its workaround."""

    @decorators.idempotent_id('4a6f6f0c-58b7-4d19-9a0b-2f1c0c9d7f11')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_snapshot_of_stopped_server(self):
        """A server whose volume got a snapshot while it was stopped boots.

        1. Boot a server from a raw volume; its guest boots, all agree.
        2. Stop it and take a snapshot of the volume.
        3. The inactive XML, the attachment and the file say qcow2, and the
           file has the old one behind it.
        4. Start it: all agree again.
        5. The same volume boots.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-snapshot')
        self.stop_server(server)
        self.snapshot_volume(volume)
        self.note_agreement(server, 'after-the-snapshot')
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    @decorators.idempotent_id('23e292be-4fb8-4287-84b2-92545a1efe72')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_rebuild_after_snapshot(self):
        """A rebuild with the same volume makes a new, right attachment.

        The way out that the report names.

        1. Boot a server from a raw volume; its guest boots, all agree.
        2. Stop it and take a snapshot of the volume.
        3. Rebuild the server with the volume's own image: the volume is kept,
           all agree.
        4. Start it: the same volume boots, all agree.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-snapshot')
        self.stop_server(server)
        self.snapshot_volume(volume)
        self.rebuild_server(server)
        self.note_agreement(server, 'after-the-rebuild')
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')


class TestNfsVolumeSnapshotVariants(NfsSnapshotTest):
    """What else may come between a snapshot and the next boot."""

    def boot_with_snapshot(self):
        """Boot a server from a volume and snapshot that while it runs.

        :returns: the server's, the volume's and the snapshot's id
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-snapshot')
        snapshot = self.snapshot_volume(volume)
        self.expect_same_boot(server)
        self.note_agreement(server, 'after-the-snapshot')
        return server, volume, snapshot

    @decorators.idempotent_id('07f7068d-d136-43b4-b4e8-1707eb7353aa')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_snapshot_of_running_server(self):
        """A server whose volume got a snapshot while it ran boots again.

        1. Boot a server from a raw volume; its guest boots, all agree.
        2. Take a snapshot of the volume: the same boot goes on writing.
        3. Stop and start it: the same volume boots, all agree.
        """
        server, _, _ = self.boot_with_snapshot()
        self.stop_server(server)
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    @decorators.idempotent_id('0e96735e-d678-4982-ae08-97737e3712bf')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_hard_reboot_after_snapshot(self):
        """A server with a snapshot in its volume's chain boots again.

        1. Boot a server from a raw volume; snapshot that while it runs.
        2. Hard reboot the server: the same volume boots, all agree.
        """
        server, _, _ = self.boot_with_snapshot()
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    @decorators.idempotent_id('ff78f820-3f7c-4edc-b5dc-c68f57a8af8a')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_two_snapshots(self):
        """Two snapshots make a chain of three files that boots.

        1. Boot a server from a raw volume; snapshot that while it runs.
        2. Stop the server and take a second snapshot.
        3. Start it: the same volume boots, all agree about the whole chain.
        """
        server, volume, _ = self.boot_with_snapshot()
        self.stop_server(server)
        self.snapshot_volume(volume)
        self.note_agreement(server, 'after-the-second-snapshot')
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    @decorators.idempotent_id('a1a7bd06-bcc3-4023-8afd-2ad0aa0f3c33')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_snapshot_deleted_while_stopped(self):
        """A server whose volume's snapshot was deleted offline boots.

        1. Boot a server from a raw volume; snapshot that while it runs.
        2. Stop the server and delete the snapshot: all agree.
        3. Start it: the same volume boots, all agree.
        """
        server, _, snapshot = self.boot_with_snapshot()
        self.stop_server(server)
        self.delete_snapshot(snapshot)
        self.note_agreement(server, 'after-the-deletion')
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    @decorators.idempotent_id('6d28f219-4ded-4fe0-96e4-bcb77c090867')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_snapshot_deleted_while_running(self):
        """A server whose volume's snapshot was deleted online boots again.

        1. Boot a server from a raw volume; snapshot that while it runs.
        2. Delete the snapshot: the same boot goes on writing, all agree.
        3. Stop and start the server: the same volume boots, all agree.
        """
        server, _, snapshot = self.boot_with_snapshot()
        self.delete_snapshot(snapshot)
        self.expect_same_boot(server)
        self.note_agreement(server, 'after-the-deletion')
        self.stop_server(server)
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    @decorators.idempotent_id('b4690c95-7092-4a49-a6e1-8c5bc25c1105')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_shelve_and_unshelve(self):
        """A server with a snapshot in its volume's chain is shelved and back.

        1. Boot a server from a raw volume; snapshot that while it runs.
        2. Shelve the server and unshelve it, on whatever host.
        3. The same volume boots, all agree.
        """
        server, _, _ = self.boot_with_snapshot()
        self.shelve_server(server)
        self.unshelve_server(server)
        self.expect_boot_and_agreement(server, 'after-the-unshelve')

    @decorators.idempotent_id('4de87684-0844-4f22-b179-809b8eadb59d')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_snapshot_of_data_volume(self):
        """A data volume that got a snapshot doesn't keep a server down.

        1. Boot a server with local disks and attach an empty raw volume.
        2. Stop it and take a snapshot of the volume.
        3. Start it: its root disk boots, all agree about all disks.
        """
        server, volume = self.boot_with_data_volume()
        self.stop_server(server)
        self.snapshot_volume(volume)
        self.note_agreement(server, 'after-the-snapshot')
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

    @decorators.idempotent_id('fe4c31bb-de7a-48ce-b582-87ceacb5c0d6')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_detach_and_attach_after_snapshot(self):
        """A data volume that got a snapshot can be detached and attached.

        1. Boot a server with local disks and an empty raw volume; snapshot
           the volume.
        2. Detach and attach the volume: all agree.
        3. Hard reboot the server: it boots, all agree.
        """
        server, volume = self.boot_with_data_volume()
        self.snapshot_volume(volume)
        self.note_agreement(server, 'after-the-snapshot')
        self.detach_volume(server, volume)
        self.attach_volume(server, volume)
        self.expect_agreement(server, 'attached-again')
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    @decorators.idempotent_id('ec1a9f0f-e163-40c6-b168-4018bd970d9e')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_extend_after_snapshot(self):
        """A data volume with a deleted snapshot can be extended.

        1. Boot a server with local disks and an empty raw volume; snapshot
           the volume, and delete the snapshot.
        2. Detach the volume, extend it and attach it: all agree.
        3. Hard reboot the server: it boots, all agree about the new size.
        """
        server, volume = self.boot_with_data_volume()
        snapshot = self.snapshot_volume(volume)
        self.delete_snapshot(snapshot)
        self.detach_volume(server, volume)
        self.extend_volume(volume)
        self.attach_volume(server, volume)
        self.expect_agreement(server, 'attached-again')
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    def boot_with_data_volume(self):
        """Boot a server with local disks and attach an empty volume.

        :returns: the server's and the volume's id
        """
        volume = self.create_format_volume(bootable=False)
        server = self.boot_server(self.host)
        self.expect_boot_and_agreement(server, 'before-the-volume')
        self.attach_volume(server, volume)
        self.expect_agreement(server, 'before-the-snapshot')
        return server, volume


class TestColdMigrationWithSnapshot(NfsSnapshotTest):
    """Cold migration of a server whose volume has a snapshot."""

    needed_features = ('cold_migration',)
    needed_hosts = {cloud.ANY: 2}

    @decorators.idempotent_id('b9983d1b-8f87-420b-a531-01f1901fcecf')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_cold_migrate_after_snapshot(self):
        """A volume-backed server with a snapshot in the chain migrates.

        1. Boot a server from a raw volume; its guest boots, all agree.
        2. Take a snapshot of the volume.
        3. Cold migrate it to another host: the same volume boots there, all
           agree.
        4. Confirm: all still agree.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-snapshot')
        self.snapshot_volume(volume)
        self.note_agreement(server, 'after-the-snapshot')
        self.cold_migrate(server, cloud.hosts_of_backend(cloud.ANY)[1])
        self.expect_boot_and_agreement(server, 'after-the-migration')
        self.confirm_resize(server)
        self.expect_agreement(server, 'after-the-confirm')

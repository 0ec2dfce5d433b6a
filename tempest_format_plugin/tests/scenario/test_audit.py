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

import json
import subprocess
import sys

from tempest.common import utils
from tempest.lib import decorators

from tempest_format_plugin.tests.scenario import base
from tempest_format_plugin.tests.scenario import sabotage
from tempest_format_plugin.tests.scenario import test_cold_migration
from tempest_format_plugin.tests.scenario import test_nfs_volume_snapshot
from tempest_format_plugin.tests.scenario import verdicts


class AuditVerbs(base.FormatScenarioTest):
    """The command beside what the tests observe."""

    def expect_audited(self, server):
        """Expect an audit of a server to find what an observation does.

        :returns: the numbers of the rules that are broken
        """
        _, disagreements = self.observe(server, 'beside-the-audit')
        ended = subprocess.run(
            [sys.executable, '-m', 'tempest.cmd.main', 'disk-format', 'audit',
             '--server', server, '--format', 'json'],
            capture_output=True, text=True)
        self.assertEqual(1 if disagreements else 0, ended.returncode,
                         ended.stderr)
        # What the guest tells, rule 5, is for tests.
        self.assertEqual(
            sorted((one.disk, one.rule, one.what) for one in disagreements
                   if one.rule != 5),
            sorted((one['disk'], one['rule'], one['what'])
                   for one in json.loads(ended.stdout)['findings']))
        return {one.rule for one in disagreements}


class TestAudit(AuditVerbs, sabotage.SabotageTest):
    """``tempest disk-format audit`` sees what the tests see."""

    @decorators.idempotent_id('59ec68ed-2adc-4682-8393-0cc3794e021e')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_each_sabotage_is_listed(self):
        """Each hand-made disagreement is listed, and nothing besides.

        1. Boot a server on a host of the qcow2 backend: an audit of it finds
           nothing.
        2. While it runs, edit in turn its root disk's entry in disk.info and
           the driver type in the inactive XML.
        3. Stop it; convert its root disk in place, then declare another
           format for the disk's backing file.
        4. Each time an audit finds what the observation finds, and nothing
           once it is undone.
        """
        self.boot_victim()
        self.expect_rules()
        with self.sabotage('disk.info', sabotage.EDIT_DISK_INFO,
                           sabotage.UNDO_DISK_INFO):
            self.expect_rules(2)
        with self.sabotage('inactive-xml', sabotage.EDIT_XML,
                           sabotage.UNDO_XML):
            self.expect_rules(1, 2)
        self.stop_server(self.server)
        with self.sabotage('file', sabotage.CONVERT_DISK,
                           sabotage.UNDO_DISK):
            self.expect_rules(1, 2)
        with self.sabotage('backing-format', sabotage.EDIT_BACKING,
                           sabotage.UNDO_DISK):
            self.expect_rules(4)
        self.expect_rules()

    def expect_rules(self, *rules):
        """Expect an audit to find these rules broken."""
        self.assertEqual({*rules}, self.expect_audited(self.server))


class TestAuditAfterColdMigration(AuditVerbs,
                                  test_cold_migration.RawBackendTest):
    """What LP 2038898 has left in a fleet."""

    needed_features = ('cold_migration',)

    @decorators.idempotent_id('67fca1b9-12bf-4881-835d-aba3e23079e8')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    @decorators.related_bug('2038898')
    @verdicts.known_bug('2038898')
    def test_cold_migrated(self):
        """What the migration has converted is listed, and nothing besides.

        1. Boot a server on a host of the raw backend; an audit finds nothing.
        2. Cold migrate it to another one, and confirm.
        3. An audit finds what the observation finds: on a cloud with the bug
           that its disks are qcow2 and taken for raw, else nothing.
        4. It boots there; all agree.
        """
        server = self.boot_server(self.source)
        self.expect_boot_and_agreement(server, 'before-the-migration')
        self.expect_audited(server)
        self.cold_migrate(server, self.target)
        self.confirm_resize(server)
        self.expect_audited(server)
        self.expect_boot_and_agreement(server, 'after-the-confirm')


class TestAuditAfterNfsSnapshot(AuditVerbs,
                                test_nfs_volume_snapshot.NfsSnapshotTest):
    """What LP 1989514 has left in a fleet."""

    @decorators.idempotent_id('6500cced-4c63-4566-b738-0e1193e3bae3')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image', 'volume')
    @decorators.related_bug('1989514')
    @verdicts.known_bug('1989514')
    def test_snapshot_of_stopped_server(self):
        """An attachment that goes on saying raw is listed.

        1. Boot a server from a raw volume; an audit finds nothing.
        2. Stop it and take a snapshot of the volume.
        3. An audit finds what the observation finds: on a cloud with the bug
           that the attachment says raw of a qcow2 file, else nothing.
        4. It boots; all agree.
        """
        volume = self.create_format_volume()
        server = self.boot_volume_backed_server(self.host, volume)
        self.expect_boot_and_agreement(server, 'before-the-snapshot')
        self.expect_audited(server)
        self.stop_server(server)
        self.snapshot_volume(volume)
        self.note_agreement(server, 'after-the-snapshot')
        self.expect_audited(server)
        self.start_server(server)
        self.expect_boot_and_agreement(server, 'after-the-start')

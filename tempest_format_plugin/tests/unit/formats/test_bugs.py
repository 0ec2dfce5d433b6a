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

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import host_report
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

COLD_MIGRATION = '2038898'


class GetTest(base.TestCase):

    def test_known(self):
        bug, = bugs.get([COLD_MIGRATION])
        self.assertEqual((COLD_MIGRATION, 'nova', ()),
                         (bug.id, bug.project, bug.fixed_in))
        self.assertEqual((), bugs.get([]))

    def test_unknown(self):
        error = self.assertRaises(exceptions.FormatsError, bugs.get, ['1'])
        self.assertIn("Unknown bug '1'", str(error))
        self.assertIn(COLD_MIGRATION, str(error))

    def test_without_signature(self):
        for bug_id, bug in bugs.BUGS.items():
            if bug.signature is None:
                error = self.assertRaises(exceptions.FormatsError, bugs.get,
                                          [COLD_MIGRATION, bug_id])
                self.assertIn(bug_id, str(error))
                self.assertIn('no signature yet', str(error))


class ColdMigrationTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.bug, = bugs.get([COLD_MIGRATION])

    def _matches(self, server, outcome=bugs.SILENT, disagreements=None):
        if disagreements is None:
            disagreements = agreement.judge(server)
        return bugs.matches(self.bug, disagreements, outcome, server=server)

    def assertMatches(self, *disks):
        self.assertTrue(self._matches(observed.server(*disks)))

    def assertNoMatch(self, *disks, outcome=bugs.SILENT):
        self.assertFalse(self._matches(observed.server(*disks), outcome))

    def _shows(self, name='disk', **changes):
        return observed.disk(name, **({'file': 'qcow2'} | changes))

    def test_sample(self):
        server = host_report.parse(
            self.sample('host_report-cold-migrated-raw.json'),
            server_id='some-server', host='node-1')
        self.assertTrue(self._matches(server))
        self.assertFalse(self._matches(server, bugs.BOOTED))

    def test_root_alone(self):
        self.assertMatches(self._shows())

    def test_one_xml(self):
        self.assertMatches(self._shows(live=None))
        self.assertMatches(self._shows(inactive=None))

    def test_config_drive_and_volumes_that_agree(self):
        self.assertMatches(
            self._shows(), observed.disk('disk.config'),
            observed.disk('some-volume', info=None))

    def test_entry_of_a_removed_file(self):
        self.assertMatches(self._shows(), observed.disk(
            'disk.rescue', live=None, inactive=None, file=None))

    def test_all_agree(self):
        self.assertNoMatch(observed.disk())
        self.assertNoMatch()

    def test_guest_booted(self):
        self.assertNoMatch(self._shows(), outcome=bugs.BOOTED)

    def test_swap_not_shown(self):
        self.assertNoMatch(self._shows(), observed.disk('disk.swap'))

    def test_root_not_shown(self):
        self.assertNoMatch(observed.disk(), self._shows('disk.swap'))
        self.assertNoMatch(self._shows('disk.swap'))

    def test_other_way_round(self):
        self.assertNoMatch(observed.disk(
            live='qcow2', inactive='qcow2', info='qcow2', file='raw'))

    def test_other_format(self):
        self.assertNoMatch(self._shows(file='qed'))

    def test_one_source_says_otherwise(self):
        for source in ('live', 'inactive', 'info'):
            self.assertNoMatch(self._shows(**{source: 'qcow2'}))

    def test_no_entry_in_disk_info(self):
        self.assertNoMatch(self._shows(info=None))

    def test_no_xml(self):
        self.assertNoMatch(self._shows(live=None, inactive=None))

    def test_backing_file(self):
        self.assertNoMatch(self._shows(
            backing=observed.chain((observed.BASE, 'raw')), live_backing=()))

    def test_config_drive_disagrees(self):
        self.assertNoMatch(self._shows(), self._shows('disk.config'))

    def test_volume_disagrees(self):
        self.assertNoMatch(self._shows(),
                           self._shows('some-volume', info=None))

    def test_guest_size_disagrees(self):
        self.assertNoMatch(self._shows(guest_size=observed.SIZE))

    def test_disagreement_missing_or_besides(self):
        server = observed.server(self._shows())
        found = agreement.judge(server)
        self.assertFalse(self._matches(server, disagreements=found[1:]))
        self.assertFalse(self._matches(server,
                                       disagreements=found + found[:1]))

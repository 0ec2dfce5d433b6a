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

from tempest_format_plugin.certification import certificate
from tempest_format_plugin.formats import bugs
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.certification import made

SKIPPED = made.verdict(results.SKIPPED, reason='one raw host')
NOT_RUN = made.verdict(results.NOT_RUN)
UNFINISHED = made.verdict(results.UNFINISHED)
DISAGREES = made.verdict(results.DISAGREES)
FIXED = made.verdict(results.FIXED)
REPRODUCED = made.verdict(results.REPRODUCED, bug='2038898')
AGREES = made.verdict()


class OutcomeTest(base.TestCase):

    def check(self, status, outcome, *verdicts, **fields):
        found = made.certificate_of(*verdicts, **fields)
        self.assertEqual((status, outcome), (found.status, found.outcome))
        self.assertEqual(status == certificate.CERTIFIED, found.certified)
        # Nothing else may call itself a certificate.
        self.assertEqual(
            'Disk format certificate' if found.certified
            else 'Disk format report: no certificate', found.title)

    def test_as_expected(self):
        self.check(0, 'complete, as expected', AGREES, REPRODUCED)

    def test_not_as_expected(self):
        self.check(1, 'complete, 2 not as expected', AGREES, DISAGREES, FIXED)

    def test_skipped(self):
        self.check(2, 'incomplete: skipped 1, not run 0', AGREES, SKIPPED)

    def test_not_run(self):
        self.check(2, 'incomplete: skipped 0, not run 2', AGREES, NOT_RUN,
                   UNFINISHED)

    def test_skipped_and_not_as_expected(self):
        self.check(1, 'incomplete: skipped 1, not run 0, 1 not as expected',
                   SKIPPED, DISAGREES)

    def test_left_behind(self):
        self.check(1, 'complete, as expected, 2 left behind', AGREES,
                   left=('a', 'b'))

    def test_not_looked_at(self):
        self.check(2, 'incomplete: skipped 0, not run 0, what was left behind '
                   'could not all be listed', AGREES, unlisted=('a',))

    def test_run_that_went_wrong(self):
        self.check(2, 'incomplete: skipped 0, not run 0, the run itself went '
                   'wrong', AGREES, told=('it was stopped',))

    def test_bug_met(self):
        found = made.certificate_of(
            REPRODUCED, REPRODUCED, made.verdict(results.FIXED,
                                                 bug='2038898'), AGREES)
        self.assertEqual('2 reproduced, 1 fixed',
                         found.bug_met(bugs.BUGS['2038898']))
        self.assertEqual('no test of it ran',
                         found.bug_met(bugs.BUGS['1989514']))


class VerdictsOfTest(base.TestCase):

    def of(self, tests, *read, missing=()):
        return [(one.test, one.verdict, one.reason)
                for one in certificate.verdicts_of(tests, read, missing)]

    def test_order_is_that_of_the_list(self):
        self.assertEqual(
            [('a.B.c', results.FIXED, ''), ('a.B.d', results.AGREES, '')],
            self.of(['a.B.c', 'a.B.d'],
                    made.verdict(test='a.B.d'),
                    made.verdict(results.FIXED, test='a.B.c')))

    def test_nothing_ran(self):
        self.assertEqual(
            [('a.B.c', results.NOT_RUN, ''),
             ('a.B.d', results.NOT_RUN, 'there is no such test in this '
              'version of the plugin')],
            self.of(['a.B.c', 'a.B.d'], missing=['a.B.d']))

    def test_class_that_was_skipped(self):
        self.assertEqual(
            [('a.B.c', results.SKIPPED, 'why'),
             ('a.B.d', results.SKIPPED, 'why'),
             ('a.Bb.c', results.NOT_RUN, '')],
            self.of(['a.B.c', 'a.B.d', 'a.Bb.c'],
                    # As the stream has a test that never began.
                    made.verdict(results.UNFINISHED, test='a.B.c'),
                    made.verdict(results.SKIPPED, test='setUpClass (a.B)',
                                 reason='why')))

    def test_class_that_failed_in_one_worker_alone(self):
        self.assertEqual(
            [('a.B.c', results.AGREES, ''), ('a.B.d', results.FAILED, 'why')],
            self.of(['a.B.c', 'a.B.d'], made.verdict(test='a.B.c'),
                    made.verdict(results.FAILED, test='setUpClass (a.B)',
                                 reason='why')))

    def test_what_else_went_wrong(self):
        self.assertEqual(
            [('a.B.c', results.AGREES, ''),
             ('tearDownClass (a.B)', results.FAILED, 'why')],
            self.of(['a.B.c'], made.verdict(test='a.B.c'),
                    made.verdict(test='process-returncode'),
                    made.verdict(results.FAILED, test='tearDownClass (a.B)',
                                 reason='why')))


class PicturesTest(base.TestCase):

    def test_recorded(self):
        found = {
            one.name: [str(change)
                       for server in certificate.pictures(one)
                       for disk in server.disks for change in disk.changes
                       if disk.target == 'vda']
            for one in made.verdicts()}
        self.assertEqual(
            ['2-after-the-migration, on compute-2: file changed from raw to '
             'qcow2'],
            found['TestColdMigration.test_cold_migrate_and_confirm'])
        self.assertEqual(
            ['2-after-the-migration, on compute-2: file changed from raw to '
             'qcow2',
             '3-after-the-revert, on compute-1: file changed from qcow2 to '
             'raw'],
            found['TestColdMigration.test_cold_migrate_and_revert'])
        self.assertEqual(
            ['2-after-the-snapshot, on compute-1: inactive XML changed from '
             'raw to qcow2',
             '2-after-the-snapshot, on compute-1: file changed from raw to '
             'qcow2 over raw',
             '3-after-the-start, on compute-1: inactive XML changed from '
             'qcow2 to raw'],
            found['TestNfsVolumeSnapshot.test_snapshot_of_stopped_server'])

    def test_table_of_something_else(self):
        self.assertEqual((), certificate.pictures(
            made.verdict(data={'1-permutations': [{'images_type': 'raw'}]})))

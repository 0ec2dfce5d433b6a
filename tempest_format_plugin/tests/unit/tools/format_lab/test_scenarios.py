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

import datetime

from format_lab import exceptions
from format_lab import leftovers
from format_lab import record
from format_lab import scenarios
from format_lab import timeline

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base


class ConcludeTest(base.LabTestCase):

    def test_all_expected(self):
        self.assertEqual(0, scenarios.conclude(self.lab, base.run(
            base.verdict(results.AGREES),
            base.verdict(results.REPRODUCED, bug='2038898'))))
        self.assertTrue(self.said.getvalue().endswith(
            '\n1 min 40 s, 3.1% of it waiting for neither the cloud nor a '
            'guest\n'
            f'2 verdicts as expected, 0 not; see {self.lab.results_dir}/'
            'report.html\n'
            'what hosts and services had to say of bugs and failures: '
            f'{self.lab.results_dir}/evidence\n'))

    def test_any_other(self):
        for kind in (results.DISAGREES, results.FIXED, results.SKIPPED,
                     results.UNFINISHED):
            self.assertEqual(1, scenarios.conclude(self.lab, base.run(
                base.verdict(results.AGREES),
                base.verdict(kind, reason='why'))))
            self.assertIn('a.TestB.test_c: why\n', self.said.getvalue())
            self.assertIn('1 verdicts as expected, 1 not',
                          self.said.getvalue())


SCENARIOS = ['--regex', r'^tempest_format_plugin\.tests\.scenario\.']
HEADLINE_SET = [
    *SCENARIOS, '--exclude-regex',
    r'\[.*(\braw_disallowed\b|\breconfigure\b|\bslow\b).*\]']
CHOICES = (scenarios.HEADLINE, scenarios.ALL, scenarios.RECONFIGURING)


class SelectionTest(base.LabTestCase):

    def test_headline_set(self):
        self.assertEqual(HEADLINE_SET,
                         scenarios.selection(
                             ['--serial'], scenarios.HEADLINE, {}))

    def test_full_set(self):
        self.assertEqual(
            [*SCENARIOS, '--exclude-regex',
             r'\[.*(\braw_disallowed\b|\breconfigure\b).*\]'],
            scenarios.selection(['--serial'], scenarios.ALL, {}))

    def test_reconfiguring_set(self):
        self.assertEqual(
            ['--concurrency', '1',
             SCENARIOS[0], SCENARIOS[1] + r'.*\[.*\breconfigure\b'],
            scenarios.selection([], scenarios.RECONFIGURING, {}))

    def test_cloud_that_takes_no_raw_images(self):
        for chosen in CHOICES:
            self.assertEqual(
                [SCENARIOS[0],
                 SCENARIOS[1] + r'.*\[.*\braw_disallowed\b'],
                scenarios.selection([], chosen,
                                    {'disk_formats': ['qcow2']}))

    def test_ones_own(self):
        for own in (['--regex', 'revert'], ['--regex=revert'], ['-rrevert'],
                    ['--smoke'], ['--load-list', 'x']):
            for chosen in CHOICES:
                self.assertEqual([], scenarios.selection(own, chosen, {}))


class TestTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.lab.cloud_dir.mkdir(parents=True)
        self.lab.settings_file.write_text('{"images_type": "raw"}')
        (self.lab.cloud_dir / 'tempest.conf').touch()
        self.child = self.patch((self.lab, 'child'))
        self.tempest = self.child.return_value.__enter__.return_value
        self.tempest.poll.return_value = 0
        self.tempest.returncode = 0
        self.stream = self.patch((record.Record, 'take_stream'),
                                 new=lambda kept: kept.stream.touch() or True)
        self.patch((timeline, 'tests'), return_value=[])
        self.keep = self.patch((record.Record, 'keep'))
        self.stock = self.patch((leftovers, 'keep_stock'))
        self.left = self.patch((leftovers, 'find'), return_value=[])

    def run_test(self, *arguments, verdicts=(base.verdict(results.AGREES),)):
        self.patch((results, 'read'), return_value=list(verdicts))
        return scenarios.test(self.lab, list(arguments))

    def test_not_up(self):
        (self.lab.cloud_dir / 'tempest.conf').unlink()
        self.assertIn('the cloud current is not up',
                      self.lab_error(self.run_test))

    def test_in_the_network_of_the_control_node(self):
        self.run_test('--serial')
        argv = self.child.call_args.args[0]
        self.assertEqual(
            ['nsenter', f'--net=/run/netns/{self.lab.control_netns}'],
            argv[:2])
        # tempest goes by the last word.
        self.assertEqual([*scenarios.CONCURRENCY, *HEADLINE_SET, '--serial'],
                         argv[-7:])

    def test_discovery(self):
        conf = self.lab.results_dir / '.stestr.conf'
        self.run_test('--serial')
        self.assertIn('/tests/scenario\n', conf.read_text())
        self.assertNotIn('group_regex', conf.read_text())
        # They may be anybody's.
        self.run_test('--regex', 'x')
        self.assertFalse(conf.exists())

    def test_what_it_returns(self):
        run = self.run_test()
        self.assertEqual('raw', run.settings['images_type'])
        self.assertEqual(2, len(run.verdicts))
        self.assertEqual([], run.unexpected)
        self.keep.assert_called_once_with(run)

    def test_stock_is_kept_before_tempest_runs(self):
        self.stock.side_effect = exceptions.LabError('nova is dead')
        self.assertEqual('nova is dead', self.lab_error(self.run_test))
        self.assertFalse(self.child.called)

    def test_something_stays_behind(self):
        self.left.return_value = ['server 1 (test)']
        run = self.run_test()
        self.assertEqual(['left behind: server 1 (test)'],
                         [one.reason for one in run.unexpected])
        self.assertEqual(['server 1 (test)'], run.leftovers)

    def test_no_test_was_run(self):
        self.patch((record.Record, 'take_stream'), return_value=False)
        self.assertIn('no test was run', self.lab_error(self.run_test))

    def test_tempest_that_died(self):
        self.tempest.returncode = 100
        self.assertIn('tempest ended with 100', self.lab_error(self.run_test))
        self.assertTrue(self.keep.called)

    def test_test_that_failed(self):
        self.tempest.returncode = 1
        self.run_test(verdicts=[base.verdict(results.FAILED)])

    def test_log_is_kept_whatever_happens(self):
        self.tempest.poll.side_effect = exceptions.LabError('interrupted')
        self.assertRaises(exceptions.LabError, self.run_test)
        self.assertEqual(
            [self.lab.results_dir / 'tempest.log'],
            [*self.lab.directory.rglob('tempest.log')])

    def test_clock(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        self.assertGreaterEqual(scenarios._now(), before)

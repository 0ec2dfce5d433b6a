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


import io

import subunit
import testtools

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin import results
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import found
from tempest_format_plugin.tests.unit.formats import observed

BUG = '2038898'
LIVE_MIGRATION = 'live-migration-mixed-backends'


def disagreement(*disks, outcome=bugs.SILENT, **kwargs):
    """Return the DisagreementFound of a server with some disks."""
    fact = found.disagreeing(observed.server(*disks), outcome)
    return verdicts.DisagreementFound(
        '\n'.join(['expected agreement', *map(str, fact.disagreements)]),
        fact, **kwargs)


def signature(**kwargs):
    """Return the DisagreementFound that is the bug's signature."""
    return disagreement(observed.disk(file='qcow2'),
                        observed.disk('disk.eph0', file='qcow2'), **kwargs)


# What each bug ends a test with.
FINDINGS = (
    (BUG, signature()),
    ('1989514', disagreement(observed.snapshotted(
        live='raw', inactive='raw', attached='raw', listed='raw'))),
    (LIVE_MIGRATION, verdicts.MigrationFailed(
        'no migration', found.failed_migration())),
    (LIVE_MIGRATION, verdicts.StartRefused(
        'no start', found.refused_reboot())),
    ('volume-backed-snapshot-format', verdicts.ImageFailed(
        'no image', found.failed_image())),
)


class KnownBugTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(verdicts))

    def run_test(self, error=None, bug=BUG, known_bugs=None):
        """Run a decorated test that raises an error, if one is given.

        :param known_bugs: None: the bug
        :returns: (testtools.TestResult, its Verdict as results.py reads it)
        """
        self.conf.set(known_bugs=[bug] if known_bugs is None else known_bugs)

        class Scenario(testtools.TestCase):
            @verdicts.known_bug(bug)
            def test_it(self):
                """Steps."""
                if error is not None:
                    raise error
        summary, output = testtools.TestResult(), io.BytesIO()
        result = testtools.MultiTestResult(
            summary, testtools.ExtendedToStreamDecorator(
                subunit.StreamResultToBytes(output)))
        result.startTestRun()
        Scenario('test_it').run(result)
        result.stopTestRun()
        output.seek(0)
        verdict, = results.read(output)
        return summary, verdict

    def assertFails(self, error, kind='disagrees', bug=BUG, **options):
        result, verdict = self.run_test(error, bug, **options)
        self.assertFalse(result.wasSuccessful())
        self.assertEqual([], result.expectedFailures)
        (_, traceback), = result.failures + result.errors
        self.assertIn(str(error).splitlines()[0], traceback)
        self.assertEqual((kind, bug), (verdict.verdict, verdict.bug))

    def test_signature_is_an_expected_failure(self):
        for bug, error in FINDINGS:
            result, verdict = self.run_test(error, bug)
            self.assertTrue(result.wasSuccessful(), error)
            self.assertEqual(1, len(result.expectedFailures))
            self.assertEqual(('reproduced', bug, True),
                             (verdict.verdict, verdict.bug, verdict.expected))

    def test_signature_of_another_bug_fails(self):
        for of, error in FINDINGS:
            for bug in set(bugs.BUGS) - {of}:
                self.assertFails(error, bug=bug, known_bugs=list(bugs.BUGS))

    def test_expected_failure_keeps_what_was_found(self):
        result, _ = self.run_test(signature())
        (_, text), = result.expectedFailures
        self.assertIn('live XML says raw, file says qcow2', text)
        self.assertIn(f'nova bug {BUG}: image format change during', text)

    def test_nothing_found_is_an_unexpected_success(self):
        result, verdict = self.run_test()
        self.assertFalse(result.wasSuccessful())
        self.assertEqual(1, len(result.unexpectedSuccesses))
        self.assertEqual(('fixed', BUG, False),
                         (verdict.verdict, verdict.bug, verdict.expected))
        self.assertIn(BUG, verdict.reason)

    def test_other_disagreement_fails(self):
        self.assertFails(disagreement(observed.disk(info='qcow2')))

    def test_more_than_the_signature_fails(self):
        self.assertFails(disagreement(
            observed.disk(file='qcow2'),
            observed.disk('disk.eph0', file='qcow2', info='qcow2')))

    def test_signature_with_a_guest_that_booted_fails(self):
        self.assertFails(signature(outcome=bugs.BOOTED))

    def test_signature_before_the_operation_fails(self):
        self.assertFails(signature(after_operation=False))

    def test_finding_of_no_bug_fails(self):
        for kind in (verdicts.OtherDiskBooted, verdicts.GuestSilent):
            for bug in bugs.BUGS:
                self.assertFails(kind('no fact'), bug=bug)

    def test_other_errors_fail(self):
        self.assertFails(AssertionError('on another host'), 'failed')
        self.assertFails(LookupError('no such server'), 'failed')

    def test_skip_passes_through(self):
        result, verdict = self.run_test(testtools.TestCase.skipException(
            'no hosts'))
        self.assertEqual(['no hosts'], list(result.skip_reasons))
        self.assertEqual(('skipped', BUG), (verdict.verdict, verdict.bug))

    def test_not_listed(self):
        for bug, error in FINDINGS:
            self.assertFails(error, bug=bug, known_bugs=[])
        _, verdict = self.run_test(known_bugs=[])
        self.assertEqual(('agrees', BUG), (verdict.verdict, verdict.bug))

    def test_keeps_the_name_and_the_docstring(self):
        @verdicts.known_bug(BUG)
        def test_it(test):
            """Steps."""
        self.assertEqual(('test_it', 'Steps.'),
                         (test_it.__name__, test_it.__doc__))

    def test_unknown_bug(self):
        self.assertRaises(exceptions.FormatsError, verdicts.known_bug, '1')

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
import io
import json
import unittest

import subunit
import testtools
from testtools import content

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base

START = datetime.datetime(2026, 10, 5, tzinfo=datetime.timezone.utc)


def stream(*events):
    """Return a subunit v2 stream of (test id, status, details by name)."""
    output = io.BytesIO()
    result = subunit.StreamResultToBytes(output)
    for second, (test, status, details) in enumerate(events):
        time = START + datetime.timedelta(seconds=90 * second)
        for name, text in details.items():
            result.status(test_id=test, file_name=name, eof=True,
                          file_bytes=text.encode(), timestamp=time,
                          mime_type='text/plain; charset=utf8')
        result.status(test_id=test, test_status=status, timestamp=time)
    output.seek(0)
    return output


def ran(*classes):
    """Return the Verdicts of the tests of some classes, by their names."""
    output = io.BytesIO()
    result = testtools.ExtendedToStreamDecorator(
        subunit.StreamResultToBytes(output))
    result.startTestRun()
    unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(one)
        for one in classes).run(result)
    result.stopTestRun()
    output.seek(0)
    return {verdict.test.rpartition('.')[2]: verdict
            for verdict in results.read(output)}


class ReadTest(base.TestCase):

    def one(self, status, **details):
        verdict, = results.read(stream(
            ('a.B.test_c[id-1,slow]', 'inprogress', {}),
            ('a.B.test_c[id-1,slow]', status, details)))
        return verdict

    def test_success(self):
        verdict = self.one('success')
        self.assertEqual(
            results.Verdict('a.B.test_c', results.AGREES, '', 90.0, '', {}),
            verdict)
        self.assertTrue(verdict.expected)
        self.assertEqual('agrees', str(verdict))

    def test_expected_failure(self):
        verdict = self.one('xfail', traceback='...', reason='nova bug',
                           **{results.BUG_DETAIL: '2038898'})
        self.assertTrue(verdict.expected)
        self.assertEqual(('2038898', ''), (verdict.bug, verdict.reason))
        self.assertEqual('reproduced LP 2038898', str(verdict))

    def test_bug_without_number(self):
        verdict = self.one('xfail', **{results.BUG_DETAIL: 'mixed-backends'})
        self.assertEqual('reproduced mixed-backends', str(verdict))

    def test_unexpected_success(self):
        verdict = self.one('uxsuccess', reason='nova bug 2038898: title',
                           **{results.BUG_DETAIL: '2038898'})
        self.assertFalse(verdict.expected)
        self.assertEqual(
            ('fixed', '2038898', 'nova bug 2038898: title'),
            (str(verdict), verdict.bug, verdict.reason))

    def test_skip(self):
        verdict = self.one('skip', reason='no hosts')
        self.assertFalse(verdict.expected)
        self.assertEqual(('skipped', 'no hosts'),
                         (str(verdict), verdict.reason))

    def test_failure(self):
        verdict = self.one('fail', traceback=(
            'Traceback (most recent call last):\n'
            '  File "a.py", line 1, in test\n'
            '    raise DisagreementFound(\n'
            '  File "a.py", line 2, in found\n'
            '    two: lines\n'
            'a.DisagreementFound: after, server s on node-1: expected\n'
            'disk: not the exception\n'))
        self.assertFalse(verdict.expected)
        self.assertEqual('disagrees', str(verdict))
        self.assertEqual('a.DisagreementFound: after, server s on node-1: '
                         'expected', verdict.reason)

    def test_what_is_found_is_no_other_failure(self):
        for error, verdict in (
                ('verdicts.DisagreementFound', 'disagrees'),
                ('verdicts.GuestSilent', 'disagrees'),
                ('verdicts.OtherDiskBooted', 'disagrees'),
                ('exceptions.HeartbeatError', 'disagrees'),
                ('exceptions.HostAccessError', 'failed'),
                ('testtools.matchers._impl.MismatchError', 'failed')):
            self.assertEqual(verdict, str(self.one('fail', traceback=(
                'Traceback (most recent call last):\n'
                '  File "a.py", line 1, in test\n'
                f'    raise error\n{error}: boot 2\n'))))

    def test_failure_that_names_no_exception(self):
        self.assertEqual('returncode 1',
                         self.one('fail', traceback='returncode 1\n').reason)
        self.assertEqual('', self.one('fail').reason)

    def test_never_ended(self):
        verdict, = results.read(stream(('a.B.test_c', 'inprogress', {})))
        self.assertFalse(verdict.expected)
        self.assertEqual(('unfinished', 0),
                         (str(verdict), verdict.seconds))

    def test_only_details(self):
        verdict, = results.read(stream(('a.B.test_c', None, {'log': 'x'})))
        self.assertEqual(results.UNFINISHED, verdict.verdict)

    def test_nothing(self):
        self.assertEqual([], results.read(io.BytesIO()))

    def test_several(self):
        verdicts = results.read(stream(
            ('a', 'inprogress', {}), ('b', 'inprogress', {}),
            ('b', 'fail', {}), ('a', 'success', {})))
        self.assertEqual({'a': 'agrees', 'b': 'failed'},
                         {one.test: one.verdict for one in verdicts})

    def test_tables_in_the_order_of_the_steps(self):
        names = [f'{step}-moment-{step}' for step in range(1, 12)]
        verdict = self.one('success', **{
            f'{name}.txt': f'table {name}' for name in reversed(names)},
            traceback='not a table', **{'1-moment.txt-not': 'nor this'})
        self.assertEqual(names, list(verdict.tables))
        self.assertEqual('table 10-moment-10',
                         verdict.tables['10-moment-10'])


class RunTest(base.TestCase):
    """What testtools really writes, read back."""

    def test_details(self):
        class Details(testtools.TestCase):
            def test_it(self):
                for step in (2, 10):
                    self.addDetail(f'{step}-when.txt',
                                   content.text_content(f'table {step}'))
                    self.addDetail(f'{step}-when.json',
                                   content.json_content({}))
        verdict = ran(Details)['test_it']
        self.assertEqual({'2-when': 'table 2', '10-when': 'table 10'},
                         verdict.tables)

    def test_skip_of_a_class(self):
        class Skipped(testtools.TestCase):
            @classmethod
            def setUpClass(cls):
                raise cls.skipException('[disk_format] compute_backends')

            def test_it(self):
                pass
        verdict, = ran(Skipped).values()
        self.assertEqual(
            ('skipped', '[disk_format] compute_backends', 0),
            (verdict.verdict, verdict.reason, verdict.seconds))

    def test_failure_of_a_class(self):
        class Broken(testtools.TestCase):
            @classmethod
            def setUpClass(cls):
                raise LookupError('Unknown bug')

            def test_it(self):
                pass
        verdict, = ran(Broken).values()
        self.assertEqual(('failed', 'LookupError: Unknown bug'),
                         (verdict.verdict, verdict.reason))

    def test_cleanup_that_fails_after_an_expected_failure(self):
        class Unclean(testtools.TestCase):
            def test_it(self):
                self.addCleanup(self._delete)
                self.expectFailure('nova bug', self.fail, 'two\nlines')

            def _delete(self):
                raise OSError('no answer')
        verdict = ran(Unclean)['test_it']
        self.assertEqual(('failed', 'OSError: no answer'),
                         (verdict.verdict, verdict.reason))


class ShownTest(base.TestCase):

    verdicts = [
        results.Verdict('a.b.TestC.test_d', results.REPRODUCED, '2038898',
                        107.6, '', {'1-before': 'table'}),
        results.Verdict('setUpClass (a.b.TestE)', results.SKIPPED, '', 0,
                        'no hosts', {})]

    def test_render(self):
        table, reason = results.render(self.verdicts).rsplit('\n', 1)
        _, head, _, first, second, _ = table.split('\n')
        cells = [[cell.strip() for cell in line.strip('|').split('|')]
                 for line in (head, first, second)]
        self.assertEqual(
            [['Test', 'Verdict', 'Seconds', 'Expected'],
             ['TestC.test_d', 'reproduced LP 2038898', '108', 'yes'],
             ['setUpClass (b.TestE)', 'skipped', '0', 'NO']], cells)
        self.assertEqual('setUpClass (a.b.TestE): no hosts', reason)

    def test_as_dicts(self):
        shown = json.loads(json.dumps(results.as_dicts(self.verdicts)))
        self.assertEqual(
            {'test': 'a.b.TestC.test_d', 'verdict': 'reproduced',
             'bug': '2038898', 'seconds': 107.6, 'reason': '',
             'tables': {'1-before': 'table'}, 'expected': True}, shown[0])
        self.assertFalse(shown[1]['expected'])

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

FINDING = ('tempest_format_plugin.tests.scenario.verdicts.'
           'DisagreementFound')
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

    def test_steps_are_in_order(self):
        verdict = self.one('success', **{
            f'{step}-moment.{kind}': '{}' for step in range(1, 12)
            for kind in ('txt', 'json')})
        expected = [f'{step}-moment' for step in range(1, 12)]
        self.assertEqual(expected, list(verdict.tables))
        self.assertEqual(expected, list(verdict.data))

    def test_stopped(self):
        verdict = self.one('fail', traceback=(
            '  File "a.py", line 1, in test\n    x()\nKeyboardInterrupt\n'))
        self.assertEqual((results.UNFINISHED, 'it was stopped'),
                         (verdict.verdict, verdict.reason))

    def test_names(self):
        for test, expected in (
                ('a.b.TestC.test_d[id-1,slow]', 'TestC.test_d'),
                ('setUpClass (a.b.TestC)', 'setUpClass (b.TestC)')):
            self.assertEqual(expected, results.name_of(test))

    def test_words(self):
        self.assertEqual(
            ['agrees', 'skipped', 'unfinished'],
            [results.word_of(one) for one in ('success', 'skip', 'exists')])

    def test_expected_failure(self):
        verdict = self.one('xfail', reason='nova bug', traceback=(
            f'  File "a.py", line 1, in test\n{FINDING}: found\n'),
            **{results.BUG_DETAIL: '2038898'})
        self.assertTrue(verdict.expected)
        self.assertEqual(('2038898', f'{FINDING}: found'),
                         (verdict.bug, verdict.reason))
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
            f'{FINDING}: after, server s on node-1: expected\n'
            'disk: qcow2\n'))
        self.assertFalse(verdict.expected)
        self.assertEqual('disagrees', str(verdict))
        self.assertEqual(
            f'{FINDING}: after, server s on node-1: expected\ndisk: qcow2',
            verdict.reason)

    def test_what_is_found_is_no_other_failure(self):
        for error, verdict in (
                (FINDING, 'disagrees'),
                ('tempest_format_plugin.tests.scenario.verdicts.NewOne',
                 'disagrees'),
                ('tempest_format_plugin.guests.exceptions.HeartbeatError',
                 'disagrees'),
                ('tempest_format_plugin.guests.exceptions.GuestError',
                 'failed'),
                ('tempest_format_plugin.hosts.exceptions.HostAccessError',
                 'failed'),
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

    def test_evidence(self):
        verdict = self.one('xfail', **{
            'evidence/node-1/s/live.xml': '<domain/>',
            'evidence/node-1/s/disk.info': '{}', 'evidence': 'not it'})
        self.assertEqual({'node-1/s/disk.info': '{}',
                          'node-1/s/live.xml': '<domain/>'}, verdict.evidence)
        self.assertEqual({}, self.one('success').evidence)

    def test_tracebacks_are_evidence(self):
        verdict = self.one('fail', **{'traceback': 'one', 'traceback-1': 'two',
                                      'evidence/node-1/error.txt': 'x'})
        self.assertEqual({'traceback.txt': 'one', 'traceback-1.txt': 'two',
                          'node-1/error.txt': 'x'}, verdict.evidence)

    def test_own_seconds(self):
        verdict = self.one('success', **{'own-seconds': '1.25'})
        self.assertEqual(1.25, verdict.own_seconds)
        self.assertEqual(0, self.one('success').own_seconds)


class RunTest(base.TestCase):
    """What testtools really writes, read back."""

    def test_details(self):
        class Details(testtools.TestCase):
            def test_it(self):
                for step in (2, 10):
                    self.addDetail(f'{step}-when.txt',
                                   content.text_content(f'table {step}'))
                    self.addDetail(f'{step}-when.json',
                                   content.json_content({'step': [step]}))
        verdict = ran(Details)['test_it']
        self.assertEqual({'2-when': {'step': [2]}, '10-when': {'step': [10]}},
                         verdict.data)
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

    def test_failure_whose_details_cannot_be_had(self):
        class Broken(testtools.TestCase):
            def test_it(self):
                self.addOnException(lambda exc_info: {}['server'])
                self.fail('found')
        output = io.BytesIO()
        result = testtools.ExtendedToStreamDecorator(
            subunit.StreamResultToBytes(output))
        result.startTestRun()
        self.assertRaises(KeyError, Broken('test_it').run, result)
        result.stopTestRun()
        output.seek(0)
        verdict, = results.read(output)
        self.assertEqual('failed', str(verdict))

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
                        107.6, 'found', {'1-before': 'table'},
                        {'node-1/live.xml': '<domain/>'}, 1.5,
                        {'1-before': [{'a': 1}]}),
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
             'bug': '2038898', 'seconds': 107.6, 'reason': 'found',
             'tables': {'1-before': 'table'},
             'evidence': ['node-1/live.xml'], 'own_seconds': 1.5,
             'expected': True, 'data': {'1-before': [{'a': 1}]}}, shown[0])
        self.assertFalse(shown[1]['expected'])

    def test_no_secret_in_data(self):
        verdict = results.Verdict(
            'a', results.AGREES, '', 1, '', {},
            data={'1-when': [{'path': 'token=abcdef', 'size': 1}]})
        shown, = results.as_dicts([verdict])
        self.assertNotIn('abcdef', str(shown['data']))
        self.assertEqual(1, shown['data']['1-when'][0]['size'])

    def test_bugs(self):
        self.assertEqual('LP 2038898', results.bug_label('2038898'))
        self.assertEqual('some-id', results.bug_label('some-id'))
        self.assertIn('image format', results.bug_title('2038898'))
        self.assertEqual('', results.bug_title(''))

    def test_render_matrix(self):
        text = results.render_matrix([
            ('LP 1', {'old': ('reproduced', 'reproduced'),
                      'new': ('reproduced', 'agrees')}),
            ('LP 2', {'other': ('agrees', 'agrees')})])
        self.assertEqual(
            [['Bug', 'old', 'new', 'other'],
             ['LP 1', 'reproduced', 'reproduced, NOT agrees', '-'],
             ['LP 2', '-', '-', 'agrees']],
            [[cell.strip() for cell in line.strip('|').split('|')]
             for line in text.split('\n') if line.startswith('|')])

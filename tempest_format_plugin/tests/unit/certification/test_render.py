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
import re
from xml.etree import ElementTree

from tempest_format_plugin.certification import render
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.certification import made
from tempest_format_plugin.tests.unit.formats import test_redaction
from tempest_format_plugin.tests.unit import test_report

SECRET_TEXT = f'{{"auth_password": "{test_redaction.SECRET}", "format": 1}}'


class PageTest(base.TestCase):

    def page(self, *verdicts, **fields):
        return test_report.Page(self.text(*verdicts, **fields))

    def text(self, *verdicts, **fields):
        return render.page(made.certificate_of(*verdicts, **fields))

    def test_stands_alone(self):
        text = self.text()
        page = test_report.Page(text)
        self.assertEqual([], page.all('link') + page.all('img'))
        script, = page.all('script')
        self.assertEqual({}, script)
        policy = page.all('meta')[1]
        self.assertEqual('Content-Security-Policy', policy['http-equiv'])
        self.assertRegex(
            policy['content'], r"^default-src 'none'; style-src "
            r"'unsafe-inline'; script-src 'sha256-[\w+/=]+'$")

    def test_picture(self):
        text = self.text()
        self.assertRegex(
            text, r'<td class="qcow2 changed">\s*<strong>qcow2</strong>\s*'
            r'<span class="mark">▲ was raw</span>\s*'
            r'<span class="mark bad">≠ disagrees</span>')
        self.assertIn('<strong>file</strong> changed from raw to qcow2', text)
        self.assertIn('<td class="dim">says nothing</td>', text)

    def test_tables_are_reachable_and_say_what_they_are(self):
        page = self.page(*made.verdicts(), made.verdict(results.SKIPPED))
        regions = [one for one in page.all('div')
                   if one.get('class') == 'scroll']
        self.assertEqual(len(page.all('table')), len(regions))
        labels = [one['aria-label'] for one in regions]
        self.assertEqual(len(labels), len(set(labels)))
        self.assertEqual({'0'}, {one['tabindex'] for one in regions})
        for header in page.all('th'):
            self.assertIn(header['scope'], ('col', 'row'))

    def test_ids_and_links_within(self):
        page = self.page()
        ids = [one['id'] for _, one in page.elements if 'id' in one]
        self.assertEqual(len(ids), len(set(ids)))
        for one in page.all('a'):
            if one['href'].startswith('#'):
                self.assertIn(one['href'][1:], ids)

    def test_filters_are_for_browsers_that_run_them(self):
        form, = self.page().all('form')
        self.assertIn('hidden', form)

    def test_rows_and_tests_are_in_the_same_order(self):
        # By which the filters go.
        page = self.page()
        rows = [one['data-verdict'] for one in page.all('tr')
                if 'data-verdict' in one]
        self.assertEqual(5, len(rows))
        self.assertEqual(rows, [
            one['data-verdict'] for one in page.all('details')
            if 'data-verdict' in one])

    def test_what_was_tested(self):
        text = self.text()
        for words in ('some (version 3): a few tests', '2.104', '34.0.0',
                      'control@nfs#nfs', 'Open Source', '47.0.0',
                      'known_bugs = 2038898'):
            self.assertIn(words, text)

    def test_hosts_that_did_not_tell(self):
        hosts = (made.facts.HostFacts('h', 'a', problems=('no answer',)),)
        text = self.text(facts=made.facts.CloudFacts(
            hosts=hosts, problems=('no cinder',)))
        for words in ('not known', 'h: no answer', 'no cinder'):
            self.assertIn(words, text)

    def test_bugs(self):
        page = self.page()
        self.assertIn('https://bugs.launchpad.net/nova/+bug/2038898',
                      [one['href'] for one in page.all('a')])
        text = self.text()
        for words in ('23.4.0, 24.3.0, 25.1.0, 26.0.0', '1 reproduced',
                      'no release has a fix; use_cow_images is true',
                      'as versions and settings tell'):
            self.assertIn(words, text)

    def test_nothing_left_behind(self):
        self.assertIn('<p>Nothing.</p>', self.text())

    def test_left_behind_and_not_listed(self):
        text = self.text(left=('volume 1 (tempest-x)',), unlisted=('port: x',))
        for words in ('volume 1 (tempest-x)', 'port: x'):
            self.assertIn(words, text)
        self.assertNotIn('<p>Nothing.</p>', text)
        self.assertNotIn('<p>Nothing.</p>', self.text(unlisted=('x',)))

    def test_incomplete(self):
        text = self.text(
            made.verdict(), made.verdict(results.SKIPPED, 'a.B.d',
                                         reason='too few hosts'),
            made.verdict(results.NOT_RUN, 'a.B.e'))
        self.assertIn('no certificate', text)
        for words in ('Incomplete: skipped 1, not run 1', 'too few hosts',
                      'the run was stopped before'):
            self.assertIn(words, text)
        self.assertNotIn('What keeps this run', self.text())

    def test_texts_are_escaped_and_redacted(self):
        text = self.text(made.verdict(
            results.FAILED, reason='<script>alert(1)</script>',
            tables={'1-x': SECRET_TEXT}))
        self.assertNotIn('<script>alert', text)
        self.assertNotIn(test_redaction.SECRET, text)


class JsonTest(base.TestCase):

    def json(self, *verdicts, **fields):
        return json.loads(render.as_json(
            made.certificate_of(*verdicts, **fields)))

    def test_all_of_it(self):
        found = self.json()
        self.assertEqual(
            ('complete, as expected', True, True, 0, 1, [], []),
            tuple(found[name] for name in (
                'outcome', 'certified', 'complete', 'status',
                'format_version', 'left_behind', 'not_listed')))
        self.assertEqual(('some', 3), tuple(
            found['lists'][0][name] for name in ('name', 'version')))
        self.assertEqual('raw', found['cloud']['hosts'][0]['images_type'])
        bug = found['known_bugs']['bugs'][1]
        self.assertEqual(
            ('1989514', ['23.4.0', '24.3.0', '25.1.0', '26.0.0'], False, None,
             '1 reproduced'),
            tuple(bug[name] for name in (
                'id', 'fixed_in', 'expected', 'proposed', 'met')))

    def test_changes(self):
        first = self.json()['verdicts'][0]
        self.assertIn(
            {'server': '9ed38498-62b5-4e90-a56c-bf1a84397cdf', 'disk': 'disk',
             'target': 'vda', 'moment': '2-after-the-migration',
             'host': 'compute-2', 'source': 'file', 'before': 'raw',
             'after': 'qcow2'},
            [change for one in self.json()['verdicts']
             for change in one['changes']], first['test'])

    def test_skipped_and_not_run(self):
        found = self.json(made.verdict(results.SKIPPED, 'a.B.d', reason='why'),
                          made.verdict(results.NOT_RUN, 'a.B.e'))
        self.assertEqual(({'a.B.d': 'why'}, {'a.B.e': ''}, False),
                         (found['skipped'], found['not_run'],
                          found['certified']))

    def test_no_secrets(self):
        text = render.as_json(made.certificate_of(
            made.verdict(results.FAILED,
                         reason=SECRET_TEXT),
            options={'ssh_password': test_redaction.SECRET},
            left=(SECRET_TEXT,),
            told=(SECRET_TEXT,)))
        self.assertNotIn(test_redaction.SECRET, text)


class JunitTest(base.TestCase):

    def suite(self, *verdicts, **fields):
        return ElementTree.fromstring(render.junit(
            made.certificate_of(*verdicts, **fields)))[0]

    def kinds(self, *verdicts, **fields):
        return {case.get('name'): [one.tag for one in case]
                for case in self.suite(*verdicts, **fields).iter('testcase')}

    def test_kinds(self):
        tests = {
            results.AGREES: [], results.REPRODUCED: ['system-out'],
            results.DISAGREES: ['failure'], results.FIXED: ['failure'],
            results.FAILED: ['error'], results.UNFINISHED: ['error'],
            results.NOT_RUN: ['error'], results.SKIPPED: ['skipped']}
        found = self.kinds(*(made.verdict(kind, f'a.B.{kind}')
                             for kind in tests))
        self.assertEqual(
            tests | {'nothing_left_behind': [], 'run': []}, found)
        suite = self.suite(*(made.verdict(kind) for kind in tests))
        self.assertEqual(('10', '2', '3', '1'), tuple(
            suite.get(name)
            for name in ('tests', 'failures', 'errors', 'skipped')))

    def test_run_and_leftovers(self):
        found = self.kinds(made.verdict(), left=('a',), unlisted=('b',),
                           told=('c',))
        self.assertEqual(['failure', 'error'], found['nothing_left_behind'])
        self.assertEqual(['error'], found['run'])

    def test_what_xml_can_not_say(self):
        suite = self.suite(made.verdict(
            results.FAILED, reason='\x1b[31m\0 <&> \ud800 end\n'))
        error = suite.find('testcase/error')
        self.assertEqual('�[31m� <&> � end\n', error.text)

    def test_no_secrets(self):
        text = render.junit(made.certificate_of(
            made.verdict(results.SKIPPED, reason=SECRET_TEXT),
            made.verdict(results.FAILED, reason=SECRET_TEXT),
            left=(SECRET_TEXT,)))
        self.assertNotIn(test_redaction.SECRET, text)

    def test_recorded(self):
        suite = self.suite()
        self.assertEqual(('7', '0', '0', '0', '450'), tuple(
            suite.get(name) for name in (
                'tests', 'failures', 'errors', 'skipped', 'time')))
        self.assertTrue(re.match(r'\d{4}-', suite.get('timestamp')))

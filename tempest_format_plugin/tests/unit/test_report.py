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
from html import parser
import json

from tempest_format_plugin import report
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import test_redaction

WHEN = datetime.datetime(2026, 10, 5, 12, 30, tzinfo=datetime.timezone.utc)
REPRODUCED = results.Verdict(
    'a.b.TestC.test_d', results.REPRODUCED, '2038898', 107.6, '',
    {'1-before': '| Target |', '2-after': '<&>'}, {'node-1/live.xml': 'x'})
AGREES = results.Verdict('a.b.TestC.test_e', results.AGREES, '', 9, '', {})
FAILED = results.Verdict('a.b.TestC.test_f', results.FAILED, '', 1,
                         'OSError: "no answer"', {})
VOID = {'br', 'input', 'meta'}


class Page(parser.HTMLParser):
    """What a page has: elements, links, ids, and the text of some elements."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = {}
        self._open = []
        self.feed(text)
        self.close()
        if self._open:
            raise ValueError(f'not closed: {self._open}')

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append('')
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if self._open.pop() != tag:
            raise ValueError(f'{tag} closed out of turn')

    def handle_data(self, data):
        for tag in self._open:
            self.texts[tag][-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements
                if name == tag]

    def ids(self):
        return [attributes['id'] for _, attributes in self.elements
                if 'id' in attributes]


def page(*runs, **options):
    return Page(report.page('Headline set', list(runs), made=WHEN, **options))


class ReportTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.one = report.Run('current', {'use_cow_images': True},
                              [REPRODUCED, AGREES, FAILED], 125, 0.0312, [],
                              WHEN)

    def test_head(self):
        shown = page(self.one)
        self.assertEqual([{'lang': 'en'}], shown.all('html'))
        self.assertEqual(['Headline set'], shown.texts['h1'])
        self.assertEqual(['Headline set'], shown.texts['title'])
        self.assertIn('Made 2026-10-05 12:30:00 UTC.',
                      shown.texts['header'][0])

    def test_stands_alone(self):
        shown = page(self.one)
        self.assertEqual([], [
            tag for tag, _ in shown.elements
            if tag in ('script', 'link', 'img', 'iframe')])
        self.assertNotIn('url(', shown.texts['style'][0])
        self.assertNotIn('@import', shown.texts['style'][0])

    def test_run(self):
        shown = page(self.one)
        self.assertEqual(
            ['2 as expected,\n1 not', '2026-10-05 12:30:00 UTC',
             '2 min 05 s, 3.1% of it waiting for neither the cloud nor a '
             'guest', 'nothing'], shown.texts['dd'])
        self.assertEqual(['use_cow_images = True'], shown.texts['li'][:1])

    def test_run_of_which_little_is_known(self):
        shown = page(report.Run('current', {}, [AGREES], 9))
        self.assertEqual(['1 as expected,\n0 not', '9 s'], shown.texts['dd'])

    def test_leftovers(self):
        shown = page(report.Run('current', {}, [], 9,
                                leftovers=['server 1', 'volume 2']))
        self.assertEqual(['server 1', 'volume 2'], shown.texts['dd'][-2:])

    def test_tests(self):
        cells = page(self.one).texts['td']
        self.assertEqual(
            ['reproduced LP 2038898', '108', 'yes', 'agrees', '9', 'yes',
             'failed', '1', 'NO'], cells)

    def test_each_test(self):
        shown = page(self.one)
        self.assertEqual(['| Target |', '<&>', 'OSError: "no answer"'],
                         shown.texts['pre'])
        self.assertEqual([False, False, False, True], [
            'open' in attributes for attributes in shown.all('details')])
        self.assertIn('TestC.test_f: failed (not expected)',
                      shown.texts['summary'])
        self.assertIn('LP 2038898: image format change during migration '
                      'breaks instances', shown.texts['p'])

    def test_links(self):
        links = [attributes['href'] for attributes in page(
            self.one, report.Run('2024.2', {}, [REPRODUCED], 1,
                                 directory='results/2024.2')).all('a')]
        directory = 'evidence/TestC.test_d'
        for file in ('reason.txt', '01-before.txt', 'node-1/live.xml'):
            self.assertIn(f'{directory}/{file}', links)
            self.assertIn(f'results/2024.2/{directory}/{file}', links)
        self.assertIn('evidence/TestC.test_f/reason.txt', links)
        self.assertNotIn('evidence/TestC.test_e/reason.txt', links)

    def test_links_within(self):
        shown = page(self.one, self.one)
        ids = shown.ids()
        self.assertEqual(len(ids), len(set(ids)))
        for attributes in shown.all('a'):
            if attributes['href'].startswith('#'):
                self.assertIn(attributes['href'][1:], ids)

    def test_header_cells_have_a_scope(self):
        cells = page(self.one, rows=[
            ('LP 1', {'current': ('agrees', 'agrees')})]).all('th')
        self.assertTrue(cells)
        for attributes in cells:
            self.assertIn(attributes['scope'], ('col', 'row'))

    def test_matrix(self):
        shown = page(self.one, rows=[
            ('LP 1', {'old': ('reproduced', 'reproduced'),
                      'new': ('reproduced', 'agrees')}),
            ('LP 2', {'other': ('agrees', 'agrees')})])
        self.assertEqual(['Bug', 'old', 'new', 'other'],
                         shown.texts['th'][:4])
        self.assertEqual(
            ['reproduced', 'reproduced, NOT agrees', '-',
             '-', '-', 'agrees'], shown.texts['td'][:6])

    def test_made_now(self):
        self.assertIn('UTC.', report.page('x', []))


class SecretsTest(base.TestCase):
    """Secrets fed into verdicts, looked for in all that is shown of them.

    For what is written otherwise: test_evidence.
    """

    def setUp(self):
        super().setUp()
        text = '\n'.join(test_redaction.SECRETS)
        self.verdicts = [
            results.Verdict(f'a.B.test_{verdict}', verdict, '', 1, text,
                            {'1-x': text}, {'qemu.log': text})
            for verdict in (results.FAILED, results.AGREES)]
        self.text = text

    def assert_none(self, shown):
        self.assertIn('***', shown)
        for part in test_redaction.PARTS:
            self.assertNotIn(part.lower(), shown.lower())

    def test_page(self):
        self.assert_none(report.page(self.text, [report.Run(
            self.text, {'admin_password': test_redaction.SECRET,
                        'nested': {'auth_password': test_redaction.SECRET}},
            self.verdicts, 1, leftovers=[self.text])],
            rows=[(self.text, {self.text: (self.text, self.text)})]))

    def test_json(self):
        self.assert_none(json.dumps(results.as_dicts(self.verdicts)))

    def test_text(self):
        self.assert_none(results.render(self.verdicts))
        self.assert_none(results.render_matrix(
            [(test_redaction.SECRETS[0],
              {test_redaction.SECRETS[0]: (test_redaction.SECRETS[0], '')})]))

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

import csv
import io
import json

import fixtures

from tempest_format_plugin.audit import journal
from tempest_format_plugin.audit import render
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed


class RenderTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.journal = journal.Journal(
            self.useFixture(fixtures.TempDir()).join('journal'))
        self.addCleanup(self.journal.close)

    def fill(self):
        self.journal.begin([], 'noon', [
            (f's-{number}', 'h-1', 'p', []) for number in range(4)])
        self.journal.keep('s-0', ())
        self.journal.keep('s-1', agreement.judge(
            observed.server(observed.disk(file='qcow2'))))
        self.journal.keep_unknown('s-2', 'refused, token=abcdef')

    def rendered(self, format_):
        output = io.StringIO()
        render.FORMATS[format_](self.journal, output)
        return output.getvalue()

    def test_text(self):
        self.fill()
        text = self.rendered('text')
        self.assertLess(text.index('Does harm now'),
                        text.index('Does harm at the next start'))
        self.assertIn('s-1 on h-1 (project p), disk, rule 1\n    live XML '
                      'says raw, file says qcow2: the guest is handed', text)
        self.assertIn("Couldn't tell", text)
        self.assertTrue(text.endswith(
            'Of the servers that nova listed at noon: 1 agrees, 1 disagrees, '
            "1 couldn't tell, 1 not looked at\n"),
            text[-80:])
        self.assertNotIn('abcdef', text)

    def test_text_that_a_guest_has_a_say_in(self):
        """No line and no control character of somebody else's."""
        self.journal.begin([], 'noon', [('s-1', 'h-1', 'p', [])])
        self.journal.keep_unknown('s-1', 'x\n99 agrees\x1b[2J')
        text = self.rendered('text')
        self.assertIn('s-1 on h-1: x\\n99 agrees\\x1b[2J\n', text)

    def test_json(self):
        self.fill()
        found = json.loads(self.rendered('json'))
        self.assertEqual({'agrees': 1, 'disagrees': 1, "couldn't tell": 1},
                         found['counts'])
        self.assertEqual(1, found['not_looked_at'])
        self.assertEqual(['now', 'at the next start', 'at the next start'],
                         [one['harm'] for one in found['findings']])
        self.assertEqual({*render.FIELDS}, found['findings'][0].keys())
        self.assertEqual('s-2', found['unknown'][0]['server'])
        self.assertNotIn('abcdef', str(found))

    def test_json_of_nothing(self):
        found = json.loads(self.rendered('json'))
        self.assertEqual(([], []), (found['findings'], found['unknown']))

    def test_csv(self):
        self.fill()
        rows = list(csv.DictReader(io.StringIO(self.rendered('csv'))))
        self.assertEqual(['s-1', 's-1', 's-1', 's-2'],
                         [row['server'] for row in rows])
        self.assertEqual(('now', '1', ''), (
            rows[0]['harm'], rows[0]['rule'], rows[0]['reason']))
        self.assertIn('refused', rows[3]['reason'])
        self.assertNotIn('abcdef', str(rows))

    def test_html(self):
        self.fill()
        page = self.rendered('html')
        for wanted in ('<!DOCTYPE html>', 'Does harm now</h2>',
                       'Does harm at the next start</h2>',
                       'live XML says raw, file says qcow2',
                       'id="unknown"', '</html>'):
            self.assertEqual(1, page.count(wanted), wanted)
        self.assertNotIn('abcdef', page)

    def test_html_of_nothing(self):
        page = self.rendered('html')
        self.assertIn('0 servers', page)
        self.assertNotIn('<table>', page)

    def test_html_of_a_strange_name(self):
        self.journal.begin([], 'noon', [('<script>', 'h<1', 'p', [])])
        self.journal.keep_unknown('<script>', '"&')
        page = self.rendered('html')
        self.assertNotIn('<script>', page)
        self.assertIn('h&lt;1', page)

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

import pathlib

import fixtures

from tempest_format_plugin.audit import journal
from tempest_format_plugin.formats import advice
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

SERVERS = [('s-1', 'h-1', 'p', False), ('s-2', 'h-1', 'p', True),
           ('s-3', 'h-2', 'q', False)]


def disagreements(**fields):
    return agreement.judge(observed.server(observed.disk(**fields)))


class JournalTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.useFixture(
            fixtures.TempDir()).join('journal'))
        self.journal = self.open()

    def open(self):
        journal_ = journal.Journal(self.path)
        self.addCleanup(journal_.close)
        return journal_

    def test_to_do(self):
        self.assertEqual(0, self.journal.add(SERVERS))
        self.assertEqual(['h-1', 'h-2'], self.journal.hosts_to_do())
        self.assertEqual([('s-1', False), ('s-2', True)],
                         self.journal.to_do('h-1', 9))
        self.assertEqual([('s-1', False)], self.journal.to_do('h-1', 1))
        self.journal.keep('s-1', ())
        self.assertEqual([('s-2', True)], self.journal.to_do('h-1', 9))
        self.assertEqual(2, self.journal.to_do_count())

    def test_on_no_host(self):
        self.assertEqual(1, self.journal.add(
            [*SERVERS, ('s-4', None, 'p', True)]))
        self.assertEqual(3, self.journal.to_do_count())

    def test_list_that_breaks_off(self):
        def servers():
            yield SERVERS[0]
            raise OSError
        self.assertRaises(OSError, self.journal.add, servers())
        self.assertFalse(self.journal.take_up())

    def test_worst_first(self):
        self.journal.add(SERVERS)
        self.journal.keep('s-1', disagreements(info='qcow2'))
        self.journal.keep('s-3', disagreements(live='qcow2'))
        self.journal.keep('s-2', ())
        found = list(self.journal.findings())
        self.assertEqual(
            sorted(one.harm for one in found), [one.harm for one in found])
        first = found[0]
        self.assertEqual(('s-3', 'h-2', 'q', 'disk', 1, advice.Harm.NOW),
                         first[:6])
        self.assertIn('live XML says qcow2', first.what)
        self.assertEqual({'agrees': 1, 'disagrees': 2, "couldn't tell": 0},
                         self.journal.counts())

    def test_unknown(self):
        self.journal.add(SERVERS)
        self.journal.keep('s-1', ())
        self.journal.keep_unknown('s-2', 'why')
        self.journal.keep_host_unknown('h-2', 'no route')
        self.assertEqual([('s-2', 'h-1', 'why'), ('s-3', 'h-2', 'no route')],
                         list(self.journal.unknown()))
        self.assertEqual([], self.journal.hosts_to_do())

    def test_go_on(self):
        self.assertFalse(self.journal.take_up())
        self.journal.add(SERVERS)
        self.journal.keep('s-1', disagreements(live='qcow2'))
        self.journal.keep_unknown('s-2', 'why')
        again = self.open()
        # What was interrupted goes on with what nobody has looked at.
        self.assertTrue(again.take_up())
        self.assertEqual(['h-2'], again.hosts_to_do())
        again.keep('s-3', ())
        # What had ended tries again what it could not tell.
        self.assertTrue(self.open().take_up())
        self.assertEqual([('s-2', True)], again.to_do('h-1', 9))
        self.assertEqual(1, again.counts()['disagrees'])

    def test_other_file(self):
        self.path.write_text('something else, longer than a header' * 9)
        error = self.assertRaises(journal.JournalError, self.open)
        self.assertIn(f'{self.path}: expected the journal', str(error))

    def test_names_are_only_names(self):
        self.journal.add([("x'; DROP TABLE servers; --", 'h', 'p', False)])
        self.assertEqual(1, self.journal.to_do_count())

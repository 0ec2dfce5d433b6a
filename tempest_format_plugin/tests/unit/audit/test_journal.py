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

import contextlib
import pathlib
import shutil
import sqlite3

import fixtures

from tempest_format_plugin.audit import journal
from tempest_format_plugin.formats import advice
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

SERVERS = [('s-1', 'h-1', 'p', []), ('s-2', 'h-1', 'p', ['v-1']),
           ('s-3', 'h-2', 'q', [])]
WANTED = ([], ['p'], [])


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

    def begin(self, servers):
        return self.journal.begin(WANTED, 'now', servers)

    def again(self):
        self.journal.close()
        self.journal = self.open()
        return self.journal

    def test_to_do(self):
        self.assertEqual(0, self.begin(SERVERS))
        self.assertEqual(['h-1', 'h-2'], self.journal.hosts_to_do())
        self.assertEqual([('s-1', []), ('s-2', ['v-1'])],
                         self.journal.to_do('h-1', 9))
        self.assertEqual([('s-1', [])], self.journal.to_do('h-1', 1))
        self.journal.keep('s-1', ())
        self.assertEqual([('s-2', ['v-1'])], self.journal.to_do('h-1', 9))
        self.assertEqual(2, self.journal.to_do_count())

    def test_on_no_host(self):
        self.assertEqual(1, self.begin(
            [*SERVERS, ('s-4', None, 'p', [])]))
        self.assertEqual(3, self.journal.to_do_count())

    def test_list_that_breaks_off(self):
        def servers():
            yield SERVERS[0]
            raise ZeroDivisionError
        self.assertRaises(ZeroDivisionError, self.begin, servers())
        self.assertFalse(self.journal.go_on(WANTED))

    def test_worst_first(self):
        self.begin(SERVERS)
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
        self.begin(SERVERS)
        self.journal.keep('s-1', ())
        self.journal.keep_unknown('s-2', 'why')
        self.journal.keep_host_unknown('h-2', 'no route')
        self.assertEqual([('s-2', 'h-1', 'why'), ('s-3', 'h-2', 'no route')],
                         list(self.journal.unknown()))
        self.assertEqual([], self.journal.hosts_to_do())

    def test_go_on(self):
        self.assertFalse(self.journal.go_on(WANTED))
        self.begin(SERVERS)
        self.journal.keep('s-1', disagreements(live='qcow2'))
        self.journal.keep_unknown('s-2', 'why')
        again = self.again()
        # What was interrupted goes on with what nobody has looked at.
        self.assertTrue(again.go_on(WANTED))
        self.assertEqual(['h-2'], again.hosts_to_do())
        again.keep('s-3', ())
        # What had ended tries again what it could not tell.
        self.assertTrue(self.again().go_on(WANTED))
        self.assertEqual([('s-2', ['v-1'])], self.journal.to_do('h-1', 9))
        self.assertEqual(1, self.journal.counts()['disagrees'])
        self.assertEqual('now', self.journal.listed())

    def test_killed(self):
        """What was found before is there, in the file and what is beside."""
        self.begin(SERVERS)
        self.journal.keep('s-1', disagreements(live='qcow2'))
        for path in self.path.parent.iterdir():
            shutil.copy(path, path.with_name(path.name.replace(
                'journal', 'left', 1)))
        self.path = self.path.with_name('left')
        self.journal = self.open()
        self.assertTrue(self.journal.go_on(WANTED))
        self.assertEqual(1, self.journal.counts()['disagrees'])
        self.assertEqual(2, self.journal.to_do_count())

    def test_looked_at_twice(self):
        self.begin(SERVERS)
        for _ in range(2):
            self.journal.keep('s-1', disagreements(live='qcow2'))
        self.assertEqual(3, len(list(self.journal.findings())))

    def test_other_servers(self):
        self.begin(SERVERS)
        error = self.assertRaises(journal.JournalError, self.journal.go_on,
                                  ([], ['q'], []))
        self.assertIn('other servers: [[], ["p"], []]', str(error))

    def test_moved(self):
        self.begin(SERVERS)
        self.journal.move('s-1', 'h-2')
        self.journal.move('s-2', None)
        self.assertEqual([('s-1', []), ('s-3', [])],
                         self.journal.to_do('h-2', 9))
        self.assertEqual(['h-2'], self.journal.hosts_to_do())

    def refused(self):
        error = self.assertRaises(journal.JournalError, self.open)
        self.assertIn(f'{self.path}: expected the journal', str(error))
        return str(error)

    def test_other_file(self):
        self.journal.close()
        self.path.write_text('something else, longer than a header' * 9)
        self.refused()

    def test_other_database(self):
        self.journal.close()
        self.path.unlink()
        with contextlib.closing(sqlite3.connect(self.path)) as other:
            other.execute('CREATE TABLE servers (id, host, outcome)')
        before = self.path.read_bytes()
        self.assertIn('of another application', self.refused())
        self.assertEqual(before, self.path.read_bytes())

    def test_no_such_directory(self):
        self.path = self.path / 'journal'
        self.refused()

    def test_two_at_once(self):
        self.assertIn('locked', self.refused())

    def test_for_nobody_else(self):
        self.assertEqual(0o600, self.path.stat().st_mode & 0o777)

    def test_text_of_any_kind(self):
        self.begin(SERVERS)
        self.journal.keep_unknown(
            's-1', 'x\udcff\ntoken=abcdef\n' + 'y ' * 9999)
        (_, _, reason), = self.journal.unknown()
        self.assertTrue(reason.startswith('x\\udcff\n'), reason[:20])
        self.assertNotIn('abcdef', reason)
        self.assertEqual(journal.LONGEST, len(reason))

    def test_names_are_only_names(self):
        self.begin([("x'; DROP TABLE servers; --", 'h', 'p', [])])
        self.assertEqual(1, self.journal.to_do_count())

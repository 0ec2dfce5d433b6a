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

import itertools
import threading
import tracemalloc

import fixtures

from tempest_format_plugin.audit import journal
from tempest_format_plugin.audit import walk
from tempest_format_plugin.formats import exceptions as formats_exceptions
from tempest_format_plugin.hosts import exceptions as hosts_exceptions
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

AGREEING = observed.server(observed.disk())


class WalkTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.journal = self.new_journal()
        self.looked_at = []
        self.left = []

    def new_journal(self):
        new = journal.Journal(
            self.useFixture(fixtures.TempDir()).join('journal'))
        self.addCleanup(new.close)
        return new

    def servers(self, hosts=2, each=3):
        self.journal.begin([], 'now', (
            (f's-{host}-{number}', f'h-{host}', 'p', [])
            for host in range(hosts) for number in range(each)))

    def walk(self, *raising, at_once=2, disagreeing=()):
        """Walk; a server that is in `raising` raises what is beside it."""
        raised = dict(raising)

        def observe(host, server, volumes):
            self.looked_at.append(server)
            if server in raised:
                raise raised[server]
            return (observed.server(observed.disk(file='qcow2'))
                    if server in disagreeing else AGREEING)
        walk.walk(self.journal, observe, self.left.append, at_once)

    def counts(self):
        return tuple(self.journal.counts().values())

    def test_all(self):
        self.servers()
        self.walk(disagreeing=['s-1-1'])
        self.assertEqual((5, 1, 0), self.counts())
        self.assertEqual({'s-1-1'}, {
            found.server for found in self.journal.findings()})

    def test_server_that_makes_no_sense(self):
        self.servers()
        self.walk(
            ('s-0-0', formats_exceptions.ObservationError('XML', 'h-0', 'x')),
            ('s-0-1', walk.Untold('cinder has none')),
            ('s-1-0', hosts_exceptions.CommandError('h-1', 'tail', 1, 'no')))
        self.assertEqual((3, 0, 3), self.counts())
        self.assertEqual(6, len(self.looked_at))
        self.assertEqual(
            {'s-0-0': 'XML on h-0: x', 's-0-1': 'cinder has none',
             's-1-0': 'compute host h-1: command tail ended with exit status '
                      '1: no'},
            {server: reason for server, _, reason in self.journal.unknown()})

    def test_host_that_cannot_be_used(self):
        error = hosts_exceptions.HostAccessError('h-0', 'no SSH connection')
        self.servers(each=50)
        self.walk(*((f's-0-{number}', error) for number in range(50)))
        self.assertEqual((50, 0, 50), self.counts())
        self.assertEqual({'h-0', 'h-1'}, {*self.left})
        self.assertEqual(walk.PATIENCE, sum(
            server.startswith('s-0-') for server in self.looked_at))
        self.assertEqual({'compute host h-0: no SSH connection'}, {
            reason for _, _, reason in self.journal.unknown()})

    def test_host_that_is_slow_now_and_then(self):
        error = hosts_exceptions.HostAccessError('h-0', 'took too long')
        self.servers(each=4)
        self.walk(('s-0-0', error), ('s-0-2', error))
        self.assertEqual((6, 0, 2), self.counts())

    def test_bounded(self):
        """So many hosts at once, and one server of a host at a time."""
        at_once, most, lock = set(), [], threading.Lock()

        def observe(host, server, volumes):
            with lock:
                self.assertNotIn(host, at_once)
                at_once.add(host)
                most.append(len(at_once))
            both.wait(1)
            with lock:
                at_once.remove(host)
            return AGREEING
        both = threading.Event()
        self.servers(hosts=5, each=2)
        timer = threading.Timer(0.2, both.set)
        timer.start()
        walk.walk(self.journal, observe, self.left.append, 3)
        timer.join()
        self.assertEqual(3, max(most))
        self.assertEqual((10, 0, 0), self.counts())

    def test_interrupt(self):
        self.servers(hosts=1, each=walk.BATCH + 2)

        def observe(host, server, volumes):
            self.looked_at.append(server)
            raise KeyboardInterrupt
        self.assertRaises(KeyboardInterrupt, walk.walk, self.journal, observe,
                          self.left.append, 1)
        self.assertEqual(['h-0'], self.left)
        self.assertEqual(1, len(self.looked_at))
        self.assertEqual((0, 0, 0), self.counts())
        # Nothing that was listed is lost.
        self.assertTrue(self.journal.go_on([]))
        self.walk()
        self.assertEqual((walk.BATCH + 2, 0, 0), self.counts())

    def test_any_other_error(self):
        """Whatever an API or a host answers, it costs one server."""
        self.servers()
        self.walk(('s-0-1', KeyError('id')))
        self.assertEqual((5, 0, 1), self.counts())
        (_, _, reason), = self.journal.unknown()
        self.assertEqual("KeyError: 'id'", reason)

    def test_journal_that_fails(self):
        self.servers()
        self.assertRaises(journal.JournalError, self.walk,
                          ('s-0-1', journal.JournalError('full')))

    def test_moved(self):
        """It is looked for on its new host."""
        self.servers(hosts=2, each=1)
        seen = []

        def observe(host, server, volumes):
            seen.append((host, server))
            if (host, server) == ('h-1', 's-1-0'):
                raise walk.ServerMoved('h-0')
            if server == 's-0-0' and len(seen) < 2:
                raise walk.ServerMoved(None)
            return AGREEING
        walk.walk(self.journal, observe, str, 1)
        self.assertEqual([('h-0', 's-0-0'), ('h-1', 's-1-0'),
                          ('h-0', 's-1-0')], seen)
        self.assertEqual((1, 0, 0), self.counts())

    def test_moves_on_and_on(self):
        self.servers(hosts=1, each=1)
        hosts = itertools.count(1)

        def observe(host, server, volumes):
            raise walk.ServerMoved(f'h-{next(hosts)}')
        walk.walk(self.journal, observe, str, 1)
        (_, _, reason), = self.journal.unknown()
        self.assertEqual('it moves while it is looked for', reason)

    def test_in_a_row(self):
        """A host that answers in between isn't given up."""
        error = hosts_exceptions.HostAccessError('h-0', 'took too long')
        other = formats_exceptions.ObservationError('XML', 'h-0', 'x')
        self.servers(hosts=1, each=6)
        self.walk(('s-0-0', error), ('s-0-1', other), ('s-0-2', error),
                  ('s-0-3', other))
        self.assertEqual((2, 0, 4), self.counts())

    def test_memory(self):
        """It doesn't grow with the servers."""
        def peak(each):
            self.journal = self.new_journal()
            self.servers(hosts=1, each=each)
            tracemalloc.start()
            try:
                walk.walk(self.journal, lambda *_: AGREEING, str, 1)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        few = peak(2 * walk.BATCH)
        self.assertLess(peak(20 * walk.BATCH), 1.5 * few)

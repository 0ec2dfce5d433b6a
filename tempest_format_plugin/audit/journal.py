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

"""What an audit has found so far, in a file: it can be gone on with."""

import contextlib
import sqlite3
import threading
import typing

from tempest_format_plugin.formats import advice

AGREES = 'agrees'
DISAGREES = 'disagrees'
UNKNOWN = "couldn't tell"

_TABLES = """
CREATE TABLE IF NOT EXISTS servers (
    id TEXT PRIMARY KEY, host TEXT, project TEXT, volumes INTEGER,
    outcome TEXT, reason TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS servers_by_host ON servers (host, outcome);
CREATE TABLE IF NOT EXISTS findings (
    server TEXT, disk TEXT, rule INTEGER, harm INTEGER, what TEXT,
    consequence TEXT, remedy TEXT);
CREATE INDEX IF NOT EXISTS findings_by_harm ON findings (harm, server);
"""


class JournalError(Exception):
    """A file can't be the journal of an audit."""


class Finding(typing.NamedTuple):
    """A disagreement about one disk of one server.

    :ivar harm: advice.Harm
    """

    server: str
    host: str
    project: str
    disk: str
    rule: int
    harm: advice.Harm
    what: str
    consequence: str
    remedy: str


class Journal:
    """The servers to look at and what was found, in an SQLite file.

    Nothing of it is kept in memory, however many servers there are. Several
    threads may write to it; what it yields is for one.

    :param path: of the file, made if it isn't there
    :raises JournalError: it is a file of another kind
    """

    def __init__(self, path):
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, check_same_thread=False)
        try:
            self._file.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            self._file.close()
            raise JournalError(
                f'{path}: expected the journal of an audit or no file, '
                f'found something else ({error})') from error

    def close(self):
        self._file.close()

    def add(self, servers):
        """Take up servers to look at; those that are there stay as they are.

        All of them or, if their iteration fails, none.

        :param servers: iterable of (id, host, project, whether it has
            volumes); those whose host is None are left out
        :returns: how many were left out
        """
        nowhere = 0

        def somewhere():
            nonlocal nowhere
            for server in servers:
                if server[1] is None:
                    nowhere += 1
                else:
                    yield server
        with self._lock, self._file:
            self._file.executemany(
                'INSERT OR IGNORE INTO servers (id, host, project, volumes) '
                'VALUES (?, ?, ?, ?)', somewhere())
        return nowhere

    def hosts_to_do(self):
        """Return the hosts that have servers to look at, by name."""
        with self._lock:
            return [host for host, in self._file.execute(
                'SELECT DISTINCT host FROM servers WHERE outcome IS NULL '
                'ORDER BY host')]

    def to_do(self, host, most):
        """Return some (id, whether it has volumes) of a host, by id."""
        with self._lock:
            return [(server, bool(volumes)) for server, volumes in
                    self._file.execute(
                        'SELECT id, volumes FROM servers WHERE host IS ? AND '
                        'outcome IS NULL ORDER BY id LIMIT ?', (host, most))]

    def keep(self, server, disagreements):
        """Keep what all sources said of a server.

        :param disagreements: of formats.agreement.judge
        """
        with self._lock, self._file:
            self._end(server, DISAGREES if disagreements else AGREES)
            self._file.executemany(
                'INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?)',
                [(server, found.disk, found.rule, advised.harm, found.what,
                  found.consequence, advised.remedy)
                 for found, advised in ((each, advice.advise(each))
                                        for each in disagreements)])

    def keep_unknown(self, server, reason):
        """Keep why nothing can be said of a server."""
        with self._lock, self._file:
            self._end(server, UNKNOWN, reason)

    def keep_host_unknown(self, host, reason):
        """The same for all servers of a host that weren't looked at."""
        with self._lock, self._file:
            self._file.execute(
                'UPDATE servers SET outcome = ?, reason = ? WHERE host IS ? '
                'AND outcome IS NULL', (UNKNOWN, reason, host))

    def take_up(self):
        """Go on with what is there: return whether there is anything.

        Where all servers were looked at, those that nothing could be said of
        are to be looked at once more.
        """
        if not self.to_do_count():
            with self._lock, self._file:
                self._file.execute(
                    "UPDATE servers SET outcome = NULL, reason = '' WHERE "
                    'outcome = ?', (UNKNOWN,))
        with self._lock:
            return self._file.execute(
                'SELECT EXISTS (SELECT * FROM servers)').fetchone()[0]

    def counts(self):
        """Return {AGREES, DISAGREES or UNKNOWN: how many servers}."""
        counts = dict.fromkeys((AGREES, DISAGREES, UNKNOWN), 0)
        with self._lock:
            counts.update(self._file.execute(
                'SELECT outcome, COUNT(*) FROM servers WHERE outcome IS NOT '
                'NULL GROUP BY outcome'))
        return counts

    def to_do_count(self):
        """Return how many servers nobody has looked at yet."""
        with self._lock:
            return self._file.execute('SELECT COUNT(*) FROM servers WHERE '
                                      'outcome IS NULL').fetchone()[0]

    def findings(self):
        """Yield each Finding, the worst first."""
        for server, host, project, disk, rule, harm, *words in (
                self._file.execute(
                    'SELECT server, host, project, disk, rule, harm, what, '
                    'consequence, remedy FROM findings JOIN servers ON '
                    'servers.id = findings.server '
                    'ORDER BY harm, server, findings.rowid')):
            yield Finding(server, host, project, disk, rule,
                          advice.Harm(harm), *words)

    def unknown(self):
        """Yield (server, host, reason) of what nothing can be said of."""
        yield from self._file.execute(
            'SELECT id, host, reason FROM servers WHERE outcome = ? '
            'ORDER BY host, id', (UNKNOWN,))

    def _end(self, server, outcome, reason=''):
        self._file.execute(
            'UPDATE servers SET outcome = ?, reason = ? WHERE id = ?',
            (outcome, reason, server))


@contextlib.contextmanager
def opened(path):
    """A Journal for as long as the context lasts."""
    journal = Journal(path)
    try:
        yield journal
    finally:
        journal.close()

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
import json
import os
import sqlite3
import threading
import typing

from tempest_format_plugin.formats import advice
from tempest_format_plugin.formats import redaction

AGREES = 'agrees'
DISAGREES = 'disagrees'
UNKNOWN = "couldn't tell"

# Of a reason: qemu-img and virsh may say as much as they like.
LONGEST = 2000
# By which SQLite files of one application are told from those of others.
_APPLICATION = 0x64736b66
_TABLES = """
CREATE TABLE audit (servers TEXT, listed TEXT);
CREATE TABLE servers (
    id TEXT PRIMARY KEY, host TEXT, project TEXT, volumes TEXT,
    outcome TEXT, reason TEXT NOT NULL DEFAULT '');
CREATE INDEX servers_by_host ON servers (host, outcome);
CREATE TABLE findings (
    server TEXT, disk TEXT, rule INTEGER, harm INTEGER, what TEXT,
    consequence TEXT, remedy TEXT);
CREATE INDEX findings_by_harm ON findings (harm, server);
CREATE INDEX findings_by_server ON findings (server);
"""


class JournalError(Exception):
    """A file can't be the journal of this audit."""


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
    threads may write to it; what it yields is for one. No other process can
    use the file meanwhile. There are no secrets in it.

    :param path: of the file, made if it isn't there
    :raises JournalError: it is a file of another kind, somebody else uses it,
        or it can't be written
    """

    def __init__(self, path):
        self._lock = threading.Lock()
        self._path = path
        with self._telling():
            # Ids and paths of a cloud's disks are nobody else's business.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._file = sqlite3.connect(path, check_same_thread=False,
                                         timeout=1)
        try:
            with self._telling():
                self._open()
        except JournalError:
            self._file.close()
            raise

    def _open(self):
        self._file.execute('PRAGMA locking_mode = EXCLUSIVE')
        self._file.execute('BEGIN EXCLUSIVE')
        application, = self._file.execute('PRAGMA application_id').fetchone()
        there, = self._file.execute(
            'SELECT COUNT(*) FROM sqlite_master').fetchone()
        if there and application != _APPLICATION:
            raise sqlite3.DatabaseError('it is of another application')
        self._file.commit()
        if not there:
            self._file.executescript(
                f'PRAGMA application_id = {_APPLICATION};' + _TABLES)
        # To wait for the disk after each server would take most of an audit's
        # time. Where the power is cut, the last servers are looked at again.
        self._file.execute('PRAGMA journal_mode = WAL')
        self._file.execute('PRAGMA synchronous = NORMAL')

    @contextlib.contextmanager
    def _telling(self):
        try:
            yield
        except (OSError, ValueError, sqlite3.Error) as error:
            raise JournalError(
                f'{self._path}: expected the journal of an audit that nobody '
                f'else uses, or no file: {error}') from error

    @contextlib.contextmanager
    def _writing(self):
        with self._lock, self._telling(), self._file:
            yield

    def _read(self, query, *values):
        with self._lock, self._telling():
            return self._file.execute(query, values).fetchall()

    def close(self):
        self._file.close()

    def begin(self, wanted, listed, servers):
        """Take up servers to look at: all of them or, if that fails, none.

        :param wanted: what servers these are, as a value of JSON
        :param listed: when they were listed, as text
        :param servers: iterable of (id, host, project, ids of volumes); those
            whose host is None are left out, and so is what comes twice
        :returns: how many were left out
        """
        with self._writing():
            self._file.execute('INSERT INTO audit VALUES (?, ?)',
                               (json.dumps(wanted), listed))
            self._file.executemany(
                'INSERT OR IGNORE INTO servers (id, host, project, volumes) '
                'VALUES (?, ?, ?, ?)', (
                    (_plain(server), host and _plain(host), _plain(project),
                     json.dumps(volumes))
                    for server, host, project, volumes in servers))
            return self._file.execute(
                'DELETE FROM servers WHERE host IS NULL').rowcount

    def go_on(self, wanted):
        """Go on with what is there; return whether there is anything.

        Where all servers were looked at, those that nothing could be said of
        are to be looked at once more.

        :raises JournalError: it is of an audit of other servers
        """
        begun = self._read('SELECT servers FROM audit')
        if not begun:
            return False
        with self._telling():
            same = json.loads(begun[0][0]) == json.loads(json.dumps(wanted))
        if not same:
            raise JournalError(f'{self._path}: it is of an audit of other '
                               f'servers: {begun[0][0]}')
        if not self.to_do_count():
            with self._writing():
                self._file.execute(
                    "UPDATE servers SET outcome = NULL, reason = '' WHERE "
                    'outcome = ?', (UNKNOWN,))
        return True

    def listed(self):
        """Return when the servers were listed, as text; '' if never."""
        return next((listed for listed, in self._read(
            'SELECT listed FROM audit')), '')

    def hosts_to_do(self):
        """Return the hosts that have servers to look at, by name."""
        return [host for host, in self._read(
            'SELECT DISTINCT host FROM servers WHERE outcome IS NULL '
            'ORDER BY host')]

    def to_do(self, host, most):
        """Return some (id, ids of volumes) of a host's servers, by id."""
        found = self._read(
            'SELECT id, volumes FROM servers WHERE host = ? AND outcome IS '
            'NULL ORDER BY id LIMIT ?', host, most)
        with self._telling():
            return [(server, json.loads(volumes))
                    for server, volumes in found]

    def keep(self, server, disagreements):
        """Keep what all sources said of a server.

        :param disagreements: of formats.agreement.judge
        """
        with self._writing():
            self._end(server, DISAGREES if disagreements else AGREES)
            self._file.execute('DELETE FROM findings WHERE server = ?',
                               (server,))
            for found in disagreements:
                advised = advice.advise(found)
                self._file.execute(
                    'INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?)',
                    (server, _text(found.disk), found.rule, advised.harm,
                     _text(found.what), _text(found.consequence),
                     advised.remedy))

    def keep_unknown(self, server, reason):
        """Keep why nothing can be said of a server."""
        with self._writing():
            self._end(server, UNKNOWN, reason)

    def keep_host_unknown(self, host, reason):
        """The same for all servers of a host that weren't looked at."""
        with self._writing():
            self._file.execute(
                'UPDATE servers SET outcome = ?, reason = ? WHERE host = ? '
                'AND outcome IS NULL', (UNKNOWN, _text(reason), host))

    def move(self, server, host):
        """A server is on another host than it was listed on.

        :param host: None: on none, or deleted; there is nothing to look at
        """
        with self._writing():
            if host is None:
                self._file.execute('DELETE FROM servers WHERE id = ?',
                                   (server,))
            else:
                self._file.execute('UPDATE servers SET host = ? WHERE id = ?',
                                   (_plain(host), server))

    def counts(self):
        """Return {AGREES, DISAGREES or UNKNOWN: how many servers}."""
        return dict.fromkeys((AGREES, DISAGREES, UNKNOWN), 0) | dict(
            self._read('SELECT outcome, COUNT(*) FROM servers WHERE outcome '
                       'IS NOT NULL GROUP BY outcome'))

    def to_do_count(self):
        """Return how many servers nobody has looked at yet."""
        (count,), = self._read('SELECT COUNT(*) FROM servers WHERE '
                               'outcome IS NULL')
        return count

    def findings(self):
        """Yield each Finding, the worst first."""
        for server, host, project, disk, rule, harm, *words in self._rows(
                'SELECT server, host, project, disk, rule, harm, what, '
                'consequence, remedy FROM findings JOIN servers ON '
                'servers.id = findings.server '
                'ORDER BY harm, server, findings.rowid'):
            with self._telling():
                harm = advice.Harm(harm)
            yield Finding(server, host, project, disk, rule, harm, *words)

    def unknown(self):
        """Yield (server, host, reason) of what nothing can be said of."""
        yield from self._rows(
            'SELECT id, host, reason FROM servers WHERE outcome = ? '
            'ORDER BY host, id', UNKNOWN)

    def _rows(self, query, *values):
        """Yield what _read returns, without all of it in memory."""
        with self._telling():
            rows = self._file.execute(query, values)
        while True:
            with self._telling():
                row = rows.fetchone()
            if row is None:
                return
            yield row

    def _end(self, server, outcome, reason=''):
        self._file.execute(
            'UPDATE servers SET outcome = ?, reason = ? WHERE id = ?',
            (outcome, _text(reason), server))


def _plain(words):
    """Return words so that any file can hold them."""
    return words.encode('utf-8', 'backslashreplace').decode()


def _text(words):
    """Return words without secrets, as _plain does and not too many."""
    return redaction.redact(_plain(words))[:LONGEST]


@contextlib.contextmanager
def opened(path):
    """A Journal for as long as the context lasts."""
    journal = Journal(path)
    try:
        yield journal
    finally:
        journal.close()

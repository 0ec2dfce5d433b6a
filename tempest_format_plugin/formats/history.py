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

"""Who believed what of each disk at each moment of a test, and who changed.

The observations of a test one after the other, as a table of each disk: a row
for each source, a column for each moment.
"""

import dataclasses
import os.path

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import models

# The order of rows: who is believed first.
SOURCES = (models.LIVE_XML, models.INACTIVE_XML, models.DISK_INFO,
           models.ATTACHMENT, models.ATTACHMENT_LIST, models.FILE)


@dataclasses.dataclass(frozen=True)
class Cell:
    """What a source believes of a disk at a moment.

    :ivar format: None where the source says nothing of it
    :ivar over: the formats that it gives the backing files, top first; None
        of one where it declares none
    :ivar file: bare name of the file
    :ivar changed: whether the format or the chain isn't what the same source
        said when it last spoke of this disk
    :ivar at_odds: whether a rule of agreement finds fault with it
    """

    format: str | None
    over: tuple[str | None, ...]
    file: str | None
    changed: bool = False
    at_odds: bool = False

    @property
    def words(self):
        """The formats, such as 'qcow2' or 'qcow2 over raw'."""
        return ' over '.join(one or 'none given'
                             for one in (self.format, *self.over))


@dataclasses.dataclass(frozen=True)
class Change:
    """A source that says something else than it said before.

    :ivar moment: the first at which it did
    :ivar host: where it was then
    :ivar before, after: the words of both Cells
    """

    moment: str
    host: str
    source: str
    before: str
    after: str

    def __str__(self):
        return (f'{self.moment}, on {self.host}: {self.source} changed from '
                f'{self.before} to {self.after}')


@dataclasses.dataclass(frozen=True)
class DiskHistory:
    """What became of a disk.

    :ivar target: target device in the domain ('vda'), None if never there
    :ivar rows: {source: (Cell or None of each moment, in order)}; sources
        that never spoke of it are left out
    :ivar changes: in order
    """

    disk: str
    target: str | None
    rows: dict
    changes: tuple[Change, ...]

    @property
    def eventful(self):
        """Whether anything changed or was at odds."""
        return bool(self.changes) or any(
            cell.at_odds for cells in self.rows.values()
            for cell in cells if cell)


@dataclasses.dataclass(frozen=True)
class ServerHistory:
    """What became of a server's disks.

    :ivar moments: names of the moments at which it was observed
    :ivar hosts: where it was at each of them
    :ivar states: libvirt's word for its state at each of them
    """

    server_id: str
    moments: tuple[str, ...]
    hosts: tuple[str, ...]
    states: tuple[str, ...]
    disks: tuple[DiskHistory, ...]


def follow(observed):
    """Return the ServerHistory of each server of a test, in order.

    :param observed: iterable of (moment, ServerObservation), in order
    """
    by_server = {}
    for moment, server in observed:
        by_server.setdefault(server.server_id, []).append((moment, server))
    return tuple(_server(*each) for each in by_server.items())


def _server(server_id, observed):
    odds = [_at_odds(server) for _, server in observed]
    disks = {disk: None for _, server in observed for disk in server.disks()}
    return ServerHistory(
        server_id,
        tuple(moment for moment, _ in observed),
        tuple(server.host for _, server in observed),
        tuple(server.state for _, server in observed),
        tuple(_disk(disk, observed, odds) for disk in disks))


def _at_odds(server):
    """Return {(disk, source)} with which the rules find fault."""
    return {(found.disk, one.source) for found in agreement.judge(server)
            for one in (found.left, found.right)}


def _disk(disk, observed, odds):
    rows, changes = {}, []
    for source in SOURCES:
        cells, last = [], None
        for (moment, server), faults in zip(observed, odds):
            told = server.of(disk, source)
            if told is None:
                cells.append(None)
                continue
            cell = _cell(told, (disk, source) in faults)
            if last and (cell.format, cell.over) != (last.format, last.over):
                cell = dataclasses.replace(cell, changed=True)
                changes.append(Change(moment, server.host, source,
                                      last.words, cell.words))
            cells.append(cell)
            last = cell
        if last:
            rows[source] = tuple(cells)
    order = [moment for moment, _ in observed]
    targets = [server.target(disk) for _, server in observed]
    return DiskHistory(
        disk, next(filter(None, targets), None), rows,
        tuple(sorted(changes, key=lambda one: order.index(one.moment))))


def _cell(told, at_odds):
    return Cell(told.format,
                tuple(one.declared_format for one in told.backing),
                told.path and os.path.basename(told.path), at_odds=at_odds)

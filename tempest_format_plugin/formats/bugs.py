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

"""Known bugs, and the signatures by which they are recognised."""

from collections import abc
import dataclasses

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models

# Did the guest come up?
BOOTED = 'booted'
SILENT = 'silent'


@dataclasses.dataclass(frozen=True)
class KnownBug:
    """A bug that a scenario can reproduce.

    :ivar fixed_in: first fixed release of each branch; empty: open
    :ivar source: where it is told or fixed
    :ivar signature: callable(server, disagreements, outcome) -> bool, see
        matches; None where the bug can't be recognised yet
    """

    id: str
    title: str
    project: str
    fixed_in: tuple[str, ...]
    source: str
    signature: abc.Callable | None = None


def get(ids):
    """Return the KnownBug of each id, in order.

    :raises FormatsError: an id isn't known, or has no signature yet
    """
    for bug_id in ids:
        if bug_id not in BUGS:
            raise exceptions.FormatsError(
                f'Unknown bug {bug_id!r}: expected any of {", ".join(BUGS)}')
        if BUGS[bug_id].signature is None:
            raise exceptions.FormatsError(
                f'Bug {bug_id} ({BUGS[bug_id].title}) has no signature yet: '
                'it could not be recognised')
    return tuple(BUGS[bug_id] for bug_id in ids)


def matches(bug, disagreements, outcome, *, server):
    """Whether what was seen is this bug and nothing but this bug.

    :param disagreements: all of them: agreement.judge(server)
    :param outcome: BOOTED or SILENT
    :param server: the ServerObservation: the disks that agree count too
    """
    return bug.signature(server, disagreements, outcome)


def _cold_migration_converts_raw(server, disagreements, outcome):
    """finish_migration made qcow2 of every local disk of a raw backend.

    It tests use_cow_images, not the backend, and spares disk.config alone;
    disk.info and the XML keep to raw. See finish_migration in
    nova/virt/libvirt/driver.py.
    """
    expected = set()
    for disk in server.disks():
        xml = [xml for source in (models.LIVE_XML, models.INACTIVE_XML)
               if (xml := server.of(disk, source))]
        file = server.of(disk, models.FILE)
        if (not models.is_local(disk) or models.is_config_drive(disk)
                or not (xml or file)):
            continue
        entry = server.of(disk, models.DISK_INFO)
        if not (xml and file and entry and file.format == 'qcow2'
                and not file.backing
                and all(o.format == 'raw' for o in [*xml, entry])):
            return False
        expected |= {(disk, o.source, models.FILE) for o in [*xml, entry]}
    found = [(d.disk, d.left.source, d.right.source) for d in disagreements]
    # Both ways: nothing may be missing, and nothing may be there besides.
    return (outcome == SILENT and server.of('disk', models.FILE) is not None
            and sorted(found) == sorted(expected))


BUGS = {bug.id: bug for bug in (
    KnownBug(
        '2038898',
        'image format change during migration breaks instances',
        'nova', (),
        'https://bugs.launchpad.net/nova/+bug/2038898',
        _cold_migration_converts_raw),
    KnownBug(
        '1989514',
        'NFS snapshot of an attached volume leaves the attachment raw',
        'cinder', ('23.4.0', '24.3.0', '25.1.0', '26.0.0'),
        'https://bugs.launchpad.net/cinder/+bug/1989514'),
    KnownBug(
        'live-migration-mixed-backends',
        'live migration between hosts of different images_type',
        'nova', (),
        'https://review.opendev.org/570528'),
    KnownBug(
        'volume-backed-snapshot-format',
        'image of a volume-backed server is refused for its format',
        'nova', ('31.0.0',),
        'https://opendev.org/openstack/nova/commit/e28f90866b'),
)}

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
import re

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import findings
from tempest_format_plugin.formats import models

# Did the guest come up, or could nova not start the server at all?
BOOTED = 'booted'
SILENT = 'silent'
REFUSED = 'refused'

# What QEMU says on the target of a live migration that is given a disk of
# another format than the source's. A group `format` is the source's.
QEMU_REFUSALS = (
    re.compile(r'Image is not in (?P<format>\w+) format'),
)


@dataclasses.dataclass(frozen=True)
class KnownBug:
    """A bug that a scenario can reproduce.

    :ivar fixed_in: first fixed release of each branch; empty: open
    :ivar source: where it is told or fixed
    :ivar signature: callable(finding) -> bool, see matches
    :ivar workaround: what an operator can do, '' if nothing is known
    """

    id: str
    title: str
    project: str
    fixed_in: tuple[str, ...]
    source: str
    signature: abc.Callable
    workaround: str = ''


def get(ids):
    """Return the KnownBug of each id, in order.

    :raises FormatsError: an id isn't known
    """
    for bug_id in ids:
        if bug_id not in BUGS:
            raise exceptions.FormatsError(
                f'Unknown bug {bug_id!r}: expected any of {", ".join(BUGS)}')
    return tuple(BUGS[bug_id] for bug_id in ids)


def matches(bug, finding):
    """Whether what was found is this bug and nothing but this bug.

    :param finding: one of formats.findings
    """
    return bug.signature(finding)


def _cold_migration_converts_raw(finding):
    """finish_migration made qcow2 of every local disk of a raw backend.

    It tests use_cow_images, not the backend, and spares disk.config alone;
    disk.info keeps to raw. So does the XML on a raw host, where the guest
    stays silent; on a qcow2 host the XML says qcow2 and the guest boots, until
    something goes by disk.info. See finish_migration in
    nova/virt/libvirt/driver.py.
    """
    if not isinstance(finding, findings.Disagreeing):
        return False
    xml_format = {SILENT: 'raw', BOOTED: 'qcow2'}.get(finding.outcome)
    return all(_local_disks_converted(server, disagreements, xml_format)
               for server, disagreements in [
                   *_earlier(finding),
                   (finding.server, finding.disagreements)])


def _local_disks_converted(server, disagreements, xml_format):
    expected = set()
    for disk in server.disks():
        xml = _xml(server, disk)
        file = server.of(disk, models.FILE)
        if (not models.is_local(disk) or models.is_config_drive(disk)
                or not (xml or file)):
            continue
        entry = server.of(disk, models.DISK_INFO)
        if not (xml and file and entry and file.format == 'qcow2'
                and not file.backing and entry.format == 'raw'
                and all(o.format == xml_format for o in xml)):
            return False
        expected.add((disk, models.DISK_INFO, models.FILE))
        expected |= {(disk, o.source, models.FILE) if xml_format == 'raw'
                     else (disk, models.DISK_INFO, o.source) for o in xml}
    found = [(d.disk, d.left.source, d.right.source) for d in disagreements]
    # Both ways: nothing may be missing, and nothing may be there besides.
    return (server.of('disk', models.FILE) is not None
            and sorted(found) == sorted(expected))


def _snapshot_leaves_attachment_raw(finding):
    """The attachment names the file of the volume snapshot, but calls it raw.

    The XML is right until nova rebuilds it from the attachment. Then a guest
    finds no system on that volume, or QEMU refuses a file whose size is no
    multiple of its sectors. A new attachment, as a rebuild makes it, has the
    right format and boots; its view by itself goes on saying raw, for cinder
    has left the volume's admin metadata behind. See _create_snapshot in
    cinder/volume/drivers/remotefs.py.
    """
    if not isinstance(finding, findings.Disagreeing):
        return False
    server, outcome = finding.server, finding.outcome
    earlier = _earlier(finding)
    if not all(_stale_attachments(*moment) for moment in earlier):
        return False
    if outcome == REFUSED and server.state == models.ABSENT:
        # nova undefines the domain then: all that is left to tell of the
        # volumes is what told of them before.
        return bool(earlier) and _attachments_kept(
            finding, earlier[-1][0], _stale_attachments(*earlier[-1]))
    volumes = _stale_attachments(server, finding.disagreements)
    live = {server.of(volume, models.LIVE_XML) for volume in volumes}
    if outcome == REFUSED:
        return live == {None}
    if volumes and all(xml and xml.format == 'qcow2' for xml in live):
        listed = [server.of(volume, models.ATTACHMENT_LIST)
                  for volume in volumes]
        return outcome == BOOTED and all(
            one and one.format == 'qcow2' for one in listed)
    return (volumes != set()
            and all(xml and xml.format == 'raw' for xml in live)
            and outcome == (SILENT if _root(server) in volumes else BOOTED))


def _stale_attachments(server, disagreements):
    """Return the volumes that disagree: none where not for this bug alone."""
    volumes = {d.disk for d in disagreements}
    expected = []
    for volume in volumes:
        attachment = server.of(volume, models.ATTACHMENT)
        listed = server.of(volume, models.ATTACHMENT_LIST)
        file = server.of(volume, models.FILE)
        xml = _xml(server, volume)
        used = {o.format for o in xml}
        if not (attachment and attachment.format == 'raw'
                and file and file.format == 'qcow2' and file.backing
                and used in ({'raw'}, {'qcow2'})):
            return set()
        pairs = [(3, models.ATTACHMENT, models.FILE)]
        pairs += [(1, o.source, models.FILE) if used == {'raw'}
                  else (3, models.ATTACHMENT, o.source) for o in xml]
        if listed and listed.format == 'qcow2':
            pairs.append((3, models.ATTACHMENT, models.ATTACHMENT_LIST))
        expected += [(volume, *pair) for pair in pairs]
    # Another name or format, another rule or a local disk would be more.
    found = [(d.disk, d.rule, d.left.source, d.right.source)
             for d in disagreements]
    return volumes if sorted(found) == sorted(expected) else set()


def _attachments_kept(finding, before, volumes):
    """Whether nothing else disagrees and the attachments are as before."""
    return ({d.disk for d in finding.disagreements} <= volumes
            and all(finding.server.of(volume, source)
                    == before.of(volume, source)
                    for volume in volumes
                    for source in (models.ATTACHMENT,
                                   models.ATTACHMENT_LIST)))


def _target_keeps_to_its_own_format(finding):
    """The target goes by its own images_type, not by the server's format.

    A raw host makes raw files for disks that the XML from the source calls
    qcow2: QEMU there refuses them and the migration fails. A qcow2 host takes
    raw disks as they are, but calls them qcow2 when it next builds the XML:
    QEMU refuses the hard reboot. See pre_live_migration in
    nova/virt/libvirt/driver.py and Qcow2 in imagebackend.py.
    """
    if isinstance(finding, findings.Disagreeing):
        return _raw_disks_called_qcow2(finding)
    if not isinstance(finding, findings.MigrationFailed):
        return False
    before, left = finding.before, finding.left_on_target
    formats = {before.xml(disk).format for disk in before.disks()
               if models.is_local(disk) and before.xml(disk)}
    return (finding.migration_status in ('error', 'failed')
            and finding.server_host == finding.source
            and finding.server_status in ('ACTIVE', 'ERROR')
            and finding.guest_alive
            and left.state == models.ABSENT and not left.observations
            and not agreement.judge(before)
            and bool(formats)
            and any(refusal.groupdict().get('format') in {None} | formats
                    for pattern in QEMU_REFUSALS
                    for refusal in pattern.finditer(finding.qemu_log)))


def _raw_disks_called_qcow2(finding):
    server = finding.server
    told = [server.of(disk, source) for disk in server.disks()
            if models.is_local(disk)
            for source in (models.FILE, models.DISK_INFO)]
    # The log is of all starts of the domain; this is about the last one.
    last_start = finding.qemu_log.rpartition('starting up libvirt')[2]
    return (finding.outcome == REFUSED and server.state == models.ABSENT
            and not finding.disagreements and not finding.earlier
            and bool(told) and all(o and o.format == 'raw' for o in told)
            and 'Image is not in qcow2 format' in last_start)


def _empty_image_claims_a_format(finding):
    """nova uploads no data at all as qcow2, which glance refuses.

    nova made the snapshots and the image before, and takes neither away. See
    _create_v2 in nova/image/glance.py.
    """
    if not isinstance(finding, findings.ImageFailed):
        return False
    image = finding.image
    return (finding.http_status == 500
            and image is not None
            and image.status == 'queued'
            and image.disk_format not in (None, 'raw')
            and not image.size
            and finding.snapshots != ()
            and all(status == 'available'
                    for _, status in finding.snapshots)
            and sorted(image.snapshot_ids) == sorted(
                snapshot_id for snapshot_id, _ in finding.snapshots))


def _no_format_is_left(finding):
    """Where glance takes no raw image, nova has no format to offer.

    glanceclient refuses raw by itself, which nova takes for an error of its
    own; the snapshots that it made before stay. See _create_v2 in
    nova/image/glance.py.
    """
    return (isinstance(finding, findings.ImageFailed)
            and finding.http_status == 500
            and finding.image is None
            and finding.snapshots != ()
            and all(status == 'available'
                    for _, status in finding.snapshots))


def _earlier(finding):
    """Return (server, disagreements) of the earlier moments that had some."""
    return [(server, disagreements)
            for _, server, disagreements in finding.earlier if disagreements]


def _xml(server, disk):
    """Return what each XML that is there says of a disk."""
    return [xml for source in (models.LIVE_XML, models.INACTIVE_XML)
            if (xml := server.of(disk, source))]


def _root(server):
    """Return the root disk: with volumes alone, the first by target."""
    return next((disk for disk in server.disks()
                 if server.xml(disk) and not models.is_config_drive(disk)),
                None)


BUGS = {bug.id: bug for bug in (
    KnownBug(
        '2038898',
        'image format change during migration breaks instances',
        'nova', (),
        'https://bugs.launchpad.net/nova/+bug/2038898',
        _cold_migration_converts_raw,
        'use_cow_images = False in the nova.conf of the compute hosts'),
    KnownBug(
        '1989514',
        'NFS snapshot of an attached volume leaves the attachment raw',
        'cinder', ('23.4.0', '24.3.0', '25.1.0', '26.0.0'),
        'https://bugs.launchpad.net/cinder/+bug/1989514',
        _snapshot_leaves_attachment_raw,
        'rebuild the server with its volume at a compute microversion before '
        '2.93, which attaches it anew; later ones image the volume anew'),
    KnownBug(
        'live-migration-mixed-backends',
        'live migration between hosts of different images_type',
        'nova', (),
        'https://review.opendev.org/570528',
        _target_keeps_to_its_own_format),
    KnownBug(
        'volume-backed-snapshot-format',
        'image of a volume-backed server is refused for its format',
        'nova', ('31.0.0',),
        'https://opendev.org/openstack/nova/commit/e28f90866b',
        _empty_image_claims_a_format,
        'require_image_format_match = False in [image_format] of glance'),
    KnownBug(
        'volume-backed-snapshot-raw-disallowed',
        'image of a volume-backed server fails where raw is not allowed',
        'nova', (),
        'https://opendev.org/openstack/nova/commit/e28f90866b',
        _no_format_is_left,
        'raw among disk_formats in [image_format] of glance'),
)}

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

"""What one source says about one disk, and about a server's disks."""

import dataclasses

from tempest_format_plugin.formats import exceptions

LIVE_XML = 'live XML'
INACTIVE_XML = 'inactive XML'
DISK_INFO = 'disk.info'
FILE = 'file'
GUEST = 'guest'
# cinder shows one attachment with the format that it keeps for the volume, but
# lists it with the one that it was made with.
ATTACHMENT = 'attachment'
ATTACHMENT_LIST = 'attachment list'

ABSENT = 'absent'

# As QEMU and libvirt name them.
FORMATS = frozenset((
    'bochs', 'cloop', 'dmg', 'iso', 'luks', 'parallels', 'ploop', 'qcow',
    'qcow2', 'qed', 'raw', 'vdi', 'vhd', 'vhdx', 'vmdk', 'vpc'))


def known_format(name, *, source, host):
    """Return name if it is a format that we know.

    :raises ObservationError: it isn't (or it isn't text at all)
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise exceptions.ObservationError(
            source, host, f'expected a disk format (one of '
            f'{", ".join(sorted(FORMATS))}), found {name!r}')
    return name


def is_local(disk):
    """Whether nova keeps this disk as a file in the instance directory."""
    return disk == 'disk' or disk.startswith('disk.')


def is_config_drive(disk):
    """Whether the disk is a config drive: disk.config[.rescue]."""
    return disk == 'disk.config' or disk.startswith('disk.config.')


@dataclasses.dataclass(frozen=True)
class BackingFile:
    """One file of a backing chain.

    :ivar path: as the overlay names it, absolute where it can be resolved
    :ivar declared_format: what the overlay above says of it: <backingStore>
        in the XML, the backing format in a qcow2 header; None if nothing
    :ivar format: what a probe of this file alone says; None where it was not
        probed (always in XML)
    """

    path: str
    declared_format: str | None = None
    format: str | None = None


@dataclasses.dataclass(frozen=True)
class Observation:
    """What one source says about one disk at one moment.

    :ivar source: LIVE_XML, INACTIVE_XML, DISK_INFO, FILE, GUEST, ATTACHMENT
        or ATTACHMENT_LIST
    :ivar disk: the name that all sources share: the file's name in the
        instance directory ('disk', 'disk.eph0', ...), for a volume its
        serial, which nova sets to the volume id
    :ivar format: None where the source says nothing of it
    :ivar path: None where the source names no file; of an attachment the
        file's bare name
    :ivar target: target device in the domain ('vda')
    :ivar virtual_size: bytes that a guest is given
    :ivar length: bytes of the file itself (FILE only)
    :ivar backing: the backing chain, top first
    """

    source: str
    host: str
    disk: str
    format: str | None
    path: str | None = None
    target: str | None = None
    virtual_size: int | None = None
    length: int | None = None
    backing: tuple[BackingFile, ...] = ()


@dataclasses.dataclass(frozen=True)
class ServerObservation:
    """What all sources say about a server's disks on one host.

    :ivar state: as `virsh domstate` prints it ('running', 'shut off'), or
        ABSENT where the host has no such domain
    """

    server_id: str
    host: str
    state: str
    observations: tuple[Observation, ...]

    def disks(self):
        """Return the names of all disks: root, then by target, then name."""
        def order(disk):
            target = self.target(disk)
            # vdz comes before vdaa; disks without a target come last.
            return (disk != 'disk', target is None,
                    len(target or ''), target or '', disk)
        return tuple(sorted({o.disk for o in self.observations}, key=order))

    def of(self, disk, source):
        """Return the Observation of a disk by a source, or None."""
        for observation in self.observations:
            if (observation.disk, observation.source) == (disk, source):
                return observation
        return None

    def xml(self, disk):
        """Return what the domain goes by: the live XML, else the inactive."""
        return self.of(disk, LIVE_XML) or self.of(disk, INACTIVE_XML)

    def target(self, disk):
        """Return the target device ('vda') of a disk, or None."""
        xml = self.xml(disk)
        return xml.target if xml else None

    def with_guest(self, boot):
        """Return a copy that also tells which disks the guest sees.

        Devices of the guest that are no disk's target (its CD-ROM is sr0,
        whatever the target) are left out. GUEST observations that are there
        already are replaced.

        :param boot: a guest_console.GuestBoot
        """
        targets = {self.target(disk): disk for disk in self.disks()}
        seen = tuple(
            Observation(GUEST, self.host, targets[found.device], None,
                        target=found.device, virtual_size=found.size_bytes)
            for found in boot.disks if found.device in targets)
        return self._replace((GUEST,), seen)

    def with_attachments(self, observations):
        """Return a copy that also tells what the attachments say.

        Those that are there already are replaced.

        :param observations: iterable of Observation, of the sources
            ATTACHMENT and ATTACHMENT_LIST
        """
        return self._replace((ATTACHMENT, ATTACHMENT_LIST), observations)

    def _replace(self, sources, observations):
        rest = tuple(o for o in self.observations if o.source not in sources)
        return dataclasses.replace(
            self, observations=rest + tuple(observations))


def as_dict(server):
    """Return a ServerObservation as dicts and tuples, ready for JSON."""
    return dataclasses.asdict(server)


def from_dict(data):
    """Return the ServerObservation that as_dict, or JSON of it, is of.

    :raises FormatsError: it isn't of one
    """
    try:
        return ServerObservation(**data | {'observations': tuple(
            Observation(**one | {'backing': tuple(
                BackingFile(**backing) for backing in one['backing'])})
            for one in data['observations'])})
    except (KeyError, TypeError) as error:
        raise exceptions.FormatsError(
            f'no observation of a server: {type(error).__name__}: {error}')

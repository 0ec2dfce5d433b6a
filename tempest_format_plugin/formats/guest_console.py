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

"""What a guest says about itself on its serial console.

A guest that takes part prints these lines, among whatever else::

    FORMAT-GUEST boot_id=<uuid> root=vda
    FORMAT-GUEST disk=vda sectors=2097152 serial=<text or empty>
    FORMAT-GUEST ready boot_id=<uuid> counter=<boots of this root disk>
    FORMAT-GUEST beat=<N> write=ok|failed boot_id=<uuid>

Sectors are 512 bytes. Each beat tells of a write to the root disk that was
read back.
"""

import dataclasses
import re
import typing

SECTOR = 512

# The guest's own lines begin with it.
PREFIX = 'FORMAT-GUEST '

# What nova returns of a console at most is 100 KiB (MAX_CONSOLE_BYTES in
# nova/virt/libvirt/driver.py); less than this has its head still.
_FULL = 90 * 1024
_TAIL = 400

# Linux's (kernel/panic.c); guests that panic may boot anew by themselves.
_PANIC = 'Kernel panic - not syncing'

_UUID = r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
_LINES = tuple(re.compile(f'FORMAT-GUEST {line}$') for line in (
    rf'boot_id=(?P<boot_id>{_UUID}) root=\w+',
    r'disk=(?P<device>\w+) sectors=(?P<sectors>\d+) serial=(?P<serial>.*)',
    rf'ready boot_id=(?P<boot_id>{_UUID}) counter=(?P<counter>\d+)',
    rf'beat=(?P<beat>\d+) write=(?P<write>ok|failed) '
    rf'boot_id=(?P<boot_id>{_UUID})'))


class GuestDisk(typing.NamedTuple):
    """A disk as the guest sees it: device name ('vda'), bytes, serial."""

    device: str
    size_bytes: int
    serial: str


@dataclasses.dataclass(frozen=True)
class GuestBoot:
    """One boot of the guest, as far as the console tells of it.

    :ivar counter: boots of this root disk so far, None until it is ready
    :ivar heartbeats: number of the last heartbeat
    :ivar writes_ok: whether there were heartbeats and all could write
    """

    boot_id: str
    counter: int | None = None
    disks: tuple[GuestDisk, ...] = ()
    heartbeats: int = 0
    writes_ok: bool = False

    @property
    def ready(self):
        """Whether the guest has come up."""
        return self.counter is not None


def parse(text):
    """Return a GuestBoot for every boot the guest tells of, oldest first.

    Lines that are no guest's, or were cut by the console's limit, are passed
    over. A last line without an end may still be in the making and isn't
    read.
    """
    boots = {}
    current = None
    for line in _clean(text).split('\n')[:-1]:
        match = next(filter(None, (rx.search(line) for rx in _LINES)), None)
        if match is None:
            continue
        said = match.groupdict()
        current = said.get('boot_id', current)
        if current is None:
            # The boot that this disk belongs to is lost with the head.
            continue
        boot = boots.get(current, GuestBoot(current))
        boots[current] = dataclasses.replace(boot, **_news(boot, said))
    return tuple(boots.values())


def _news(boot, said):
    if 'device' in said:
        disk = GuestDisk(said['device'], int(said['sectors']) * SECTOR,
                         said['serial'].strip())
        return {'disks': boot.disks + (disk,)}
    if 'counter' in said:
        return {'counter': int(said['counter'])}
    if 'beat' in said:
        ok = said['write'] == 'ok'
        return {'heartbeats': int(said['beat']),
                'writes_ok': ok and (boot.writes_ok or not boot.heartbeats)}
    return {}


def count_markers(text, marker_regexp):
    """Return how often a marker (multi-line regexp) is in a console."""
    return sum(1 for _ in re.finditer(marker_regexp, _clean(text),
                                      re.MULTILINE))


def panic(text):
    """Return the line of a guest's first kernel panic and what led to it.

    :returns: the line with two lines before it, joined by ' | '; '' if the
        console tells of none
    """
    lines = _clean(text).split('\n')
    for number, line in enumerate(lines):
        if _PANIC in line:
            return ' | '.join(part.strip() for part
                              in lines[max(0, number - 2):number + 1])
    return ''


def new_text(before, after):
    """Return what a console says since `before` was read.

    The console may have grown, lost its head (nova returns the last 100 KiB
    at most), or begun anew with another boot, migration or host: then all of
    it is new.
    """
    if after.startswith(before):
        return after[len(before):]
    if len(after) < _FULL:
        # Too short to have lost its head, whatever of the old text is in it:
        # two boots of one guest may say much the same.
        return after
    overlap = before.find(after[:_TAIL])
    if overlap >= 0 and after.startswith(before[overlap:]):
        return after[len(before) - overlap:]
    return after


def _clean(text):
    return text.replace('\0', '').replace('\r', '')

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

"""The rules by which the sources of a disk's format must agree.

The pairs that each rule compares, disk by disk:

1. live XML and file, inactive XML and file: the format, where both speak of
   the same path. Live XML and inactive XML: format and path.
2. disk.info and file, disk.info and live XML, disk.info and inactive XML:
   the format, of local disks. No entry at all, for a local disk that a
   domain uses and that is no config drive: disk.info and file.
3. Attachment and live XML, attachment and inactive XML: the format, and the
   name of the file. Attachment and file: the format, where both speak of the
   same file. Attachment and attachment list: format and name. Only for
   volumes that are files; an attachment that names no format disagrees.
4. What each overlay's header declares of its backing file and what a probe
   of that backing file says, where it was probed. The chain in the live XML
   and the chain of the files (paths and formats), where rule 1 finds no
   fault with the disk's own format.
5. The size that the guest sees and the size that the file gives it under
   the format in the XML, where a guest has spoken. Not for config drives.
"""

import dataclasses
import os.path

from tempest_format_plugin.formats import models

_SECTOR = 512

_HEADER_TRUSTED = 'a header that the guest may have written is trusted'

_WHEN_ATTACHMENT = ('when nova next rebuilds the XML from the attachment '
                    '(start, hard reboot, migration) ')

# See refresh_connection_info in nova/virt/block_device.py.
_WHICH_VIEW = ('nova goes by the listed one when it attaches the volume, by '
               'the shown one from the next migration or volume snapshot on')

_WHEN = {
    models.ATTACHMENT: _WHEN_ATTACHMENT,
    models.LIVE_XML: '',
    models.INACTIVE_XML: 'at its next start ',
    models.DISK_INFO: 'after the next operation that rebuilds the XML from '
                      'disk.info (hard reboot, migration) '}


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """Two observations that must be equal and aren't.

    :ivar rule: number of the rule, as above
    :ivar left: the Observation whose word is doubted
    :ivar right: the Observation that it was compared with; the same one
        where a file's own chain contradicts itself
    :ivar what: both words, such as 'live XML says raw, file says qcow2'
    :ivar consequence: what comes of it
    """

    rule: int
    disk: str
    left: models.Observation
    right: models.Observation
    what: str
    consequence: str

    def __str__(self):
        return (f'{self.disk} on {self.left.host} (rule {self.rule}): '
                f'{self.what}: {self.consequence}')


def judge(server):
    """Return every Disagreement of a ServerObservation, disk by disk."""
    return tuple(found for disk in server.disks() for rule in RULES
                 for found in rule(server, disk))


def _xml_agrees(server, disk):
    live = server.of(disk, models.LIVE_XML)
    inactive = server.of(disk, models.INACTIVE_XML)
    file = server.of(disk, models.FILE)
    for xml in filter(None, (live, inactive)):
        if file and xml.path == file.path and xml.format != file.format:
            yield _differ(1, xml, file, _misbelief(xml, file))
    if not (live and inactive):
        return
    if live.format != inactive.format:
        yield _differ(
            1, live, inactive, f'the next start takes for {inactive.format} '
            f'what the guest now uses as {live.format}')
    if live.path != inactive.path:
        yield _differ_in_path(1, live, inactive,
                              'the next start uses another file')


def _disk_info_agrees(server, disk):
    if not models.is_local(disk):
        return
    entry = server.of(disk, models.DISK_INFO)
    file = server.of(disk, models.FILE)
    if entry is None:
        used = server.xml(disk)
        if used and file and not models.is_config_drive(disk):
            entry = models.Observation(models.DISK_INFO, file.host, disk,
                                       None, path=file.path)
            yield _differ(2, entry, file, 'nova probes the file when it next '
                          f'builds the XML: {_HEADER_TRUSTED}')
        return
    if file and entry.format != file.format:
        yield _differ(2, entry, file, _misbelief(entry, file))
    for source in (models.LIVE_XML, models.INACTIVE_XML):
        xml = server.of(disk, source)
        if xml and entry.format != xml.format:
            yield _differ(
                2, entry, xml, 'the next operation that rebuilds the XML '
                'from disk.info (hard reboot, migration) turns '
                f'{xml.format} into {entry.format}')


def _attachment_agrees(server, disk):
    attachment = server.of(disk, models.ATTACHMENT)
    if attachment is None or attachment.path is None:
        return
    for source in (models.LIVE_XML, models.INACTIVE_XML):
        xml = server.of(disk, source)
        if xml and attachment.format != xml.format:
            yield _differ(3, attachment, xml, _taken_for(attachment))
        if xml and xml.path and attachment.path != os.path.basename(xml.path):
            yield _differ_in_path(3, attachment, xml, f'{_WHEN_ATTACHMENT}'
                                  'it gives the guest another file')
    file = server.of(disk, models.FILE)
    if (file and attachment.path == os.path.basename(file.path)
            and attachment.format != file.format):
        yield _differ(3, attachment, file, _misbelief(attachment, file))
    listed = server.of(disk, models.ATTACHMENT_LIST)
    if listed and attachment.format != listed.format:
        yield _differ(3, attachment, listed, _WHICH_VIEW)
    if listed and attachment.path != listed.path:
        yield _differ_in_path(3, attachment, listed, _WHICH_VIEW)


def _chain_agrees(server, disk):
    file = server.of(disk, models.FILE)
    if file is None:
        return
    for backing in file.backing:
        if backing.format and backing.declared_format != backing.format:
            yield _backing_misdeclared(file, backing)
    live = server.of(disk, models.LIVE_XML)
    # What a file that isn't used as an overlay has for a chain is of no
    # consequence: that it should be one is rule 1's to say.
    if live is None or (live.path, live.format) != (file.path, file.format):
        return
    used = [(b.path, b.declared_format) for b in live.backing]
    real = [(b.path, b.format or b.declared_format) for b in file.backing]
    if used != real:
        yield Disagreement(
            4, disk, live, file, f'{live.source} says the chain is '
            f'{_chain(used)}, {file.source} says {_chain(real)}',
            'QEMU reads other backing data than the file is made for')


def _guest_size_agrees(server, disk):
    guest = server.of(disk, models.GUEST)
    file = server.of(disk, models.FILE)
    xml = server.xml(disk)
    if not (guest and file and xml) or models.is_config_drive(disk):
        return
    implied = _implied_size(xml, file)
    if implied is not None and guest.virtual_size != implied:
        yield Disagreement(
            5, disk, guest, file, f'guest sees {guest.virtual_size} bytes, '
            f'{file.source} ({file.format}) used as {xml.format} gives '
            f'{implied}', 'the guest has another disk than the XML describes')


# In the order of their numbers.
RULES = (_xml_agrees, _disk_info_agrees, _attachment_agrees, _chain_agrees,
         _guest_size_agrees)


def _differ(rule, left, right, consequence):
    what = f'{_says(left)}, {_says(right)}'
    return Disagreement(rule, left.disk, left, right, what, consequence)


def _says(observation):
    if observation.format:
        return f'{observation.source} says {observation.format}'
    if observation.source == models.DISK_INFO:
        return f'{observation.source} has no entry'
    return f'{observation.source} says no format'


def _differ_in_path(rule, left, right, consequence):
    what = ', '.join(f'{o.source} names {o.path}' for o in (left, right))
    return Disagreement(rule, left.disk, left, right, what, consequence)


def _taken_for(attachment):
    # Without a format: see get_config in nova/virt/libvirt/volume/nfs.py.
    return (f'{_WHEN_ATTACHMENT}it takes the volume for '
            f'{attachment.format or "raw"}')


def _misbelief(believer, file):
    """Say what comes of using a file as the format a source believes in."""
    if believer.format is None:
        return _taken_for(believer)
    when = _WHEN[believer.source]
    if believer.format == 'raw':
        return (f'{when}the guest is handed the {file.format} container as '
                'its disk: it finds neither a system to boot nor its data')
    if file.format == 'raw':
        return (f'{when}QEMU refuses the disk or, where the guest has '
                f'written a {believer.format} header to it, follows that: '
                f'{_HEADER_TRUSTED}')
    return f'{when}QEMU refuses the disk'


def _backing_misdeclared(file, backing):
    name = f'backing file {backing.path}'
    if backing.declared_format is None:
        said = f'{file.source} declares no format of {name}'
        consequence = ('libvirt refuses the disk or QEMU probes: '
                       f'{_HEADER_TRUSTED}')
    else:
        said = f'{file.source} declares {name} to be {backing.declared_format}'
        consequence = ('QEMU refuses the disk or the guest reads other data '
                       'than the backing file holds')
        if backing.format == 'raw':
            consequence += f'; {_HEADER_TRUSTED}'
    return Disagreement(4, file.disk, file, file,
                        f'{said}, a probe says {backing.format}', consequence)


def _implied_size(xml, file):
    if xml.path != file.path:
        return None
    if xml.format == file.format:
        return file.virtual_size
    if xml.format == 'raw' and file.length is not None:
        # QEMU rounds a file up to whole sectors.
        return -(-file.length // _SECTOR) * _SECTOR
    return None


def _chain(chain):
    return ' <- '.join(f'{path} ({format_ or "format not declared"})'
                       for path, format_ in chain) or 'empty'

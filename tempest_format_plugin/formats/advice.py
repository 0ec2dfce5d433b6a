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

"""How soon a disagreement does harm, and what to do about it.

What a probe finds in a file may be a header that its guest has written, to
have somebody follow it. So no advice goes by the probe alone, and none has a
file converted before its cause is known.
"""

import enum
import typing

from tempest_format_plugin.formats import models


class Harm(enum.IntEnum):
    """When a disagreement does harm; the worst is the least."""

    NOW = 1
    NEXT_START = 2
    NEXT_MOVE = 3

    @property
    def words(self):
        return {Harm.NOW: 'now', Harm.NEXT_START: 'at the next start',
                Harm.NEXT_MOVE: 'at the next move'}[self]


class Advice(typing.NamedTuple):
    """What to tell of a disagreement besides what it says itself.

    :ivar harm: when it does harm
    :ivar remedy: what an operator can do
    """

    harm: Harm
    remedy: str


_RAW_BUT_PROBED = (
    'Two causes look the same. If the server was cold migrated or resized and '
    'its guest has been silent since, nova has converted the file (LP '
    '2038898): stop the server, keep a copy, and convert it back to raw, once '
    'its header is seen to name no other file. If the guest works, it has '
    'written that header itself: leave the file alone. Whoever converts, '
    'rebases or opens it as the probed format reads what the header names.')
_BY_BACKEND = (
    'The file was made by another image backend than the one that goes by it '
    'now. Have the server start only on a host whose images_type is that of '
    'its disk.info; until then neither stop, hard reboot nor migrate it.')
_ENTRY_ALONE = (
    'XML and file agree: with the server stopped, correct the entry of '
    'disk.info, and nothing else. A host of the qcow2 backend does not read '
    'it, one of the raw backend goes by it.')
_NO_ENTRY = (
    'Write the entry into disk.info, with the format that the XML names, not '
    'the one that a probe of the file finds. Until then neither hard reboot '
    'nor migrate the server.')
_STALE_XML = (
    'nova writes the XML anew at each start and hard reboot; virsh start, '
    'autostart of libvirt and a soft reboot go by the old one. See what else '
    'disagrees about this disk.')
_ATTACHMENT = (
    'Keep the server running, or stopped, as it is. nova-manage '
    'volume_attachment refresh makes the attachment anew for a stopped '
    'server; a volume that is not the root disk can be unmounted, detached '
    'and attached again. Do not rebuild the server: that loses its local '
    'disks and, as of the compute microversion 2.93, images its root volume '
    'anew. Do not convert files of cinder.')
_BACKING_FILE = (
    'The backing file is not what the overlay was made over: nova\'s image '
    'cache may have it in another format here (force_raw_images differs '
    'between hosts). Bring back the file in the format that the overlay '
    'declares. Do not have the overlay declare what a probe finds: the header '
    'may be that of whoever made the image.')
_SIZE = 'It follows from what else disagrees about this disk.'


def advise(disagreement):
    """Return the Advice for an agreement.Disagreement."""
    return _ADVISERS[disagreement.rule](disagreement)


def _xml(disagreement):
    xml, other = disagreement.left, disagreement.right
    harm = Harm.NOW
    if models.INACTIVE_XML in (xml.source, other.source):
        harm = Harm.NEXT_START
    if other.source != models.FILE:
        return Advice(harm, _STALE_XML)
    if not models.is_local(disagreement.disk):
        return Advice(harm, _ATTACHMENT)
    return Advice(harm, _RAW_BUT_PROBED if xml.format == 'raw'
                  else _BY_BACKEND)


def _disk_info(disagreement):
    entry, other = disagreement.left, disagreement.right
    if entry.format is None:
        return Advice(Harm.NEXT_START, _NO_ENTRY)
    if other.source != models.FILE:
        return Advice(Harm.NEXT_START, _ENTRY_ALONE)
    return Advice(Harm.NEXT_START, _RAW_BUT_PROBED if entry.format == 'raw'
                  else _BY_BACKEND)


def _attachment(disagreement):
    return Advice(
        Harm.NEXT_MOVE if disagreement.right.source == models.ATTACHMENT_LIST
        else Harm.NEXT_START, _ATTACHMENT)


def _chain(disagreement):
    return Advice(Harm.NOW, _BACKING_FILE)


def _guest_size(disagreement):
    return Advice(Harm.NOW, _SIZE)


_ADVISERS = {1: _xml, 2: _disk_info, 3: _attachment, 4: _chain,
             5: _guest_size}

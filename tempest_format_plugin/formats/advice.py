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

"""How soon a disagreement does harm, and what to do about it."""

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


_KEEP_OFF = 'Until then neither hard reboot nor migrate the server.'

# What nova goes by when it next builds the XML, if the entry is right.
_BY_DISK_INFO = (f'With the server stopped, convert the file to the format '
                 f'that disk.info names (qemu-img convert -f -O, both formats '
                 f'given), or correct disk.info where the file is the right '
                 f'one. {_KEEP_OFF}')

_BACK_UP = ('Take a copy of the file before anything else: the guest may have '
            'written to it as the wrong format.')


def advise(disagreement):
    """Return the Advice for an agreement.Disagreement."""
    return _ADVISERS[disagreement.rule](disagreement)


def _xml(disagreement):
    if models.LIVE_XML in (disagreement.left.source,
                           disagreement.right.source) and (
            disagreement.right.source == models.FILE):
        return Advice(Harm.NOW, f'{_BACK_UP} {_BY_DISK_INFO}')
    return Advice(Harm.NEXT_START, (
        'The next start uses what the inactive XML says: compare it with the '
        'file before, and have nova build it anew (hard reboot) only once '
        'disk.info is right.'))


def _disk_info(disagreement):
    if disagreement.left.format is None:
        return Advice(Harm.NEXT_START, (
            'Write the entry into disk.info, with the format that the XML '
            f'names, not the one that a probe of the file finds. {_KEEP_OFF}'))
    return Advice(Harm.NEXT_START, _BY_DISK_INFO)


def _attachment(disagreement):
    if disagreement.right.source == models.ATTACHMENT_LIST:
        return Advice(Harm.NEXT_MOVE, (
            'Detach the volume and attach it again, so that cinder makes the '
            'attachment anew; of a root volume, rebuild the server.'))
    return Advice(Harm.NEXT_START, (
        'Keep the server running, or stopped, as it is. Detach the volume and '
        'attach it again (of a root volume: rebuild the server), which makes '
        'the attachment anew; nova-manage volume_attachment refresh does the '
        'same for a stopped server.'))


def _chain(disagreement):
    return Advice(Harm.NOW, (
        f'{_BACK_UP} With the server stopped, see which backing file the '
        'overlay was made over, bring it back if it is another one, and have '
        'the overlay declare its format (qemu-img rebase -u -b -F).'))


def _guest_size(disagreement):
    return Advice(Harm.NOW, f'{_BACK_UP} Then see what else disagrees about '
                            'this disk: the size follows from it.')


_ADVISERS = {1: _xml, 2: _disk_info, 3: _attachment, 4: _chain,
             5: _guest_size}

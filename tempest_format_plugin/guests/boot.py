# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Has the guest really booted, and does it go on working?

The status of a server proves neither: nova calls a server ACTIVE whose guest
never saw a boot loader. The guest's own words on its console do.
"""

import dataclasses
import time

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import guest_console
from tempest_format_plugin.guests import exceptions


@dataclasses.dataclass(frozen=True)
class Boot:
    """What came of waiting for a boot.

    :ivar outcome: formats.bugs.BOOTED or SILENT
    :ivar console: the whole console as last read
    :ivar guest: the GuestBoot, None where the guest tells no boot ids
    :ivar seconds: how long the wait took
    """

    outcome: str
    console: str
    guest: guest_console.GuestBoot | None
    seconds: float


def wait_for_boot(read_console, *, before, marker, timeout, interval,
                  sleep=time.sleep, clock=time.monotonic):
    """Wait until the console tells of a boot that `before` doesn't know.

    The marker must be in what the console says since `before`. Where the
    guest tells boot ids, a boot with a new id must also have come up, so
    that no text of an old boot is taken for a new one.

    :param read_console: function that returns the console's text, '' where
        there is none
    :param before: the console's text before whatever should have made the
        guest boot; '' if there was no guest
    :param marker: regular expression for what the guest writes once it is up
    :param timeout: seconds; the console is read at least once
    :param interval: seconds between two readings
    :returns: a Boot; that the guest stays silent is an answer, no error
    """
    start = clock()
    while True:
        console = read_console()
        booted, guest = _new_boot(before, console, marker)
        seconds = clock() - start
        if booted:
            return Boot(bugs.BOOTED, console, guest, seconds)
        if seconds >= timeout:
            return Boot(bugs.SILENT, console, None, seconds)
        sleep(min(interval, timeout - seconds))


def wait_for_heartbeat(read_console, boot_id, *, timeout, interval,
                       sleep=time.sleep, clock=time.monotonic):
    """Wait until the guest has written to its root disk twice more.

    Two, since the first may have been under way before whatever the test
    did.

    :param boot_id: the boot that must be the one that goes on
    :param timeout: seconds; interval: seconds between two readings
    :returns: the GuestBoot after those heartbeats
    :raises HeartbeatError: they didn't come in time, or one told of a write
        that failed
    """
    start = clock()
    first = None
    while True:
        console = read_console()
        guest = {boot.boot_id: boot
                 for boot in guest_console.parse(console)}.get(boot_id)
        if guest is not None:
            if guest.heartbeats and not guest.writes_ok:
                raise exceptions.HeartbeatError(
                    boot_id, 'a write to the root disk failed', console)
            if first is None:
                first = guest.heartbeats
            if guest.heartbeats >= first + 2:
                return guest
        seconds = clock() - start
        if seconds >= timeout:
            seen = ('nothing of this boot' if guest is None
                    else f'heartbeat {guest.heartbeats}')
            panic = guest_console.panic(console)
            if panic:
                # It may have booted anew since: another boot, no silence.
                seen += f'; its kernel panicked: {panic}'
            raise exceptions.HeartbeatError(
                boot_id, f'expected two more heartbeats after '
                f'{first or 0} within {timeout} seconds, saw {seen}', console)
        sleep(min(interval, timeout - seconds))


def _new_boot(before, console, marker):
    """Whether there was a boot since `before`, and its GuestBoot or None."""
    new = guest_console.new_text(before, console)
    if not guest_console.count_markers(new, marker):
        return False, None
    boots = guest_console.parse(console)
    if not boots and not guest_console.parse(before):
        # A guest that tells no boot ids.
        return True, None
    for boot in reversed(boots):
        if boot.ready and boot.boot_id not in before:
            return True, boot
    return False, None

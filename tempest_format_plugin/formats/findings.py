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

"""What a scenario found, as the facts that the signature of a bug judges."""

import dataclasses

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import glance_image
from tempest_format_plugin.formats import models


@dataclasses.dataclass(frozen=True)
class Disagreeing:
    """Sources that must agree about a server's disks don't.

    :ivar disagreements: all of them: agreement.judge(server). None are left
        where nova undefined the domain of a server that it could not start:
        they are in earlier then
    :ivar outcome: bugs.BOOTED, SILENT or REFUSED; None if nobody has waited
        for the guest, which is not silence
    :ivar qemu_log: QEMU's log of the domain where the outcome is REFUSED
    :ivar earlier: (when, ServerObservation, its disagreements) of each moment
        after the operation that was noted before this one
    """

    server: models.ServerObservation
    disagreements: tuple[agreement.Disagreement, ...]
    outcome: str | None
    earlier: tuple[tuple[str, models.ServerObservation,
                         tuple[agreement.Disagreement, ...]], ...] = ()
    qemu_log: str = ''


@dataclasses.dataclass(frozen=True)
class MigrationFailed:
    """A live migration came to nothing.

    :ivar source: the compute host that the server was on
    :ivar target: the one that it was to go to
    :ivar server_status: afterwards, as nova's API has it ('ACTIVE')
    :ivar server_host: the compute host that the server is on afterwards
    :ivar migration_status: as nova's migration record has it ('error')
    :ivar guest_alive: whether the guest that was there goes on working
    :ivar qemu_log: QEMU's log of this domain on the target, '' if none
    :ivar before: on the source, before the migration
    :ivar left_on_target: on the target, afterwards
    :ivar fault: what nova says went wrong
    """

    source: str
    target: str
    server_status: str
    server_host: str
    migration_status: str
    guest_alive: bool
    qemu_log: str
    before: models.ServerObservation
    left_on_target: models.ServerObservation
    fault: str


@dataclasses.dataclass(frozen=True)
class ImageFailed:
    """No usable image came of a server's createImage.

    :ivar http_status: of the error that nova answered with, None if none
    :ivar image: what is left of it in glance, None if nothing
    :ivar snapshots: (id, status) of each cinder snapshot that the call made
        and left
    :ivar message: what nova says went wrong
    """

    http_status: int | None
    image: glance_image.Image | None
    snapshots: tuple[tuple[str, str], ...]
    message: str

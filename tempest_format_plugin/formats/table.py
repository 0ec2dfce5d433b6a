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

"""A server's observations and disagreements as text."""

import os.path

import prettytable

from tempest_format_plugin.formats import models

_NOTHING = '-'


def render(server, disagreements=()):
    """Return a table with a row per disk, then a line per disagreement.

    :param server: a ServerObservation
    :param disagreements: those of agreement.judge(server)
    """
    table = prettytable.PrettyTable([
        'Target', 'Disk', 'Live XML', 'Inactive XML', 'disk.info',
        'Attachment', 'File', 'Backing (declared/probed)',
        'Guest/virtual size', 'Verdict'])
    table.align = 'l'
    for disk in server.disks():
        table.add_row([
            server.target(disk) or _NOTHING, disk,
            *(_format(server.of(disk, source)) for source in (
                models.LIVE_XML, models.INACTIVE_XML, models.DISK_INFO)),
            _attachment(server, disk), _format(server.of(disk, models.FILE)),
            _backing(server.of(disk, models.FILE)),
            '/'.join(_size(server.of(disk, source))
                     for source in (models.GUEST, models.FILE)),
            _verdict(disk, disagreements)])
    lines = [f'Server {server.server_id} on {server.host}: {server.state}']
    if server.observations:
        lines.append(table.get_string())
    else:
        lines.append('No disks.')
    return '\n'.join(lines + [str(d) for d in disagreements])


def _format(observation):
    return observation.format if observation else _NOTHING


def _attachment(server, disk):
    shown = server.of(disk, models.ATTACHMENT)
    listed = server.of(disk, models.ATTACHMENT_LIST)
    if shown and listed and shown.format != listed.format:
        return f'{_attached(shown)} (list: {_attached(listed)})'
    return _attached(shown or listed)


def _attached(attachment):
    if attachment is None or attachment.path is None:
        return _NOTHING
    return attachment.format or 'no format'


def _backing(file):
    if file is None or not file.backing:
        return _NOTHING
    return '\n'.join(
        f'{os.path.basename(b.path)}: '
        f'{b.declared_format or _NOTHING}/{b.format or _NOTHING}'
        for b in file.backing)


def _size(observation):
    if observation is None or observation.virtual_size is None:
        return _NOTHING
    return str(observation.virtual_size)


def _verdict(disk, disagreements):
    rules = sorted({d.rule for d in disagreements if d.disk == disk})
    if not rules:
        return 'agrees'
    return f'breaks {", ".join(map(str, rules))}'

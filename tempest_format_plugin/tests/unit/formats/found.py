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

"""Builders of findings, for tests that judge them."""

import dataclasses

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import findings
from tempest_format_plugin.formats import glance_image
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit.formats import observed


def disagreeing(server, outcome=bugs.SILENT, earlier=(), disagreements=None):
    """Return the finding of a server, after some earlier servers."""
    if disagreements is None:
        disagreements = agreement.judge(server)
    return findings.Disagreeing(
        server, disagreements, outcome,
        tuple(('earlier', one, agreement.judge(one)) for one in earlier))


def failed_migration(**changes):
    """Return the finding of a migration that shows the bug."""
    return dataclasses.replace(findings.MigrationFailed(
        source='node-1', target='node-2', server_status='ERROR',
        server_host='node-1', migration_status='error', guest_alive=True,
        qemu_log='2026-10-05T12:15:35.936829Z qemu-system-x86_64: -blockdev '
        '{"node-name":"libvirt-3-format","driver":"qcow2"}: Image is not in '
        'qcow2 format\n2026-10-05 12:15:35.990+0000: shutting down\n',
        before=observed.server(observed.disk(
            live='qcow2', inactive='qcow2', info='qcow2', file='qcow2')),
        left_on_target=models.ServerObservation(
            'some-server', 'node-2', models.ABSENT, ()),
        fault='Live migration failed'), **changes)


def refused_reboot(*disks, **changes):
    """Return the finding of the hard reboot that shows the bug.

    :param disks: those of the server, of which no domain is left
    """
    disks = disks or [observed.disk(name, live=None, inactive=None)
                      for name in ('disk', 'disk.swap', 'disk.config')]
    return dataclasses.replace(findings.Disagreeing(
        observed.server(*disks, state=models.ABSENT), (), bugs.REFUSED,
        qemu_log='2026-10-05 12:15:35.100+0000: starting up libvirt version: '
        '10.0.0\n2026-10-05T12:15:35.936829Z qemu-system-x86_64: -blockdev '
        '{"node-name":"libvirt-3-format","driver":"qcow2"}: Image is not in '
        'qcow2 format\n2026-10-05 12:15:35.990+0000: shutting down\n'),
        **changes)


def failed_image(image=None, **changes):
    """Return the finding of a createImage that shows the bug.

    :param image: dict of fields of its image to set otherwise
    """
    left = glance_image.Image('some-image', 'queued', 'qcow2', 'bare', None,
                              ('snapshot-1', 'snapshot-2'))
    return dataclasses.replace(findings.ImageFailed(
        500, dataclasses.replace(left, **(image or {})),
        (('snapshot-2', 'available'), ('snapshot-1', 'available')),
        'Unexpected API Error'), **changes)

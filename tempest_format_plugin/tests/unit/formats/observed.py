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

"""Builders of observations, for tests that judge them."""

import os.path

from tempest_format_plugin.formats import models

HOST = 'node-1'
DIRECTORY = '/var/lib/nova/instances/some-server'
BASE = '/var/lib/nova/instances/_base/some-image'
SIZE = 1 << 30
LENGTH = 196624
MOUNT = '/var/lib/nova/mnt/7d3c5f21a8e0'
VOLUME = '0f6c2d1e-6a41-4c0b-9a53-3b8f1f0e7c55'
TARGETS = {'disk': 'vda', 'disk.eph0': 'vdb', 'disk.swap': 'vdc',
           'disk.config': 'hda'}


def chain(*files):
    """Return BackingFiles of (path, declared format, probed format)."""
    return tuple(models.BackingFile(*file) for file in files)


def disk(name='disk', *, live='raw', inactive='raw', info='raw', file='raw',
         attached=None, listed=None, path=None, target=None, backing=(),
         live_backing=None, guest_size=None, **changes):
    """Return the observations of one disk: None leaves a source out.

    :param attached: format in the attachment; listed: in the list of them
    :param changes: models.<SOURCE name> in lower case -> dict of fields to
        set otherwise, such as inactive_xml={'path': '/elsewhere'}
    """
    path = path or f'{DIRECTORY}/{name}'
    target = target or TARGETS.get(name, 'vdd')
    if live_backing is None:
        live_backing = tuple(models.BackingFile(b.path, b.declared_format)
                             for b in backing)
    fields = {
        'live_xml': (live, {'target': target, 'backing': live_backing}),
        'inactive_xml': (inactive, {'target': target}),
        'disk_info': (info, {}),
        'attachment': (attached, {'path': os.path.basename(path)}),
        'attachment_list': (listed, {'path': os.path.basename(path)}),
        'file': (file, {'virtual_size': SIZE, 'backing': backing,
                        'length': SIZE if file == 'raw' else LENGTH})}
    found = [
        models.Observation(getattr(models, source.upper()), HOST, name,
                           **({'format': format_, 'path': path} | values
                              | changes.get(source, {})))
        for source, (format_, values) in fields.items() if format_]
    if guest_size is not None:
        found.append(models.Observation(models.GUEST, HOST, name, None,
                                        target=target,
                                        virtual_size=guest_size))
    return tuple(found)


def volume(name=VOLUME, **changes):
    """Return the observations of a volume that is a raw file."""
    return disk(name, **({'info': None, 'attached': 'raw', 'listed': 'raw',
                          'path': f'{MOUNT}/volume-{name}'} | changes))


def snapshotted(name=VOLUME, **changes):
    """Return the observations of a volume that was snapshotted since."""
    base = f'{MOUNT}/volume-{name}'
    return volume(name, **({
        'live': 'qcow2', 'inactive': 'qcow2', 'file': 'qcow2',
        'attached': 'qcow2', 'listed': 'qcow2',
        'path': f'{base}.some-snapshot',
        'backing': chain((base, 'raw', 'raw'))} | changes))


def server(*disks, state='running'):
    """Return a ServerObservation of some disks."""
    return models.ServerObservation('some-server', HOST, state,
                                    sum(disks, ()))

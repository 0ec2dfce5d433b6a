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

import dataclasses
import json

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import guest_console
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed


class KnownFormatTest(base.TestCase):

    def test_known(self):
        self.assertEqual('qcow2', models.known_format(
            'qcow2', source='file', host='node-1'))

    def test_unknown(self):
        for name in ('qcow9', '', None, 1, ['raw']):
            error = self.assertRaises(
                exceptions.ObservationError, models.known_format, name,
                source='file /a', host='node-1')
            self.assertIn('file /a on node-1: expected a disk format',
                          str(error))
            self.assertIn(repr(name), str(error))


class DiskNamesTest(base.TestCase):

    def test_local(self):
        for name in ('disk', 'disk.eph0', 'disk.swap', 'disk.config'):
            self.assertTrue(models.is_local(name), name)
        for name in ('diskette', '0f6c2d1e-6a41-4c0b-9a53-3b8f1f0e7c55'):
            self.assertFalse(models.is_local(name), name)

    def test_config_drive(self):
        for name in ('disk.config', 'disk.config.rescue'):
            self.assertTrue(models.is_config_drive(name), name)
        for name in ('disk', 'disk.configuration', 'disk.eph0'):
            self.assertFalse(models.is_config_drive(name), name)


class ServerObservationTest(base.TestCase):

    def test_disks_root_first_then_by_target_then_by_name(self):
        seen = [models.Observation(models.LIVE_XML, 'node-1', name, 'raw',
                                   target=target)
                for name, target in (
                    ('volume-b', 'vdaa'), ('volume-a', 'vdz'),
                    ('disk.swap', 'vdc'), ('disk', 'vdb'))]
        seen += [models.Observation(models.FILE, 'node-1', name, 'raw')
                 for name in ('disk.two', 'disk.one', 'disk')]
        self.assertEqual(
            ('disk', 'disk.swap', 'volume-a', 'volume-b', 'disk.one',
             'disk.two'),
            observed.server(tuple(seen)).disks())

    def test_of(self):
        server = observed.server(observed.disk(file='qcow2'))
        self.assertEqual('qcow2', server.of('disk', models.FILE).format)
        self.assertIsNone(server.of('disk', models.GUEST))
        self.assertIsNone(server.of('disk.swap', models.FILE))

    def test_xml_is_the_live_one_else_the_inactive_one(self):
        both = observed.server(observed.disk(live='raw', inactive='qcow2'))
        self.assertEqual('raw', both.xml('disk').format)
        off = observed.server(observed.disk(live=None, inactive='qcow2'))
        self.assertEqual('qcow2', off.xml('disk').format)
        self.assertIsNone(off.xml('disk.swap'))

    def test_with_guest(self):
        server = observed.server(observed.disk(),
                                 observed.disk('disk.swap'))
        boot = guest_console.GuestBoot('some-boot', disks=(
            guest_console.GuestDisk('sr0', 512, ''),
            guest_console.GuestDisk('vdc', 1024, '')))
        seen = server.with_guest(boot)
        self.assertIsNone(seen.of('disk', models.GUEST))
        self.assertEqual(
            models.Observation(models.GUEST, observed.HOST, 'disk.swap',
                               None, target='vdc', virtual_size=1024),
            seen.of('disk.swap', models.GUEST))
        self.assertIsNone(server.of('disk.swap', models.GUEST))
        self.assertEqual(len(server.observations) + 1,
                         len(seen.observations))

    def test_with_guest_replaces_an_earlier_boot(self):
        server = observed.server(observed.disk(guest_size=1024))
        seen = server.with_guest(guest_console.GuestBoot('some-boot'))
        self.assertIsNone(seen.of('disk', models.GUEST))

    def test_with_attachments(self):
        server = observed.server(observed.disk(), observed.volume())
        others = [
            models.Observation(source, 'node-2', 'some-volume', 'qcow2')
            for source in (models.ATTACHMENT, models.ATTACHMENT_LIST)]
        seen = server.with_attachments(iter(others))
        self.assertEqual(others, [seen.of('some-volume', o.source)
                                  for o in others])
        self.assertIsNone(seen.of(observed.VOLUME, models.ATTACHMENT))
        self.assertIsNone(seen.of(observed.VOLUME, models.ATTACHMENT_LIST))
        self.assertEqual('raw', seen.of(observed.VOLUME, models.FILE).format)
        self.assertEqual(len(server.observations),
                         len(seen.observations))

    def test_frozen(self):
        self.assertRaises(dataclasses.FrozenInstanceError, setattr,
                          observed.server(), 'state', 'shut off')

    def test_as_dict_is_ready_for_json(self):
        server = observed.server(observed.disk(
            live='qcow2', file='qcow2',
            backing=observed.chain((observed.BASE, 'raw', 'raw'))))
        read = json.loads(json.dumps(models.as_dict(server)))
        self.assertEqual('running', read['state'])
        file = next(o for o in read['observations'] if o['source'] == 'file')
        self.assertEqual({'path': observed.BASE, 'declared_format': 'raw',
                          'format': 'raw'}, file['backing'][0])

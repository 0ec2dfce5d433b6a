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

import json

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import host_report
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base

DIRECTORY = '/i/a'
DISK = f'{DIRECTORY}/disk'


def _file(format_='raw', **more):
    return {'length': 512, 'error': None, 'info': json.dumps(
        {'format': format_, 'virtual-size': 1024, **more})}


GONE = {'length': None, 'info': None, 'error': None}


def _xml(*paths, kind='file', attribute='file', driver='raw'):
    return '<domain><devices>' + ''.join(
        f'<disk type="{kind}"><driver type="{driver}"/>'
        f'<source {attribute}="{path}"/></disk>' for path in paths
    ) + '</devices></domain>'


def _report(*, files, xml=_xml(DISK), disk_info=None, **domain):
    return {'version': 1, 'instance_dir': DIRECTORY, 'disk_info': disk_info,
            'files': files,
            'domain': {'state': 'running', 'live': xml, 'inactive': xml,
                       'error': None, **domain}}


def _parse(report):
    return host_report.parse(json.dumps(report), server_id='some-server',
                             host='node-1')


class SampleTest(base.TestCase):

    def _parse(self, name):
        return host_report.parse(self.sample(f'host_report-{name}.json'),
                                 server_id='some-server', host='node-1')

    def _formats(self, server, disk):
        return [o and o.format for o in (
            server.of(disk, source) for source in (
                models.LIVE_XML, models.INACTIVE_XML, models.DISK_INFO,
                models.FILE))]

    def test_raw(self):
        server = self._parse('raw')
        self.assertEqual(('some-server', 'node-1', 'running'),
                         (server.server_id, server.host, server.state))
        self.assertEqual('disk', server.disks()[0])
        for disk in ('disk', 'disk.eph0', 'disk.swap'):
            self.assertEqual(['raw'] * 4, self._formats(server, disk))
            file = server.of(disk, models.FILE)
            self.assertEqual(file.length, file.virtual_size)

    def test_cold_migrated(self):
        server = self._parse('cold-migrated-raw')
        for disk in ('disk', 'disk.eph0', 'disk.swap'):
            self.assertEqual(['raw', 'raw', 'raw', 'qcow2'],
                             self._formats(server, disk))

    def test_qcow2_with_volume(self):
        server = self._parse('qcow2-with-volume')
        volume, = (d for d in server.disks() if not models.is_local(d))
        self.assertEqual(['qcow2', 'qcow2', None, 'qcow2'],
                         self._formats(server, volume))
        file = server.of('disk', models.FILE)
        live = server.of('disk', models.LIVE_XML)
        self.assertEqual([('raw', 'raw')], [
            (b.declared_format, b.format) for b in file.backing])
        self.assertEqual([(b.path, b.declared_format) for b in live.backing],
                         [(b.path, b.declared_format) for b in file.backing])

    def test_shut_off(self):
        server = self._parse('shut-off')
        self.assertEqual('shut off', server.state)
        self.assertEqual([None, 'qcow2', 'qcow2', 'qcow2'],
                         self._formats(server, 'disk'))

    def test_absent(self):
        self.assertEqual(
            models.ServerObservation('some-server', 'node-1', models.ABSENT,
                                     ()),
            self._parse('absent'))


class FilesTest(base.TestCase):

    def test_domain_gone_files_left(self):
        server = _parse(_report(
            state=None, live=None, inactive=None,
            error="error: failed to get domain 'a'\n",
            disk_info=json.dumps({DISK: 'qcow2'}),
            files={DISK: _file('qcow2'), f'{DISK}.info': _file(),
                   f'{DISK}.eph0': _file(), '/i/_base/disk': _file()}))
        self.assertEqual(models.ABSENT, server.state)
        self.assertEqual(
            [('disk', models.DISK_INFO), ('disk', models.FILE),
             ('disk.eph0', models.FILE)],
            [(o.disk, o.source) for o in server.observations])

    def test_entry_of_a_removed_file_stays(self):
        server = _parse(_report(
            disk_info=json.dumps({DISK: 'raw', f'{DISK}.rescue': 'raw'}),
            files={DISK: _file(), f'{DISK}.rescue': GONE}))
        self.assertIsNone(server.of('disk.rescue', models.FILE))
        self.assertIsNotNone(server.of('disk.rescue', models.DISK_INFO))

    def test_entry_of_the_instance_directory_counts(self):
        for entries in ({'/old/a/disk': 'qcow2', DISK: 'raw'},
                        {DISK: 'raw', '/old/a/disk': 'qcow2'}):
            server = _parse(_report(disk_info=json.dumps(entries),
                                    files={DISK: _file()}))
            self.assertEqual('raw',
                             server.of('disk', models.DISK_INFO).format)

    def test_file_of_the_live_xml_counts(self):
        server = _parse(_report(
            inactive=_xml('/other/disk'),
            files={DISK: _file(), '/other/disk': _file('qcow2')}))
        self.assertEqual(DISK, server.of('disk', models.FILE).path)

    def test_volume_is_called_by_its_serial(self):
        xml = _xml('/mnt/volume-b').replace(
            '</disk>', '<serial>b</serial></disk>')
        server = _parse(_report(xml=xml, files={'/mnt/volume-b': _file()}))
        self.assertEqual(('b',), server.disks())
        self.assertEqual('/mnt/volume-b', server.of('b', models.FILE).path)

    def test_block_device_may_be_missing(self):
        server = _parse(_report(
            xml=_xml('/dev/vg/a_disk', kind='block', attribute='dev'),
            files={}))
        self.assertIsNone(server.of('a_disk', models.FILE))

    def test_chain(self):
        server = _parse(_report(files={
            DISK: _file('qcow2', **{'full-backing-filename': '/b/middle'}),
            '/b/middle': _file('qcow2', **{
                'full-backing-filename': '/b/base',
                'backing-filename-format': 'raw'}),
            '/b/base': _file()}))
        self.assertEqual(
            (models.BackingFile('/b/middle', None, 'qcow2'),
             models.BackingFile('/b/base', 'raw', 'raw')),
            server.of('disk', models.FILE).backing)

    def test_chain_that_was_not_followed(self):
        server = _parse(_report(files={
            DISK: _file('qcow2', **{'full-backing-filename': '/b/base'})}))
        self.assertEqual((models.BackingFile('/b/base'),),
                         server.of('disk', models.FILE).backing)


class MalformedTest(base.TestCase):

    def _fails(self, words, report):
        error = self.assertRaises(exceptions.ObservationError, _parse, report)
        self.assertEqual('node-1', error.host)
        self.assertIn(words, str(error))

    def test_truncated(self):
        error = self.assertRaises(
            exceptions.ObservationError, host_report.parse,
            json.dumps(_report(files={}))[:-9], server_id='a', host='node-1')
        self.assertIn('observe report on node-1: expected JSON', str(error))

    def test_other_version(self):
        self._fails('expected version 1, found 2', {'version': 2})
        self._fails('expected version 1, found None', {})
        self._fails("expected a JSON object, found '[]'", [])

    def test_part_missing(self):
        report = _report(files={DISK: _file()})
        for part in ('domain', 'disk_info', 'instance_dir', 'files'):
            self._fails(f"expected '{part}'",
                        {k: v for k, v in report.items() if k != part})

    def test_libvirt_down_is_not_an_absent_domain(self):
        self._fails('domain on node-1: error: failed to connect', _report(
            state=None, live=None, inactive=None, files={},
            error='error: failed to connect to the hypervisor\n'))

    def test_domain_without_xml(self):
        self._fails('expected XML of a domain that is running: no error',
                    _report(xml=None, files={}))

    def test_disk_without_file(self):
        self._fails(f'file {DISK} on node-1: there is no such file',
                    _report(files={DISK: GONE}))

    def test_disk_that_the_report_forgot(self):
        self._fails(f'file {DISK} on node-1: expected the report',
                    _report(files={}))

    def test_file_that_could_not_be_probed(self):
        self._fails('Could not open', _report(files={
            DISK: {'length': 5, 'info': None, 'error': 'Could not open\n'}}))

    def test_backing_file_missing(self):
        self._fails('file /b/base on node-1: No such file', _report(
            xml=_xml(DISK, driver='qcow2'), files={
                DISK: _file('qcow2', **{'full-backing-filename': '/b/base'}),
                '/b/base': {**GONE, 'error': 'No such file\n'}}))

    def test_chain_without_end(self):
        self._fails('found a loop', _report(
            xml=_xml(DISK, driver='qcow2'), files={
                DISK: _file('qcow2', **{'full-backing-filename': DISK})}))

    def test_chain_that_nobody_believes(self):
        """A guest's header must not keep from telling that there is one."""
        for backing in (DISK, '/b/base'):
            server = _parse(_report(files={
                DISK: _file('qcow2', **{'full-backing-filename': backing}),
                '/b/base': {**GONE, 'error': 'No such file\n'}}))
            file = server.of('disk', models.FILE)
            self.assertEqual(('qcow2', (models.BackingFile(backing),)),
                             (file.format, file.backing))

    def test_disk_info_that_cannot_be_read(self):
        self._fails('disk.info on node-1: not a regular file', {
            **_report(files={DISK: _file()}),
            'disk_info': 'not a regular file',
            'disk_info_error': 'not a regular file'})

    def test_part_of_another_kind(self):
        for part in ('domain', 'files'):
            self._fails('expected other kinds of values',
                        _report(files={DISK: _file()}) | {part: None})

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

from tempest_format_plugin.formats import domain_xml
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base

RAW = '<driver name="qemu" type="raw"/>'
SWAP = (f'<disk type="file" device="disk">{RAW}'
        '<source file="/instances/a/disk.swap"/><target dev="vdc"/></disk>')


def _parse(*disks, source=models.LIVE_XML):
    return domain_xml.parse(
        f'<domain><devices>{"".join(disks)}</devices></domain>',
        source=source, host='node-1')


class SampleTest(base.TestCase):

    def _parse(self, name, source):
        found = domain_xml.parse(self.sample(name), source=source,
                                 host='node-1')
        self.assertEqual({(source, 'node-1')},
                         {(o.source, o.host) for o in found})
        return {o.disk: o for o in found}

    def test_live(self):
        disks = self._parse('domain-live.xml', models.LIVE_XML)
        root = disks['disk']
        self.assertEqual('vda', root.target)
        self.assertEqual('qcow2', root.format)
        self.assertTrue(root.path.endswith('/disk'))
        self.assertEqual(['raw'], [b.declared_format for b in root.backing])
        self.assertTrue(root.backing[0].path.startswith('/'))
        self.assertIsNone(root.backing[0].format)
        self.assertEqual('raw', disks['disk.config'].format)
        self.assertEqual((), disks['disk.config'].backing)
        volumes = [o for o in disks.values() if not models.is_local(o.disk)]
        self.assertTrue(volumes)
        for volume in volumes:
            self.assertIn(f'/volume-{volume.disk}', volume.path)

    def test_inactive_has_the_same_disks_and_no_chain(self):
        live = self._parse('domain-live.xml', models.LIVE_XML)
        inactive = self._parse('domain-inactive.xml', models.INACTIVE_XML)
        self.assertEqual(
            [(o.disk, o.path, o.format, o.target) for o in live.values()],
            [(o.disk, o.path, o.format, o.target) for o in inactive.values()])
        self.assertEqual({()}, {o.backing for o in inactive.values()})


class ParseTest(base.TestCase):

    def test_chain_in_order_to_its_end(self):
        disk, = _parse(
            '<disk type="file"><driver type="qcow2"/><source file="/a/top"/>'
            '<backingStore type="file"><format type="qcow2"/>'
            '<source file="/a/middle"/>'
            '<backingStore type="block"><source dev="/dev/base"/>'
            '<backingStore/></backingStore></backingStore>'
            '<target dev="vda"/></disk>')
        self.assertEqual((models.BackingFile('/a/middle', 'qcow2'),
                          models.BackingFile('/dev/base', None)),
                         disk.backing)

    def test_network_disk_has_no_path(self):
        disk, = _parse(
            f'<disk type="network" device="disk">{RAW}'
            '<source protocol="rbd" name="vms/some_disk"/>'
            '<target dev="vda"/></disk>')
        self.assertEqual(('some_disk', None, 'raw'),
                         (disk.disk, disk.path, disk.format))

    def test_cdrom_without_medium_and_floppy_are_left_out(self):
        disk, = _parse(
            f'<disk type="file" device="cdrom">{RAW}<target dev="hda"/>'
            '</disk><disk type="file" device="floppy"/>', SWAP)
        self.assertEqual('disk.swap', disk.disk)


class MalformedTest(base.TestCase):

    def _fails(self, words, *disks):
        error = self.assertRaises(exceptions.ObservationError, _parse,
                                  *disks)
        self.assertIn(models.LIVE_XML, error.source)
        self.assertEqual('node-1', error.host)
        self.assertIn(words, error.problem)

    def test_truncated(self):
        self._fails('expected domain XML', '<disk>')

    def test_no_disks(self):
        self._fails('expected disks, found none')

    def test_disk_without_source(self):
        self._fails('expected a <source>',
                    f'<disk type="file" device="disk">{RAW}</disk>')

    def test_disk_with_empty_source(self):
        self._fails('expected a <source>',
                    f'<disk type="file">{RAW}<source/></disk>')

    def test_no_driver(self):
        self._fails('found None',
                    '<disk type="file"><source file="/a"/></disk>')

    def test_unknown_format(self):
        self._fails("found 'qcow9'", SWAP.replace('"raw"', '"qcow9"'))

    def test_unknown_format_of_a_backing_file(self):
        self._fails("found 'qcow9'", SWAP.replace(
            '<target', '<backingStore><format type="qcow9"/>'
            '<source file="/b"/></backingStore><target'))

    def test_two_disks_of_one_name(self):
        self._fails('two that are called disk.swap', SWAP,
                    SWAP.replace('/a/', '/b/'))

    def test_error_names_the_disk(self):
        error = self.assertRaises(exceptions.ObservationError, _parse,
                                  SWAP.replace('"raw"', '"qcow9"'))
        self.assertIn('live XML, disk vdc on node-1', str(error))

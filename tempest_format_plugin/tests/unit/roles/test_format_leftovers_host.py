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

import pathlib

import fixtures

from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.roles import base as roles

take_stock = roles.load('format_leftovers', 'take_stock_of_host.py')

MOUNTINFO = r'''
22 27 0:20 / /proc rw shared:5 - proc proc rw
90 27 0:50 / /data/nova/mnt/5f\0408a rw shared:9 - nfs4 10.0.0.1:/srv/a rw
91 27 0:51 / /data/nova/mnt rw - tmpfs tmpfs rw
92 27 0:52 / /data/nova/mnt2/x rw - nfs4 10.0.0.1:/srv/b rw
'''.lstrip()


class TakeStockOfHostTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def script(self, text):
        path = self.dir / 'virsh'
        path.write_text(f'#!/bin/sh\n{text}\n')
        path.chmod(0o755)
        return [str(path)]

    def test_files(self):
        for name in ('1234', '_base', '5678_resize'):
            (self.dir / name).mkdir()
        self.assertEqual(
            {f'{self.dir}/1234': '', f'{self.dir}/5678_resize': ''},
            take_stock.files([f'{self.dir}/*', '/no/such/*'], ['_base']))

    def test_mounts(self):
        self.assertEqual(
            {'/data/nova/mnt/5f 8a': '10.0.0.1:/srv/a'},
            take_stock.mounts(['/data/nova/mnt/'], MOUNTINFO))

    def test_domains(self):
        self.assertEqual(
            {'1-2': 'instance-00000001', '3-4': 'a name'},
            take_stock.domains(self.script(
                "echo '1-2 instance-00000001'; echo '3-4   a name'; echo")))

    def test_guests(self):
        for process, argv in (
                ('7', '/usr/bin/qemu-system-x86_64\0-name\0guest=one\0-S\0'),
                ('8', '/usr/libexec/qemu-kvm\0'), ('9', ''),
                ('10', 'tail\0qemu-system-x86_64.log\0'),
                ('self', 'qemu-system-x86_64\0')):
            (self.dir / process).mkdir()
            (self.dir / process / 'cmdline').write_text(argv)
        self.assertEqual({'7': 'guest=one', '8': ''},
                         take_stock.guests(str(self.dir)))

    def test_guest_that_has_ended(self):
        (self.dir / '7').mkdir()
        (self.dir / '7' / 'cmdline').symlink_to(self.dir / 'nothing')
        self.assertEqual({}, take_stock.guests(str(self.dir)))

    def test_no_libvirt(self):
        virsh = self.script('echo "error: no socket" >&2; exit 1')
        error = self.assertRaises(SystemExit, take_stock.domains, virsh)
        self.assertEqual(f'{virsh[0]}: error: no socket', str(error))

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

from tempest_format_plugin.formats import guest_console
from tempest_format_plugin.tests.unit import base

ONE = '11111111-1111-4111-8111-111111111111'
TWO = '22222222-2222-4222-8222-222222222222'


def _beat(number, write='ok', boot_id=ONE):
    return f'FORMAT-GUEST beat={number} write={write} boot_id={boot_id}\r\n'


class ParseTest(base.TestCase):

    def test_sample(self):
        boot, = guest_console.parse(self.sample('console-booted.txt'))
        self.assertTrue(boot.ready)
        self.assertEqual(1, boot.counter)
        self.assertGreater(boot.heartbeats, 0)
        self.assertTrue(boot.writes_ok)
        root = next(d for d in boot.disks if d.device == 'vda')
        self.assertEqual('', root.serial)
        self.assertEqual(0, root.size_bytes % guest_console.SECTOR)
        self.assertGreater(root.size_bytes, 1 << 20)

    def test_sample_of_two_boots(self):
        first, second = guest_console.parse(
            self.sample('console-rebooted.txt'))
        self.assertNotEqual(first.boot_id, second.boot_id)
        self.assertEqual((1, 2), (first.counter, second.counter))
        self.assertEqual(first.disks, second.disks)

    def test_silent(self):
        self.assertEqual((), guest_console.parse(''))
        self.assertEqual((), guest_console.parse('No bootable device.\r\n'))

    def test_disks(self):
        boot, = guest_console.parse(
            f'FORMAT-GUEST boot_id={ONE} root=vda\r\n'
            'FORMAT-GUEST disk=vda sectors=2 serial=\r\n'
            'FORMAT-GUEST disk=vdb sectors=3 serial=a b\r\n')
        self.assertEqual((('vda', 1024, ''), ('vdb', 1536, 'a b')),
                         boot.disks)
        self.assertFalse(boot.ready)
        self.assertFalse(boot.writes_ok)

    def test_noise_around_lines(self):
        boot, = guest_console.parse(
            f'\0\0ISOLINUX\0FORMAT-GUEST boot_id={ONE} root=vda\r\n'
            'FORMAT-GUEST boot_id=short root=vda\r\n'
            'FORMAT-GUEST disk=vda sectors=many serial=\r\n'
            f'[ 1.0] noise FORMAT-GUEST ready boot_id={ONE} counter=7\r\n')
        self.assertEqual(guest_console.GuestBoot(ONE, 7), boot)

    def test_head_lost(self):
        boot, = guest_console.parse(
            'tors=2 serial=\r\nFORMAT-GUEST disk=vdb sectors=3 serial=\r\n'
            + _beat(8) + _beat(9))
        self.assertEqual(
            guest_console.GuestBoot(ONE, heartbeats=9, writes_ok=True), boot)

    def test_last_line_without_end(self):
        boot, = guest_console.parse(
            f'FORMAT-GUEST boot_id={ONE} root=vda\r\n'
            'FORMAT-GUEST disk=vda sectors=20')
        self.assertEqual((), boot.disks)

    def test_one_failed_write_is_not_forgotten(self):
        for beats in (('ok', 'failed', 'ok'), ('failed', 'ok', 'ok')):
            boot, = guest_console.parse(''.join(
                _beat(n, write) for n, write in enumerate(beats, 1)))
            self.assertEqual(3, boot.heartbeats)
            self.assertFalse(boot.writes_ok)


class CountMarkersTest(base.TestCase):

    def test_count(self):
        text = 'login:\r\n\0login:\r\nlogin: root'
        self.assertEqual(3, guest_console.count_markers(text, 'login:'))
        self.assertEqual(2, guest_console.count_markers(text, '^login:$'))
        self.assertEqual(0, guest_console.count_markers('', 'login:'))


class PanicTest(base.TestCase):

    def test_first(self):
        self.assertEqual(
            'init[1]: segfault | Code: 00 | [ 3.1] Kernel panic - not '
            'syncing: No working init found.',
            guest_console.panic(
                'login:\r\ninit[1]: segfault\r\nCode: 00\r\n[ 3.1] Kernel '
                'panic - not syncing: No working init found.\r\nRebooting\n'
                'Kernel panic - not syncing: VFS\n'))

    def test_nothing_before(self):
        line = 'Kernel panic - not syncing: VFS'
        self.assertEqual(line, guest_console.panic(line))

    def test_none(self):
        self.assertEqual('', guest_console.panic('panic=5\nlogin:\n'))


class NewTextTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.before = ''.join(_beat(n) for n in range(1, 30))

    def test_nothing_before(self):
        self.assertEqual('all', guest_console.new_text('', 'all'))

    def test_grown(self):
        self.assertEqual('', guest_console.new_text(self.before, self.before))
        self.assertEqual('new', guest_console.new_text(
            self.before, self.before + 'new'))

    def test_grown_with_repeated_text(self):
        before = 'login: ' * 200
        self.assertEqual('login: ', guest_console.new_text(
            before, before + 'login: '))

    def test_head_lost(self):
        before = ''.join(_beat(n) for n in range(1, 1400))
        self.assertGreater(len(before), 100 * 1024)
        self.assertEqual('new', guest_console.new_text(
            before[:-500], before[500:-500] + 'new'))

    def test_all_that_was_there_lost(self):
        after = ''.join(_beat(n, boot_id=TWO) for n in range(30, 1430))
        self.assertEqual(after, guest_console.new_text(self.before, after))

    def test_two_boots_that_say_much_the_same(self):
        tail = 'Linux version 6.1\r\n' * 50
        for head in ('second ', ''):
            after = f'{head}{tail}login: '
            self.assertEqual(after, guest_console.new_text(f'first {tail}',
                                                           after))

    def test_long_boot_that_begins_like_the_old_one(self):
        head = 'SeaBIOS (version 1.16)\r\n' * 50
        after = head + 'x' * 100 * 1024
        self.assertEqual(after, guest_console.new_text(head + 'y', after))

    def test_begun_anew(self):
        after = _beat(1, boot_id=TWO)
        self.assertEqual(after, guest_console.new_text(self.before, after))
        self.assertEqual(after, guest_console.new_text('BIOS\r\n', after))

    def test_begun_anew_and_longer_with_the_end_of_short_text_in_it(self):
        after = 'other\r\n' + self.before
        self.assertEqual(after, guest_console.new_text('\r\n', after))

    def test_gone(self):
        self.assertEqual('', guest_console.new_text(self.before, ''))

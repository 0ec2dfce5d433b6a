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

import testtools

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.guests import boot
from tempest_format_plugin.guests import exceptions

OLD = '11111111-1111-4111-8111-111111111111'
NEW = '22222222-2222-4222-8222-222222222222'

MARKER = r'\blogin:|FORMAT-GUEST ready\b'


def begin(boot_id):
    return (f'SYSLINUX 6.04\r\nFORMAT-GUEST boot_id={boot_id} root=vda\r\n'
            f'FORMAT-GUEST disk=vda sectors=2097152 serial=\r\n')


def ready(boot_id, counter):
    return f'FORMAT-GUEST ready boot_id={boot_id} counter={counter}\r\n'


def beats(boot_id, numbers, write='ok'):
    return ''.join(
        f'FORMAT-GUEST beat={number} write={write} boot_id={boot_id}\r\n'
        for number in numbers)


class Console:
    """A console whose text changes with time, and the clock for it."""

    def __init__(self, *texts):
        self._texts = list(texts)
        self.now = 100.0
        self.reads = 0
        self.slept = []

    def read(self):
        text = self._texts[min(self.reads, len(self._texts) - 1)]
        self.reads += 1
        return text

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def clock(self):
        return self.now


class WaitForBootTest(testtools.TestCase):

    def wait(self, *texts, before='', marker=MARKER, timeout=10):
        self.console = Console(*texts)
        return boot.wait_for_boot(
            self.console.read, before=before, marker=marker, timeout=timeout,
            interval=3, sleep=self.console.sleep, clock=self.console.clock)

    def test_guest_with_boot_ids(self):
        booted = begin(NEW) + ready(NEW, 2)
        result = self.wait('', begin(NEW), booted)
        self.assertEqual((bugs.BOOTED, booted, 6.0),
                         (result.outcome, result.console, result.seconds))
        self.assertEqual((NEW, 2), (result.guest.boot_id,
                                    result.guest.counter))
        self.assertEqual([3, 3], self.console.slept)

    def test_guest_without_boot_ids(self):
        result = self.wait('', 'cirros', 'cirros login: ')
        self.assertEqual((bugs.BOOTED, None), (result.outcome, result.guest))

    def test_silent(self):
        result = self.wait('', 'SeaBIOS')
        self.assertEqual(
            boot.Boot(bugs.SILENT, 'SeaBIOS', None, 10.0), result)
        # The last wait is cut to the timeout, and followed by a look.
        self.assertEqual([3, 3, 3, 1], self.console.slept)
        self.assertEqual(5, self.console.reads)

    def test_no_time_still_reads_once(self):
        self.assertEqual(bugs.BOOTED,
                         self.wait('x login: ', timeout=0).outcome)
        self.assertEqual(bugs.SILENT, self.wait('', timeout=0).outcome)

    def test_old_marker_is_no_boot(self):
        before = 'cirros login: '
        self.assertEqual(bugs.SILENT,
                         self.wait(before, before=before).outcome)
        self.assertEqual(bugs.SILENT, self.wait(
            before + '\r\n[ 99.0] noise', before=before).outcome)

    def test_marker_of_a_reboot(self):
        before = 'cirros login: '
        self.assertEqual(bugs.BOOTED, self.wait(
            before + 'rebooting\r\ncirros login: ', before=before).outcome)

    def test_console_that_began_anew(self):
        before = begin(OLD) + ready(OLD, 1) + beats(OLD, range(1, 30))
        result = self.wait(before, '', begin(NEW) + ready(NEW, 2),
                           before=before)
        self.assertEqual(NEW, result.guest.boot_id)

    def test_old_boot_id_is_no_boot(self):
        # The console lost so much of its head that nothing of what was read
        # before is in it, but the boot is the old one.
        before = begin(OLD) + ready(OLD, 1) + beats(OLD, range(1, 30))
        after = ready(OLD, 1) + beats(OLD, range(60, 90))
        self.assertEqual(bugs.SILENT,
                         self.wait(after, before=before).outcome)

    def test_marker_of_another_program_is_no_boot(self):
        # The guest tells boot ids, so it must tell a new one.
        before = begin(OLD) + ready(OLD, 1)
        result = self.wait(before + 'lab login: ', before=before)
        self.assertEqual(bugs.SILENT, result.outcome)
        result = self.wait('lab login: ', before=before)
        self.assertEqual(bugs.SILENT, result.outcome)

    def test_marker_before_the_guest_is_ready(self):
        marker = 'FORMAT-GUEST boot_id='
        result = self.wait(begin(NEW), begin(NEW) + ready(NEW, 1),
                           marker=marker)
        self.assertEqual((1, 3.0), (result.guest.counter, result.seconds))

    def test_last_of_several_boots(self):
        result = self.wait(begin(OLD) + ready(OLD, 1)
                           + begin(NEW) + ready(NEW, 2))
        self.assertEqual(2, result.guest.counter)


class WaitForHeartbeatTest(testtools.TestCase):

    booted = begin(NEW) + ready(NEW, 1)

    def wait(self, *texts):
        self.console = Console(*texts)
        return boot.wait_for_heartbeat(
            self.console.read, NEW, timeout=10, interval=3,
            sleep=self.console.sleep, clock=self.console.clock)

    def test_two_more(self):
        guest = self.wait(
            *(self.booted + beats(NEW, range(1, last)) for last in (6, 7, 8)))
        self.assertEqual((NEW, 7, True), (guest.boot_id, guest.heartbeats,
                                          guest.writes_ok))
        self.assertEqual(3, self.console.reads)

    def test_those_before_the_first_look_do_not_count(self):
        # Nor while the console could not be read.
        guest = self.wait('', self.booted + beats(NEW, range(1, 6)),
                          self.booted + beats(NEW, range(1, 8)))
        self.assertEqual(7, guest.heartbeats)
        self.assertEqual(3, self.console.reads)

    def test_first_heartbeats(self):
        self.assertEqual(2, self.wait(
            self.booted, self.booted + beats(NEW, (1, 2))).heartbeats)

    def assert_fails(self, *texts):
        error = self.assertRaises(exceptions.HeartbeatError, self.wait,
                                  *texts)
        self.assertEqual(NEW, error.boot_id)
        self.assertEqual(texts[-1], error.console)
        return str(error)

    def test_stopped(self):
        message = self.assert_fails(self.booted + beats(NEW, (1, 2, 3)))
        self.assertIn('expected two more heartbeats after 3 within 10 '
                      'seconds, saw heartbeat 3', message)
        self.assertIn('beat=3 write=ok', message)

    def test_failed_write(self):
        message = self.assert_fails(self.booted + beats(NEW, (1, 2))
                                    + beats(NEW, (3, 4, 5), 'failed'))
        self.assertIn('a write to the root disk failed', message)
        self.assertEqual(1, self.console.reads)

    def test_other_boot(self):
        message = self.assert_fails(begin(OLD) + ready(OLD, 2)
                                    + beats(OLD, range(1, 9)))
        self.assertIn('saw nothing of this boot', message)

    def test_panic(self):
        message = self.assert_fails(
            '[   30.0] Run /init\n[   30.1] init[1]: segfault at 0\n'
            '[   30.2] Kernel panic - not syncing: Attempted to kill init!\n'
            + begin(OLD) + ready(OLD, 3) + beats(OLD, range(1, 90)))
        self.assertIn(
            'its kernel panicked: [   30.0] Run /init | [   30.1] init[1]: '
            'segfault at 0 | [   30.2] Kernel panic - not syncing: Attempted '
            'to kill init!; its console', message)

    def test_console_tail_only(self):
        message = self.assert_fails('x' * 100000)
        self.assertLess(len(message), 2300)

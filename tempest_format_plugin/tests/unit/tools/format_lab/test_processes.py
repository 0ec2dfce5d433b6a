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

import contextlib
import os
import signal
import socket
import subprocess
import sys

from format_lab import processes
import psutil

from tempest_format_plugin.tests.unit.tools import base


class ChildTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.directory.mkdir()

    def test_marked_for_who_comes_after(self):
        with self.lab.child(base.SLEEP, {'MORE': 'x'}) as child:
            environment = base.environment(child)
            self.assertEqual(str(self.lab.cloud_dir),
                             environment[processes.MARK])
            self.assertEqual('x', environment['MORE'])
            self.assertNotEqual(os.getsid(0), os.getsid(child.pid))
            child.kill()

    def test_ends_by_itself(self):
        with self.lab.child(['true']) as child:
            self.assertEqual(0, child.wait())

    def test_ended_with_its_descendants(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        script = ('import subprocess, sys; '
                  'child = subprocess.Popen([sys.executable, "-c", '
                  '"import time; time.sleep(300)"], start_new_session=True, '
                  'pass_fds=[int(sys.argv[1])]); '
                  'print(child.pid, flush=True); child.wait()')
        with contextlib.suppress(KeyboardInterrupt):
            with theirs, self.lab.child(
                    [sys.executable, '-c', script, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                child.stdout.close()
                raise KeyboardInterrupt
        self.assertFalse(psutil.pid_exists(child.pid))
        # The descendant was the last that held the other end.
        ours.settimeout(5)
        self.assertEqual(b'', ours.recv(1))

    def test_end_of_who_will_not(self):
        stubborn = [sys.executable, '-c',
                    'import signal, time; '
                    'signal.signal(signal.SIGTERM, signal.SIG_IGN); '
                    'print(flush=True); time.sleep(300)']
        wait_procs = psutil.wait_procs
        self.patch((psutil, 'wait_procs'),
                   new=lambda processes, timeout: wait_procs(processes, 0.2))
        with contextlib.suppress(LookupError):
            with self.lab.child(stubborn, stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                child.stdout.close()
                raise LookupError
        self.assertFalse(psutil.pid_exists(child.pid))


class InterruptsTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        for number in processes.INTERRUPTS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
            # A shell's & has it ignored.
            signal.signal(number, signal.SIG_DFL)

    def test_none_while_a_cloud_is_taken_down(self):
        processes.heed_interrupts()
        with processes.no_interrupts():
            os.kill(os.getpid(), signal.SIGTERM)
        self.assertRaises(KeyboardInterrupt, os.kill, os.getpid(),
                          signal.SIGTERM)

    def test_none_after_the_first(self):
        processes.heed_interrupts()
        self.assertRaises(KeyboardInterrupt, os.kill, os.getpid(),
                          signal.SIGINT)
        with processes.no_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

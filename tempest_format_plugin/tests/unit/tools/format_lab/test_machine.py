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
import shutil
import subprocess

from format_lab import machine
import psutil

from tempest_format_plugin.tests.unit.tools import base

GIB = 2 ** 30


class CheckMachineTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.release('ID=debian\nVERSION_ID="12"\n'
                     'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
        self.memory = self.patch((psutil, 'virtual_memory')).return_value
        self.memory.available = 8 * GIB
        self.disk = self.patch((shutil, 'disk_usage')).return_value
        self.disk.free = 80 * GIB

    def release(self, text):
        self.patch((pathlib.Path, 'read_text'), return_value=text)

    def refusal(self):
        return self.lab_error(machine.check_machine, self.directory)

    def test_fit(self):
        machine.check_machine(self.directory)
        self.assertTrue(self.directory.is_dir())

    def test_debian_13(self):
        self.release('VERSION_ID=13\nID=debian\n')
        machine.check_machine(self.directory)

    def test_foreign_system(self):
        self.release('ID=ubuntu\nVERSION_ID="24.04"\n'
                     'PRETTY_NAME="Ubuntu 24.04 LTS"\n')
        self.assertEqual('the lab runs on Debian 12 or 13, this is Ubuntu '
                         '24.04 LTS: use a virtual machine', self.refusal())

    def test_too_old(self):
        self.release('ID=debian\nVERSION_ID="11"\n')
        self.assertIn('this is unknown', self.refusal())

    def test_too_little_memory(self):
        self.memory.available = 5.5 * GIB
        self.assertEqual('the lab needs 6 GiB of free memory, there are 5.5: '
                         'end something or use a larger machine',
                         self.refusal())

    def test_too_little_disk(self):
        self.disk.free = 7.25 * GIB
        self.assertEqual(
            f'the lab needs 8 GiB of free disk in {self.directory}, there '
            'are 7.2: free some or name another place with FORMAT_LAB_DIR',
            self.refusal())


class CheckIsolationTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.directory.mkdir()
        self.failing = ()
        self.patch((subprocess, 'run'), new=self.command)

    def command(self, argv, **options):
        failed = any(word in argv for word in self.failing)
        return subprocess.CompletedProcess(
            argv, int(failed), '', 'first\nno permission\n' if failed else '')

    def refusal(self, *failing):
        self.failing = failing
        message = self.lab_error(machine.check_isolation, self.directory)
        self.assertIn('(no permission)', message)
        return message

    def test_good(self):
        machine.check_isolation(self.directory)
        self.assertEqual([], list(self.directory.iterdir()))

    def test_no_namespaces(self):
        self.assertIn('makes no namespaces', self.refusal('unshare'))

    def test_no_overlay(self):
        self.assertIn(f'file system of {self.directory} takes no overlay',
                      self.refusal('overlay'))
        self.assertEqual([], list(self.directory.iterdir()))


class CheckPackagesTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.answers = {'dpkg-query': (0, 'installed\ninstalled\n', ''),
                        'apt-get': (0, '', ''), 'uv': (0, 'pbr==1', '')}
        self.ran = []
        self.patch((subprocess, 'run'), new=self.command)
        self.venv = self.directory / 'venv'
        self.venv.mkdir(parents=True)

    def command(self, argv, **options):
        name = pathlib.Path(argv[0]).name
        self.ran.append(name)
        return subprocess.CompletedProcess(argv, *self.answers[name])

    def refusal(self):
        return self.lab_error(machine.check_packages, [self.venv])

    def test_nothing_is_missing(self):
        (self.venv / 'complete').touch()
        machine.check_packages([self.venv])
        self.assertEqual(['dpkg-query'], self.ran)

    def test_all_is_missing(self):
        self.answers['dpkg-query'] = (1, 'installed\n', 'no such package')
        machine.check_packages([self.venv])
        self.assertEqual(['dpkg-query', 'apt-get', 'apt-get', 'uv'], self.ran)

    def test_package_that_was_removed(self):
        self.answers['dpkg-query'] = (0, 'installed\nconfig-files\n', '')
        machine.check_packages([self.venv])
        self.assertIn('apt-get', self.ran)

    def test_no_debian(self):
        self.answers |= {'dpkg-query': (1, '', ''),
                         'apt-get': (100, '', 'Err: one\nE: no answer\n')}
        self.assertEqual("Debian packages are missing and can't be had: see "
                         '/etc/apt (E: no answer)',
                         self.refusal())

    def test_no_index(self):
        self.answers['uv'] = (1, '', '')
        self.assertEqual('Python packages are missing and no index answers: '
                         'name one with UV_DEFAULT_INDEX (no reason given)',
                         self.refusal())

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
import os
import pathlib
import subprocess

import fixtures

from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.roles import base as roles

FETCH = roles.ROLES / 'format_lab_host' / 'files' / 'fetch-qemu'


class FetchQemuTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.dir / 'bin').mkdir()
        self.qemu = self.dir / 'cache' / 'qemu'
        self.command('apt-get', 'echo no network >&2; exit 100')

    def command(self, name, script):
        path = self.dir / 'bin' / name
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def fetch(self, version):
        self.command('qemu-system-x86_64',
                     f'echo "QEMU emulator version {version} (Debian)"')
        return subprocess.run(
            [FETCH, self.qemu], capture_output=True, text=True, check=False,
            env={'PATH': f'{self.dir}/bin:{os.environ["PATH"]}'})

    def test_one_that_will_do(self):
        for version in ('9.0.0', '10.0.2'):
            self.assertEqual(0, self.fetch(version).returncode)
            self.assertEqual([self.qemu], list(self.qemu.parent.iterdir()))
            self.assertEqual([], list((self.qemu / 'root').iterdir()))

    def test_no_network(self):
        if 'VERSION_CODENAME=bookworm\n' not in pathlib.Path(
                '/etc/os-release').read_text():
            self.skipTest('it fetches something on Debian 12 alone')
        fetched = self.fetch('7.2.22')
        self.assertEqual(100, fetched.returncode)
        self.assertIn('no network', fetched.stderr)
        # Not even an empty directory: the next run tries again.
        self.assertEqual([], list(self.qemu.parent.iterdir()))

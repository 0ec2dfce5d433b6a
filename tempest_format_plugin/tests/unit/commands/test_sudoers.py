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


import json
import pathlib

import fixtures

from tempest_format_plugin import cloud
from tempest_format_plugin.commands import sudoers
from tempest_format_plugin.hosts import least_privilege
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.tests.unit.commands import base


class SudoersTest(base.CommandTestCase):

    command = sudoers.Sudoers
    modules = (cloud,)

    def setUp(self):
        super().setUp()
        self.conf.set(ssh_user='nova', observe_command='/opt/observe')
        self.own = profile.get('devstack', observe='/opt/observe')

    def test_reading_by_default(self):
        expected = least_privilege.sudoers(self.own, 'nova')
        for arguments in ((), ('--safety-level', 'operations')):
            self.assertEqual((0, expected, ''), self.run_command(*arguments))
        self.assertNotIn('/sh', expected)

    def test_reconfigure(self):
        status, said, told = self.run_command('--safety-level', 'reconfigure')
        self.assertEqual(
            (0, least_privilege.sudoers(self.own, 'nova', root_shell=True)),
            (status, said))
        self.assertIn('a root shell: the user may then do everything', told)

    def test_old_sudo(self):
        self.assertEqual(
            (0, least_privilege.sudoers(self.own, 'nova', expressions=False),
             ''), self.run_command('--without-expressions'))

    def test_commands(self):
        self.assertEqual(
            (0, 'sudo -n /opt/observe SERVER_ID\nsudo -n tail -n 500 '
                '/var/log/libvirt/qemu/DOMAIN.log\n', ''),
            self.run_command('--show', 'commands'))

    def test_observe(self):
        self.assertEqual((0, least_privilege.observe_command(self.own), ''),
                         self.run_command('--show', 'observe'))

    def test_install(self):
        self.assertEqual(
            (0, least_privilege.install(self.own, 'nova'), ''),
            self.run_command('--show', 'install'))

    def test_without_observe_command(self):
        self.conf.set(observe_command=None)
        status, said, told = self.run_command()
        self.assertEqual(
            (0, least_privilege.sudoers(profile.get('devstack'), 'nova')),
            (status, said))
        self.assertIn(f'observe_command to {least_privilege.OBSERVE}', told)

    def test_host(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x.json')
        path.write_text(json.dumps({'hosts': {'a': {
            'profile': 'kolla-docker', 'ssh_user': 'kolla'}}}))
        self.conf.set(hosts_file=str(path))
        status, said, told = self.run_command('--host', 'a')
        self.assertIn('kolla ALL = (root) NOPASSWD: /usr/bin/docker ', said)
        self.assertNotIn('docker', self.run_command('--host', 'b')[1])

    def test_login_of_root(self):
        self.conf.set(profile='lab', ssh_user='root')
        status, said, told = self.run_command()
        self.assertEqual((1, ''), (status, said))
        self.assertIn('expected sudo to give root access, got nothing: set '
                      '[disk_format] sudo_command', told)

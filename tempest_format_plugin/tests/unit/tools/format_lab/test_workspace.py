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
from format_lab import exceptions
from format_lab import places
from format_lab import workspace

from tempest_format_plugin.tests.unit.tools import base


class WorkspaceTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.workspace = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        (self.lab.cloud_dir / 'passwords').mkdir(parents=True)
        self.lab.settings_file.write_text('{}')
        (self.lab.cloud_dir / 'passwords' / 'admin').write_text('secret\n')
        (self.lab.cloud_dir / 'tempest.conf').write_text(
            '[DEFAULT]\nlog_dir = /elsewhere\n[auth]\nadmin_password = x\n')
        (self.lab.cloud_dir / 'credentials.conf').write_text('[auth]\n')
        self.patch((self.lab, 'nodes'), return_value={
            'control': '10.0.0.1', 'compute-1': '10.0.0.11'})

    def client(self):
        """Make an openstack command in the lab's cache."""
        directory = self.lab.cache_dir / 'venvs' / 'digest' / 'bin'
        directory.mkdir(parents=True)
        (directory / 'openstack').write_text('#!/bin/sh\necho client\n')
        (directory / 'openstack').chmod(0o755)

    def test_files(self):
        workspace.make(self.lab, self.workspace)
        self.assertEqual(
            f'[DEFAULT]\nlog_dir = {self.workspace}\n'
            '[auth]\nadmin_password = x\n',
            (self.workspace / 'tempest.conf').read_text())
        self.assertEqual('[auth]\n',
                         (self.workspace / 'cloud.conf').read_text())
        ssh = (self.workspace / 'ssh_config').read_text()
        self.assertIn('Host compute-1\n  HostName 10.0.0.11\n', ssh)
        self.assertIn(f'IdentityFile {self.lab.cloud_dir}/id_ed25519\n', ssh)

    def test_environment(self):
        self.client()
        made = workspace.make(self.lab, self.workspace)
        self.assertEqual(('http://10.0.0.1:5000/v3', 'secret'),
                         (made['OS_AUTH_URL'], made['OS_PASSWORD']))
        client, tempest, *_ = made['PATH'].split(':')
        self.assertTrue((pathlib.Path(client) / 'openstack').exists())
        self.assertEqual(str(places.BIN), tempest)

    def test_no_client(self):
        made = workspace.make(self.lab, self.workspace)
        self.assertTrue(made['PATH'].startswith(str(places.BIN)))

    def shell(self, *argv):
        self.patch((self.lab, 'in_cloud'),
                   side_effect=lambda *argv: ['env', 'IN=cloud', *argv])
        return workspace.shell(self.lab, argv)

    def test_shell(self):
        self.client()
        told = self.workspace / 'told'
        self.assertEqual(3, self.shell(
            'sh', '-c', f'echo $IN $PWD $(openstack) > {told}; exit 3'))
        where, directory, client = told.read_text().split()
        self.assertEqual(('cloud', 'client'), (where, client))
        self.assertFalse(pathlib.Path(directory).exists())

    def test_shell_of_a_cloud_that_is_down(self):
        self.lab.settings_file.unlink()
        self.assertRaises(exceptions.LabError, self.shell, 'true')

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


import fixtures
from tempest import clients
from tempest.lib import auth
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin import cloud
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit import base


class AdminTest(base.TestCase):

    def setUp(self):
        super().setUp()
        conf = self.useFixture(base.PluginConf(cloud))
        conf.config(group='auth', admin_username='a', admin_password='p',
                    admin_project_name='o', admin_domain_name='d')
        conf.config(group='identity', uri_v3='http://k/v3')
        self.conf = conf
        self.manager = self.useFixture(fixtures.MockPatchObject(
            clients, 'Manager')).mock
        self.credentials = self.useFixture(fixtures.MockPatchObject(
            auth, 'get_credentials')).mock

    def test_credentials(self):
        self.assertIs(self.manager.return_value, cloud.admin())
        self.credentials.assert_called_once_with(
            'http://k/v3', identity_version='v3', username='a', password='p',
            project_name='o', domain_name='d', user_domain_name='d',
            project_domain_name='d')

    def test_option_that_is_not_set(self):
        self.conf.config(group='auth', admin_password=None)
        error = self.assertRaises(lib_exc.InvalidConfiguration, cloud.admin)
        self.assertIn('[auth] admin_password is not set', str(error))
        self.assertFalse(self.manager.called)


class HostsOfBackendTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud))

    def test_none(self):
        self.assertEqual([], cloud.hosts_of_backend('raw'))

    def test_in_their_order(self):
        self.conf.set(compute_backends={
            'z': 'raw', 'q': 'qcow2', 'a': 'raw'})
        self.assertEqual(['z', 'a'], cloud.hosts_of_backend('raw'))
        self.assertEqual(['q'], cloud.hosts_of_backend('qcow2'))
        self.assertEqual([], cloud.hosts_of_backend('rbd'))
        self.assertEqual(['z', 'q', 'a'], cloud.hosts_of_backend(cloud.ANY))

    def test_flat_is_raw(self):
        self.conf.set(compute_backends={'f': 'flat', 'r': 'raw'})
        self.assertEqual(['f', 'r'], cloud.hosts_of_backend('raw'))


class ComputeHostsTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud))
        cloud.compute_hosts.cache_clear()
        self.addCleanup(cloud.compute_hosts.cache_clear)

    def test_endpoint(self):
        self.conf.set(
            compute_addresses={'node-1': '192.0.2.1'}, ssh_port=2222,
            ssh_user='nova', ssh_key_file='/key',
            ssh_known_hosts_file='/hosts',
            ssh_allow_unknown_hosts=True, ssh_connect_timeout=3,
            ssh_command_timeout=4)
        expected = ssh.Endpoint(
            'node-1', '192.0.2.1', port=2222, user='nova', key_file='/key',
            known_hosts_file='/hosts', allow_unknown_hosts=True,
            connect_timeout=3, command_timeout=4)
        host = cloud.compute_hosts().get('node-1')
        self.assertEqual(expected, host.connection.endpoint)

    def test_host_without_address_is_reached_by_its_name(self):
        host = cloud.compute_hosts().get('node-2')
        self.assertEqual('node-2', host.connection.endpoint.address)

    def test_one_connection_per_host_and_process(self):
        self.assertIs(cloud.compute_hosts().get('node-1'),
                      cloud.compute_hosts().get('node-1'))

    def test_profile(self):
        profile = cloud.compute_hosts().get('node-1').profile
        self.assertEqual(('devstack', ('sudo', '-n')),
                         (profile.name, profile.sudo))

    def test_every_option_of_the_profile_overrides_it(self):
        self.conf.set(
            profile='lab', sudo_command='doas', container_runtime='podman',
            container_name='nova_libvirt', virsh_command='virsh -q',
            qemu_img_command='/opt/qemu-img', observe_command='/opt/observe',
            root_shell_command='bash',
            instances_path='/instances', qemu_log_dir='/log/qemu')
        profile = cloud.compute_hosts().get('node-1').profile
        self.assertEqual(
            ('lab', ('doas',), 'podman', 'nova_libvirt', ('virsh', '-q'),
             ('/opt/qemu-img',), ('/opt/observe',), ('bash',), '/instances',
             '/log/qemu'),
            (profile.name, profile.sudo, profile.container_runtime,
             profile.container_name, profile.virsh, profile.qemu_img,
             profile.observe, profile.root_shell, profile.instances_path,
             profile.qemu_log_dir))

    def test_options_that_contradict_each_other(self):
        self.conf.set(container_name='nova_libvirt')
        error = self.assertRaises(exceptions.ProfileError,
                                  cloud.compute_hosts)
        self.assertIn('container_runtime', str(error))

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


import json
import pathlib

import fixtures
from tempest import clients
from tempest import config
from tempest.lib import auth
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin import cloud
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin import hosts_file
from tempest_format_plugin.tests.unit import base


def hosts_file_of(test, **hosts):
    """Write a hosts file; return its path."""
    path = pathlib.Path(test.useFixture(fixtures.TempDir()).path, 'x.json')
    path.write_text(json.dumps({'hosts': hosts}))
    return str(path)


class AdminTest(base.TestCase):

    def setUp(self):
        super().setUp()
        conf = self.useFixture(base.PluginConf(cloud))
        conf.config(group='auth', admin_username='a', admin_password='p',
                    admin_project_name='o', admin_domain_name='d')
        conf.config(group='identity', uri_v3='http://k/v3')
        self.conf = conf
        # How tempest reaches keystone, and everything else.
        self.useFixture(fixtures.MockPatchObject(
            config, 'service_client_config',
            return_value={'ca_certs': '/ca', 'proxy_url': 'http://p'}))
        self.manager = self.useFixture(fixtures.MockPatchObject(
            clients, 'Manager')).mock
        self.credentials = self.useFixture(fixtures.MockPatchObject(
            auth, 'get_credentials')).mock

    def test_credentials(self):
        self.assertIs(self.manager.return_value, cloud.admin())
        self.credentials.assert_called_once_with(
            'http://k/v3', identity_version='v3', username='a', password='p',
            project_name='o', domain_name='d', user_domain_name='d',
            project_domain_name='d', ca_certs='/ca', proxy_url='http://p')

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

    def test_hosts_file(self):
        self.conf.set(compute_backends={'z': 'raw', 'q': 'qcow2'},
                      hosts_file=hosts_file_of(self, q={'backend': 'flat'},
                                               n={'backend': 'qcow2'}, x={}))
        self.assertEqual(['z', 'q'], cloud.hosts_of_backend('raw'))
        self.assertEqual(['n'], cloud.hosts_of_backend('qcow2'))
        self.assertEqual(['z', 'q', 'n'], cloud.hosts_of_backend(cloud.ANY))

    def test_bad_hosts_file(self):
        self.conf.set(hosts_file='/nowhere')
        error = self.assertRaises(hosts_file.HostsFileError,
                                  cloud.hosts_of_backend, 'raw')
        self.assertIn('hosts file /nowhere', str(error))

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

    def test_hosts_file_goes_before_the_options(self):
        self.conf.set(
            compute_addresses={'a': '192.0.2.1', 'b': '192.0.2.2'},
            ssh_user='nova', ssh_port=2222, ssh_key_file='/key',
            profile='debian', instances_path='/opt', sudo_command='doas',
            hosts_file=hosts_file_of(
                self, a={'address': '192.0.2.9', 'ssh_user': 'root',
                         'ssh_port': 22, 'ssh_key_file': '/other',
                         'profile': 'kolla-podman',
                         'instances_path': '/instances',
                         'sudo_command': None}))
        seen = {name: (host.connection.endpoint, host.profile)
                for name in 'ab' for host in [cloud.compute_hosts().get(name)]}
        self.assertEqual(
            [('192.0.2.9', 22, 'root', '/other'),
             ('192.0.2.2', 2222, 'nova', '/key')],
            [(endpoint.address, endpoint.port, endpoint.user,
              endpoint.key_file) for endpoint, _ in seen.values()])
        self.assertEqual(
            [profile.get('kolla-podman', instances_path='/instances'),
             profile.get('debian', instances_path='/opt', sudo='doas')],
            [each for _, each in seen.values()])

    def test_every_value_of_the_profile_can_be_of_one_host(self):
        for field, option in profile.OPTIONS.items():
            value = {'edit_kind': 'in-place', 'container_runtime': 'podman',
                     'container_name': 'x'}.get(field, '/x')
            self.conf.set(hosts_file=hosts_file_of(
                self, a={'profile': 'kolla-docker', option: value}))
            own = cloud.profile_of('a')
            self.assertIn(getattr(own, field), (value, (value,)))
            self.assertEqual(profile.get('devstack'), cloud.profile_of('b'))

    def test_hosts_file_that_contradicts_itself(self):
        path = hosts_file_of(self, a={'container_name': 'nova_libvirt'})
        self.conf.set(hosts_file=path)
        error = self.assertRaises(hosts_file.HostsFileError,
                                  cloud.compute_hosts)
        for word in (path, 'host a, at /hosts/a: a container needs',
                     'set both container_name and container_runtime there'):
            self.assertIn(word, str(error))

    def test_command_in_the_hosts_file_that_cant_be_split(self):
        self.conf.set(hosts_file=hosts_file_of(
            self, a={'virsh_command': 'virsh "'}))
        error = self.assertRaises(hosts_file.HostsFileError,
                                  cloud.compute_hosts)
        self.assertIn('set virsh_command there', str(error))

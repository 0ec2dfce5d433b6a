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

from tempest_format_plugin import hosts_file
from tempest_format_plugin.tests.unit import base

GOOD = """
hosts:
  compute-1: &first
    address: 192.0.2.11
    backend: raw
    ssh_port: 2222
  compute-2.example.org:
    <<: *first
    address: 192.0.2.12
    profile: kolla-docker
    ssh_user: nova
    ssh_key_file: ~/key
    container_name: ''
    container_runtime: null
    virsh_command: [virsh, -c, 'test:///a b']
    instances_path: /instances
  compute-3: {}
"""


class HostsFileTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def read(self, text, name='hosts.yaml'):
        path = self.directory / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return hosts_file.read(str(path))

    def test_good(self):
        hosts = self.read(GOOD)
        self.assertEqual(
            {'compute-1': hosts_file.Host(
                address='192.0.2.11', backend='raw', ssh_port=2222),
             'compute-2.example.org': hosts_file.Host(
                 address='192.0.2.12', backend='raw', ssh_port=2222,
                 profile='kolla-docker', ssh_user='nova',
                 ssh_key_file='~/key', overrides={
                     'container_name': '', 'container_runtime': None,
                     'virsh': ['virsh', '-c', 'test:///a b'],
                     'instances_path': '/instances'}),
             'compute-3': hosts_file.Host()}, hosts)

    def test_json(self):
        # Tabs are no YAML.
        text = json.dumps({'hosts': {'a': {'backend': 'raw'}}}, indent='\t')
        self.assertEqual({'a': hosts_file.Host(backend='raw')},
                         self.read(text, 'hosts.json'))

    def test_home(self):
        self.useFixture(fixtures.EnvironmentVariable(
            'HOME', str(self.directory)))
        self.read('hosts: {}')
        self.assertEqual({}, hosts_file.read('~/hosts.yaml'))

    def refused(self, path):
        error = self.assertRaises(hosts_file.HostsFileError, hosts_file.read,
                                  str(path))
        self.assertIn(f'hosts file {path} ([disk_format] hosts_file): ',
                      str(error))
        self.assertNotIn('\n', str(error))
        return str(error)

    def assert_refused(self, text, *words, name='hosts.yaml'):
        path = self.directory / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        told = self.refused(path)
        for word in words:
            self.assertIn(word, told)

    def test_not_there(self):
        self.assertIn('No such file', self.refused(self.directory / 'none'))

    def test_directory(self):
        self.assertIn('Is a directory', self.refused(self.directory))

    def test_empty(self):
        for text in ('', '# nothing yet\n', '---\n'):
            self.assert_refused(text, 'at /: expected "hosts" alone',
                                'got None')

    def test_half_written(self):
        self.assert_refused('hosts:\n  a:\n    command: "virsh',
                            'expected YAML, got in line 3, column')
        self.assert_refused('hosts:\n  a: {address: 192.0.2.1', 'line 2')
        self.assert_refused('{"hosts": {"a": {', 'expected JSON',
                            name='hosts.json')
        self.assert_refused('hosts:\n  a:\n', 'host a, at /hosts/a: expected '
                            'what is so of this host, by name, got None')
        self.assert_refused('hosts:\n', 'at /hosts: expected the hosts by '
                            'their names in nova, got None')

    def test_tabs(self):
        self.assert_refused('hosts:\n\ta: {}\n', 'line 2, column 1')

    def test_not_utf_8(self):
        self.assert_refused(b'hosts: {a: {ssh_user: "\xff"}}', 'UTF-8')

    def test_control_characters(self):
        self.assert_refused('hosts: {a: {ssh_user: "\x00"}}', 'expected YAML')

    def test_two_documents(self):
        self.assert_refused('hosts: {}\n---\nhosts: {}\n', 'expected YAML')

    def test_key_twice(self):
        self.assert_refused(
            'hosts:\n  a: {backend: raw}\n  b: {}\n  a: {backend: qcow2}\n',
            'line 4, column 3: found the key a twice')
        self.assert_refused('hosts: {a: {backend: raw, backend: raw}}',
                            'found the key backend twice')
        self.assert_refused('{"hosts": {"a": {}, "a": {}}}',
                            'found the key a twice', name='hosts.json')

    def test_name_that_is_no_text(self):
        self.assert_refused('hosts:\n  1234: {}\n', 'found 1234: put it in '
                            'quotes', 'line 2')
        self.assert_refused('hosts:\n  [a]: {}\n', 'line 2')

    def test_code(self):
        self.assert_refused('hosts: !!python/object/apply:os.system [id]',
                            'expected YAML, got in line 1')

    def test_alias_of_nothing(self):
        self.assert_refused('hosts: {a: *b}', 'line 1', 'alias')

    def test_document_of_another_kind(self):
        for text in ('- a', 'a', '42'):
            self.assert_refused(text, 'at /: expected "hosts" alone')
        self.assert_refused('hosts: [a, b]', 'at /hosts: expected the hosts')

    def test_no_hosts(self):
        self.assert_refused('{}', 'got nothing')
        self.assert_refused('host: {a: {}}', 'at /: expected only hosts, got '
                            'host', 'expected "hosts" alone')

    def test_unknown_key(self):
        self.assert_refused(
            'hosts: {a: {adress: x, port: 22}}', 'host a, at /hosts/a: '
            'expected only address, backend', 'sudo_command', 'got adress, '
            'port')

    def test_unknown_profile(self):
        self.assert_refused(
            'hosts: {a: {profile: kolla}}', 'host a, at /hosts/a/profile: '
            'expected one of devstack, debian', "got 'kolla'")

    def test_unknown_backend(self):
        self.assert_refused('hosts: {a: {backend: rwa}}',
                            '/hosts/a/backend: expected one of raw, flat',
                            "got 'rwa'")

    def test_wrong_types(self):
        for entry, expected in (
                ("ssh_port: '22'", "ssh_port: expected a TCP port, 1 to "
                                   "65535, got '22'"),
                ('ssh_port: 65536', 'got 65536'),
                ('ssh_port: true', 'got True'),
                ('ssh_user: 7', 'ssh_user: expected the name of a user'),
                ('address: [192.0.2.1]', 'address: expected an IPv4 or IPv6'),
                ('ssh_key_file: {}', 'expected the path of a private key'),
                ('instances_path: here', 'expected an absolute path'),
                ('compute_edit_kind: odd', 'config-dir, systemd or in-place'),
                ('container_runtime: lxc', 'podman or docker'),
                ('virsh_command: {}', 'expected a command line'),
                ('virsh_command: [virsh, 7]', '/virsh_command/1: expected a '
                                              'word of a command line')):
            self.assert_refused(f'hosts: {{a: {{{entry}}}}}', 'host a, at '
                                '/hosts/a/', expected)

    def test_all_problems_are_told(self):
        self.assert_refused(
            'hosts: {b: {ssh_port: x}, a: {backend: x}, c: 7}',
            'host a, at /hosts/a/backend', '; host b, at /hosts/b/ssh_port',
            '; host c, at /hosts/c')

    def test_but_not_hundreds(self):
        hosts = {f'host-{number}': 7 for number in range(100)}
        self.assert_refused(json.dumps({'hosts': hosts}), '; and 90 more')

    def test_long_values_are_cut(self):
        path = self.directory / 'hosts.yaml'
        path.write_text(f'hosts: {{a: {{backend: {"x" * 5000}}}}}')
        self.assertLess(len(self.refused(path)), 500)

    def test_deep_nesting(self):
        for name in ('hosts.yaml', 'hosts.json'):
            self.assert_refused('[' * 100000, 'expected', name=name)

    def test_keys_are_options(self):
        keys = set(hosts_file.SCHEMA['properties']['hosts'][
            'additionalProperties']['properties'])
        options = {option.name for group, options in
                   hosts_file.config.OPTION_GROUPS for option in options}
        self.assertEqual({'address', 'backend'}, keys - options)

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

from tempest_format_plugin import config
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import profile


class ProfileTest(testtools.TestCase):

    def test_devstack(self):
        devstack = profile.get('devstack')
        self.assertEqual(('sudo', '-n', 'virsh', '-c', 'qemu:///system'),
                         devstack.virsh_argv)
        self.assertEqual(('sudo', '-n', 'prlimit', '--as=1073741824',
                          '--cpu=30', 'qemu-img'), devstack.qemu_img_argv)
        self.assertEqual(('sudo', '-n', 'sh'), devstack.root_shell_argv)
        self.assertEqual('/opt/stack/data/nova/instances',
                         devstack.instances_path)
        self.assertEqual('/var/log/libvirt/qemu', devstack.qemu_log_dir)

    def test_lab(self):
        lab = profile.get('lab')
        self.assertEqual(('virsh', '-c', 'qemu:///system'), lab.virsh_argv)
        self.assertEqual(('sh',), lab.root_shell_argv)
        self.assertEqual(('cat', '/etc/hosts'), lab.argv('cat', '/etc/hosts'))
        self.assertEqual('/var/lib/nova/instances', lab.instances_path)

    def test_container(self):
        kolla = profile.get('devstack', container_runtime='docker',
                            container_name='nova_libvirt',
                            instances_path='/var/lib/nova/instances')
        inside = ('sudo', '-n', 'docker', 'exec', '-i', 'nova_libvirt')
        self.assertEqual((*inside, 'virsh', '-c', 'qemu:///system'),
                         kolla.virsh_argv)
        self.assertEqual((*inside, 'prlimit', '--as=1073741824', '--cpu=30',
                          'qemu-img'), kolla.qemu_img_argv)
        # The root shell is the host's own.
        self.assertEqual(('sudo', '-n', 'sh'), kolla.root_shell_argv)

    def test_observe_command(self):
        self.assertEqual((), profile.get('devstack').observe)
        own = profile.get('devstack', observe='/opt/observe --json',
                          container_runtime='docker',
                          container_name='nova_libvirt')
        # The host's own too.
        self.assertEqual(('sudo', '-n', '/opt/observe', '--json', 'an-id'),
                         own.observe_argv('an-id'))
        self.assertEqual((), profile.get('lab', observe='').observe)

    def test_overrides(self):
        own = profile.get('devstack', sudo='', virsh='virsh -c "test:///a b"',
                          qemu_img=('/opt/qemu-img',), root_shell=None)
        self.assertEqual(('virsh', '-c', 'test:///a b'), own.virsh_argv)
        self.assertEqual(('/opt/qemu-img',), own.qemu_img)
        self.assertEqual(('sh',), own.root_shell_argv)

    def assert_refused(self, option, *words, name='lab', **overrides):
        error = self.assertRaises(exceptions.ProfileError, profile.get, name,
                                  **overrides)
        self.assertEqual(option, error.option)
        for word in (*words, f'set [disk_format] {option}'):
            self.assertIn(word, str(error))

    def test_unknown_profile(self):
        self.assert_refused('profile', 'kolla', 'devstack, lab', name='kolla')

    def test_container_needs_name_and_runtime(self):
        option = 'both container_name and container_runtime'
        self.assert_refused(option, 'nova_libvirt',
                            container_name='nova_libvirt',
                            container_runtime='')
        self.assert_refused(option, 'podman', container_runtime='podman')

    def test_relative_path(self):
        for option in ('instances_path', 'qemu_log_dir'):
            self.assert_refused(option, option.replace('_', ' '), 'some/where',
                                **{option: 'some/where'})

    def test_commands_that_make_no_sense(self):
        self.assert_refused('virsh_command', 'quotation', virsh='virsh "x')
        self.assert_refused('qemu_img_command', 'empty', qemu_img=' ')

    def test_options_exist(self):
        options = {option.name for group, options in config.OPTION_GROUPS
                   for option in options}
        self.assertEqual(set(), set(profile.OPTIONS.values()) - options)

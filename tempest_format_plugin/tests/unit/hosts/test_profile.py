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

import dataclasses
import pathlib
import subprocess

import fixtures
import testtools

from tempest_format_plugin import config
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import profile


class ProfileTest(testtools.TestCase):

    def test_no_container_in_a_deployment_of_containers(self):
        found = profile.get('kolla-podman', container_name='')
        self.assertEqual((None, None), (found.container_name,
                                        found.container_runtime))
        self.assertEqual(('sudo', '-n', 'virsh'), found.argv('virsh'))
        # What contradicts it is still told.
        self.assertRaises(exceptions.ProfileError, profile.get,
                          'kolla-podman', container_name='',
                          container_runtime='docker')

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

    def test_units(self):
        for name, unit in (('devstack', 'devstack@n-cpu'),
                           ('debian', 'nova-compute'),
                           ('rdo', 'openstack-nova-compute'),
                           ('openstack-ansible', 'nova-compute')):
            each = profile.get(name)
            self.assertEqual(
                (('sudo', '-n'), None, profile.SYSTEMD,
                 f'/run/systemd/system/{unit}.service.d/disk-format.conf'),
                (each.sudo, each.container_name, each.edit_kind,
                 each.edit_file))
            self.assertEqual('systemd-run', each.edit_scope[0])
            self.assertIn(f'systemctl restart {unit}', each.restart[-1])
            self.assertIn('daemon-reload', each.restart[-1])
            self.assertEqual(unit, each.running[-1])
            self.assertIn(f'--unit={unit}', ' '.join(each.log))

    def test_containers(self):
        for name, runtime, container, unit, file in (
                ('kolla-docker', 'docker', 'nova_libvirt',
                 'kolla-nova_compute-container',
                 '/etc/kolla/nova-compute/nova.conf'),
                ('kolla-podman', 'podman', 'nova_libvirt',
                 'kolla-nova_compute-container',
                 '/etc/kolla/nova-compute/nova.conf'),
                ('tripleo', 'podman', 'nova_libvirt', 'tripleo_nova_compute',
                 '/var/lib/config-data/puppet-generated/nova_libvirt/etc/'
                 'nova/nova.conf'),
                ('tripleo-modular', 'podman', 'nova_virtqemud',
                 'tripleo_nova_compute',
                 '/var/lib/config-data/puppet-generated/nova_libvirt/etc/'
                 'nova/nova.conf'),
                # libvirt is the host's own there.
                ('rhoso', None, None, 'edpm_nova_compute',
                 '/var/lib/openstack/nova/02-nova-host-specific.conf')):
            each = profile.get(name)
            self.assertEqual(
                (('sudo', '-n'), runtime, container, profile.IN_PLACE, file,
                 '/var/lib/nova/instances', '/var/log/libvirt/qemu'),
                (each.sudo, each.container_runtime, each.container_name,
                 each.edit_kind, each.edit_file, each.instances_path,
                 each.qemu_log_dir), name)
            self.assertEqual(('systemctl', 'restart', unit), each.restart)

    def test_whether_a_container_runs(self):
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', f'{directory}:/usr/bin:/bin'))
        for runtime, name in (('docker', 'kolla-docker'),
                              ('podman', 'tripleo')):
            for body, runs in (('echo true', True), ('echo false', False),
                               ('echo no such container >&2; exit 1', False)):
                # Fails where it is asked for something else.
                (directory / runtime).write_text(
                    '#!/bin/sh\n[ "$*" = "container inspect --format '
                    '{{.State.Running}} nova_compute" ] || exit 3\n' + body)
                (directory / runtime).chmod(0o755)
                done = subprocess.run(profile.get(name).running,
                                      capture_output=True)
                self.assertEqual(runs, done.returncode == 0, (body, done))

    def test_commands_of_a_shell_are_well_formed(self):
        for each in profile.BUILT_IN.values():
            for command in (each.restart, each.running, each.log):
                if command[:2] == ('sh', '-c'):
                    subprocess.run(['sh', '-n', '-c', command[2]], check=True)

    def test_built_in_are_called_by_their_names(self):
        self.assertEqual(list(profile.BUILT_IN), [
            each.name for each in profile.BUILT_IN.values()])

    def test_all_say_how_to_edit(self):
        for each in profile.BUILT_IN.values():
            for field in ('edit_kind', 'edit_file', 'restart', 'running',
                          'log'):
                self.assertTrue(getattr(each, field), (each.name, field))

    def test_choices_of_the_option(self):
        option, = (option for option in config.profile_options
                   if option.name == 'profile')
        self.assertEqual(set(profile.BUILT_IN), set(option.type.choices))

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
        self.assertEqual((*inside, 'sh'), kolla.instances_shell_argv)
        self.assertEqual((*inside, 'tail', '-n', '500',
                          '/var/log/libvirt/qemu/vm-1.log'),
                         kolla.qemu_log_argv('vm-1'))

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
        self.assert_refused('profile', 'kolla', 'devstack, debian, rdo',
                            name='kolla')

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

    def test_every_value_has_an_option(self):
        self.assertEqual({'name', *profile.OPTIONS}, {
            field.name for field in dataclasses.fields(profile.Profile)})
        self.assertEqual((), profile.get('debian', edit_scope='').edit_scope)

    def test_options_exist(self):
        options = {option.name for group, options in config.OPTION_GROUPS
                   for option in options}
        self.assertEqual(set(), set(profile.OPTIONS.values()) - options)

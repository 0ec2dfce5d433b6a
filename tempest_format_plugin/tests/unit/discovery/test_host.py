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

from tempest_format_plugin.discovery import facts
from tempest_format_plugin.discovery import host
from tempest_format_plugin.formats import exceptions as formats_exceptions
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import nova_compute_script
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.discovery import found

VERSION = ('Compiled against library: libvirt 9.0.0\n'
           'Using library: libvirt 9.0.1\nUsing API: QEMU 9.0.0\n'
           'Running hypervisor: QEMU 10.0.2\n')


class Connection:
    """Answers the script, and virsh."""

    endpoint = ssh.Endpoint('host-1', '192.0.2.1', user='stack')

    def __init__(self, report, version=VERSION):
        self.script = (0, report if isinstance(report, str)
                       else json.dumps(report), '')
        self.virsh = (0, version, '')
        self.commands = []

    def run(self, command, stdin=None, timeout=None):
        self.commands.append((command, stdin))
        return ssh.Completed('host-1', command,
                             *(self.script if stdin else self.virsh))


class LookTest(base.TestCase):

    def look(self, *report, **more):
        self.connection = Connection(*(report or [found.report(**more)]))
        return host.look(self.connection, '192.0.2.1')

    def test_lab(self):
        self.assertEqual(facts.HostFacts(
            'host-1', '192.0.2.1', deployment='lab', images_type='raw',
            use_cow_images=True, force_raw_images=True,
            instances_path='/var/lib/nova/instances', nova='31.0.1',
            libvirt='9.0.1', qemu='10.0.2'), self.look(supervised=True))
        (_, source), (virsh, _) = self.connection.commands
        with open(nova_compute_script.__file__) as script:
            self.assertEqual(script.read(), source)
        self.assertEqual('virsh -c qemu:///system version', virsh)

    def test_overrides(self):
        self.assertEqual(
            {'sudo_command': 'sudo -n', 'instances_path': '/srv'},
            self.look(supervised=True, sudo=True,
                      conf={'instances_path': '/srv'}).overrides)
        self.assertEqual('sudo -n virsh -c qemu:///system version',
                         self.connection.commands[1][0])
        self.assertEqual(
            {'sudo_command': '', 'instances_path': '/var/lib/nova/instances'},
            self.look(unit='devstack@n-cpu.service').overrides)
        self.assertEqual(
            {'instances_path': '/var/lib/nova/instances'},
            self.look(unit='devstack@n-cpu.service', sudo=True).overrides)

    def test_libvirt_in_another_container(self):
        daemon = {'program': '/usr/sbin/virtqemud', 'unit': None,
                  'supervised': False, 'container': {
                      'runtime': 'docker', 'id': 'c1', 'name': 'my_libvirt'}}
        self.assertEqual(
            {'container_runtime': 'docker', 'container_name': 'my_libvirt'},
            self.look(supervised=True, libvirt=daemon).overrides)
        self.assertEqual(
            'docker exec -i my_libvirt virsh -c qemu:///system version',
            self.connection.commands[1][0])
        daemon['container']['name'] = None
        found_out = self.look(supervised=True, libvirt=daemon)
        self.assertEqual({}, found_out.overrides)
        self.assertIn('the name of the docker container with libvirt could '
                      'not be told: set [disk_format] container_name',
                      found_out.problems)

    def test_unknown_deployment(self):
        found_out = self.look(unit='my.service')
        self.assertIsNone(found_out.deployment)
        self.assertEqual('raw', found_out.images_type)
        problem, = found_out.problems
        self.assertIn('found it by the unit my.service: set [disk_format] '
                      'profile', problem)
        self.assertEqual(1, len(self.connection.commands))

    def test_no_nova_compute(self):
        found_out = self.look(found.report(problems=['none runs']) | {
            'nova_compute': None, 'conf': None, 'nova': None})
        self.assertEqual(facts.HostFacts(
            'host-1', '192.0.2.1', problems=('none runs',)), found_out)

    def test_another_host(self):
        found_out = self.look(supervised=True, conf={'host': 'host-2'})
        self.assertIsNone(found_out.images_type)
        self.assertIn('calls itself host-2', found_out.problems[0])

    def test_unknown_instances_path(self):
        found_out = self.look(supervised=True, conf={'instances_path': None})
        self.assertIn('set [disk_format] instances_path',
                      found_out.problems[0])

    def test_other_driver(self):
        self.assertEqual(
            ('its compute_driver is ironic.IronicDriver, not libvirt',),
            self.look(supervised=True, conf={
                'compute_driver': 'ironic.IronicDriver'}).problems)
        self.assertIsNone(self.look(supervised=True, conf={
            'compute_driver': 'ironic.IronicDriver'}).images_type)
        self.assertEqual((), self.look(
            supervised=True, conf={'compute_driver': None}).problems)

    def test_no_virsh(self):
        connection = Connection(found.report(supervised=True))
        connection.virsh = (127, '', 'sh: virsh: not found')
        found_out = host.look(connection, '192.0.2.1')
        self.assertEqual((None, None, 'raw'), (
            found_out.libvirt, found_out.qemu, found_out.images_type))
        self.assertIn('virsh: not found: set [disk_format] virsh_command',
                      found_out.problems[0])

    def test_virsh_without_hypervisor(self):
        found_out = self.look(found.report(supervised=True), 'nonsense')
        self.assertEqual((None, None), (found_out.libvirt, found_out.qemu))

    def test_sudo_refuses(self):
        connection = Connection('')
        connection.script = (1, '', 'sudo: a password is required\n')
        error = self.assertRaises(exceptions.HostAccessError, host.look,
                                  connection, '192.0.2.1')
        self.assertEqual(
            'compute host host-1: expected root access without a password '
            'for stack, got: sudo: a password is required: set '
            '[disk_format] ssh_user', str(error))

    def test_no_python(self):
        connection = Connection('')
        connection.script = (127, '', 'sh: /usr/bin/python3: not found')
        self.assertRaises(exceptions.CommandError, host.look, connection,
                          '192.0.2.1')

    def test_nonsense(self):
        self.assertRaises(formats_exceptions.ObservationError, self.look,
                          'Welcome to host-1!')

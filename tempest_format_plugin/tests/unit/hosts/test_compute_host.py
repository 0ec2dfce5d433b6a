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

import shlex
import sys

import fixtures
import testtools

from tempest_format_plugin.formats import exceptions as format_exceptions
from tempest_format_plugin.formats import host_report
from tempest_format_plugin.formats import models
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit.hosts import fakes


class FakeConnection:
    """Answers every command with the same exit status and output."""

    def __init__(self, exit_status=0, stdout='', stderr=''):
        self.answer = exit_status, stdout, stderr
        self.calls = []
        self.closed = False

    def run(self, command, stdin=None, timeout=None):
        self.calls.append((command, stdin, timeout))
        return ssh.Completed('node-1', command, *self.answer)

    def close(self):
        self.closed = True


class ObserveOverSshTest(testtools.TestCase):
    """The whole way: SSH, script, fake tools, and back to the model."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger('paramiko'))
        self.tools = self.useFixture(fakes.ComputeHost())
        self.server = self.useFixture(fakes.SshServer(self.tools.env))
        # The Python of the tests need not be the system's.
        self.useFixture(fixtures.MockPatchObject(
            profile, 'PYTHON', (sys.executable, '-I', '-S', '-')))
        self.host = self.compute_host()

    def compute_host(self, **overrides):
        connection = ssh.Connection(self.server.endpoint())
        self.addCleanup(connection.close)
        return compute_host.ComputeHost(
            'node-1', connection, profile.get(
                'lab', instances_path=str(self.tools.instances),
                qemu_log_dir=str(self.tools.root), **overrides))

    def test_observe(self):
        base = self.tools.disk(self.tools.root / 'base')
        root = self.tools.disk('disk', 'qcow2', base, 'raw')
        swap = self.tools.disk('disk.swap')
        self.tools.disk_info({root: 'qcow2', swap: 'raw'})
        disks = {root: 'qcow2', swap: 'raw'}
        self.tools.domain('running', fakes.xml(disks, live=True),
                          fakes.xml(disks))
        server = self.host.observe(fakes.SERVER_ID)
        self.assertEqual(
            (fakes.SERVER_ID, 'node-1', 'running', ('disk', 'disk.swap')),
            (server.server_id, server.host, server.state, server.disks()))
        self.assertEqual(
            [(source, image_format)
             for source in (models.LIVE_XML, models.INACTIVE_XML,
                            models.DISK_INFO, models.FILE)
             for image_format in ('qcow2', 'raw')],
            [(source, server.of(disk, source).format)
             for source in (models.LIVE_XML, models.INACTIVE_XML,
                            models.DISK_INFO, models.FILE)
             for disk in ('disk', 'disk.swap')])
        self.assertEqual((models.BackingFile(base, 'raw', 'raw'),),
                         server.of('disk', models.FILE).backing)
        # Many files, one command.
        self.assertEqual(1, len(self.server.commands))
        self.assertEqual(1, self.server.connections)

    def test_observe_absent(self):
        self.assertEqual(models.ABSENT,
                         self.host.observe(fakes.SERVER_ID).state)

    def test_evidence(self):
        base = self.tools.disk(self.tools.root / 'base')
        root = self.tools.disk('disk', 'qcow2', base, 'raw')
        (self.tools.instance_dir / 'disk.config').write_text('broken pipe')
        self.tools.disk_info({root: 'qcow2'})
        live, inactive = (fakes.xml({root: 'qcow2'}, live)
                          for live in (True, False))
        self.tools.domain('running', live, inactive)
        (self.tools.root / 'instance-1.log').write_text('starting up\n')
        kept = self.host.evidence(fakes.SERVER_ID, 'instance-1')
        self.assertEqual(
            (live, inactive, f'{{"{root}": "qcow2"}}', 'starting up\n'),
            tuple(kept.pop(name) for name in (
                'live.xml', 'inactive.xml', 'disk.info', 'qemu.log')))
        self.assertEqual({
            f'{root}: {{"format": "qcow2", "virtual-size": 1048576, '
            f'"full-backing-filename": "{base}", '
            '"backing-filename-format": "raw"}',
            f'{self.tools.instance_dir}/disk.config: broken pipe',
            f'{base}: {{"format": "raw", "virtual-size": 1048576}}'},
            set(kept.pop('qemu-img.txt').split('\n')))
        self.assertEqual({}, kept)

    def test_evidence_of_a_server_that_is_not_there(self):
        self.assertEqual(
            {}, self.host.evidence(fakes.SERVER_ID, 'instance-1'))

    def test_evidence_of_a_server_that_has_left(self):
        (self.tools.root / 'instance-1.log').write_text('shutting down\n')
        self.assertEqual(
            {'qemu.log': 'shutting down\n'},
            self.host.evidence(fakes.SERVER_ID, 'instance-1'))

    def test_end_of_a_long_log(self):
        (self.tools.root / 'instance-1.log').write_text(
            ''.join(f'{number}\n' for number in range(1000)))
        log = self.host.qemu_log('instance-1').splitlines()
        self.assertEqual((500, '500', '999'), (len(log), log[0], log[-1]))

    def test_missing_virsh(self):
        error = self.assertRaises(
            exceptions.HostAccessError,
            self.compute_host(virsh='no-virsh').observe, fakes.SERVER_ID)
        self.assertEqual('virsh_command', error.option)
        self.assertIn('compute host node-1: expected a virsh that reaches '
                      'libvirt, got: no-virsh: No such file', str(error))

    def test_missing_instances(self):
        self.tools.instance_dir.rmdir()
        self.tools.instances.rmdir()
        error = self.assertRaises(exceptions.HostAccessError,
                                  self.host.observe, fakes.SERVER_ID)
        self.assertEqual('instances_path', error.option)

    def test_root_shell(self):
        completed = self.host.root_shell('cd /\npwd\nexit 2\n')
        self.assertEqual((2, '/\n'),
                         (completed.exit_status, completed.stdout))


class ComputeHostTest(testtools.TestCase):

    def host(self, connection, name='lab', **overrides):
        return compute_host.ComputeHost('node-1', connection,
                                        profile.get(name, **overrides))

    def test_command_line(self):
        connection = FakeConnection(1)
        host = self.host(connection, 'devstack', instances_path='/a b;c')
        self.assertRaises(exceptions.CommandError, host.observe,
                          fakes.SERVER_ID)
        (command, stdin, timeout), = connection.calls
        self.assertEqual(
            ['sudo', '-n', '/usr/bin/python3', '-I', '-S', '-',
             fakes.SERVER_ID, '/a b;c', 'virsh', '-c', 'qemu:///system', ';',
             'prlimit', '--as=1073741824', '--cpu=30', 'qemu-img'],
            shlex.split(command))
        self.assertIn("'/a b;c'", command)
        self.assertIn('def observe(', stdin)
        self.assertIsNone(timeout)

    def test_command_line_with_container(self):
        connection = FakeConnection(1)
        host = self.host(connection, 'devstack', container_runtime='podman',
                         container_name='nova_libvirt')
        self.assertRaises(exceptions.CommandError, host.observe,
                          fakes.SERVER_ID)
        host.root_shell('true', timeout=5)
        host.instances_shell('rm disk')
        self.assertEqual(
            ['sudo', '-n', 'podman', 'exec', '-i', 'nova_libvirt',
             '/usr/bin/python3'],
            shlex.split(connection.calls[0][0])[:7])
        self.assertEqual(('sudo -n sh', 'true', 5), connection.calls[1])
        self.assertEqual(
            ('sudo -n podman exec -i nova_libvirt sh', 'rm disk', None),
            connection.calls[2])

    def test_command_line_of_the_log(self):
        connection = FakeConnection()
        self.host(connection, 'devstack', container_runtime='podman',
                  container_name='nova_libvirt',
                  qemu_log_dir='/a b;c').qemu_log('instance-1')
        (command, _, _), = connection.calls
        self.assertEqual(
            ['sudo', '-n', 'podman', 'exec', '-i', 'nova_libvirt', 'tail',
             '-n', '500', '/a b;c/instance-1.log'], shlex.split(command))

    def test_command_line_with_observe_command(self):
        connection = FakeConnection()
        host = self.host(connection, 'devstack', observe='/opt/observe -j',
                         container_runtime='podman',
                         container_name='nova_libvirt')
        self.assertRaises(format_exceptions.ObservationError, host.observe,
                          fakes.SERVER_ID)
        # Nothing is sent to it.
        self.assertEqual(
            [(f'sudo -n /opt/observe -j {fakes.SERVER_ID}', None, None)],
            connection.calls)

    def test_server_id_is_checked(self):
        connection = FakeConnection()
        for observe in ('', '/opt/observe'):
            host = self.host(connection, observe=observe)
            self.assertRaises(ValueError, host.observe, 'x; destroy y')
        self.assertEqual([], connection.calls)

    def assert_refused(self, option, stderr, exit_status=1, stdout='',
                       name='devstack', act=None, **overrides):
        host = self.host(FakeConnection(exit_status, stdout, stderr), name,
                         **overrides)
        act = act or (lambda host: host.observe(fakes.SERVER_ID))
        error = self.assertRaises(exceptions.HostAccessError, act, host)
        self.assertEqual(('node-1', option), (error.host, error.option))
        self.assertIn(stderr.strip(), str(error))

    def test_sudo_refused(self):
        for stderr in (
                'sudo: a password is required\n',
                'sudo: a terminal is required to read the password; either',
                'sudo: sorry, you must have a tty to run sudo',
                'stack is not in the sudoers file.\n',
                'Sorry, user stack may not run sudo on node-1.',
                'Sorry, user stack is not allowed to execute \'/usr/bin/sh\'',
                'bash: line 1: sudo: command not found'):
            self.assert_refused('sudo_command', stderr)
            for act in (lambda host: host.root_shell('true'),
                        lambda host: host.instances_shell('true'),
                        lambda host: host.qemu_log('instance-1'),
                        lambda host: host.evidence(fakes.SERVER_ID,
                                                   'instance-1')):
                self.assert_refused('sudo_command', stderr, act=act)

    def test_refusal_names_the_command(self):
        host = self.host(FakeConnection(1, stderr='sudo: a password is '
                                        'required\n'), 'devstack')
        error = self.assertRaises(exceptions.HostAccessError, host.root_shell,
                                  'true')
        self.assertEqual(
            'compute host node-1: expected root access without a password for '
            'sudo -n sh, got: sudo: a password is required: set [disk_format] '
            'sudo_command', str(error))

    def test_observe_command_missing(self):
        for stderr in ('sudo: /opt/observe: command not found',
                       'sh: 1: /opt/observe: not found',
                       'bash: line 1: /opt/observe: No such file or '
                       'directory'):
            for act in (lambda host: host.observe(fakes.SERVER_ID),
                        lambda host: host.evidence(fakes.SERVER_ID,
                                                   'instance-1')):
                self.assert_refused('observe_command', stderr, 127, act=act,
                                    observe='/opt/observe')
        # It runs on the host itself, and has a Python of its own.
        host = self.host(
            FakeConnection(1, stderr='container nova_libvirt is not running; '
                           '/usr/bin/python3: not found'),
            observe='/opt/observe', container_runtime='podman',
            container_name='nova_libvirt')
        self.assertRaises(exceptions.CommandError, host.observe,
                          fakes.SERVER_ID)

    def test_observe_command_refused_by_sudo(self):
        self.assert_refused('sudo_command', 'sudo: a password is required\n',
                            observe='/opt/observe')

    def test_problem_of_the_observe_command(self):
        for field, option in (('virsh', 'observe_command'),
                              ('qemu_img', 'observe_command'),
                              ('sudo', 'sudo_command'),
                              ('instances_path', 'observe_command')):
            self.assert_refused(
                option, '', 0, f'{{"version": 1, "problem": '
                               f'{{"field": "{field}", "text": "oops"}}}}',
                observe='/opt/observe')

    def test_observe_command_of_another_version(self):
        for report, version in (
                ('{"version": 0, "problem": {"field": "libvirt"}}', '0'),
                ('{"version": 2}', '2'), ('{"domain": {}}', 'None')):
            host = self.host(FakeConnection(stdout=report),
                             observe='/opt/observe')
            for act, arguments in (
                    (host.observe, (fakes.SERVER_ID,)),
                    (host.evidence, (fakes.SERVER_ID, 'instance-1'))):
                error = self.assertRaises(exceptions.HostAccessError, act,
                                          *arguments)
                for words in ('compute host node-1: expected /opt/observe to '
                              'print a report of version 1',
                              f'got version {version}',
                              'format_host_access'):
                    self.assertIn(words, str(error))
                self.assertIsNone(error.option)

    def test_versions_of_script_and_reader(self):
        self.assertEqual(host_report.VERSION, observe_script.VERSION)

    def test_python_missing(self):
        for stderr in ('bash: line 1: /usr/bin/python3: No such file or '
                       'directory',
                       'sh: 1: /usr/bin/python3: not found',
                       'sudo: /usr/bin/python3: command not found'):
            self.assert_refused('profile', stderr, 127)

    def test_container_wrong(self):
        container = {'container_runtime': 'podman',
                     'container_name': 'nova_libvirt'}
        for option, stderr in (
                ('container_runtime', 'sudo: podman: command not found'),
                ('container_name', 'Error: no container with name or ID '
                 '"nova_libvirt" found: no such container'),
                ('container_name', 'Error: can only create exec sessions on '
                 'running containers: container state improper'),
                ('container_name', 'Error response from daemon: No such '
                 'container: nova_libvirt'),
                ('container_name', 'Error response from daemon: container '
                 '0123 is not running'),
                ('container_name', 'Error: crun: executable file '
                 '`/usr/bin/python3` not found: No such file or directory: '
                 'OCI runtime attempted to invoke a command that was not '
                 'found'),
                ('container_name', 'OCI runtime exec failed: exec failed: '
                 'unable to start container process: exec: '
                 '"/usr/bin/python3": stat /usr/bin/python3: no such file or '
                 'directory: unknown')):
            self.assert_refused(option, stderr, 127, **container)

    def test_log_in_a_container_that_is_not_there(self):
        for observe in ('', '/opt/observe'):
            for option, stderr in (
                    ('container_name', 'Error: no container with name or ID '
                     '"nova_libvirt" found: no such container'),
                    ('container_name', 'Error: can only create exec sessions '
                     'on running containers: container state improper'),
                    ('container_runtime', 'sudo: podman: command not found')):
                self.assert_refused(
                    option, stderr, 125, observe=observe,
                    container_runtime='podman', container_name='nova_libvirt',
                    act=lambda host: host.qemu_log('instance-1'))

    def test_problem(self):
        for field, option in (('virsh', 'virsh_command'),
                              ('qemu_img', 'qemu_img_command'),
                              ('sudo', 'sudo_command'),
                              ('instances_path', 'instances_path')):
            self.assert_refused(
                option, '', 0, f'{{"version": 1, "problem": '
                               f'{{"field": "{field}", "text": "oops"}}}}')

    def test_script_that_fails(self):
        host = self.host(FakeConnection(1, stderr='Traceback: oops'))
        error = self.assertRaises(exceptions.CommandError, host.observe,
                                  fakes.SERVER_ID)
        self.assertIn('Traceback: oops', str(error))

    def test_script_of_the_caller_that_fails(self):
        # Its words are its own business.
        for stderr in ('/usr/bin/python3: not found', 'nova is not running'):
            completed = self.host(
                FakeConnection(1, stderr=stderr), 'devstack',
                container_runtime='podman',
                container_name='nova_libvirt').root_shell('false')
            self.assertEqual(stderr, completed.stderr)

    def test_report_that_makes_no_sense(self):
        for stdout in ('', '{"version": 1, "do', '[]'):
            for observe in ('', '/opt/observe'):
                host = self.host(FakeConnection(stdout=stdout),
                                 observe=observe)
                error = self.assertRaises(format_exceptions.ObservationError,
                                          host.observe, fakes.SERVER_ID)
                self.assertEqual('node-1', error.host)


class ComputeHostsTest(testtools.TestCase):

    def test_get(self):
        asked = []

        def endpoint_of(name):
            asked.append(name)
            return ssh.Endpoint(name, f'{name}.example.org')

        own = {name: profile.get('lab', qemu_log_dir=f'/{name}')
               for name in ('node-1', 'node-2')}
        hosts = compute_host.ComputeHosts(endpoint_of, own.get)
        node = hosts.get('node-1')
        self.assertIs(node, hosts.get('node-1'))
        self.assertIsNot(node, hosts.get('node-2'))
        self.assertEqual(['node-1', 'node-2'], asked)
        self.assertEqual(own['node-2'], hosts.get('node-2').profile)
        self.assertEqual(('node-1', 'node-1.example.org', own['node-1']),
                         (node.name, node.connection.endpoint.address,
                          node.profile))

    def test_close(self):
        hosts = compute_host.ComputeHosts(
            lambda name: ssh.Endpoint(name, name),
            lambda name: profile.get('lab'))
        node = hosts.get('node-1')
        node.connection = FakeConnection()
        hosts.close()
        self.assertTrue(node.connection.closed)

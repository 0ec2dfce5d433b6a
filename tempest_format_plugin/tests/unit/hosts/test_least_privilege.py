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


import fnmatch
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import fixtures
import testtools

from tempest_format_plugin.formats import host_report
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import least_privilege
from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit.hosts import fakes

ID = fakes.SERVER_ID
DOMAIN = 'instance-0000002a'


def get(name, **overrides):
    return profile.get(name, sudo='sudo -n', **overrides)


class Recorder:
    """A connection to a host that answers nothing."""

    def __init__(self):
        self.commands = []

    def run(self, command, stdin=None, timeout=None):
        self.commands.append((shlex.split(command), stdin))
        return ssh.Completed('node-1', command, 0, REPORT, '')


REPORT = (
    '{"version": 1, "domain": {"state": null, "live": null, "inactive": null, '
    '"error": "failed to get domain"}, "instance_dir": "/x", '
    '"disk_info": null, "files": {}}')


def reading(own):
    """Return the commands of all that only reads, as lists of words."""
    recorder = Recorder()
    host = compute_host.ComputeHost(
        'node-1', recorder, least_privilege.with_observe(own))
    host.observe(ID)
    host.evidence(ID, DOMAIN)
    host.qemu_log(DOMAIN)
    for _, stdin in recorder.commands:
        assert stdin is None
    return [command for command, _ in recorder.commands]


def editing(own):
    recorder = Recorder()
    host = compute_host.ComputeHost('node-1', recorder, own)
    host.root_shell('id')
    host.instances_shell('id')
    return [command for command, _ in recorder.commands]


class Sudo:
    """Takes a sudoers file as sudoers(5) says."""

    def __init__(self, text):
        self.rules = re.findall(
            r'^disk-format ALL = \(root\) NOPASSWD: (/\S+) (.*)$', text,
            re.MULTILINE)
        rest = [line for line in text.splitlines()
                if not line.startswith(('# ', 'Defaults:disk-format '))]
        assert len(rest) == len(self.rules), rest

    def allows(self, argv):
        assert argv[:2] == ['sudo', '-n'], argv
        program, *arguments = argv[2:]
        if '/' not in program:
            program = f'/usr/bin/{program}'
        given = ' '.join(arguments)
        return any(program == path and self._match(pattern, given)
                   for path, pattern in self.rules)

    @staticmethod
    def _match(pattern, given):
        if pattern == '""':
            return not given
        if pattern.startswith('^'):
            return re.fullmatch(pattern[1:-1], given) is not None
        return fnmatch.fnmatchcase(given, pattern)


class SudoersTest(testtools.TestCase):

    def test_all_that_reading_needs_and_nothing_else(self):
        for name in profile.BUILT_IN:
            for expressions in (True, False):
                sudo = Sudo(least_privilege.sudoers(
                    get(name), 'disk-format', expressions=expressions))
                commands = reading(get(name))
                self.assertEqual(4, len(commands))
                for command in commands:
                    self.assertTrue(sudo.allows(command), command)
                # Each rule is for something.
                self.assertEqual(2, len(sudo.rules))
                for command in (*editing(get(name)), *self.broader(commands)):
                    self.assertFalse(sudo.allows(command), command)

    def broader(self, commands):
        """Yield commands that are nearly the given ones."""
        for command in commands:
            yield [*command, '/etc/shadow']
            yield command[:-1]
            yield [*command[:-1], command[-1] + 'x']
            yield [*command[:-1], '/etc/shadow']
            yield [*command[:-1], command[-1].replace(
                '/qemu/', '/qemu/../../../../../tmp/')
                if '/qemu/' in command[-1] else '../' + command[-1]]
            yield [*command[:-1], command[-1].replace('-', '/')]
            yield [*command[:-1], '*']
            yield ['sudo', '-n', *command[2:-1], '', command[-1]]
        for words in ('python3 -', 'bash', 'sh', 'cat /etc/shadow',
                      'docker ps', 'docker exec -i nova_libvirt sh',
                      'podman exec -i nova_libvirt python3 -',
                      'virsh list', 'tail -n 500 /etc/shadow'):
            yield ['sudo', '-n', *words.split()]

    def test_editing_needs_root_shells(self):
        for name in profile.BUILT_IN:
            sudo = Sudo(least_privilege.sudoers(
                get(name), 'disk-format', root_shell=True))
            for command in (*reading(get(name)), *editing(get(name))):
                self.assertTrue(sudo.allows(command), command)
            self.assertFalse(sudo.allows(['sudo', '-n', 'sh', '-c', 'id']))

    def test_domains_of_another_template_need_expressions(self):
        log = ['sudo', '-n', 'tail', '-n', '500',
               '/var/log/libvirt/qemu/vm_2.a-B.log']
        for expressions in (True, False):
            sudo = Sudo(least_privilege.sudoers(
                get('debian'), 'disk-format', expressions=expressions))
            self.assertEqual(expressions, sudo.allows(log))

    def test_comments_list_the_commands(self):
        text = least_privilege.sudoers(get('kolla-docker'), 'nova', True)
        self.assertEqual(
            ['sudo -n /usr/local/libexec/disk-format/observe SERVER_ID',
             'sudo -n docker exec -i nova_libvirt tail -n 500 '
             '/var/log/libvirt/qemu/DOMAIN.log', 'sudo -n sh',
             'sudo -n docker exec -i nova_libvirt sh'],
            re.findall('^#   (.*)$', text, re.MULTILINE))

    def test_own_observe_command(self):
        sudo = Sudo(least_privilege.sudoers(
            get('rdo', observe='/opt/observe'), 'disk-format'))
        self.assertTrue(sudo.allows(['sudo', '-n', '/opt/observe', ID]))
        self.assertFalse(sudo.allows(
            ['sudo', '-n', least_privilege.OBSERVE, ID]))

    def assert_refused(self, option, own, user='disk-format'):
        error = self.assertRaises(
            exceptions.ProfileError, least_privilege.sudoers, own, user)
        self.assertEqual(option, error.option)

    def test_no_sudo(self):
        for sudo in ('', 'doas', 'sudoedit'):
            self.assert_refused('sudo_command', profile.get('lab', sudo=sudo))

    def test_users(self):
        for user in ('root', '', 'a b', 'ALL', 'a,b', '%wheel', '#0'):
            self.assert_refused('ssh_user', get('rdo'), user)

    def test_words_that_mean_something_to_sudo(self):
        for path in ('/a b', '/a*', '/a?', '/[a]', '/a,b', '/a:b', '/a=b',
                     '/a\\b', '/a"b', '/a(b', '/a#', '/a!', '/a\nb',
                     '/a$', '/DOMAIN', '/SERVER_ID/SERVER_ID'):
            self.assert_refused('profile', get('rdo', qemu_log_dir=path))

    def test_visudo(self):
        visudo = shutil.which('visudo', path='/usr/sbin:/usr/bin:/sbin')
        if visudo is None:
            self.skipTest('needs visudo')
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x')
        for name in profile.BUILT_IN:
            for flags in range(4):
                path.write_text(least_privilege.sudoers(
                    get(name), 'disk-format', flags & 1, flags & 2))
                subprocess.run([visudo, '--check', '--strict', '--file', path],
                               check=True, capture_output=True)


class InstallTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.tools = self.useFixture(fakes.ComputeHost())

    def own(self, **overrides):
        return get(
            'rdo', instances_path=str(self.tools.instances),
            virsh=str(self.tools.bin / 'virsh'),
            qemu_img=str(self.tools.bin / 'qemu-img'),
            observe=str(self.tools.bin / 'libexec' / 'observe'), **overrides)

    def install(self, **overrides):
        """Run the script, but for what only root can do; return a path."""
        own = self.own(**overrides)
        sudoers = self.tools.bin / 'sudoers'
        text = least_privilege.install(own, 'disk-format').replace(
            '/etc/sudoers.d/disk-format', str(sudoers)).replace(
            '/usr/bin/python3', sys.executable)
        text = re.sub('^chown root:root ', 'test -f ', text,
                      flags=re.MULTILINE)
        subprocess.run(['sh', '-s'], input=text, text=True, check=True,
                       capture_output=True)
        self.assertEqual(least_privilege.sudoers(own, 'disk-format'),
                         sudoers.read_text())
        self.assertEqual(0o440, sudoers.stat().st_mode & 0o777)
        return own.observe[0]

    def test_observes(self):
        observe = self.install()
        root = self.tools.disk('disk', 'qcow2')
        self.tools.disk_info({root: 'qcow2'})
        self.tools.domain('running', fakes.xml({root: 'qcow2'}, live=True),
                          fakes.xml({root: 'qcow2'}))
        report = subprocess.run([observe, ID], check=True, text=True,
                                capture_output=True).stdout
        server = host_report.parse(report, server_id=ID, host='node-1')
        self.assertEqual(('running', ['qcow2'] * 4),
                         (server.state, [each.format for each in
                                         server.observations]))

    def test_script_is_ours(self):
        observe = pathlib.Path(self.install())
        self.assertEqual(
            pathlib.Path(observe_script.__file__).read_text().replace(
                '/usr/bin/python3', sys.executable),
            observe.with_name('observe_script.py').read_text())
        self.assertEqual(['observe', 'observe_script.py'], sorted(
            path.name for path in observe.parent.iterdir()))

    def test_takes_one_server_id_only(self):
        observe = self.install()
        for arguments in ((), ('x',), (ID, ID), (ID.upper(),), (f'{ID}\n',)):
            refused = subprocess.run([observe, *arguments], text=True,
                                     capture_output=True)
            self.assertEqual((2, ''), (refused.returncode, refused.stdout))

    def test_in_a_container(self):
        # It tells how it was called, and does it.
        self.tools.write_tool(
            'docker', '#!/bin/sh\necho "$@" >"${0%/*}/asked"\n'
                      'shift 3\nexec "$@"\n')
        self.useFixture(fixtures.MockPatchObject(
            least_privilege, 'SECURE_PATH', f'{self.tools.bin}:/usr/sbin:'
            '/usr/bin:/sbin:/bin'))
        observe = self.install(container_runtime='docker',
                               container_name='nova_libvirt')
        self.tools.no_domain()
        done = subprocess.run([observe, ID], text=True, capture_output=True)
        server = host_report.parse(done.stdout, server_id=ID, host='node-1')
        self.assertEqual(('absent', ()), (server.state, server.observations))
        self.assertIn(f'exec -i nova_libvirt {sys.executable} -I -S - {ID} ',
                      (self.tools.bin / 'asked').read_text())

    def test_bad_sudoers_file_is_not_put_in_place(self):
        self.useFixture(fixtures.MockPatchObject(
            least_privilege, 'sudoers', return_value='no such thing\n'))
        self.assertRaises(subprocess.CalledProcessError, self.install)
        self.assertFalse((self.tools.bin / 'sudoers').exists())

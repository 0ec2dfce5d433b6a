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

"""The least privileges are enough for the plugin, and not more."""

import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys

import fixtures
import yaml

from tempest_format_plugin import config
from tempest_format_plugin.formats import host_report
from tempest_format_plugin.formats import models
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import least_privilege
from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.hosts import fakes
from tempest_format_plugin.tests.unit.roles import base as roles

ROLE = 'format_host_access'
OBSERVE = '/usr/local/libexec/disk-format/observe'
LOGS = '/var/log/libvirt/qemu'
ID = fakes.SERVER_ID


class Recorder:
    """A connection to a host that answers nothing."""

    def __init__(self):
        self.commands = []

    def run(self, command, stdin=None, timeout=None):
        self.commands.append(shlex.split(command))
        return ssh.Completed('node-1', command, 0, '{"version": 1}', '')


def commands_of(profile_name, act, **overrides):
    """What the plugin runs on a host for something, as lists of words."""
    recorder = Recorder()
    host = compute_host.ComputeHost(
        'node-1', recorder, profile.get(profile_name, **overrides))
    act(host)
    return recorder.commands


class ObserveCommandTest(base.TestCase):

    def command(self, **variables):
        """The last command of the wrapper, after what cleans up for it."""
        text = roles.render(ROLE, 'observe.j2', **{
            'format_host_access_instances_path': '/instances', **variables})
        words = shlex.split(
            text[text.index('exec '):].replace('\\\n', ' '))
        self.assertEqual(f'<{OBSERVE}_script.py', words.pop())
        return words[words.index('/usr/bin/python3'):]

    def test_runs_what_the_plugin_would(self):
        (sent,) = commands_of(
            'lab', lambda host: host._report(ID), instances_path='/a b;c',
            virsh='virsh -c qemu+unix:///system', qemu_img='/opt/qemu-img')
        sent[sent.index(ID)] = '$1'
        self.assertEqual(sent, self.command(
            format_host_access_instances_path='/a b;c',
            format_host_access_virsh='virsh -c qemu+unix:///system',
            format_host_access_qemu_img='/opt/qemu-img'))

    def test_defaults_are_those_of_the_plugin(self):
        (sent,) = commands_of('devstack', lambda host: host._report(ID))
        self.assertEqual(
            sent[sent.index(ID) + 1:], self.command(
                format_host_access_instances_path='/opt/stack/data/nova/'
                                                  'instances')[5:])

    def install(self):
        """Put the wrapper beside a copy of the script; return its path."""
        self.tools = self.useFixture(fakes.ComputeHost())
        self.tools.write_tool(
            'virsh', fakes.VIRSH + 'env > "$root/virsh.env"\n')
        text = roles.render(
            ROLE, 'observe.j2', format_host_access_dir=str(self.tools.bin),
            format_host_access_instances_path=str(self.tools.instances),
            format_host_access_virsh=str(self.tools.bin / 'virsh'),
            format_host_access_qemu_img=str(self.tools.bin / 'qemu-img'))
        # The Python of the tests need not be the system's.
        self.tools.write_tool('observe', text.replace('/usr/bin/python3',
                                                      sys.executable))
        shutil.copy(observe_script.__file__,
                    self.tools.bin / 'observe_script.py')
        return str(self.tools.bin / 'observe')

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
                         (server.state, [o.format for o in
                                         server.observations]))
        self.assertEqual('qcow2', server.of('disk', models.FILE).format)

    def test_trusts_no_environment(self):
        observe = self.install()
        self.tools.write_tool('virsh', '#!/bin/sh\nenv > "${0%/*}/env"\n')
        subprocess.run([observe, ID], check=True, capture_output=True, env={
            'PATH': '/nowhere', 'LIBVIRT_DEFAULT_URI': 'test:///default',
            'PYTHONPATH': '/nowhere', 'ENV': '/nowhere', 'LC_ALL': 'C.UTF-8'})
        found = dict(line.split('=', 1) for line in
                     (self.tools.bin / 'env').read_text().splitlines())
        # PWD is the shell's own.
        self.assertEqual(
            {'LC_ALL': 'C', 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'},
            {name: value for name, value in found.items() if name != 'PWD'})

    def test_takes_one_server_id_only(self):
        observe = self.install()
        self.tools.write_tool('virsh', '#!/bin/sh\ntouch "${0%/*}/ran"\n')
        for arguments in ((), ('',), ('x',), (ID, ID), (ID, ''), (ID.upper(),),
                          (ID[:-1],), (ID + '0',), (f'{ID}\n',), (f' {ID}',),
                          (f'../{ID}',), (ID.replace('-', ''),), ('-', ID),
                          ('*',), ('?' * 36,)):
            refused = subprocess.run([observe, *arguments], text=True,
                                     capture_output=True)
            self.assertEqual((2, ''), (refused.returncode, refused.stdout),
                             arguments)
            self.assertIn('one server, a UUID', refused.stderr)
        self.assertFalse((self.tools.bin / 'ran').exists())


class SameAsTheCommandTest(base.TestCase):
    """The role and "tempest disk-format sudoers" come to the same."""

    def lines(self, text):
        return [line for line in text.splitlines()
                if not line.startswith('# ')]

    def assert_same(self, name, overrides=None, root_shell=False, **variables):
        own = profile.get(name, **overrides or {})
        given = {
            'instances_path': own.instances_path,
            'virsh': shlex.join(own.virsh),
            'qemu_img': shlex.join(own.qemu_img),
            'qemu_log_dir': own.qemu_log_dir,
            'container_runtime': own.container_runtime or '',
            'container_name': own.container_name or '',
            'root_shell': root_shell} | variables
        given = {f'format_host_access_{key}': value
                 for key, value in given.items()}
        self.assertEqual(
            self.lines(least_privilege.sudoers(
                own, given.get('format_host_access_user', 'disk-format'),
                root_shell)),
            self.lines(roles.render(ROLE, 'sudoers.j2', **given)))
        self.assertEqual(
            self.lines(least_privilege.observe_command(own)),
            self.lines(roles.render(ROLE, 'observe.j2', **given)))

    def test_every_profile(self):
        for name in profile.BUILT_IN:
            for root_shell in (False, True):
                self.assert_same(name, {'sudo': 'sudo -n'}, root_shell)

    def test_other_values(self):
        self.assert_same(
            'tripleo', {'observe': '/opt/a.b/observe',
                        'virsh': 'virsh -c qemu+unix:///system',
                        'qemu_img': '/opt/qemu-img', 'qemu_log_dir': '/l.d',
                        'instances_path': '/a b', 'container_name': 'x.y'},
            dir='/opt/a.b', user='nova')

    def test_installed_where_the_role_has_it(self):
        defaults = yaml.safe_load(
            (roles.ROLES / ROLE / 'defaults' / 'main.yaml').read_text())
        self.assertEqual(
            (f'{defaults["format_host_access_dir"]}/observe',
             defaults['format_host_access_sudoers_file']),
            (least_privilege.OBSERVE, least_privilege.SUDOERS_FILE))


class SudoersTest(base.TestCase):
    """Holds commands against the file as sudoers(5) says.

    With a "^" in front the arguments, joined by spaces, must match the regular
    expression; '""' stands for no arguments.
    """

    def allows(self, argv, **variables):
        text = roles.render(ROLE, 'sudoers.j2', **variables)
        allowed = re.findall(
            r'^disk-format ALL = \(root\) NOPASSWD: (/\S+) (.*)$', text,
            re.MULTILINE)
        # Each line that isn't a comment or a default is one of these.
        self.assertEqual(len(allowed), len([
            line for line in text.splitlines()
            if not line.startswith(('#', 'Defaults:disk-format '))]))
        self.assertIn('secure_path="/usr/sbin:/usr/bin:', text)
        program, *arguments = argv
        if '/' not in program:
            program = f'/usr/bin/{program}'
        given = ' '.join(arguments)
        return any(
            program == path and (
                not arguments if pattern == '""' else
                re.fullmatch(pattern[1:-1], given) is not None)
            for path, pattern in allowed)

    def needed(self, act):
        for command in commands_of('devstack', act, observe=OBSERVE):
            self.assertEqual(['sudo', '-n'], command[:2])
            yield command[2:]

    def test_all_that_reading_needs(self):
        def read(host):
            host._report(ID)
            host.qemu_log('instance-0000002a')
            # The name of a domain is nova's instance_name_template.
            host.qemu_log('vm_2.a-B')

        commands = list(self.needed(read))
        self.assertEqual(3, len(commands))
        for command in commands:
            self.assertTrue(self.allows(command), command)

    def test_root_shell(self):
        (shell,) = self.needed(lambda host: host.root_shell('id'))
        self.assertFalse(self.allows(shell))
        self.assertTrue(
            self.allows(shell, format_host_access_root_shell=True))
        self.assertFalse(self.allows(['sh', '-c', 'id'],
                                     format_host_access_root_shell=True))

    def test_nothing_broader(self):
        for command in (
                [OBSERVE], [OBSERVE, 'x'], [OBSERVE, ID, ID],
                [OBSERVE, f'{ID}\n'], [OBSERVE, f'{ID}.x'],
                [OBSERVE, f'x{ID}'], [OBSERVE, ID.upper()],
                [f'{OBSERVE}_script.py', ID],
                ['python3', '-'], ['bash'], ['virsh', 'list'], ['tail'],
                ['tail', '-n', '500', '/etc/shadow'],
                ['tail', '-n', '500', f'{LOGS}/a.log', '/etc/shadow'],
                ['tail', '-n', '500', f'{LOGS}/../a.log'],
                ['tail', '-n', '500', f'{LOGS}/a/b.log'],
                ['tail', '-n', '500', f'{LOGS}/a.logs'],
                ['tail', '-n', '500', f'{LOGS}/a*.log'],
                ['tail', '-n', '500', f'{LOGS}/.log'],
                ['tail', '-n', '500', '/var/log/libvirtXqemu/a.log'],
                ['tail', '-n', '5000', f'{LOGS}/a.log'],
                ['tail', '-n', '500', '-f', f'{LOGS}/a.log'],
                ['tail', '-f', f'{LOGS}/a.log']):
            self.assertFalse(self.allows(command), command)

    def test_dots_are_dots(self):
        logs = {'format_host_access_qemu_log_dir': '/log.d'}
        self.assertTrue(
            self.allows(['tail', '-n', '500', '/log.d/a.log'], **logs))
        self.assertFalse(
            self.allows(['tail', '-n', '500', '/logXd/a.log'], **logs))

    def test_visudo(self):
        visudo = shutil.which('visudo', path='/usr/sbin:/usr/bin:/sbin')
        if visudo is None:
            self.skipTest('needs visudo')
        for root_shell in (False, True):
            path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                                'sudoers')
            path.write_text(roles.render(
                ROLE, 'sudoers.j2', format_host_access_root_shell=root_shell))
            subprocess.run([visudo, '--check', '--strict', '--file', path],
                           check=True, capture_output=True)


class InstallFilesTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.script = roles.load(ROLE, 'install_files.py')
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        # Only root can make files of root's.
        self.useFixture(fixtures.MockPatchObject(
            self.script, 'ROOT', (os.getuid(), os.getgid())))

    def make(self, name, text='new\n', mode='0640', check=None):
        return self.script.make({'path': str(self.directory / name),
                                 'text': text, 'mode': mode, 'check': check})

    def mode(self, name):
        return oct(stat.S_IMODE((self.directory / name).stat().st_mode))

    def test_made_once(self):
        self.assertTrue(self.make('a/b', None, '0750'))
        self.assertTrue(self.make('a/b/c'))
        self.assertEqual(('0o750', '0o640'),
                         (self.mode('a/b'), self.mode('a/b/c')))
        self.assertEqual('new\n', (self.directory / 'a/b/c').read_text())
        self.assertFalse(self.make('a/b', None, '0750'))
        self.assertFalse(self.make('a/b/c'))

    def test_what_differs_is_put_right(self):
        path = self.directory / 'file'
        path.write_text('old')
        self.assertTrue(self.make('file'))
        self.assertEqual('new\n', path.read_text())
        path.chmod(0o666)
        self.assertTrue(self.make('file'))
        self.assertEqual('0o640', self.mode('file'))

    def test_owner_is_put_right(self):
        self.make('file')
        chown = self.useFixture(fixtures.MockPatchObject(
            self.script.os, 'chown')).mock
        self.script.ROOT = (12345, 54321)
        self.assertTrue(self.make('file'))
        chown.assert_called_once_with(str(self.directory / 'file'), 12345,
                                      54321)

    def test_bad_file_is_not_put_in_place(self):
        (self.directory / 'file').write_text('old')
        refusal = ['sh', '-c', 'echo no good; test -s "$0" && exit 1']
        error = self.assertRaises(SystemExit, self.make, 'file',
                                  check=refusal)
        self.assertIn('file would not be good: no good', str(error))
        self.assertEqual('old', (self.directory / 'file').read_text())
        self.assertEqual(['file'], os.listdir(self.directory))

    def test_good_file_is(self):
        self.assertTrue(self.make('file', check=['grep', '-qx', 'new']))
        self.assertEqual(['file'], os.listdir(self.directory))

    def test_what_an_interrupted_run_left(self):
        (self.directory / 'file.format-new').write_text('half')
        self.assertTrue(self.make('file'))
        self.assertEqual(['file'], os.listdir(self.directory))

    def test_symbolic_link(self):
        (self.directory / 'real').mkdir()
        (self.directory / 'link').symlink_to('real')
        error = self.assertRaises(SystemExit, self.make, 'link', None, '0755')
        self.assertIn('link to be no symbolic link', str(error))

    def sudo(self, says):
        path = self.directory / 'sudo'
        path.write_text(f'#!/bin/sh\necho "{says}"\necho plugin 1.0.0\n')
        path.chmod(0o755)
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', f'{self.directory}:{os.environ["PATH"]}'))

    def test_sudo_with_regular_expressions(self):
        for version in ('1.9.10', '1.9.13p3', '1.10.0', '2.0.0'):
            self.sudo(f'Sudo version {version}')
            self.script.check_sudo()

    def test_sudo_without(self):
        for says in ('Sudo version 1.9.9', 'Sudo version 1.8.31p2',
                     'sudo-rs 0.2.8', 'nothing'):
            self.sudo(says)
            error = self.assertRaises(SystemExit, self.script.check_sudo)
            self.assertIn(f'expected sudo 1.9.10 or later, got {says}',
                          str(error))

    def test_no_sudo(self):
        self.useFixture(fixtures.EnvironmentVariable('PATH', '/nowhere'))
        error = self.assertRaises(SystemExit, self.script.check_sudo)
        self.assertIn('sudo: No such file', str(error))


class OptionsTest(base.TestCase):

    def test_options_that_the_role_tells(self):
        tasks = yaml.safe_load(
            (roles.ROLES / ROLE / 'tasks' / 'main.yaml').read_text())
        (told,) = (task['ansible.builtin.set_fact'] for task in tasks
                   if 'ansible.builtin.set_fact' in task)
        options = {option.name for group, options in config.OPTION_GROUPS
                   for option in options}
        self.assertIn('observe_command',
                      told['format_host_access_result']['options'])
        self.assertEqual(
            set(),
            set(told['format_host_access_result']['options']) - options)

    def test_role_that_the_plugin_names(self):
        host = compute_host.ComputeHost(
            'node-1', Recorder(), profile.get('devstack', observe=OBSERVE))
        self.useFixture(fixtures.MockPatchObject(host_report, 'VERSION', 2))
        error = self.assertRaises(exceptions.HostAccessError, host.observe,
                                  ID)
        self.assertIn(ROLE, str(error))

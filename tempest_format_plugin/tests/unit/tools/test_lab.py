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


import contextlib
import importlib.util
import io
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from unittest import mock

import fixtures
import psutil

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base

_PATH = pathlib.Path(__file__).resolve().parents[4] / 'tools' / 'lab.py'
_SPEC = importlib.util.spec_from_file_location('format_lab', _PATH)
lab = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(lab)

GIB = 2 ** 30
SLEEP = [sys.executable, '-c', 'import time; time.sleep(300)']


def verdict(kind, **fields):
    return results.Verdict(**({
        'test': 'a.TestB.test_c', 'verdict': kind, 'bug': '', 'seconds': 1,
        'reason': '', 'tables': {}} | fields))


class LabTestCase(base.TestCase):
    """A lab in a directory of its own; nothing of it is ever started."""

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'lab'
        self.lab = lab.Lab(self.directory, 'current')
        self.said = self.useFixture(fixtures.MockPatch(
            'sys.stdout', new_callable=io.StringIO)).mock

    def patch(self, target, **options):
        return self.useFixture(
            fixtures.MockPatchObject(*target, **options)).mock

    def process(self, **kwargs):
        """Start a process of another session that sleeps."""
        process = subprocess.Popen(SLEEP, start_new_session=True, **kwargs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class ArgumentsTest(LabTestCase):

    def parse(self, *argv):
        arguments, rest = lab.parse_arguments(argv)
        return (arguments.command, arguments.cloud, arguments.images_type,
                arguments.use_cow_images, rest)

    def assertRefused(self, *argv):
        with mock.patch('sys.stderr', new_callable=io.StringIO) as stderr:
            self.assertRaises(SystemExit, lab.parse_arguments, argv)
        return stderr.getvalue()

    def test_none(self):
        self.assertEqual(('run', 'current', 'raw', 'true', []), self.parse())

    def test_settings(self):
        expected = ('up', 'current', 'flat', 'false', [])
        options = ('--images-type', 'flat', '--use-cow-images', 'false')
        self.assertEqual(expected, self.parse('up', *options))
        self.assertEqual(expected, self.parse(*options, 'up'))

    def test_values_that_do_not_exist(self):
        self.assertIn('qcow2', self.assertRefused('--images-type', 'qcow2'))
        self.assertIn('never', self.assertRefused('--cloud', 'never'))
        self.assertIn('start', self.assertRefused('start'))

    def test_rest_is_for_tempest(self):
        rest = ['--regex', 'up', '--serial']
        for command in ('run', 'test'):
            self.assertEqual((command, 'current', 'raw', 'true', rest),
                             self.parse(command, *rest))

    def test_no_abbreviations(self):
        # --c would be --cloud.
        self.assertEqual(['--c', 'x'], self.parse('test', '--c', 'x')[-1])

    def test_no_rest_for_the_others(self):
        for command in ('up', 'status', 'down', 'lock'):
            self.assertIn(f'{command} takes no --regex x',
                          self.assertRefused(command, '--regex', 'x'))


class MainTest(LabTestCase):

    def setUp(self):
        super().setUp()
        for number in lab.INTERRUPTS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.euid = self.patch((os, 'geteuid'), return_value=0)
        self.useFixture(fixtures.EnvironmentVariable(
            'FORMAT_LAB_DIR', str(self.directory)))

    def test_not_root(self):
        # Whatever the command, before anything is touched.
        self.euid.return_value = 1000
        for command in ('run', 'up', 'test', 'status', 'down'):
            self.said.truncate(self.said.seek(0))
            self.assertEqual(1, lab.main([command]))
            self.assertEqual('lab: the lab makes network namespaces: run it '
                             'as root\n', self.said.getvalue())
        self.assertFalse(self.directory.exists())

    def test_relative_directory(self):
        self.useFixture(fixtures.EnvironmentVariable('FORMAT_LAB_DIR', 'x'))
        with mock.patch.object(lab, 'Lab') as made:
            lab.main(['status'])
        self.assertEqual(pathlib.Path.cwd() / 'x', made.call_args.args[0])

    def test_empty_directory(self):
        self.useFixture(fixtures.EnvironmentVariable('FORMAT_LAB_DIR', ''))
        with mock.patch.object(lab, 'Lab') as made:
            lab.main(['status'])
        self.assertEqual(pathlib.Path('/var/lib/format-lab'),
                         made.call_args.args[0])

    def test_settings(self):
        with mock.patch.object(lab.Lab, 'up') as up:
            self.assertEqual(0, lab.main(
                ['up', '--images-type', 'flat', '--use-cow-images', 'false']))
        up.assert_called_once_with({
            'images_type': 'flat', 'use_cow_images': False,
            'packages': self.lab.lock_digest()})

    def test_status(self):
        self.assertEqual(1, lab.main(['status']))
        self.assertEqual('the cloud current is down\n', self.said.getvalue())

    def test_interrupted(self):
        with mock.patch.object(lab.Lab, 'down',
                               side_effect=KeyboardInterrupt):
            self.assertEqual(130, lab.main(['down']))
        self.assertTrue(self.said.getvalue().endswith('lab: interrupted\n'))

    def test_interrupted_once(self):
        for number in lab.INTERRUPTS:
            def down(one):
                self.assertRaises(KeyboardInterrupt, os.kill, os.getpid(),
                                  number)
                for again in lab.INTERRUPTS:
                    os.kill(os.getpid(), again)
                self.said.write('in order')
            for one in lab.INTERRUPTS:
                signal.signal(one, signal.SIG_DFL)
            with mock.patch.object(lab.Lab, 'down', down):
                lab.main(['down'])
            self.assertIn('in order', self.said.getvalue())
            self.said.truncate(self.said.seek(0))

    def test_ignored_signals_stay_ignored(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        lab.main(['status'])
        self.assertEqual(signal.SIG_IGN, signal.getsignal(signal.SIGHUP))


class RunTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.patch((lab, 'ignore_interrupts'))
        self.steps = mock.Mock()
        self.steps.test.return_value = [verdict(results.AGREES)]
        for name in ('up', 'test', 'down'):
            self.patch((self.lab, name), new=getattr(self.steps, name))
        self.patch((self.lab, 'networks'), return_value=[])

    def run_lab(self):
        return lab.run(self.lab, {}, ['--serial'])

    def assertSteps(self, *names):
        self.assertEqual(list(names),
                         [call[0] for call in self.steps.method_calls])

    def test_from_nothing_to_nothing(self):
        self.assertEqual(0, self.run_lab())
        self.assertEqual(
            [mock.call.up({}), mock.call.test(['--serial']),
             mock.call.down()], self.steps.method_calls)
        self.assertIn('agrees', self.said.getvalue())

    def test_what_an_earlier_run_left(self):
        self.lab.cloud_dir.mkdir(parents=True)
        self.run_lab()
        self.assertSteps('down', 'up', 'test', 'down')

    def test_networks_that_an_earlier_run_left(self):
        self.lab.networks.return_value = ['format-lab-current-control']
        self.run_lab()
        self.assertSteps('down', 'up', 'test', 'down')

    def test_down_whatever_happens(self):
        for error in (lab.LabError, KeyboardInterrupt):
            self.steps.reset_mock()
            self.steps.up.side_effect = error
            self.assertRaises(error, self.run_lab)
            self.assertSteps('up', 'down')

    def test_down_though_nobody_listens(self):
        self.patch((sys, 'stdout')).write.side_effect = BrokenPipeError
        self.run_lab()
        self.assertSteps('up', 'test', 'down')


class CheckMachineTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.release('ID=debian\nVERSION_ID="12"\n'
                     'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
        self.memory = self.patch((psutil, 'virtual_memory')).return_value
        self.memory.available = 8 * GIB
        self.disk = self.patch((lab.shutil, 'disk_usage')).return_value
        self.disk.free = 80 * GIB

    def release(self, text):
        self.patch((pathlib.Path, 'read_text'), return_value=text)

    def refusal(self):
        message = str(self.assertRaises(lab.LabError, lab.check_machine,
                                        self.directory))
        self.assertNotIn('\n', message)
        return message

    def test_fit(self):
        lab.check_machine(self.directory)
        self.assertTrue(self.directory.is_dir())

    def test_debian_13(self):
        self.release('VERSION_ID=13\nID=debian\n')
        lab.check_machine(self.directory)

    def test_foreign_system(self):
        self.release('ID=ubuntu\nVERSION_ID="24.04"\n'
                     'PRETTY_NAME="Ubuntu 24.04 LTS"\n')
        self.assertEqual('the lab runs on Debian 12 or 13, this is Ubuntu '
                         '24.04 LTS: use a virtual machine', self.refusal())

    def test_too_old(self):
        self.release('ID=debian\nVERSION_ID="11"\n')
        self.assertIn('this is unknown', self.refusal())

    def test_too_little_memory(self):
        self.memory.available = 5.5 * GIB
        self.assertEqual('the lab needs 6 GiB of free memory, there are 5.5: '
                         'end something or use a larger machine',
                         self.refusal())

    def test_too_little_disk(self):
        self.disk.free = 7.25 * GIB
        self.assertEqual(
            f'the lab needs 8 GiB of free disk in {self.directory}, there '
            'are 7.2: free some or name another place with FORMAT_LAB_DIR',
            self.refusal())


class CheckIsolationTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.directory.mkdir()
        self.failing = ()
        self.patch((subprocess, 'run'), new=self.command)

    def command(self, argv, **options):
        failed = any(word in argv for word in self.failing)
        return subprocess.CompletedProcess(
            argv, int(failed), '', 'first\nno permission\n' if failed else '')

    def refusal(self, *failing):
        self.failing = failing
        message = str(self.assertRaises(lab.LabError, lab.check_isolation,
                                        self.directory))
        self.assertNotIn('\n', message)
        self.assertIn('(no permission)', message)
        return message

    def test_good(self):
        lab.check_isolation(self.directory)
        self.assertEqual([], list(self.directory.iterdir()))

    def test_no_namespaces(self):
        self.assertIn('makes no namespaces', self.refusal('unshare'))

    def test_no_overlay(self):
        self.assertIn(f'file system of {self.directory} takes no overlay',
                      self.refusal('overlay'))
        self.assertEqual([], list(self.directory.iterdir()))


class CheckSourcesTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.answers = {'dpkg-query': (0, 'installed\ninstalled\n', ''),
                        'apt-get': (0, '', ''), 'uv': (0, 'pbr==1', '')}
        self.ran = []
        self.patch((subprocess, 'run'), new=self.command)
        self.venv = self.directory / 'venv'
        self.venv.mkdir(parents=True)

    def command(self, argv, **options):
        name = pathlib.Path(argv[0]).name
        self.ran.append(name)
        return subprocess.CompletedProcess(argv, *self.answers[name])

    def refusal(self):
        message = str(self.assertRaises(lab.LabError, lab.check_sources,
                                        self.venv))
        self.assertNotIn('\n', message)
        return message

    def test_nothing_is_missing(self):
        (self.venv / 'complete').touch()
        lab.check_sources(self.venv)
        self.assertEqual(['dpkg-query'], self.ran)

    def test_all_is_missing(self):
        self.answers['dpkg-query'] = (1, 'installed\n', 'no such package')
        lab.check_sources(self.venv)
        self.assertEqual(['dpkg-query', 'apt-get', 'apt-get', 'uv'], self.ran)

    def test_package_that_was_removed(self):
        self.answers['dpkg-query'] = (0, 'installed\nconfig-files\n', '')
        lab.check_sources(self.venv)
        self.assertIn('apt-get', self.ran)

    def test_no_debian(self):
        self.answers |= {'dpkg-query': (1, '', ''),
                         'apt-get': (100, '', 'Err: one\nE: no answer\n')}
        self.assertEqual("Debian packages are missing and can't be had: see "
                         '/etc/apt (E: no answer)',
                         self.refusal())

    def test_no_index(self):
        self.answers['uv'] = (1, '', '')
        self.assertEqual('Python packages are missing and no index answers: '
                         'name one with UV_DEFAULT_INDEX (no reason given)',
                         self.refusal())


class UpTest(LabTestCase):

    settings = {'images_type': 'raw', 'use_cow_images': True}

    def setUp(self):
        super().setUp()
        self.machine = self.patch((lab, 'check_machine'))
        self.patch((lab, 'check_isolation'))
        self.patch((lab, 'check_sources'))
        self.networks = self.patch((self.lab, 'networks'), return_value=[])
        self.child = self.patch((self.lab, 'child'))
        self.playbook = self.child.return_value.__enter__.return_value
        self.playbook.wait.return_value = 0

    def test_up(self):
        self.lab.up(self.settings)
        (argv,), options = self.child.call_args
        variables = json.loads(argv[-1])
        self.assertEqual(
            (str(self.directory), 'current', 'raw', True,
             self.lab.netns_prefix),
            tuple(variables[f'format_lab_{name}'] for name in (
                'dir', 'cloud', 'raw_images_type', 'use_cow_images',
                'netns')))
        self.assertIn('@clouds/current.yaml', argv)
        self.assertTrue((options['cwd'] / argv[1]).exists())

    def test_files_of_ansible_are_the_clouds(self):
        self.lab.up(self.settings)
        environment = self.child.call_args.kwargs['environment']
        for name in ('HOME', 'SSH_CONTROL_PATH_DIR'):
            self.assertIn(self.lab.cloud_dir,
                          pathlib.Path(environment[f'ANSIBLE_{name}']).parents)

    def test_twice(self):
        self.lab.up(self.settings)
        self.networks.return_value = ['format-lab-current-control']
        self.machine.side_effect = lab.LabError('no memory')
        self.lab.up(self.settings)
        self.assertEqual(2, self.child.call_count)

    def test_other_settings(self):
        self.lab.up(self.settings)
        error = self.assertRaises(
            lab.LabError, self.lab.up,
            {'images_type': 'flat', 'use_cow_images': True})
        self.assertIn('images_type = raw, use_cow_images = True', str(error))
        self.assertEqual(1, self.child.call_count)

    def test_failure(self):
        self.playbook.wait.return_value = 2
        error = self.assertRaises(lab.LabError, self.lab.up, self.settings)
        self.assertIn('the cloud current did not come up', str(error))

    def test_unfit_machine(self):
        self.machine.side_effect = lab.LabError('no memory')
        self.assertRaises(lab.LabError, self.lab.up, self.settings)
        self.assertFalse(self.lab.cloud_dir.exists())


class StatusTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.command = self.patch((subprocess, 'run'))
        self.lab.cloud_dir.mkdir(parents=True)
        self.lab.settings_file.write_text('{"images_type": "raw"}')

    def answer(self, stdout='', stderr=''):
        (self.lab.cloud_dir / 'ssh').touch()
        self.command.return_value = subprocess.CompletedProcess(
            [], 0, stdout, stderr)
        return self.lab.status()

    def test_down(self):
        self.lab.settings_file.unlink()
        self.assertFalse(self.lab.status())

    def test_never_started(self):
        self.assertFalse(self.lab.status())
        self.assertIn('never been started', self.said.getvalue())

    def test_all_run(self):
        self.assertTrue(self.answer('sshd   RUNNING   pid 7, uptime 0:01'))
        self.assertEqual(4, self.command.call_count)
        self.assertIn('the cloud current, images_type = raw\ncontrol '
                      '(10.88.0.1)\n  sshd   RUNNING', self.said.getvalue())

    def test_one_is_dead(self):
        self.assertFalse(self.answer('sshd RUNNING pid 7\nlibvirtd EXITED'))

    def test_no_answer(self):
        self.assertFalse(self.answer(stderr='Connection refused'))
        self.assertIn('  Connection refused', self.said.getvalue())


class NetworksTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.existing = set()
        self.patch((os.path, 'exists'), new=lambda path: path in self.existing)

    def test_none(self):
        self.assertEqual([], self.lab.networks())

    def test_only_its_own(self):
        one, other = (lab.Lab(lab.DIRECTORY, name) for name in ('a', 'a-b'))
        self.existing = {f'/run/netns/format-lab-a-b-{node}'
                         for node in other.nodes()}
        self.assertEqual([], one.networks())
        self.assertEqual(len(other.nodes()), len(other.networks()))
        self.existing = {'/run/netns/format-lab-a-control',
                         '/run/netns/format-lab-a-b-control'}
        self.assertEqual(['format-lab-a-control'], one.networks())

    def test_not_those_of_another_directory(self):
        self.existing = {'/run/netns/format-lab-a-control'}
        self.assertEqual([], lab.Lab(self.directory, 'a').networks())

    def test_nodes(self):
        self.assertEqual(
            ['control', 'compute-1', 'compute-2', 'compute-3'],
            list(self.lab.nodes()))


class ProcessesTest(LabTestCase):

    def in_network_of(self, path):
        """Return whether this process is found where the cloud's network is.

        :param path: the file that stands for the network namespace
        """
        self.patch((self.lab, 'networks'), return_value=['lab-network'])
        stat = os.stat
        self.patch((os, 'stat'), new=lambda name, **options: stat(
            path if name == '/run/netns/lab-network' else name, **options))
        return os.getpid() in [process.pid
                               for process in self.lab.processes()]

    def test_in_its_network(self):
        self.assertTrue(self.in_network_of('/proc/self/ns/net'))

    def test_in_another_network(self):
        self.assertFalse(self.in_network_of('/proc/self/ns/mnt'))

    def test_no_network(self):
        self.patch((self.lab, 'networks'), return_value=[])
        self.assertEqual([], self.lab.processes())


class DownTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.lab.cloud_dir.mkdir(parents=True)
        self.patch((psutil, 'wait_procs'))
        self.patch((self.lab, 'networks'), return_value=['one', 'two'])
        self.command = self.patch((subprocess, 'run'))

    def processes(self, *scans):
        self.patch((self.lab, 'processes'), side_effect=scans)

    def test_mount_that_ip_made(self):
        netns = self.directory / 'netns'
        netns.mkdir()
        self.patch((lab, 'NETNS'), new=netns)
        self.processes([])
        # Somebody else's.
        self.lab.down()
        self.assertTrue(netns.exists())
        self.lab.netns_file.touch()
        (netns / 'other').touch()
        self.processes([])
        self.lab.down()
        self.assertTrue(netns.exists())
        (netns / 'other').unlink()
        self.processes([])
        self.lab.down()
        self.assertEqual(['umount', netns],
                         self.command.call_args_list[-1].args[0])
        self.assertFalse(netns.exists())
        self.assertFalse(self.lab.netns_file.exists())

    def test_until_none_is_left(self):
        first, second = mock.Mock(), mock.Mock()
        first.kill.side_effect = psutil.NoSuchProcess(1)
        self.processes([first], [second], [])
        self.lab.down()
        second.kill.assert_called_once_with()
        self.assertEqual(['one', 'two'],
                         [call.args[0][-1] for call in
                          self.command.call_args_list])
        self.assertFalse(self.lab.cloud_dir.exists())

    def test_process_that_does_not_end(self):
        immortal = mock.MagicMock()
        immortal.__str__.return_value = 'immortal'
        self.patch((self.lab, 'processes'), return_value=[immortal])
        error = self.assertRaises(lab.LabError, self.lab.down)
        self.assertIn('do not end: immortal', str(error))
        # It may still use them.
        self.command.assert_not_called()
        self.assertTrue(self.lab.cloud_dir.exists())

    def test_nothing_there(self):
        self.processes([])
        self.lab.networks.return_value = []
        self.lab.cloud_dir.rmdir()
        self.lab.down()


class LockTest(LabTestCase):

    def test_second_driver_is_refused(self):
        second = lab.Lab(self.directory, 'current')
        with self.lab.lock():
            error = self.assertRaises(lab.LabError, second.lock().__enter__)
            self.assertIn('another lab command is at work on the cloud '
                          'current', str(error))
        with second.lock():
            pass

    def test_other_cloud_is_not(self):
        with self.lab.lock(), lab.Lab(self.directory, 'other').lock():
            pass

    def test_dies_with_the_driver(self):
        # A child that lives on does not hold it.
        second = lab.Lab(self.directory, 'current')
        with self.lab.lock():
            self.process()
        with second.lock():
            pass

    def test_orphan_is_ended(self):
        process = self.process(
            env=os.environ | {lab.MARK: str(self.lab.cloud_dir)})
        with self.lab.lock():
            self.assertIsNotNone(process.wait(timeout=5))
        self.assertIn('ending 1 processes of an interrupted run',
                      self.said.getvalue())

    def test_process_of_another_cloud_is_not(self):
        other = lab.Lab(self.directory, 'other')
        process = self.process(
            env=os.environ | {lab.MARK: str(other.cloud_dir)})
        with self.lab.lock():
            self.assertIsNone(process.poll())
        self.assertEqual('', self.said.getvalue())


class ChildTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.directory.mkdir()

    def test_marked_for_who_comes_after(self):
        with self.lab.child(SLEEP, {'MORE': 'x'}) as child:
            environment = psutil.Process(child.pid).environ()
            self.assertEqual(str(self.lab.cloud_dir), environment[lab.MARK])
            self.assertEqual('x', environment['MORE'])
            self.assertNotEqual(os.getsid(0), os.getsid(child.pid))
            child.kill()

    def test_ends_by_itself(self):
        with self.lab.child(['true']) as child:
            self.assertEqual(0, child.wait())

    def test_ended_with_its_descendants(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        script = ('import subprocess, sys; '
                  'child = subprocess.Popen([sys.executable, "-c", '
                  '"import time; time.sleep(300)"], start_new_session=True, '
                  'pass_fds=[int(sys.argv[1])]); '
                  'print(child.pid, flush=True); child.wait()')
        with contextlib.suppress(KeyboardInterrupt):
            with theirs, self.lab.child(
                    [sys.executable, '-c', script, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                child.stdout.close()
                raise KeyboardInterrupt
        self.assertFalse(psutil.pid_exists(child.pid))
        # The descendant was the last that held the other end.
        ours.settimeout(5)
        self.assertEqual(b'', ours.recv(1))

    def test_end_of_who_will_not(self):
        stubborn = [sys.executable, '-c',
                    'import signal, time; '
                    'signal.signal(signal.SIGTERM, signal.SIG_IGN); '
                    'print(flush=True); time.sleep(300)']
        wait_procs = psutil.wait_procs
        self.patch((psutil, 'wait_procs'),
                   new=lambda processes, timeout: wait_procs(processes, 0.2))
        with contextlib.suppress(LookupError):
            with self.lab.child(stubborn, stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                child.stdout.close()
                raise LookupError
        self.assertFalse(psutil.pid_exists(child.pid))


class VerdictTest(LabTestCase):

    def test_all_expected(self):
        self.assertEqual(0, lab.verdict_of([
            verdict(results.AGREES),
            verdict(results.REPRODUCED, bug='2038898')]))
        self.assertTrue(self.said.getvalue().endswith(
            '2 verdicts as expected, 0 not\n'))

    def test_any_other(self):
        for kind in (results.DISAGREES, results.FIXED, results.SKIPPED,
                     results.UNFINISHED):
            self.assertEqual(1, lab.verdict_of([
                verdict(results.AGREES), verdict(kind, reason='why')]))
            self.assertTrue(self.said.getvalue().endswith(
                'a.TestB.test_c: why\n1 verdicts as expected, 1 not\n'))


class TestTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.lab.cloud_dir.mkdir(parents=True)
        self.child = self.patch((self.lab, 'child'))
        self.tempest = self.child.return_value.__enter__.return_value
        self.tempest.poll.return_value = 0
        self.tempest.returncode = 0
        self.runs = self.patch((self.lab, '_runs_of_stestr'),
                               side_effect=['1', '2'])
        self.patch((subprocess, 'run'))

    def test_not_up(self):
        error = self.assertRaises(lab.LabError, self.lab.test, [])
        self.assertIn('the cloud current is not up', str(error))

    def run_test(self, *arguments, verdicts=(verdict(results.AGREES),)):
        (self.lab.cloud_dir / 'tempest.conf').touch()
        self.patch((results, 'read'), return_value=list(verdicts))
        return self.lab.test(list(arguments))

    def test_verdicts_are_kept(self):
        self.lab.results_dir.mkdir(parents=True)
        old = self.lab.results_dir / '.stestr.conf'
        old.touch()
        (self.lab.results_dir / '.stestr').mkdir()
        verdicts = self.run_test()
        kept = json.loads((self.lab.results_dir / 'verdicts.json')
                          .read_text())
        self.assertEqual(results.as_dicts(verdicts), kept)
        self.assertFalse(old.exists())
        self.assertTrue((self.lab.results_dir / '.stestr').exists())

    def test_in_the_network_of_the_control_node(self):
        self.run_test('--serial')
        argv = self.child.call_args.args[0]
        self.assertEqual(
            ['nsenter', f'--net=/run/netns/{self.lab.control_netns}'],
            argv[:2])
        # It selects no tests: the scenarios are meant.
        self.assertEqual(
            [*lab.DEFAULT_CONCURRENCY, '--serial', *lab.DEFAULT_TESTS],
            argv[-5:])

    def test_tests_of_ones_own(self):
        for own in (['--regex', 'revert'], ['--regex=revert'], ['-rrevert'],
                    ['--smoke']):
            self.runs.side_effect = ['1', '2']
            self.run_test(*own)
            self.assertEqual(
                [*lab.DEFAULT_CONCURRENCY, *own],
                self.child.call_args.args[0][-2 - len(own):])

    def test_no_test_was_run(self):
        # What an earlier run found is no verdict of this one.
        self.runs.side_effect = ['1', '1']
        error = self.assertRaises(lab.LabError, self.run_test)
        self.assertIn('no test was run', str(error))

    def test_tempest_that_died(self):
        self.tempest.returncode = 100
        error = self.assertRaises(lab.LabError, self.run_test)
        self.assertIn('tempest ended with 100', str(error))

    def test_runs_of_stestr(self):
        self.runs.side_effect = None
        runs = lab.Lab._runs_of_stestr
        self.assertIsNone(runs(self.lab))
        (self.lab.results_dir / '.stestr').mkdir(parents=True)
        (self.lab.results_dir / '.stestr' / 'next-stream').write_text('3')
        self.assertEqual('3', runs(self.lab))

    def test_the_scenarios_by_default(self):
        self.run_test()
        self.assertEqual(lab.DEFAULT_TESTS,
                         self.child.call_args.args[0][-2:])


class LockFileTest(LabTestCase):

    def setUp(self):
        super().setUp()
        self.patch((lab, 'CLOUDS'), new=self.directory)
        self.directory.mkdir()
        self.command = self.patch((subprocess, 'run'))
        self.command.return_value.returncode = 0

    def test_as_of_a_date(self):
        (self.directory / 'new.in').write_text('# As of 2026-10-05\nnova\n')
        self.assertEqual(0, lab.lock('new'))
        argv = self.command.call_args.args[0]
        self.assertEqual('2026-10-05', argv[argv.index('--exclude-newer') + 1])
        self.assertEqual(['new.in', '-o', 'new.lock'], argv[3:6])

    def test_no_date(self):
        (self.directory / 'new.in').write_text('nova\n')
        error = self.assertRaises(lab.LabError, lab.lock, 'new')
        self.assertIn('new.in: the first line must be', str(error))


class ProgressTest(LabTestCase):

    line = ('2026-10-05 12:00:01.5 7 {} tempest_format_plugin.tests.scenario.'
            'base [None req-1 ] {}\n')

    def test_what_the_scenarios_say(self):
        log = self.directory.parent / 'tempest.log'
        self.patch((time, 'strftime'), return_value='12:00:01')
        with open(log, 'w') as writer, open(log) as reader:
            writer.write(self.line.format('INFO', 'Booting a server on one'))
            writer.write(self.line.format('DEBUG', 'Not this'))
            writer.write('2026-10-05 12:00:01.5 7 INFO tempest.lib [-] nor\n')
            writer.write(self.line.format('INFO', 'before:\nServer x on one'))
            writer.flush()
            lab.show_progress(reader)
            self.assertEqual('    12:00:01 Booting a server on one\n',
                             self.said.getvalue())
            # And then only what is new.
            writer.write(self.line.format('INFO', 'Cold migrating it'))
            writer.flush()
            lab.show_progress(reader)
        self.assertEqual(['    12:00:01 Booting a server on one',
                          '    12:00:01 Cold migrating it'],
                         self.said.getvalue().splitlines())

    def test_step(self):
        with lab.step('Scenarios'):
            self.assertEqual('Scenarios ...\n', self.said.getvalue())
        self.assertRegex(self.said.getvalue().splitlines()[1],
                         r'^ +\d+\.\d s  done$')

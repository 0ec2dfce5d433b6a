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

import fcntl
import json
import os
import pathlib
import subprocess
import threading
import time
from unittest import mock

from format_lab import clouds
from format_lab import driver
from format_lab import exceptions
from format_lab import machine
from format_lab import places
from format_lab import processes
import psutil

from tempest_format_plugin.tests.unit.tools import base


class UpTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = clouds.load('current')
        self.settings = self.cloud.choices() | {
            'images_type': 'raw', 'use_cow_images': True}
        self.machine = self.patch((machine, 'check_machine'))
        self.patch((machine, 'check_isolation'))
        self.patch((machine, 'check_packages'))
        self.networks = self.patch((self.lab, 'networks'), return_value=[])
        self.child = self.patch((self.lab, 'child'))
        self.playbook = self.child.return_value.__enter__.return_value
        self.playbook.wait.return_value = 0

    def test_up(self):
        self.lab.up(self.cloud, self.settings)
        (argv,), options = self.child.call_args
        self.assertEqual(f'@{self.lab.variables_file}', argv[-1])
        variables = json.loads(self.lab.variables_file.read_text())
        self.assertEqual(
            (str(self.directory), 'current', 'raw', True,
             self.lab.netns_prefix),
            tuple(variables[f'format_lab_{name}'] for name in (
                'dir', 'cloud', 'raw_images_type', 'use_cow_images',
                'netns')))
        self.assertEqual(['2038898', 'live-migration-mixed-backends'],
                         variables['format_lab_known_bugs'])
        self.assertEqual(
            variables['format_lab_venv_dir'],
            str(self.directory / 'cache' / 'venvs'
                / self.cloud.environments()[0].digest))
        self.assertEqual(self.settings, self.lab.settings())
        self.assertIn('@clouds/current.yaml', argv)
        self.assertTrue((options['cwd'] / argv[1]).exists())

    def test_files_of_ansible_are_the_clouds(self):
        self.lab.up(self.cloud, self.settings)
        environment = self.child.call_args.kwargs['environment']
        for name in ('HOME', 'SSH_CONTROL_PATH_DIR'):
            self.assertIn(self.lab.cloud_dir,
                          pathlib.Path(environment[f'ANSIBLE_{name}']).parents)

    def test_twice(self):
        self.lab.up(self.cloud, self.settings)
        self.networks.return_value = ['format-lab-current-control']
        self.machine.side_effect = exceptions.LabError('no memory')
        self.lab.up(self.cloud, self.settings)
        self.assertEqual(2, self.child.call_count)

    def test_other_settings(self):
        self.lab.up(self.cloud, self.settings)
        error = self.lab_error(self.lab.up, self.cloud, self.settings | {
            'images_type': 'flat'})
        self.assertIn('images_type = raw; use_cow_images = True',
                      error)
        self.assertEqual(1, self.child.call_count)

    def test_settings_of_a_cloud_that_is_down(self):
        self.assertIn('is not up', self.lab_error(self.lab.settings))

    def test_failure(self):
        self.playbook.wait.return_value = 2
        error = self.lab_error(self.lab.up, self.cloud, self.settings)
        self.assertIn('the cloud current did not come up', error)

    def test_unfit_machine(self):
        self.machine.side_effect = exceptions.LabError('no memory')
        self.lab_error(self.lab.up, self.cloud, self.settings)
        self.assertFalse(self.lab.cloud_dir.exists())


class StatusTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.command = self.patch((subprocess, 'run'))
        self.lab.cloud_dir.mkdir(parents=True)
        self.lab.settings_file.write_text('{"releases": {"nova": "2024.2"}}')

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
        self.assertEqual(len(self.lab.nodes()), self.command.call_count)
        self.assertTrue(self.said.getvalue().startswith(
            'the cloud current: releases = nova of 2024.2; sources = none\n'
            'control (10.88.0.1)\n  sshd   RUNNING'))

    def test_one_is_dead(self):
        self.assertFalse(self.answer('sshd RUNNING pid 7\nlibvirtd EXITED'))

    def test_no_answer(self):
        self.assertFalse(self.answer(stderr='Connection refused'))
        self.assertIn('  Connection refused', self.said.getvalue())


class NetworksTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.existing = set()
        self.patch((os.path, 'exists'), new=lambda path: path in self.existing)

    def test_none(self):
        self.assertEqual([], self.lab.networks())

    def test_only_its_own(self):
        one, other = (driver.Lab(places.DIRECTORY, name)
                      for name in ('a', 'a-b'))
        self.existing = {f'/run/netns/format-lab-a-b-{node}'
                         for node in other.nodes()}
        self.assertEqual([], one.networks())
        self.assertEqual(len(other.nodes()), len(other.networks()))
        self.existing = {'/run/netns/format-lab-a-control',
                         '/run/netns/format-lab-a-b-control'}
        self.assertEqual(['format-lab-a-control'], one.networks())

    def test_not_those_of_another_directory(self):
        self.existing = {'/run/netns/format-lab-a-control'}
        self.assertEqual([], driver.Lab(self.directory, 'a').networks())

    def test_nodes(self):
        self.assertEqual(
            ['control', 'compute-1', 'compute-2'],
            list(self.lab.nodes())[:3])


class ProcessesTest(base.LabTestCase):

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


class DownTest(base.LabTestCase):

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
        self.patch((places, 'NETNS'), new=netns)
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
        error = self.lab_error(self.lab.down)
        self.assertIn('do not end: immortal', error)
        # It may still use them.
        self.command.assert_not_called()
        self.assertTrue(self.lab.cloud_dir.exists())

    def test_nothing_there(self):
        self.processes([])
        self.lab.networks.return_value = []
        self.lab.cloud_dir.rmdir()
        self.lab.down()


class InstallTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.one, self.two = (self.lab.cache_dir / 'venvs' / name
                              for name in ('one', 'two'))
        self.other = driver.Lab(self.directory, 'other')

    def install(self, venv):
        venv.mkdir(parents=True)
        (venv / 'complete').touch()

    def test_another_driver_is_waited_for(self):
        order = []

        def wait():
            with self.other._installing([self.two]):
                order.append('other')
        waiting = threading.Thread(target=wait)
        with self.lab._installing([self.two, self.one]):
            waiting.start()
            while 'installs two' not in self.said.getvalue():
                time.sleep(0.01)
            order.append('first')
        waiting.join()
        self.assertEqual(['first', 'other'], order)

    def test_nobody_is_once_it_is_complete(self):
        self.install(self.one)
        with self.lab._installing([self.one]), (
                self.other._installing([self.one])):
            pass
        self.assertEqual('', self.said.getvalue())

    def test_what_another_driver_has_completed_is_left_to_others(self):
        flock = fcntl.flock

        def complete(lock, operation):
            self.install(self.one)
            return flock(lock, operation)
        with mock.patch.object(fcntl, 'flock', new=complete):
            with self.lab._installing([self.one]):
                with open(f'{self.one}.lock') as lock:
                    flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


class LockTest(base.LabTestCase):

    def test_second_driver_is_refused(self):
        second = driver.Lab(self.directory, 'current')
        with self.lab.lock():
            error = self.lab_error(second.lock().__enter__)
            self.assertIn('another lab command is at work on the cloud '
                          'current', error)
        with second.lock():
            pass

    def test_other_cloud_is_not(self):
        with self.lab.lock(), driver.Lab(self.directory, 'other').lock():
            pass

    def test_dies_with_the_driver(self):
        # A child that lives on does not hold it.
        second = driver.Lab(self.directory, 'current')
        with self.lab.lock():
            self.process()
        with second.lock():
            pass

    def test_orphan_is_ended(self):
        process = self.process(
            env=os.environ | {processes.MARK: str(self.lab.cloud_dir)})
        with self.lab.lock():
            self.assertIsNotNone(process.wait(timeout=5))
        self.assertIn('ending 1 processes of an interrupted run',
                      self.said.getvalue())

    def test_process_of_another_cloud_is_not(self):
        other = driver.Lab(self.directory, 'other')
        process = self.process(
            env=os.environ | {processes.MARK: str(other.cloud_dir)})
        with self.lab.lock():
            self.assertIsNone(process.poll())
        self.assertEqual('', self.said.getvalue())

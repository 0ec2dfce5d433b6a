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

"""One cloud of the lab: up, how it is, down."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys

import psutil
import yaml

from format_lab import clouds
from format_lab import console
from format_lab import exceptions
from format_lab import expectations
from format_lab import machine
from format_lab import places
from format_lab import processes


class Lab:
    """One cloud of the lab and the place where it lives."""

    def __init__(self, directory, cloud):
        self.directory = directory
        self.cloud = cloud
        self.cache_dir = directory / 'cache'
        self.cloud_dir = directory / 'clouds' / cloud
        # Network namespaces are the machine's, not the directory's.
        place = '' if directory == places.DIRECTORY else '-' + hashlib.sha256(
            bytes(directory)).hexdigest()[:6]
        self.netns_prefix = f'format-lab{place}-{cloud}'
        self.control_netns = f'{self.netns_prefix}-control'
        self.results_dir = directory / 'results' / cloud
        self.settings_file = self.cloud_dir / 'settings.json'
        self.variables_file = self.cloud_dir / 'variables.json'
        # There while the mount of NETNS is the lab's own doing.
        self.netns_file = directory / 'netns-is-ours'

    # -- running things

    @contextlib.contextmanager
    def lock(self):
        """Keep a second driver of the same cloud out.

        The lock dies with this process, whatever kills it: it isn't
        inherited by children.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f'{self.cloud}.lock', 'w') as lock:
            if not _locks(lock):
                raise exceptions.LabError(
                    f'another lab command is at work on the cloud '
                    f'{self.cloud}: wait for it, or end it')
            processes.end_orphans(str(self.cloud_dir))
            yield

    @contextlib.contextmanager
    def _installing(self, venvs):
        """Let nobody else install into what isn't complete.

        Environments are of all clouds: the driver of another one that
        installs into one of these is waited for.
        """
        with contextlib.ExitStack() as locks:
            # In one order: else two drivers could wait for each other.
            for venv in sorted(venvs):
                if machine.is_complete(venv):
                    continue
                venv.parent.mkdir(parents=True, exist_ok=True)
                lock = locks.enter_context(open(f'{venv}.lock', 'w'))
                if not _locks(lock):
                    with console.step('Waiting for another lab command that '
                                      f'installs {venv.name}'):
                        fcntl.flock(lock, fcntl.LOCK_EX)
                if machine.is_complete(venv):
                    lock.close()
            yield

    def child(self, argv, environment=None, **kwargs):
        """Start a child of this cloud's driver: see processes.child."""
        return processes.child(str(self.cloud_dir), argv, environment,
                               **kwargs)

    def in_cloud(self, *argv):
        """argv, entered into the network of the control node."""
        return ['nsenter', f'--net={places.NETNS}/{self.control_netns}',
                *argv]

    def _ansible_environment(self):
        """What ansible-playbook is told by its environment.

        Its files are the cloud's. So are its SSH connections, which outlive
        it and go by the address alone: another cloud has the same addresses.
        """
        home = self.cloud_dir / 'ansible'
        return {'ANSIBLE_CONFIG': str(places.PLAYBOOKS / 'ansible.cfg'),
                'ANSIBLE_HOME': str(home),
                'ANSIBLE_SSH_CONTROL_PATH_DIR': str(home / 'cp'),
                'ANSIBLE_LOCALHOST_WARNING': 'false',
                'LC_ALL': 'C.UTF-8'}

    def play(self, playbook):
        """Run a playbook of the lab; return its exit status, 0 if all is well.

        :param playbook: file name in playbooks/lab
        """
        with self.child(
                [places.BIN / 'ansible-playbook', playbook,
                 '-e', f'@clouds/{self.cloud}.yaml',
                 '-e', f'@{self.variables_file}'],
                cwd=places.PLAYBOOKS,
                environment=self._ansible_environment()) as child:
            return child.wait()

    # -- what the lab has

    def settings(self):
        """Return the settings that the cloud was started with.

        :raises LabError: it was not
        """
        if not self.settings_file.exists():
            raise exceptions.LabError(
                f'the cloud {self.cloud} is not up: bring it up first')
        return json.loads(self.settings_file.read_text())

    def networks(self):
        """Names of this cloud's network namespaces."""
        names = [f'{self.netns_prefix}-{node}' for node in self.nodes()]
        return [name for name in names
                if os.path.exists(f'{places.NETNS}/{name}')]

    @staticmethod
    def nodes():
        """The nodes' addresses by name."""
        inventory = yaml.safe_load(
            (places.PLAYBOOKS / 'inventory.yaml').read_text())
        return {host: variables['ansible_host']
                for group in inventory['all']['children'].values()
                for host, variables in group['hosts'].items()}

    def node_dir(self, node):
        """Where what a node has written lies, as its root directory."""
        return self.cloud_dir / 'nodes' / node / 'upper'

    def processes(self):
        """Processes of this cloud: those in its network or its nodes."""
        found = []
        spaces = {os.stat(f'{places.NETNS}/{name}').st_ino
                  for name in self.networks()}
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.stat(f'/proc/{process.pid}/ns/net').st_ino in spaces:
                    found.append(process)
        return found

    # -- verbs

    def up(self, cloud, settings):
        """Bring the cloud up.

        :param cloud: the clouds.Cloud that it is made of
        :param settings: all that was chosen; kept while the cloud is up
        :raises LabError: the machine is unfit, the cloud is up with other
            settings, or it did not come up
        """
        if not self.networks():
            # A cloud that is up has taken its memory already.
            machine.check_machine(self.directory)
            machine.check_isolation(self.directory)
        venvs = [clouds.venv_dir(self.cache_dir, environment)
                 for environment in cloud.environments()]
        machine.check_packages(venvs)
        variables = {
            'format_lab_dir': str(self.directory),
            'format_lab_cloud': self.cloud,
            'format_lab_netns': self.netns_prefix,
            'format_lab_raw_images_type': settings['images_type'],
            'format_lab_use_cow_images': settings['use_cow_images'],
            'format_lab_known_bugs': expectations.known_bugs(settings),
        } | cloud.variables(self.cache_dir)
        if self.settings_file.exists() and self.settings() != settings:
            raise exceptions.LabError(
                f'the cloud {self.cloud} was started with other settings '
                f'({clouds.describe(self.settings())}): take it down first')
        self.cloud_dir.mkdir(parents=True, exist_ok=True)
        if not machine.netns_is_mounted():
            self.netns_file.touch()
        new = self.settings_file.with_suffix('.new')
        new.write_text(json.dumps(settings))
        new.replace(self.settings_file)
        self.variables_file.write_text(json.dumps(variables))
        with self._installing(venvs):
            if self.play('up.yaml'):
                raise exceptions.LabError(
                    f'the cloud {self.cloud} did not come up; what failed is '
                    f'told above')

    def benchmark(self):
        """Measure an observation; return the benchmark's exit status."""
        with self.child(
                self.in_cloud(
                    sys.executable,
                    places.REPO / 'tools' / 'benchmark_observation.py'),
                environment={'TEMPEST_CONFIG_DIR': str(self.cloud_dir),
                             'TEMPEST_CONFIG': 'tempest.conf'}) as child:
            return child.wait()

    def status(self):
        """Say what runs; return whether all of it does."""
        if not self.settings_file.exists():
            console.say(f'the cloud {self.cloud} is down')
            return False
        console.say(f'the cloud {self.cloud}: '
                    f'{clouds.describe(self.settings())}')
        if not (self.cloud_dir / 'ssh').exists():
            console.say('its nodes have never been started')
            return False
        healthy = True
        for node, address in self.nodes().items():
            services = subprocess.run(
                [self.cloud_dir / 'ssh', '-o', 'ConnectTimeout=10',
                 '-i', self.cloud_dir / 'id_ed25519', '-o',
                 f'UserKnownHostsFile={self.cloud_dir}/known_hosts',
                 '-o', 'IdentitiesOnly=yes',
                 f'root@{address}',
                 'supervisorctl -c /etc/supervisord.conf status'],
                check=False, capture_output=True, text=True)
            lines = services.stdout.splitlines()
            healthy &= bool(lines) and all(' RUNNING ' in x for x in lines)
            console.say(f'{node} ({address})')
            for line in lines or services.stderr.splitlines():
                console.say(f'  {line}')
        return healthy

    def down(self):
        """Stop all of the cloud and remove its state; the cache stays."""
        # The nodes' first processes take all in their namespaces with them.
        for _ in range(50):
            alive = self.processes()
            if not alive:
                break
            for process in alive:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(alive, timeout=1)
        else:
            raise exceptions.LabError(
                'these processes of the cloud do not end: '
                + ', '.join(map(str, alive)))
        for name in self.networks():
            subprocess.run(['ip', 'netns', 'del', name], check=True)
        # ip makes a mount of the directory at the first namespace ever, and
        # leaves it.
        if self.netns_file.exists() and not any(places.NETNS.iterdir()):
            subprocess.run(['umount', places.NETNS], check=False)
            places.NETNS.rmdir()
            self.netns_file.unlink()
        if self.cloud_dir.exists():
            shutil.rmtree(self.cloud_dir)


def _locks(file):
    """Lock a file until it is closed; return whether nobody else had."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

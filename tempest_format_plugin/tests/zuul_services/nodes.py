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

"""A node for jobs: a namespace with a root of its own, and sshd."""

import pathlib
import signal
import socket
import subprocess

import fixtures

from tempest_format_plugin.tests.zuul_services import paths
from tempest_format_plugin.tests.zuul_services import processes

_START = paths.HERE / 'start-node'
_ADDRESS = '127.0.0.10'


class Node(fixtures.Fixture):
    """A node that lets the user zuul in, who may do everything.

    It sees this machine's programs, and whatever it writes is gone with it.

    :ivar address: its IP address
    :ivar port: the port of its sshd
    :ivar key: path of the private key that it lets in
    """

    def _setUp(self):
        for name, package in (('sshd', 'openssh-server'), ('sudo', 'sudo')):
            processes.program(name, package)
        directory = self.useFixture(paths.Directory()).path
        self.address = _ADDRESS
        self.port = processes.free_port(self.address)
        self.key = directory / 'key'
        subprocess.run(
            [processes.program('ssh-keygen', 'openssh-client'), '-q', '-t',
             'ed25519', '-N', '', '-f', self.key], check=True)
        own = directory / 'node'
        own.mkdir()
        (own / 'authorized_keys').write_text(
            self.key.with_suffix('.pub').read_text())
        self._process = self.useFixture(processes.Process(
            'node',
            ['unshare', '--mount', '--uts', '--ipc', '--pid', '--fork',
             '--kill-child', _START, own, self.address, self.port],
            log=directory / 'log', ready=self._answers,
            # unshare passes no other signal on.
            stop_signal=signal.SIGKILL,
            env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'LANG': 'C.UTF-8'}))

    def path(self, path):
        """Return where a file of the node can be read from outside.

        :param path: its absolute path in the node
        """
        pid = self._process.pid
        child = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text()
        return pathlib.Path(f'/proc/{child.strip()}/root{path}')

    def provider(self, label):
        """Return Zuul's configuration of a provider that has this node.

        :param label: what jobs ask for when they want the node
        :returns: list, to be written as YAML
        """
        return [
            {'image': {'name': 'node', 'type': 'cloud'}},
            {'flavor': {'name': 'node'}},
            {'label': {'name': label, 'image': 'node', 'flavor': 'node'}},
            {'section': {
                'name': 'machine', 'connection': 'nodes',
                'images': [{'name': 'node', 'username': 'zuul',
                            'connection-port': self.port,
                            'python-path': 'auto'}],
                'flavors': ['node']}},
            {'provider': {
                'name': 'nodes', 'section': 'machine', 'labels': [label],
                'nodes': [{'name': self.address, 'label': label}]}}]

    def _answers(self):
        try:
            with socket.create_connection(
                    (self.address, self.port), timeout=5) as connection:
                return connection.recv(4) == b'SSH-'
        except OSError:
            return False

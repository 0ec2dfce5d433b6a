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

"""An SSH server and a compute host's tools, both real enough to talk to."""

import contextlib
import functools
import json
import logging
import os
import pathlib
import socket
import subprocess
import threading

import fixtures
import paramiko

from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import ssh

SERVER_ID = '22749d77-83a1-4ae9-ade8-7bd9548406cd'


LOG = logging.getLogger(__name__)
LOG.propagate = False
LOG.addHandler(logging.NullHandler())


class SshServer(fixtures.Fixture):
    """An SSH server on a port of its own that runs what it is told.

    :ivar connections: TCP connections so far
    :ivar commands: commands so far
    :ivar drops: how many of the next channels to answer by closing the
        connection
    :ivar drop_on_exec: close the connection at the next command
    :ivar hang: leave commands unanswered until the test ends
    """

    def __init__(self, env=None):
        super().__init__()
        self.env = env
        self.connections = 0
        self.commands = []
        self.drops = 0
        self.drop_on_exec = False
        self.hang = False
        self.transports = []
        self.stopped = threading.Event()

    def _setUp(self):
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.host_key = paramiko.ECDSAKey.generate()
        self.user_key = self.write_key('id_user')
        self.socket = socket.create_server(('127.0.0.1', 0))
        self.port = self.socket.getsockname()[1]
        self.known_hosts = self.write_known_hosts(self.host_key)
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()
        self.addCleanup(self.stop)

    def write_key(self, name, password=None):
        key = paramiko.ECDSAKey.generate()
        key.write_private_key_file(str(self.directory / name), password)
        return key

    def write_known_hosts(self, key):
        path = self.directory / 'known_hosts'
        path.write_text(f'[127.0.0.1]:{self.port} {key.get_name()} '
                        f'{key.get_base64()}\n')
        return str(path)

    def endpoint(self, **values):
        """The Endpoint of this server, with some values replaced."""
        return ssh.Endpoint(**{
            'host': 'node-1', 'address': '127.0.0.1', 'port': self.port,
            'user': 'stack', 'key_file': str(self.directory / 'id_user'),
            'known_hosts_file': self.known_hosts, 'connect_timeout': 60,
            'command_timeout': 60, **values})

    def drop(self):
        """Close all connections, as a host does that goes down."""
        for transport in self.transports:
            transport.close()

    def stop(self):
        self.stopped.set()
        # close() alone doesn't wake up accept().
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
        self.drop()

    def _accept(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            self.connections += 1
            transport = paramiko.Transport(connection)
            self.transports.append(transport)
            transport.add_server_key(self.host_key)
            # It may have something to say when the test is over.
            transport.set_log_channel(LOG.name)
            # A client that refuses the server's key hangs up.
            with contextlib.suppress(paramiko.SSHException, EOFError,
                                     OSError):
                transport.start_server(server=_Session(self, transport))


class _Session(paramiko.ServerInterface):

    def __init__(self, server, transport):
        self._server = server
        self._transport = transport

    def get_allowed_auths(self, username):
        return 'publickey'

    def check_auth_publickey(self, username, key):
        if (username, key) == ('stack', self._server.user_key):
            return paramiko.AUTH_SUCCESSFUL
        return paramiko.AUTH_FAILED

    def check_channel_request(self, kind, chanid):
        if self._server.drops:
            self._server.drops -= 1
            self._transport.close()
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        self._server.commands.append(command.decode())
        if self._server.drop_on_exec:
            self._transport.close()
            return False
        threading.Thread(target=self._run, args=(channel, command),
                         daemon=True).start()
        return True

    def _run(self, channel, command):
        if self._server.hang:
            self._server.stopped.wait()
            return
        if command == b'drop me':
            channel.makefile('rb').read()
            self._transport.close()
            return
        if command == b'kill me':
            # An exit-signal, which paramiko doesn't know, or nothing.
            channel.makefile('rb').read()
            channel.close()
            return
        # The client sends something, or the end, only when it knows that the
        # command has been taken. Before that it must not be over.
        first = channel.recv(65536)
        process = subprocess.Popen(
            ['sh', '-c', command], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self._server.env)
        threading.Thread(target=_forward, daemon=True, args=(
            first, functools.partial(channel.recv, 65536),
            process.stdin)).start()
        # Both at the same time: the client may wait for either.
        said = [threading.Thread(target=_pump, daemon=True, args=pair)
                for pair in ((process.stdout, channel.sendall),
                             (process.stderr, channel.sendall_stderr))]
        with process:
            for thread in said:
                thread.start()
            for thread in said:
                thread.join()
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            channel.send_exit_status(process.returncode)
            channel.close()


def _pump(source, send):
    # paramiko's for a connection that is closed meanwhile is the second.
    with contextlib.suppress(OSError, EOFError):
        for piece in iter(functools.partial(source.read1, 65536), b''):
            send(piece)


def _forward(piece, read, target):
    """Write a piece and what is read then, and close it, as sshd does."""
    # The command may have ended, and its input with it.
    with contextlib.suppress(OSError, ValueError), target:
        while piece:
            target.write(piece)
            target.flush()
            piece = read()


# A disk file of the fake host holds what the fake qemu-img says of it. If
# there is a file "together", each qemu-img ends only when as many have begun.
QEMU_IMG = '''#!/bin/sh
root=${0%/*}/..
for path; do :; done
echo "$*" >> "$root/qemu-img.calls"
if [ -e "$root/together" ]; then
    tries=0
    while [ "$(wc -l < "$root/qemu-img.calls")" -lt "$(cat "$root/together")" ]
    do
        tries=$((tries + 1))
        [ $tries -gt 200 ] && echo "qemu-img: left alone" >&2 && exit 1
        sleep 0.05
    done
fi
if [ "$(head -c 6 "$path")" = broken ]; then
    cat "$path" >&2
    exit 1
fi
cat "$path"
'''

VIRSH = '''#!/bin/sh
root=${0%/*}/..
echo "$*" >> "$root/virsh.calls"
cat "$root/virsh.stdout"
cat "$root/virsh.stderr" >&2
exit "$(cat "$root/virsh.status")"
'''

PRLIMIT = '''#!/bin/sh
shift 2
exec "$@"
'''


class ComputeHost(fixtures.Fixture):
    """A directory with nova's instances, virsh and qemu-img of a host."""

    def _setUp(self):
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.instances = self.root / 'instances'
        self.instance_dir = self.instances / SERVER_ID
        self.instance_dir.mkdir(parents=True)
        self.bin = self.root / 'bin'
        self.bin.mkdir()
        for name, text in (('virsh', VIRSH), ('qemu-img', QEMU_IMG),
                           ('prlimit', PRLIMIT)):
            self.write_tool(name, text)
        self.env = {'PATH': f'{self.bin}{os.pathsep}/usr/bin:/bin'}
        self.no_domain()

    def write_tool(self, name, text):
        tool = self.bin / name
        tool.write_text(text)
        tool.chmod(0o755)

    def disk(self, name, image_format='raw', backing=None,
             backing_format=None):
        """Write a disk file; a name that isn't absolute is the server's."""
        path = self.instance_dir / name
        info = {'format': image_format, 'virtual-size': 1 << 20}
        if backing is not None:
            info['full-backing-filename'] = str(backing)
        if backing_format is not None:
            info['backing-filename-format'] = backing_format
        path.write_text(json.dumps(info))
        return str(path)

    def disk_info(self, entries):
        (self.instance_dir / 'disk.info').write_text(json.dumps(entries))

    def virsh(self, stdout='', stderr='', status=0):
        (self.root / 'virsh.stdout').write_text(stdout)
        (self.root / 'virsh.stderr').write_text(stderr)
        (self.root / 'virsh.status').write_text(f'{status}')

    def no_domain(self):
        separators = f'\n{observe_script.SEPARATOR}\n' * 2
        self.virsh(separators, f"error: failed to get domain '{SERVER_ID}'\n",
                   1)

    def domain(self, state, *xml):
        """Let virsh know the domain: state, what dumpxml says (twice)."""
        self.virsh(f'\n{observe_script.SEPARATOR}\n'.join(
            (f'{state}\n', *xml)))

    def probed(self):
        """Paths that qemu-img was run on, in the order of time."""
        calls = self.root / 'qemu-img.calls'
        if not calls.exists():
            return []
        return [line.split()[-1] for line in calls.read_text().splitlines()]


def xml(disks, live=False):
    """A domain XML with disks, as {path: driver type}."""
    number = ' id="7"' if live else ''
    devices = ''.join(
        f'<disk type="file" device="disk">'
        f'<driver name="qemu" type="{driver}"/><source file="{path}"/>'
        f'<target dev="vd{letter}" bus="virtio"/><backingStore/></disk>'
        for letter, (path, driver) in zip('abcdef', disks.items()))
    return (f'<domain type="qemu"{number}><uuid>{SERVER_ID}</uuid>'
            f'<devices>{devices}</devices></domain>')

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

"""One persistent SSH connection to one compute host."""

import contextlib
import dataclasses
import functools
import logging
import os
import socket
import threading

import paramiko

from tempest_format_plugin.hosts import exceptions

LOG = logging.getLogger(__name__)

KEEPALIVE = 15

# Bytes of what a command says on either stream: a host that says more is out
# of order, and must not exhaust who asks it.
LONGEST = 64 * 2 ** 20

# What paramiko raises when the peer or the network went away.
_DROPPED = (paramiko.SSHException, EOFError, OSError)


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """How to reach a compute host. Timeouts are in seconds.

    :ivar host: name of the compute host, as nova knows it
    :ivar address: where its SSH server listens; the known_hosts file is
        searched for it, as [address]:port where the port isn't 22
    :ivar key_file: private key; None: the user's agent and default keys
    :ivar known_hosts_file: host keys; None: no host is known
    :ivar allow_unknown_hosts: accept the key of a host that is not in the
        known_hosts file, with a warning. A key that differs from the known
        one is always refused.
    """

    host: str
    address: str
    port: int = 22
    user: str = 'root'
    key_file: str | None = None
    known_hosts_file: str | None = None
    allow_unknown_hosts: bool = False
    connect_timeout: float = 15
    command_timeout: float = 60

    def __str__(self):
        return f'{self.user}@{self.address}:{self.port}'

    @property
    def known_hosts_name(self):
        """What the known_hosts file calls it."""
        return (self.address if self.port == 22
                else f'[{self.address}]:{self.port}')


@dataclasses.dataclass(frozen=True)
class Completed:
    """A command that has run. An exit status of -1: killed by a signal."""

    host: str
    command: str
    exit_status: int
    stdout: str
    stderr: str

    def check(self):
        """Return self, or raise CommandError if the command failed."""
        if self.exit_status != 0:
            raise exceptions.CommandError(
                self.host, self.command, self.exit_status, self.stderr)
        return self


class _UnknownHostKey(paramiko.SSHException):
    pass


class _TooMuch(Exception):
    pass


class _UnknownHostPolicy(paramiko.MissingHostKeyPolicy):

    def __init__(self, endpoint):
        self._endpoint = endpoint

    def missing_host_key(self, client, hostname, key):
        offered = f'{key.get_name()} {key.fingerprint}'
        if not self._endpoint.allow_unknown_hosts:
            raise _UnknownHostKey(offered)
        LOG.warning('compute host %s: the key of %s is not known, accepted '
                    'unverified: %s', self._endpoint.host, hostname, offered)
        # For this process the host is known from here on: the key must be
        # the same after a reconnect.
        client.get_host_keys().add(hostname, key.get_name(), key)


class Connection:
    """Runs commands on one host over one TCP connection.

    The connection is opened by the first command, kept open, and opened
    again once when it turns out to have dropped. A command is sent a second
    time only if the first time it can't have started. Commands of several
    threads run one after another.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self._client = None
        self._lock = threading.RLock()

    def run(self, command, stdin=None, timeout=None):
        """Run a command and wait for its end.

        :param command: command line for the user's shell on the host: the
            caller quotes
        :param stdin: text for its standard input; None: empty
        :param timeout: seconds; None: the endpoint's command_timeout
        :returns: Completed, whatever the exit status
        :raises HostAccessError: no connection, no login, connection lost, or
            the command took too long or said too much
        """
        with self._lock:
            channel = self._open_channel()
            try:
                return self._run(channel, command, stdin or '',
                                 timeout or self.endpoint.command_timeout)
            finally:
                _close(channel)

    def start(self, command):
        """Start a command that is talked to while it runs.

        :param command: as for run
        :returns: a Session
        :raises HostAccessError: no connection or no login
        """
        with self._lock:
            channel = self._open_channel()
        try:
            channel.exec_command(command)
        except _DROPPED as error:
            _close(channel)
            raise self._not_taken(command, error) from error
        return Session(self.endpoint, command, channel)

    def close(self):
        """Close the connection. The next command opens it again."""
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _run(self, channel, command, stdin, timeout):
        expired = threading.Event()

        def expire():
            expired.set()
            # Wakes up whatever waits for this channel.
            _close(channel)

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            stdout, stderr, exit_status = _exchange(channel, command, stdin)
        except _TooMuch as error:
            raise self._error(
                f'{command} on {self.endpoint} said more than '
                f'{LONGEST // 2 ** 20} MiB') from error
        except _DROPPED as error:
            if not expired.is_set():
                raise self._not_taken(command, error) from error
        finally:
            timer.cancel()
        if expired.is_set():
            raise self._error(
                f'{command} on {self.endpoint} did not end within {timeout} '
                f'seconds', 'ssh_command_timeout')
        if exit_status < 0 and not channel.get_transport().is_active():
            raise self._error(f'the connection to {self.endpoint} was lost '
                              f'while {command} was running')
        return Completed(self.endpoint.host, command, exit_status, stdout,
                         stderr)

    def _not_taken(self, command, error):
        return self._error(f'{self.endpoint} did not take the command '
                           f'{command} ({_reason(error)})')

    def _error(self, problem, option=None):
        return exceptions.HostAccessError(self.endpoint.host, problem, option)

    def _open_channel(self):
        transport = self._client and self._client.get_transport()
        if transport is not None:
            try:
                return self._open_session(transport)
            except _DROPPED as error:
                LOG.info('compute host %s: the connection to %s dropped (%s), '
                         'connecting again', self.endpoint.host, self.endpoint,
                         _reason(error))
        transport = self._connect()
        try:
            return self._open_session(transport)
        except _DROPPED as error:
            self.close()
            raise self._error(
                f'{self.endpoint} accepts the login and then drops the '
                f'connection ({_reason(error)})') from error

    def _open_session(self, transport):
        return transport.open_session(timeout=self.endpoint.connect_timeout)

    def _connect(self):
        endpoint = self.endpoint
        key = self._load_key()
        if self._client is None:
            self._client = self._new_client()
        self._client.close()
        try:
            self._client.connect(
                endpoint.address, endpoint.port, endpoint.user, pkey=key,
                sock=self._open_socket(), timeout=endpoint.connect_timeout,
                banner_timeout=endpoint.connect_timeout,
                auth_timeout=endpoint.connect_timeout,
                allow_agent=key is None, look_for_keys=key is None)
        except _UnknownHostKey as error:
            known = (f'is not in {endpoint.known_hosts_file}'
                     if endpoint.known_hosts_file
                     else 'is unknown, as no known_hosts file is set')
            problem = f'the host key of {endpoint} ({error}) {known}'
            option = ('ssh_known_hosts_file, or ssh_allow_unknown_hosts to '
                      'accept any host')
        except paramiko.BadHostKeyException as error:
            problem = (f'the host key of {endpoint} has changed: expected '
                       f'{error.expected_key.fingerprint} (from '
                       f'{endpoint.known_hosts_file}), got '
                       f'{error.key.fingerprint}')
            option = 'ssh_known_hosts_file'
        except paramiko.AuthenticationException as error:
            problem = (f'{endpoint} refused the login with '
                       f'{endpoint.key_file or "the default keys"} '
                       f'({_reason(error)})')
            option = 'ssh_user and ssh_key_file'
        except _DROPPED as error:
            if key is None and 'No authentication methods' in str(error):
                problem = f'there is no key to log in to {endpoint} with'
                option = 'ssh_key_file'
            else:
                problem = (f'no SSH connection to {endpoint} '
                           f'({_reason(error)})')
                option = 'compute_addresses or ssh_port'
        else:
            transport = self._client.get_transport()
            transport.set_keepalive(KEEPALIVE)
            return transport
        self._client.close()
        raise self._error(problem, option)

    def _load_key(self):
        """Load the key here: paramiko's client hides why it could not."""
        if self.endpoint.key_file is None:
            return None
        path = os.path.expanduser(self.endpoint.key_file)
        try:
            return paramiko.PKey.from_path(path)
        except OSError as error:
            raise self._error(f'the key file {path} can\'t be read '
                              f'({error.strerror})', 'ssh_key_file') from error
        # Several libraries below have their say here, each with exceptions
        # of its own; none of them quotes the key.
        except Exception as error:
            raise self._error(f'{path} is no private key that can be used '
                              f'without a passphrase ({_reason(error)})',
                              'ssh_key_file') from error

    def _new_client(self):
        client = paramiko.SSHClient()
        if self.endpoint.known_hosts_file is not None:
            path = os.path.expanduser(self.endpoint.known_hosts_file)
            try:
                known = _known_hosts(path, os.stat(path).st_mtime_ns)
            except OSError as error:
                # Who accepts unknown hosts needs no list of known ones.
                if not self.endpoint.allow_unknown_hosts:
                    raise self._error(
                        f'the known_hosts file {path} can\'t be read '
                        f'({error.strerror})',
                        'ssh_known_hosts_file') from error
            else:
                # Not all of the file: many hosts have many keys.
                name = self.endpoint.known_hosts_name
                for kind, key in (known.lookup(name) or {}).items():
                    client.get_host_keys().add(name, kind, key)
        client.set_missing_host_key_policy(_UnknownHostPolicy(self.endpoint))
        return client

    def _open_socket(self):
        address, port = self.endpoint.address, self.endpoint.port
        try:
            sock = socket.create_connection(
                (address, port), self.endpoint.connect_timeout)
        except socket.gaierror as error:
            raise self._error(f'the address {address} can\'t be resolved '
                              f'({error.strerror})',
                              'compute_addresses') from error
        except OSError as error:
            raise self._error(
                f'nothing answers at {self.endpoint} ({_reason(error)})',
                'compute_addresses or ssh_port') from error
        # A command and its input are several small packets: without this,
        # each would wait for the acknowledgement of the one before.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock


@functools.lru_cache(maxsize=1)
def _known_hosts(path, modified):
    """Return a known_hosts file as read once, until it is modified."""
    return paramiko.HostKeys(path)


class Session:
    """A command that runs on a host, its input and its output."""

    def __init__(self, endpoint, command, channel):
        self._endpoint = endpoint
        self._command = command
        self._channel = channel
        self._heard = b''

    def send(self, text):
        """Send text to the command's standard input.

        :raises HostAccessError: the command or the connection has ended
        """
        try:
            self._channel.sendall(text.encode())
        except _DROPPED as error:
            raise self._error(
                f'ended ({_reason(error)}{self._complaint()})') from error

    def receive_line(self, timeout):
        """Return the next line of its standard output, without the end.

        :param timeout: seconds for which the command may be silent
        :raises HostAccessError: it was silent for longer, or has ended
        """
        self._channel.settimeout(timeout)
        while b'\n' not in self._heard:
            try:
                piece = self._channel.recv(65536)
            except socket.timeout as error:
                raise self._error(
                    f'said nothing for {timeout} seconds') from error
            if not piece:
                raise self._error(f'ended{self._complaint()}')
            self._heard += piece
        line, _, self._heard = self._heard.partition(b'\n')
        return line.decode(errors='replace')

    def close(self):
        """End the command's input, and listen to it no longer."""
        _close(self._channel)

    def _complaint(self):
        """What it has said on its standard error, as part of a sentence."""
        said = b''
        with contextlib.suppress(*_DROPPED):
            while self._channel.recv_stderr_ready():
                said += self._channel.recv_stderr(65536)
        text = said.decode(errors='replace').strip()
        return f', saying: {text[-2000:]}' if text else ''

    def _error(self, problem):
        return exceptions.HostAccessError(
            self._endpoint.host, f'{self._command} on {self._endpoint} '
            f'{problem}')


def _exchange(channel, command, stdin):
    """Run a command on an open channel: its output, errors and exit status.

    :raises _TooMuch: one of these is longer than LONGEST
    """
    channel.exec_command(command)
    stderr = []

    def read(stream):
        said = stream.read(LONGEST + 1)
        if len(said) > LONGEST:
            # Wakes up whoever reads the other.
            _close(channel)
        return said

    # Read both streams at the same time: either may fill its window.
    reader = threading.Thread(
        target=lambda: stderr.append(read(channel.makefile_stderr('rb'))),
        daemon=True)
    reader.start()
    # A command that ended without reading its input is no error here: its
    # exit status and messages tell more.
    with contextlib.suppress(OSError):
        channel.sendall(stdin.encode())
        channel.shutdown_write()
    stdout = read(channel.makefile('rb'))
    reader.join()
    if max(map(len, (stdout, *stderr))) > LONGEST:
        raise _TooMuch
    exit_status = channel.recv_exit_status()
    return (stdout.decode(errors='replace'),
            b''.join(stderr).decode(errors='replace'), exit_status)


def _close(channel):
    # It may have no connection any more.
    with contextlib.suppress(*_DROPPED):
        channel.close()


def _reason(error):
    """The message of an exception; its name if it has none."""
    return str(error) or type(error).__name__

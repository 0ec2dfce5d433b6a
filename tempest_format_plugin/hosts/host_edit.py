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

"""Edit nova-compute's configuration on a host for as long as a runner lives.

What is on the host, edit_script, undoes the edit when it is told to, when the
connection ends and when its lease runs out. This is the other end: it holds
the connection and renews the lease.
"""

import contextlib
import inspect
import json
import shlex
import threading

from tempest_format_plugin.hosts import edit_script
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import profile as profiles
from tempest_format_plugin.hosts import ssh

# Seconds without a sign of the runner after which a host undoes the edit, and
# from one sign to the next.
LEASE = 20
RENEWAL = 5
# Seconds for a restart of nova-compute, which waits for what it is doing.
RESTART_SECONDS = 60
# Between an order and its answer may lie an undo that tries several restarts,
# after a restart that failed.
ANSWER_SECONDS = 2 * RESTART_SECONDS * (edit_script.ATTEMPTS + 1)

# Says that it is there and reads the script from its input, and not a byte of
# what follows. The root shell before it may read more of its input than it
# needs, so nothing is sent before that.
_READY = 'ready'
_START = (f'import os; os.write(1, b"{_READY}\\n"); source = b""\n'
          'while len(source) < {0}:\n'
          '  piece = os.read(0, {0} - len(source))\n'
          '  if not piece: raise SystemExit(1)\n'
          '  source += piece\n'
          'exec(source)')


def render(kind, options):
    """Return the text of the file that gives nova-compute some options.

    :param kind: CONFIG_DIR, SYSTEMD or IN_PLACE of hosts.profile
    :param options: {group: {option: value}}, as in nova.conf
    """
    if kind == profiles.SYSTEMD:
        # oslo_config/sources/_environment.py. They go before all files.
        lines = [f'Environment="OS_{group.upper()}__{name.upper()}='
                 f'{_escaped(value)}"'
                 for group, those in options.items()
                 for name, value in those.items()]
        return '\n'.join(['[Service]', *lines, ''])
    return ''.join(
        f'[{group}]\n' + ''.join(f'{name} = {value}\n'
                                 for name, value in those.items())
        for group, those in options.items())


class HostEdit:
    """An edit that is held on a host, until undo or the end of the runner."""

    def __init__(self, host, talk):
        self._host = host
        self._talk = talk
        self._lock = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._renew, daemon=True).start()

    def state(self):
        """Return (whether nova-compute runs, the end of its log).

        :raises HostAccessError: the connection has ended, and so the edit
        """
        with self._lock:
            found = self._talk.ask(verb='state')
        return found['running'], found['log']

    def change(self, options):
        """Give nova-compute these options in place of the first ones.

        :param options: as for hold
        :raises EditError: it went wrong; the edit has ended
        :raises HostAccessError: the connection has ended, and so the edit
        """
        try:
            with self._lock:
                self._talk.ask(verb='change', content=render(
                    self._host.profile.edit_kind, options))
        except BaseException:
            # Nobody may know of it any more. The host undoes it.
            self._ended.set()
            self._talk.close()
            raise

    def undo(self):
        """Have the host as it was, and nova-compute restarted there.

        :raises EditError: that went wrong
        :raises HostAccessError: the connection has ended; the host undoes
            the edit by itself, unless it has gone
        """
        self._ended.set()
        with contextlib.closing(self._talk), self._lock:
            self._talk.ask(verb='undo')

    def _renew(self):
        while not self._ended.wait(RENEWAL):
            # Whoever uses the edit next is told that it has ended.
            with contextlib.suppress(exceptions.HostAccessError), self._lock:
                self._talk.tell(verb='renew')


def hold(host, options, holder):
    """Give nova-compute on a host other options, and restart it.

    The connection is one of its own: the edit lasts no longer than it.

    :param host: ComputeHost
    :param options: {group: {option: value}}, as in nova.conf
    :param holder: who does it, for somebody else who wants to
    :returns: a HostEdit
    :raises ProfileError: the profile doesn't say how to
    :raises EditRefused: somebody else holds an edit there
    :raises EditError: it went wrong, for example because nova-compute
        doesn't start with these options
    :raises HostAccessError: no connection
    """
    profile = host.profile
    for field in ('edit_kind', 'edit_file', 'restart', 'running', 'log'):
        if not getattr(profile, field):
            raise exceptions.ProfileError(
                f'how to edit the configuration of nova-compute is not known '
                f'for the profile {profile.name}', profiles.OPTIONS[field])
    talk = _Talk(host)
    try:
        talk.ask(
            verb='hold', holder=holder, lease=LEASE,
            file=profile.edit_file, content=render(profile.edit_kind, options),
            append=profile.edit_kind == profiles.IN_PLACE,
            restart=profile.restart, restart_seconds=RESTART_SECONDS,
            running=profile.running, log=profile.log)
    except BaseException:
        talk.close()
        raise
    return HostEdit(host, talk)


def find(host):
    """Return what edit a host has: None, or a dict as edit_script's list.

    :raises HostAccessError: no connection
    """
    with contextlib.closing(_Talk(host)) as talk:
        return talk.ask(verb='list')['edit']


def restore(host):
    """Undo what an earlier runner has left on a host.

    :returns: whether there was anything
    :raises EditRefused: a runner that lives holds it
    :raises EditError: it went wrong
    :raises HostAccessError: no connection
    """
    with contextlib.closing(_Talk(host)) as talk:
        return talk.ask(verb='restore')['undone']


class _Talk:
    """The script at work on a host, over a connection of its own."""

    def __init__(self, host):
        self._host = host
        source = inspect.getsource(edit_script).encode()
        self._connection = ssh.Connection(host.connection.endpoint)
        try:
            self._session = self._connection.start(
                shlex.join(host.profile.root_shell_argv))
            self._session.send('exec ' + shlex.join((
                *host.profile.edit_scope, '/usr/bin/python3', '-I', '-S',
                '-c', _START.format(len(source)))) + '\n')
            self._session.receive_line(
                host.connection.endpoint.command_timeout)
            self._session.send(source.decode())
        except BaseException:
            self._connection.close()
            raise

    def tell(self, **order):
        self._session.send(json.dumps(order) + '\n')

    def ask(self, **order):
        """Tell it and return the answer; one that tells of a failure raises.

        :raises EditRefused, EditError, HostAccessError: see hold
        """
        self.tell(**order)
        answer = json.loads(self._session.receive_line(ANSWER_SECONDS))
        if 'refused' in answer:
            raise exceptions.EditRefused(self._host.name, answer['refused'])
        if 'error' in answer:
            raise exceptions.EditError(
                self._host.name, answer['error'], answer['undone'],
                answer['log'])
        return answer

    def close(self):
        self._session.close()
        self._connection.close()


def _escaped(value):
    r"""Quote for systemd.exec(5)'s Environment: \, " and % mean something."""
    return str(value).replace('\\', r'\\').replace('"', r'\"').replace(
        '%', '%%')

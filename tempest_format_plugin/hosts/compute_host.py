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

"""What a compute host knows about the disks of a server."""

import inspect
import json
import re
import shlex
import threading
import uuid

from tempest_format_plugin.formats import host_report
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import profile as profiles
from tempest_format_plugin.hosts import ssh

_SUDO_REFUSED = re.compile(
    r'^sudo: .*(password|terminal|tty)|is not in the sudoers file|'
    r'^Sorry, user \S+ (may not run|is not allowed)', re.MULTILINE)

# docker and podman, in this order.
_NO_CONTAINER = re.compile(
    r'No such container|is not running|'
    r'no container with name or ID|container state improper')


class ComputeHost:
    """One compute host: its connection, and how things are done there."""

    def __init__(self, name, connection, profile):
        self.name = name
        self.connection = connection
        self.profile = profile
        self._script = inspect.getsource(observe_script)

    def observe(self, server_id):
        """Read what this host knows about all disks of a server.

        One command over SSH, however many disks.

        :param server_id: UUID of the server
        :returns: formats.models.ServerObservation; its state is 'absent' if
            libvirt doesn't know the server here
        :raises HostAccessError: the host isn't as the options say
        :raises formats.exceptions.ObservationError: an answer of the host
            makes no sense
        """
        return host_report.parse(self._report(server_id),
                                 server_id=server_id, host=self.name)

    def evidence(self, server_id, domain_name):
        """Return what this host has of a server, as it is.

        :param server_id: UUID of the server
        :param domain_name: of its domain, which QEMU's log is called after
        :returns: {file name: text} of what there is: live.xml, inactive.xml,
            disk.info, qemu-img.txt (by path), qemu.log; {} where the host
            has nothing of it
        :raises HostAccessError: the host isn't as the options say
        :raises CommandError: QEMU's log can't be read
        :raises ValueError, KeyError: the observe script's answer makes no
            sense
        """
        report = json.loads(self._report(server_id))
        found = {'live.xml': report['domain']['live'],
                 'inactive.xml': report['domain']['inactive'],
                 'disk.info': report['disk_info'],
                 'qemu-img.txt': '\n'.join(
                     f'{path}: {file["info"] or file["error"]}'
                     for path, file in report['files'].items()),
                 'qemu.log': self.qemu_log(domain_name)}
        return {name: text for name, text in found.items() if text}

    def qemu_log(self, domain_name):
        """Return the last 500 lines of QEMU's log of a domain, '' if none.

        :raises CommandError: it can't be read
        :raises HostAccessError: the host isn't as the options say
        """
        completed = self.connection.run(
            shlex.join(self.profile.qemu_log_argv(domain_name)))
        self._check_sudo(completed)
        self._check_container(completed)
        if 'No such file or directory' in completed.stderr:
            return ''
        return completed.check().stdout

    def _report(self, server_id):
        """Return the JSON text of the observe script about a server."""
        try:
            server_id = str(uuid.UUID(server_id))
        except ValueError:
            raise ValueError(f'compute host {self.name}: expected the UUID of '
                             f'a server, got {server_id!r}')
        profile = self.profile
        if profile.observe:
            completed = self.connection.run(
                shlex.join(profile.observe_argv(server_id)))
        else:
            completed = self.connection.run(
                shlex.join(profile.observe_script_argv(server_id)),
                stdin=self._script)
        self._check_sudo(completed)
        self._check_start(completed)
        completed.check()
        self._check_problem(completed)
        return completed.stdout

    def root_shell(self, script, timeout=None):
        """Run a shell script as root.

        The script is the shell's standard input: commands in it that would
        read theirs need ``< /dev/null``. It ends at the first failure only
        if it says ``set -e``.

        :returns: ssh.Completed, whatever the exit status
        :raises HostAccessError: the host isn't as the options say
        """
        return self._shell(self.profile.root_shell_argv, script, timeout)

    def instances_shell(self, script):
        """Run a shell script as root where virsh and nova's instances are.

        As root_shell, but inside the container if the profile has one.
        """
        return self._shell(self.profile.instances_shell_argv, script)

    def _shell(self, argv, script, timeout=None):
        completed = self.connection.run(shlex.join(argv), stdin=script,
                                        timeout=timeout)
        self._check_sudo(completed)
        return completed

    def close(self):
        self.connection.close()

    # What sudo, podman, docker and the shells could not do is told by their
    # words: their exit statuses overlap with those of the command.

    def _check_sudo(self, completed):
        """Raise if sudo is missing or doesn't let the user in."""
        if self.profile.sudo and sudo_refused(completed, self.profile.sudo):
            raise self._access_error('sudo', completed.stderr, completed)

    def _check_start(self, completed):
        """Raise if the observe command, the container or Python is missing."""
        if completed.exit_status == 0:
            return
        stderr = completed.stderr
        if self.profile.observe:
            if _is_missing(self.profile.observe[0], stderr):
                raise self._access_error('observe', stderr, completed)
            return
        self._check_container(completed)
        if _is_missing(profiles.PYTHON[0], stderr):
            raise self._access_error('python', stderr, completed)

    def _check_container(self, completed):
        """Raise if a container that is needed isn't there."""
        stderr = completed.stderr
        if completed.exit_status == 0 or not self.profile.container_name:
            return
        if _is_missing(self.profile.container_runtime, stderr):
            raise self._access_error('container_runtime', stderr, completed)
        if _NO_CONTAINER.search(stderr):
            raise self._access_error('container_name', stderr, completed)

    def _check_problem(self, completed):
        """Raise if the observe script couldn't do its work, or is another."""
        try:
            report = json.loads(completed.stdout)
            version, problem = report.get('version'), report.get('problem')
        except (ValueError, AttributeError, RecursionError):
            # host_report says what is wrong with it.
            return
        if self.profile.observe and version != host_report.VERSION:
            raise exceptions.HostAccessError(
                self.name, f'expected {shlex.join(self.profile.observe)} to '
                f'print a report of version {host_report.VERSION}, got '
                f'version {version}: it is not the one of this plugin; '
                f'install it again (the role format_host_access does)')
        if problem is not None:
            raise self._access_error(problem['field'], problem['text'],
                                     completed)

    def _access_error(self, field, text, completed):
        observe = shlex.join(self.profile.observe)
        container = self.profile.container_name
        where = (f' where {observe} looks' if observe else
                 f' in container {container}' if container else '')
        expected = {
            'sudo': f'root access without a password for {completed.command}',
            'observe': f'the command {observe}',
            'container_runtime': 'a container runtime',
            'container_name': f'the container {container} to run',
            'python': f'{profiles.PYTHON[0]}{where}',
            'virsh': f'a virsh that reaches libvirt{where}',
            'qemu_img': f'prlimit and qemu-img{where}',
            'instances_path': f'the instances directory of nova{where}',
        }[field]
        if observe and field in ('python', 'virsh', 'qemu_img',
                                 'instances_path'):
            # It has a virsh, qemu-img and path of its own.
            field = 'observe'
        # Which python3 to run is no option: the right container has one, or
        # the host of the right deployment.
        option = profiles.OPTIONS.get(
            field, 'container_name' if container else 'profile')
        return exceptions.HostAccessError(
            self.name, f'expected {expected}, got: {text.strip()}', option)


def sudo_refused(completed, sudo=('sudo',)):
    """Whether a command failed because sudo is missing or refuses the user.

    :param completed: ssh.Completed
    :param sudo: how sudo was called
    """
    return completed.exit_status != 0 and bool(
        _SUDO_REFUSED.search(completed.stderr)
        or _is_missing(sudo[0], completed.stderr))


def _is_missing(program, stderr):
    """Whether sudo, a shell, runc or crun complains that it isn't there."""
    program = re.escape(program)
    return re.search(rf'(?<![\w/]){program}: (command )?not found|'
                     rf'(?<![\w/]){program}: no such file|'
                     rf'executable file `{program}` not found', stderr,
                     re.IGNORECASE)


class ComputeHosts:
    """The compute hosts of a cloud, each with one connection for good.

    :param endpoint_of: function from the name of a host to its ssh.Endpoint
    :param profile_of: function from the name of a host to its profile
    """

    def __init__(self, endpoint_of, profile_of):
        self._endpoint_of = endpoint_of
        self._profile_of = profile_of
        self._hosts = {}
        self._lock = threading.Lock()

    def get(self, name):
        """The ComputeHost of that name, the same one each time.

        Doesn't connect: the first command does.
        """
        with self._lock:
            if name not in self._hosts:
                connection = ssh.Connection(self._endpoint_of(name))
                self._hosts[name] = ComputeHost(name, connection,
                                                self._profile_of(name))
            return self._hosts[name]

    def forget(self, name):
        """Close the connection to a host; the next get makes another."""
        with self._lock:
            host = self._hosts.pop(name, None)
        if host is not None:
            host.close()

    def close(self):
        """Close all connections."""
        with self._lock:
            for host in self._hosts.values():
                host.close()

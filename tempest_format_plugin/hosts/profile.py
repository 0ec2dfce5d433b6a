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

"""How things are done on the compute hosts of one kind of deployment."""

import dataclasses
import hashlib
import os.path
import shlex

from tempest_format_plugin.hosts import exceptions

# The same limits as nova's: a file to be inspected may have been written by
# a guest to exhaust whoever inspects it (nova/virt/images.py,
# QEMU_IMG_LIMITS; LP 1449062).
QEMU_IMG_LIMITS = ('prlimit', '--as=1073741824', '--cpu=30')

# The system's own Python, which every distribution that nova supports has
# there: one that is earlier in the PATH may be a wrapper (pyenv's costs more
# than all that the script does). -I -S: settings and packages stay out, which
# halves the time to start.
PYTHON = ('/usr/bin/python3', '-I', '-S', '-')

# The option of [disk_format] that overrides each field.
OPTIONS = {
    'sudo': 'sudo_command',
    'container_runtime': 'container_runtime',
    'container_name': 'container_name',
    'virsh': 'virsh_command',
    'qemu_img': 'qemu_img_command',
    'observe': 'observe_command',
    'root_shell': 'root_shell_command',
    'instances_path': 'instances_path',
    'qemu_log_dir': 'qemu_log_dir',
    'edit_kind': 'compute_edit_kind',
    'edit_file': 'compute_edit_file',
    'edit_scope': 'compute_edit_scope_command',
    'restart': 'compute_restart_command',
    'running': 'compute_running_command',
    'log': 'compute_log_command',
}

_PATHS = ('instances_path', 'qemu_log_dir', 'edit_file')
_MAY_BE_EMPTY = ('sudo', 'observe', 'edit_scope')

# How nova-compute is given other options: by a file of its --config-dir, by a
# drop-in of its systemd unit that sets oslo.config's environment variables, or
# by lines at the end of its own configuration file.
CONFIG_DIR = 'config-dir'
SYSTEMD = 'systemd'
IN_PLACE = 'in-place'


@dataclasses.dataclass(frozen=True)
class Profile:
    """How to run commands on a compute host, and where things are.

    Commands are tuples of arguments. Each of them runs through sudo (empty:
    the SSH user is root) and, but for the root shell and the observe command,
    inside the container if one is named: virsh, qemu-img, prlimit, python3 and
    nova's instances must all be there. They are in the libvirt containers of
    kolla and of TripleO, where every image has python3 because its start
    script needs it.

    :ivar observe: prints the observe script's report about the server whose
        id follows; always on the host itself. Empty: there is none, and the
        script is sent there
    :ivar root_shell: reads a script from its standard input; always on the
        host itself
    :ivar instances_path: nova's [DEFAULT] instances_path, as it is seen
        where virsh runs
    :ivar qemu_log_dir: where libvirt keeps QEMU's log of each domain, seen
        from there too
    :ivar edit_kind: CONFIG_DIR, SYSTEMD or IN_PLACE; None: nova-compute's
        options can't be edited
    :ivar edit_file: path, on the host, of the file that this is done with
    :ivar edit_scope: what to start the guard of an edit with, so that it
        isn't ended with the login's session
    :ivar restart: restarts nova-compute, with its options as they then are
    :ivar running: succeeds if nova-compute runs
    :ivar log: prints the end of nova-compute's log
    """

    name: str
    sudo: tuple[str, ...] = ()
    container_runtime: str | None = None
    container_name: str | None = None
    virsh: tuple[str, ...] = ('virsh', '-c', 'qemu:///system')
    qemu_img: tuple[str, ...] = ('qemu-img',)
    observe: tuple[str, ...] = ()
    root_shell: tuple[str, ...] = ('sh',)
    instances_path: str = '/var/lib/nova/instances'
    qemu_log_dir: str = '/var/log/libvirt/qemu'
    edit_kind: str | None = None
    edit_file: str | None = None
    edit_scope: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    log: tuple[str, ...] = ()

    def argv(self, *command):
        """The full command for the host: sudo, container, command."""
        container = ()
        if self.container_name:
            container = (self.container_runtime, 'exec', '-i',
                         self.container_name)
        return (*self.sudo, *container, *command)

    def instance_dir(self, server_id):
        """Where nova keeps the local disks of a server."""
        return os.path.join(self.instances_path, server_id)

    def image_cache_file(self, image_id):
        """Where nova's image cache keeps the data of an image.

        get_cache_fname of nova/virt/libvirt/imagecache.py, under the default
        of [image_cache] subdirectory_name.
        """
        name = hashlib.sha1(image_id.encode(),
                            usedforsecurity=False).hexdigest()
        return os.path.join(self.instances_path, '_base', name)

    @property
    def qemu_img_limited(self):
        """qemu-img under nova's resource limits, without sudo, container."""
        return (*QEMU_IMG_LIMITS, *self.qemu_img)

    @property
    def virsh_argv(self):
        return self.argv(*self.virsh)

    @property
    def qemu_img_argv(self):
        return self.argv(*self.qemu_img_limited)

    def observe_script_argv(self, server_id):
        """What runs the observe script, which is its standard input."""
        return self.argv(*PYTHON, server_id, self.instances_path, *self.virsh,
                         ';', *self.qemu_img_limited)

    def observe_argv(self, server_id):
        """The observe command for a server, if the profile has one."""
        return (*self.sudo, *self.observe, server_id)

    def qemu_log_argv(self, domain_name):
        """What prints the last 500 lines of QEMU's log of a domain."""
        return self.argv('tail', '-n', '500',
                         f'{self.qemu_log_dir}/{domain_name}.log')

    @property
    def root_shell_argv(self):
        return (*self.sudo, *self.root_shell)

    @property
    def instances_shell_argv(self):
        """A root shell where virsh and nova's instances are."""
        return self.argv(*self.root_shell)


# sudo's secure_path may not have it.
_SUPERVISORCTL = ('/usr/local/bin/supervisorctl', '-c',
                  '/etc/supervisord.conf')
_SCOPE = ('systemd-run', '--quiet', '--scope', '--collect')


def _unit(unit, log=None):
    """How nova-compute is edited as a systemd unit of the host.

    :param log: its log file; None: it logs to the journal alone
    """
    journal = ('journalctl', '--no-pager', '--output=cat', '--lines=50',
               f'--unit={unit}')
    if log is None:
        show = journal
    else:
        # What it says before it has read where to log is in the journal.
        show = ('sh', '-c', f'{" ".join(journal)}; tail -n 50 {log}')
    return {
        'edit_kind': SYSTEMD,
        'edit_file': f'/run/systemd/system/{unit}.service.d/disk-format.conf',
        'edit_scope': _SCOPE,
        'restart': ('sh', '-c', 'systemctl daemon-reload && '
                                f'systemctl restart {unit}'),
        'running': ('systemctl', 'is-active', '--quiet', unit),
        'log': show}


def _nova_container(runtime, unit, file, log=()):
    """How nova-compute is edited that a unit of the host runs in a container.

    The environment of a container is settled when it is made; its
    configuration files are copied into it each time it is started.

    :param file: the last of these that nova-compute reads, on the host
    :param log: prints the end of its log; empty: it logs to its output alone
    """
    show = (runtime, 'logs', '--tail', '50', 'nova_compute')
    if log:
        show = ('sh', '-c', f'{" ".join(show)}; {" ".join(log)}')
    return {
        'edit_kind': IN_PLACE, 'edit_file': file, 'edit_scope': _SCOPE,
        'restart': ('systemctl', 'restart', unit),
        # The unit is active before the container runs.
        'running': ('sh', '-c',
                    f'test "$({runtime} container inspect --format '
                    "'{{.State.Running}}' nova_compute)\" = true"),
        'log': show}


def _kolla(runtime):
    return Profile(
        f'kolla-{runtime}', sudo=('sudo', '-n'), container_runtime=runtime,
        container_name='nova_libvirt', **_nova_container(
            runtime, 'kolla-nova_compute-container',
            '/etc/kolla/nova-compute/nova.conf',
            # The directory is a volume, which this container has too.
            (runtime, 'exec', 'nova_libvirt', 'tail', '-n', '50',
             '/var/log/kolla/nova/nova-compute.log')))


def _tripleo(name, container):
    return Profile(
        name, sudo=('sudo', '-n'), container_runtime='podman',
        container_name=container, **_nova_container(
            'podman', 'tripleo_nova_compute',
            '/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/'
            'nova.conf',
            ('tail', '-n', '50', '/var/log/containers/nova/nova-compute.log')))


# doc/source/user/deployments.rst names where each tool says what is here.
BUILT_IN = {profile.name: profile for profile in (
    Profile('devstack', sudo=('sudo', '-n'),
            instances_path='/opt/stack/data/nova/instances',
            **_unit('devstack@n-cpu')),
    Profile('debian', sudo=('sudo', '-n'),
            **_unit('nova-compute', '/var/log/nova/nova-compute.log')),
    Profile('rdo', sudo=('sudo', '-n'), **_unit(
        'openstack-nova-compute', '/var/log/nova/nova-compute.log')),
    _kolla('docker'),
    _kolla('podman'),
    Profile('openstack-ansible', sudo=('sudo', '-n'),
            **_unit('nova-compute')),
    _tripleo('tripleo', 'nova_libvirt'),
    _tripleo('tripleo-modular', 'nova_virtqemud'),
    Profile('rhoso', sudo=('sudo', '-n'), **_nova_container(
        'podman', 'edpm_nova_compute',
        '/var/lib/openstack/nova/02-nova-host-specific.conf')),
    Profile(
        'lab', edit_kind=CONFIG_DIR,
        edit_file='/etc/nova/nova-compute.conf.d/zz-disk-format.conf',
        restart=(*_SUPERVISORCTL, 'restart', 'nova-compute'),
        running=(*_SUPERVISORCTL, 'status', 'nova-compute'),
        log=('tail', '-n', '50', '/var/log/nova-compute.log')),
)}


def get(name, **overrides):
    """A built-in profile with some of its values replaced.

    :param overrides: value by field name; None keeps the profile's own.
        Commands may be given as text, split as a shell would. An empty sudo
        command means that none is needed; an empty observe command that there
        is none; an empty container name that there is no container.
    :raises ProfileError: unknown profile, a command that can't be split, a
        needed command that is empty, a container without runtime or the
        other way round
    """
    if name not in BUILT_IN:
        raise exceptions.ProfileError(
            f'there is no deployment profile {name}, only '
            f'{", ".join(BUILT_IN)}', 'profile')
    values = {field: _value(field, value)
              for field, value in overrides.items() if value is not None}
    if 'container_name' in values and not values['container_name']:
        values.setdefault('container_runtime', None)
    profile = dataclasses.replace(BUILT_IN[name], **values)
    if bool(profile.container_name) != bool(profile.container_runtime):
        raise exceptions.ProfileError(
            f'a container needs a name and a runtime, got name '
            f'{profile.container_name} and runtime '
            f'{profile.container_runtime}',
            'both container_name and container_runtime')
    for field in _PATHS:
        if not (getattr(profile, field) or '/').startswith('/'):
            raise exceptions.ProfileError(
                f'{field.replace("_", " ")} {getattr(profile, field)!r} is '
                'not absolute', OPTIONS[field])
    return profile


def _value(field, value):
    if field in ('container_name', 'container_runtime', 'edit_kind'):
        return value or None
    if field in _PATHS:
        return value
    try:
        command = tuple(shlex.split(value) if isinstance(value, str)
                        else value)
    except ValueError as error:
        raise exceptions.ProfileError(
            f'command {value!r} can\'t be split into words ({error})',
            OPTIONS[field]) from error
    if not command and field not in _MAY_BE_EMPTY:
        raise exceptions.ProfileError(f'the {field} command is empty',
                                      OPTIONS[field])
    return command

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
    :ivar instances_path: nova's [DEFAULT] instances_path on the host
    :ivar qemu_log_dir: where libvirt keeps QEMU's log of each domain
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

    def observe_argv(self, server_id):
        """The observe command for a server, if the profile has one."""
        return (*self.sudo, *self.observe, server_id)

    @property
    def root_shell_argv(self):
        return (*self.sudo, *self.root_shell)


# sudo's secure_path may not have it.
_SUPERVISORCTL = ('/usr/local/bin/supervisorctl', '-c',
                  '/etc/supervisord.conf')

BUILT_IN = {
    'devstack': Profile(
        'devstack', sudo=('sudo', '-n'),
        instances_path='/opt/stack/data/nova/instances',
        edit_kind=SYSTEMD,
        edit_file='/run/systemd/system/devstack@n-cpu.service.d/'
                  'disk-format.conf',
        edit_scope=('systemd-run', '--quiet', '--scope', '--collect'),
        restart=('sh', '-c', 'systemctl daemon-reload && '
                             'systemctl restart devstack@n-cpu'),
        running=('systemctl', 'is-active', '--quiet', 'devstack@n-cpu'),
        log=('journalctl', '--no-pager', '--output=cat', '--lines=50',
             '--unit=devstack@n-cpu')),
    'lab': Profile(
        'lab', edit_kind=CONFIG_DIR,
        edit_file='/etc/nova/nova-compute.conf.d/zz-disk-format.conf',
        restart=(*_SUPERVISORCTL, 'restart', 'nova-compute'),
        running=(*_SUPERVISORCTL, 'status', 'nova-compute'),
        log=('tail', '-n', '50', '/var/log/nova-compute.log')),
}


def get(name, **overrides):
    """A built-in profile with some of its values replaced.

    :param overrides: value by field name; None keeps the profile's own.
        Commands may be given as text, split as a shell would. An empty sudo
        command means that none is needed; an empty observe command that there
        is none; an empty container name or runtime that there is no
        container.
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

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

"""The options of the plugin.

``OPTION_GROUPS`` is the one list: what tempest registers, what it lists and
what the generated sample and reference show all come from it.
"""

import re

from oslo_config import cfg
from oslo_config import types

READ_ONLY, OPERATIONS, RECONFIGURE = SAFETY_LEVELS = (
    'read-only', 'operations', 'reconfigure')

IMAGE_BACKENDS = ('raw', 'flat', 'qcow2', 'lvm', 'rbd', 'ploop')


class RegularExpression(types.String):
    """A string that compiles as a Python regular expression."""

    def __init__(self):
        super().__init__(type_name='regular expression')

    def __call__(self, value):
        value = super().__call__(value)
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f'{value!r} is no regular expression: {error}')
        return value


disk_format_group = cfg.OptGroup(
    name='disk_format',
    title='Disk format scenarios',
    help='Where the compute hosts are and how to look at their disks, which '
         'bugs this cloud is known to have, and how long to wait for it.')

verdict_options = (
    cfg.ListOpt(
        'known_bugs',
        default=[],
        help='The bugs that this cloud is known to have, separated by '
             'commas: Launchpad numbers such as 2038898 or, for a bug that '
             'has none, its short name in the bug table '
             '(tempest_format_plugin/formats/bugs.py). A test whose failure '
             'has the signature of a bug named here ends as an expected '
             'failure; a test that passes although a bug named here should '
             'have broken it ends as an unexpected success, that is, as a '
             'failure: then the bug is fixed here and leaves this list. '
             'Empty: every disagreement fails its test.'),
    cfg.BoolOpt(
        'allow_sabotage',
        default=False,
        help='Let tests do damage to compute hosts, as root: the test that '
             'proves the observation itself edits the files of its servers '
             '(disk.info, the domain XML, the disks), and at the safety level '
             'reconfigure the tests of what undoes an edit cut the network of '
             'a host for half a minute, fill the disk of its configuration '
             'and end processes there. Also lets tests remove what nova '
             'leaves of their servers where a cold migration or resize has '
             'failed. It is for a cloud that can be thrown away, such as the '
             'lab. False: those tests are skipped, and what nova leaves '
             'stays.'),
)

safety_options = (
    cfg.StrOpt(
        'safety_level',
        default=OPERATIONS,
        choices=[
            (READ_ONLY, 'tests that make servers and look at them'),
            (OPERATIONS, 'also tests that stop, migrate, resize, snapshot '
                         'and the like what they have made'),
            (RECONFIGURE, 'also tests that change the options of '
                          'nova-compute on a host and restart it, for as '
                          'long as they take; such a host must not be used '
                          'by anybody else meanwhile'),
        ],
        help='What tests may do to the cloud. Tests that do more are skipped, '
             'and say so.'),
    cfg.BoolOpt(
        'reconfigure_beside_servers',
        default=False,
        help='Let tests of the safety level reconfigure use a compute host '
             'that has servers which are not the test\'s own. nova-compute '
             'is restarted there several times, and what anybody does to '
             'these servers meanwhile is done under the changed options. '
             'False: such a test fails before it changes that host; another '
             'host that it has changed before is restored.'),
    cfg.BoolOpt(
        'resize_to_same_host',
        default=False,
        help='Whether a server may be resized on the host that it is on: '
             '[DEFAULT] allow_resize_to_same_host in the nova.conf of '
             'nova-api and of the compute hosts. False: tests that do so are '
             'skipped.'),
    cfg.IntOpt(
        'compute_ready_timeout',
        default=120, min=1,
        help='Seconds within which nova-compute, once restarted, must have '
             'reported to nova and answered a call.'),
)

compute_host_options = (
    cfg.StrOpt(
        'hosts_file',
        help='Path of a YAML file (or JSON, if its name ends in .json) about '
             'the compute hosts, for a fleet whose hosts differ: "hosts" is a '
             'mapping of their names in nova to what is so of each, any of '
             'address, backend (as in compute_backends), ssh_user, ssh_port, '
             'ssh_key_file, profile and the options that replace values of '
             'the profile. It goes before the options, and they before the '
             'profile; null for such an option takes it back, for this host. '
             'On the machine where tempest runs; ~ is its user\'s home. '
             'Unset: the options are so of all hosts.'),
    cfg.Opt(
        'compute_backends',
        type=types.Dict(types.String(choices=IMAGE_BACKENDS)),
        default={},
        help='Which image backend each compute host has, as '
             'host:backend,host:backend. The host is its name in nova '
             '("openstack compute service list"), the backend the value of '
             '[libvirt] images_type in nova.conf on that host (for a host '
             'that leaves it at "default": qcow2, or flat if use_cow_images '
             'is false). Tests ask for hosts by backend, and are skipped '
             'where this option names too few of them. Empty: the tests that '
             'need to know a backend are skipped.'),
    cfg.Opt(
        'compute_addresses',
        type=types.Dict(),
        default={},
        help='The address at which SSH reaches each compute host from where '
             'tempest runs, as host:address,host:address, for the hosts '
             'whose own name does not resolve there. The host is its name in '
             'nova, the address an IPv4 or IPv6 address or a name. A host '
             'that is not listed is reached by its name.'),
    cfg.StrOpt(
        'ssh_user',
        default='stack',
        help='The user as whom to log in to the compute hosts. It must be '
             'allowed to run, through sudo_command, python3 (or '
             'observe_command alone, where that is set) and tail, and for '
             'allow_sabotage and the safety level reconfigure a root shell. '
             '"stack" is the user that DevStack makes.'),
    cfg.PortOpt(
        'ssh_port',
        default=22,
        help='The TCP port of the SSH server on the compute hosts.'),
    cfg.StrOpt(
        'ssh_key_file',
        help='Path of the private key, without a passphrase, with which to '
             'log in to the compute hosts, on the machine where tempest runs; '
             '~ is its user\'s home. Unset: the keys of the SSH agent and the '
             'usual ones in ~/.ssh.'),
    cfg.StrOpt(
        'ssh_known_hosts_file',
        default='~/.ssh/known_hosts',
        help='Path of the file with the SSH host keys of the compute hosts, '
             'in OpenSSH\'s known_hosts format ("ssh-keyscan -p PORT '
             'ADDRESS" writes it), on the machine where tempest runs; ~ is '
             'its user\'s home. A host whose key is not there is refused '
             'unless ssh_allow_unknown_hosts is set; one whose key differs '
             'always is.'),
    cfg.BoolOpt(
        'ssh_allow_unknown_hosts',
        default=False,
        help='Accept, with a warning in the log, a compute host whose key '
             'is not in ssh_known_hosts_file. Nothing then proves that the '
             'host is the one that it claims to be.'),
    cfg.IntOpt(
        'ssh_connect_timeout',
        default=30, min=1,
        help='Seconds until a compute host must have accepted a connection '
             'and the login.'),
    cfg.IntOpt(
        'ssh_command_timeout',
        default=120, min=1,
        help='Seconds until a command on a compute host must have ended. '
             'The longest is the reading of all disks of one server.'),
)

profile_options = (
    cfg.StrOpt(
        'profile',
        default='devstack',
        choices=[
            ('devstack', 'DevStack: nova and libvirt run on the host itself; '
                         'instances lie in /opt/stack/data/nova/instances'),
            ('debian', 'packages of Debian or Ubuntu: nova and libvirt run '
                       'on the host itself, nova-compute as the unit '
                       'nova-compute'),
            ('rdo', 'packages of RDO: the same, with the unit '
                    'openstack-nova-compute'),
            ('kolla-docker', 'kolla-ansible with docker: libvirt runs in the '
                             'container nova_libvirt'),
            ('kolla-podman', 'kolla-ansible with podman: the same'),
            ('openstack-ansible', 'OpenStack-Ansible: nova runs from a '
                                  'virtual environment on the host itself, '
                                  'as the unit nova-compute, and libvirt '
                                  'beside it'),
            ('tripleo', 'TripleO: libvirt runs in the container nova_libvirt '
                        'under podman'),
            ('tripleo-modular', 'TripleO with libvirt\'s modular daemons: the '
                                'same, with the container nova_virtqemud'),
            ('rhoso', 'Red Hat OpenStack Services on OpenShift: nova runs in '
                      'a container under podman, libvirt on the host itself'),
            ('lab', 'the lab of this plugin: the login is root\'s'),
        ],
        help='How the cloud was deployed, and so how to run virsh, qemu-img '
             'and a root shell on its compute hosts and where the instances '
             'lie there. All but "lab" reach root through "sudo -n", and '
             'all but "devstack" have the instances in '
             '/var/lib/nova/instances, inside the container where libvirt '
             'has one. The options that follow replace single values of '
             'the profile; unset, they are as the profile says.'),
    cfg.StrOpt(
        'instances_path',
        help='Path of nova\'s instances directory on the compute hosts '
             '(instances_path in nova.conf), or in the container where there '
             'is a container_name. Unset: as the profile says.'),
    cfg.StrOpt(
        'qemu_log_dir',
        help='Path of the directory in which libvirt keeps QEMU\'s log of '
             'each domain on the compute hosts, or in the container where '
             'there is a container_name. Unset: as the profile says.'),
    cfg.StrOpt(
        'virsh_command',
        help='The command line of virsh with the connection to use, such as '
             '"virsh -c qemu:///system", split into words as a shell does. '
             'sudo_command and the container are put in front of it. Unset: '
             'as the profile says.'),
    cfg.StrOpt(
        'qemu_img_command',
        help='The command line of qemu-img, such as "qemu-img" or a path, '
             'split into words as a shell does. sudo_command, the container '
             'and the resource limits are put in front of it. Unset: as the '
             'profile says.'),
    cfg.StrOpt(
        'observe_command',
        help='The command line of what prints, on the host itself, the report '
             'of the observe script (tempest_format_plugin/hosts/'
             'observe_script.py) when it is given the id of a server as its '
             'only argument, such as '
             '"/usr/local/libexec/disk-format/observe", split into words as a '
             'shell does. sudo_command is put in front of it, so sudo can '
             'allow ssh_user this command alone; virsh, qemu-img, the '
             'container and the instances path are then what the command '
             'says. The role format_host_access installs it. Unset: the '
             'script is sent to python3 on the host, as root.'),
    cfg.StrOpt(
        'root_shell_command',
        help='The command line of a shell that reads a script from its '
             'standard input, such as "sh", split into words as a shell '
             'does; with sudo_command in front it runs as root, on the host '
             'itself. Unset: as the profile says.'),
    cfg.StrOpt(
        'compute_edit_kind',
        choices=[
            ('config-dir', 'a file in a directory that nova-compute is given '
                           'as --config-dir, after its configuration files'),
            ('systemd', 'a drop-in of nova-compute\'s systemd unit, which '
                        'sets the environment variables that oslo.config '
                        'reads before all files'),
            ('in-place', 'lines at the end of nova-compute\'s own '
                         'configuration file, of which a copy is kept'),
        ],
        help='How tests of the safety level reconfigure give nova-compute '
             'other options on a compute host. Whatever it is, it is undone '
             'by the host itself when the runner ends or is not heard of for '
             '20 seconds. Unset: as the profile says.'),
    cfg.StrOpt(
        'compute_edit_file',
        help='Path, on the compute host, of the file that compute_edit_kind '
             'is done with: one that is not there yet, or for in-place the '
             'last configuration file that nova-compute reads. Unset: as the '
             'profile says.'),
    cfg.StrOpt(
        'compute_edit_scope_command',
        help='What to put in front of the command that guards such an edit, '
             'so that the end of the login does not end it, such as '
             '"systemd-run --quiet --scope --collect", split into words as a '
             'shell does; it runs as root. Empty: nothing. Unset: as the '
             'profile says.'),
    cfg.StrOpt(
        'compute_restart_command',
        help='The command line that restarts nova-compute on the host, split '
             'into words as a shell does; it runs as root. Unset: as the '
             'profile says.'),
    cfg.StrOpt(
        'compute_running_command',
        help='The command line that succeeds if nova-compute runs on the '
             'host, split into words as a shell does; it runs as root. Unset: '
             'as the profile says.'),
    cfg.StrOpt(
        'compute_log_command',
        help='The command line that prints the end of nova-compute\'s log on '
             'the host, split into words as a shell does; it runs as root. '
             'Unset: as the profile says.'),
    cfg.StrOpt(
        'sudo_command',
        help='What to put in front of a command so that it runs as root, '
             'such as "sudo -n", split into words as a shell does; it must '
             'not ask for a password. Empty: nothing, for a login that is '
             'root\'s. Unset: as the profile says.'),
    cfg.StrOpt(
        'container_runtime',
        choices=[('podman', 'podman exec'), ('docker', 'docker exec'),
                 ('', 'no container')],
        help='What runs the container in which libvirt lives on the compute '
             'hosts. Goes with container_name. Unset: as the profile says.'),
    cfg.StrOpt(
        'container_name',
        help='The name of the container in which libvirt lives on the compute '
             'hosts, such as nova_libvirt: virsh, qemu-img, prlimit and '
             'python3 are run inside it, and nova\'s instances must be at '
             'instances_path there. Goes with container_runtime. Empty: no '
             'container. Unset: as the profile says.'),
)

guest_options = (
    cfg.Opt(
        'boot_marker',
        type=RegularExpression(),
        default=r'\blogin:|FORMAT-GUEST ready\b',
        help='Regular expression (Python\'s) for what a guest writes to its '
             'console, once per boot, when it is up; a "$" is written "$$". '
             'The default fits the login prompt of cirros and of most other '
             'images, and the guest of the lab. A server has booted when the '
             'marker occurs in what its console says since the operation '
             'under test; ACTIVE proves nothing.'),
    cfg.IntOpt(
        'boot_timeout',
        default=300, min=1,
        help='Seconds after which a guest that has not written boot_marker '
             'is taken not to have booted. Longer than the slowest healthy '
             'boot, since a guest that stays silent is a verdict.'),
    cfg.IntOpt(
        'boot_poll_interval',
        default=2, min=1,
        help='Seconds between two readings of a server\'s console.'),
    cfg.IntOpt(
        'heartbeat_timeout',
        default=60, min=1,
        help='Seconds within which a guest that writes heartbeats to its '
             'console (the guest of the lab: one each second, each with a '
             'write to its root disk) must have written two more. Guests '
             'without heartbeats are not asked.'),
)

volume_options = (
    cfg.StrOpt(
        'nfs_volume_type',
        help='The name of a cinder volume type whose volumes lie on NFS, with '
             'nfs_snapshot_support set (cinder/volume/drivers/nfs.py). Unset: '
             'the scenarios about snapshots on NFS are skipped; those about '
             'images of volume-backed servers take the default type.'),
    cfg.BoolOpt(
        'raw_images_allowed',
        default=True,
        help='Whether glance takes raw images: [image_format] disk_formats of '
             'glance-api.conf has raw. Where it does not, the scenarios about '
             'images of volume-backed servers are skipped but for the one '
             'about such a glance.'),
    cfg.IntOpt(
        'settle_timeout',
        default=10, min=0,
        help='Seconds for which a disagreement about a server with volumes '
             'must last. cinder calls a snapshot available a moment before '
             'nova has written down what became of the attachment.'),
)

operation_options = (
    cfg.IntOpt(
        'operation_timeout',
        default=300, min=1,
        help='Seconds until an operation on a server (cold migration, '
             'live migration, resize, confirm, revert, stop, start, rebuild, '
             'shelve) must have brought it to the status that it should end '
             'in; and until a volume, snapshot or image must be ready or '
             'gone.'),
    cfg.IntOpt(
        'flavor_ram',
        default=256, min=1,
        help='Memory, in MiB, of the flavor that the scenarios make.'),
    cfg.IntOpt(
        'flavor_vcpus',
        default=1, min=1,
        help='Virtual CPUs of the flavor that the scenarios make.'),
    cfg.IntOpt(
        'flavor_disk',
        default=1, min=1,
        help='Size, in GiB, of the root disk of the flavor that the '
             'scenarios make; at least the virtual size of [compute] '
             'image_ref. A scenario that resizes makes a second flavor with '
             '1 GiB more.'),
    cfg.IntOpt(
        'flavor_ephemeral',
        default=1, min=1,
        help='Size, in GiB, of the ephemeral disk of the flavor that the '
             'scenarios make. Never 0: the disk is part of the scenarios.'),
    cfg.IntOpt(
        'flavor_swap',
        default=64, min=1,
        help='Size, in MiB, of the swap disk of the flavor that the '
             'scenarios make. Never 0: the disk is part of the scenarios.'),
)

OPTION_GROUPS = (
    (disk_format_group,
     verdict_options + safety_options + compute_host_options
     + profile_options + guest_options + volume_options + operation_options),
)

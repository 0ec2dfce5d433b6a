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

import dataclasses
import os.path
import shlex

import fixtures
import paramiko
from tempest.common import utils
from tempest.lib.common.utils import data_utils
from tempest.lib import decorators

from tempest_format_plugin import cloud
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import least_privilege
from tempest_format_plugin.hosts import profile as profiles
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.scenario import base

# A container's root is that of the host, without what is mounted below it.
# The tools have another path inside, where the host has none. Without systemd
# or control groups of its own, and without the right to raise a limit, podman
# asks for much.
INSIDE = '/opt/inside'
START_CONTAINER = """
D={directory}
[ ! -e /etc/containers/storage.conf ] || exit 3
mkdir $D $D/root
[ -e /run/libpod ] || touch $D/first
mkdir -p /etc/containers
printf '[storage]\\ndriver = "vfs"\\nrunroot = "%s"\\ngraphroot = "%s"\\n' \\
    $D/run $D/graph > /etc/containers/storage.conf
mountpoint -q /sys/fs/cgroup || {{
    mount -t cgroup2 disk-format /sys/fs/cgroup
    touch $D/mounted
}}
mount --bind / $D/root
podman run --detach --name {name} --rootfs --runtime crun --privileged \\
    --cgroups disabled --network host \\
    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \\
    --volume /run/libvirt:/run/libvirt \\
    --volume /usr/bin/virsh:{inside}/virsh:ro \\
    --volume /usr/bin/qemu-img:{inside}/qemu-img:ro \\
    $D/root sleep infinity < /dev/null
"""
# Each part for itself, whatever came of the one before; but while the host's
# root is mounted there, nothing is removed below.
REMOVE_CONTAINER = """
D={directory}
[ -e $D ] || exit 0
podman rm --force --time 0 {name} < /dev/null
! mountpoint -q $D/root || umount $D/root || exit 1
rmdir $D/root
[ ! -e $D/mounted ] || umount /sys/fs/cgroup
rm -f /etc/containers/storage.conf
[ ! -e $D/first ] || rm -rf /run/crun /run/libpod
rm -rf --one-file-system $D/run $D/graph
rm -f $D/first $D/mounted {inside}/virsh {inside}/qemu-img
rmdir $D {inside}
"""
MAKE_USER = """
useradd --create-home --shell /bin/sh {user}
usermod --password '*' {user}
mkdir -p /home/{user}/.ssh
cat > /home/{user}/.ssh/authorized_keys <<'END'
{key}
END
"""
# What a login has left there takes a moment to end.
REMOVE_USER = """
rm -rf /etc/sudoers.d/{user} {directory}
for second in 0 1 2 3 4 5 6 7 8 9; do
    ! id {user} || userdel --remove {user} || sleep 1
done
! id {user}
"""


class TestHostAccess(base.FormatScenarioTest):
    """What reading needs of a compute host is enough, and nothing else is."""

    needed_hosts = {cloud.ANY: 1}
    damage = 'It makes a user and a container on a compute host'

    def setUp(self):
        super().setUp()
        self.user = data_utils.rand_name('df', prefix='').lower()
        self.libexec = f'/usr/local/libexec/{self.user}'
        self.name = cloud.hosts_of_backend(cloud.ANY)[0]
        self.host = cloud.compute_hosts().get(self.name)

    @decorators.idempotent_id('4e0f6c5b-7a53-4a38-9f0b-0cf5a47b5f6a')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_least_privileges(self):
        """A user with what ``tempest disk-format sudoers`` prints can observe.

        1. Boot a server: all agree.
        2. Make a user on its host, who may do nothing there, and install what
           ``--show install`` prints.
        3. Observe the server as this user: the same is found. Read the end of
           QEMU's log.
        4. All else that is nearly one of these is refused.
        5. The same with the rules for an old sudo.
        """
        self.boot_observed()
        self.make_user()
        own = dataclasses.replace(
            self.host.profile, sudo=('sudo', '-n'),
            observe=(f'{self.libexec}/observe',))
        host = self.login(own)
        self.expect_refused(host, own)
        self.assertRaises(exceptions.HostAccessError, host.observe,
                          self.server)
        for expressions in (True, False):
            self.install(own, expressions)
            self.expect_same(host)
            self.expect_refused(host, own)

    @decorators.idempotent_id('0a0d1a39-2f43-4a4e-a94e-54b2b21ac3a4')
    @decorators.attr(type='slow')
    @utils.services('compute', 'image')
    def test_container(self):
        """The same where virsh and qemu-img are in a container alone.

        1. Boot a server: all agree.
        2. Start a container on its host, with podman, that has them.
        3. Observe the server by the profile kolla-podman, as a user who may
           do everything: the same is found. Read the end of QEMU's log.
        4. The same by the least privileges, and all else is refused.
        5. Stop the container: the error says so, and by which option.
        """
        self.boot_observed()
        self.make_user()
        self.start_container()
        own = profiles.get(
            'kolla-podman', container_name=self.user,
            virsh=f'{INSIDE}/virsh -c qemu:///system',
            qemu_img=f'{INSIDE}/qemu-img',
            instances_path=self.host.profile.instances_path,
            qemu_log_dir=self.host.profile.qemu_log_dir)
        self.as_root(f'echo {self.user} "ALL=(root) NOPASSWD: ALL" '
                     f'> /etc/sudoers.d/{self.user}')
        host = self.login(own)
        self.expect_same(host)
        # What they are mounted on is seen on the host, and empty.
        look = f'find {INSIDE} -type f -size +0 | wc -l'
        self.assertEqual('2\n', host.instances_shell(look).stdout)
        self.assertEqual('0\n', host.root_shell(look).stdout)
        least = dataclasses.replace(own, observe=(f'{self.libexec}/observe',))
        self.install(least)
        host = self.login(least)
        self.expect_same(host)
        self.expect_refused(host, least)
        self.as_root(f'echo {self.user} "ALL=(root) NOPASSWD: ALL" '
                     f'> /etc/sudoers.d/{self.user}')
        self.as_root(f'podman stop --time 0 {self.user} < /dev/null')
        host = self.login(own)
        for act in (host.observe, host.qemu_log):
            error = self.assertRaises(exceptions.HostAccessError, act,
                                      self.server)
            self.assertEqual('container_name', error.option)

    # The server

    def boot_observed(self):
        self.server = self.boot_server(self.name)
        self.expect_boot_and_agreement(self.server, 'after-boot')
        self.seen = self.seen_by(self.host)

    def seen_by(self, host):
        """Return what a host knows of the server's disks, but for lengths."""
        found = host.observe(self.server)
        return found.state, [dataclasses.replace(each, length=None)
                             for each in found.observations]

    def expect_same(self, host):
        """Expect a login to find of the server what the tests' own does."""
        self.assertEqual(self.seen, self.seen_by(host))
        self.assertGreater(len(self.seen[1]), 3)
        self.assertIn('-uuid', host.qemu_log(self.domain_name(self.server)))

    def expect_refused(self, host, own):
        """Expect sudo to refuse what is nearly, or more than, an observation.

        :param host: ComputeHost, by whose login it is tried
        """
        observe = shlex.join(own.observe_argv(self.server))
        log = shlex.join(own.qemu_log_argv(self.domain_name(self.server)))
        for command in (
                f'{observe} {self.server}', observe.removesuffix(self.server),
                f'{observe}x', observe.upper().replace('SUDO -N', 'sudo -n'),
                observe.replace(self.server, f'../{self.server}'),
                f'{log} /etc/shadow', f'{log}x', log.replace('500', '501'),
                log.replace('/qemu/', '/qemu/../qemu/'),
                log.replace('-n 500', '-n 500 -f'),
                shlex.join(own.root_shell_argv),
                shlex.join(own.instances_shell_argv),
                f'sudo -n {INSIDE}/virsh list',
                'sudo -n virsh list', 'sudo -n podman ps',
                f'sudo -n podman exec -i {self.user} sh',
                'sudo -n /usr/bin/python3 -', 'sudo -n true',
                'sudo -n -u daemon true', 'sudo -n -i', 'sudo -n -e /etc/x'):
            done = host.connection.run(command)
            self.assertNotEqual(0, done.exit_status, command)
            # By sudo, and before anything is run.
            self.assertRegex(
                done.stderr, 'sudo: a password is required|is not allowed|'
                'sudo: a terminal is required', command)

    # The host

    def as_root(self, script):
        return self.host.root_shell(f'set -e\n{script}').check().stdout

    def clean(self, script):
        self.host.root_shell(script).check()

    def make_user(self):
        """Make a user on the host who may log in there, and no more."""
        key = paramiko.RSAKey.generate(3072)
        self.key_file = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'key')
        key.write_private_key_file(self.key_file)
        self.addCleanup(self.clean, REMOVE_USER.format(
            user=self.user, directory=self.libexec))
        self.as_root(MAKE_USER.format(
            user=self.user, key=f'ssh-rsa {key.get_base64()}'))

    def login(self, own):
        """Return a ComputeHost by a login of the user."""
        connection = ssh.Connection(dataclasses.replace(
            self.host.connection.endpoint, user=self.user,
            key_file=self.key_file))
        self.addCleanup(connection.close)
        return compute_host.ComputeHost(self.name, connection, own)

    def install(self, own, expressions=True):
        """Install what the command prints, in a sudoers file of its own."""
        self.as_root(least_privilege.install(
            own, self.user, expressions=expressions).replace(
                least_privilege.SUDOERS_FILE, f'/etc/sudoers.d/{self.user}'))

    def start_container(self):
        """Start a container, called as the user, with libvirt's tools."""
        values = {'name': self.user, 'inside': INSIDE,
                  'directory': f'/var/lib/{self.user}'}
        self.addCleanup(self.clean, REMOVE_CONTAINER.format(**values))
        self.as_root(START_CONTAINER.format(**values))

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

"""Two hosts as a Zuul job has them, made as the lab makes its nodes."""

import atexit
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import testtools
import yaml

REPO = pathlib.Path(__file__).resolve().parents[3]
START_NODE = REPO / 'roles' / 'format_lab_node' / 'files' / 'start-node'
# The commands of the environment that the tests run in.
BIN = pathlib.Path(sys.executable).parent

# As in bindep.txt: command by Debian package.
NEEDED = {
    'attr': 'setfattr', 'iproute2': 'ip', 'libvirt-clients': 'virsh',
    'openssh-client': 'ssh', 'openssh-server': '/usr/sbin/sshd',
    'python3': '/usr/bin/python3', 'qemu-utils': 'qemu-img', 'sudo': 'visudo',
    'tini': 'tini', 'util-linux': 'nsenter'}

ADDRESSES = {'controller': '10.98.0.10', 'compute1': '10.98.0.11'}
IPV6_ADDRESSES = {'controller': '2001:db8::10', 'compute1': ''}
# As devstack's two-node nodesets have them.
GROUPS = {
    'tempest': ('controller',), 'compute': ('controller', 'compute1'),
    'subnode': ('compute1',), 'switch': ('controller',),
    'peers': ('compute1',)}

# A host of a test must be up in this time, a playbook be through.
START_SECONDS = 60
PLAYBOOK_SECONDS = 600

SSHD_CONFIG = """\
PrintLastLog no
HostKey /etc/ssh/lab_host_ed25519
PidFile /run/sshd.pid
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
Subsystem sftp internal-sftp
"""

# Users as Zuul's images and devstack's pre-run make them. A password that
# nobody knows, but no "!": sshd without PAM takes that for a locked account.
PREPARE = """
set -eu
for user in zuul stack tempest; do
    id -u $user >/dev/null 2>&1 ||
        useradd --create-home --shell /bin/bash $user
    usermod --password '*' $user
done
mkdir -p /opt/stack
chown stack: /opt/stack
install -d -m 700 -o zuul -g zuul /home/zuul/.ssh
install -m 600 -o zuul -g zuul /root/.ssh/authorized_keys /home/zuul/.ssh/
echo 'zuul ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/zuul
chmod 440 /etc/sudoers.d/zuul
# As a compute host's would be: the role reads them, they are this node's own.
rm -f /etc/ssh/ssh_host_*
cp /etc/ssh/lab_host_ed25519 /etc/ssh/ssh_host_ed25519_key
cp /etc/ssh/lab_host_ed25519.pub /etc/ssh/ssh_host_ed25519_key.pub
# Names that aren't in /etc/hosts are nobody's.
rm -f /etc/resolv.conf
: >/etc/resolv.conf
"""

RECAP = re.compile(r'^(?P<host>\S+)\s+: (?P<counts>ok=\d+ .*)$', re.MULTILINE)


class Play:
    """What a run of ansible-playbook came to.

    :ivar counts: {host: {'ok': n, 'changed': n, 'failed': n, ...}}
    """

    def __init__(self, status, output):
        self.status = status
        self.output = output
        self.counts = {
            found['host']: {
                name: int(number) for name, _, number in (
                    word.partition('=') for word in found['counts'].split())}
            for found in RECAP.finditer(output)}

    def total(self, name):
        return sum(counts[name] for counts in self.counts.values())


class RolesTestCase(testtools.TestCase):
    """Base: each class has its own two hosts, controller and compute1.

    Test modules put what is done once into setUpClass, and assert on it in
    tests. Whatever is started ends with the class, however that ends.
    """

    # {host: {variable: value}}, beside what Zuul gives.
    host_vars = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._check_machine()
        # An interrupt in setUpClass ends the tests without class cleanups.
        # What has been done by then isn't done again.
        atexit.register(cls.doClassCleanups)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        # Not below /tmp, which is the nodes' own.
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix='format-roles-',
                                                dir='/var/tmp'))
        cls.addClassCleanup(cls.dir.rmdir)
        cls.addClassCleanup(cls._unmount)
        # The root of a container may be an overlay, which can't be the upper
        # directory of another.
        cls._command('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs',
                     cls.dir)
        cls.netns = f'roles-{os.getpid()}-{cls.dir.name[-4:]}'
        cls.key = cls.dir / 'id_ed25519'
        cls._make_key(cls.key)
        (cls.dir / 'shared').mkdir()
        (cls.dir / 'nodes').mkdir()
        (cls.dir / 'nodes' / 'sshd_config').write_text(SSHD_CONFIG)
        (cls.dir / 'nodes' / 'hosts').write_text(
            '127.0.0.1 localhost\n' + ''.join(
                f'{address} {host}\n' for host, address in ADDRESSES.items()))
        shutil.copy(START_NODE.with_name('supervisord.conf'),
                    cls.dir / 'nodes')
        for host in ADDRESSES:
            cls._start(host)
            cls.run_on(host, PREPARE)
        cls._write_ansible()

    @classmethod
    def _check_machine(cls):
        if os.geteuid() != 0:
            raise RuntimeError(
                'the roles are tested on network and mount namespaces: run '
                'these tests as root')
        missing = [package for package, command in NEEDED.items()
                   if not shutil.which(command)]
        if subprocess.run(['/usr/bin/python3', '-c', 'import apt'],
                          capture_output=True, check=False).returncode:
            # Ansible would fetch it, which the nodes can't.
            missing.append('python3-apt')
        if missing:
            raise RuntimeError('the tests of the roles need these Debian '
                               f'packages: {" ".join(missing)}')

    @classmethod
    def _start(cls, host):
        upper = cls.dir / 'nodes' / host / 'upper'
        for path in ('etc/ssh', 'etc/supervisor.d', 'root/.ssh'):
            (upper / path).mkdir(parents=True)
        # Nothing takes the place of this machine's files.
        (cls.dir / 'over').mkdir(exist_ok=True)
        cls._make_key(upper / 'etc/ssh/lab_host_ed25519')
        public = (upper / 'etc/ssh/lab_host_ed25519.pub').read_text()
        with open(cls.dir / 'known_hosts', 'a') as known_hosts:
            known_hosts.write(f'{ADDRESSES[host]} {public}')
        authorized_keys = upper / 'root/.ssh/authorized_keys'
        shutil.copy(cls.key.with_suffix('.pub'), authorized_keys)
        authorized_keys.chmod(0o600)
        cls.addClassCleanup(cls._stop, host)
        cls._command(START_NODE, host, timeout=START_SECONDS, env={
            'PATH': os.environ['PATH'], 'NETNS': cls.netns,
            'DIR': cls.dir / 'nodes' / host,
            'ADDRESS': f'{ADDRESSES[host]}/24', 'BRIDGE_NODE': 'controller',
            'READ_ONLY': f'{sys.prefix}:{cls.dir}/shared',
            'SHARED': f'{cls.dir}/export:/srv/shared',
            'OVER': cls.dir / 'over',
            'SUPERVISORD': BIN / 'supervisord', 'HIDE_KVM': 'yes'})

    @classmethod
    def _stop(cls, host):
        netns = pathlib.Path('/run/netns') / f'{cls.netns}-{host}'
        try:
            pid = int((cls.dir / 'nodes' / host / 'pid').read_text())
            # It lives in this node's network, or its number is another's now.
            if os.path.samefile(f'/proc/{pid}/ns/net', netns):
                os.kill(pid, signal.SIGKILL)
                while os.path.exists(f'/proc/{pid}'):
                    time.sleep(0.05)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            pass
        if netns.exists():
            cls._command('ip', 'netns', 'del', netns.name)

    @classmethod
    def _unmount(cls):
        for _ in range(50):
            if not os.path.ismount(cls.dir):
                return
            # A namespace that is being torn down may still have it.
            if subprocess.run(['umount', cls.dir], capture_output=True,
                              check=False).returncode:
                time.sleep(0.1)
        cls._command('umount', cls.dir)

    @classmethod
    def _write_ansible(cls):
        (cls.dir / 'ansible.cfg').write_text(textwrap.dedent(f'''\
            [defaults]
            inventory = {cls.dir}/inventory.yaml
            roles_path = {REPO}/roles:{cls.dir}/parents
            home = {cls.dir}/ansible
            retry_files_enabled = false
            nocolor = true
            [ssh_connection]
            pipelining = true
            control_path_dir = {cls.dir}/cp
            ssh_args = -o ControlMaster=auto -o ControlPersist=60s
            '''))
        (cls.dir / 'inventory.yaml').write_text(yaml.safe_dump({'all': {
            'hosts': {host: cls._zuul_vars(host) for host in ADDRESSES},
            'children': {
                group: {'hosts': dict.fromkeys(hosts)}
                for group, hosts in GROUPS.items()},
            'vars': {'zuul': {'branch': 'master'}},
        }}, sort_keys=False))
        cls.addClassCleanup(cls._disconnect)

    @classmethod
    def _zuul_vars(cls, host):
        address = ADDRESSES[host]
        return {
            'ansible_connection': 'ssh', 'ansible_host': address,
            'ansible_port': 22, 'ansible_user': 'zuul',
            'ansible_python_interpreter': '/usr/bin/python3',
            'ansible_ssh_private_key_file': str(cls.key),
            'ansible_ssh_common_args':
                f'-o UserKnownHostsFile={cls.dir}/known_hosts '
                '-o StrictHostKeyChecking=yes -o IdentitiesOnly=yes',
            'nodepool': {
                'az': None, 'cloud': 'none', 'external_id': host,
                'host_id': None, 'interface_ip': address, 'label': 'lab',
                'private_ipv4': address, 'private_ipv6': None,
                'provider': 'none', 'public_ipv4': address,
                'public_ipv6': IPV6_ADDRESSES[host], 'region': None,
                'slot': None},
        } | cls.host_vars.get(host, {})

    @classmethod
    def _disconnect(cls):
        """End the SSH connections that Ansible keeps for the next run."""
        for socket in (cls.dir / 'cp').glob('*'):
            subprocess.run(['ssh', '-O', 'exit', '-S', socket, 'none'],
                           capture_output=True, check=False)

    @classmethod
    def _make_key(cls, path):
        cls._command('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', path)

    @classmethod
    def _command(cls, *argv, **kwargs):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False,
                              text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, **kwargs)
        if done.returncode:
            raise RuntimeError(f'{" ".join(map(str, argv))} ended with '
                               f'{done.returncode}: {done.stdout}')
        return done.stdout

    @classmethod
    def run_on(cls, host, script, *arguments):
        """Run a shell script on a host, as root; return its output.

        :raises RuntimeError: it ended with another status than 0
        """
        pid = (cls.dir / 'nodes' / host / 'pid').read_text().strip()
        return cls._command(
            'nsenter', '--target', pid, '--mount', '--uts', '--ipc', '--net',
            '--pid', 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
            'HOME=/root', 'LANG=C.UTF-8', 'sh', '-c', script, 'sh',
            *arguments)

    @classmethod
    def write(cls, host, path, text, mode='0644'):
        """Write a file on a host, and its directory where that is missing."""
        cls.run_on(host, 'mkdir -p "$(dirname "$1")"; printf %s "$2" >"$1"; '
                         'chmod "$3" "$1"', path, text, mode)

    @classmethod
    def read(cls, host, path):
        return cls.run_on(host, 'cat "$1"', path)

    @classmethod
    def play(cls, hosts, tasks, expect=0, **variables):
        """Run tasks on hosts as Zuul would run a job's playbook.

        :param tasks: [{'ansible.builtin.include_role': ...}, ...]
        :param variables: as a job's vars
        :returns: a Play
        :raises RuntimeError: ansible-playbook ended with another status
        """
        playbook = cls.dir / 'playbook.yaml'
        playbook.write_text(yaml.safe_dump([{
            'name': 'A play of the tests', 'hosts': hosts, 'tasks': tasks,
            # Zuul gathers facts, but more than any role here asks for.
            'gather_subset': ['min']}]))
        return cls.playbook(playbook, expect, **variables)

    @classmethod
    def playbook(cls, path, expect=0, **variables):
        """Run a playbook, see play."""
        extra = cls.dir / 'extra.yaml'
        extra.write_text(yaml.safe_dump(variables))
        done = subprocess.run(
            ['nsenter', f'--net=/run/netns/{cls.netns}-controller',
             BIN / 'ansible-playbook', path, '-e', f'@{extra}'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
            timeout=PLAYBOOK_SECONDS, cwd=cls.dir, env={
                'PATH': os.environ['PATH'], 'HOME': str(cls.dir),
                'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8',
                'ANSIBLE_CONFIG': f'{cls.dir}/ansible.cfg'})
        if done.returncode != expect:
            raise RuntimeError(f'ansible-playbook ended with '
                               f'{done.returncode}: {done.stdout}')
        return Play(done.returncode, done.stdout)

    def assert_changes(self, *plays):
        for play in plays:
            self.assertGreater(play.total('changed'), 0, play.output)

    def assert_no_changes(self, *plays):
        for play in plays:
            self.assertEqual(0, play.total('changed'), play.output)

    @classmethod
    def role(cls, hosts, name, tasks_from='main', expect=0, **variables):
        """Run a role, see play."""
        return cls.play(hosts, [{
            'name': f'The role {name}', 'ansible.builtin.include_role': {
                'name': name, 'tasks_from': tasks_from}}], expect, **variables)

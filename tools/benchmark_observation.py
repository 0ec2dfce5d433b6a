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

"""What do one observation and an audit of servers with four disks cost?

Needs a cloud and its tempest.conf: `tox -e lab -- benchmark` on a lab that
is up. Compares, in one run and turn by turn, so that a slow moment of the
machine hits both:

- one observation, over the connection that the process keeps;
- the same remote commands as scripts usually run them, as root (through
  root_shell_command: ssh_user need not be allowed each of them) and each over
  a connection of its own.

Fails if an observation takes more than LIMIT times the slowest of those.

An audit of SERVERS servers of one host is measured in the same way, with its
login: beside the same commands and `ls`, each over a connection of its own.
Fails if it takes more than AUDIT_LIMIT times that.
"""

import dataclasses
import statistics
import sys
import tempfile
import time
import unittest

from tempest_format_plugin.audit import fleet
from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.audit import walk
from tempest_format_plugin import cloud
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.scenario import base
from tempest_format_plugin.tests.scenario import servers

ROUNDS = 15
LIMIT = 1.5
SERVERS = 3
AUDIT_ROUNDS = 5
AUDIT_LIMIT = 0.5


def seconds(function, *args):
    started = time.perf_counter()
    function(*args)
    return time.perf_counter() - started


def own_connection(host, command):
    connection = ssh.Connection(host.connection.endpoint)
    own = compute_host.ComputeHost(host.name, connection, host.profile)
    own.root_shell(command).check()
    own.close()


class Benchmark(base.FormatScenarioTest):

    needed_hosts = {'raw': 1}

    def test_observation(self):
        name = cloud.hosts_of_backend('raw')[0]
        server = self.boot_server(name)
        self.expect_boot_and_agreement(server, 'before-the-benchmark')
        host = cloud.compute_hosts().get(name)
        self.assertEqual(len(servers.LOCAL_DISKS),
                         len(host.observe(server).disks()))
        commands = list(remote_commands(host, server))

        observed, alone, kept = [], [[] for _ in commands], [
            [] for _ in commands]
        for _ in range(ROUNDS):
            observed.append(seconds(host.observe, server))
            for number, command in enumerate(commands):
                alone[number].append(
                    seconds(own_connection, host, command))
                kept[number].append(seconds(host.root_shell, command))
        ratio = report(commands, observed, alone, kept)
        self.assertLessEqual(ratio, LIMIT)

    def test_audit(self):
        name = cloud.hosts_of_backend('raw')[0]
        ids = [self.boot_server(name) for _ in range(SERVERS)]
        for server in ids:
            self.expect_boot_and_agreement(server, 'before-the-benchmark')
        host = cloud.compute_hosts().get(name)
        directory = host.profile.instances_path
        commands = [command for server in ids for command in (
            f'ls {directory}/{server}', *remote_commands(host, server))]

        audits, alone = [], []
        for _ in range(AUDIT_ROUNDS):
            audits.append(seconds(self.audit, ids))
            alone.append(sum(seconds(own_connection, host, command)
                             for command in commands))
        audit, common = map(statistics.median, (audits, alone))
        print(f'an audit of {SERVERS} servers, {AUDIT_ROUNDS} rounds: '
              f'{audit:.3f} s / {len(commands)} commands, each over a '
              f'connection of its own ({common:.3f} s) = '
              f'{audit / common:.2f}')
        self.assertLessEqual(audit / common, AUDIT_LIMIT)

    def audit(self, ids):
        """What the command does between its start and its report."""
        observer = fleet.Observer(self.os_admin)
        with tempfile.TemporaryDirectory() as directory, journals.opened(
                f'{directory}/journal') as journal:
            journal.begin([], 'now', fleet.servers(
                self.os_admin.servers_client, ids=ids))
            walk.walk(journal, observer.observe, observer.leave, 1)
            self.assertEqual(len(ids), journal.counts()[journals.AGREES])


def remote_commands(host, server):
    """The commands that an observation stands for, one by one."""
    profile = dataclasses.replace(host.profile, sudo=())
    directory = f'{profile.instances_path}/{server}'
    virsh = ' '.join(profile.virsh_argv)
    qemu_img = ' '.join(profile.qemu_img_argv)
    yield f'{virsh} domstate {server}'
    yield f'{virsh} dumpxml {server}'
    yield f'{virsh} dumpxml --inactive {server}'
    yield f'cat {directory}/disk.info'
    for disk in ('disk', 'disk.eph0', 'disk.swap', 'disk.config'):
        yield (f'{qemu_img} info --force-share --output=json '
               f'{directory}/{disk}')


def report(commands, observed, alone, kept):
    """Print all ratios; return that to the slowest command, alone."""
    observation = statistics.median(observed)
    of_alone = [statistics.median(times) for times in alone]
    of_kept = [statistics.median(times) for times in kept]
    print(f'medians of {ROUNDS} rounds, {len(servers.LOCAL_DISKS)} disks; '
          f'seconds')
    print('alone: over a connection of its own; kept: over the kept one')
    for command, one, other in zip(commands, of_alone, of_kept):
        print(f'  alone {one:.3f}  kept {other:.3f}  {command[:60]}')
    print(f'one observation: {observation:.3f}')
    for title, value in (
            ('the slowest command, alone', max(of_alone)),
            ('all commands, alone', sum(of_alone)),
            ('the slowest command, kept', max(of_kept)),
            ('all commands, kept', sum(of_kept))):
        print(f'  / {title} ({value:.3f}) = {observation / value:.2f}')
    return observation / max(of_alone)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
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

"""How does an audit grow with the hosts and disks of a cloud?

Needs nothing but this repository, its requirements and those of its tests,
which tox's environment py3 has::

    .tox/py3/bin/python tools/benchmark_audit.py [HOSTS DISKS]

Audits simulated fleets of 10 hosts and DISKS / HOSTS disks a host, then ten
times as many hosts, up to HOSTS (1000) and DISKS (50000): each host a
connection of its own to an SSH server in this process, which answers each
command with the same recorded report of four disks. It is Python as well, and
takes most of the time: what is told is a lower bound.

Fails if a server of the largest fleet takes more than LIMIT times as long as
one of the smallest, or if the audit's process needs more than LIMIT times the
memory.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import uuid

from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.audit import walk
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit.hosts import fakes

LIMIT = 1.5
DISKS_PER_SERVER = 4
HOSTS_AT_ONCE = 20
REPORT = (pathlib.Path(fakes.__file__).parents[1] / 'samples'
          / 'host_report-qcow2.json')


def audit(hosts, servers, endpoint):
    """Audit a fleet; print figures as JSON.

    They are seconds, seconds of the processor, peak memory in MiB.
    """
    target = ssh.Endpoint(**endpoint)
    lab = profile.get('lab', observe=f'sh -c "cat {REPORT}"')
    fleet = compute_host.ComputeHosts(lambda host: target, lambda host: lab)
    with tempfile.TemporaryDirectory() as directory, journals.opened(
            f'{directory}/journal') as journal:
        journal.begin([], 'now', (
            (str(uuid.UUID(int=number)), f'host-{number % hosts}', 'project',
             []) for number in range(servers)))
        before = time.process_time()
        started = time.monotonic()
        walk.walk(journal, lambda host, server, _: fleet.get(host).observe(
            server), fleet.forget, HOSTS_AT_ONCE)
        seconds = time.monotonic() - started
        own = time.process_time() - before
        if journal.counts()[journals.AGREES] != servers:
            sys.exit(f'expected {servers} servers that agree, found '
                     f'{journal.counts()}: {next(journal.unknown(), None)}')
    print(json.dumps([seconds, own, resource.getrusage(
        resource.RUSAGE_SELF).ru_maxrss / 1024]))


def main():
    if sys.argv[1:2] == ['fleet']:
        hosts, servers = map(int, sys.argv[2:4])
        return audit(hosts, servers, json.loads(sys.argv[4]))
    most_hosts, most_disks = map(int, sys.argv[1:] or (1000, 50000))
    figures = []
    with fakes.SshServer() as server:
        # As of a real fleet: a line for each host.
        with open(server.known_hosts, 'a') as known:
            for number in range(most_hosts):
                known.write(f'host-{number} {server.host_key.get_name()} '
                            f'{server.host_key.get_base64()}\n')
        endpoint = server.endpoint()
        arguments = json.dumps({
            name: str(value) if isinstance(value, pathlib.Path) else value
            for name, value in vars(endpoint).items()})
        hosts = 10
        while hosts <= most_hosts:
            servers = most_disks // DISKS_PER_SERVER * hosts // most_hosts
            ended = subprocess.run(
                [sys.executable, __file__, 'fleet', str(hosts), str(servers),
                 arguments], stdout=subprocess.PIPE, check=True)
            seconds, own, memory = json.loads(ended.stdout)
            figures.append((seconds / servers, memory))
            print(f'{hosts:5} hosts, {servers * DISKS_PER_SERVER:6} disks: '
                  f'{seconds:6.1f} s, of which the audit computes {own:5.1f}; '
                  f'{servers * DISKS_PER_SERVER / seconds:5.0f} disks/s, '
                  f'{memory:4.0f} MiB', flush=True)
            hosts *= 10
    time_ratio, memory_ratio = (
        last / first for first, last in zip(figures[0], figures[-1]))
    print(f'the largest beside the smallest: time of a server '
          f'{time_ratio:.2f}, memory {memory_ratio:.2f}')
    return max(time_ratio, memory_ratio) > LIMIT


if __name__ == '__main__':
    sys.exit(main())

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

"""Does anything of a test stay behind, on the cloud or on its hosts?"""

import itertools
import json
import os
import pathlib
import subprocess
import time

import psutil
from tempest_format_plugin import results

from format_lab import exceptions
from format_lab import places
from format_lab import processes

# What a job lists a devstack's cloud with.
TAKE_STOCK = (places.REPO / 'roles' / 'format_leftovers' / 'files'
              / 'take_stock.py')

# What is deleted may take some seconds to be gone.
SECONDS = 60
PAUSE = 3

# By kind: where it lies on a node. nova's cache of images is no leftover.
FILES = {
    'instance directory': ('var/lib/nova/instances/*',),
    'libvirt domain': ('etc/libvirt/qemu/*.xml',),
    'image file': ('var/lib/glance/*/*', 'var/lib/cinder/conversion/*'),
}
STAYING = frozenset(('_base', 'compute_nodes', 'locks'))


def take_stock(lab):
    """Return what is on a cloud and on its hosts: {kind: {id: name}}.

    :raises LabError: a service doesn't answer
    """
    control = lab.node_dir('control')
    # Where this points is the environment that has the lab's own tools.
    tools = os.readlink(control / 'usr/local/bin/supervisorctl')
    listed = subprocess.run(
        lab.in_cloud(pathlib.Path(tools).with_name('python'), TAKE_STOCK),
        env=os.environ | _credentials(lab), check=False, capture_output=True,
        text=True)
    if listed.returncode:
        raise exceptions.LabError(
            f'what the cloud {lab.cloud} has can\'t be listed: '
            f'{processes.last_line(listed.stderr)}')
    return json.loads(listed.stdout) | _on_hosts(lab)


def wait(lab, before):
    """Return a line for each thing that wasn't there before and stays.

    What can't be listed may be there: that is a line too.

    :param before: what take_stock has returned
    """
    started = time.monotonic()
    while (left := _look(lab, before)) and (
            time.monotonic() - started < SECONDS):
        time.sleep(PAUSE)
    return left


def verdict(left):
    """Return the Verdict on what wait has found."""
    return results.Verdict(
        test='format_lab.Leftovers.nothing_stays_behind',
        verdict=results.FAILED if left else results.AGREES, bug='', seconds=0,
        reason=f'left behind: {"; ".join(left)}' if left else '', tables={})


def _credentials(lab):
    return {
        'OS_AUTH_URL': f'http://{lab.nodes()["control"]}:5000/v3',
        'OS_USERNAME': 'admin', 'OS_PROJECT_NAME': 'admin',
        'OS_PASSWORD': (lab.cloud_dir / 'passwords' / 'admin').read_text()
                       .strip(),
        'OS_USER_DOMAIN_ID': 'default', 'OS_PROJECT_DOMAIN_ID': 'default',
        'OS_REGION_NAME': 'RegionOne',
    }


def _on_hosts(lab):
    found = {kind: {} for kind in FILES}
    for node in lab.nodes():
        root = lab.node_dir(node)
        for kind, patterns in FILES.items():
            for path in itertools.chain(*map(root.glob, patterns)):
                if path.name not in STAYING:
                    found[kind][f'{node}:/{path.relative_to(root)}'] = ''
    export = lab.cloud_dir / 'export'
    found['volume file'] = {
        str(path.relative_to(export)): '' for path in export.rglob('*')
        if path.is_file()}
    found['guest'] = dict(_guests(lab))
    return found


def _guests(lab):
    for process in lab.processes():
        try:
            if process.name().startswith('qemu-system'):
                argv = process.cmdline()
                yield f'process {process.pid}', argv[argv.index('-name') + 1]
        except (psutil.Error, ValueError, IndexError):
            continue


def _look(lab, before):
    try:
        after = take_stock(lab)
    except exceptions.LabError as error:
        return [str(error)]
    return [f'{kind} {one} ({name})' if name else f'{kind} {one}'
            for kind, those in after.items() for one, name in those.items()
            if one not in before.get(kind, {})]

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

"""Print what the servers of a cloud have on this host, as JSON.

{kind: {id: name}}, as take_stock.py does for the cloud itself. Needs nothing
but the standard library and runs on Python 3.6. Its only argument is a JSON
document, see the role's variables::

  {"files": {kind: [glob pattern, ...]}, "staying": [file name, ...],
   "mount_dirs": [path, ...], "virsh": [argument, ...] or empty}
"""

import glob
import json
import os
import re
import subprocess
import sys


def files(patterns, staying):
    return {path: '' for pattern in patterns for path in glob.glob(pattern)
            if os.path.basename(path) not in staying}


def mounts(directories, mountinfo):
    """What is mounted below any of some directories: {path: source}.

    :param mountinfo: text of /proc/<pid>/mountinfo
    """
    found = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(' - ')
        # Blanks and the like are octal there.
        path, source = (
            re.sub(r'\\([0-7]{3})',
                   lambda found: chr(int(found.group(1), 8)), word)
            for word in (left.split()[4], right.split()[1]))
        if any(path.startswith(directory.rstrip('/') + '/')
               for directory in directories):
            found[path] = source
    return found


def domains(virsh):
    """Every libvirt domain, running or not: {uuid: name}."""
    listed = subprocess.run(
        virsh + ['list', '--all', '--uuid', '--name'], check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL='C'))
    if listed.returncode:
        sys.exit('{}: {}'.format(' '.join(virsh), listed.stderr.decode(
            'utf-8', 'replace').strip()))
    return dict(line.split(None, 1) for line in listed.stdout.decode(
        'utf-8', 'replace').splitlines() if line.strip())


def guests(proc):
    """Every process of QEMU: {process id: name of the guest or ''}.

    :param proc: path of procfs
    """
    found = {}
    for path in glob.glob(os.path.join(proc, '[0-9]*', 'cmdline')):
        try:
            with open(path, 'rb') as source:
                argv = source.read().decode('utf-8', 'replace').split('\0')
        except (FileNotFoundError, ProcessLookupError):
            # It has ended meanwhile.
            continue
        if os.path.basename(argv[0]).startswith(('qemu-system-', 'qemu-kvm')):
            found[path.split('/')[-2]] = (
                argv[argv.index('-name') + 1] if '-name' in argv else '')
    return found


def main(arguments):
    settings = json.loads(arguments[0])
    found = {kind: files(patterns, settings['staying'])
             for kind, patterns in settings['files'].items()}
    with open('/proc/self/mountinfo') as source:
        found['mount'] = mounts(settings['mount_dirs'], source.read())
    found['process of QEMU'] = guests('/proc')
    if settings['virsh']:
        found['libvirt domain'] = domains(settings['virsh'])
    json.dump(found, sys.stdout)


if __name__ == '__main__':
    main(sys.argv[1:])

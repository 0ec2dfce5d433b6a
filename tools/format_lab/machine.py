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

"""Is this machine fit for the lab? Whatever isn't is said in one line."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

import psutil
import yaml

from format_lab import exceptions
from format_lab import places
from format_lab import processes

MEMORY_GIB = 6
DISK_GIB = 8
SUPPORTED_SYSTEMS = {('debian', '12'), ('debian', '13')}


def check_root():
    """Refuse whoever may not do what the lab does."""
    if os.geteuid() != 0:
        raise exceptions.LabError(
            'the lab makes network namespaces: run it as root')


def check_machine(directory):
    """Refuse at once, in one line, a machine that the lab can't run on."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$',
                              pathlib.Path('/etc/os-release').read_text(),
                              re.MULTILINE))
    system = release.get('ID'), release.get('VERSION_ID')
    if system not in SUPPORTED_SYSTEMS:
        raise exceptions.LabError(
            f'the lab runs on Debian 12 or 13, this is '
            f'{release.get("PRETTY_NAME", "unknown")}: use a virtual machine')
    if platform.machine() != 'x86_64':
        raise exceptions.LabError(
            f'the lab\'s guest is for x86_64, this machine is '
            f'{platform.machine()}: use another')
    memory = psutil.virtual_memory().available / 2 ** 30
    if memory < MEMORY_GIB:
        raise exceptions.LabError(
            f'the lab needs {MEMORY_GIB} GiB of free memory, there are '
            f'{memory:.1f}: end something or use a larger machine')
    directory.mkdir(parents=True, exist_ok=True)
    disk = shutil.disk_usage(directory).free / 2 ** 30
    if disk < DISK_GIB:
        raise exceptions.LabError(
            f'the lab needs {DISK_GIB} GiB of free disk in {directory}, there '
            f'are {disk:.1f}: free some or name another place with '
            f'FORMAT_LAB_DIR')


def check_isolation(directory):
    """Refuse, in one line, a machine that nodes can't be made on."""
    namespaces = subprocess.run(
        ['unshare', '--net', '--mount', '--uts', '--ipc', '--pid', '--fork',
         'true'], check=False, capture_output=True, text=True)
    if namespaces.returncode:
        raise exceptions.LabError(
            f'this machine makes no namespaces '
            f'({processes.last_line(namespaces.stderr)}): use a virtual '
            f'machine or a privileged container')
    with tempfile.TemporaryDirectory(dir=directory) as trial:
        for name in ('upper', 'work', 'root'):
            os.mkdir(f'{trial}/{name}')
        # In a namespace of its own: it goes with the process.
        overlay = subprocess.run(
            ['unshare', '--mount', 'mount', '-t', 'overlay', 'overlay', '-o',
             f'lowerdir=/,upperdir={trial}/upper,workdir={trial}/work',
             f'{trial}/root'], check=False, capture_output=True, text=True)
    if overlay.returncode:
        raise exceptions.LabError(
            f'the file system of {directory} takes no overlay '
            f'({processes.last_line(overlay.stderr)}): name a place on ext4 '
            f'or XFS with FORMAT_LAB_DIR')


def check_packages(venvs):
    """Refuse, in one line, a machine whose packages can't be had.

    Asks only where something is missing: a lab that has all it needs comes
    up without any network.

    :param venvs: where the services' packages are installed
    """
    defaults = yaml.safe_load(
        (places.REPO / 'roles/format_lab_host/defaults/main.yaml').read_text())
    installed = subprocess.run(
        ['dpkg-query', '--show', '--showformat', '${db:Status-Status}\n',
         *defaults['format_lab_host_packages']],
        check=False, capture_output=True, text=True)
    if installed.returncode or set(installed.stdout.split()) != {'installed'}:
        update = subprocess.run(['apt-get', '-qq', 'update'], check=False,
                                capture_output=True, text=True)
        # One of several sources may be down: what counts is whether all
        # packages are to be had.
        trial = subprocess.run(
            ['apt-get', '-qq', '--simulate', '--no-install-recommends',
             'install', *defaults['format_lab_host_packages']],
            check=False, capture_output=True, text=True)
        if trial.returncode:
            raise exceptions.LabError(
                f'Debian packages are missing and can\'t be had: see /etc/apt '
                f'({processes.last_line(update.stderr + trial.stderr)})')
    if all(map(is_complete, venvs)):
        return
    resolve = subprocess.run(
        [places.BIN / 'uv', 'pip', 'compile', '--quiet', '-'], check=False,
        input='pbr', capture_output=True, text=True)
    if resolve.returncode:
        raise exceptions.LabError(
            f'Python packages are missing and no index answers: name one with '
            f'UV_DEFAULT_INDEX ({processes.last_line(resolve.stderr)})')


def is_complete(venv):
    """Whether all of an environment is installed."""
    return (venv / 'complete').exists()


def netns_is_mounted():
    """Whether NETNS is a mount; a bind of a directory is no ismount()."""
    mounts = pathlib.Path('/proc/self/mountinfo').read_text().splitlines()
    return any(mount.split()[4] == str(places.NETNS) for mount in mounts)

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

"""The releases that services can be of: playbooks/lab/releases."""

import re
import subprocess

from format_lab import exceptions
from format_lab import places

# What PyPI calls each service of the lab.
PACKAGES = {'keystone': 'keystone', 'glance': 'glance',
            'placement': 'openstack-placement', 'neutron': 'neutron',
            'nova': 'nova', 'cinder': 'cinder'}


def names():
    """Return the names of all releases."""
    return sorted(path.stem for path in places.RELEASES.glob('*.in'))


def versions(release):
    """Return {service: version} of a release, '' where it pins none."""
    pins = dict(re.findall(r'^([\w-]+)(?:==([\w.]+))?$',
                           _source(release).read_text(), re.MULTILINE))
    return {service: pins[package] for service, package in PACKAGES.items()
            if package in pins}


def of_service(service):
    """Return the names of the releases that have a service."""
    return [release for release in names() if service in versions(release)]


def lock_file(release):
    """Return the path of a release's lock file.

    :raises LabError: it has never been made
    """
    path = _source(release).with_name(f'{release}.lock')
    if not path.exists():
        raise exceptions.LabError(f'release {release} has no lock file: make '
                                  f'it with tox -e lab -- lock {release}')
    return path


def lock(release):
    """Resolve a release anew, as of the date in its file's first line.

    :returns: uv's exit status
    """
    source = _source(release)
    date = re.match(r'# As of (\S+)', source.read_text())
    if date is None:
        raise exceptions.LabError(
            f'{source}: the first line must be "# As of DATE"')
    return subprocess.run(
        [places.BIN / 'uv', 'pip', 'compile', source.name,
         '-o', f'{release}.lock', '--universal', '--python-version', '3.11',
         '--generate-hashes', '--upgrade', '--quiet',
         '--exclude-newer', date[1],
         '--custom-compile-command', f'tox -e lab -- lock {release}'],
        check=False, cwd=places.RELEASES).returncode


def _source(release):
    path = places.RELEASES / f'{release}.in'
    if not path.exists():
        raise exceptions.LabError(f'there is no release {release}: it is any '
                                  f'of {", ".join(names())}')
    return path

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

"""What a cloud is made of: each service's release, or its source tree."""

import dataclasses
import hashlib
import pathlib

import yaml

from format_lab import exceptions
from format_lab import places
from format_lab import releases

DEFAULT_RELEASE = '2026.2'


@dataclasses.dataclass(frozen=True)
class Environment:
    """A Python environment that services are installed into.

    :ivar source: (service, Path) installed over its release; () if none
    """

    release: str
    source: tuple = ()

    @property
    def digest(self):
        """What is installed; the cache goes by it."""
        content = releases.lock_file(self.release).read_bytes()
        if self.source:
            content += '{}={}'.format(*self.source).encode()
        return _digest(content)


@dataclasses.dataclass(frozen=True)
class Cloud:
    """A bill of materials.

    :ivar release: what has the tools of the lab and any service not named
    :ivar releases: {service: release} of all services
    :ivar sources: {service: Path} of those installed from a source tree
    :ivar disk_formats: [image_format] disk_formats of glance; empty: its own
    :ivar use_cow_images: of nova, where a person doesn't say otherwise
    """

    name: str
    release: str
    releases: dict
    sources: dict
    disk_formats: list
    use_cow_images: bool = True

    def environment(self, service):
        """Return the Environment that a service is installed into."""
        source = self.sources.get(service)
        return Environment(self.releases[service],
                           (service, source) if source else ())

    def environments(self):
        """Return all Environments; the first has the tools of the lab."""
        return list(dict.fromkeys(
            [Environment(self.release), *map(self.environment,
                                             self.releases)]))

    @property
    def databases_digest(self):
        """What the migrated databases are of, source trees apart."""
        return _digest(' '.join(
            Environment(release).digest
            for release in self.releases.values()).encode())

    @property
    def packages_digest(self):
        """All that is installed, contents of source trees apart."""
        return _digest(' '.join(
            environment.digest for environment in self.environments()
        ).encode())

    def choices(self):
        """Return what was chosen, ready for JSON."""
        chosen = {'releases': self.releases,
                  'sources': {service: str(path)
                              for service, path in self.sources.items()},
                  'packages': self.packages_digest}
        if self.disk_formats:
            chosen['disk_formats'] = self.disk_formats
        return chosen

    def variables(self, cache):
        """Return Ansible's variables about what is installed where.

        :param cache: pathlib.Path of the lab's cache
        """
        def directory(environment):
            return str(venv_dir(cache, environment))
        environments = self.environments()
        return {
            'format_lab_environments': [
                {'dir': directory(environment),
                 'lock': str(releases.lock_file(environment.release)),
                 'sources': [str(path) for path in environment.source[1:]]}
                for environment in environments],
            'format_lab_venv_dir': directory(environments[0]),
            'format_lab_venvs': {
                service: directory(self.environment(service))
                for service in self.releases},
            'format_lab_sources': sorted(map(str, self.sources.values())),
            'format_lab_databases_digest': self.databases_digest,
            # A source tree may have migrations of its own, and change.
            'format_lab_keep_databases': not self.sources,
            'format_lab_disk_formats': self.disk_formats,
        }


def names():
    """Return the names of all clouds."""
    return sorted(path.stem for path in places.CLOUDS.glob('*.yaml'))


def load(name, chosen_releases=(), chosen_sources=()):
    """Return a Cloud of playbooks/lab/clouds, with a person's choices.

    :param chosen_releases: SERVICE=RELEASE, any number
    :param chosen_sources: SERVICE=PATH, any number
    :raises LabError: there is no such service, release or source tree
    """
    told = yaml.safe_load((places.CLOUDS / f'{name}.yaml').read_text())
    release = told.get('format_lab_release', DEFAULT_RELEASE)
    chosen = told.get('format_lab_releases', {}) | dict(
        _pair('--release', choice) for choice in chosen_releases)
    for service, of in chosen.items():
        having = releases.of_service(service)
        if of not in having:
            raise exceptions.LabError(
                f'{service} can\'t be of release {of!r}: it is of '
                f'{", ".join(having)}')
    sources = dict(_pair('--source', choice) for choice in chosen_sources)
    return Cloud(
        name, release,
        {service: chosen.get(service, release)
         for service in releases.PACKAGES},
        {service: _source_tree(path) for service, path in sources.items()},
        told.get('format_lab_disk_formats', []),
        told.get('format_lab_use_cow_images', True))


def venv_dir(cache, environment):
    """Return where an Environment lies."""
    return cache / 'venvs' / environment.digest


def takes_raw_images(settings):
    """Whether the glance of a cloud with these settings takes raw images."""
    return 'raw' in (settings.get('disk_formats') or ['raw'])


def as_texts(settings):
    """Return settings as a person reads them: {name: text}."""
    texts = {name: str(value) for name, value in settings.items()}
    of = {}
    for service, release in settings.get('releases', {}).items():
        of.setdefault(release, []).append(service)
    texts['releases'] = '; '.join(f'{", ".join(services)} of {release}'
                                  for release, services in of.items())
    texts['sources'] = '; '.join(
        f'{service} from {path}'
        for service, path in settings.get('sources', {}).items()) or 'none'
    return texts


def describe(settings):
    """Return settings in a line."""
    return '; '.join(f'{name} = {text}'
                     for name, text in as_texts(settings).items())


def _pair(option, choice):
    service, equals, value = choice.partition('=')
    if service not in releases.PACKAGES or not (equals and value):
        raise exceptions.LabError(
            f'{option} {choice}: expected SERVICE=, any of '
            f'{", ".join(releases.PACKAGES)}, and what it is to be')
    return service, value


def _source_tree(path):
    tree = pathlib.Path(path).resolve()
    if not any((tree / name).is_file()
               for name in ('setup.cfg', 'pyproject.toml')):
        raise exceptions.LabError(f'{tree} is no source tree: it has neither '
                                  'setup.cfg nor pyproject.toml')
    return tree


def _digest(content):
    return hashlib.sha256(content).hexdigest()[:16]

# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""The file that tells compute hosts apart, for a fleet whose hosts differ."""

import dataclasses
import json
import os.path
import reprlib

import jsonschema
import yaml

from tempest_format_plugin import config
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import profile

# Of a document with nothing right in it, the beginning will do.
MOST_PROBLEMS = 10

_PATH = {'type': ['string', 'null'], 'pattern': '^/',
         'description': 'an absolute path'}
_COMMAND = {
    'type': ['string', 'array', 'null'],
    'items': {'type': 'string', 'description': 'a word of a command line'},
    'description': 'a command line, as text or as a list of its words'}
_OVERRIDES = {
    'container_runtime': {'enum': ['podman', 'docker', '', None],
                          'description': 'podman or docker, or empty'},
    'container_name': {'type': ['string', 'null'],
                       'description': 'the name of a container, or empty'},
    'instances_path': _PATH,
    'qemu_log_dir': _PATH,
    'compute_edit_file': _PATH,
    'compute_edit_kind': {
        'enum': [profile.CONFIG_DIR, profile.SYSTEMD, profile.IN_PLACE, None],
        'description': f'{profile.CONFIG_DIR}, {profile.SYSTEMD} or '
                       f'{profile.IN_PLACE}'},
}
_HOST = {
    'type': 'object',
    'description': 'what is so of this host, by name',
    'additionalProperties': False,
    'properties': {
        'address': {'type': 'string', 'minLength': 1,
                    'description': 'an IPv4 or IPv6 address or a name'},
        'backend': {'enum': list(config.IMAGE_BACKENDS),
                    'description': 'one of '
                                   + ', '.join(config.IMAGE_BACKENDS)},
        'profile': {'enum': list(profile.BUILT_IN),
                    'description': 'one of ' + ', '.join(profile.BUILT_IN)},
        'ssh_user': {'type': 'string', 'minLength': 1,
                     'description': 'the name of a user'},
        'ssh_port': {'type': 'integer', 'minimum': 1, 'maximum': 65535,
                     'description': 'a TCP port, 1 to 65535'},
        'ssh_key_file': {'type': 'string', 'minLength': 1,
                         'description': 'the path of a private key'},
        **{option: _OVERRIDES.get(option, _COMMAND)
           for option in profile.OPTIONS.values()},
    },
}
SCHEMA = {
    '$schema': 'https://json-schema.org/draft/2020-12/schema',
    'type': 'object',
    'description': '"hosts" alone, with the hosts by their names in nova',
    'required': ['hosts'],
    'additionalProperties': False,
    'properties': {'hosts': {
        'type': 'object', 'additionalProperties': _HOST,
        'description': 'the hosts by their names in nova'}},
}


class HostsFileError(exceptions.HostError):
    """The hosts file can't be read, or makes no sense."""

    def __init__(self, path, problem):
        super().__init__(f'hosts file {path} ([disk_format] hosts_file): '
                         f'{problem}')


@dataclasses.dataclass(frozen=True)
class Host:
    """What the file says of a host. None: nothing, so the options hold.

    :ivar overrides: {field of the profile: value}; None: as the profile says,
        whatever the options say
    """

    address: str | None = None
    backend: str | None = None
    profile: str | None = None
    ssh_user: str | None = None
    ssh_port: int | None = None
    ssh_key_file: str | None = None
    overrides: dict = dataclasses.field(default_factory=dict)


def read(path):
    """Return {name of a host: Host} of a YAML or JSON file.

    :raises HostsFileError: the file isn't there, can't be read, is neither,
        has a key twice or isn't as SCHEMA says
    """
    document = _load(path)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    problems = [_told(error) for error in sorted(
        validator.iter_errors(document),
        key=lambda error: [str(each) for each in error.absolute_path])]
    if problems:
        left = len(problems) - MOST_PROBLEMS
        raise HostsFileError(path, '; '.join(
            problems[:MOST_PROBLEMS]
            + ([f'and {left} more'] if left > 0 else [])))
    return {name: _host(entry) for name, entry in document['hosts'].items()}


def _host(entry):
    fields = {option: field for field, option in profile.OPTIONS.items()}
    return Host(
        **{key: value for key, value in entry.items() if key not in fields},
        overrides={fields[key]: value for key, value in entry.items()
                   if key in fields})


def _load(path):
    try:
        with open(os.path.expanduser(path), encoding='utf-8') as source:
            if path.endswith('.json'):
                return json.load(source, object_pairs_hook=_once)
            # A SafeLoader of ours.
            return yaml.load(source, _Loader)
    except OSError as error:
        raise HostsFileError(path, error.strerror) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise HostsFileError(
            path, f'expected YAML, got in line {mark.line + 1}, column '
            f'{mark.column + 1}: {error.problem}') from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise HostsFileError(
            path, f'expected {"JSON" if path.endswith(".json") else "YAML"} '
            f'in UTF-8, got: {" ".join(str(error).split())}') from error


class _Loader(yaml.SafeLoader):
    """Plain values, and no mapping that has a key twice."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == 'tag:yaml.org,2002:merge':
                # What is said beside it goes before it.
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f'expected a text for a key, found {key!r}: '
                    'put it in quotes', key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'found the key {key} twice',
                    key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _once(pairs):
    """Make a JSON object, if no key is there twice."""
    found = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'found the key {key} twice')
        found[key] = value
    return found


def _told(error):
    """Say where in the document something is wrong, and what is expected."""
    path = list(error.absolute_path)
    where = '/' + '/'.join(map(str, path))
    if len(path) > 1:
        where = f'host {path[1]}, at {where}'
    else:
        where = f'at {where}'
    got = reprlib.repr(error.instance)
    expected = error.schema['description']
    if error.validator == 'additionalProperties':
        known = error.schema['properties']
        got = ', '.join(sorted(set(error.instance) - set(known)))
        expected = f'only {", ".join(known)}'
    elif error.validator == 'required':
        got = ', '.join(sorted(error.instance)) or 'nothing'
    return f'{where}: expected {expected}, got {got}'

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

"""Print what nova-compute's configuration says of its disks, as JSON.

Runs on a compute host; needs nothing but the standard library, and Python 3.6.
Arguments: nova-compute's configuration files, in the order in which it reads
them: what a later one says counts. Those that don't exist are left out. Prints

  {"host": nova's name of this host,
   "images_type": [libvirt] images_type, and for "default" what nova makes of
                  it: qcow2 or flat (nova/virt/libvirt/imagebackend.py),
   "use_cow_images": bool, "force_raw_images": bool,
   "instances_path": absolute path, or null if it can't be known here}

Exits with a message that names this host if there is none of the files, if one
can't be read, or if an option has a value that it can't have.
"""

import configparser
import importlib.util
import json
import os
import re
import socket
import sys

# As in nova/conf; those that depend on other options are in its notation.
DEFAULTS = {'instances_path': '$state_path/instances',
            'state_path': '$pybasedir'}
BOOLEANS = dict.fromkeys(('1', 'yes', 'true', 'on'), True)
BOOLEANS.update(dict.fromkeys(('0', 'no', 'false', 'off'), False))


class ConfigError(Exception):
    """The configuration can't be read, or says what makes no sense."""


class Config:
    """nova's options, as oslo.config would read them from the files."""

    def __init__(self, paths):
        # No section may pass its values on to the others.
        self._parser = configparser.ConfigParser(
            delimiters=('=', ':'), comment_prefixes=('#', ';'),
            strict=False, interpolation=None, empty_lines_in_values=False,
            default_section='')
        self._parser.optionxform = str
        if not sum(self._read(path) for path in paths):
            raise ConfigError(
                f'expected a configuration of nova-compute, found none of '
                f'{", ".join(paths)}')

    def _read(self, path):
        try:
            with open(path, encoding='utf-8') as source:
                self._parser.read_file(source)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(f'{path}: {error.strerror}')
        except UnicodeDecodeError as error:
            raise ConfigError(f'{path}: expected UTF-8: {error}')
        except configparser.Error as error:
            # Its message would show the line, which may hold a secret.
            line = getattr(error, 'lineno', None) or error.errors[0][0]
            raise ConfigError(f'{path}: line {line} is neither a section nor '
                              f'an option')
        return True

    def get(self, section, name, default=None):
        value = self._parser.get(section, name, fallback=None)
        if value is None:
            return default
        # oslo.config takes one pair of quotes off.
        if len(value) > 1 and value[0] == value[-1] and value[0] in '"\'':
            value = value[1:-1]
        return value

    def get_boolean(self, section, name, default):
        value = self.get(section, name)
        if value is None:
            return default
        if value.lower() not in BOOLEANS:
            raise ConfigError(f'[{section}] {name}: expected a boolean, found '
                              f'{value!r}')
        return BOOLEANS[value.lower()]

    def expand(self, value, within=()):
        """A value with the options in it replaced by theirs.

        None if one of them isn't known here.
        """
        parts = []
        for text, name in re.findall(r'([^$]+)|\$(?:\$|\{?([\w.]+)\}?)?',
                                     value):
            if not name:
                parts.append(text or '$')
                continue
            part = None
            if name not in within:
                part = self._value_of(name)
            if part is not None:
                part = self.expand(part, (*within, name))
            if part is None:
                return None
            parts.append(part)
        return ''.join(parts)

    def _value_of(self, name):
        section, _, option = name.rpartition('.')
        value = self.get(section or 'DEFAULT', option, DEFAULTS.get(name))
        if value is None and name == 'pybasedir':
            return pybasedir()
        return value


def pybasedir():
    """The directory that has the package nova; None if it isn't seen here.

    nova in an environment of its own is not.
    """
    found = importlib.util.find_spec('nova')
    if found is None or found.origin is None:
        return None
    return os.path.dirname(os.path.dirname(os.path.abspath(found.origin)))


def images_type(config):
    value = config.get('libvirt', 'images_type', 'default')
    if value != 'default':
        return value
    return ('qcow2' if config.get_boolean('DEFAULT', 'use_cow_images', True)
            else 'flat')


def host(config):
    value = config.get('DEFAULT', 'host') or socket.gethostname()
    expanded = config.expand(value)
    if expanded is None:
        raise ConfigError(f'[DEFAULT] host: {value!r} names an option that '
                          f'can\'t be known here')
    return expanded


def facts(paths):
    """Return what main prints, as a dict.

    :raises ConfigError: see there
    """
    config = Config(paths)
    return {
        'host': host(config),
        'images_type': images_type(config),
        'use_cow_images': config.get_boolean(
            'DEFAULT', 'use_cow_images', True),
        'force_raw_images': config.get_boolean(
            'DEFAULT', 'force_raw_images', True),
        'instances_path': config.expand(config.get(
            'DEFAULT', 'instances_path', DEFAULTS['instances_path'])),
    }


def main(paths):
    try:
        print(json.dumps(facts(paths)))
    except ConfigError as error:
        sys.exit(f'{socket.gethostname()}: {error}')


if __name__ == '__main__':
    main(sys.argv[1:])

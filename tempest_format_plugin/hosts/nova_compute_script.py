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

"""Print how nova-compute runs on this host and what it makes of disks.

Not imported for work: the discovery and the role format_tempest_conf send the
source of this module to ``python3 -`` on a compute host, as root. So it stands
alone, runs on Python 3.6 and needs only the standard library.

Arguments: nova-compute's configuration files, in the order in which it reads
them: what a later one says counts. Those that don't exist are left out. Prints

  {"host": nova's name of this host,
   "images_type": [libvirt] images_type, and for "default" what nova makes of
                  it: qcow2 or flat (nova/virt/libvirt/imagebackend.py),
   "use_cow_images": bool, "force_raw_images": bool,
   "instances_path": absolute path, or null if it can't be known here,
   "compute_driver": text, or null if none is set}

Exits with a message that names this host if there is none of the files, if one
can't be read, or if an option has a value that it can't have.

Without arguments it looks for the nova-compute that runs and reads what that
one reads, in the container if it runs in one. Prints

  {"version": 1,
   "sudo": whether sudo has made this process root's,
   "nova_compute": {"program": path, "unit": of systemd or null,
                    "container": null or {"runtime": docker or podman,
                                          "id": text, "name": text or null},
                    "supervised": whether supervisord runs it},
   "libvirt": null or {"program", "container"}, as above,
   "marks": those of MARKS that are on this host,
   "nova": version or null,
   "conf": the above, or null,
   "problems": [text]}

"nova_compute" is null where there isn't exactly one. Of the configuration
nothing leaves the host but what is shown here.
"""

import contextlib
import glob
import importlib.util
import json
import os
import re
import shlex
import socket
import subprocess
import sys

VERSION = 1

PROC = '/proc'

# What tells deployments from each other that call a container the same.
MARKS = (
    '/etc/kolla/nova-compute',
    '/var/lib/config-data/puppet-generated/nova_libvirt',
    '/var/lib/openstack/nova',
    '/var/lib/openstack/config/nova',
)

LIBVIRT_DAEMONS = ('virtqemud', 'libvirtd')

# How docker and podman call a container's cgroup, under systemd or not.
_CONTAINER = re.compile(
    r'(?P<runtime>docker|libpod)(?:[-/]|_parent/libpod-)(?P<id>[0-9a-f]{64})')
_RUNTIMES = {'docker': 'docker', 'libpod': 'podman'}
_UNIT = re.compile(r'/(?P<unit>[^/]+\.service)(?:/|$)')
# The title of a process that cotyledon runs, as oslo.service does nova-compute
# with threads. It lies over the process's arguments and environment.
_TITLE = re.compile(r'[^/]*: master process \[(?P<argv>.*)\]$', re.DOTALL)
_PACKAGE = re.compile(r'nova-(?P<version>[^-]+)(?:-py[\d.]+)?\.'
                      r'(?:dist|egg)-info$')

# As in nova/conf; those that depend on other options are in its notation.
DEFAULTS = {'instances_path': '$state_path/instances',
            'state_path': '$pybasedir'}
BOOLEANS = dict.fromkeys(('1', 'yes', 'true', 'on'), True)
BOOLEANS.update(dict.fromkeys(('0', 'no', 'false', 'off'), False))


class ConfigError(Exception):
    """The configuration can't be read, or says what makes no sense."""


class Config:
    """nova's options, as oslo.config would read them from the files."""

    def __init__(self, paths, environment=None, base_dir=None):
        # oslo.config's own names of options in the environment, which go
        # before all files.
        self._environment = environment or {}
        self._base_dir = base_dir
        # By section and name.
        self._values = {}
        if not sum(self._read(path) for path in paths):
            raise ConfigError(
                f'expected a configuration of nova-compute, found none of '
                f'{", ".join(paths)}')

    def _read(self, path):
        try:
            with open(path, encoding='utf-8') as source:
                self._parse(path, source)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(f'{path}: {error.strerror}')
        except UnicodeDecodeError as error:
            raise ConfigError(f'{path}: expected UTF-8: {error}')
        return True

    def _parse(self, path, lines):
        """Take what a file says, as oslo_config/iniparser.py does.

        configparser takes some lines otherwise: those after a comment among
        the lines of one value.
        """
        section = key = None
        for number, line in enumerate(lines, 1):
            line = line.rstrip()
            option = re.match('([^=:]+)[=:](.*)', line)
            if not line or line[0] in '#;':
                key = None
            elif line[0] in ' \t' and key is not None:
                self._values[key] += '\n' + line.lstrip()
            elif line[0] == '[' and line[-1] == ']' and len(line) > 2:
                section, key = line[1:-1], None
                if section != 'DEFAULT':
                    section = section.lower()
            elif line[0] in ' \t[' or section is None or option is None:
                # The line itself may hold a secret.
                raise ConfigError(f'{path}: line {number} is neither a '
                                  f'section nor an option')
            else:
                key = section, option.group(1).strip()
                self._values[key] = without_quotes(option.group(2).strip())

    def get(self, section, name, default=None):
        value = self._environment.get('OS_{}__{}'.format(
            section.upper(), name.upper()))
        if value is None:
            value = self._values.get((section, name), default)
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
        # oslo.config knows both ways to write a dollar sign.
        for text, name in re.findall(r'([^$]+)|\$(?:\$|\{?([\w.]+)\}?)?',
                                     value.replace('\\$', '$$')):
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
            return self._base_dir
        if value is None and name == 'host':
            return socket.gethostname()
        return value


def without_quotes(value):
    """Return a value without the pair of quotes that may be around it."""
    if value and value[0] == value[-1] and value[0] in '"\'':
        return value[1:-1]
    return value


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


def facts(paths, environment=None, base_dir=None):
    """Return what main prints of files, as a dict.

    :param environment: nova-compute's
    :param base_dir: the directory with nova's package; None: not known
    :raises ConfigError: see there
    """
    config = Config(paths, environment, base_dir)
    return {
        'host': host(config),
        'images_type': images_type(config),
        'use_cow_images': config.get_boolean(
            'DEFAULT', 'use_cow_images', True),
        'force_raw_images': config.get_boolean(
            'DEFAULT', 'force_raw_images', True),
        'instances_path': config.expand(config.get(
            'DEFAULT', 'instances_path', DEFAULTS['instances_path'])),
        'compute_driver': config.get('DEFAULT', 'compute_driver'),
    }


def pybasedir():
    """The directory of nova's package; None if this Python doesn't see it."""
    found = importlib.util.find_spec('nova')
    if found is None or found.origin is None:
        return None
    return os.path.dirname(os.path.dirname(os.path.abspath(found.origin)))


# Processes

class Process:
    """A process of this host.

    :ivar argv: its arguments, from the name of the program on: without the
        interpreter of a script
    """

    def __init__(self, pid):
        self._dir = os.path.join(PROC, str(pid))
        self.argv = self._without_interpreter(
            self._read('cmdline').rstrip('\0').split('\0'))
        # The root of what it sees, which may be a container's.
        self.root = os.path.join(self._dir, 'root')

    @staticmethod
    def _without_interpreter(argv):
        title = _TITLE.match(argv[0])
        if title is not None:
            return title.group('argv').split(' ')
        if re.match(r'python[\d.]*$', os.path.basename(argv[0])):
            rest = argv[1:]
            while rest and rest[0].startswith('-'):
                # These two have a value.
                rest = rest[2 if rest[0][-1] in 'WX' else 1:]
            return rest
        return argv

    def _read(self, name):
        with open(os.path.join(self._dir, name), 'rb') as source:
            return source.read().decode('utf-8', 'replace')

    @property
    def name(self):
        return os.path.basename(self.argv[0]) if self.argv else ''

    @property
    def program(self):
        return self.argv[0]

    @property
    def cgroup(self):
        return self._read('cgroup')

    @property
    def environment(self):
        """Those of its environment variables that oslo.config reads."""
        return options_in(self._read('environ').split('\0'))

    @property
    def home(self):
        for pair in self._read('environ').split('\0'):
            if pair.startswith('HOME='):
                return pair[len('HOME='):]
        return '/'

    @property
    def working_dir(self):
        """As it sees it, in its own root."""
        return os.readlink(os.path.join(self._dir, 'cwd'))

    @property
    def parent(self):
        """The Process that has started it; None: the first of all."""
        pid = re.search(r'^PPid:\s*(\d+)', self._read('status'),
                        re.MULTILINE).group(1)
        return Process(pid) if pid != '0' else None

    @property
    def network(self):
        return os.readlink(os.path.join(self._dir, 'ns/net'))


def options_in(environment):
    """Return {name: value} of the variables that oslo.config reads.

    :param environment: texts NAME=VALUE
    """
    pairs = (pair.partition('=')[::2] for pair in environment)
    return {name: value for name, value in pairs
            if re.match('OS_[A-Z0-9_]+__', name)}


def processes(names):
    """Yield the processes of the given names on this host.

    Those in containers count if they share the host's network, as nova's and
    libvirt's do. A child of one that counts doesn't.
    """
    own = Process('self').network
    for pid in filter(str.isdigit, os.listdir(PROC)):
        # Whatever ends while it is looked at isn't what is looked for.
        with contextlib.suppress(OSError):
            process = Process(pid)
            if process.name not in names or process.network != own:
                continue
            parent = process.parent
            if parent is None or parent.name != process.name:
                yield process


def container_of(process):
    """Return {"runtime", "id", "name"} of a process's container, or None.

    Its name is None if the runtime doesn't tell.
    """
    found = _CONTAINER.search(process.cgroup)
    if found is not None:
        runtime, number = _RUNTIMES[found.group('runtime')], found.group('id')
        return {'runtime': runtime, 'id': number,
                'name': name_of(runtime, number)}
    parent = process.parent
    while parent is not None:
        # podman may be told to make no cgroup.
        if parent.name == 'conmon' and '-n' in parent.argv:
            return {'runtime': 'podman',
                    'id': after('-c', parent.argv),
                    'name': after('-n', parent.argv)}
        parent = parent.parent
    return None


def name_of(runtime, number):
    try:
        done = subprocess.run(
            [runtime, 'ps', '--no-trunc', '--format', '{{.ID}} {{.Names}}'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    for line in done.stdout.decode('utf-8', 'replace').splitlines():
        found, _, name = line.partition(' ')
        if found == number:
            return name
    return None


def after(option, argv):
    """Return the argument that follows an option, None if there is none."""
    try:
        return argv[argv.index(option) + 1]
    except (ValueError, IndexError):
        return None


def describe(process):
    """Return the "nova_compute" or "libvirt" part of what is printed."""
    unit = None
    for line in process.cgroup.splitlines():
        units = _UNIT.findall(line)
        if units:
            unit = units[-1]
    parent = process.parent
    return {'program': process.program, 'unit': unit,
            'container': container_of(process),
            'supervised': parent is not None and parent.name == 'supervisord'}


# What nova-compute reads: in its own root

def config_files(argv, home):
    """Return the files that a nova-compute of these arguments reads.

    In this order, as oslo.config does. RDO's packages have it read a file of
    their own before all others.
    """
    given, with_files, with_dirs = [], False, False
    arguments = iter(argv[1:])
    for argument in arguments:
        name, equals, value = argument.partition('=')
        if name not in ('--config-file', '--config-dir'):
            continue
        value = value if equals else next(arguments, '')
        if name == '--config-file':
            with_files = True
            given.append(value)
        else:
            with_dirs = True
            given += files_in(value)
    default = []
    where = [os.path.join(home, '.nova'), home, '/etc/nova', '/etc']
    if not with_files:
        default += [path for path in ('/usr/share/nova/nova-dist.conf',)
                    if os.path.exists(path)]
        default += first_of(where, ('nova.conf', 'nova-compute.conf'))
    if not with_dirs:
        for found in first_of(where, ('nova.conf.d', 'nova-compute.conf.d')):
            default += files_in(found)
    return default + given


def files_in(directory):
    return sorted(glob.glob(os.path.join(glob.escape(directory), '*.conf')))


def first_of(directories, names):
    """Return, for each name that is anywhere, the first path of it."""
    found = []
    for name in names:
        paths = [os.path.join(directory, name) for directory in directories]
        found += [path for path in paths if os.path.exists(path)][:1]
    return found


def package(program):
    """Return nova's version and the directory of its package.

    Each is None if it can't be told.

    :param program: path of nova-compute
    """
    prefix = os.path.dirname(os.path.dirname(program))
    for pattern in (prefix + '/lib*/python3*/*-packages',
                    '/usr/local/lib*/python3*/*-packages',
                    '/usr/lib*/python3*/*-packages'):
        for directory in sorted(glob.glob(pattern)):
            for name in sorted(os.listdir(directory)):
                found = _PACKAGE.match(name)
                if found is not None:
                    return (found.group('version'),
                            base_dir(directory, os.path.join(directory, name)))
    return None, None


def base_dir(directory, metadata):
    """Return the directory of nova's package: its own if it is editable."""
    if os.path.isdir(os.path.join(directory, 'nova')):
        return directory
    with contextlib.suppress(OSError, ValueError, KeyError):
        with open(os.path.join(metadata, 'direct_url.json'),
                  encoding='utf-8') as source:
            url = json.load(source)['url']
        if url.startswith('file:///'):
            return url[len('file://'):]
    return None


def running():
    """Return what main prints without arguments, as a dict."""
    report = {'version': VERSION, 'sudo': 'SUDO_UID' in os.environ,
              'nova_compute': None, 'libvirt': None, 'nova': None,
              'conf': None, 'problems': [],
              'marks': [path for path in MARKS if os.path.exists(path)]}
    if os.geteuid() != 0:
        raise ConfigError('expected to be root')
    for daemon in processes(LIBVIRT_DAEMONS):
        with contextlib.suppress(OSError):
            report['libvirt'] = describe(daemon)
            break
    found = list(processes(('nova-compute',)))
    if len(found) != 1:
        report['problems'].append(
            'expected one nova-compute to run here, found {}'.format(
                len(found) or 'none'))
        return report
    process, = found
    try:
        nova_compute = describe(process)
        argv = process.argv
        environment = (process.environment
                       or environment_of_unit(nova_compute['unit']))
        home = process.home
        enter(process)
    except OSError as error:
        report['problems'].append(
            f'expected nova-compute to go on running, could not look at it: '
            f'{error.strerror}')
        return report
    report['nova_compute'] = nova_compute
    report['nova'], base = package(process.program)
    try:
        report['conf'] = facts(config_files(argv, home), environment, base)
    except ConfigError as error:
        report['problems'].append(str(error))
    return report


def environment_of_unit(unit):
    """Return what systemd sets of the variables that oslo.config reads.

    A process that shows a title has written it over its own environment.

    :param unit: None: it isn't of one
    """
    if unit is None:
        return {}
    try:
        done = subprocess.run(
            ['systemctl', 'show', '--property=Environment', '--value', unit],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=30, check=False)
        words = shlex.split(done.stdout.decode('utf-8', 'replace'))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return options_in(words)


def enter(process):
    """Have this process see files as another does, and nothing of its own."""
    working_dir = process.working_dir
    # What isn't imported by now would be a container's.
    sys.path.clear()
    os.chroot(process.root)
    os.chdir('/')
    # It may have been deleted.
    with contextlib.suppress(OSError):
        os.chdir(working_dir)


def main(paths):
    try:
        print(json.dumps(facts(paths, base_dir=pybasedir()) if paths
                         else running()))
    except ConfigError as error:
        sys.exit('{}: {}'.format(socket.gethostname(), error))


if __name__ == '__main__':
    main(sys.argv[1:])

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

"""Reads everything that a compute host knows about the disks of one server.

Not imported for work: compute_host sends the source of this module to
``python3 -`` on the compute host, or the role format_host_access has installed
it there: so it stands alone, runs on Python 3.6 and needs only the standard
library. Arguments: server id, nova's instances path, the virsh command, a lone
semicolon, the qemu-img command. It prints one JSON document::

  {"version": 1,
   "domain": {"state": virsh domstate, or null if there is no such domain,
              "live": domain XML, or null unless the domain is active,
              "inactive": persistent domain XML or null,
              "error": what virsh wrote to stderr, or null},
   "instance_dir": path,
   "disk_info": text of disk.info, or null if there is none,
   "disk_info_error": why it can't be read, or null,
   "files": {path: {"length": bytes or null,
                    "info": text of qemu-img info or null,
                    "error": text or null}}}

or, where the host isn't as the deployment profile says::

  {"version": 1, "problem": {"field": field of the profile, "text": text}}

Commands run at the same time as far as they don't need each other's answer,
so the whole costs about as much as its slowest command. For the same reason
the slower imports are in functions: they are done while commands run.
"""

import errno
import os
import stat
import subprocess
import sys
import time

# Of the report. What is installed on a host may be older than what reads its
# report: a new number whenever either no longer does for the other.
VERSION = 1

SEPARATOR = '=== disk-format ==='

# Exit statuses by which shells, prlimit and container runtimes say that the
# command itself could not be run.
NOT_RUNNABLE = (126, 127)


# Seconds for all commands: less than a connection waits by default, so that it
# is told which one hangs. prlimit's are of the processor's time alone.
PATIENCE = 50

# Bytes of a disk.info: enough for thousands of disks.
LONGEST_DISK_INFO = 1 << 20


class Problem(Exception):
    """The host isn't as the given field of the deployment profile says."""

    def __init__(self, field, text):
        super().__init__(text)
        self.field = field


class Command:
    """A command that is running."""

    def __init__(self, field, argv):
        self.field = field
        self.argv = argv
        self.ends = time.monotonic() + PATIENCE
        # virsh translates the state of a domain.
        environment = dict(os.environ, LC_ALL='C')
        try:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=environment)
        except OSError as error:
            raise Problem(field, f'{argv[0]}: {error.strerror}')

    def wait(self):
        """Exit status, stdout and stderr of the command.

        An exit status of None: it didn't end and was killed.
        """
        try:
            stdout, stderr = self.process.communicate(
                timeout=max(0.1, self.ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None, '', '%s did not end within %d seconds' % (
                self.argv[0], PATIENCE)
        stdout = stdout.decode('utf-8', 'replace')
        stderr = stderr.decode('utf-8', 'replace').strip()
        if self.process.returncode in NOT_RUNNABLE:
            raise Problem(self.field, stderr or (
                f'{self.argv[0]}: exit status {self.process.returncode}'))
        return self.process.returncode, stdout, stderr


class Probe:
    """A look at one file, and at that file only.

    qemu-img doesn't open backing files here: a header that names some may be
    the guest's own work.
    """

    def __init__(self, path, qemu_img):
        self.length = None
        self.error = None
        self.command = None
        self._info = None
        if not path.startswith('/'):
            # To qemu-img it might be an option, a URL or json:.
            self.error = 'not an absolute path'
            return
        try:
            self.length = length_of(path)
        except PermissionError:
            raise
        except OSError as error:
            self.error = error.strerror
        except ValueError as error:
            # A NUL, or what no name of a file can hold.
            self.error = str(error)
        else:
            # --force-share: a running guest holds the write lock.
            self.command = Command('qemu_img', list(qemu_img) + [
                'info', '--force-share', '--output=json', path])

    def info(self):
        """Text of qemu-img info; None if the file could not be probed."""
        if self.command is not None:
            status, stdout, stderr = self.command.wait()
            self.command = None
            if status == 0:
                self._info = stdout
            else:
                self.error = stderr or f'qemu-img: exit status {status}'
        return self._info

    def report(self):
        info = self.info()
        return {'length': self.length, 'info': info, 'error': self.error}


class Probes:
    """The probes of all files, one for each."""

    def __init__(self, qemu_img):
        self._qemu_img = qemu_img
        self._probes = {}

    def start(self, path):
        if path not in self._probes:
            self._probes[path] = Probe(path, self._qemu_img)

    def follow(self, paths):
        """Probe the backing files of the given overlays, and theirs.

        What a header says is believed only if somebody other than the file
        itself says that the file is qcow2: for the given paths the domain
        XML does, for a backing file the overlay above it.
        """
        followed = set()
        while paths:
            followed.update(paths)
            below = set()
            for path in sorted(paths):
                backing, declared_format = backing_of(
                    self._probes[path].info())
                if backing is None:
                    continue
                self.start(backing)
                if declared_format == 'qcow2':
                    below.add(backing)
            paths = below - followed

    def report(self):
        return {path: probe.report() for path, probe in self._probes.items()}


def length_of(path):
    """Bytes of a regular file or block device; OSError for all else."""
    status = os.stat(path)
    # Root that can't read (a squashed NFS export) is no fault of sudo's:
    # qemu-img will say so.
    if os.geteuid() != 0 and not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if stat.S_ISREG(status.st_mode):
        return status.st_size
    if stat.S_ISBLK(status.st_mode):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return os.lseek(descriptor, 0, os.SEEK_END)
        finally:
            os.close(descriptor)
    # Opening a pipe, for one, would wait for ever.
    raise OSError(errno.EINVAL, 'neither a regular file nor a block device')


def backing_of(info):
    """Backing file that an overlay's qemu-img info names, and its format.

    (None, None) if there is none, or none that is a file of this host: qemu
    also takes json: and URLs for a name.
    """
    import json
    if info is None:
        return None, None
    try:
        document = json.loads(info)
        path = document.get('full-backing-filename')
        declared_format = document.get('backing-filename-format')
    except (ValueError, AttributeError, RecursionError):
        # The reader of the report complains, with names.
        return None, None
    if not isinstance(path, str) or not path.startswith('/'):
        return None, None
    return path, declared_format


def read_instance_dir(instances_path, instance_dir):
    """Paths of the disk files of a server; text and error of its disk.info."""
    try:
        os.stat(instances_path)
    except FileNotFoundError as error:
        raise Problem('instances_path', f'{instances_path}: {error.strerror}')
    try:
        names = os.listdir(instance_dir)
    except FileNotFoundError:
        # The server isn't on this host.
        names = []
    paths = [os.path.join(instance_dir, name) for name in sorted(names)
             if name.startswith('disk') and name != 'disk.info']
    disk_info = error = None
    if 'disk.info' in names:
        try:
            disk_info = read_disk_info(os.path.join(instance_dir, 'disk.info'))
        except FileNotFoundError:
            # The server has just left this host.
            pass
        except PermissionError:
            raise
        except OSError as found:
            # No JSON: nobody takes it for a disk.info without entries.
            disk_info = error = found.strerror
    return paths, disk_info, error


def read_disk_info(path):
    """Text of a disk.info; OSError if it can't be one."""
    # To open a pipe would wait for its writer for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(descriptor, 'rb') as source:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, 'not a regular file')
        text = source.read(LONGEST_DISK_INFO + 1)
    if len(text) > LONGEST_DISK_INFO:
        raise OSError(errno.EFBIG, 'longer than %d bytes' % LONGEST_DISK_INFO)
    return text.decode('utf-8', 'replace')


def paths_in_disk_info(text):
    import json
    try:
        return [path for path in json.loads(text or '{}')
                if path.startswith('/')]
    except (ValueError, AttributeError, TypeError, RecursionError):
        # The reader of the report complains, with names.
        return []


def start_virsh(virsh, server_id):
    # One connection to libvirt for all that is asked.
    questions = f"; echo '{SEPARATOR}'; ".join((
        f'domstate {server_id}',
        f'dumpxml {server_id}',
        f'dumpxml --inactive {server_id}'))
    return Command('virsh', list(virsh) + [questions])


def read_domain(command):
    """The "domain" part of the report, and {path: declared formats}."""
    status, stdout, stderr = command.wait()
    if 'failed to get domain' in stderr:
        # Also if it went away between the questions.
        return dict(state=None, live=None, inactive=None, error=stderr), {}
    answers = [answer.strip() for answer in stdout.split(SEPARATOR)]
    if status != 0 or len(answers) != 3 or not all(answers):
        raise Problem('virsh', stderr or (
            f'virsh: exit status {status}, {stdout[:200]!r}'))
    state, xml, inactive = answers
    active, declared = read_xml(xml)
    for path, formats in read_xml(inactive)[1].items():
        declared.setdefault(path, set()).update(formats)
    # Without a live XML, libvirt gives the persistent one instead.
    live = None if active is False else xml
    return dict(state=state, live=live, inactive=inactive,
                error=stderr or None), declared


def read_xml(text):
    """Whether a domain XML is live, and {path of a disk: driver types}.

    (None, {}) for a text that isn't XML: the reader of the report complains.
    """
    from xml.etree import ElementTree

    class Builder(ElementTree.TreeBuilder):

        def doctype(self, name, public_id, system):
            # libvirt writes none: what it defines might be without end.
            raise ElementTree.ParseError('a document type')

    try:
        domain = ElementTree.fromstring(
            text, ElementTree.XMLParser(target=Builder()))
    except ElementTree.ParseError:
        return None, {}
    declared = {}
    for disk in domain.findall('devices/disk'):
        source = disk.find('source')
        if source is None:
            continue
        path = source.get('file') or source.get('dev')
        if path:
            driver = disk.find('driver')
            declared.setdefault(path, set()).add(
                None if driver is None else driver.get('type'))
    # Only an active domain has a number.
    return domain.get('id') is not None, declared


def observe(server_id, instances_path, virsh, qemu_img):
    instance_dir = os.path.join(instances_path, server_id)
    virsh_command = start_virsh(virsh, server_id)
    probes = Probes(qemu_img)
    paths, disk_info, error = read_instance_dir(instances_path, instance_dir)
    for path in paths:
        probes.start(path)
    for path in paths_in_disk_info(disk_info):
        probes.start(path)
    domain, declared = read_domain(virsh_command)
    for path in declared:
        probes.start(path)
    # Where live and inactive XML differ, the guest may have had the file as
    # raw, and so its header in its hands.
    probes.follow({path for path, formats in declared.items()
                   if formats == {'qcow2'}})
    return {'version': VERSION, 'domain': domain, 'instance_dir': instance_dir,
            'disk_info': disk_info, 'disk_info_error': error,
            'files': probes.report()}


def main(arguments):
    server_id, instances_path = arguments[:2]
    separator = arguments.index(';')
    virsh, qemu_img = arguments[2:separator], arguments[separator + 1:]
    try:
        report = observe(server_id, instances_path, virsh, qemu_img)
    except Problem as problem:
        report = {'version': VERSION,
                  'problem': {'field': problem.field, 'text': str(problem)}}
    except PermissionError as error:
        report = {'version': VERSION,
                  'problem': {'field': 'sudo', 'text': str(error)}}
    except Exception as error:
        # Of a server's directory, which may be anything.
        sys.exit('observe: %s: %s' % (type(error).__name__, error))
    import json
    json.dump(report, sys.stdout)


if __name__ == '__main__':
    main(sys.argv[1:])

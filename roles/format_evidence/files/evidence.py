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

"""Keeps what a host has to say about its servers' disks, secrets taken out.

Run by the role on the host itself, with a copy of the plugin's redaction.py
beside it; needs nothing but the standard library and runs on Python 3.6. Reads
its settings from stdin, as JSON; all are needed, see the role's variables::

  {"destination": path, "owner": user name, "virsh": [argument, ...],
   "qemu_img": [argument, ...], "instances_path": path,
   "share_dirs": [path, ...], "configuration": [glob pattern, ...],
   "timeout": seconds for all, "command_timeout": seconds for a command,
   "max_bytes": of all files, "max_file_bytes": of one,
   "max_probes": files that qemu-img looks into, of each kind}

Prints what came of it, as JSON::

  {"changed": whether a file differs from an earlier run's,
   "files": how many are kept, "problems": [text, ...]}

Whatever can't be read is a problem, kept in problems.txt, and no failure: the
exit status is 0 unless the settings are wrong or nothing can be written.
"""

import errno
import glob
import json
import os
import pwd
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

import redaction

PROBLEMS = 'problems.txt'
CONTENTS = 'contents.txt'

# As the plugin's deployment profile has them, and nova: a guest may have
# written a file to exhaust whoever inspects it.
QEMU_IMG_LIMITS = ('prlimit', '--as=1073741824', '--cpu=30')

# What lies beside disks in an instance directory and is none; the console's
# log is its guest's own words.
NO_DISK = ('.info', '.log', '.xml')

LISTING = '%M %u:%g %s %kK %T+ %p %l\\n'
LISTING_HEADER = 'mode owner bytes allocated modified path link-target\n'


class Trouble(Exception):
    """Something that can't be had, and why."""


class Evidence:
    """The files that are kept.

    Safe for several threads. Those that are late, after finish, write nothing
    more.
    """

    def __init__(self, destination, owner, max_bytes, max_file_bytes):
        self._destination = destination
        self._owner = pwd.getpwnam(owner)
        self._max_bytes = max_bytes
        self.max_file_bytes = max_file_bytes
        self._lock = threading.Lock()
        self._closed = False
        self._kept = {}
        self._bytes = 0
        self._problems = []
        self._changed = False
        self._make_dir(destination)

    def keep(self, name, text):
        """Write text, redacted and no longer than allowed.

        :param name: path below the destination, of letters that file names
            should have
        """
        data = redaction.redact(self._cut(text)).encode('utf-8', 'replace')
        with self._lock:
            if self._closed:
                return
            if self._bytes + len(data) > self._max_bytes:
                self._problems.append(
                    '{}: not kept, all files are more than {} bytes'.format(
                        name, self._max_bytes))
                return
            self._bytes += len(data)
            self._write(self._unused(name), data)

    def problem(self, text):
        with self._lock:
            if not self._closed:
                self._problems.append(text)

    def finish(self):
        """Write what is known of the files themselves; return the report."""
        with self._lock:
            self._closed = True
            # In any order that threads came in.
            problems = sorted(redaction.redact(text.replace('\n', ' '))
                              for text in self._problems)
            self._write(PROBLEMS, ''.join(
                text + '\n' for text in problems or ['none']).encode(
                    'utf-8', 'replace'))
            self._kept[CONTENTS] = True
            self._remove_stale()
            self._write(CONTENTS, ''.join(
                name + '\n' for name in sorted(self._kept)).encode())
            return {'changed': self._changed, 'files': len(self._kept),
                    'problems': problems}

    def _cut(self, text):
        if len(text) <= self.max_file_bytes:
            return text
        # Half a secret might not look like one: whole lines only.
        head = text[:self.max_file_bytes]
        return '{}[cut off: more than {} bytes]\n'.format(
            head[:head.rfind('\n') + 1], self.max_file_bytes)

    def _unused(self, name):
        unused, number = name, 1
        while unused in self._kept:
            number += 1
            stem, extension = os.path.splitext(name)
            unused = '{}-{}{}'.format(stem, number, extension)
        return unused

    def _write(self, name, data):
        path = os.path.join(self._destination, name)
        self._kept[name] = True
        self._make_dir(os.path.dirname(path))
        try:
            with open(path, 'rb') as source:
                if source.read() == data:
                    return
        except OSError:
            pass
        self._changed = True
        with open(path, 'wb') as target:
            os.fchmod(target.fileno(), 0o644)
            os.fchown(target.fileno(), self._owner.pw_uid, self._owner.pw_gid)
            target.write(data)

    def _make_dir(self, path):
        if not os.path.isdir(path):
            self._make_dir(os.path.dirname(path))
            os.mkdir(path)
            os.chmod(path, 0o755)
            os.chown(path, self._owner.pw_uid, self._owner.pw_gid)

    def _remove_stale(self):
        """Remove what an earlier run has kept, and nothing else."""
        try:
            with open(os.path.join(self._destination, CONTENTS)) as source:
                names = source.read().splitlines()
        except OSError:
            return
        for name in names:
            if name not in self._kept and '..' not in name.split('/'):
                try:
                    os.remove(os.path.join(self._destination,
                                           name.lstrip('/')))
                    self._changed = True
                    os.removedirs(os.path.dirname(
                        os.path.join(self._destination, name.lstrip('/'))))
                except OSError:
                    pass


class Collector:
    """Reads the host, and hands what it has read to the evidence."""

    def __init__(self, evidence, settings):
        self._evidence = evidence
        self._settings = settings

    def host(self):
        """What this host is, and which versions of its tools it has."""
        texts = []
        for command in (['uname', '-a'], self._settings['virsh'] + ['-V'],
                        self._settings['qemu_img'] + ['--version']):
            try:
                texts.append('$ {}\n{}'.format(
                    ' '.join(command), self._succeed(command)))
            except Trouble as trouble:
                self._evidence.problem(str(trouble))
        self._evidence.keep('host.txt', '\n'.join(texts))

    def domains(self):
        """The domain XML of each domain, live and inactive."""
        virsh = self._settings['virsh']
        self._evidence.keep('domains.txt',
                            self._succeed(virsh + ['list', '--all']))
        for uuid in self._succeed(virsh + ['list', '--all',
                                           '--uuid']).split():
            for kind, option in (('live', []), ('inactive', ['--inactive'])):
                try:
                    xml = self._succeed(virsh + ['dumpxml', uuid] + option)
                except Trouble as trouble:
                    self._evidence.problem(str(trouble))
                    continue
                # Only an active domain has a number; without a live XML,
                # libvirt gives the persistent one instead.
                if kind == 'inactive' or re.match(
                        r'\s*<domain\s[^>]*\bid=', xml):
                    self._evidence.keep('instances/{}/domain.{}.xml'.format(
                        file_name(uuid), kind), xml)

    def instances(self):
        """Every instance directory: its files, disk.info, qemu-img info."""
        path = self._settings['instances_path']
        self._keep_listing('instances.txt', path)
        disks = []
        for name in sorted(os.listdir(path)):
            directory = os.path.join(path, name)
            if not os.path.isdir(directory) or os.path.islink(directory):
                continue
            for file in self._names(directory):
                source = os.path.join(directory, file)
                kept = 'instances/{}/{}'.format(file_name(name),
                                                file_name(file))
                if file == 'disk.info':
                    self._keep_file(kept, source)
                elif not file.endswith(NO_DISK):
                    disks.append((kept, source))
        self._probe('files of instance directories', disks)

    def shares(self):
        """Every NFS mount, and what lies below the given directories."""
        with open('/proc/self/mountinfo') as source:
            mounts = [line for line in source
                      if line.partition(' - ')[2].startswith('nfs')]
        self._evidence.keep('mounts.txt', ''.join(mounts)
                            or 'no mount of type nfs\n')
        paths = list(self._settings['share_dirs'])
        for line in mounts:
            # Blanks and the like are octal there.
            path = re.sub(r'\\([0-7]{3})', lambda found: chr(
                int(found.group(1), 8)), line.split()[4])
            if not any((path + '/').startswith(above.rstrip('/') + '/')
                       for above in paths):
                paths.append(path)
        volumes = []
        for path in paths:
            name = 'shares/' + file_name(path.strip('/'))
            try:
                self._keep_listing(name + '.txt', path)
            except Trouble as trouble:
                self._evidence.problem(str(trouble))
                continue
            for directory, names, files in os.walk(path):
                names.sort()
                volumes += [
                    ('{}/{}'.format(name, file_name(os.path.relpath(
                        os.path.join(directory, file), path))),
                     os.path.join(directory, file)) for file in sorted(files)]
        self._probe('files of shares', volumes)

    def configuration(self):
        """The configuration of nova-compute."""
        for pattern in self._settings['configuration']:
            paths = sorted(glob.glob(pattern))
            if not paths:
                self._evidence.problem('{}: no such file'.format(pattern))
            for path in paths:
                self._keep_file('configuration/' + file_name(
                    path.strip('/')), path)

    def _names(self, directory):
        try:
            return sorted(os.listdir(directory))
        except OSError as error:
            # A server that has just left.
            self._evidence.problem('{}: {}'.format(directory, error.strerror))
            return []

    def _keep_file(self, name, path):
        try:
            with open(path, 'rb') as source:
                data = source.read(self._evidence.max_file_bytes + 1)
        except OSError as error:
            self._evidence.problem('{}: {}'.format(path, error.strerror))
        else:
            self._evidence.keep(name, data.decode('utf-8', 'replace'))

    def _keep_listing(self, name, path):
        if not os.path.isdir(path):
            raise Trouble('{}: no such directory'.format(path))
        status, stdout, stderr = self._run(
            ['find', path, '-printf', LISTING])
        if status:
            # What else there is, is listed nevertheless.
            self._evidence.problem('find {}: {}'.format(path, stderr))
        self._evidence.keep(name, LISTING_HEADER + ''.join(
            sorted(stdout.splitlines(True), key=_path_of)))

    def _probe(self, what, files):
        """Keep what qemu-img says of each file, but not of those below it."""
        files = [(name, path) for name, path in files if is_file(path)]
        limit = self._settings['max_probes']
        if len(files) > limit:
            self._evidence.problem('{}: only the first {} of {} were looked '
                                   'into'.format(what, limit, len(files)))
        for name, path in files[:limit]:
            # --force-share: a running guest holds the write lock. No
            # --backing-chain: a header that names a backing file may be the
            # guest's own work.
            try:
                info = self._succeed(
                    list(QEMU_IMG_LIMITS) + self._settings['qemu_img']
                    + ['info', '--force-share', '--output=json', path])
            except Trouble as trouble:
                self._evidence.problem(str(trouble))
            else:
                self._evidence.keep(name + '.qemu-img.json', info)

    def _succeed(self, argv):
        status, stdout, stderr = self._run(argv)
        if status:
            raise Trouble('{}: {}'.format(
                ' '.join(argv), stderr or 'exit status {}'.format(status)))
        return stdout

    def _run(self, argv):
        """Exit status, stdout and stderr of a command."""
        seconds = self._settings['command_timeout']
        # Files and no pipes: what is left of a command that is killed may
        # keep a pipe open.
        with tempfile.TemporaryFile() as stdout, \
                tempfile.TemporaryFile() as stderr:
            try:
                process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=stdout,
                    stderr=stderr, env=dict(os.environ, LC_ALL='C'),
                    start_new_session=True)
            except OSError as error:
                raise Trouble('{}: {}'.format(argv[0], error.strerror))
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                kill(process)
                raise Trouble('{}: no answer in {} s'.format(
                    ' '.join(argv), seconds))
            return (process.returncode,
                    self._read(stdout), self._read(stderr).strip())

    def _read(self, file):
        file.seek(0)
        return file.read(self._evidence.max_file_bytes + 1).decode(
            'utf-8', 'replace')


def kill(process):
    """End a command and all that it has started, as far as that goes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(1)
    except (OSError, subprocess.TimeoutExpired):
        # What hangs in the kernel doesn't even die.
        pass


def file_name(name):
    """A name for a file, for what has slashes or worse in it."""
    return re.sub(r'^\.|[^\w.@+-]', '_', name, flags=re.ASCII)


def is_file(path):
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _path_of(line):
    return line.split(' ', 5)[-1]


def guarded(evidence, section):
    """Run a section; what ends it is a problem, no failure."""
    name = section.__name__
    try:
        section()
    except Trouble as trouble:
        evidence.problem('{}: {}'.format(name, trouble))
    except Exception as error:
        evidence.problem('{}: {}: {}'.format(
            name, type(error).__name__, error))


def collect(settings):
    """Read the host; return the report. Threads that hang stay behind."""
    evidence = Evidence(settings['destination'], settings['owner'],
                        settings['max_bytes'], settings['max_file_bytes'])
    collector = Collector(evidence, settings)
    # A thread each: a dead NFS server must not cost what the others find.
    threads = {section.__name__: threading.Thread(
        target=guarded, args=(evidence, section), daemon=True)
        for section in (collector.host, collector.domains,
                        collector.instances, collector.shares,
                        collector.configuration)}
    for thread in threads.values():
        thread.start()
    deadline = time.monotonic() + settings['timeout']
    for name, thread in threads.items():
        thread.join(max(0, deadline - time.monotonic()))
        if thread.is_alive():
            evidence.problem(
                '{}: not finished in {} s; what it had read until then is '
                'kept'.format(name, settings['timeout']))
    return evidence.finish()


def main():
    try:
        report = collect(json.load(sys.stdin))
    except OSError as error:
        sys.exit('evidence: {}: {}'.format(
            error.filename, error.strerror or errno.errorcode[error.errno]))
    json.dump(report, sys.stdout)
    sys.stdout.flush()
    # Without waiting for what hangs.
    os._exit(0)


if __name__ == '__main__':
    main()

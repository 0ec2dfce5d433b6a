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

"""Make the files of root's that give a user access to this host.

In one go, since a task for each costs several round trips to each host. The
environment variable FORMAT_HOST_ACCESS_FILES holds a JSON list, parents before
what is in them:

  [{"path": absolute path, "mode": octal digits,
    "text": text of a file; null: it is a directory,
    "check": command line that must find the file good whose name is put
             behind it, as a list; null: none}]

All will belong to root and its group. Prints the path of each that it made or
changed; what is as it should be is left alone. A file is replaced whole or not
at all. Exits with a message where a check fails, and where sudo is too old for
the sudoers file.
"""

import contextlib
import json
import os
import re
import socket
import stat
import subprocess
import sys

SUDO_VERSION = (1, 9, 10)
# User and group.
ROOT = (0, 0)


def check_sudo():
    """Exit unless sudo knows regular expressions.

    An older one takes them for wildcards, which visudo finds good and which
    match nothing.
    """
    try:
        said = subprocess.check_output(
            ['sudo', '--version'], universal_newlines=True).splitlines()[0]
    except OSError as error:
        fail(f'sudo: {error.strerror}')
    found = re.match(r'Sudo version (\d+)\.(\d+)\.(\d+)', said)
    if not found or tuple(map(int, found.groups())) < SUDO_VERSION:
        fail('expected sudo {}.{}.{} or later, got {}'.format(
            *SUDO_VERSION, said))


def fail(problem):
    sys.exit(f'{socket.gethostname()}: {problem}')


def read(path):
    """Text of a file, or None."""
    try:
        with open(path, encoding='utf-8', newline='') as source:
            return source.read()
    except FileNotFoundError:
        return None


def write(path, text, mode, check):
    # sudo reads no file of sudoers.d with a dot in its name.
    new = f'{path}.format-new'
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    descriptor = os.open(
        new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, 'w', encoding='utf-8', newline='') as target:
            target.write(text)
        if check:
            checked = subprocess.run(
                [*check, new], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, universal_newlines=True)
            if checked.returncode:
                fail(f'{path} would not be good: {checked.stdout.strip()}')
        os.chmod(new, mode)
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise


def settle(path, mode):
    """Give a path to root; whether it had not been so."""
    now = os.lstat(path)
    if stat.S_ISLNK(now.st_mode):
        fail(f'expected {path} to be no symbolic link')
    if (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (*ROOT, mode):
        return False
    os.chown(path, *ROOT)
    os.chmod(path, mode)
    return True


def make(entry):
    """Make one file or directory; whether anything had to be done."""
    path, text, mode = entry['path'], entry['text'], int(entry['mode'], 8)
    changed = False
    if text is None:
        if not os.path.isdir(path):
            os.makedirs(path)
            changed = True
    elif read(path) != text:
        write(path, text, mode, entry['check'])
        changed = True
    return settle(path, mode) or changed


if __name__ == '__main__':
    os.umask(0o022)
    check_sudo()
    for wanted in json.loads(os.environ['FORMAT_HOST_ACCESS_FILES']):
        if make(wanted):
            print(wanted['path'])

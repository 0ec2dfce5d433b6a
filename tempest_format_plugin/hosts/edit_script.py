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

"""Holds an edit of a service's configuration on this host, and undoes it.

Not imported for work: host_edit sends the source of this module to the Python
of a compute host, as root. So it stands alone, runs on Python 3.6 and needs
only the standard library. It reads orders from its standard input and answers
on its standard output, a JSON object a line.

The first order is one of these:

``{"verb": "hold", "holder": text, "lease": seconds, "file": path,
"content": text, "append": whether, "restart": [argument, ...],
"restart_seconds": seconds, "running": [argument, ...], "log": [argument,
...]}``
    Write the file, which must not be there (append: add to the one that is),
    and restart the service. Hold that until told to undo it. If the standard
    input ends, or is silent for the length of the lease, undo it untold.

    Answered by ``{"held": true}``, ``{"refused": text}`` where somebody else
    holds an edit, or ``{"error": text, "log": text, "undone": whether}`` where
    it went wrong; undone: the host is as it was.

    What may follow: ``{"verb": "renew"}`` (no answer), ``{"verb": "state"}``,
    answered by ``{"running": whether, "log": text}``, ``{"verb": "change",
    "content": text}`` in place of the first content, answered as hold is, and
    ``{"verb": "undo"}``, answered by ``{"undone": true}`` or an error as
    above.

``{"verb": "list"}``
    Answered by ``{"edit": null or {"holder": text, "since": seconds since
    1970, "file": path, "held": whether its guard is alive}}``.

``{"verb": "restore"}``
    Undo an edit whose guard is gone. Answered as undo is, by ``{"undone":
    false}`` if there is none, or by ``{"refused": text}`` if its guard lives.

The state file is on the disk before the first change and goes after the last
one has been undone. So whatever ends this process, another one can finish the
undo; if the host itself goes down, systemd-tmpfiles does at the next boot,
before any service starts (tmpfiles.d(5)).
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import time

STATE_DIR = '/var/lib/disk-format'
BOOT_FILE = '/etc/tmpfiles.d/disk-format.conf'
# Beside the edited file, under names that no service reads.
BACKUP = '.disk-format-backup'
NEW = '.disk-format-new'

LOG_CHARACTERS = 4000
COMMAND_SECONDS = 30
PAUSE = 0.5
# How long somebody who only looks may keep an order waiting.
LOCK_SECONDS = 2
# How often an undo tries a restart that fails.
ATTEMPTS = 3


class EditError(Exception):
    """An order could not be carried out."""


# Files

def read(path):
    with open(path, 'rb') as source:
        return source.read()


def write(path, content, like=None):
    """Have a file on the disk with all of its content, or leave it alone.

    :param content: bytes
    :param like: stat of the file whose owner and permissions it gets; None:
        root's, readable by all
    """
    new = path + NEW
    try:
        with open(new, 'wb') as target:
            if like is not None:
                os.fchown(target.fileno(), like.st_uid, like.st_gid)
            os.fchmod(target.fileno(),
                      stat.S_IMODE(like.st_mode) if like else 0o644)
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        os.rename(new, path)
    except BaseException:
        remove(new)
        raise
    sync(os.path.dirname(path))


def sync(directory):
    """Have on the disk what was renamed or removed in a directory."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def remove_for_good(path):
    """Have on the disk that a file is gone."""
    remove(path)
    with contextlib.suppress(FileNotFoundError):
        sync(os.path.dirname(path))


def missing_directories(path):
    """Return what must be made for a directory to be there, in order."""
    missing = []
    while not os.path.isdir(path):
        missing.insert(0, path)
        path = os.path.dirname(path)
    return missing


def make_directories(path):
    for directory in missing_directories(path):
        os.mkdir(directory, 0o755)


# The service

def run(argv, seconds=COMMAND_SECONDS):
    """Return (exit status, output); status None: it could not run or end."""
    try:
        done = subprocess.run(
            argv, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, 'no end after {} s'.format(seconds)
    except OSError as error:
        return None, str(error)
    return done.returncode, done.stdout.decode('utf-8', 'replace')


def restart(order):
    """Restart the service and wait until it runs.

    :raises EditError: it doesn't
    """
    status, output = run(order['restart'], order['restart_seconds'])
    if status != 0:
        raise EditError('{} ended with exit status {}: {}'.format(
            ' '.join(order['restart']), status, output.strip()[-500:]))
    end = time.monotonic() + order['restart_seconds']
    while run(order['running'])[0] != 0:
        if time.monotonic() > end:
            raise EditError(
                '{} s after {}, {} still fails'.format(
                    order['restart_seconds'], ' '.join(order['restart']),
                    ' '.join(order['running'])))
        time.sleep(PAUSE)


def restart_again(order):
    """Restart the service, if need be several times.

    :raises EditError: it doesn't run
    """
    for attempt in range(ATTEMPTS):
        try:
            return restart(order)
        except EditError:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(PAUSE)


def log_tail(order):
    return run(order['log'])[1][-LOG_CHARACTERS:]


# The edit

class Edit:
    """The one edit that a host can have, and the lock of who works on it."""

    def __init__(self, directory, boot_file):
        self.directory = directory
        self.boot_file = boot_file
        self._path = os.path.join(directory, 'edit.json')
        self._lock_path = os.path.join(directory, 'lock')
        self._lock = None

    def lock(self, only_look):
        """Return whether nobody else works on it; then it is ours.

        :param only_look: others may look meanwhile; nobody is waited for
        """
        kind = fcntl.LOCK_SH if only_look else fcntl.LOCK_EX
        deadline = time.monotonic() + (0 if only_look else LOCK_SECONDS)
        while True:
            os.makedirs(self.directory, 0o700, exist_ok=True)
            lock = open(self._lock_path, 'a')
            try:
                fcntl.flock(lock, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                if time.monotonic() >= deadline:
                    return False
                time.sleep(PAUSE)
                continue
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()),
                                    os.stat(self._lock_path)):
                    self._lock = lock
                    return True
            # Whoever had it has removed it meanwhile.
            lock.close()

    def unlock(self):
        """Leave nothing, but for an edit that could not be undone."""
        if self._lock is None:
            return
        if not self.is_left():
            remove(self._lock_path)
            with contextlib.suppress(OSError):
                os.rmdir(self.directory)
        self._lock.close()

    def is_left(self):
        """Whether something may not be as it was before."""
        return os.path.exists(self._path)

    def state(self):
        """Return the order that was carried out and how far; None: none."""
        try:
            return json.loads(read(self._path).decode())
        except FileNotFoundError:
            return None

    def apply(self, order):
        """Write the file and restart the service.

        :raises EditError, OSError: undo takes back what was done
        """
        path = order['file']
        state = dict(order, since=time.time(), written=False, contents=[],
                     made=(missing_directories(os.path.dirname(self.boot_file))
                           + missing_directories(os.path.dirname(path))))
        if order['append']:
            # Is there one?
            os.stat(path)
        elif os.path.lexists(path):
            raise EditError('{} is there already'.format(path))
        self._keep(state)
        make_directories(os.path.dirname(path))
        state['written'] = True
        self._keep(state)
        if order['append']:
            # The file itself, with all that belongs to it. On the disk before
            # a boot may ask for it.
            os.link(path, path + BACKUP)
            sync(os.path.dirname(path))
        make_directories(os.path.dirname(self.boot_file))
        write(self.boot_file, self._at_boot(order).encode())
        self.change(order['content'])

    def change(self, content):
        """Write the file, or write it anew, and restart the service.

        :raises EditError, OSError: see apply
        """
        state = self.state()
        state['contents'].append(content)
        self._keep(state)
        path, before, like = state['file'], b'', None
        if state['append']:
            before, like = read(path + BACKUP) + b'\n', os.stat(path)
        write(path, before + content.encode(), like)
        restart(state)

    def undo(self):
        """Take back what apply has done, as far as it has come.

        :returns: whether there was anything to take back
        :raises EditError, OSError: not all could be taken back; it can be
            tried again
        """
        state = self.state()
        if state is None:
            return False
        if state['written']:
            try:
                self._put_back(state)
            except EditError:
                # A boot is to leave alone what somebody else has written.
                remove_for_good(self.boot_file)
                raise
            restart_again(state)
        # Only then what a boot would put back.
        remove_for_good(self.boot_file)
        remove(state['file'] + BACKUP)
        remove(state['file'] + NEW)
        for directory in reversed(state['made']):
            # Somebody may have put something there.
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        remove(self._path)
        return True

    def _keep(self, state):
        write(self._path, json.dumps(state).encode(),
              os.stat(self._lock_path))

    @staticmethod
    def _put_back(state):
        path, backup = state['file'], state['file'] + BACKUP
        new = path + NEW
        if not state['append']:
            remove(path)
        elif os.path.exists(backup):
            before = read(backup)
            if os.path.exists(path) and read(path) not in [before] + [
                    before + b'\n' + content.encode()
                    for content in state['contents']]:
                raise EditError(
                    'somebody else has changed {0} since, so it was left '
                    'alone; what it was before is in {1}'.format(path, backup))
            # A boot may still ask for the backup.
            remove(new)
            os.link(backup, new)
            os.rename(new, path)
            # Where both are the same file, that leaves both.
            remove(new)
        # What a boot empties may have taken the directory along.
        with contextlib.suppress(FileNotFoundError):
            sync(os.path.dirname(path))

    def _at_boot(self, order):
        """Lines of tmpfiles.d(5): what a boot is to undo.

        What is to be removed is, before what is to be copied.
        """
        path = order['file']
        if order['append']:
            # What is left then, the backup, is for restore: it can't be
            # removed by the boot that needs it.
            undone = ['C! {0} - - - - {0}{1}'.format(path, BACKUP)]
        else:
            undone = ['R! ' + self.directory]
        return '\n'.join(['# Ends an edit of tempest-format-plugin.',
                          'r! ' + path, 'r! ' + self.boot_file, *undone, ''])


# Orders

class Talk:
    """The orders that come, and the answers.

    :param source: descriptor of what orders are read from
    :param target: descriptor of what answers are written to
    """

    def __init__(self, source, target):
        self.lease = COMMAND_SECONDS
        self._target = target
        self.orders = self._read(source)

    def _read(self, source):
        """Yield the orders; None, and no more, once nobody orders."""
        text = b''
        while True:
            while b'\n' in text:
                line, _, text = text.partition(b'\n')
                try:
                    order = json.loads(line.decode())
                    order['verb']
                except (ValueError, KeyError, TypeError):
                    # Nobody who knows what to order.
                    yield None
                    return
                yield order
            ready, _, _ = select.select([source], [], [], self.lease)
            piece = os.read(source, 65536) if ready else b''
            if not piece:
                yield None
                return
            text += piece

    def answer(self, **words):
        # Whoever asked may be gone.
        with contextlib.suppress(OSError):
            os.write(self._target, (json.dumps(words) + '\n').encode())


def undo(edit, order):
    """Undo; return the answer."""
    try:
        return {'undone': edit.undo()}
    except (EditError, OSError) as error:
        return {'error': str(error), 'undone': False, 'log': log_tail(order)}


def hold(edit, order, talk):
    left = edit.state()
    if left is not None:
        found = undo(edit, left)
        if 'error' in found:
            return talk.answer(**found)
    try:
        edit.apply(order)
        talk.answer(held=True)
        for one in talk.orders:
            if one is None or one['verb'] == 'undo':
                break
            if one['verb'] == 'change':
                edit.change(one['content'])
                talk.answer(held=True)
            elif one['verb'] == 'state':
                talk.answer(running=run(order['running'])[0] == 0,
                            log=log_tail(order))
    except (EditError, OSError, KeyError) as error:
        log = log_tail(order)
        found = undo(edit, order)
        text = str(error)
        if 'error' in found:
            text += '; and that could not be undone: ' + found['error']
        talk.answer(error=text, log=log, undone='error' not in found)
    else:
        talk.answer(**undo(edit, order))


def obey(edit, order, talk):
    free = edit.lock(only_look=order['verb'] == 'list')
    state = edit.state()
    if order['verb'] == 'list':
        talk.answer(edit=state and {
            'holder': state['holder'], 'since': state['since'],
            'file': state['file'], 'held': not free})
    elif not free:
        talk.answer(refused='{} holds an edit of {} since {} UTC'.format(
            state['holder'], state['file'], time.strftime(
                '%Y-%m-%d %H:%M:%S', time.gmtime(state['since'])))
            if state else 'an edit is being made or undone')
    elif order['verb'] == 'restore':
        talk.answer(**(undo(edit, state) if state else {'undone': False}))
    else:
        hold(edit, order, talk)


def work(directory, boot_file, source, target):
    """Take the first order and carry it out.

    :param directory, boot_file: see STATE_DIR and BOOT_FILE
    :param source, target: see Talk
    """
    talk = Talk(source, target)
    order = next(talk.orders)
    if order is None:
        return
    talk.lease = order.get('lease', COMMAND_SECONDS)
    edit = Edit(directory, boot_file)
    try:
        obey(edit, order, talk)
    except OSError as error:
        talk.answer(error=str(error), undone=not edit.is_left(), log='')
    finally:
        edit.unlock()


def main(directory=STATE_DIR, boot_file=BOOT_FILE):
    # What ends a session is no reason to leave the host as it is. Not
    # ignored: a service that the restart starts would inherit that.
    for name in ('SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'):
        signal.signal(getattr(signal, name), lambda *ignored: None)
    work(directory, boot_file, 0, 1)


if __name__ == '__main__':
    main()

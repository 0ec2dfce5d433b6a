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

import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

import fixtures

from tempest_format_plugin.hosts import edit_script
from tempest_format_plugin.tests.unit import base

# What the host does with the source of the script, in other directories.
START = '''
import sys
names = {'__name__': 'edit_script'}
with open(sys.argv[1]) as source:
    exec(source.read(), names)
names['main'](sys.argv[2], sys.argv[3])
'''
# A service that reads its configuration when it is started, logs that, and
# doesn't start on a bad one.
RESTART = '''
cd "$0"
cat etc/nova.conf etc/conf.d/*.conf > read 2>/dev/null
echo started >> log
rm -f runs
if grep -q bad read; then echo "bad option" >> log; else : > runs; fi
sleep $(cat slow)
'''
BEFORE = '[DEFAULT]\nuse_cow_images = True\n# no end'
CONTENT = '[libvirt]\nimages_type = raw\n'


class Guard:
    """The script at work, talked to.

    :ivar source, target: files, of its answers and of orders to it
    """

    def tell(self, **order):
        self.target.write(json.dumps(order) + '\n')
        self.target.flush()

    def hear(self):
        line = self.source.readline()
        return json.loads(line) if line else None

    def ask(self, **order):
        self.tell(**order)
        return self.hear()

    def close(self):
        for file in (self.target, self.source):
            # Nobody may read it any more.
            with contextlib.suppress(BrokenPipeError):
                file.close()
        self.wait()


class GuardThread(Guard):
    """Here, where coverage sees it."""

    def __init__(self, state_dir, boot_file):
        source, write = os.pipe()
        read, target = os.pipe()
        self.source, self.target = open(read), open(write, 'w')

        def work():
            with open(source), open(target, 'w'):
                edit_script.work(state_dir, boot_file, source, target)
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def wait(self):
        self._thread.join()


class GuardProcess(Guard):
    """As on a host, to be killed."""

    def __init__(self, *paths):
        self.process = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', START, edit_script.__file__,
             *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        self.source, self.target = self.process.stdout, self.process.stdin

    def wait(self):
        self.process.wait()


class EditScriptTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.host / 'etc').mkdir()
        self.conf = self.host / 'etc/nova.conf'
        self.conf.write_text(BEFORE)
        self.conf.chmod(0o640)
        os.utime(self.conf, (1, 1))
        (self.host / 'slow').write_text('0')
        self.drop_in = self.host / 'etc/conf.d/disk-format.conf'
        self.before = self.look()

    def look(self):
        """Return all that the service's configuration can be."""
        return {str(path): (path.lstat().st_mode, path.lstat().st_mtime
                            if path == self.conf else 0,
                            path.read_text() if path.is_file() else '')
                for path in [*self.host.glob('etc/**/*'),
                             *self.host.glob('state*')]}

    def order(self, **fields):
        sh = ['/bin/sh', '-c']
        return {'verb': 'hold', 'holder': 'me', 'lease': 60,
                'file': str(self.drop_in), 'content': CONTENT,
                'append': False,
                'restart': [*sh, RESTART, str(self.host)],
                'restart_seconds': 30,
                'running': ['test', '-e', str(self.host / 'runs')],
                'log': ['tail', '-n', '2', str(self.host / 'log')]} | fields

    def talk(self, guard_type, order):
        guard = guard_type(str(self.host / 'state'),
                           str(self.host / 'etc/tmpfiles.d/edit.conf'))
        self.addCleanup(guard.close)
        guard.tell(**order)
        return guard

    def start(self, guard_type=GuardThread, **fields):
        return self.talk(guard_type, self.order(**fields))

    def hold(self, guard_type=GuardThread, **fields):
        guard = self.start(guard_type, **fields)
        self.assertEqual({'held': True}, guard.hear())
        return guard

    def in_place(self, **fields):
        return {'file': str(self.conf), 'append': True} | fields

    def restarts(self):
        return (self.host / 'log').read_text().count('started')

    def assert_held(self):
        self.assertIn(CONTENT, (self.host / 'read').read_text())
        self.assertNotEqual(self.before, self.look())

    def assert_as_before(self, restarts):
        self.assertEqual(self.before, self.look())
        self.assertEqual(BEFORE, (self.host / 'read').read_text())
        self.assertTrue((self.host / 'runs').exists())
        self.assertEqual(restarts, self.restarts())

    def test_drop_in(self):
        guard = self.hold()
        self.assert_held()
        self.assertEqual(CONTENT, self.drop_in.read_text())
        self.assertEqual(BEFORE, self.conf.read_text())
        self.assertEqual({'undone': True}, guard.ask(verb='undo'))
        guard.wait()
        self.assert_as_before(restarts=2)

    def test_in_place(self):
        guard = self.hold(**self.in_place())
        self.assert_held()
        self.assertEqual(f'{BEFORE}\n{CONTENT}', self.conf.read_text())
        self.assertEqual(0o640, self.conf.stat().st_mode & 0o777)
        self.assertEqual({'undone': True}, guard.ask(verb='undo'))
        guard.wait()
        self.assert_as_before(restarts=2)

    def change(self, **fields):
        other = '[libvirt]\nimages_type = flat\n'
        guard = self.hold(**fields)
        self.assertEqual({'held': True},
                         guard.ask(verb='change', content=other))
        self.assertNotIn(CONTENT, (self.host / 'read').read_text())
        self.assertIn(other, (self.host / 'read').read_text())
        return guard

    def test_change(self):
        guard = self.change()
        self.assertEqual({'undone': True}, guard.ask(verb='undo'))
        guard.wait()
        self.assert_as_before(restarts=3)

    def test_change_in_place(self):
        guard = self.change(guard_type=GuardProcess, **self.in_place())
        guard.process.kill()
        guard.wait()
        self.assertEqual({'undone': True}, self.restore())
        self.assert_as_before(restarts=3)

    def test_change_that_does_not_start(self):
        guard = self.hold(restart_seconds=5)
        said = guard.ask(verb='change', content='bad = 1\n')
        self.assertEqual(('started\nbad option\n', True),
                         (said['log'], said['undone']))
        guard.wait()
        self.assert_as_before(restarts=3)

    def test_directory_that_is_somebody_elses(self):
        guard = self.hold()
        other = self.drop_in.with_name('other.conf')
        other.touch()
        self.assertEqual({'undone': True}, guard.ask(verb='undo'))
        self.assertEqual([other], list(self.drop_in.parent.iterdir()))

    def test_end_of_the_connection(self):
        guard = self.hold()
        guard.close()
        self.assert_as_before(restarts=2)

    def test_end_of_the_connection_during_the_restart(self):
        (self.host / 'slow').write_text('0.5')
        guard = self.start()
        while not (self.host / 'log').exists():
            time.sleep(0.01)
        guard.close()
        self.assert_as_before(restarts=2)

    def test_end_of_the_lease(self):
        guard = self.hold(lease=0.2)
        guard.wait()
        self.assert_as_before(restarts=2)

    def test_lease_that_is_renewed(self):
        guard = self.hold(lease=1)
        for _ in range(6):
            time.sleep(0.2)
            guard.tell(verb='renew')
        self.assert_held()
        self.assertEqual({'undone': True}, guard.ask(verb='undo'))

    def test_order_that_makes_no_sense(self):
        for number, line in enumerate(('what?', '7', '{"verb": "change"}'),
                                      start=1):
            guard = self.hold()
            guard.target.write(f'{line}\n')
            guard.target.flush()
            guard.wait()
            self.assert_as_before(restarts=2 * number)

    def test_signals(self):
        guard = self.hold(GuardProcess)
        for name in ('SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'):
            guard.process.send_signal(getattr(signal, name))
        self.assertEqual({'running': True, 'log': 'started\n'},
                         guard.ask(verb='state'))
        self.assert_held()

    def test_service_does_not_inherit_how_signals_are_taken(self):
        seen = self.host / 'signals'
        self.hold(GuardProcess, restart=['/bin/sh', '-c', RESTART + (
            f'grep SigIgn /proc/$$/status > {seen}'), str(self.host)])
        ignored = int(seen.read_text().split()[1], 16)
        for name in ('SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'):
            self.assertFalse(ignored & 1 << getattr(signal, name) - 1, name)

    def test_service_that_does_not_start(self):
        guard = self.start(content='bad = 1\n', restart_seconds=5)
        said = guard.hear()
        self.assertIn('5 s after /bin/sh', said['error'])
        self.assertEqual(('started\nbad option\n', True),
                         (said['log'], said['undone']))
        guard.wait()
        self.assert_as_before(restarts=2)

    def test_service_that_dies_later(self):
        guard = self.hold()
        (self.host / 'runs').unlink()
        self.assertFalse(guard.ask(verb='state')['running'])

    def test_restart_command_that_fails(self):
        guard = self.start(restart=['false'])
        said = guard.hear()
        self.assertIn('false ended with exit status 1', said['error'])
        self.assertIn('and that could not be undone', said['error'])
        self.assertFalse(said['undone'])
        guard.wait()
        # The file is as before; that nothing was restarted is not forgotten.
        self.assertFalse(self.drop_in.exists())
        self.assertEqual('me', self.list()['holder'])

    def test_restart_command_that_does_not_end(self):
        said = self.start(restart=['sleep', '60'],
                          restart_seconds=0.1).hear()
        self.assertIn('no end after 0.1 s', said['error'])

    def test_restart_command_that_is_not_there(self):
        said = self.start(restart=['/no/such/command']).hear()
        self.assertIn('No such file', said['error'])

    def test_file_that_is_there_already(self):
        self.drop_in.parent.mkdir()
        self.drop_in.touch()
        self.before = self.look()
        guard = self.start()
        said = guard.hear()
        self.assertEqual((f'{self.drop_in} is there already', True),
                         (said['error'], said['undone']))
        guard.wait()
        self.assertEqual(self.before, self.look())
        self.assertFalse((self.host / 'log').exists())

    def list(self):
        guard = self.talk(GuardThread, {'verb': 'list'})
        found = guard.hear()['edit']
        guard.wait()
        return found

    def restore(self):
        guard = self.talk(GuardThread, {'verb': 'restore'})
        said = guard.hear()
        guard.wait()
        return said

    def test_second_holder(self):
        self.hold()
        said = self.start(holder='you').hear()
        self.assertRegex(
            said['refused'], rf'^me holds an edit of {self.drop_in} since '
            r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$')
        self.assert_held()
        self.assertEqual(1, self.restarts())

    def test_list(self):
        self.assertIsNone(self.list())
        self.assertEqual(self.before, self.look())
        self.hold()
        found = self.list()
        self.assertEqual(('me', str(self.drop_in), True), tuple(
            map(found.get, ('holder', 'file', 'held'))))
        self.assertAlmostEqual(time.time(), found['since'], delta=60)

    def test_restore_of_nothing(self):
        self.assertEqual({'undone': False}, self.restore())
        self.assertEqual(self.before, self.look())

    def test_restore_of_what_is_held(self):
        self.hold()
        self.assertIn('me holds an edit', self.restore()['refused'])
        self.assert_held()

    def killed(self, **fields):
        guard = self.hold(GuardProcess, **fields)
        guard.process.kill()
        guard.wait()
        self.assert_held()

    def test_guard_that_was_killed(self):
        self.killed()
        self.assertFalse(self.list()['held'])
        self.assertEqual({'undone': True}, self.restore())
        self.assert_as_before(restarts=2)

    def test_guard_that_was_killed_in_place(self):
        self.killed(**self.in_place())
        self.assertEqual({'undone': True}, self.restore())
        self.assert_as_before(restarts=2)

    def test_guard_that_was_killed_during_the_undo(self):
        self.killed()
        self.drop_in.unlink()
        self.assertEqual({'undone': True}, self.restore())
        self.assert_as_before(restarts=2)

    def test_guard_that_was_killed_during_the_undo_in_place(self):
        self.killed(**self.in_place())
        os.rename(f'{self.conf}{edit_script.BACKUP}', self.conf)
        self.assertEqual({'undone': True}, self.restore())
        self.assert_as_before(restarts=2)

    def test_next_holder_after_a_guard_that_was_killed(self):
        self.killed()
        guard = self.hold(holder='you', **self.in_place())
        self.assertEqual('you', self.list()['holder'])
        self.assertFalse(self.drop_in.exists())
        self.assertEqual({'undone': True}, guard.ask(verb='undo'))
        guard.wait()
        self.assert_as_before(restarts=4)

    def test_file_that_somebody_else_has_changed(self):
        self.killed(**self.in_place())
        self.conf.write_text('theirs')
        said = self.restore()
        self.assertIn('somebody else has changed', said['error'])
        self.assertEqual('theirs', self.conf.read_text())
        self.assertEqual(BEFORE, pathlib.Path(
            said['error'].split(' is in ')[1]).read_text())

    def test_restore_after_a_boot(self):
        # systemd-tmpfiles has copied the backup.
        self.killed(**self.in_place())
        backup = pathlib.Path(f'{self.conf}{edit_script.BACKUP}')
        self.conf.unlink()
        self.conf.write_bytes(backup.read_bytes())
        self.assertEqual({'undone': True}, self.restore())
        self.assert_as_before(restarts=2)

    def boot_lines(self, **fields):
        self.hold(**fields)
        path = self.host / 'etc/tmpfiles.d/edit.conf'
        return path.read_text().splitlines()[1:]

    def test_what_a_boot_undoes(self):
        self.assertEqual([f'r! {self.drop_in}',
                          f'r! {self.host}/etc/tmpfiles.d/edit.conf',
                          f'R! {self.host}/state'], self.boot_lines())

    def test_what_a_boot_undoes_in_place(self):
        self.assertEqual(
            [f'r! {self.conf}', f'r! {self.host}/etc/tmpfiles.d/edit.conf',
             f'C! {self.conf} - - - - {self.conf}{edit_script.BACKUP}'],
            self.boot_lines(**self.in_place()))

    def test_look_while_it_is_ordered(self):
        """Whoever only looks refuses nobody."""
        looking = edit_script.Edit(str(self.host / 'state'), 'x')
        self.assertTrue(looking.lock(only_look=True))
        guard = self.start()
        time.sleep(0.2)
        looking.unlock()
        self.assertEqual({'held': True}, guard.hear())

    def test_two_who_look(self):
        for _ in range(2):
            self.assertTrue(edit_script.Edit(
                str(self.host / 'state'), 'x').lock(only_look=True))


class FullDiskTest(base.TestCase):
    """Whichever write finds the disk full, nothing is changed."""

    def setUp(self):
        super().setUp()
        self.host = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = self.host / 'nova.conf'
        self.conf.write_text(BEFORE)
        self.restart = self.useFixture(fixtures.MockPatchObject(
            edit_script, 'restart')).mock

    def fail_at(self, number, append):
        """Let the disk be full at a write; return whether one was."""
        edit = edit_script.Edit(str(self.host / 'state'),
                                str(self.host / 'tmpfiles.d/x.conf'))
        self.assertTrue(edit.lock(only_look=False))
        effects = [None] * number + [OSError(errno.ENOSPC, 'No space left')]
        order = {'file': str(self.conf if append else self.host / 'd/x.conf'),
                 'content': CONTENT, 'append': append}
        with mock.patch.object(os, 'fchmod', side_effect=[
                *effects, *[None] * 20]):
            try:
                edit.apply(order)
            except OSError:
                failed = True
            else:
                failed = False
            edit.undo()
        edit.unlock()
        return failed

    def check(self, append):
        number = 0
        while self.fail_at(number, append):
            self.assertEqual([self.conf], list(self.host.iterdir()))
            self.assertEqual(BEFORE, self.conf.read_text())
            number += 1
        # State, what a boot is to do, state (that it is written, and what),
        # and the file itself.
        self.assertEqual(5, number)

    def test_drop_in(self):
        self.check(append=False)

    def test_in_place(self):
        self.check(append=True)


class PowerCut(BaseException):
    """The end of everything that isn't on the disk yet."""


class BootTest(base.TestCase):
    """Wherever the power is cut, a boot leaves the configuration as before."""

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(
            fixtures.TempDir()).path)
        self.restart = self.useFixture(fixtures.MockPatchObject(
            edit_script, 'restart')).mock
        # How many steps the power stays on for; None: it does.
        self.steps = None
        for module, name in ((edit_script, 'sync'), (edit_script, 'remove')):
            self.useFixture(fixtures.MockPatchObject(
                module, name, self.step(getattr(module, name))))

    def step(self, function):
        """Return a function that the power may fail before."""
        def step(*arguments):
            if self.steps == 0:
                raise PowerCut
            if self.steps is not None:
                self.steps -= 1
            return function(*arguments)
        return step

    def edit(self):
        edit = edit_script.Edit(str(self.host / 'state'),
                                str(self.host / 'tmpfiles.d/x.conf'))
        self.assertTrue(edit.lock(only_look=False))
        return edit

    def boot(self):
        """Do what systemd-tmpfiles does: first remove, then copy."""
        file = self.host / 'tmpfiles.d/x.conf'
        lines = file.read_text().splitlines()[1:] if file.exists() else []
        for kind, path, *_ in map(str.split, lines):
            if kind == 'r!':
                pathlib.Path(path).unlink(missing_ok=True)
            elif kind == 'R!':
                shutil.rmtree(path, ignore_errors=True)
        for kind, path, *rest in map(str.split, lines):
            if kind == 'C!' and not os.path.exists(path):
                shutil.copy2(rest[-1], path)

    def check(self, append, emptied=False):
        """Cut the power before each step of apply, change and undo.

        :param emptied: a boot empties the directory of the file, as /run
        """
        number, done = 0, False
        while not done:
            self.host = self.directory / str(number)
            (self.host / 'etc').mkdir(parents=True)
            conf = self.host / 'etc/nova.conf'
            conf.write_text(BEFORE)
            file = conf if append else self.host / 'run/d/x.conf'
            edit = self.edit()
            self.steps = number
            try:
                edit.apply({'file': str(file), 'content': CONTENT,
                            'append': append})
                edit.change('other')
                edit.undo()
                done = True
            except PowerCut:
                pass
            self.steps = None
            edit.unlock()
            if emptied:
                shutil.rmtree(self.host / 'run', ignore_errors=True)
            self.boot()
            self.assertEqual(BEFORE, conf.read_text(), number)
            self.assertFalse((self.host / 'run/d/x.conf').exists(), number)
            # What the operator writes then stays, whatever boots come.
            if append:
                conf.write_text(BEFORE + '#')
                self.boot()
                self.assertEqual(BEFORE + '#', conf.read_text(), number)
                conf.write_text(BEFORE)
            edit = self.edit()
            edit.undo()
            edit.unlock()
            self.assertEqual(
                [conf], [each for each in self.host.rglob('*')
                         if each.is_file()], number)
            self.assertEqual(BEFORE, conf.read_text(), number)
            number += 1
        self.assertGreater(number, 12)

    def test_drop_in(self):
        self.check(append=False)

    def test_in_place(self):
        self.check(append=True)

    def test_directory_that_a_boot_empties(self):
        self.check(append=False, emptied=True)

    def test_restart_that_fails_before_the_boot(self):
        """What a boot may need stays until there is nothing to put back."""
        self.host = self.directory
        conf = self.host / 'nova.conf'
        conf.write_text(BEFORE)
        edit = self.edit()
        edit.apply({'file': str(conf), 'content': CONTENT, 'append': True})
        self.useFixture(fixtures.MockPatchObject(
            edit_script, 'restart_again', side_effect=edit_script.EditError))
        self.assertRaises(edit_script.EditError, edit.undo)
        edit.unlock()
        self.boot()
        self.assertEqual(BEFORE, conf.read_text())

    def test_somebody_elses_change_before_the_boot(self):
        self.host = self.directory
        conf = self.host / 'nova.conf'
        conf.write_text(BEFORE)
        edit = self.edit()
        edit.apply({'file': str(conf), 'content': CONTENT, 'append': True})
        conf.write_text('theirs')
        self.assertRaises(edit_script.EditError, edit.undo)
        edit.unlock()
        self.boot()
        self.assertEqual('theirs', conf.read_text())

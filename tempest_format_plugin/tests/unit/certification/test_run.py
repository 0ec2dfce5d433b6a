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

"""These run stestr, and tempest's tests by it, without a cloud."""

import io
import os
import pathlib
import signal
import sys
import textwrap
import threading
import time

import fixtures
import testtools

from tempest_format_plugin.certification import lists
from tempest_format_plugin.certification import run
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base

SECRET = 'hunter2'
TEST = (f'{lists.ROOT}.test_reconfiguration_faults.TestEditFaults.'
        'test_disk_full')


class RunnerTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.script = self.directory / 'script.py'
        for name, value in (('TEMPEST_CONFIG_DIR', str(self.directory)),
                            ('TEMPEST_CONFIG', 'tempest.conf'),
                            ('OS_DISK_FORMAT__SAFETY_LEVEL', None)):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.configure()

    def configure(self, safety_level='operations'):
        (self.directory / 'tempest.conf').write_text(textwrap.dedent(f'''\
            [DEFAULT]
            log_dir = {self.directory}
            log_file = tempest.log
            [compute]
            max_microversion = latest
            [placement]
            max_microversion = latest
            [compute-feature-enabled]
            console_output = true
            config_drive = true
            [disk_format]
            safety_level = {safety_level}
            known_bugs = 2038898
            '''))

    def runner(self, **options):
        working = self.directory / 'working'
        working.mkdir()
        return run.Runner(working, options)

    def run_of(self, runner, *ids):
        """Return the sentence, the verdicts and what was told of a run."""
        stream = io.BytesIO()
        told = Told()
        sentence = runner.run(ids, 1, stream, told)
        stream.seek(0)
        return sentence, {one.test: one for one in results.read(stream)}, told

    def test_discover(self):
        self.assertEqual(
            set(lists.tests_of(lists.load().values())),
            set(self.runner().discover()))

    def test_options_get_to_the_workers(self):
        runner = self.runner(safety_level='read-only', known_bugs='')
        sentence, verdicts, _ = self.run_of(runner, runner.discover()[TEST])
        self.assertEqual('', sentence)
        self.assertFalse(runner.interrupted)
        of_class, = [one for test, one in verdicts.items()
                     if test.startswith('setUpClass')]
        # A file says operations.
        self.assertEqual(
            'This is a test of the safety level reconfigure, [disk_format] '
            'safety_level is read-only', of_class.reason)

    def test_nothing_but_its_own_directory_is_written_to(self):
        before = set(os.listdir('.'))
        self.runner().discover()
        self.assertEqual(before, set(os.listdir('.')))

    def test_in_a_clone_of_another_version(self):
        # python -m would import from there, first of all.
        package = self.directory / 'tempest_format_plugin'
        package.mkdir()
        (package / '__init__.py').write_text('raise Exception("imported")')
        # As what is installed, it is among the places to import from.
        self.useFixture(fixtures.EnvironmentVariable(
            'PYTHONPATH', str(pathlib.Path(run.__file__).parents[2])))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        self.assertIn(TEST, self.runner().discover())

    def test_stestr_that_can_not_start(self):
        self.useFixture(fixtures.MockPatchObject(
            run.sys, 'executable', '/bin/false'))
        error = self.assertRaises(run.NoRun, self.runner)
        self.assertIn('stestr init ended with 1', str(error))

    def child(self, script):
        """Return a Runner whose stestr is a script, which SIGINT reaches."""
        runner = self.runner()
        self.script.write_text(textwrap.dedent(script))
        # As stestr starts its workers: by a shell.
        runner._command = ['sh', '-c', f'{sys.executable} {self.script} '
                           'stestr.subunit_runner.run; exit $?', 'sh']
        return runner

    def test_secrets_are_not_kept(self):
        runner = self.child(f'''\
            import sys, subunit
            result = subunit.StreamResultToBytes(sys.stdout.buffer)
            result.status(test_id='a.B.c', test_status='inprogress')
            result.status(test_id='a.B.c', file_name='reason', eof=True,
                          file_bytes=b'password = {SECRET}',
                          mime_type='text/plain; charset=utf8')
            result.status(test_id='a.B.c', test_status='skip')
            print('no subunit')
            ''')
        stream = io.BytesIO()
        told = Told()
        self.assertEqual('', runner.run(['a.B.c'], 1, stream, told))
        self.assertNotIn(SECRET.encode(), stream.getvalue())
        stream.seek(0)
        verdict, = results.read(stream)
        self.assertEqual(('skipped', 'password = ***'),
                         (verdict.verdict, verdict.reason))
        self.assertEqual([('a.B.c', 'inprogress'), ('a.B.c', 'skip')],
                         told.statuses)

    def test_how_it_ended(self):
        runner = self.child('''\
            import sys
            sys.exit('password = hunter2')
            ''')
        self.assertEqual('', runner.run(['a'], 1, io.BytesIO(), Told()))
        self.script.write_text(
            'import sys\n'
            'print("password = hunter2", file=sys.stderr)\n'
            'sys.exit(3)\n')
        self.assertEqual(
            'stestr ended with 3: password = ***',
            runner.run(['a'], 1, io.BytesIO(), Told()))

    def interrupted(self, times, script):
        """Return the verdicts of a run that gets SIGINT, and its seconds."""
        runner = self.child(script)
        stream, told = io.BytesIO(), Told()

        def interrupt():
            told.began.wait(30)
            for number in range(times):
                os.kill(os.getpid(), signal.SIGINT)
                # Two that come before the first is handled count as one.
                for _ in range(100):
                    if runner._signals > number:
                        break
                    time.sleep(0.1)
        thread = threading.Thread(target=interrupt)
        thread.start()
        started = time.monotonic()
        self.assertEqual('', runner.run(['a.B.c'], 1, stream, told))
        thread.join()
        self.assertTrue(runner.interrupted)
        stream.seek(0)
        return ([one.verdict for one in results.read(stream)],
                time.monotonic() - started)

    def test_interrupted_once(self):
        verdicts, _ = self.interrupted(1, '''\
            import subunit, sys, time
            result = subunit.StreamResultToBytes(sys.stdout.buffer)
            result.status(test_id='a.B.c', test_status='inprogress')
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                # As a test cleans up, and tells of it.
                time.sleep(0.2)
                result.status(test_id='a.B.c', test_status='fail')
            ''')
        self.assertEqual([results.FAILED], verdicts)

    def test_interrupted_twice(self):
        verdicts, seconds = self.interrupted(2, '''\
            import signal, subunit, sys, time
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            result = subunit.StreamResultToBytes(sys.stdout.buffer)
            result.status(test_id='a.B.c', test_status='inprogress')
            time.sleep(60)
            ''')
        self.assertEqual([results.UNFINISHED], verdicts)
        self.assertTrue(seconds < 50, seconds)

    def test_handlers_are_put_back(self):
        before = signal.getsignal(signal.SIGINT)
        self.child('').run(['a'], 1, io.BytesIO(), Told())
        self.assertIs(before, signal.getsignal(signal.SIGINT))


class Told(testtools.StreamResult):
    """Keeps what it is told."""

    def __init__(self):
        super().__init__()
        self.statuses = []
        self.began = threading.Event()

    def status(self, test_id=None, test_status=None, **_):
        if test_status == 'inprogress':
            self.began.set()
        if test_status:
            self.statuses.append((test_id, test_status))

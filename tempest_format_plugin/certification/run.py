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

"""The child process that runs the tests of a certification."""

import contextlib
import io
import os
import pathlib
import re
import select
import signal
import subprocess
import sys

import psutil
import subunit
import testtools

from tempest_format_plugin.certification import lists
from tempest_format_plugin.formats import redaction
from tempest_format_plugin import streams

# stestr's worker, as its command line has it.
_WORKER = 'stestr.subunit_runner.run'


class NoRun(Exception):
    """The tests could not be run at all."""


class _Awake(io.RawIOBase):
    """A pipe on which nobody waits for long.

    Python handles signals when its main thread runs; one that another thread
    gets, as paramiko has some, would not wake it from a read.
    """

    def __init__(self, pipe):
        self._pipe = pipe

    def fileno(self):
        return self._pipe.fileno()

    def readable(self):
        return True

    def readinto(self, buffer):
        while not select.select([self], [], [], 0.5)[0]:
            pass
        return os.readv(self.fileno(), [buffer])


class Runner:
    """Runs tests by stestr, as tempest run does.

    It runs in the working directory of whoever calls it, since paths in
    tempest.conf may be relative to that.

    :param directory: pathlib.Path of an empty directory that nobody else can
        read: streams are there with their secrets for a while
    :param options: {name: text} of [disk_format], in place of tempest.conf's
    """

    def __init__(self, directory, options):
        package = pathlib.Path(__file__).parents[1]
        self._errors = directory / 'stderr'
        self._load_list = directory / 'tests'
        (directory / 'stestr.conf').write_text(
            f'[DEFAULT]\n'
            f'test_path={package / "tests" / "scenario"}\n'
            f'top_dir={package.parent}\n')
        self._command = [
            sys.executable, '-m', 'stestr',
            '--config', str(directory / 'stestr.conf'),
            '--repo-url', str(directory)]
        self._environment = os.environ | {
            # What goes before all files, see oslo_config/sources.
            f'OS_DISK_FORMAT__{name.upper()}': text
            for name, text in options.items()} | {
            # Of the workers; stestr would take the first python of PATH.
            'PYTHON': sys.executable,
            # With "python -m" it would go before what is installed: a clone
            # of the plugin in the working directory, say.
            'PYTHONSAFEPATH': '1',
            # tempest's log needn't be among the details of each test too.
            'OS_LOG_CAPTURE': '0'}
        self._child = None
        self._signals = 0
        self._ask(['init'])

    @property
    def interrupted(self):
        """Whether somebody stopped it."""
        return self._signals > 0

    def discover(self):
        """Return {test: its id with the attributes in brackets}.

        :raises NoRun: the tests can't be listed
        """
        found = {}
        for line in self._ask(['list']).splitlines():
            if line.startswith(lists.ROOT):
                found[re.sub(r'\[.*\]$', '', line)] = line
        if not found:
            raise NoRun(f'stestr lists no test of {lists.ROOT}')
        return found

    def run(self, ids, concurrency, stream, told):
        """Run tests; return a sentence about how it ended, '' if well.

        SIGINT and SIGTERM stop the tests that run, which clean up behind
        themselves first; the second of them kills all.

        :param ids: with the attributes in brackets
        :param stream: binary file for the subunit stream, without secrets
        :param told: testtools.StreamResult that is told meanwhile
        """
        self._load_list.write_text(''.join(f'{one}\n' for one in ids))
        result = testtools.CopyStreamResult([
            streams.Redacted([subunit.StreamResultToBytes(stream)]), told])
        with open(self._errors, 'w') as errors, self._stoppable():
            self._child = subprocess.Popen(
                [*self._command, 'run', '--load-list', str(self._load_list),
                 '--concurrency', str(concurrency), '--subunit'],
                env=self._environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, bufsize=0,
                # Ctrl-C is for us alone: stestr would leave at once, and its
                # workers could tell nobody of what they clean up.
                start_new_session=True)
            with self._child:
                result.startTestRun()
                subunit.ByteStreamToStreamResult(
                    io.BufferedReader(_Awake(self._child.stdout)),
                    non_subunit_name='stdout').run(result)
                result.stopTestRun()
        # 1: a test failed, which the stream tells.
        if self._child.returncode in (0, 1) or self.interrupted:
            return ''
        return (f'stestr ended with {self._child.returncode}: '
                f'{self._last_error()}')

    @contextlib.contextmanager
    def _stoppable(self):
        before = {one: signal.signal(one, self._stop)
                  for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _stop(self, *_):
        self._signals += 1
        if self._child is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            stestr = psutil.Process(self._child.pid)
            for one in stestr.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if self._signals > 1:
                        one.kill()
                    elif _WORKER in one.cmdline():
                        one.send_signal(signal.SIGINT)
            if self._signals > 1:
                stestr.kill()

    def _ask(self, arguments):
        """Return what stestr prints.

        :raises NoRun: it ends otherwise than well
        """
        with open(self._errors, 'w') as errors:
            asked = subprocess.run(
                [*self._command, *arguments], env=self._environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, text=True, errors='replace', check=False)
        if asked.returncode:
            raise NoRun(redaction.redact(
                f'stestr {arguments[0]} ended with {asked.returncode}: '
                f'{asked.stdout[-2000:].strip()} {self._last_error()}'))
        return asked.stdout

    def _last_error(self):
        text = self._errors.read_text(errors='replace')[-2000:].strip()
        return redaction.redact(text) or 'it says nothing'

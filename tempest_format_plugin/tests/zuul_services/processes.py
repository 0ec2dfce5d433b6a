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

"""Processes that run no longer than a test does."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import fixtures
from testtools import content
from testtools.content_type import UTF8_TEXT

from tempest_format_plugin.tests.zuul_services import exceptions

_TOLD = 100
# What takes seconds by itself may take minutes on a busy machine.
_START_SECONDS = 600


class Process(fixtures.Fixture):
    """A process that is started, and is ready, when the fixture is set up.

    It leads a session of its own. At the end the process is asked to stop, and
    whatever is left of its session is killed. It doesn't outlive this process
    either.

    :param name: what it is called in messages
    :param argv: list of str, the command
    :param log: path of the file that takes all its output; its end is among
        the details of a test that fails
    :param ready: function without arguments that says whether the process has
        become ready
    :param seconds: how long that may take
    :param stop_signal: what asks it to stop
    :param options: further arguments of subprocess.Popen
    :raises ServicesError: by setUp(), it ended or wasn't ready in time
    """

    def __init__(self, name, argv, log, ready=lambda: True,
                 seconds=_START_SECONDS, stop_signal=signal.SIGTERM,
                 **options):
        super().__init__()
        self.name = name
        self.argv = [str(word) for word in argv]
        self.log = pathlib.Path(log)
        self._ready = ready
        self._seconds = seconds
        self._stop_signal = stop_signal
        self._options = options
        self._said = None

    def _setUp(self):
        with self.log.open('wb') as output:
            self.process = subprocess.Popen(
                bound(self.argv), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
                **self._options)
        self.addCleanup(self._stop)
        self.addDetail(f'{self.name} said last', content.Content(
            UTF8_TEXT, lambda: [self._last_said().encode()]))
        self.wait('ready', self._ready, self._seconds)

    @property
    def pid(self):
        return self.process.pid

    def wait(self, what, holds, seconds):
        """Wait until something holds, as long as the process runs.

        :param what: what is expected of the process, as a word or sentence
        :param holds: function without arguments that says whether it does
        :returns: what holds() returned, which is true
        :raises ServicesError: it ended, or it took too long
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if held := holds():
                return held
            if self.process.poll() is not None:
                raise exceptions.ServicesError(self._says(
                    what, f'it ended with status {self.process.returncode}'))
            time.sleep(0.2)
        raise exceptions.ServicesError(self._says(
            what, f'it was not within {seconds} seconds'))

    def wait_for_line(self, pattern, seconds):
        """Wait until the process has written a line.

        :param pattern: regular expression that is found in the line
        :raises ServicesError: as wait()
        """
        self.wait(f'to say {pattern!r}', lambda: re.search(
            pattern, self.log.read_text(errors='replace')), seconds)

    def _says(self, what, instead):
        return (f'{self.name} ({" ".join(self.argv)}): expected: {what}; '
                f'{instead} and said last:\n{self._last_said()}')

    def _last_said(self):
        return last_lines(self.log) if self._said is None else self._said

    def _stop(self):
        if self.process.poll() is None:
            self.process.send_signal(self._stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
        # Its children, or all of it where it took no notice.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=20)
        # Where another fixture fails to start, the details of this one are
        # asked for when the log is gone.
        self._said = self._last_said()


def bound(argv):
    """Return a command that is killed where whoever started it is.

    No test that is cut off leaves a service behind.

    :param argv: list of str
    """
    return [program('setpriv', 'util-linux'), '--pdeathsig', 'KILL', '--',
            *argv]


def last_lines(path, count=_TOLD):
    """Return the last lines of a file, as text."""
    lines = pathlib.Path(path).read_text(errors='replace').splitlines()
    return '\n'.join(lines[-count:])


def free_port(address='127.0.0.1'):
    """Return a TCP port that nobody listens on at an address."""
    with socket.socket() as trial:
        trial.bind((address, 0))
        return trial.getsockname()[1]


def accepts_connections(address, port):
    """Whether somebody listens on a TCP port."""
    with contextlib.suppress(OSError):
        with socket.create_connection((address, port), timeout=5):
            return True
    return False


def program(name, package, *places):
    """Return the path of a program that a Debian package brings.

    :param places: directories outside PATH to look in first
    :raises ServicesError: it is not installed
    """
    path = shutil.which(name, path=os.pathsep.join(
        [*map(str, places), '/usr/sbin', '/usr/bin', '/sbin', '/bin']))
    if not path:
        raise exceptions.ServicesError(
            f'{name} is not installed: it is in the Debian package {package}')
    return path

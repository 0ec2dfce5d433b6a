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

"""The driver's children, and how they end."""

import contextlib
import os
import signal
import subprocess

import psutil

from format_lab import console

# In the environment of all that the driver starts: which cloud it is for.
MARK = 'FORMAT_LAB_DRIVEN_CLOUD'
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def child(mark, argv, environment=None, **kwargs):
    """Start a child; end it and its descendants when the block ends.

    It has a session of its own: Ctrl-C reaches the driver alone, which
    decides what is ended in which order.
    """
    started = subprocess.Popen(
        argv, start_new_session=True, stdin=subprocess.DEVNULL,
        env=os.environ | {MARK: mark} | (environment or {}), **kwargs)
    try:
        yield started
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            if started.poll() is None:
                process = psutil.Process(started.pid)
                # The process first: it would replace what it loses.
                end([process, *process.children(recursive=True)])
        started.wait()


def end_orphans(mark):
    """End what a killed driver left running: it would go on changing.

    Known by the driver's mark in their environment. The nodes have none:
    they are meant to stay.
    """
    orphans = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                orphans.append(process)
    if orphans:
        console.say(f'ending {len(orphans)} processes of an interrupted run')
        end(orphans)


def end(processes):
    """End processes, in this order, by their ids: gently, then not."""
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.terminate()
    _, alive = psutil.wait_procs(processes, timeout=10)
    for one in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(alive, timeout=5)


def last_line(stderr):
    """Return the last line of what a command had to say."""
    return (stderr.strip().splitlines() or ['no reason given'])[-1].strip()


def heed_interrupts():
    """Let each of INTERRUPTS raise KeyboardInterrupt."""
    for number in INTERRUPTS:
        # nohup and a shell's & ignore one: so it stays.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


@contextlib.contextmanager
def no_interrupts():
    """Ignore INTERRUPTS while the block lasts."""
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    _ignore_interrupts()
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _ignore_interrupts():
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)


def _interrupt(number, frame):
    """Be interrupted, once: tox passes Ctrl-C on more than once.

    What then ends the child and takes the cloud down must not be cut short.
    """
    _ignore_interrupts()
    raise KeyboardInterrupt

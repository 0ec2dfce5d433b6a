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

"""The commands that the documents tell, and whether they do what is told.

A comment right before a block of the language console says what is done with
it, as one of ::

    .. run: machine
    .. run: cloud, on 2024.2, exits with 0 or 1
    .. not run: it installs packages

"machine" is a shell in the repository, "cloud" the one that "tox -e lab --
shell" gives a person. A document has one of each: what a command sets, the
next one has. A comment ``no commands are run: REASON`` is about the
whole document.
"""

import contextlib
import dataclasses
import doctest
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import uuid

from docutils import core
from docutils import nodes

from format_lab import console
from format_lab import exceptions
from format_lab import places
from format_lab import processes
from format_lab import workspace

MACHINE, CLOUD = 'machine', 'cloud'
DEFAULT_CLOUD = 'current'
# Seconds that a command may take.
TIMEOUT = 900

_RUN = re.compile(
    rf'run: (?P<place>{MACHINE}|{CLOUD})'
    r'(?:, on (?P<cloud>[\w.-]+))?'
    r'(?:, exits with (?P<statuses>\d+(?: or \d+)*))?')
_NOT_RUN = re.compile(r'not run: (?P<reason>\S.*)', re.DOTALL)
_NONE_RUN = re.compile(r'no commands are run: (?P<reason>\S.*)', re.DOTALL)


class DocumentError(Exception):
    """A document has a block of which nothing can be told."""


class CommandError(Exception):
    """A command doesn't do what its document tells."""


@dataclasses.dataclass(frozen=True)
class Command:
    """A command and what follows it.

    :ivar output: with "..." for any text; '' where none is told
    """

    text: str
    output: str


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of console.

    :ivar document: file name below the repository
    :ivar line: in it
    :ivar place: MACHINE or CLOUD; None: it isn't run
    :ivar cloud: the name of the cloud that it is about
    :ivar statuses: with which each command may exit
    """

    document: str
    line: int
    commands: tuple[Command, ...]
    place: str | None = None
    cloud: str = DEFAULT_CLOUD
    statuses: tuple[int, ...] = (0,)


def documents():
    """Return the path of each document below the repository."""
    return [places.REPO / 'README.rst',
            *(places.REPO / 'playbooks' / 'lab').glob('README.rst'),
            *sorted((places.REPO / 'doc' / 'source').rglob('*.rst'))]


def blocks(path):
    """Return the Blocks of a document.

    :raises DocumentError: a block has no language, or is of console and has no
        comment that says what is done with it
    """
    name = str(path.relative_to(places.REPO))
    # What only Sphinx knows is an error to docutils, and none to us.
    tree = core.publish_doctree(path.read_text(), settings_overrides={
        'report_level': 5, 'halt_level': 5, 'syntax_highlight': 'none',
        'file_insertion_enabled': False})
    if any(_NONE_RUN.fullmatch(comment.astext())
           for comment in tree.findall(nodes.comment)):
        return []
    return [_block(name, node, language)
            for node, language in _literals(name, tree)
            if language == 'console']


def _literals(name, tree):
    """Yield (node, language) of each literal block."""
    for node in tree.findall(nodes.literal_block):
        parent = node.parent
        if isinstance(parent, nodes.system_message):
            if '"code-block"' in parent.astext():
                raise DocumentError(f'{name}: {parent.astext()}')
            continue
        languages = [one for one in node['classes'] if one != 'code']
        if not languages:
            raise DocumentError(
                f'{name}: write ".. code-block:: LANGUAGE" (console, ini, '
                f'text, ...) in place of "::" before: {node.astext()[:60]!r}')
        yield node, languages[0]


def _block(name, node, language):
    line = node.line or _line(node.parent)
    siblings = node.parent.children
    before = siblings[siblings.index(node) - 1]
    said = before.astext() if isinstance(before, nodes.comment) else ''
    where = f'{name}, block of console that begins with ' \
            f'{node.astext().splitlines()[0]!r}'
    commands = tuple(_commands(where, node.astext()))
    if _NOT_RUN.fullmatch(said):
        return Block(name, line, commands)
    run = _RUN.fullmatch(said)
    if not run:
        raise DocumentError(
            f'{where}: the comment before it must say "run: '
            f'{MACHINE}|{CLOUD}[, on CLOUD][, exits with N or N]" or '
            f'"not run: REASON", it says {said!r}')
    return Block(name, line, commands, run['place'],
                 run['cloud'] or DEFAULT_CLOUD,
                 tuple(map(int, (run['statuses'] or '0').split(' or '))))


def _line(node):
    while node is not None and node.line is None:
        node = node.parent
    return node.line if node is not None else 0


def _commands(where, text):
    """Yield the Commands of a block.

    A command begins with "$ ". It goes on after a line that ends with a
    backslash, and with lines that begin with "> ".
    """
    command, output = [], []
    for line in text.splitlines():
        if line.startswith('$ '):
            if command:
                yield Command('\n'.join(command), '\n'.join(output))
            command, output = [line[2:]], []
        elif not command:
            raise DocumentError(f'{where}: {line!r} follows no "$ "')
        elif not output and line.startswith('> '):
            command.append(line[2:])
        elif not output and command[-1].endswith('\\'):
            command.append(line)
        else:
            output.append(line)
    yield Command('\n'.join(command), '\n'.join(output))


class Shell:
    """A bash that keeps what a command sets for the next one."""

    def __init__(self, enter, cwd, environment):
        """Start it.

        :param enter: argv that goes before bash
        """
        self._bash = subprocess.Popen(
            [*enter, 'bash', '--norc'], cwd=cwd, env=environment, text=True,
            errors='replace', stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, command, timeout=TIMEOUT):
        """Run a command; return (exit status, stdout and stderr).

        :raises CommandError: it takes longer than timeout, in seconds, or
            ends the shell
        """
        end = f'end-of-{uuid.uuid4().hex}'
        timer = threading.Timer(timeout, self.close)
        timer.start()
        said = []
        try:
            # In this shell, and with nothing to read.
            self._bash.stdin.write(f'{{ {command}\n}} < /dev/null\n'
                                   f'printf "\\n{end} %d\\n" $?\n')
            self._bash.stdin.flush()
            for line in self._bash.stdout:
                if line.startswith(end):
                    return int(line.split()[1]), ''.join(said).strip()
                said.append(line)
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        raise CommandError(
            f'it ended its shell, or took longer than {timeout} s: '
            + ''.join(said)[-2000:])

    def close(self):
        """Kill it, and what it has started that is in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()


def run(lab, names):
    """Run the commands of documents on a cloud that is up.

    Of a document whose command fails, the commands after it are not run.

    :param names: of the documents, below the repository; empty: all
    :returns: how many documents have a command that does something else than
        what is told
    :raises LabError: the cloud is not up, a document is not there
    """
    lab.settings()
    chosen = [places.REPO / name for name in names] or documents()
    for path in chosen:
        if path not in documents():
            raise exceptions.LabError(f'there is no document {path}')
    failed = 0
    for path in chosen:
        wanted = [block for block in blocks(path)
                  if block.place and block.cloud == lab.cloud]
        if wanted:
            failed += not _run_document(lab, wanted)
    return failed


def _run_document(lab, wanted):
    """Run blocks of one document; return whether all do what is told."""
    with tempfile.TemporaryDirectory(prefix='format-lab-docs-') as scratch, \
            contextlib.ExitStack() as shells:
        opened = {}
        for block in wanted:
            if block.place not in opened:
                opened[block.place] = _shell(lab, block.place, scratch)
                shells.callback(opened[block.place].close)
            for command in block.commands:
                started = time.monotonic()
                try:
                    check(opened[block.place], command, block.statuses,
                          lab.directory)
                except CommandError as error:
                    console.say(f'FAILED  {block.document}: '
                                f'{command.text}\n{error}')
                    return False
                console.say(f'{time.monotonic() - started:6.1f} s  '
                            f'{block.document}: {command.text}')
    return True


def check(shell, command, statuses, directory=places.DIRECTORY):
    """Run a Command and compare what it says with what is told.

    :param directory: of the lab, where the document has the default one
    :raises CommandError: it does something else
    """
    status, said = shell.run(command.text.replace(
        str(places.DIRECTORY), str(directory)))
    if status not in statuses:
        raise CommandError(f'it exits with {status}, expected '
                           f'{" or ".join(map(str, statuses))}: {said}')
    if command.output and not doctest.OutputChecker().check_output(
            command.output, said,
            doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
        raise CommandError(f'expected:\n{command.output}\nit says:\n{said}')


def _shell(lab, place, directory):
    # Without the driver's mark: a lab command among those of a document would
    # end what has it.
    environment = {name: value for name, value in os.environ.items()
                   if name != processes.MARK}
    environment['FORMAT_LAB_DIR'] = str(lab.directory)
    if place == MACHINE:
        return Shell([], places.REPO, environment)
    return Shell(lab.in_cloud(), directory,
                 environment | workspace.make(lab, directory))

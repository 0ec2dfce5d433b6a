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

"""What is kept of the tests that found something, as files."""

import re

from tempest_format_plugin.formats import redaction
from tempest_format_plugin import results

WITHOUT_EVIDENCE = frozenset((results.AGREES, results.SKIPPED))


def directory_of(verdict):
    """Return the name of the directory with a test's evidence."""
    return _safe(verdict.name)


def files(verdict):
    """Return the evidence of a test, without secrets.

    :returns: {path below directory_of(verdict): text}: NN-MOMENT.txt with the
        table of each step, reason.txt, and what hosts and services had to say;
        {} if there was nothing to find
    """
    return {path: redaction.redact(text)
            for path, text in _texts(verdict).items()}


def paths(verdict):
    """Return the paths of files(verdict), in order."""
    return list(_texts(verdict))


def write_evidence(directory, verdicts):
    """Write the evidence of each test that has some: see files.

    :param directory: pathlib.Path, made if it isn't there
    :returns: list of the paths written
    """
    written = []
    for verdict in verdicts:
        for name, text in files(verdict).items():
            path = directory / directory_of(verdict) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # Texts come with the line ends that they have.
            path.write_text(text, newline='')
            written.append(path)
    return written


def write_redacted(source, target):
    """Copy a log without its secrets, line by line.

    :param source: path; what isn't UTF-8 in it is replaced
    :param target: path
    """
    with (open(source, errors='replace', newline='\n') as log,
          open(target, 'w', newline='') as copy):
        copy.writelines(redaction.redact_lines(log))


def _texts(verdict):
    if verdict.verdict in WITHOUT_EVIDENCE:
        return {}
    reason = [str(verdict), results.bug_title(verdict.bug), verdict.reason]
    texts = {'reason.txt': ''.join(f'{line}\n' for line in reason if line)}
    for moment, text in verdict.tables.items():
        step, _, when = moment.partition('-')
        texts[f'{step:0>2}-{_safe(when)}.txt'] = f'{text}\n'
    for name, text in verdict.evidence.items():
        # A name from a stream must not lead out of the directory.
        parts = [_safe(part) for part in name.split('/')]
        texts['/'.join(part for part in parts if part)] = text
    return texts


def _safe(name):
    """Return a name as a file may have it: '' for '.' and '..'."""
    return re.sub(r'[^\w.-]+', '-', name).strip('.-')

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

"""Verdicts of scenario tests, read from a subunit stream of their run."""

import dataclasses
import json
import re

import prettytable
import subunit
import testtools

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import redaction

AGREES = 'agrees'
REPRODUCED = 'reproduced'
DISAGREES = 'disagrees'
FAILED = 'failed'
FIXED = 'fixed'
SKIPPED = 'skipped'
UNFINISHED = 'unfinished'
NOT_RUN = 'not run'

# Where a listed bug was expected, seeing it is as good as agreement where
# none was: both are what is known of the cloud.
EXPECTED = frozenset((AGREES, REPRODUCED))

# The detail that tests/scenario/verdicts.py gives a test about a bug.
BUG_DETAIL = 'known-bug'

# The details of tests/scenario/base.py: CPU seconds of the test itself, and
# what begins the name of each file of evidence.
OWN_SECONDS_DETAIL = 'own-seconds'
EVIDENCE = 'evidence/'

# What tests/scenario/base.py calls its tables: STEP-MOMENT.txt, and the same
# as data: STEP-MOMENT.json.
_TABLE = re.compile(r'(\d+)-.*\.txt$')
_DATA = re.compile(r'(\d+)-.*\.json$')

# What a test finds out about disks and guests; all else that ends a test went
# wrong on the way there.
_FINDING = re.compile(
    r'tempest_format_plugin\.(tests\.scenario\.verdicts\.\w+|'
    r'guests\.exceptions\.HeartbeatError)\b')

_OF_STATUS = {
    'success': AGREES,
    'xfail': REPRODUCED,
    'fail': DISAGREES,
    'uxsuccess': FIXED,
    'skip': SKIPPED,
    'inprogress': UNFINISHED,
}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How one test ended.

    :ivar test: its id, without the attributes in brackets
    :ivar bug: id in formats.bugs.BUGS of the bug that it is about; '' if none
    :ivar seconds: how long it took
    :ivar reason: why it was skipped, or what it found or failed with; ''
        otherwise
    :ivar tables: {moment: text} what was observed, in order
    :ivar data: {moment: lists, dicts and values} the same, for programs
    :ivar evidence: {file name: text} what hosts and services had to say
    :ivar own_seconds: CPU time of the test itself; 0 if it doesn't tell
    """

    test: str
    verdict: str
    bug: str
    seconds: float
    reason: str
    tables: dict
    evidence: dict = dataclasses.field(default_factory=dict)
    own_seconds: float = 0
    data: dict = dataclasses.field(default_factory=dict)

    @property
    def expected(self):
        """Whether this is what is known of the cloud."""
        return self.verdict in EXPECTED

    @property
    def name(self):
        """Class and test; of setUpClass (CLASS), module and class."""
        return name_of(self.test)

    def __str__(self):
        if self.verdict == REPRODUCED:
            return f'{REPRODUCED} {bug_label(self.bug)}'
        return self.verdict


def name_of(test):
    """Return class and test of an id; of setUpClass, module and class."""
    return re.sub(r'[\w.]*\.(?=\w+\.\w+\)?$)', '',
                  re.sub(r'\[.*\]$', '', test))


def word_of(status):
    """Return the verdict that a status of subunit amounts to at first sight.

    What a test that fails has found tells DISAGREES from FAILED.
    """
    return _OF_STATUS.get(status, UNFINISHED)


def bug_label(bug_id):
    """Return what tables call a bug: LP and a number, or its id."""
    return f'LP {bug_id}' if bug_id.isdigit() else bug_id


def bug_title(bug_id):
    """Return the title of a bug of formats.bugs.BUGS; '' of any other."""
    return bugs.BUGS[bug_id].title if bug_id in bugs.BUGS else ''


def tests(stream):
    """Return what testtools.StreamToDict tells of each test of a stream.

    Their ids are without the attributes in brackets.

    :param stream: binary file, subunit v2
    """
    found = {}

    def add(test):
        name = re.sub(r'\[.*\]$', '', test['id'])
        found[name] = test | {'id': name}
    result = testtools.StreamToDict(add)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream).run(result)
    # Tests that never ended are reported here, as still in progress.
    result.stopTestRun()
    return list(found.values())


def read(stream):
    """Return the Verdict of each test of a subunit v2 stream.

    :param stream: binary file
    """
    return [_verdict(test) for test in tests(stream)]


def render(verdicts):
    """Return a table with a line per test, without secrets."""
    table = prettytable.PrettyTable(['Test', 'Verdict', 'Seconds', 'Expected'])
    table.align = 'l'
    table.align['Seconds'] = 'r'
    for verdict in verdicts:
        table.add_row([
            verdict.name, str(verdict), f'{verdict.seconds:.0f}',
            'yes' if verdict.expected else 'NO'])
    lines = [table.get_string()]
    lines += [f'{verdict.test}: {verdict.reason}'
              for verdict in verdicts
              if verdict.reason and not verdict.expected]
    return redaction.redact('\n'.join(lines))


def clouds_of(rows):
    """Return the clouds of a matrix, in order.

    :param rows: see render_matrix
    """
    return list(dict.fromkeys(cloud for _, cells in rows for cloud in cells))


def cell(verdict, expected):
    """Return what a matrix says about a bug on a cloud, in words."""
    return verdict if verdict == expected else f'{verdict}, NOT {expected}'


def render_matrix(rows):
    """Return a table of bug by cloud, without secrets.

    :param rows: list of (label of a bug, {cloud: (verdict, expected)})
    """
    clouds = clouds_of(rows)
    table = prettytable.PrettyTable(['Bug', *clouds])
    table.align = 'l'
    for label, cells in rows:
        table.add_row([label, *(cell(*cells[cloud]) if cloud in cells else '-'
                                for cloud in clouds)])
    return redaction.redact(table.get_string())


def as_dicts(verdicts):
    """Return verdicts ready for JSON, without secrets.

    Of the evidence only the names are there.
    """
    return [dataclasses.asdict(verdict) | {
        'expected': verdict.expected,
        'reason': redaction.redact(verdict.reason),
        'tables': {moment: redaction.redact(text)
                   for moment, text in verdict.tables.items()},
        'data': redaction.redact_data(verdict.data),
        'evidence': list(verdict.evidence),
    } for verdict in verdicts]


def _verdict(test):
    # Evidence is no text to subunit, so that no runner prints it.
    details = {name: b''.join(detail.iter_bytes()).decode('utf8', 'replace')
               for name, detail in test['details'].items()
               if detail.content_type.type == 'text'
               or name.startswith(EVIDENCE) or _DATA.match(name)}
    tracebacks = {f'{name}.txt': text for name, text in details.items()
                  if name.startswith('traceback')}
    verdict = _OF_STATUS.get(test['status'], UNFINISHED)
    if verdict == AGREES and tracebacks:
        # testtools calls a test a success that fails and then can't collect
        # its details.
        verdict = DISAGREES
    reason = ''
    if verdict in (DISAGREES, REPRODUCED):
        # A cleanup that fails after an expected failure makes it a failure:
        # the last traceback tells of it, the detail "reason" of the bug.
        reason = _exception(list(tracebacks.values()))
        if reason.startswith('KeyboardInterrupt'):
            # Somebody stopped it: that is no failure.
            verdict, reason = UNFINISHED, 'it was stopped'
        elif verdict == DISAGREES and not _FINDING.match(reason):
            verdict = FAILED
    elif verdict != AGREES:
        reason = details.get('reason', '')
    started, ended = test['timestamps']
    return Verdict(
        test=test['id'],
        verdict=verdict,
        bug=details.get(BUG_DETAIL, ''),
        seconds=(ended - started).total_seconds() if started and ended else 0,
        reason=reason,
        tables={name.removesuffix('.txt'): details[name]
                for name in _in_order(_TABLE, details)},
        evidence=tracebacks | {
            name.removeprefix(EVIDENCE): text
            for name, text in sorted(details.items())
            if name.startswith(EVIDENCE)},
        own_seconds=float(details.get(OWN_SECONDS_DETAIL, 0)),
        data={name.removesuffix('.json'): json.loads(details[name])
              for name in _in_order(_DATA, details)})


def _in_order(pattern, details):
    """Return those details that match, by the number of their step."""
    return sorted(filter(pattern.match, details),
                  key=lambda name: int(pattern.match(name)[1]))


def _exception(tracebacks):
    """Return the last exception with its message, '' if there is none.

    It is what follows the last frame.
    """
    text = tracebacks[-1] if tracebacks else ''
    after = re.split(r'^  File .*\n(?:  .*\n)*', text, flags=re.MULTILINE)
    return after[-1].strip() if len(after) > 1 else text.strip()[-300:]

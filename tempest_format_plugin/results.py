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
import re

import prettytable
import subunit
import testtools

AGREES = 'agrees'
REPRODUCED = 'reproduced'
DISAGREES = 'disagrees'
FAILED = 'failed'
FIXED = 'fixed'
SKIPPED = 'skipped'
UNFINISHED = 'unfinished'

# Where a listed bug was expected, seeing it is as good as agreement where
# none was: both are what is known of the cloud.
EXPECTED = frozenset((AGREES, REPRODUCED))

# The detail that tests/scenario/verdicts.py gives an expected failure.
BUG_DETAIL = 'known-bug'

# What tests/scenario/base.py calls its tables: STEP-MOMENT.txt.
_TABLE = re.compile(r'(\d+)-.*\.txt$')

# What a test finds out about disks and guests; all else that ends a test went
# wrong on the way there.
_FINDING = re.compile(
    r'[\w.]*\b(DisagreementFound|GuestSilent|HeartbeatError|'
    r'OtherDiskBooted):')

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
    :ivar reason: why it was skipped or failed, a line; '' otherwise
    :ivar tables: {moment: text} what was observed, in order
    """

    test: str
    verdict: str
    bug: str
    seconds: float
    reason: str
    tables: dict

    @property
    def expected(self):
        """Whether this is what is known of the cloud."""
        return self.verdict in EXPECTED

    def __str__(self):
        if self.verdict == REPRODUCED:
            number = f'LP {self.bug}' if self.bug.isdigit() else self.bug
            return f'{REPRODUCED} {number}'
        return self.verdict


def read(stream):
    """Return the Verdict of each test of a subunit v2 stream.

    :param stream: binary file
    """
    tests = {}
    result = testtools.StreamToDict(
        lambda test: tests.__setitem__(test['id'], test))
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream).run(result)
    # Tests that never ended are reported here, as still in progress.
    result.stopTestRun()
    return [_verdict(test) for test in tests.values()]


def render(verdicts):
    """Return a table with a line per test."""
    table = prettytable.PrettyTable(['Test', 'Verdict', 'Seconds', 'Expected'])
    table.align = 'l'
    table.align['Seconds'] = 'r'
    for verdict in verdicts:
        # Class and test; of setUpClass (CLASS), module and class.
        name = re.sub(r'[\w.]*\.(?=\w+\.\w+\)?$)', '', verdict.test)
        table.add_row([
            name, str(verdict),
            f'{verdict.seconds:.0f}', 'yes' if verdict.expected else 'NO'])
    lines = [table.get_string()]
    lines += [f'{verdict.test}: {verdict.reason}'
              for verdict in verdicts if verdict.reason]
    return '\n'.join(lines)


def as_dicts(verdicts):
    """Return verdicts ready for JSON."""
    return [dataclasses.asdict(verdict) | {'expected': verdict.expected}
            for verdict in verdicts]


def _verdict(test):
    details = {name: detail.as_text()
               for name, detail in test['details'].items()
               if detail.content_type.type == 'text'}
    verdict = _OF_STATUS.get(test['status'], UNFINISHED)
    reason = ''
    if verdict == DISAGREES:
        # A cleanup that fails after an expected failure makes it a failure:
        # the last traceback tells of it, the detail "reason" of the bug.
        reason = _exception([text for name, text in details.items()
                             if name.startswith('traceback')])
        if not _FINDING.match(reason):
            verdict = FAILED
    elif verdict not in EXPECTED:
        reason = details.get('reason', '')
    started, ended = test['timestamps']
    return Verdict(
        test=re.sub(r'\[.*\]$', '', test['id']),
        verdict=verdict,
        bug=details.get(BUG_DETAIL, ''),
        seconds=(ended - started).total_seconds() if started and ended else 0,
        reason=reason,
        tables={name.removesuffix('.txt'): details[name]
                for name in sorted(filter(_TABLE.match, details), key=_step)})


def _step(detail):
    """Return the number of the step that a table was made at."""
    return int(_TABLE.match(detail)[1])


def _exception(tracebacks):
    """Return the line that names the last exception, '' if there is none.

    It follows the last frame, and more lines of its message may follow it.
    """
    text = tracebacks[-1] if tracebacks else ''
    found = re.findall(r'^  File .*\n(?:  .*\n)*(\S.*)$', text, re.MULTILINE)
    return found[-1] if found else text.strip()[-300:]

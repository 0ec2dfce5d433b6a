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

"""What a certification run found, and what that amounts to."""

import dataclasses
import datetime
import re

from tempest_format_plugin.certification import lists
from tempest_format_plugin.discovery import facts as discovery_facts
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import expectations
from tempest_format_plugin.formats import history
from tempest_format_plugin.formats import models
from tempest_format_plugin import results

# Exit statuses.
CERTIFIED, OTHERWISE, INCOMPLETE, NO_RUN = range(4)

# A class that is skipped, or fails, before its tests, is all that a stream
# has of them.
_CLASS = re.compile(r'setUpClass \((?P<class>[\w.]+)\)$')


@dataclasses.dataclass(frozen=True)
class Expectation:
    """What was expected of a known bug in a run.

    :ivar bug: a formats.bugs.KnownBug
    :ivar expected: whether the cloud was expected to have it
    :ivar proposal: the formats.expectations.Proposal of it
    """

    bug: bugs.KnownBug
    expected: bool
    proposal: expectations.Proposal


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A run of some lists of tests on a cloud.

    :ivar chosen: the lists.TestLists
    :ivar verdicts: results.Verdict of each of their tests, in order, and of
        what else went wrong
    :ivar expectations: an Expectation of each known bug
    :ivar expected_by: who says which bugs are expected: 'as ... tell'
    :ivar left: what was left behind, a line each
    :ivar unlisted: what could not be looked at when it was looked for what
        was left behind, a line each
    :ivar safety_level: that the tests were allowed
    :ivar versions: {what: version} of what ran the tests
    :ivar options: {name: text} of [disk_format] in force
    :ivar told: what went wrong with the run itself, a line each
    """

    chosen: tuple[lists.TestList, ...]
    verdicts: tuple[results.Verdict, ...]
    expectations: tuple[Expectation, ...]
    expected_by: str
    left: tuple[str, ...]
    unlisted: tuple[str, ...]
    safety_level: str
    started: datetime.datetime
    ended: datetime.datetime
    facts: discovery_facts.CloudFacts
    versions: dict
    options: dict
    told: tuple[str, ...] = ()

    @property
    def skipped(self):
        return self._of(results.SKIPPED)

    @property
    def not_run(self):
        """What was not run, or not to its end."""
        return self._of(results.NOT_RUN, results.UNFINISHED)

    @property
    def ran(self):
        return tuple(one for one in self.verdicts
                     if one not in self.skipped + self.not_run)

    @property
    def unexpected(self):
        """The verdicts that aren't what is known of the cloud."""
        return tuple(one for one in self.ran if not one.expected)

    @property
    def complete(self):
        """Whether all that was to be looked at has been."""
        return not (self.skipped or self.not_run or self.unlisted
                    or self.told)

    @property
    def outcome(self):
        """What the run amounts to, in words."""
        words = ['complete']
        if not self.complete:
            words = [f'incomplete: skipped {len(self.skipped)}, '
                     f'not run {len(self.not_run)}']
            if self.unlisted:
                words.append('what was left behind could not all be listed')
            if self.told:
                words.append('the run itself went wrong')
        if self.unexpected:
            words.append(f'{len(self.unexpected)} not as expected')
        elif self.complete:
            words.append('as expected')
        if self.left:
            words.append(f'{len(self.left)} left behind')
        return ', '.join(words)

    @property
    def status(self):
        """The exit status that it amounts to."""
        if self.unexpected or self.left:
            return OTHERWISE
        return CERTIFIED if self.complete else INCOMPLETE

    @property
    def certified(self):
        return self.status == CERTIFIED

    @property
    def title(self):
        return ('Disk format certificate' if self.certified
                else 'Disk format report: no certificate')

    def bug_met(self, bug):
        """Return what the tests of a bug found, as words."""
        found = [str(one) if one.verdict != results.REPRODUCED
                 else results.REPRODUCED
                 for one in self.ran if one.bug == bug.id]
        return ', '.join(
            f'{found.count(each)} {each}' for each in dict.fromkeys(found)
        ) or 'no test of it ran'

    def _of(self, *kinds):
        return tuple(one for one in self.verdicts if one.verdict in kinds)


def verdicts_of(tests, read, missing=()):
    """Return the Verdict of each test that was to run, in order.

    Behind them is what else isn't as expected, such as a tearDownClass.

    :param tests: ids without the attributes in brackets
    :param read: list of results.Verdict, as results.read returns it
    :param missing: those of the tests that this version doesn't have
    """
    by_test = {one.test: one for one in read}
    by_class = {match['class']: one for one in read
                if (match := _CLASS.match(one.test))}
    verdicts = []
    for test in tests:
        found = by_test.pop(test, None)
        of_class = by_class.get(test.rpartition('.')[0])
        if of_class and (found is None
                         or found.verdict == results.UNFINISHED):
            # Before its tests a stream has them as existing, no more.
            found = dataclasses.replace(of_class, test=test)
        if found is None:
            found = results.Verdict(
                test, results.NOT_RUN, '', 0,
                'there is no such test in this version of the plugin'
                if test in missing else '', {})
        verdicts.append(found)
    used = {one.test for one in by_class.values()
            if any(test.startswith(f'{_CLASS.match(one.test)["class"]}.')
                   for test in tests)}
    return (*verdicts, *(
        one for test, one in by_test.items()
        if test not in used and not one.expected))


def pictures(verdict):
    """Return the history.ServerHistory of each server that a test observed."""
    return history.follow(
        (moment, models.from_dict(data))
        for moment, data in verdict.data.items()
        # A table of something else may be a list.
        if isinstance(data, dict) and 'observations' in data)

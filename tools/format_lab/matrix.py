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

"""Bug by cloud: what each cloud shows of each bug, and what it must show."""

import dataclasses

from tempest_format_plugin import report
from tempest_format_plugin import results

from format_lab import expectations

NOT_TESTED = 'not tested'


def table(runs, settings):
    """Return {bug: {cloud: (found, expected)}}.

    :param runs: {cloud: report.Run}; a cloud that failed has none
    :param settings: {cloud: its settings}, of all clouds; a bug that none of
        them looks for has no line
    """
    expected = {cloud: expectations.of_cloud(chosen)
                for cloud, chosen in settings.items()}
    return {
        bug: {cloud: (found(bug, runs[cloud].verdicts) if cloud in runs
                      else NOT_TESTED, expected[cloud].get(bug, NOT_TESTED))
              for cloud in settings}
        for bug in expectations.load()
        if any(bug in of_cloud for of_cloud in expected.values())}


def found(bug, verdicts):
    """Return what the tests that are about a bug found together."""
    about = [one for one in verdicts if one.bug == bug]
    unexpected = [one.verdict for one in about if not one.expected]
    if unexpected or not about:
        return unexpected[0] if unexpected else NOT_TESTED
    return (results.REPRODUCED
            if any(one.verdict == results.REPRODUCED for one in about)
            else results.AGREES)


def as_expected(bugs, runs):
    """Whether every cell of a table and every verdict is what it must be."""
    return (all(shown == expected for cells in bugs.values()
                for shown, expected in cells.values())
            and not any(run.unexpected for run in runs.values()))


def render(bugs):
    """Return a table as text, a line per bug."""
    return results.render_matrix(_rows(bugs))


def page(bugs, runs):
    """Return an HTML page with a table and all runs.

    It is meant to lie beside the clouds' results directories.
    """
    return report.page(
        'Disk formats by cloud',
        [dataclasses.replace(run, directory=cloud)
         for cloud, run in runs.items()], rows=_rows(bugs))


def as_dict(bugs, runs):
    """Return all that was found, ready for JSON."""
    return {
        'as_expected': as_expected(bugs, runs),
        'bugs': {bug: {cloud: {'found': shown, 'expected': expected}
                       for cloud, (shown, expected) in cells.items()}
                 for bug, cells in bugs.items()},
        'clouds': {cloud: {
            'settings': run.settings, 'seconds': run.seconds,
            'own_share': run.own_share,
            'verdicts': results.as_dicts(run.verdicts)}
            for cloud, run in runs.items()},
    }


def _rows(bugs):
    return [(results.bug_label(bug), cells) for bug, cells in bugs.items()]

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

"""The scenarios on a cloud that is up."""

import datetime
import re
import time

from tempest_format_plugin import report
from tempest_format_plugin import results

from format_lab import clouds
from format_lab import console
from format_lab import exceptions
from format_lab import leftovers
from format_lab import places
from format_lab import record
from format_lab import timeline

# All of these come before the arguments: tempest goes by the last word.
CONCURRENCY = ['--concurrency', '3']
# What tempest is told where the arguments don't select tests of their own.
SCENARIOS = r'^tempest_format_plugin\.tests\.scenario\.'
SLOW = r'\bslow\b'
# They restart nova-compute again and again, one after the other.
RECONFIGURE = r'\breconfigure\b'
HEADLINE, ALL, RECONFIGURING = 'headline', 'all', 'reconfiguring'
# Of a cloud whose glance takes no raw images only the scenarios about that are
# wanted, and these of no other cloud.
RAW_DISALLOWED = r'\braw_disallowed\b'
SELECTING = ('--regex', '-r', '--include-list', '--load-list', '--smoke', '-s')


def test(lab, arguments, chosen=HEADLINE):
    """Run tempest; return a report.Run and keep all in lab.results_dir.

    What the tests leave behind is the last of its verdicts.

    :param arguments: tempest run's
    :param chosen: which scenarios, where no argument selects tests: HEADLINE,
        ALL (the slow ones too) or RECONFIGURING
    :raises LabError: the cloud isn't up, or tempest failed otherwise than by
        a test
    """
    settings = lab.settings()
    if not (lab.cloud_dir / 'tempest.conf').exists():
        raise exceptions.LabError(
            f'the cloud {lab.cloud} is not up: bring it up first')
    kept = record.Record(lab)
    kept.clear()
    selected = selection(arguments, chosen, settings)
    if selected:
        kept.discover_scenarios_only()
    leftovers.keep_stock(lab)
    started = _now()
    try:
        status = _run_tempest(lab, kept,
                              [*CONCURRENCY, *selected, *arguments])
        ended = _now()
    finally:
        requests = kept.take_log()
    if not kept.take_stream():
        raise exceptions.LabError(
            'no test was run: see what tempest said above')
    with open(kept.stream, 'rb') as stream:
        verdicts = results.read(stream)
    with open(kept.stream, 'rb') as stream:
        tests = timeline.tests(stream)
    failed = not all(one.expected for one in verdicts)
    own_share = timeline.own_share(
        started, ended, sum(one.own_seconds for one in verdicts), tests,
        requests)
    left = leftovers.find(lab)
    kept.take_evidence_of_hosts()
    run = report.Run(
        lab.cloud, clouds.as_texts(settings),
        kept.with_service_logs(verdicts,
                               timeline.tests_by_request(tests, requests))
        + [leftovers.verdict(left)],
        (ended - started).total_seconds(), own_share, left, started)
    kept.keep(run)
    if status and not failed:
        # A worker that died between two tests takes the rest with it.
        raise exceptions.LabError(
            f'tempest ended with {status} although no test failed: see what '
            f'it said above')
    return run


def selection(arguments, chosen, settings):
    """Return what tempest run is told of the tests to run.

    :param settings: the cloud's
    """
    if any(map(_selects_tests, arguments)):
        return []
    if not clouds.takes_raw_images(settings):
        return ['--regex', rf'{SCENARIOS}.*\[.*{RAW_DISALLOWED}']
    if chosen == RECONFIGURING:
        # One after the other in any case, and those of a class in one worker:
        # what one of them adds to a table, the next one has.
        return ['--concurrency', '1',
                '--regex', rf'{SCENARIOS}.*\[.*{RECONFIGURE}']
    left_out = [RAW_DISALLOWED, RECONFIGURE]
    if chosen == HEADLINE:
        left_out.append(SLOW)
    return ['--regex', SCENARIOS,
            '--exclude-regex', rf'\[.*({"|".join(left_out)}).*\]']


def conclude(lab, run):
    """Show what a run found; return the exit status that it amounts to."""
    console.say(results.render(run.verdicts))
    console.say(run.duration)
    unexpected = len(run.unexpected)
    console.say(f'{len(run.verdicts) - unexpected} verdicts as expected, '
                f'{unexpected} not; see {lab.results_dir}/report.html')
    console.say(f'what hosts and services had to say of bugs and failures: '
                f'{lab.results_dir}/evidence')
    return 1 if unexpected else 0


def _run_tempest(lab, kept, arguments):
    """Run tempest, say what the scenarios say; return its exit status."""
    tempest = lab.child(
        lab.in_cloud(places.BIN / 'tempest', 'run', '--config-file',
                     lab.cloud_dir / 'tempest.conf', *arguments),
        cwd=kept.directory, environment=kept.environment)
    with tempest as child, open(kept.raw_log, errors='replace') as lines:
        while child.poll() is None:
            console.show_progress(lines)
            time.sleep(0.5)
        console.show_progress(lines)
        return child.returncode


def _selects_tests(argument):
    return (argument.split('=')[0] in SELECTING
            or re.match('-[rs].', argument) is not None)


def _now():
    return datetime.datetime.now(datetime.timezone.utc)

#!/usr/bin/env python3
#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Drive the lab: a real OpenStack on this machine, and the scenarios on it.

``run`` (the default) starts a cloud from nothing, runs the scenarios, prints
the verdicts and stops the cloud; its exit status is 0 only if every verdict
is the one that this cloud is known for. ``up``, ``test``, ``status`` and
``down`` are its parts, for working on a cloud that stays.
"""

import argparse
import json
import os
import pathlib
import sys
import time

from format_lab import clouds
from format_lab import console
from format_lab import documents
from format_lab import driver
from format_lab import exceptions
from format_lab import machine
from format_lab import matrix
from format_lab import places
from format_lab import processes
from format_lab import releases
from format_lab import scenarios
from format_lab import workspace

COMMANDS = ('run', 'up', 'test', 'matrix', 'benchmark', 'docs', 'shell',
            'status', 'down', 'lock')
# Those that take tempest's arguments, and those that start a cloud.
TESTING = ('run', 'test', 'matrix')
STARTING = ('run', 'up', 'matrix')


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog='tox -e lab --', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # What it doesn't know is for tempest, not an abbreviation.
        allow_abbrev=False)
    parser.add_argument(
        'command', nargs='?', default='run', choices=COMMANDS,
        help='run: all of it (default); up, test, status, down: its parts; '
             'matrix: run on several clouds and tell what each shows of each '
             'bug; benchmark: what observation and audit cost, on a cloud '
             'that is up; shell [COMMAND]: one that reaches a cloud that is '
             'up; docs [DOCUMENT ...]: run the commands that the documents '
             'tell there; lock RELEASE: make the lock file of a release of '
             'playbooks/lab/releases anew')
    parser.add_argument(
        '--cloud', default='current', choices=clouds.names(),
        help='which releases, by a file of playbooks/lab/clouds (default: '
             'current)')
    parser.add_argument(
        '--clouds', default='current,2024.2', metavar='NAME,NAME',
        help='matrix: which clouds (default: current,2024.2)')
    parser.add_argument(
        '--all', dest='scenarios', action='store_const',
        const=scenarios.ALL, default=scenarios.HEADLINE,
        help='run, test, matrix: the slow scenarios too')
    parser.add_argument(
        '--reconfigure', dest='scenarios', action='store_const',
        const=scenarios.RECONFIGURING,
        help='run, test: the scenarios that change the options of '
             'nova-compute on a host, and no others')
    starting = parser.add_argument_group('what run, up and matrix start')
    starting.add_argument(
        '--release', action='append', default=[], metavar='SERVICE=RELEASE',
        help='a service of another release than the cloud says; may be '
             'repeated')
    starting.add_argument(
        '--source', action='append', default=[], metavar='SERVICE=PATH',
        help='a service from a source tree, over its release; may be '
             'repeated')
    starting.add_argument(
        '--images-type', default='raw', choices=['raw', 'flat'],
        help='by which of its two names the raw hosts call their image '
             'backend (default: raw)')
    starting.add_argument(
        '--use-cow-images', choices=['true', 'false'],
        help='false: the workaround that LP 2038898 names (default: as the '
             'cloud says, else true)')
    starting.add_argument(
        '--known-bugs', metavar='BUG,BUG',
        help='the bugs of playbooks/lab/expected.yaml that the cloud has, '
             'where source trees mend or make some; empty: none (default: '
             'those of its releases)')
    arguments, rest = parser.parse_known_args(argv)
    if arguments.command == 'lock':
        if len(rest) != 1:
            parser.error('lock takes a release, one of '
                         + ', '.join(releases.names()))
    elif rest and arguments.command not in ('docs', 'shell', *TESTING):
        parser.error(f'{arguments.command} takes no {" ".join(rest)}')
    if arguments.command not in STARTING:
        for option in ('release', 'source', 'known-bugs'):
            if getattr(arguments, option.replace('-', '_')):
                parser.error(f'{arguments.command} takes no --{option}')
    return arguments, rest


def chosen(arguments, name):
    """Return a cloud, with a person's choices, and its settings."""
    cloud = clouds.load(name, arguments.release, arguments.source)
    use_cow_images = cloud.use_cow_images
    if arguments.use_cow_images:
        use_cow_images = arguments.use_cow_images == 'true'
    settings = cloud.choices() | {
        'images_type': arguments.images_type,
        'use_cow_images': use_cow_images}
    if arguments.known_bugs is not None:
        settings['known_bugs'] = list(filter(
            None, arguments.known_bugs.split(',')))
    return cloud, settings


def run(lab, cloud, settings, arguments, selected):
    """A cloud from nothing, the scenarios, and all away.

    :returns: a report.Run
    """
    if lab.cloud_dir.exists() or lab.networks():
        with console.step('Taking down what an earlier run left'):
            lab.down()
    try:
        lab.up(cloud, settings)
        with console.step('Scenarios'):
            return scenarios.test(lab, arguments, selected)
    finally:
        with processes.no_interrupts(), console.step('Taking the cloud down'):
            lab.down()


def run_matrix(directory, arguments, rest):
    """Run the scenarios on several clouds, one after the other.

    :returns: exit status: 0 if all of them show what they must
    """
    names = arguments.clouds.split(',')
    for name in names:
        if name not in clouds.names():
            raise exceptions.LabError(
                f'there is no cloud {name!r}: it is any of '
                f'{", ".join(clouds.names())}')
    choices = {name: chosen(arguments, name) for name in names}
    started, runs = time.monotonic(), {}
    for name, (cloud, settings) in choices.items():
        lab = driver.Lab(directory, name)
        console.say(f'The cloud {name}: {clouds.describe(settings)}')
        try:
            with lab.lock():
                runs[name] = run(lab, cloud, settings, rest,
                                 arguments.scenarios)
        except exceptions.LabError as error:
            console.say(f'lab: {error}')
        else:
            scenarios.conclude(lab, runs[name])
    table = matrix.table(runs, {
        name: settings for name, (_, settings) in choices.items()})
    results = directory / 'results'
    results.mkdir(parents=True, exist_ok=True)
    (results / 'matrix.json').write_text(
        json.dumps(matrix.as_dict(table, runs), indent=1))
    (results / 'matrix.html').write_text(matrix.page(table, runs))
    console.say(matrix.render(table))
    expected = matrix.as_expected(table, runs)
    console.say(f'{time.monotonic() - started:.0f} s; the table and all '
                f'verdicts are {"" if expected else "NOT "}as expected; '
                f'see {results / "matrix.html"}')
    return 0 if expected else 1


def execute(arguments, rest):
    """Run a command; return its exit status."""
    if arguments.command == 'lock':
        return releases.lock(rest[0])
    machine.check_root()
    directory = pathlib.Path(
        os.environ.get('FORMAT_LAB_DIR') or places.DIRECTORY).absolute()
    if arguments.command == 'matrix':
        return run_matrix(directory, arguments, rest)
    lab = driver.Lab(directory, arguments.cloud)
    if arguments.command == 'status':
        return 0 if lab.status() else 1
    # Without the lock: in there a person, or a document, may use the lab.
    if arguments.command == 'shell':
        return workspace.shell(lab, rest)
    if arguments.command == 'docs':
        return 1 if documents.run(lab, rest) else 0
    with lab.lock():
        if arguments.command in STARTING:
            cloud, settings = chosen(arguments, arguments.cloud)
            if arguments.command == 'run':
                return scenarios.conclude(lab, run(
                    lab, cloud, settings, rest, arguments.scenarios))
            lab.up(cloud, settings)
        elif arguments.command == 'test':
            return scenarios.conclude(
                lab, scenarios.test(lab, rest, arguments.scenarios))
        elif arguments.command == 'benchmark':
            return lab.benchmark()
        else:
            with console.step('Taking the cloud down'):
                lab.down()
    return 0


def main(argv=None):
    arguments, rest = parse_arguments(argv)
    processes.heed_interrupts()
    try:
        return execute(arguments, rest)
    except exceptions.LabError as error:
        console.say(f'lab: {error}')
        return 1
    except KeyboardInterrupt:
        console.say('lab: interrupted')
        return 130


if __name__ == '__main__':
    sys.exit(main())

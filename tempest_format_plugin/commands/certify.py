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

"""tempest disk-format certify: run a list of tests and say what came of it."""

import argparse
import datetime
import importlib.metadata
import pathlib
import tempfile

from oslo_log import log
from tempest import config as tempest_config
import testtools

from tempest_format_plugin.certification import certificate as certificates
from tempest_format_plugin.certification import lists
from tempest_format_plugin.certification import render
from tempest_format_plugin.certification import run
from tempest_format_plugin.certification import stock
from tempest_format_plugin import cloud
from tempest_format_plugin.commands import base
from tempest_format_plugin import config
from tempest_format_plugin.discovery import facts as discovery_facts
from tempest_format_plugin.discovery import find
from tempest_format_plugin import evidence
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import expectations
from tempest_format_plugin.formats import redaction
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin import results

CONF = tempest_config.CONF
LOG = log.getLogger(__name__)

# What --known-bugs takes for the bugs that versions and settings tell.
PROPOSED = 'proposed'

# What its API is called among microversions.
_APIS = {'nova': 'compute', 'cinder': 'volume'}

_LEVELS = config.SAFETY_LEVELS


class Refused(Exception):
    """What was asked for can't be done."""


class Certify(base.Command):
    """Run a named list of tests and report what the cloud is.

    Writes a directory with the report as an HTML page that stands alone
    (report.html), as JSON (report.json) and as JUnit XML (junit.xml), the
    subunit stream and the evidence of what was found. The exit status is 0
    where all tests of the list ran, found what is expected of the cloud and
    left nothing behind; 1 where they found something else or left something
    behind; 2 where the run is incomplete for tests that were skipped or not
    run; 3 where there was no run.
    """

    usage_status = certificates.NO_RUN

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--list', action='append', choices=lists.load(), dest='lists',
            help='the tests to run (default: headline); may be repeated: '
            + '; '.join(f'{one.name}: {one.title}'
                        for one in lists.load().values()))
        parser.add_argument(
            '--output', metavar='DIR', type=pathlib.Path,
            help='where the report goes: a directory that is not there yet '
                 '(default: disk-format-report-TIME, here)')
        parser.add_argument(
            '--safety-level', choices=_LEVELS,
            help='what the tests may do to the cloud, in place of '
                 '[disk_format] safety_level')
        parser.add_argument(
            '--known-bugs', metavar='IDS',
            help='the bugs that this cloud is expected to have, separated by '
                 f'commas; empty: none; "{PROPOSED}": those that versions and '
                 'settings tell. Default: [disk_format] known_bugs or, where '
                 f'that is not set, {PROPOSED}')
        parser.add_argument(
            '--version', action='append', default=[], type=_version,
            metavar='SERVICE=VERSION', dest='versions',
            help='the version of nova, cinder or glance, to tell which bugs '
                 'to expect, where it can not be read: cinder=25.0.0; may be '
                 'repeated')
        parser.add_argument(
            '--concurrency', type=base.positive, metavar='N',
            help='how many tests run at once (default: 2; always 1 with a '
                 'list that changes hosts)')
        return parser

    def take_action(self, parsed_args):
        base.quiet_paramiko()
        try:
            self.read_configuration(parsed_args)
            return self._certify(parsed_args)
        except KeyboardInterrupt:
            self.say('interrupted: there is no report')
        except Exception as error:
            # Another exit status than that of a disagreement.
            LOG.debug('No run', exc_info=True)
            self.say(f'{type(error).__name__}: {error}')
        return certificates.NO_RUN

    def _certify(self, parsed_args):
        known = lists.load()
        chosen = tuple(known[name] for name in dict.fromkeys(
            parsed_args.lists or ['headline']))
        level = _safety_level(chosen, parsed_args.safety_level)
        # Whether the options of the profile go together.
        cloud.compute_hosts()
        self.say('looking at the cloud')
        facts = find.look()
        expected, expected_by = _expectations(
            facts, chosen, parsed_args.known_bugs, parsed_args.versions)
        for one in expected:
            self.say(f'{results.bug_label(one.bug.id)}: {one.proposal.words}, '
                     f'{one.proposal.why}')
        self.say(f'bugs expected {expected_by}: ' + (', '.join(
            results.bug_label(one.bug.id) for one in expected if one.expected)
            or 'none'))
        options = {'safety_level': level, 'known_bugs': ','.join(
            one.bug.id for one in expected if one.expected)}
        manager = cloud.admin()
        before = stock.take(manager)
        started = _now()
        output = parsed_args.output or pathlib.Path(
            f'disk-format-report-{started:%Y%m%dT%H%M%SZ}')
        output.mkdir(parents=True)
        tests = lists.tests_of(chosen)
        with tempfile.TemporaryDirectory() as directory:
            runner = run.Runner(pathlib.Path(directory), options)
            ids = runner.discover()
            missing = [test for test in tests if test not in ids]
            concurrency = 1 if _changes_hosts(chosen) else (
                parsed_args.concurrency or 2)
            self.say(f'{len(tests)} tests, {concurrency} at once; the report '
                     f'goes to {output}')
            stream = output / 'results.subunit'
            with open(stream, 'wb') as target:
                told = runner.run(
                    [ids[test] for test in tests if test in ids], concurrency,
                    target, Progress(len(tests), self.say))
        ended = _now()
        with open(stream, 'rb') as source:
            verdicts = certificates.verdicts_of(
                tests, results.read(source), missing)
        self.say('looking for what was left behind')
        try:
            staying, unlisted = stock.wait(
                manager, before, CONF.resource_name_prefix)
        except KeyboardInterrupt:
            # What the tests have found is worth a report all the same.
            staying, unlisted = [], ['the looking was stopped']
        left = [*map(str, staying)]
        if _changes_hosts(chosen):
            for lines, more in zip((left, unlisted), _edits()):
                lines += more
        certificate = certificates.Certificate(
            chosen, verdicts, expected, expected_by, tuple(left),
            tuple(unlisted), level, started, ended, facts, _versions(),
            _options_in_force() | options,
            tuple(filter(None, (
                told, 'it was stopped' if runner.interrupted else ''))))
        _write(output, certificate)
        for line in left:
            self.say(f'left behind: {line}')
        print(results.render(certificate.verdicts))
        print(redaction.redact(f'{certificate.title}: {certificate.outcome}; '
                               f'see {output / "report.html"}'))
        return certificate.status


class Progress(testtools.StreamResult):
    """Says which test begins and how it ends.

    :param number: how many there are
    :param say: function that is called with words
    """

    def __init__(self, number, say):
        super().__init__()
        self._number = number
        self._say = say
        self._ended = 0

    def status(self, test_id=None, test_status=None, **_):
        if test_id is None or test_status in (None, 'exists'):
            return
        name = results.name_of(test_id)
        if test_status == 'inprogress':
            self._say(f'begun: {name}')
            return
        self._ended += 1
        self._say(f'{results.word_of(test_status)}: {name} '
                  f'({self._ended} of {self._number})')


def _changes_hosts(chosen):
    return any(one.changes_hosts for one in chosen)


def _safety_level(chosen, wanted):
    """Return the safety level to run some lists at.

    :raises Refused: it is lower than what they need
    """
    level = wanted or CONF.disk_format.safety_level
    needed = lists.level_of(chosen)
    if _LEVELS.index(needed) > _LEVELS.index(level):
        raise Refused(
            f'the list {" + ".join(one.name for one in chosen)} needs the '
            f'safety level {needed}, it is {level}: say --safety-level '
            f'{needed} if the cloud may be put through that')
    return level


def _expectations(facts, chosen, wanted, versions):
    """Return (an Expectation of each known bug, who said so).

    :param facts: discovery.facts.CloudFacts
    :param wanted: the argument --known-bugs; None: not given
    :param versions: [(service, version)] that were given
    :raises FormatsError: there is no bug of some id
    """
    proposals = expectations.propose(_as_cloud(facts, chosen, versions))
    ids, by = None, 'as versions and settings tell'
    if wanted not in (None, PROPOSED):
        ids, by = wanted.replace(',', ' ').split(), 'as --known-bugs says'
    elif wanted is None and _is_set('known_bugs'):
        ids = CONF.disk_format.known_bugs
        by = 'as [disk_format] known_bugs says'
    if ids is None:
        ids = [one.bug.id for one in proposals if one.expected]
    named = bugs.get(ids)
    return tuple(certificates.Expectation(one.bug, one.bug in named, one)
                 for one in proposals), by


def _as_cloud(facts, chosen, versions):
    """Return the expectations.Cloud that facts and tempest.conf tell of."""
    in_use = {}
    for service, version in versions:
        in_use.setdefault(service, []).append(version)
    nova = [one.nova for one in facts.hosts]
    # Of hosts that don't tell their version, the others don't.
    if nova and all(nova):
        in_use.setdefault('nova', nova)
    told = {one.host: one for one in facts.hosts}
    # As the tests choose hosts.
    backends = {host: backend for backend in discovery_facts.FILE_BACKENDS
                for host in cloud.hosts_of_backend(backend)}
    return expectations.Cloud(
        versions=in_use,
        microversions={
            service: facts.microversions[api]
            for service, api in _APIS.items()
            if facts.microversions.get(api)},
        backends=tuple(backends.values()),
        use_cow_images=tuple(
            told[host].use_cow_images if host in told else None
            for host in backends),
        nfs=(any(one.storage_protocol.lower() == 'nfs'
                 for one in facts.pools) if facts.pools else None),
        enforces_formats=CONF.image_feature_enabled.image_format_enforcement,
        takes_raw=CONF.disk_format.raw_images_allowed,
        backends_change=_changes_hosts(chosen))


def _is_set(name):
    """Whether somebody has set an option of [disk_format]."""
    return CONF.get_location(
        name, 'disk_format').location.is_user_controlled


def _edits():
    """Return what is left of edits of hosts, and what can't be told of it."""
    left, unknown = [], []
    for name in cloud.hosts_of_backend(cloud.ANY):
        try:
            edit = host_edit.find(cloud.compute_hosts().get(name))
        except Exception as error:
            # Whatever it is: what can't be looked at may be there.
            unknown.append(f'edit of {name}: {type(error).__name__}: {error}')
            continue
        if edit is not None:
            left.append(f'edit of {edit["file"]} on {name}: see tempest '
                        'disk-format restore')
    return left, unknown


def _versions():
    """Return {distribution: version} of what runs the tests."""
    return {name: importlib.metadata.version(name)
            for name in ('tempest-format-plugin', 'tempest')}


def _options_in_force():
    """Return {name: text} of the options of [disk_format]."""
    texts = {}
    for _, options in config.OPTION_GROUPS:
        for option in options:
            value = getattr(CONF.disk_format, option.dest)
            if option.secret or value is None:
                continue
            if isinstance(value, dict):
                value = ','.join(f'{key}:{each}'
                                 for key, each in value.items())
            elif isinstance(value, list):
                value = ','.join(map(str, value))
            texts[option.name] = str(value)
    return texts


def _write(output, certificate):
    for name, renderer in (('report.html', render.page),
                           ('report.json', render.as_json),
                           ('junit.xml', render.junit)):
        (output / name).write_text(renderer(certificate), encoding='utf-8')
    evidence.write_evidence(output / 'evidence', certificate.verdicts)


def _version(text):
    service, equals, version = text.partition('=')
    if service not in expectations.SERVICES or not equals:
        raise argparse.ArgumentTypeError(
            f'expected SERVICE=VERSION, the service any of '
            f'{", ".join(expectations.SERVICES)}, got {text!r}')
    try:
        expectations.parse(version)
    except exceptions.FormatsError as error:
        raise argparse.ArgumentTypeError(str(error))
    return service, version


def _now():
    return datetime.datetime.now(datetime.timezone.utc)

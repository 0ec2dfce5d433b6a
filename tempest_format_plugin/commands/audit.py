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

"""tempest disk-format audit: which disks of a cloud disagree already."""

import argparse
import datetime
import os
import tempfile
import time
import uuid

from oslo_log import log
from tempest.lib.common import api_microversion_fixture

from tempest_format_plugin.audit import fleet
from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.audit import render
from tempest_format_plugin.audit import walk
from tempest_format_plugin import cloud
from tempest_format_plugin.commands import base

LOG = log.getLogger(__name__)

# Exit statuses.
AGREE, DISAGREE, UNKNOWN, NO_AUDIT = range(4)
# Seconds from one word of progress to the next.
PROGRESS = 10


class Audit(base.Command):
    """Tell which disks of which servers all sources don't agree about.

    Reads only: lists servers as the admin of [auth], observes their disks on
    their hosts as the tests do, and asks cinder for their attachments. The
    exit status is 0 where all agree, 1 where some disagree, 2 where none does
    but of some nothing could be told, 3 where there was no audit.
    """

    usage_status = NO_AUDIT

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--host', action='append', default=[], metavar='HOST',
            help='servers of this compute host; may be repeated')
        parser.add_argument(
            '--project', action='append', default=[], metavar='ID',
            help='servers of this project; may be repeated')
        parser.add_argument(
            '--server', action='append', default=[], metavar='ID',
            type=_server_id, help='this server; may be repeated')
        parser.add_argument(
            '--format', choices=render.FORMATS, default='text',
            help='of what is printed (default: text)')
        parser.add_argument(
            '--output', metavar='FILE',
            help='where to write it, in place of what is there (default: '
                 'print it)')
        parser.add_argument(
            '--journal', metavar='FILE',
            help='where what was found is kept meanwhile. An audit that was '
                 'stopped goes on with it, without a new list of servers; one '
                 'that had come to its end tries again what it could not '
                 'tell. By default it is lost at the end')
        parser.add_argument(
            '--hosts-at-once', type=base.positive, default=20, metavar='N',
            help='how many hosts are connected to at once (default: 20)')
        return parser

    def take_action(self, parsed_args):
        base.quiet_paramiko()
        try:
            self.read_configuration(parsed_args)
            if parsed_args.output is not None:
                _check_output(parsed_args.output)
            # Whether the options of the profile go together.
            cloud.compute_hosts()
            with tempfile.TemporaryDirectory() as directory, journals.opened(
                    parsed_args.journal or os.path.join(
                        directory, 'journal')) as journal:
                return self._audit(journal, parsed_args)
        except KeyboardInterrupt:
            self.say('stopped before there was anything to tell')
            return NO_AUDIT
        except Exception as error:
            # Another exit status than that of a disagreement.
            LOG.debug('No audit', exc_info=True)
            self.say(f'{type(error).__name__}: {error}')
            return NO_AUDIT

    def _audit(self, journal, parsed_args):
        with api_microversion_fixture.APIMicroversionFixture(
                volume_microversion=fleet.VOLUME_MICROVERSION):
            manager = cloud.admin()
            wanted = (parsed_args.host, parsed_args.project,
                      parsed_args.server)
            if not journal.go_on(wanted):
                self.say('listing servers')
                nowhere = journal.begin(wanted, _now(), _counted(
                    fleet.servers(manager.servers_client, *wanted, self.say),
                    self.say))
                if nowhere:
                    self.say(f'{nowhere} servers are on no host')
                if not journal.to_do_count():
                    self.say('there is no server to look at')
                    return NO_AUDIT
            observer = fleet.Observer(manager, self.say)
            try:
                walk.walk(
                    journal, observer.observe, observer.leave,
                    parsed_args.hosts_at_once,
                    _Progress(journal, self.say).told,
                    lambda: self.say('interrupted; waiting for the servers '
                                     'that are being looked at'))
            except KeyboardInterrupt:
                self.say('stopped; with --journal it can be gone on with')
        _write(render.FORMATS[parsed_args.format], journal,
               parsed_args.output)
        counts = journal.counts()
        if counts[journals.DISAGREES]:
            return DISAGREE
        if counts[journals.UNKNOWN] or journal.to_do_count():
            return UNKNOWN
        return AGREE


def _counted(servers, say):
    """Yield servers, and say now and then how many there were."""
    due = _Due()
    for number, server in enumerate(servers, 1):
        if due():
            say(f'{number} servers listed')
        yield server


class _Due:
    """Tells now and then that it is time for a word of progress."""

    def __init__(self):
        self._said = time.monotonic()

    def __call__(self):
        now = time.monotonic()
        if now - self._said < PROGRESS:
            return False
        self._said = now
        return True


class _Progress:
    """Says now and then how far an audit has come."""

    def __init__(self, journal, say):
        self._journal = journal
        self._say = say
        self._due = _Due()

    def told(self):
        if not self._due():
            return
        counts = self._journal.counts()
        left = self._journal.to_do_count()
        self._say(f'{sum(counts.values())} servers looked at, {left} to go: '
                  + ', '.join(f'{number} {name}'
                              for name, number in counts.items()))


def _write(format_, journal, path):
    """Print an audit, or write all of it to a file or nothing."""
    if path is None:
        with base.standard_output() as output:
            format_(journal, output)
        return
    with tempfile.NamedTemporaryFile(
            'w', encoding='utf-8', delete=False,
            dir=_directory(path)) as output:
        try:
            format_(journal, output)
            output.flush()
            os.replace(output.name, path)
        except BaseException:
            os.unlink(output.name)
            raise


def _directory(path):
    return os.path.dirname(os.path.abspath(path))


def _check_output(path):
    """Raise OSError now, and not after hours, if it can't be written."""
    # Root would put a file in place of a device.
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f'--output {path}: expected a file, or nothing there')
    try:
        tempfile.TemporaryFile(dir=_directory(path)).close()
    except OSError as error:
        raise OSError(f'--output {path}: expected a directory that can be '
                      f'written to: {error.strerror}') from error


def _server_id(text):
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected the UUID of a server, got {text!r}')


def _now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        '%Y-%m-%d %H:%M:%S UTC')

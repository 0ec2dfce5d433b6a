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

import argparse
import sys
import tempfile
import time

from cliff import command
from tempest import config
from tempest.lib.common import api_microversion_fixture
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.audit import fleet
from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.audit import render
from tempest_format_plugin.audit import walk

CONF = config.CONF

# Exit statuses.
AGREE, DISAGREE, UNKNOWN, USAGE = range(4)
# Seconds from one word of progress to the next.
PROGRESS = 10


class Audit(command.Command):
    """Tell which disks of which servers all sources don't agree about.

    Reads only: lists servers as the admin of [auth], observes their disks on
    their hosts as the tests do, and asks cinder for their attachments. The
    exit status is 0 where all agree, 1 where some disagree, 2 where none does
    but of some nothing could be told, 3 where there was nothing to do it with.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--config-file', help='tempest.conf (default: as tempest run)')
        parser.add_argument(
            '--host', action='append', default=[], metavar='HOST',
            help='servers of this compute host; may be repeated')
        parser.add_argument(
            '--project', action='append', default=[], metavar='ID',
            help='servers of this project; may be repeated')
        parser.add_argument(
            '--server', action='append', default=[], metavar='ID',
            help='this server; may be repeated')
        parser.add_argument(
            '--format', choices=render.FORMATS, default='text',
            help='of what is printed (default: text)')
        parser.add_argument(
            '--output', type=argparse.FileType('w'), default='-',
            metavar='FILE', help='where to print it (default: here)')
        parser.add_argument(
            '--journal', metavar='FILE',
            help='where what was found is kept meanwhile. An audit that was '
                 'stopped goes on with it, without a new list of servers; one '
                 'that had come to its end tries again what it could not '
                 'tell. By default it is lost at the end')
        parser.add_argument(
            '--hosts-at-once', type=int, default=20, metavar='N',
            help='how many hosts are connected to at once (default: 20)')
        return parser

    def take_action(self, parsed_args):
        if parsed_args.config_file:
            CONF.set_config_path(parsed_args.config_file)
        with tempfile.NamedTemporaryFile() as unnamed:
            try:
                with journals.opened(
                        parsed_args.journal or unnamed.name) as journal:
                    return self._audit(journal, parsed_args)
            except (journals.JournalError,
                    lib_exc.TempestException) as error:
                print(f'audit: {error}', file=sys.stderr)
                return USAGE

    def _audit(self, journal, parsed_args):
        with api_microversion_fixture.APIMicroversionFixture(
                volume_microversion=fleet.VOLUME_MICROVERSION):
            manager = fleet.admin()
            if not journal.take_up():
                _say('listing servers')
                nowhere = journal.add(fleet.servers(
                    manager.servers_client, parsed_args.host,
                    parsed_args.project, parsed_args.server))
                if nowhere:
                    _say(f'{nowhere} servers are on no host')
            progress = _Progress(journal)
            try:
                observer = fleet.Observer(manager)
                walk.walk(journal, observer.observe, observer.leave,
                          parsed_args.hosts_at_once, progress.told)
            except KeyboardInterrupt:
                _say('interrupted; with --journal it can be gone on with')
        render.FORMATS[parsed_args.format](journal, parsed_args.output)
        counts = journal.counts()
        if counts[journals.DISAGREES]:
            return DISAGREE
        if counts[journals.UNKNOWN] or journal.to_do_count():
            return UNKNOWN
        return AGREE


class _Progress:
    """Says now and then how far an audit has come."""

    def __init__(self, journal):
        self._journal = journal
        self._said = time.monotonic()

    def told(self):
        now = time.monotonic()
        if now - self._said < PROGRESS:
            return
        self._said = now
        counts = self._journal.counts()
        left = self._journal.to_do_count()
        _say(f'{sum(counts.values())} servers looked at, {left} to go: '
             + ', '.join(f'{number} {name}'
                         for name, number in counts.items()))


def _say(words):
    print(f'audit: {words}', file=sys.stderr, flush=True)

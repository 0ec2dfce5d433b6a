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

"""tempest disk-format discover: what a cloud is, as options for it."""

import contextlib
import datetime
import os

from oslo_log import log
import yaml

from tempest_format_plugin.commands import base
from tempest_format_plugin.discovery import find
from tempest_format_plugin.discovery import tempest_conf

LOG = log.getLogger(__name__)

# Exit statuses.
FOUND, PARTLY, NOTHING = range(3)


class Discover(base.Command):
    """Find out what a cloud is, and print the options that say so.

    Asks the APIs as the admin of [auth], and each compute host that nova
    lists over SSH as [disk_format] ssh_user, who must be root or become it
    through sudo. Reads only. What is printed can be added to a tempest.conf
    as it is: what isn't an option is a comment. The exit status is 0 where
    all was found out, 1 where something wasn't, 2 where nothing was.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--host', action='append', default=[], metavar='HOST',
            help='only this compute host; may be repeated')
        parser.add_argument(
            '--output', metavar='FILE',
            help='add it to this file, such as the tempest.conf itself '
                 '(default: print it)')
        parser.add_argument(
            '--hosts-file', metavar='FILE',
            help='where hosts are not deployed as most are, write how to this '
                 'file, for [disk_format] hosts_file; in place of what is '
                 'there')
        parser.add_argument(
            '--hosts-at-once', type=base.positive, default=find.AT_ONCE,
            metavar='N',
            help='how many hosts are connected to at once (default: '
                 '%(default)s)')
        return parser

    def take_action(self, parsed_args):
        base.quiet_paramiko()
        try:
            self.read_configuration(parsed_args)
            with _output(parsed_args.output) as write:
                found = find.look(parsed_args.host,
                                  parsed_args.hosts_at_once, self.say)
                write(tempest_conf.render(found, _now(), _write_hosts_file(
                    parsed_args.hosts_file, found)))
        except KeyboardInterrupt:
            self.say('stopped before there was anything to tell')
            return NOTHING
        except Exception as error:
            LOG.debug('Nothing found out', exc_info=True)
            self.say(f'{type(error).__name__}: {error}')
            return NOTHING
        problems = tempest_conf.problems_of(found)
        for problem in problems:
            self.say(problem)
        return PARTLY if problems else FOUND


def _write_hosts_file(path, found):
    """Write a hosts file if one is wanted and needed.

    :returns: its absolute path, None if it wasn't written
    """
    document = tempest_conf.hosts_that_differ(found)
    if not path or not document:
        return None
    with open(path, 'w', encoding='utf-8') as output:
        yaml.safe_dump(document, output, sort_keys=False)
    return os.path.abspath(path)


@contextlib.contextmanager
def _output(path):
    """What writes text to a file, at its end after an empty line.

    :param path: None: standard output
    :raises OSError: it can't be written to
    """
    if path is None:
        yield _print
        return
    with open(path, 'a', encoding='utf-8') as output:
        if output.tell():
            output.write('\n')
        yield output.write


def _print(text):
    with base.standard_output() as output:
        output.write(text)


def _now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        '%Y-%m-%d %H:%M UTC')

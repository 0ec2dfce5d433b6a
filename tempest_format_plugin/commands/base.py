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

"""What the commands of ``tempest disk-format`` share."""

import argparse
import logging
import sys

from cliff import command
from tempest import config

from tempest_format_plugin.formats import redaction
from tempest_format_plugin.hosts import exceptions

CONF = config.CONF


class Command(command.Command):
    """A command that goes by a tempest.conf."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--config-file', help='tempest.conf (default: as tempest run)')
        return parser

    def run(self, parsed_args):
        """As cliff's, but say what the options have wrong: tempest doesn't."""
        try:
            return super().run(parsed_args)
        except exceptions.HostError as error:
            self.say(str(error))
            return 1

    @staticmethod
    def read_configuration(parsed_args):
        """Have CONF read the file that was given, if one was.

        tempest tells of each request, on the terminal unless it has a file
        to log to.

        :raises OSError: it can't be read, which tempest would not tell
        """
        logging.disable(logging.INFO)
        if parsed_args.config_file:
            with open(parsed_args.config_file):
                CONF.set_config_path(parsed_args.config_file)
        # Has the file read and logging set up.
        CONF.disk_format
        if any(isinstance(handler, logging.FileHandler)
               for handler in logging.getLogger().handlers):
            logging.disable(logging.NOTSET)

    def say(self, words):
        """Tell the user something that isn't the result.

        What a host or an API has said in it gives the terminal no orders.
        """
        shown = ''.join(each if each.isprintable() or each == '\n' else ' '
                        for each in redaction.redact(words))
        print(f'{type(self).__name__.lower()}: {shown}', file=sys.stderr,
              flush=True)


def positive(text):
    """Return the positive number that an argument is."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'expected 1 or more, got {number}')
    return number


def quiet_paramiko():
    """Have paramiko not say what our own errors do, with a traceback."""
    logging.getLogger('paramiko.transport').setLevel(logging.CRITICAL)

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
import contextlib
import logging
import os
import sys

from cliff import command
from tempest import config

from tempest_format_plugin.formats import printable
from tempest_format_plugin.formats import redaction
from tempest_format_plugin.hosts import exceptions

CONF = config.CONF


class Command(command.Command):
    """A command that goes by a tempest.conf.

    :cvar usage_status: the exit status for wrong arguments, where argparse's
        own says something else; None: argparse's
    """

    usage_status = None

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        if self.usage_status is not None:
            name = type(self).__name__.lower()
            parser.error = lambda message: parser.exit(
                self.usage_status,
                f'{parser.format_usage()}{name}: {message}\n')
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
        to log to, and its log would be amid what is printed.

        :raises FileNotFoundError: there is no such file
        """
        logging.disable(logging.INFO)
        with contextlib.redirect_stdout(sys.stderr):
            if parsed_args.config_file:
                # tempest would go by another one: that of another cloud,
                # perhaps.
                if not os.path.isfile(parsed_args.config_file):
                    raise FileNotFoundError(
                        f'--config-file {parsed_args.config_file}: expected '
                        f'a file, found none')
                CONF.set_config_path(parsed_args.config_file)
            # Has the file read and logging set up.
            CONF.disk_format
        if any(isinstance(handler, logging.FileHandler)
               for handler in logging.getLogger().handlers):
            logging.disable(logging.NOTSET)

    def say(self, words):
        """Tell the user something that isn't the result.

        What APIs and hosts answer is part of it: on one line, and nothing
        that a terminal obeys. Who doesn't listen misses nothing but progress.
        """
        words = printable.printable(' '.join(
            redaction.redact(words).split()))
        if sys.stderr is None:
            return
        try:
            print(f'{type(self).__name__.lower()}: {words}', file=sys.stderr,
                  flush=True)
        except OSError:
            _discard(sys.stderr)


@contextlib.contextmanager
def standard_output():
    """Standard output, whatever the encoding of the terminal is.

    :raises OSError: nobody reads it, or it doesn't fit where it goes
    """
    if sys.stdout is None:
        raise OSError('there is no standard output')
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(errors='backslashreplace')
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)
        raise


def _discard(stream):
    """Have what else goes to a stream, which nobody reads, go nowhere.

    Python would try again at its end, and make that its exit status.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def positive(text):
    """Return the positive number that an argument is."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'expected 1 or more, got {number}')
    return number


def quiet_paramiko():
    """Have paramiko not say what our own errors do, with a traceback."""
    logging.getLogger('paramiko.transport').setLevel(logging.CRITICAL)

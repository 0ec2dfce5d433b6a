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

import os.path

from cliff import command
from tempest import config

CONF = config.CONF


class Command(command.Command):
    """A command that goes by a tempest.conf."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--config-file', help='tempest.conf (default: as tempest run)')
        return parser

    @staticmethod
    def read_configuration(parsed_args):
        """Have CONF read the file that was given, if one was.

        :raises FileNotFoundError: there is no such file
        """
        if parsed_args.config_file:
            # tempest would go by another one: that of another cloud, perhaps.
            if not os.path.isfile(parsed_args.config_file):
                raise FileNotFoundError(
                    f'--config-file {parsed_args.config_file}: expected a '
                    f'file, found none')
            CONF.set_config_path(parsed_args.config_file)

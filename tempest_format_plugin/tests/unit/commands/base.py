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

"""Base of the tests of commands."""

import io
import logging
from unittest import mock

import fixtures

from tempest_format_plugin.commands import base as commands
from tempest_format_plugin.tests.unit import base


class CommandTestCase(base.TestCase):
    """Runs a command with the options at their defaults.

    :cvar command: its class
    :cvar modules: where CONF is replaced, besides the commands' base
    """

    command = None
    modules = ()

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(commands, *self.modules))
        self.addCleanup(logging.disable, logging.NOTSET)

    def run_command(self, *arguments):
        """Return the exit status, what it printed and what it said."""
        streams = [self.useFixture(fixtures.MockPatch(
            f'sys.{name}', new_callable=io.StringIO)).mock
            for name in ('stdout', 'stderr')]
        one = self.command(mock.Mock(), None)
        status = one.run(one.get_parser('x').parse_args([*arguments]))
        return status, *(stream.getvalue() for stream in streams)

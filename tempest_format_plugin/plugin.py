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

import os

from tempest.test_discover import plugins

from tempest_format_plugin import config


class FormatTempestPlugin(plugins.TempestPlugin):
    """What tempest asks of a plugin: its tests and its options."""

    def load_tests(self):
        """Return the directory of the scenario tests and the top level.

        The unit tests beside them aren't for tempest to run.
        """
        package = os.path.dirname(os.path.abspath(__file__))
        return (os.path.join(package, 'tests', 'scenario'),
                os.path.dirname(package))

    def register_opts(self, conf):
        """Register every option of ``config.OPTION_GROUPS`` in conf."""
        for group, options in config.OPTION_GROUPS:
            conf.register_group(group)
            conf.register_opts(options, group=group)

    def get_opt_lists(self):
        """Return a list of (group name, list of options)."""
        return [(group.name, list(options))
                for group, options in config.OPTION_GROUPS]

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

"""The named lists of tests that a certification runs: lists.toml."""

import dataclasses
import importlib.resources
import tomllib

from tempest_format_plugin import config

# What the tests of the lists are below.
ROOT = 'tempest_format_plugin.tests.scenario'


@dataclasses.dataclass(frozen=True)
class TestList:
    """A named list of tests.

    :ivar version: is raised whenever the tests change
    :ivar title: what they are about
    :ivar safety_level: of config.SAFETY_LEVELS, what they need
    :ivar tests: their ids, without the attributes in brackets
    """

    name: str
    version: int
    title: str
    safety_level: str
    tests: tuple[str, ...]

    def __str__(self):
        return f'{self.name} (version {self.version})'

    @property
    def changes_hosts(self):
        """Whether they give nova-compute other options."""
        return self.safety_level == config.RECONFIGURE


def load():
    """Return {name: TestList}, in the order of the file."""
    told = tomllib.loads(importlib.resources.files(__package__).joinpath(
        'lists.toml').read_text())
    return {
        name: TestList(
            name, one['version'], one['title'], one['safety_level'],
            tuple(f'{ROOT}.{test}'
                  for each in (*one.get('includes', ()), name)
                  for test in told[each]['tests']))
        for name, one in told.items()}


def tests_of(chosen):
    """Return the tests of some TestLists, each once, in order."""
    return tuple(dict.fromkeys(test for one in chosen for test in one.tests))


def level_of(chosen):
    """Return the highest safety level that any of some TestLists needs."""
    return max((one.safety_level for one in chosen),
               key=config.SAFETY_LEVELS.index)

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

"""The plugin's shell, and that of its tests, as linters see it."""

import pathlib
import subprocess
import sys

import testtools

from tempest_format_plugin.tests.devstack import samples

_HERE = pathlib.Path(__file__).parent


def scripts():
    """Return all that is sourced or run by bash."""
    return sorted([*(path for path in samples.PLUGIN_DIR.iterdir()
                     if path.is_file()),
                   *_HERE.glob('*.sh'),
                   *_HERE.glob('stand_ins/devstack/*')])


class TestScripts(testtools.TestCase):

    def lint(self, tool, *arguments):
        ended = subprocess.run(
            [pathlib.Path(sys.executable).with_name(tool), *arguments,
             *scripts()],
            cwd=samples.ROOT, capture_output=True, text=True, timeout=300)
        self.assertEqual((0, ''), (ended.returncode,
                                   ended.stdout + ended.stderr))

    def test_bashate(self):
        # E005: DevStack's names for these files have no suffix.
        self.lint('bashate', '--error', '.', '--ignore', 'E005,E006')

    def test_shellcheck(self):
        self.lint('shellcheck')

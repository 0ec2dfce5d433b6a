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

"""Directories that go with a test."""

import pathlib
import tempfile

import fixtures

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[2]


class Directory(fixtures.Fixture):
    """A directory that nobody but its owner sees into.

    :ivar path: pathlib.Path
    """

    def _setUp(self):
        # Not wherever TMPDIR may point: sockets in there, Ansible's above all,
        # have paths of no more than 107 characters.
        temporary = tempfile.TemporaryDirectory(prefix='format-', dir='/tmp')
        self.addCleanup(temporary.cleanup)
        self.path = pathlib.Path(temporary.name)

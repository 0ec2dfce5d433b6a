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

"""What the tests of the lab's driver share."""

import io
import pathlib
import subprocess
import sys
import time

import fixtures
from format_lab import driver
from format_lab import exceptions
import psutil

from tempest_format_plugin import report
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base

SLEEP = [sys.executable, '-c', 'import time; time.sleep(300)']


def verdict(kind, **fields):
    return results.Verdict(**({
        'test': 'a.TestB.test_c', 'verdict': kind, 'bug': '', 'seconds': 1,
        'reason': '', 'tables': {}} | fields))


def environment(process):
    """Return a child's environment; Linux has none at its very start."""
    while not (found := psutil.Process(process.pid).environ()):
        time.sleep(0.01)
    return found


def run(*verdicts):
    return report.Run('current', {}, list(verdicts), seconds=100.0,
                      own_share=0.031)


class LabTestCase(base.TestCase):
    """A lab in a directory of its own; nothing of it is ever started."""

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'lab'
        self.lab = driver.Lab(self.directory, 'current')
        self.said = self.useFixture(fixtures.MockPatch(
            'sys.stdout', new_callable=io.StringIO)).mock

    def patch(self, target, **options):
        return self.useFixture(
            fixtures.MockPatchObject(*target, **options)).mock

    def process(self, **kwargs):
        """Start a process of another session that sleeps."""
        process = subprocess.Popen(SLEEP, start_new_session=True, **kwargs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        environment(process)
        return process

    def lab_error(self, function, *args):
        """Return the message of the LabError that a call ends with."""
        message = str(self.assertRaises(exceptions.LabError, function, *args))
        self.assertNotIn('\n', message)
        return message

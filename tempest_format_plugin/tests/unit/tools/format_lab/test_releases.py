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

import subprocess

from format_lab import places
from format_lab import releases

from tempest_format_plugin.tests.unit.tools import base


class ReleasesTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.patch((places, 'RELEASES'), new=self.directory)
        self.directory.mkdir()
        self.command = self.patch((subprocess, 'run'))
        self.command.return_value.returncode = 0

    def release(self, name, text):
        (self.directory / f'{name}.in').write_text(text)

    def test_services(self):
        self.release('new', '# nova\nnova==34.0.0\nopenstack-placement\n'
                            'setuptools<81\n')
        self.release('old', 'nova==1.0.0\n')
        self.assertEqual(['new', 'old'], releases.names())
        self.assertEqual({'nova': '34.0.0', 'placement': ''},
                         releases.versions('new'))
        self.assertEqual(['new', 'old'], releases.of_service('nova'))
        self.assertEqual(['new'], releases.of_service('placement'))

    def test_unknown(self):
        self.release('new', '')
        self.assertEqual('there is no release old: it is any of new',
                         self.lab_error(releases.versions, 'old'))

    def test_never_locked(self):
        self.release('new', '')
        self.assertIn('tox -e lab -- lock new',
                      self.lab_error(releases.lock_file, 'new'))

    def test_as_of_a_date(self):
        self.release('new', '# As of 2026-10-05\nnova\n')
        self.assertEqual(0, releases.lock('new'))
        argv = self.command.call_args.args[0]
        self.assertEqual('2026-10-05', argv[argv.index('--exclude-newer') + 1])
        self.assertEqual(['new.in', '-o', 'new.lock'], argv[3:6])
        self.assertEqual('tox -e lab -- lock new', argv[-1])

    def test_no_date(self):
        self.release('new', 'nova\n')
        self.assertIn('new.in: the first line must be',
                      self.lab_error(releases.lock, 'new'))

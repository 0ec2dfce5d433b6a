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

import time

from format_lab import console

from tempest_format_plugin.tests.unit.tools import base


class ProgressTest(base.LabTestCase):

    line = ('2026-10-05 12:00:01.5 7 {} tempest_format_plugin.tests.scenario.'
            'base [None req-1 ] {}\n')

    def test_what_the_scenarios_say(self):
        log = self.directory.parent / 'tempest.log'
        self.patch((time, 'strftime'), return_value='12:00:01')
        with open(log, 'w') as writer, open(log) as reader:
            writer.write(self.line.format('INFO', 'Booting a server on one'))
            writer.write(self.line.format('DEBUG', 'Not this'))
            writer.write('2026-10-05 12:00:01.5 7 INFO tempest.lib [-] nor\n')
            writer.write(self.line.format('INFO', 'before:\nServer x on one'))
            writer.flush()
            console.show_progress(reader)
            self.assertEqual('    12:00:01 Booting a server on one\n',
                             self.said.getvalue())
            # And then only what is new.
            writer.write(self.line.format('INFO', 'Cold migrating it'))
            writer.flush()
            console.show_progress(reader)
        self.assertEqual(['    12:00:01 Booting a server on one',
                          '    12:00:01 Cold migrating it'],
                         self.said.getvalue().splitlines())

    def test_step(self):
        with console.step('Scenarios'):
            self.assertEqual('Scenarios ...\n', self.said.getvalue())
        self.assertRegex(self.said.getvalue().splitlines()[1],
                         r'^ +\d+\.\d s  done$')

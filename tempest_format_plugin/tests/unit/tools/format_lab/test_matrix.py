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

from format_lab import clouds
from format_lab import expectations
from format_lab import matrix

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base


class MatrixTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.settings = {
            name: clouds.load(name).choices() | {'use_cow_images': True}
            for name in ('current', '2024.2')}

    def runs(self, **changes):
        """What is expected, but for some verdicts of the current cloud."""
        runs = {
            cloud: {bug: base.verdict(verdict, bug=bug) for bug, verdict
                    in expectations.of_cloud(settings).items()}
            for cloud, settings in self.settings.items()}
        for bug, verdict in changes.items():
            runs['current'][bug] = verdict
        return {cloud: base.run(*of.values())
                for cloud, of in runs.items()}

    def assertFound(self, as_expected, **changes):
        runs = self.runs(**changes)
        table = matrix.table(runs, self.settings)
        self.assertEqual(as_expected, matrix.as_expected(table, runs))
        return table

    def test_as_expected(self):
        table = self.assertFound(True)
        self.assertEqual(
            {'current': ('agrees', 'agrees'),
             '2024.2': ('reproduced', 'reproduced')},
            table['1989514'])
        self.assertIn('| LP 1989514                    | agrees     | '
                      'reproduced |', matrix.render(table))

    def test_other_verdict(self):
        table = self.assertFound(
            False, **{'1989514': base.verdict('reproduced', bug='1989514')})
        self.assertIn('reproduced, NOT agrees', matrix.render(table))

    def test_page(self):
        runs = self.runs()
        page = matrix.page(matrix.table(runs, self.settings), runs)
        self.assertIn('LP 1989514', page)
        self.assertIn('2024.2', page)

    def test_verdict_about_no_bug(self):
        self.assertFound(False, other=base.verdict(results.DISAGREES))

    def test_cloud_that_failed(self):
        runs = self.runs()
        del runs['current']
        table = matrix.table(runs, self.settings)
        self.assertFalse(matrix.as_expected(table, runs))
        self.assertEqual(
            {'current'}, set(self.settings) - set(
                matrix.as_dict(table, runs)['clouds']))

    def test_several_tests_of_a_bug(self):
        def found(*kinds):
            return matrix.found('1', [base.verdict(kind, bug='1')
                                      for kind in kinds])
        self.assertEqual('not tested', found())
        self.assertEqual('agrees', found('agrees', 'agrees'))
        self.assertEqual('reproduced', found('agrees', 'reproduced'))
        self.assertEqual('fixed', found('reproduced', 'fixed', 'agrees'))

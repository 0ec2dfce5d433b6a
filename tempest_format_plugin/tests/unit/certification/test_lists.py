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

import ast
import pathlib

from tempest_format_plugin.certification import lists
from tempest_format_plugin import config
from tempest_format_plugin.tests import scenario
from tempest_format_plugin.tests.unit import base

# Test classes import much of tempest: they are read, not imported.
SOURCES = sorted(pathlib.Path(scenario.__file__).parent.glob('test_*.py'))


def in_sources():
    """Return {id of a test: attributes of its attr decorator}."""
    found = {}
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        for one in tree.body:
            if not isinstance(one, ast.ClassDef):
                continue
            for test in one.body:
                if (isinstance(test, ast.FunctionDef)
                        and test.name.startswith('test_')):
                    found[f'{lists.ROOT}.{path.stem}.{one.name}.'
                          f'{test.name}'] = ' '.join(
                        ast.unparse(decorator)
                        for decorator in test.decorator_list
                        if 'attr' in ast.unparse(decorator))
    return found


class ListsTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.lists = lists.load()
        self.tests = in_sources()

    def test_each_test_is_there_and_in_a_list(self):
        self.assertEqual(set(self.tests), set(
            lists.tests_of(self.lists.values())))

    def test_no_test_twice(self):
        for one in self.lists.values():
            self.assertEqual(len(one.tests), len(set(one.tests)), one.name)

    def test_headline_is_what_has_no_attribute_slow(self):
        headline = {test for test, attributes in self.tests.items()
                    if 'slow' not in attributes}
        self.assertEqual(
            headline - set(self.lists['headline'].tests),
            {f'{lists.ROOT}.test_observation.TestObservation.'
             'test_each_sabotage_is_named'})
        self.assertEqual(set(), set(self.lists['headline'].tests) - headline)

    def test_full_has_headline(self):
        headline, full = self.lists['headline'], self.lists['full']
        self.assertEqual(headline.tests, full.tests[:len(headline.tests)])

    def test_levels(self):
        for one in self.lists.values():
            for test in one.tests:
                self.assertEqual(
                    one.changes_hosts, 'reconfigure' in self.tests[test],
                    f'{test} in {one.name}')

    def test_raw_disallowed_is_apart(self):
        for one in self.lists.values():
            for test in one.tests:
                self.assertEqual(
                    one.name == 'raw-disallowed',
                    'raw_disallowed' in self.tests[test], test)

    def test_level_of_several(self):
        self.assertEqual(config.OPERATIONS, lists.level_of(
            [self.lists['headline'], self.lists['sabotage']]))
        self.assertEqual(config.RECONFIGURE, lists.level_of(
            [self.lists['headline'], self.lists['reconfigure']]))

    def test_tests_of_several(self):
        chosen = [self.lists['headline'], self.lists['full']]
        self.assertEqual(self.lists['full'].tests, lists.tests_of(chosen))

    def test_text(self):
        self.assertRegex(str(self.lists['headline']),
                         r'^headline \(version \d+\)$')

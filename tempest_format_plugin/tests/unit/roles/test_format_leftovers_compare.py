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

import json
import pathlib
import types

import fixtures

from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.roles import base as roles

compare_stock = roles.load('format_leftovers', 'compare_stock.py')


class CompareStockTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.kept = str(self.dir / 'kept.json')
        self.now = 0.0
        self.clock = types.SimpleNamespace(
            monotonic=lambda: self.now, sleep=self.sleep)
        # subprocess keeps the real one.
        self.useFixture(fixtures.MockPatchObject(
            compare_stock, 'time', new=self.clock))

    def sleep(self, seconds):
        self.now += seconds

    def lists(self, stock):
        """Return a command that prints a stock."""
        (self.dir / 'stock.json').write_text(json.dumps(stock))
        return ['cat', f'{self.dir}/stock.json']

    def fails(self, error):
        return ['sh', '-c', f'printf "Traceback\\n{error}\\n\\n" >&2; exit 1']

    def before(self, stock):
        return compare_stock.before(self.kept, self.lists(stock))['changed']

    def after(self, stock, seconds=10):
        command = stock if isinstance(stock, list) else self.lists(stock)
        return compare_stock.after(self.kept, seconds, command)['left']

    def test_before(self):
        self.assertTrue(self.before({'server': {'1': 'a'}}))
        self.assertFalse(self.before({'server': {'1': 'a'}}))
        self.assertTrue(self.before({'server': {}}))

    def test_before_is_roots(self):
        self.before({})
        self.assertEqual(0o600,
                         pathlib.Path(self.kept).stat().st_mode & 0o777)

    def test_nothing_left(self):
        self.before({'server': {'1': 'a', '2': 'b'}})
        self.assertEqual([], self.after({'server': {'1': 'a'}, 'image': {}}))
        self.assertEqual(0, self.now)

    def test_nothing_left_after_a_while(self):
        self.before({'server': {}})
        self.clock.sleep = lambda seconds: (
            self.sleep(seconds), self.lists({'server': {}}))
        self.assertEqual([], self.after({'server': {'1': 'a'}}))
        self.assertEqual(compare_stock.PAUSE, self.now)

    def test_something_left(self):
        self.before({'server': {'1': 'a'}})
        self.assertEqual(
            ['server 2 (b)', 'volume 3'],
            self.after({'volume': {'3': ''},
                        'server': {'1': 'a', '2': 'b'}}))
        self.assertGreaterEqual(self.now, 10)

    def test_cloud_that_does_not_answer(self):
        self.before({})
        self.assertEqual(
            ["what is there can't be listed: ConnectFailure: nova"],
            self.after(self.fails('ConnectFailure: nova')))

    def test_cloud_that_hangs(self):
        self.before({})
        self.useFixture(fixtures.MockPatchObject(
            compare_stock, 'COMMAND_SECONDS', 0.2))
        self.assertEqual(
            ["what is there can't be listed: no answer in 0.2 s"],
            self.after(['sleep', '77'], seconds=0))

    def test_no_such_command(self):
        self.before({})
        self.assertEqual(
            ["what is there can't be listed: no-such-command: No such file "
             "or directory"], self.after(['no-such-command']))

    def exit_of(self, *arguments):
        return str(self.assertRaises(
            SystemExit, compare_stock.main, [*arguments]))

    def test_before_of_a_cloud_that_does_not_answer(self):
        self.assertEqual(
            "what is there before the tests can't be listed: nova is dead",
            self.exit_of('before', self.kept, *self.fails('nova is dead')))

    def test_nothing_kept(self):
        self.assertIn(f'what was there before the tests: {self.kept}: ',
                      self.exit_of('after', self.kept, '0', 'true'))

    def test_spoilt(self):
        pathlib.Path(self.kept).write_text('{')
        self.assertIn(f'what was there before the tests: {self.kept}: ',
                      self.exit_of('after', self.kept, '0', 'true'))

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

from format_lab import leftovers

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base


class LeftoversTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.play = self.patch((self.lab, 'play'), return_value=0)
        for node in self.lab.nodes():
            self.leave(node, [])

    def leave(self, node, texts):
        path = self.lab.node_dir(node) / leftovers.LEFT
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(texts))

    def test_keep(self):
        leftovers.keep_stock(self.lab)
        self.play.assert_called_once_with('before-tests.yaml')

    def test_cloud_that_does_not_answer(self):
        self.play.return_value = 2
        self.assertIn("what the cloud current has can't be listed",
                      self.lab_error(leftovers.keep_stock, self.lab))

    def test_nothing(self):
        self.assertEqual([], leftovers.find(self.lab))
        self.play.assert_called_once_with('after-tests.yaml')

    def test_something(self):
        self.play.return_value = 2
        self.leave('control', ['the cloud: server 2 (x)'])
        self.leave('compute-2', ['compute-2: mount /a', 'compute-2: b'])
        self.assertEqual(
            ['the cloud: server 2 (x)', 'compute-2: mount /a', 'compute-2: b'],
            leftovers.find(self.lab))

    def test_node_that_was_not_looked_at(self):
        (self.lab.node_dir('compute-3') / leftovers.LEFT).unlink()
        self.assertEqual(['compute-3: what is there was not listed'],
                         leftovers.find(self.lab))

    def test_other_failure(self):
        self.play.return_value = 4
        self.assertEqual(
            ['after-tests.yaml of the lab failed, see its output'],
            leftovers.find(self.lab))


class VerdictTest(base.LabTestCase):

    def test_nothing(self):
        verdict = leftovers.verdict([])
        self.assertEqual((results.AGREES, ''),
                         (verdict.verdict, verdict.reason))

    def test_something(self):
        verdict = leftovers.verdict(['server 2 (x)', 'volume file y'])
        self.assertFalse(verdict.expected)
        self.assertEqual('left behind: server 2 (x); volume file y',
                         verdict.reason)

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

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.tests.unit import base


class ObservationErrorTest(base.TestCase):

    def test_names_source_host_and_problem(self):
        error = exceptions.ObservationError('disk.info', 'node-1', 'no JSON')
        self.assertIsInstance(error, exceptions.FormatsError)
        self.assertEqual('disk.info on node-1: no JSON', str(error))
        self.assertEqual(('disk.info', 'node-1', 'no JSON'),
                         (error.source, error.host, error.problem))

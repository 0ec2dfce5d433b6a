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

from tempest_format_plugin.formats import disk_info
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base


class DiskInfoTest(base.TestCase):

    def test_entries(self):
        self.assertEqual(
            (models.Observation(models.DISK_INFO, 'node-1', 'disk', 'raw',
                                path='/i/disk'),
             models.Observation(models.DISK_INFO, 'node-1', 'disk.swap',
                                'qcow2', path='/i/disk.swap')),
            disk_info.parse(
                '{"/i/disk": "raw", "/i/disk.swap": "qcow2"}\n',
                host='node-1'))

    def test_empty_file_has_no_entries(self):
        self.assertEqual((), disk_info.parse('\n', host='node-1'))
        self.assertEqual((), disk_info.parse('{}', host='node-1'))

    def _fails(self, words, text):
        error = self.assertRaises(exceptions.ObservationError,
                                  disk_info.parse, text, host='node-1')
        self.assertIn('disk.info', error.source)
        self.assertIn('node-1', str(error))
        self.assertIn(words, str(error))

    def test_truncated(self):
        self._fails('expected JSON', '{"/i/disk": "ra')

    def test_not_an_object(self):
        self._fails('found list', '["raw"]')

    def test_unknown_format(self):
        self._fails("/i/disk on node-1: expected a disk format",
                    '{"/i/disk": "qcow9"}')
        self._fails('found None', '{"/i/disk": null}')

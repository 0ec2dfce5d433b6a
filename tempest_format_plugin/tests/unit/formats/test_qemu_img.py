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

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models
from tempest_format_plugin.formats import qemu_img
from tempest_format_plugin.tests.unit import base


def _info(format_, backing=None, declared=None, **more):
    info = {'format': format_, 'virtual-size': 1024, **more}
    if backing:
        info['full-backing-filename'] = backing
    if declared:
        info['backing-filename-format'] = declared
    return json.dumps(info)


def _parse(*texts):
    return qemu_img.parse(texts, host='node-1', path='/i/disk', length=512)


class QemuImgTest(base.TestCase):

    def test_file_without_backing(self):
        self.assertEqual(
            models.Observation(models.FILE, 'node-1', 'disk', 'raw',
                               path='/i/disk', virtual_size=1024, length=512),
            _parse(_info('raw')))

    def test_each_format_is_from_the_probe_of_that_file(self):
        found = _parse(_info('qcow2', '/b/middle', 'raw'),
                       _info('qcow2', '/b/base'), _info('raw'))
        self.assertEqual((models.BackingFile('/b/middle', 'raw', 'qcow2'),
                          models.BackingFile('/b/base', None, 'raw')),
                         found.backing)

    def test_chain_that_was_not_followed(self):
        self.assertEqual(
            (models.BackingFile('/b/base', 'raw', None),),
            _parse(_info('qcow2', '/b/base', 'raw')).backing)

    def test_backing_path(self):
        for text, path in (
                (_info('raw'), None), (_info('qcow2', '/b/base'), '/b/base'),
                (_info('qcow2', **{'backing-filename': 'base'}), 'base')):
            self.assertEqual(path, qemu_img.backing_path(
                text, host='node-1', path='/i/disk'))


class MalformedTest(base.TestCase):

    def _fails(self, words, *texts):
        error = self.assertRaises(exceptions.ObservationError, _parse,
                                  *texts)
        self.assertEqual('node-1', error.host)
        self.assertIn(words, str(error))

    def test_truncated(self):
        self._fails('file /i/disk on node-1: expected JSON',
                    _info('raw')[:-3])

    def test_no_virtual_size(self):
        self._fails('virtual-size', '{"format": "raw"}')
        self._fails('virtual-size', '[]')

    def test_unknown_format(self):
        self._fails("file /i/disk on node-1", _info('qcow9'))
        self._fails("found None", '{"virtual-size": 1}')

    def test_unknown_declared_format(self):
        """A header may say what it likes: it is seen, not believed."""
        for declared, shown in (('qcow9', "'qcow9'"), ('x\n', r"'x\n'")):
            found = _parse(_info('qcow2', '/b/base', declared),
                           _info('raw'))
            self.assertEqual(
                (models.BackingFile('/b/base', shown, 'raw'),),
                found.backing)

    def test_error_names_the_backing_file(self):
        self._fails('file /b/base on node-1', _info('qcow2', '/b/base'), '{')

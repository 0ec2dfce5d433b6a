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
from tempest_format_plugin.formats import glance_image
from tempest_format_plugin.tests.unit import base

IMAGE = '3b1c6f0a-7e2d-4f5b-9a6c-0d8e7f6a5b4c'
SNAPSHOT = '5e0c8a4d-93bb-4f0e-8a55-6d8c1a1e2f10'


def body(mapping=None, **changes):
    """Return an image as glance's API has it."""
    image = {'id': IMAGE, 'status': 'active', 'disk_format': 'raw',
             'container_format': 'bare', 'size': 0, 'name': 'some-image',
             'visibility': 'private', 'bdm_v2': 'True'} | changes
    if mapping is not None:
        image['block_device_mapping'] = json.dumps(mapping)
    return image


def device(snapshot_id):
    """Return one device of a block_device_mapping, as nova has it."""
    return {'source_type': 'snapshot', 'destination_type': 'volume',
            'boot_index': 0, 'snapshot_id': snapshot_id, 'volume_id': None,
            'volume_size': 1, 'image_id': None}


class GlanceImageTest(base.TestCase):

    def assertRefused(self, image, *words):
        error = self.assertRaises(exceptions.ObservationError,
                                  glance_image.parse, image)
        for word in ('glance image', 'on glance: expected', *words):
            self.assertIn(word, str(error))

    def test_image_of_a_volume_backed_server(self):
        self.assertEqual(
            glance_image.Image(IMAGE, 'active', 'raw', 'bare', 0,
                               (SNAPSHOT, 'other')),
            glance_image.parse(body([device(SNAPSHOT), device(None),
                                     {'source_type': 'blank'},
                                     device('other')])))

    def test_other_image(self):
        self.assertEqual((), glance_image.parse(body()).snapshot_ids)

    def test_queued(self):
        self.assertEqual(
            glance_image.Image(IMAGE, 'queued', None, None, None),
            glance_image.parse(body(status='queued', disk_format=None,
                                    container_format=None, size=None)))

    def test_formats_are_glances(self):
        # It has some that aren't QEMU's.
        self.assertEqual('ami', glance_image.parse(
            body(disk_format='ami')).disk_format)

    def test_no_image(self):
        for image in (None, [], {}, body(id=None)):
            self.assertRefused(image, 'an image with an id')

    def test_wrong_types(self):
        for name, value in (('status', None), ('disk_format', 1),
                            ('container_format', []), ('size', '0')):
            self.assertRefused(body(**{name: value}), IMAGE, name,
                               f'found {value!r}')

    def test_wrong_mapping(self):
        for text in ('[', '{}', '["a"]', [device(SNAPSHOT)]):
            self.assertRefused(body(block_device_mapping=text), IMAGE,
                               'block_device_mapping')

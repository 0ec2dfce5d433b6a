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

from unittest import mock

from tempest_format_plugin.tests.scenario import images
from tempest_format_plugin.tests.unit.scenario import base

QCOW2 = b'QFI\xfb\0\0\0\3'


class ImagesTest(base.ScenarioTestCase):

    scenario_class = images.ImageScenarioTest
    modules = (images,)

    def setUp(self):
        super().setUp()
        self.conf.config(group='compute', image_ref='ref', image_ref_alt='alt')
        self.formats = {'ref': 'raw', 'alt': 'qcow2', 'made': 'qcow2'}
        self.images = self.admin.image_client_v2
        self.images.show_image.side_effect = lambda image_id: {
            'id': image_id, 'status': 'active',
            'disk_format': self.formats[image_id], 'container_format': 'bare'}
        self.images.create_image.return_value = {'id': 'made'}
        self.response = self.images.show_image_file.return_value
        self.data(QCOW2)

    def data(self, *chunks):
        self.response.stream.return_value = chunks

    def test_configured(self):
        for format_, image in (('raw', 'ref'), ('qcow2', 'alt')):
            self.assertEqual(image, self.scenario.image_of(format_))
        self.assertFalse(self.images.create_image.called)

    def test_copy(self):
        stored = []
        self.images.store_image_file.side_effect = (
            lambda image, file: stored.append((image, file.read())))
        self.data(QCOW2, b'more')
        self.assertEqual('made', self.scenario.own_image('qcow2'))
        self.images.show_image_file.assert_called_once_with('alt',
                                                            chunked=True)
        self.assertEqual([('made', QCOW2 + b'more')], stored)
        self.assertEqual(
            'qcow2', self.images.create_image.call_args.kwargs['disk_format'])
        self.assertTrue(self.response.release_conn.called)
        self.scenario.doCleanups()
        self.images.delete_image.assert_called_once_with('made')

    def test_download_that_breaks_off(self):
        self.response.stream.side_effect = OSError
        self.assertRaises(OSError, self.scenario.own_image, 'qcow2')
        self.assertTrue(self.response.release_conn.called)

    def test_snapshot_where_none_is_configured(self):
        self.formats['alt'] = 'raw'
        self.admin.compute_images_client.create_image.return_value = {
            'image_id': 'made'}
        scenario = self.scenario
        scenario.expect_boot_and_agreement = mock.Mock()
        scenario.delete_followed_server = mock.Mock()
        self.answer(host=base.TARGET)
        self.assertEqual('made', scenario.image_of('qcow2'))
        # The host of that backend, by the options.
        self.assertEqual(
            base.TARGET, self.servers.create_server.call_args.kwargs['host'])
        scenario.delete_followed_server.assert_called_once_with(base.SERVER)

    def test_neither_image_nor_host(self):
        self.formats['alt'] = 'raw'
        self.conf.set(compute_backends={base.HOST: 'raw'})
        self.assertRaises(self.scenario.skipException,
                          self.scenario.image_of, 'qcow2')

    def test_neither_image_nor_snapshots(self):
        self.formats['alt'] = 'raw'
        self.conf.config(group='compute-feature-enabled', snapshot=False)
        error = self.assertRaises(self.scenario.skipException,
                                  self.scenario.image_of, 'qcow2')
        self.assertIn('image_ref_alt is qcow2', str(error))

    def test_detected_format(self):
        # A boot sector with a partition of type 0x83.
        partitioned = bytes(450) + b'\x83' + bytes(59) + b'\x55\xaa'
        for start, format_ in ((QCOW2, 'qcow2'), (bytes(8), 'raw'),
                               (partitioned, 'raw')):
            self.data(start, bytes(1024 * 1024))
            self.assertEqual(format_, self.scenario.detected_format('made'))

# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

from tempest_format_plugin.formats import models
from tempest_format_plugin.formats import permutations
from tempest_format_plugin.tests.unit import base

# As nova's own code was seen to do: images_type, use_cow_images,
# force_raw_images, image; domain XML, disk.info, file, backing file.
MEASURED = '''
default True  True  qcow2 qcow2 qcow2 qcow2 raw
default True  True  raw   qcow2 qcow2 qcow2 raw
default True  False qcow2 qcow2 qcow2 qcow2 qcow2
default True  False raw   qcow2 qcow2 qcow2 raw
default False True  qcow2 raw   raw   raw   -
default False True  raw   raw   raw   raw   -
default False False qcow2 qcow2 qcow2 qcow2 -
default False False raw   raw   raw   raw   -
qcow2   True  True  qcow2 qcow2 qcow2 qcow2 raw
qcow2   True  True  raw   qcow2 qcow2 qcow2 raw
qcow2   True  False qcow2 qcow2 qcow2 qcow2 qcow2
qcow2   True  False raw   qcow2 qcow2 qcow2 raw
qcow2   False True  qcow2 qcow2 qcow2 qcow2 raw
qcow2   False True  raw   qcow2 qcow2 qcow2 raw
qcow2   False False qcow2 qcow2 qcow2 qcow2 qcow2
qcow2   False False raw   qcow2 qcow2 qcow2 raw
flat    True  True  qcow2 raw   raw   raw   -
flat    True  True  raw   raw   raw   raw   -
flat    True  False qcow2 qcow2 qcow2 qcow2 -
flat    True  False raw   raw   raw   raw   -
flat    False True  qcow2 raw   raw   raw   -
flat    False True  raw   raw   raw   raw   -
flat    False False qcow2 qcow2 qcow2 qcow2 -
flat    False False raw   raw   raw   raw   -
raw     True  True  qcow2 raw   raw   raw   -
raw     True  True  raw   raw   raw   raw   -
raw     True  False qcow2 qcow2 qcow2 qcow2 -
raw     True  False raw   raw   raw   raw   -
raw     False True  qcow2 raw   raw   raw   -
raw     False True  raw   raw   raw   raw   -
raw     False False qcow2 qcow2 qcow2 qcow2 -
raw     False False raw   raw   raw   raw   -
'''


def every_permutation():
    return [(configuration, image)
            for images_type in ('default', 'qcow2', 'flat', 'raw')
            for configuration in permutations.configurations_of(images_type)
            for image in permutations.IMAGE_FORMATS]


class ExpectedTest(base.TestCase):

    def test_every_permutation(self):
        found = [' '.join(map(str, (
            *configuration, image,
            *(one or '-' for one in permutations.expected(
                configuration, image)))))
            for configuration, image in every_permutation()]
        self.assertEqual([' '.join(line.split()) for line in
                          MEASURED.strip().splitlines()], found)


class DifferingTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.rows = [
            permutations.Row(configuration, image, permutations.expected(
                configuration, image))
            for configuration, image in every_permutation()]

    def test_another_name_of_the_same(self):
        self.assertEqual({}, permutations.differing(
            self.rows, 'images_type', 'flat', 'raw'))

    def test_what_depends_on_it(self):
        found = permutations.differing(
            self.rows, 'use_cow_images', True, False)
        self.assertEqual({'default'}, {
            configuration.images_type for configuration, _ in found})
        self.assertEqual(
            (permutations.Believed('qcow2', 'qcow2', 'qcow2', 'raw'),
             permutations.Believed('raw', 'raw', 'raw', None)),
            found[permutations.Configuration('default', True, True), 'raw'])

    def test_half_a_pair(self):
        """What isn't there yet contradicts nothing."""
        self.assertEqual({}, permutations.differing(
            self.rows[:4], 'use_cow_images', True, False))

    def test_one_row_that_is_otherwise(self):
        self.rows[-1] = self.rows[-1]._replace(
            believed=permutations.Believed('raw', 'raw', 'qcow2', None))
        (configuration, image), = permutations.differing(
            self.rows, 'images_type', 'flat', 'raw')
        self.assertEqual(
            (permutations.Configuration('flat', False, False), 'raw'),
            (configuration, image))


class ConfigurationTest(base.TestCase):

    def test_options(self):
        self.assertEqual(
            {'libvirt': {'images_type': 'flat'},
             'DEFAULT': {'use_cow_images': True, 'force_raw_images': False}},
            permutations.Configuration('flat', True, False).options)


class BelievedTest(base.TestCase):

    def observation(self, source, disk_format, **fields):
        return models.Observation(source, 'host', 'disk', disk_format,
                                  **fields)

    def believed(self, *observations):
        return permutations.Believed.of(models.ServerObservation(
            'id', 'host', 'running', observations))

    def test_overlay(self):
        self.assertEqual(('qcow2', 'qcow2', 'qcow2', 'raw'), self.believed(
            self.observation(models.INACTIVE_XML, 'qcow2'),
            self.observation(models.DISK_INFO, 'qcow2'),
            self.observation(models.FILE, 'qcow2', backing=(
                models.BackingFile('/base', 'raw', 'qcow2'),))))

    def test_flat(self):
        self.assertEqual(('raw', 'qcow2', 'raw', None), self.believed(
            self.observation(models.INACTIVE_XML, 'raw'),
            self.observation(models.DISK_INFO, 'qcow2'),
            self.observation(models.FILE, 'raw')))

    def test_nothing(self):
        self.assertEqual((None, None, None, None), self.believed())


class RenderTest(base.TestCase):

    def test_render(self):
        configuration = permutations.Configuration('raw', True, True)
        lines = permutations.render([
            permutations.Row(configuration, 'raw',
                             permutations.Believed('raw', 'raw', 'raw', None)),
            permutations.Row(configuration, 'qcow2', permutations.Believed(
                'raw', 'raw', 'qcow2', None))]).splitlines()
        cells = [[cell.strip() for cell in line.split('|')[1:-1]]
                 for line in lines[3:5]]
        self.assertEqual([
            ['raw', 'True', 'True', 'raw', 'raw', 'raw', 'raw', '-', ''],
            ['raw', 'True', 'True', 'qcow2', 'raw', 'raw', 'qcow2', '-',
             'expected raw, raw, raw, -']], cells)

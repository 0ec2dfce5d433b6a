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

import contextlib
import io
import json
import os
import pathlib
import socket
import sys

import fixtures

from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.roles import base as roles


class ReadNovaConfTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.script = roles.load('format_tempest_conf', 'read_nova_conf.py')
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MockPatchObject(
            socket, 'gethostname', return_value='node-1'))

    def facts(self, *texts):
        paths = [self.directory / f'{n}.conf' for n in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        return self.script.facts([str(path) for path in paths])

    def fails(self, words, *texts):
        error = self.assertRaises(self.script.ConfigError, self.facts, *texts)
        self.assertIn(words, str(error))
        return str(error)

    def test_defaults(self):
        self.useFixture(fixtures.MockPatchObject(
            self.script, 'pybasedir', return_value=None))
        self.assertEqual(
            {'host': 'node-1', 'images_type': 'qcow2', 'use_cow_images': True,
             'force_raw_images': True, 'instances_path': None},
            self.facts(''))

    def test_all_set(self):
        self.assertEqual(
            {'host': 'a.example.org', 'images_type': 'raw',
             'use_cow_images': False, 'force_raw_images': False,
             'instances_path': '/srv/instances'},
            self.facts('[DEFAULT]\nhost = a.example.org\n'
                       'use_cow_images = False\nforce_raw_images=no\n'
                       'instances_path: /srv/instances\n'
                       '[libvirt]\nimages_type = raw\n'))

    def test_effective_image_backend(self):
        for use_cow_images, expected in (
                ('True', 'qcow2'), ('1', 'qcow2'), ('False', 'flat'),
                ('off', 'flat')):
            for images_type in ('', 'images_type = default\n'):
                self.assertEqual(expected, self.facts(
                    f'[DEFAULT]\nuse_cow_images = {use_cow_images}\n'
                    f'[libvirt]\n{images_type}')['images_type'])
        # A backend that is named goes before use_cow_images.
        for images_type in ('raw', 'qcow2', 'rbd'):
            self.assertEqual(images_type, self.facts(
                f'[DEFAULT]\nuse_cow_images = false\n'
                f'[libvirt]\nimages_type = {images_type}')['images_type'])

    def test_later_file_counts(self):
        found = self.facts(
            '[DEFAULT]\nhost = a\nuse_cow_images = false\n'
            '[libvirt]\nimages_type = raw\n',
            '[libvirt]\nimages_type = qcow2\n[DEFAULT]\nhost = b\n')
        self.assertEqual(
            ('b', 'qcow2', False),
            (found['host'], found['images_type'], found['use_cow_images']))

    def test_later_line_and_section_count(self):
        self.assertEqual('flat', self.facts(
            '[libvirt]\nimages_type = raw\nimages_type = qcow2\n'
            '[DEFAULT]\ndebug = true\n'
            '[libvirt]\nimages_type = flat\n')['images_type'])

    def test_options_of_other_sections(self):
        self.assertEqual('qcow2', self.facts(
            '[DEFAULT]\nimages_type = raw\n[glance]\nimages_type = flat\n'
            '[libvirt]\n')['images_type'])

    def test_what_is_no_option(self):
        self.assertEqual(
            ('%(x)s%', 'raw'), tuple(map(self.facts(
                '# images_type = a\n[DEFAULT]\nhost = %(x)s%\n'
                'pipeline = a\n    images_type = b\n'
                '[libvirt]\n;images_type = c\nimages_type = "raw"\n'
                '#images_type = d\n').get, ('host', 'images_type'))))

    def test_paths_of_paths(self):
        for text, expected in (
                ('state_path = /var/lib/nova', '/var/lib/nova/instances'),
                ('state_path = /s\ninstances_path = $state_path/i', '/s/i'),
                ('state_path = /s\ninstances_path = ${state_path}/i', '/s/i'),
                ('pybasedir = /p\nstate_path = $pybasedir/s',
                 '/p/s/instances'),
                ('pybasedir = /p', '/p/instances'),
                ('host = h\ninstances_path = /i/$host', '/i/h'),
                ('instances_path = /i/$libvirt.images_type\n'
                 '[libvirt]\nimages_type = raw', '/i/raw'),
                ('instances_path = /a$$b', '/a$b'),
                ('instances_path = /a$', '/a$'),
                ('instances_path = $my_ip/i', None),
                ('instances_path = $instances_path', None),
                ('state_path = $a\na = $state_path', None)):
            self.assertEqual(
                expected, self.facts(f'[DEFAULT]\n{text}')['instances_path'],
                text)

    def test_nova_beside_this_python(self):
        package = self.directory / 'lib' / 'nova'
        package.mkdir(parents=True)
        (package / '__init__.py').write_text('raise Exception("imported")')
        self.useFixture(fixtures.MonkeyPatch(
            'sys.path', [str(package.parent), *sys.path]))
        self.assertEqual(f'{package.parent}/instances',
                         self.facts('[DEFAULT]')['instances_path'])

    def test_name_of_the_host(self):
        self.assertEqual('node-1', self.facts('[DEFAULT]\nhost =')['host'])
        self.assertEqual('a-b', self.facts(
            '[DEFAULT]\nname = a\nhost = $name-b')['host'])
        self.fails("host: '$my_ip' names an option", '[DEFAULT]\nhost=$my_ip')

    def test_value_that_it_cannot_have(self):
        self.fails("[DEFAULT] use_cow_images: expected a boolean, found "
                   "'perhaps'", '[DEFAULT]\nuse_cow_images = perhaps')

    def test_missing_files(self):
        path = self.directory / 'there.conf'
        path.write_text('[DEFAULT]\nhost = h')
        missing = [str(self.directory / 'a'), str(self.directory / 'b')]
        found = self.script.facts([missing[0], str(path), missing[1]])
        self.assertEqual('h', found['host'])
        error = self.assertRaises(self.script.ConfigError, self.script.facts,
                                  missing)
        self.assertIn(f'found none of {", ".join(missing)}', str(error))

    def test_file_that_cannot_be_read(self):
        error = self.assertRaises(self.script.ConfigError, self.script.facts,
                                  [str(self.directory)])
        self.assertIn(f'{self.directory}: Is a directory', str(error))

    def test_malformed_file(self):
        for text, line in (('password = secret\n', 1),
                           ('[DEFAULT]\n\nsecret\n', 3)):
            said = self.fails(f'0.conf: line {line} is neither', text)
            self.assertNotIn('secret', said)
        (self.directory / 'x').write_bytes(b'[DEFAULT]\n# \xff\n')
        error = self.assertRaises(self.script.ConfigError, self.script.facts,
                                  [str(self.directory / 'x')])
        self.assertIn('x: expected UTF-8', str(error))

    def test_main(self):
        path = self.directory / 'nova.conf'
        path.write_text('[DEFAULT]\nhost = h')
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.script.main([os.devnull, str(path)])
        self.assertEqual('h', json.loads(printed.getvalue())['host'])

    def test_main_names_the_host(self):
        error = self.assertRaises(SystemExit, self.script.main, ['/nowhere'])
        self.assertEqual('node-1: expected a configuration of nova-compute, '
                         'found none of /nowhere', str(error))

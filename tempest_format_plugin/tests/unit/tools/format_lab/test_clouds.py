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

import pathlib

from format_lab import clouds
from format_lab import places
from format_lab import releases

from tempest_format_plugin.tests.unit.tools import base

CACHE = pathlib.Path('/cache')


class CloudsTest(base.LabTestCase):

    def variables(self, *args):
        return {name.removeprefix('format_lab_'): value for name, value
                in clouds.load(*args).variables(CACHE).items()}

    def test_one_release(self):
        cloud = clouds.load('current')
        self.assertEqual(dict.fromkeys(releases.PACKAGES, '2026.2'),
                         cloud.releases)
        variables = self.variables('current')
        environment, = variables['environments']
        self.assertEqual([], environment['sources'])
        self.assertEqual(str(places.RELEASES / '2026.2.lock'),
                         environment['lock'])
        self.assertEqual({environment['dir']},
                         {variables['venv_dir'],
                          *variables['venvs'].values()})
        self.assertEqual(([], True, []),
                         (variables['sources'], variables['keep_databases'],
                          variables['disk_formats']))

    def test_two_releases(self):
        variables = self.variables('2024.2')
        current, old = variables['environments']
        self.assertEqual('2024.2.lock', pathlib.Path(old['lock']).name)
        self.assertEqual(
            {'keystone': current, 'glance': current, 'placement': current,
             'neutron': current, 'nova': old, 'cinder': old},
            {service: current if venv == current['dir'] else old
             for service, venv in variables['venvs'].items()})
        self.assertEqual(current['dir'], variables['venv_dir'])

    def test_options_go_before_the_cloud(self):
        cloud = clouds.load('2024.2', ['cinder=2026.2'])
        self.assertEqual(('2024.2', '2026.2'), (cloud.releases['nova'],
                                                cloud.releases['cinder']))

    def test_source(self):
        plain = self.variables('2024.2')
        variables = self.variables('2024.2', (), [f'nova={places.REPO}'])
        venvs = variables['venvs']
        self.assertEqual(plain['venvs'] | {'nova': venvs['nova']}, venvs)
        self.assertNotIn(venvs['nova'], plain['venvs'].values())
        environment, = [one for one in variables['environments']
                        if one['dir'] == venvs['nova']]
        self.assertEqual([str(places.REPO)], environment['sources'])
        self.assertEqual('2024.2.lock', pathlib.Path(environment['lock']).name)
        self.assertEqual([str(places.REPO)], variables['sources'])
        self.assertFalse(variables['keep_databases'])
        self.assertEqual(plain['databases_digest'],
                         variables['databases_digest'])

    def test_relative_source(self):
        cloud = clouds.load('current', (), ['nova=.'])
        self.assertEqual(pathlib.Path.cwd(), cloud.sources['nova'])

    def test_databases_are_of_all_services(self):
        digests = {clouds.load('current', chosen).databases_digest
                   for chosen in ([], ['nova=2024.2'], ['cinder=2024.2'],
                                  ['nova=2024.2', 'cinder=2024.2'])}
        self.assertEqual(4, len(digests))

    def test_disk_formats(self):
        self.assertNotIn('raw', clouds.load('no-raw').disk_formats)
        self.assertIn('qcow2', self.variables('no-raw')['disk_formats'])

    def test_refused(self):
        for message, *args in (
                ("glance can't be of release '2024.2': it is of 2026.2",
                 ['glance=2024.2']),
                ("nova can't be of release 'x': it is of 2024.2, 2025.1",
                 ['nova=x']),
                ('--release nova: expected SERVICE', ['nova']),
                ('--release swift=2026.2: expected', ['swift=2026.2']),
                ('--source nova=: expected', (), ['nova=']),
                (f'{self.directory} is no source tree', (),
                 [f'nova={self.directory}'])):
            self.assertIn(message,
                          self.lab_error(clouds.load, 'current', *args))

    def test_every_cloud(self):
        for name in clouds.names():
            self.assertTrue(clouds.load(name).packages_digest)

    def test_describe(self):
        cloud = clouds.load('2024.2', (), [f'nova={places.REPO}'])
        self.assertEqual(
            'releases = keystone, glance, placement, neutron of 2026.2; nova, '
            f'cinder of 2024.2; sources = nova from {places.REPO}; packages = '
            f'{cloud.packages_digest}; images_type = raw',
            clouds.describe(cloud.choices() | {'images_type': 'raw'}))

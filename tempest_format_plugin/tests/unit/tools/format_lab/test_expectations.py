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

from format_lab import clouds
from format_lab import expectations
from format_lab import releases

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import expectations as proposals
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base


def numbers(version):
    return tuple(map(int, version.split('.')))


def is_fixed(version, fixed_in):
    """Whether a version has a fix, by the first fixed one of each branch."""
    fixes = sorted(map(numbers, fixed_in))
    return any(version >= fix and version[0] == fix[0] for fix in fixes) or (
        bool(fixes) and version >= fixes[-1])


class ExpectationsTest(base.LabTestCase):

    def settings(self, cloud, **options):
        return clouds.load(cloud).choices() | {
            'images_type': 'raw', 'use_cow_images': True} | options

    def test_every_bug_and_release(self):
        known = expectations.load()
        self.assertEqual(set(bugs.BUGS), set(known))
        for bug, expected in known.items():
            self.assertEqual(bugs.BUGS[bug].project, expected['service'])
            self.assertEqual(
                releases.of_service(expected['service']),
                sorted(expected['releases']), bug)
            self.assertTrue(expected['source'].startswith('https://'))

    def test_as_the_versions_say(self):
        for bug, expected in expectations.load().items():
            for release, found in expected['releases'].items():
                version = releases.versions(release)[expected['service']]
                self.assertEqual(
                    found == results.AGREES,
                    is_fixed(numbers(version), bugs.BUGS[bug].fixed_in),
                    f'{bug} on {expected["service"]} {version}')

    def test_as_is_proposed_by_versions_and_settings(self):
        for name in clouds.names():
            settings = self.settings(name) | clouds.load(name).choices()
            found = {one.bug.id: one.expected for one in proposals.propose(
                proposals.Cloud(
                    versions={
                        service: [releases.versions(
                            settings['releases'][service])[service]]
                        for service in proposals.SERVICES},
                    backends=('raw', 'raw', 'qcow2', 'qcow2'),
                    use_cow_images=(settings['use_cow_images'],) * 4,
                    nfs=True, enforces_formats=True,
                    takes_raw=clouds.takes_raw_images(settings)))}
            for bug, verdict in expectations.of_cloud(settings).items():
                self.assertIs(verdict == results.REPRODUCED, found[bug],
                              f'{bug} on {name}')

    def test_clouds(self):
        always = ['2038898', 'live-migration-mixed-backends']
        self.assertEqual(
            always, expectations.known_bugs(self.settings('current')))
        self.assertEqual(
            always, expectations.known_bugs(self.settings('2025.1')))
        no_raw = ['volume-backed-snapshot-raw-disallowed']
        self.assertEqual(
            set(bugs.BUGS) - set(no_raw),
            set(expectations.known_bugs(self.settings('2024.2'))))
        self.assertEqual(
            no_raw, expectations.known_bugs(self.settings('no-raw')))

    def test_hidden(self):
        settings = self.settings('2024.2', use_cow_images=False)
        self.assertEqual(results.AGREES,
                         expectations.of_cloud(settings)['2038898'])
        self.assertEqual(results.REPRODUCED,
                         expectations.of_cloud(settings)['1989514'])

    def test_bugs_that_a_person_names(self):
        def known(*told, cloud='2024.2', **options):
            return expectations.known_bugs(self.settings(
                cloud, known_bugs=list(told), **options))
        self.assertEqual([], known())
        self.assertEqual(['1989514'], known('1989514'))
        self.assertEqual(['1989514'], known('1989514', cloud='current'))
        self.assertEqual([], known('2038898', use_cow_images=False))
        # Named for all jobs, but not looked for where glance takes raw.
        self.assertEqual([], known('volume-backed-snapshot-raw-disallowed'))

    def test_bug_that_nobody_knows(self):
        self.assertIn(
            "--known-bugs: there is no bug '1': it is any of 2038898, ",
            self.lab_error(expectations.of_cloud, self.settings(
                'current', known_bugs=['1'])))

    def test_release_that_nobody_knows(self):
        settings = self.settings('current')
        settings['releases']['cinder'] = '2027.1'
        self.assertIn('does not say what bug 1989514 does on cinder of 2027.1',
                      self.lab_error(expectations.of_cloud, settings))

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

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import expectations
from tempest_format_plugin.tests.unit import base

VOLUMES = bugs.BUGS['1989514'].fixed_in
IMAGES = bugs.BUGS['volume-backed-snapshot-format'].fixed_in
CLOUD = {
    'versions': {'nova': ['34.0.0'], 'cinder': ['29.0.0']},
    'backends': ('raw', 'raw', 'qcow2'),
    'use_cow_images': (True, True, True),
    'nfs': True, 'enforces_formats': True, 'takes_raw': True}


class ParseTest(base.TestCase):

    def test_packages(self):
        for text, expected in (
                ('31.0.1', '31.0.1'),
                ('3:29.0.1-0ubuntu1', '29.0.1'),
                ('1:30.0.1-1.el9', '30.0.1'),
                ('2:31.0.0~rc1-2', '31.0.0rc1'),
                ('32.1.0.dev5', '32.1.0.dev5'),
                ('31.0.0.0rc1', '31.0.0rc1'),
                (' 25.0.0\n', '25.0.0')):
            self.assertEqual(expectations.versions_.Version(expected),
                             expectations.parse(text), text)

    def test_no_version(self):
        for text in ('', 'master', '2025.1', '-1', 'a-b'):
            self.assertRaises(exceptions.FormatsError, expectations.parse,
                              text)

    def test_name_of_a_release(self):
        error = self.assertRaises(exceptions.FormatsError,
                                  expectations.parse, '2025.1')
        self.assertIn('31.0.0', str(error))


class HasFixTest(base.TestCase):

    def check(self, fixed_in, expected):
        self.assertEqual(expected, {
            text: expectations.has_fix(expectations.parse(text), fixed_in)
            for text in expected})

    def test_open(self):
        self.check((), {'34.0.0': False, '34.0.0.dev1': False})

    def test_one_branch(self):
        self.check(IMAGES, {
            '30.0.0': False, '30.2.1': False, '30.0.1.dev9': False,
            '31.0.0': True, '31.0.1': True, '31.0.1.dev3': True,
            '32.0.0.0rc1': True, '32.1.0.dev5': True})

    def test_on_the_way_to_the_first(self):
        self.check(IMAGES, {
            '31.0.0.0rc1': None, '31.0.0.0b1.dev30': None, '31.0.0.dev1': None,
            '2:31.0.0~rc1-2': None, '3:31.0.0+git2025021309.1a-0ubuntu1': None,
            '3:31.0.0-0ubuntu1': True})

    def test_several_branches(self):
        self.check(VOLUMES, {
            '22.3.0': False, '23.3.9': False, '23.4.0': True, '24.2.1': False,
            '24.3.0': True, '25.0.0': False, '25.1.0': True, '26.0.0': True,
            '27.0.0': True})

    def test_between_two_releases_of_a_branch(self):
        # What was built from the branch after 25.0.0 may have it.
        self.check(VOLUMES, {'25.0.1.dev7': None, '25.0.0.0rc2': False,
                             '25.1.0.dev1': None, '25.2.0.dev1': True})


class ProposeTest(base.TestCase):

    def proposed(self, **changes):
        return {one.bug.id: one for one in expectations.propose(
            expectations.Cloud(**CLOUD | changes))}

    def words(self, **changes):
        return {bug: one.expected
                for bug, one in self.proposed(**changes).items()}

    def test_every_bug_has_its_settings(self):
        self.assertEqual(list(bugs.BUGS), list(self.proposed()))
        self.assertEqual(set(bugs.BUGS), set(expectations._SHOWS))

    def test_nothing_is_known(self):
        found = {one.bug.id: one.expected
                 for one in expectations.propose(expectations.Cloud())}
        self.assertEqual(
            {'2038898': False, '1989514': None,
             'live-migration-mixed-backends': False,
             'volume-backed-snapshot-format': None,
             'volume-backed-snapshot-raw-disallowed': None}, found)

    def test_use_cow_images(self):
        for values, expected in (
                ((True, True), True), ((False, False), False),
                ((True, False), None), ((True, None), None),
                ((False, None), None), ((), None)):
            self.assertIs(expected, self.words(
                use_cow_images=values)['2038898'], values)

    def test_backends(self):
        for backends, expected in (
                (('raw', 'raw'), (True, False)),
                (('flat', 'qcow2'), (True, True)),
                (('qcow2', 'qcow2'), (False, False))):
            found = self.words(backends=backends)
            self.assertEqual(expected, (
                found['2038898'], found['live-migration-mixed-backends']))

    def test_backends_that_tests_change(self):
        found = self.words(backends=('qcow2', 'qcow2'), backends_change=True)
        self.assertEqual((True, True), (
            found['2038898'], found['live-migration-mixed-backends']))

    def test_no_nfs(self):
        old = {'versions': {'cinder': ['25.0.0']}}
        self.assertIs(True, self.words(**old)['1989514'])
        self.assertIs(True, self.words(**old, nfs=None)['1989514'])
        self.assertIs(False, self.words(**old, nfs=False)['1989514'])

    def test_glance(self):
        bug = 'volume-backed-snapshot-format'
        old = {'nova': ['30.0.0']}
        for changes, expected in (
                ({'versions': old}, True),
                ({'versions': old, 'enforces_formats': False}, False),
                ({'versions': old, 'enforces_formats': None}, None),
                ({'versions': old, 'takes_raw': False}, False),
                ({'versions': old | {'glance': ['29.1.0']}}, False),
                ({'versions': old | {'glance': ['30.0.0']}}, True)):
            self.assertIs(expected, self.words(**changes)[bug], changes)

    def test_hosts_of_several_versions(self):
        found = self.proposed(versions={'nova': ['30.0.0', '31.0.0']})[
            'volume-backed-snapshot-format']
        self.assertIsNone(found.expected)
        self.assertIn('not all of them', found.why)

    def test_version_that_makes_no_sense(self):
        found = self.proposed(versions={'nova': ['master']})[
            'volume-backed-snapshot-format']
        self.assertIsNone(found.expected)
        self.assertIn("'master'", found.why)

    def test_microversions(self):
        images, volumes = 'volume-backed-snapshot-format', '1989514'
        for service, microversion, bug, expected in (
                ('nova', '2.96', images, True),
                ('nova', '2.100', images, False),
                ('nova', '2.104', images, False),
                # One that is newer than what is known.
                ('nova', '2.110', images, False),
                # Of the development of 31.
                ('nova', '2.98', images, None),
                ('nova', '2.1', images, None),
                ('cinder', '3.68', volumes, True),
                ('cinder', '3.70', volumes, None),
                ('cinder', '3.71', volumes, None),
                ('cinder', '3.99', volumes, None)):
            self.assertIs(expected, self.words(
                versions={}, microversions={service: microversion})[bug],
                (service, microversion))

    def test_ambiguity_is_said(self):
        why = self.proposed(versions={}, microversions={'cinder': '3.70'})[
            '1989514'].why
        self.assertIn('3.70 is 21 to 23', why)
        self.assertIn('may or may not have it', why)

    def test_version_goes_before_microversion(self):
        found = self.words(versions={'cinder': ['26.0.0']},
                           microversions={'cinder': '3.68'})
        self.assertIs(False, found['1989514'])

    def test_words(self):
        found = self.proposed(takes_raw=None)
        self.assertEqual(
            ('expected', 'not expected', "can't tell"),
            (found['2038898'].words, found['1989514'].words,
             found['volume-backed-snapshot-raw-disallowed'].words))

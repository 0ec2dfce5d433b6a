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

from tempest_format_plugin.discovery import deployment
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.hosts import nova_compute_script
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.discovery import found


class ParseTest(base.TestCase):

    def test_parse(self):
        report = deployment.parse(json.dumps(found.report(
            container={'runtime': 'podman', 'id': 'c1', 'name': None})),
            host='h')
        self.assertEqual(
            deployment.Daemon('/usr/bin/nova-compute', None,
                              deployment.Container('podman', None), False),
            report.nova_compute)
        self.assertEqual(('host-1', 'raw'), (report.conf['host'],
                                             report.conf['images_type']))
        self.assertIsNone(report.libvirt)

    def test_malformed(self):
        for text in ('', 'Welcome!\n{}', '[]', '{}', 'null', '{"version": 1}',
                     json.dumps(found.report() | {'nova_compute': 'x'}),
                     json.dumps(found.report() | {'version': 2})):
            error = self.assertRaises(exceptions.ObservationError,
                                      deployment.parse, text, host='h')
            self.assertIn('nova_compute_script on h: expected the JSON',
                          str(error))

    def test_fields_of_other_types(self):
        """A host that says nonsense is no reason to fail for all others."""
        daemon = found.report()['nova_compute']
        conf = found.report()['conf']
        wrong = [{name: value} for name in found.report()
                 for value in (5, {}, [5], True, 'x')
                 # Those that it may have.
                 if (name, value) not in (('sudo', True), ('nova', 'x'))]
        for part, values in (('nova_compute', daemon), ('libvirt', daemon),
                             ('conf', conf)):
            wrong += [{part: values | {name: value}}
                      for name in values for value in (5, {}, [])]
        wrong.append({'conf': conf | {'instances_path': 'relative'}})
        wrong.append({'libvirt': daemon | {
            'container': {'runtime': 'x', 'name': 'x'}}})
        for fields in wrong:
            text = json.dumps(found.report() | fields)
            error = self.assertRaises(exceptions.ObservationError,
                                      deployment.parse, text, host='h')
            self.assertLess(len(str(error)), 600)
        self.assertRaises(exceptions.ObservationError, deployment.parse,
                          '[' * 100000, host='h')

    def test_version_is_the_scripts(self):
        self.assertEqual(nova_compute_script.VERSION, deployment.VERSION)


def container(runtime='podman', name='nova_compute'):
    return {'runtime': runtime, 'id': 'c1', 'name': name}


class RecogniseTest(base.TestCase):

    def recognise(self, marks=(), **more):
        report = deployment.parse(
            json.dumps(found.report(marks=marks, **more)), host='h')
        name = deployment.recognise(report)
        # There is such a profile, and it can be as it says.
        if name is not None:
            profile.get(name, edit_file=deployment.other_paths(
                name, report).get('compute_edit_file'))
        return name

    def test_by_unit(self):
        for unit, name in (
                ('devstack@n-cpu.service', 'devstack'),
                ('nova-compute.service', 'debian'),
                ('openstack-nova-compute.service', 'rdo'),
                ('my-nova.service', None), (None, None)):
            self.assertEqual(name, self.recognise(unit=unit), unit)

    def test_by_container(self):
        for runtime in ('docker', 'podman'):
            self.assertEqual(f'kolla-{runtime}', self.recognise(
                ['/etc/kolla/nova-compute'], container=container(runtime)))
        for mark, name in (
                ('/var/lib/config-data/puppet-generated/nova_libvirt',
                 'tripleo'),
                ('/var/lib/openstack/nova', 'rhoso'),
                ('/var/lib/openstack/config/nova', 'rhoso')):
            self.assertIn(mark, nova_compute_script.MARKS)
            self.assertEqual(name, self.recognise(
                [mark], container=container(), unit='nova-compute.service'))
            # What an earlier deployment may have left is no sign alone.
            self.assertEqual('debian', self.recognise(
                [mark], unit='nova-compute.service'))
        self.assertIsNone(self.recognise(container=container()))

    def test_versions_of_rhoso(self):
        old, new = '/var/lib/openstack/config/nova', '/var/lib/openstack/nova'
        for marks, expected in (
                ([old], {'compute_edit_file':
                         f'{old}/02-nova-host-specific.conf'}),
                ([new], {}), ([new, old], {})):
            report = deployment.parse(json.dumps(found.report(
                marks, container=container())), host='h')
            self.assertEqual(expected, deployment.other_paths('rhoso',
                                                              report))
            self.assertEqual({}, deployment.other_paths('tripleo', report))

    def test_by_container_of_libvirt(self):
        for name, expected in (('nova_virtqemud', 'tripleo-modular'),
                               ('nova_libvirt', 'tripleo')):
            self.assertEqual(expected, self.recognise(
                ['/var/lib/config-data/puppet-generated/nova_libvirt'],
                container=container(), libvirt={
                    'program': 'virtqemud', 'unit': None,
                    'supervised': False,
                    'container': container(name=name)}))

    def test_by_program(self):
        self.assertEqual('openstack-ansible', self.recognise(
            program='/openstack/venvs/nova-29.0.2/bin/nova-compute',
            unit='nova-compute.service'))

    def test_lab(self):
        self.assertEqual('lab', self.recognise(supervised=True))

    def test_none(self):
        self.assertIsNone(deployment.recognise(deployment.parse(
            json.dumps(found.report() | {'nova_compute': None}), host='h')))

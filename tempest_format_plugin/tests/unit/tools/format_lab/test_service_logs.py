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

from format_lab import service_logs

from tempest_format_plugin.tests.unit.tools import base

ONE, TWO, OTHER = (f'req-{digit * 8}-1234-1234-1234-123456789abc'
                   for digit in '123')


def line(request, text, level='INFO'):
    return f'2026-10-05 12:00:00 7 {level} nova.api [None {request} -] {text}'


class ServiceLogsTest(base.LabTestCase):

    def collect(self, *lines, **more):
        self.directory.mkdir(exist_ok=True)
        logs = {}
        for name, those in {'nova-api.log': lines, **more}.items():
            logs[f'control: {name}'] = self.directory / name
            logs[f'control: {name}'].write_text('\n'.join(those) + '\n')
        return service_logs.collect(logs, {ONE: {'a', 'b'}, TWO: {'b'}})

    def test_whose(self):
        one, two = line(ONE, 'first'), line(TWO, 'second')
        found = self.collect(one, line(OTHER, 'third'), 'no request', two,
                             **{'cinder.log': [one]})
        first = f'== control: nova-api.log\n{one}\n'
        more = f'== control: cinder.log\n{one}\n'
        self.assertEqual({'a': first + more, 'b': f'{first}{two}\n{more}'},
                         found)

    def test_global_request_id(self):
        text = line(f'{OTHER} {TWO}', 'by nova')
        self.assertIn(text, self.collect(text)['b'])

    def test_traceback(self):
        text = '2026-10-05 12:00:00 7 ERROR nova.api {}'
        found = self.collect(
            line(TWO, 'failed', 'ERROR'), text.format('Traceback'),
            text.format('ValueError'), 'something else', text.format('not'))
        self.assertIn('ValueError\n', found['b'])
        self.assertNotIn('else', found['b'])
        self.assertNotIn('not', found['b'])

    def test_limits(self):
        found = self.collect(*[line(TWO, 'x' * 3000)] * 2005)['b']
        self.assertEqual(2002, len(found.splitlines()))
        self.assertTrue(found.endswith('... and 5 more\n'))
        self.assertEqual(2000, max(map(len, found.splitlines())))

    def test_secrets(self):
        found = self.collect(
            line(TWO, '{"auth_password": "hunter2", "name": "volume-1"}'))
        self.assertNotIn('hunter2', found['b'])
        self.assertIn('volume-1', found['b'])

    def test_secret_at_the_end_of_a_line_that_is_cut(self):
        start = line(TWO, '')
        url = 'mysql://nova:'
        cut = service_logs.LINE_LENGTH - len(start) - len(url) - 4
        found = self.collect(
            f'{start}{"x" * cut}{url}hunter2@control/nova and more')['b']
        self.assertIn(url, found)
        self.assertNotIn('hunt', found)

    def test_of_lab(self):
        for node, name in (('control', 'nova-api.log'),
                           ('compute-1', 'nova-compute.log'),
                           ('compute-1', 'lastlog')):
            path = self.lab.node_dir(node) / 'var/log' / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        self.assertEqual(
            ['control: nova-api.log', 'compute-1: nova-compute.log'],
            list(service_logs.of_lab(self.lab)))

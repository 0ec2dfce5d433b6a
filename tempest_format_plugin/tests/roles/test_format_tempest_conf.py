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

import configparser

from tempest_format_plugin.tests.roles import base

TEMPEST_CONF = '/opt/stack/tempest/etc/tempest.conf'
INSTANCES = '/opt/stack/data/nova/instances'
NOVA_CONF = """\
[DEFAULT]
state_path = /opt/stack/data/nova
instances_path = {instances}
use_cow_images = {use_cow_images}
transport_url = rabbit://stackrabbit:q7secretq7@10.98.0.10:5672/
[libvirt]
images_type = {images_type}
"""


class TempestConfTest(base.RolesTestCase):
    """One host has flat by another name, the other raw."""

    variables = {'format_tempest_conf_options': {
        'known_bugs': ['2038898', 'live-migration-mixed-backends'],
        'profile': None, 'boot_marker': 'login: $'}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write('controller', TEMPEST_CONF,
                  '[DEFAULT]\nlog_file = tempest.log\n'
                  '[disk_format]\nboot_timeout = 77\n', '0640')
        cls.run_on('controller', f'chown tempest: {TEMPEST_CONF}')
        for host, images_type in (('controller', 'default'),
                                  ('compute1', 'raw')):
            cls.write(host, '/etc/nova/nova-cpu.conf', NOVA_CONF.format(
                images_type=images_type, use_cow_images='False',
                instances=INSTANCES), '0600')
        cls.first = cls.role('compute', 'format_tempest_conf',
                             **cls.variables)
        cls.second = cls.role('compute', 'format_tempest_conf',
                              **cls.variables)
        cls.text = cls.read('controller', TEMPEST_CONF)
        cls.write('compute1', '/etc/nova/nova-cpu.conf', NOVA_CONF.format(
            images_type='raw', use_cow_images='False',
            instances='/srv/elsewhere'))
        cls.refused = cls.role('compute', 'format_tempest_conf', expect=2)

    def options(self):
        """[disk_format] as oslo.config joins it: what comes last counts."""
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.read_string(self.text)
        return dict(parser['disk_format'])

    def test_backends(self):
        self.assertEqual('controller:flat,compute1:raw',
                         self.options()['compute_backends'])

    def test_addresses(self):
        self.assertEqual(
            ','.join(f'{host}:{address}'
                     for host, address in base.ADDRESSES.items()),
            self.options()['compute_addresses'])

    def test_instances_path(self):
        self.assertEqual(INSTANCES, self.options()['instances_path'])

    def test_given_options(self):
        options = self.options()
        self.assertEqual(
            ('2038898,live-migration-mixed-backends', 'login: $$'),
            (options['known_bugs'], options['boot_marker']))
        self.assertNotIn('profile', options)

    def test_rest_is_left_alone(self):
        self.assertIn('[DEFAULT]\nlog_file = tempest.log\n', self.text)
        self.assertEqual('77', self.options()['boot_timeout'])
        self.assertEqual('tempest 640\n', self.run_on(
            'controller', f"stat -c '%U %a' {TEMPEST_CONF}"))

    def test_second_run_changes_nothing(self):
        self.assertEqual(1, self.first.total('changed'))
        self.assert_no_changes(self.second)

    def test_no_secret(self):
        for text in (self.text, self.first.output, self.refused.output):
            self.assertNotIn('q7secretq7', text)

    def test_hosts_that_do_not_fit_together(self):
        self.assertIn('the configuration of controller, compute1 says '
                      f'{INSTANCES}, /srv/elsewhere', self.refused.output)
        self.assertEqual(self.text, self.read('controller', TEMPEST_CONF))

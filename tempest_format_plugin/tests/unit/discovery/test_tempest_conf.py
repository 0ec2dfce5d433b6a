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

import fixtures
from oslo_config import cfg
from tempest import config

from tempest_format_plugin import config as format_config
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.discovery import tempest_conf
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.discovery import found

SERVICES = ('compute', 'image', 'placement', 'volumev3')


def cloud(*hosts, **more):
    return facts.CloudFacts(**{
        'hosts': hosts or (found.host(),), 'services': SERVICES,
        'images': (found.image(1),), 'raw_images_allowed': True,
        'microversions': {'compute': '2.104', 'volume': '3.71'}} | more)


class ProposeTest(base.TestCase):

    def options(self, group, *arguments, **more):
        return tempest_conf.propose(cloud(*arguments, **more))[0].get(group)

    def notes(self, *arguments, **more):
        return tempest_conf.propose(cloud(*arguments, **more))[1]

    def test_hosts(self):
        hosts = (found.host(), found.host('host-2', images_type='qcow2',
                                          address='2001:db8::2'))
        self.assertEqual(
            {'profile': 'lab', 'compute_backends': 'host-1:raw,host-2:qcow2',
             'compute_addresses': 'host-1:192.0.2.1,host-2:2001:db8::2'},
            self.options('disk_format', *hosts))
        self.assertEqual([], self.notes(*hosts))
        self.assertEqual(2, self.options('compute', *hosts)[
            'min_compute_nodes'])

    def test_host_that_is_out_of_service(self):
        hosts = (found.host(), found.host('host-2', out_of_service='down'))
        options = self.options('disk_format', *hosts)
        self.assertEqual(
            ('host-1:raw', 'host-1:192.0.2.1,host-2:192.0.2.1', 1),
            (options['compute_backends'], options['compute_addresses'],
             self.options('compute', *hosts)['min_compute_nodes']))
        self.assertIn('host-2: nova-compute is down there',
                      self.notes(*hosts)[0])
        self.assertNotIn('compute_backends', self.options(
            'disk_format', hosts[1]))

    def test_host_without_backend(self):
        self.assertEqual(
            'host-1:raw', self.options(
                'disk_format', found.host(),
                found.host('host-2', images_type=None),
                found.host('host-3', images_type='new'))['compute_backends'])
        self.assertIsNone(self.options(
            'disk_format', found.host(images_type=None)))

    def test_overrides(self):
        overrides = {'sudo_command': 'sudo -n', 'instances_path': '/srv'}
        options = self.options('disk_format',
                               found.host(overrides=overrides))
        self.assertEqual(overrides, {name: options[name]
                                     for name in overrides})

    def test_hosts_that_differ(self):
        srv = {'instances_path': '/srv'}
        hosts = (found.host(overrides=srv),
                 found.host('host-2', deployment='devstack'),
                 found.host('host-3', overrides=srv),
                 found.host('host-4', overrides={'sudo_command': ''}),
                 found.host('host-5', images_type=None),
                 found.host('host-6', deployment=None))
        options = self.options('disk_format', *hosts)
        self.assertEqual(('lab', '/srv'), (options['profile'],
                                           options['instances_path']))
        self.assertNotIn('hosts_file', options)
        self.assertIn('host-2, host-4: not deployed as most are; "discover '
                      '--hosts-file FILE"', self.notes(*hosts)[0])
        self.assertEqual(
            {'hosts': {
                'host-2': {'profile': 'devstack', 'instances_path': None},
                'host-4': {'profile': 'lab', 'instances_path': None,
                           'sudo_command': ''}}},
            tempest_conf.hosts_that_differ(cloud(*hosts)))
        options, notes = tempest_conf.propose(cloud(*hosts), '/h.yaml')
        self.assertEqual(('/h.yaml', []),
                         (options['disk_format']['hosts_file'], notes))

    def test_hosts_that_do_not_differ(self):
        self.assertEqual({}, tempest_conf.hosts_that_differ(
            cloud(found.host(), found.host('host-2'))))
        options, notes = tempest_conf.propose(cloud(), '/h.yaml')
        self.assertNotIn('hosts_file', options['disk_format'])
        self.assertEqual({}, tempest_conf.hosts_that_differ(
            facts.CloudFacts()))

    def test_names_that_are_no_value(self):
        for name in ('a b', 'a,b:raw', 'a:b', 'a\n[auth]', '', 'a$b'):
            hosts = (found.host(name), found.host('host-2'))
            self.assertEqual('host-2:raw', self.options(
                'disk_format', *hosts)['compute_backends'])
            self.assertIn("can't be an option", self.notes(*hosts)[0])

    def test_images(self):
        images = (found.image(1), found.image(2),
                  found.image(3, 'qcow2', 3 * 2 ** 30, min_ram=512))
        options = self.options('compute', images=images)
        self.assertEqual(('id-1', 'id-3'), (options['image_ref'],
                                            options['image_ref_alt']))
        self.assertEqual((3, 512), tuple(
            self.options('disk_format', images=images)[name]
            for name in ('flavor_disk', 'flavor_ram')))
        self.assertIn('3 images are public, image 1 is the smallest',
                      self.notes(images=images)[0])

    def test_one_image(self):
        options = self.options('compute')
        self.assertEqual(('id-1', 'id-1'), (options['image_ref'],
                                            options['image_ref_alt']))
        self.assertEqual([], self.notes())
        self.assertNotIn('flavor_disk', self.options('disk_format'))
        self.assertEqual(2, self.options('disk_format', images=[
            found.image(1, size=2 ** 30 + 1)])['flavor_disk'])

    def test_disk_that_an_image_needs(self):
        self.assertEqual(20, self.options('disk_format', images=[
            found.image(1, min_disk=20)])['flavor_disk'])
        self.assertIn(
            "glance doesn't tell how large the disk of image 2 is",
            self.notes(images=[found.image(1), found.image(
                2, 'qcow2', size_known=False)])[0])

    def test_no_image(self):
        self.assertNotIn('image_ref', self.options('compute', images=()))
        self.assertIn('set [compute] image_ref', self.notes(images=())[0])

    def test_cinder(self):
        self.assertEqual({'catalog_type': 'volumev3',
                          'max_microversion': 'latest'},
                         self.options('volume'))
        self.assertEqual('block-storage', self.options(
            'volume', services=('block-storage',))['catalog_type'])
        self.assertEqual({'cinder': 'true'}, self.options(
            'service_available'))
        self.assertEqual({'cinder': 'false'}, self.options(
            'service_available', services=('compute',)))
        # Nobody knows.
        self.assertIsNone(self.options('service_available', services=()))

    def test_volumes_and_images(self):
        options = self.options('disk_format', nfs_volume_types=('a', 'b'),
                               raw_images_allowed=False)
        self.assertEqual(('a', 'false'), (options['nfs_volume_type'],
                                          options['raw_images_allowed']))
        for allowed in (True, None):
            self.assertNotIn('raw_images_allowed', self.options(
                'disk_format', raw_images_allowed=allowed))


class RenderTest(base.TestCase):

    def render(self, *arguments, **more):
        return tempest_conf.render(cloud(*arguments, **more), 'today')

    def read(self, text):
        """Return the options of a text, as tempest reads it."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'c'
        path.write_text(text)
        conf = cfg.ConfigOpts()
        for group, options in (
                (config.compute_group, config.ComputeGroup),
                (config.compute_features_group,
                 config.ComputeFeaturesGroup),
                (config.placement_group, config.PlacementGroup),
                (config.service_available_group,
                 config.ServiceAvailableGroup),
                (config.volume_group, config.VolumeGroup),
                *format_config.OPTION_GROUPS):
            config.register_opt_group(conf, group, options)
        conf([], default_config_files=[str(path)])
        return conf

    def test_options(self):
        conf = self.read(self.render(
            found.host(overrides={'instances_path': '/a$b'}),
            nfs_volume_types=('nfs',)))
        self.assertEqual({'host-1': 'raw'}, conf.disk_format.compute_backends)
        self.assertEqual({'host-1': '192.0.2.1'},
                         conf.disk_format.compute_addresses)
        self.assertEqual(('lab', '/a$b', 'nfs'), (
            conf.disk_format.profile, conf.disk_format.instances_path,
            conf.disk_format.nfs_volume_type))
        self.assertEqual(('id-1', 1, 'latest'), (
            conf.compute.image_ref, conf.compute.min_compute_nodes,
            conf.compute.max_microversion))
        # All that scenarios need and libvirt can do.
        for name in ('block_migration_for_live_migration', 'resize',
                     'cold_migration', 'live_migration', 'snapshot', 'shelve',
                     'rescue', 'console_output', 'config_drive'):
            self.assertTrue(conf['compute-feature-enabled'][name], name)

    def test_after_a_file_with_the_same_sections(self):
        conf = self.read(
            '[disk_format]\nssh_user = x\nprofile = devstack\n'
            + self.render())
        self.assertEqual(('x', 'lab'), (conf.disk_format.ssh_user,
                                        conf.disk_format.profile))

    def test_table(self):
        lines = self.render(
            found.host(use_cow_images=None, force_raw_images=False),
            pools=(facts.PoolFacts('h@nfs#p', 'NFS', vendor='V'),)
        ).splitlines()
        row, = [line for line in lines if 'host-1' in line and '|' in line]
        self.assertEqual(
            ['#', 'host-1', '192.0.2.1', 'lab', 'raw', '?', 'no',
             '/var/lib/nova/instances', '31.0.1', '10.0.0', '8.2.2', ''],
            [cell.strip() for cell in row.split('|')])
        self.assertIn('# compute API: up to microversion 2.104', lines)
        self.assertIn('# volume pool h@nfs#p: NFS, V, driver version not '
                      'told', lines)
        self.assertNotIn("couldn't", ' '.join(lines))

    def test_problems(self):
        text = self.render(found.host(problems=('no\n[auth] virsh',)),
                           problems=('password = secret',))
        self.assertIn('# - host-1: no [auth] virsh\n', text)
        self.assertNotIn('secret', text)
        self.read(text)
        self.assertNotIn('\n[auth]', text)

    def test_value_that_no_line_can_hold(self):
        text = self.render(found.host(
            overrides={'instances_path': '/a\n[auth]\nx = 1'}))
        self.assertIn("# instances_path must be set by hand to "
                      "'/a\\n[auth]\\nx = 1'\n", text)
        self.assertNotIn('\n[auth]', text)

    def test_nothing_found(self):
        conf = self.read(tempest_conf.render(facts.CloudFacts(), 'today'))
        self.assertEqual({}, conf.disk_format.compute_backends)

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

import importlib.metadata
import io
import os
import re

import fixtures
from oslo_config import cfg
from oslo_config import generator
from tempest.test_discover import plugins
import testtools

from tempest_format_plugin import config
from tempest_format_plugin import opts
from tempest_format_plugin import plugin

GROUP = 'disk_format'


def _registered(**values):
    conf = cfg.ConfigOpts()
    plugin.FormatTempestPlugin().register_opts(conf)
    conf([], default_config_files=[])
    for name, value in values.items():
        conf.set_override(name, value, group=GROUP)
    return conf


def _from_file(directory, *lines):
    path = os.path.join(directory, 'tempest.conf')
    with open(path, 'w') as conf_file:
        conf_file.write('\n'.join((f'[{GROUP}]',) + lines))
    conf = cfg.ConfigOpts()
    plugin.FormatTempestPlugin().register_opts(conf)
    conf([], default_config_files=[path])
    return conf


def _registered_names(conf):
    return {(GROUP, name) for name in conf[GROUP]}


def _names(groups):
    return {(getattr(group, 'name', group), option.name)
            for group, options in groups for option in options}


class TestPlugin(testtools.TestCase):

    def test_tempest_finds_the_plugin(self):
        entry_point, = importlib.metadata.entry_points(
            group='tempest.test_plugins', name='tempest_format_plugin')
        self.assertIs(plugin.FormatTempestPlugin, entry_point.load())
        self.assertTrue(issubclass(plugin.FormatTempestPlugin,
                                   plugins.TempestPlugin))

    def test_only_scenarios_are_loaded(self):
        test_dir, top_level = plugin.FormatTempestPlugin().load_tests()
        self.assertEqual(os.path.join('tempest_format_plugin', 'tests',
                                      'scenario'),
                         os.path.relpath(test_dir, top_level))
        self.assertTrue(os.path.isdir(test_dir))


class TestOptionLists(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.expected = _names(config.OPTION_GROUPS)

    def test_no_option_is_named_twice(self):
        self.assertEqual(
            len(self.expected),
            sum(len(options) for _, options in config.OPTION_GROUPS))

    def test_registered(self):
        conf = _registered()
        self.assertEqual(self.expected, _registered_names(conf))

    def test_registered_twice(self):
        conf = _registered()
        plugin.FormatTempestPlugin().register_opts(conf)
        self.assertEqual(self.expected, _registered_names(conf))

    def test_listed(self):
        lists = plugin.FormatTempestPlugin().get_opt_lists()
        self.assertEqual(self.expected, _names(lists))
        self.assertEqual(self.expected, _names(opts.list_opts()))

    def test_sample(self):
        conf = cfg.ConfigOpts()
        generator.register_cli_opts(conf)
        conf(['--namespace', 'tempest_format_plugin.config'],
             default_config_files=[])
        sample = io.StringIO()
        generator.generate(conf, sample)
        sections = re.findall(r'^\[(\w+)\]$', sample.getvalue(), re.MULTILINE)
        options = re.findall(r'^#(\w+) =', sample.getvalue(), re.MULTILINE)
        self.assertEqual(['DEFAULT', GROUP], sections)
        self.assertEqual(sorted(name for _, name in self.expected),
                         sorted(options))

    def test_help(self):
        for _, options in config.OPTION_GROUPS:
            for option in options:
                self.assertRegex(option.help, r'(?s).{30,}\.$', option.name)


class TestValues(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path

    def test_overrides_of_the_profile_are_unset(self):
        group = _registered()[GROUP]
        for option in config.profile_options:
            if option.name != 'profile':
                self.assertIsNone(group[option.name], option.name)

    def test_backends(self):
        conf = _from_file(self.directory,
                          'compute_backends = node-1:raw, node-2:flat')
        self.assertEqual({'node-1': 'raw', 'node-2': 'flat'},
                         conf[GROUP].compute_backends)

    def test_unknown_backend(self):
        conf = _from_file(self.directory, 'compute_backends = node-1:rwa')
        error = self.assertRaises(cfg.ConfigFileValueError,
                                  lambda: conf[GROUP].compute_backends)
        self.assertIn('compute_backends', str(error))
        self.assertIn('rwa', str(error))

    def test_addresses(self):
        conf = _from_file(
            self.directory,
            'compute_addresses = node-1:10.0.0.1,node-2:fd00::2')
        self.assertEqual({'node-1': '10.0.0.1', 'node-2': 'fd00::2'},
                         conf[GROUP].compute_addresses)

    def test_known_bugs(self):
        conf = _from_file(self.directory,
                          'known_bugs = 2038898,live-migration-mixed-backends')
        self.assertEqual(['2038898', 'live-migration-mixed-backends'],
                         conf[GROUP].known_bugs)

    def test_empty_sudo_is_not_unset(self):
        conf = _from_file(self.directory, 'sudo_command =')
        self.assertEqual('', conf[GROUP].sudo_command)

    def test_boot_marker(self):
        marker = _registered()[GROUP].boot_marker
        self.assertEqual(
            1, len(re.findall(marker, "login as 'cirros' user. default "
                                      'password: "gocubsgo". use \'sudo\' for '
                                      'root.\r\ncirros login: ')))
        self.assertEqual(
            1, len(re.findall(marker, 'FORMAT-GUEST boot_id=b root=vda\r\n'
                                      'FORMAT-GUEST ready boot_id=b '
                                      'counter=1\r\n')))
        self.assertIsNone(re.search(
            marker, 'FORMAT-GUEST beat=1 write=ok boot_id=b'))

    def test_boot_marker_that_does_not_compile(self):
        conf = _from_file(self.directory, 'boot_marker = login(:')
        error = self.assertRaises(cfg.ConfigFileValueError,
                                  lambda: conf[GROUP].boot_marker)
        self.assertIn('boot_marker', str(error))

    def test_nothing_need_settle(self):
        group = _registered(settle_timeout=0)[GROUP]
        self.assertEqual((0, None),
                         (group.settle_timeout, group.nfs_volume_type))

    def test_flavor_has_every_disk(self):
        for name in ('flavor_disk', 'flavor_ephemeral', 'flavor_swap'):
            self.assertRaises(ValueError, _registered, **{name: 0})

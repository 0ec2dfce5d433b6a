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

"""Each sample through DevStack's own scripts, run dry.

Takes minutes, root, and a checkout of DevStack that DEVSTACK_DIR names.
"""

import os
import pathlib
import shutil

import fixtures
import testtools

from tempest_format_plugin.tests.devstack import dry_run
from tempest_format_plugin.tests.devstack import samples

_DEVSTACK_DIR = os.environ.get('DEVSTACK_DIR')
_OTHERS_VOLUME = '/srv/others/volume-1'


class TestDryRun(testtools.TestCase):

    def setUp(self):
        super().setUp()
        if not _DEVSTACK_DIR:
            self.skipTest('DEVSTACK_DIR names no checkout of DevStack')
        if not os.path.exists(os.path.join(_DEVSTACK_DIR, 'stack.sh')):
            self.fail(f'DEVSTACK_DIR is {_DEVSTACK_DIR}, where there is no '
                      'stack.sh')
        if os.geteuid():
            self.skipTest('a dry run of DevStack needs root')

    def run_sample(self, scenario, host, plugin_dir=samples.PLUGIN_DIR):
        return dry_run.run(
            os.path.abspath(_DEVSTACK_DIR),
            samples.path(scenario, host).read_text(), host, plugin_dir)

    def broken_plugin(self, old, new):
        plugin_dir = pathlib.Path(
            self.useFixture(fixtures.TempDir()).join('devstack'))
        shutil.copytree(samples.PLUGIN_DIR, plugin_dir)
        plugin = plugin_dir / 'plugin.sh'
        text = plugin.read_text()
        self.assertIn(old, text)
        plugin.write_text(text.replace(old, new))
        return plugin_dir

    def check(self, scenario, host):
        stages = self.run_sample(scenario, host)
        stack = stages['stack']
        self.assertEqual([], samples.differences(
            stack.options, samples.expected(scenario, host)))
        self.assertEqual(samples.expected_exports(scenario, host),
                         stack.texts.get(samples.EXPORTS_FILE))
        self.assertEqual(
            samples.expected_shares(scenario, host),
            stack.texts.get('/etc/cinder/nfs-shares-nfs.conf'))
        self.assertEqual(
            samples.expected_packages(scenario, host),
            {package for call in stack.calls
             if call.startswith('install_package ')
             for package in call.split() if package.startswith('nfs-')})
        if (scenario, host) == ('nfs', 'controller'):
            # The volume type that tempest is told of.
            self.assertTrue(any('volume type create' in call
                                and call.endswith(' nfs')
                                for call in stack.calls))
        exports = samples.expected_exports(scenario, host) is not None
        self.assertEqual(
            ['start_service nfs-server', 'exportfs -ra'] if exports else [],
            [call for call in stack.calls if 'nfs-server' in call
             or call.startswith('exportfs')])
        self.check_undone(stages, host, exports)

    def check_undone(self, stages, host, exports):
        unstack = stages['unstack']
        self.assertEqual(set(), {path for path in unstack.mounted
                                 if path.startswith('/opt/stack/data')})
        self.assertIn('stop_process n-cpu', unstack.calls)
        if host == 'controller':
            self.assertIn('stop_process c-vol', unstack.calls)
        for stage, files, directories in (
                ('unstack', {f'{samples.EXPORT}/of-the-user'},
                 {samples.EXPORT}),
                ('clean', set(), set())):
            stage = stages[stage]
            self.assertNotIn(samples.EXPORTS_FILE, stage.texts)
            # What others have on the export that was mounted is still there,
            # and no more than that and the user's own on ours.
            self.assertEqual({_OTHERS_VOLUME} | (files if exports else set()),
                             stage.files)
            self.assertEqual(
                {'/srv/others'} | (directories if exports else set()),
                stage.directories)
        self.assertEqual(['exportfs -ra'] if exports else [],
                         [call for call in unstack.calls
                          if call.startswith('exportfs')])

    # That the harness sees what goes wrong.

    def check_lost(self, old, new):
        stack = self.run_sample('cold-migration-raw', 'subnode',
                                self.broken_plugin(old, new))['stack']
        self.assertIn(
            'nova-cpu.conf [libvirt] images_type: expected raw, got None',
            samples.differences(stack.options, samples.expected(
                'cold-migration-raw', 'subnode')))

    def test_lost_in_nova_cpu_conf(self):
        self.check_lost('"$NOVA_CONF" libvirt', '"$NOVA_CPU_CONF" libvirt')

    def test_lost_to_another_writer(self):
        self.check_lost('async_wait configure_neutron_nova', '')

    def test_volumes_of_others_are_removed(self):
        unstack = self.run_sample(
            'nfs', 'subnode', self.broken_plugin(
                'sudo umount --lazy', 'true'))['unstack']
        self.assertNotIn(_OTHERS_VOLUME, unstack.files)


def _add_tests():
    """One test for each sample, so that they can run side by side."""
    for scenario in samples.SCENARIOS:
        for host in samples.HOSTS:
            def test(self, scenario=scenario, host=host):
                self.check(scenario, host)

            test.__name__ = f'test_{scenario}_{host}'.replace('-', '_')
            setattr(TestDryRun, test.__name__, test)


_add_tests()

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

"""Each sample through all phases of the plugin, with stand-ins for DevStack.

Takes seconds. What DevStack itself makes of the samples, ``test_dry_run``
shows.
"""

import pathlib
import re
import shutil

import fixtures
import testtools

from tempest_format_plugin.tests.devstack import phases
from tempest_format_plugin.tests.devstack import samples

_ALL = [(scenario, host)
        for scenario in samples.SCENARIOS for host in samples.HOSTS]
# What nova and cinder mount, and what neither of them does.
_OTHERS_MOUNT = '/opt/stack/data/nova/mnt-of-others'
_NOVA_MOUNT = '/opt/stack/data/nova/mnt/5a7e'
_CINDER_MOUNT = '/opt/stack/data/cinder/mnt/5a7e'


def mounted(host):
    """Return what an NFS cloud has mounted on a host when it is unstacked."""
    return [_OTHERS_MOUNT, _NOVA_MOUNT, f'{_NOVA_MOUNT}/nested',
            *([_CINDER_MOUNT] if host == 'controller' else [])]


def faults(scenario, host, plugin_dir=samples.PLUGIN_DIR):
    """Return what the plugin does wrong with a sample, in sentences."""
    run = phases.run(samples.path(scenario, host).read_text(),
                     plugin_dir=plugin_dir, mounted=mounted(host))
    found = samples.differences(run.files, samples.expected(scenario, host))
    for file, wanted in (
            (samples.EXPORTS_FILE, samples.expected_exports(scenario, host)),
            ('/etc/cinder/nfs-shares-nfs.conf',
             samples.expected_shares(scenario, host))):
        if run.texts.get(file) != wanted:
            found.append(f'{file}: expected {wanted!r}, '
                         f'got {run.texts.get(file)!r}')
    packages = {package for name, *names in run.calls['stack pre-install']
                if name == 'install_package' for package in names}
    wanted = samples.expected_packages(scenario, host)
    if packages != wanted:
        found.append(f'expected the packages {wanted}, got {packages}')
    for phase, left in run.left.items():
        if _OTHERS_MOUNT not in left:
            found.append(f'{phase} unmounts {_OTHERS_MOUNT}')
        left -= {_OTHERS_MOUNT, '/etc/exports.d'}
        if left:
            found.append(f'{phase} leaves {", ".join(sorted(left))}')
    return [*found, *_faults_of_order(run.calls)]


def _faults_of_order(calls):
    """What must come before what else."""
    pairs = (
        # exportfs reads the file that it is to go by.
        ('stack pre-install', ['tee', samples.EXPORTS_FILE],
         ['sudo', 'exportfs', '-ra']),
        ('unstack', ['sudo', 'rm', samples.EXPORTS_FILE],
         ['sudo', 'exportfs', '-ra']),
        # The services would mount again what is unmounted.
        ('unstack', ['stop_process', 'n-cpu'],
         ['sudo', 'umount', '--lazy', _NOVA_MOUNT]),
        ('unstack', ['stop_process', 'c-vol'],
         ['sudo', 'umount', '--lazy', _CINDER_MOUNT]),
        # A mount that has another in it can't go first.
        ('unstack', ['sudo', 'umount', '--lazy', f'{_NOVA_MOUNT}/nested'],
         ['sudo', 'umount', '--lazy', _NOVA_MOUNT]),
    )
    for phase, first, then in pairs:
        words = [call[:len(first)] for call in calls[phase]]
        if then in calls[phase] or first in words:
            if first not in words or then not in calls[phase][
                    words.index(first):]:
                yield f'{phase}: expected {first}, then {then}'


class TestSamples(testtools.TestCase):

    def test_every_sample(self):
        self.assertEqual({sample: [] for sample in _ALL},
                         {sample: faults(*sample) for sample in _ALL})

    def test_no_sample_is_forgotten(self):
        self.assertEqual(
            {samples.path(*sample) for sample in _ALL},
            set(samples.SAMPLES_DIR.iterdir()))


class TestKnobs(testtools.TestCase):

    def stack(self, *lines):
        return phases.run('\n'.join(['[[local|localrc]]',
                                     f'HOST_IP={samples.CONTROLLER_ADDRESS}',
                                     *lines]))

    def refusal(self, *lines):
        error = self.assertRaises(phases.PhasesError, self.stack, *lines)
        return re.search(r'\[ERROR\] (.*)', str(error))[1]

    def test_nothing_is_set_unless_asked_for(self):
        run = self.stack()
        self.assertEqual({}, run.files['nova-cpu.conf'])
        self.assertEqual(
            {('image_format', 'require_image_format_match'): ['True']},
            run.files['glance-api.conf'])
        self.assertEqual(
            {('lvmdriver-1', 'image_volume_cache_enabled'): ['False']},
            run.files['cinder.conf'])
        self.assertEqual(
            {'profile', 'instances_path', 'raw_images_allowed', 'ssh_user'},
            {option for section, option in run.files['tempest.conf']
             if section == 'disk_format'})
        del run.calls[None]
        self.assertEqual({}, run.calls)

    def test_cow_and_raw_images(self):
        run = self.stack('FORMAT_USE_COW_IMAGES=False',
                         'FORMAT_FORCE_RAW_IMAGES=false')
        self.assertEqual({('DEFAULT', 'use_cow_images'): ['False'],
                          ('DEFAULT', 'force_raw_images'): ['false']},
                         run.files['nova-cpu.conf'])

    def test_glance_does_not_enforce(self):
        run = self.stack('FORMAT_GLANCE_ENFORCE=False')
        self.assertEqual([], samples.differences(run.files, {
            'glance-api.conf': {
                ('image_format', 'require_image_format_match'): 'False'},
            'tempest.conf': {
                ('image-feature-enabled',
                 'image_format_enforcement'): 'False'}}))

    def test_raw_among_the_formats(self):
        for formats, allowed in (('raw', 'True'), ('qcow2, raw', 'True'),
                                 ('qcow2,raw-like', 'False')):
            run = self.stack(f'FORMAT_GLANCE_DISK_FORMATS={formats}')
            self.assertEqual([], samples.differences(run.files, {
                'tempest.conf': {
                    ('disk_format', 'raw_images_allowed'): allowed}}))

    def test_home_options_of_tempest(self):
        run = self.stack('FORMAT_COMPUTE_ADDRESSES=a:192.0.2.1',
                         'FORMAT_SSH_USER=me',
                         'FORMAT_SSH_KNOWN_HOSTS_FILE=/known')
        self.assertEqual([], samples.differences(run.files, {
            'tempest.conf': {
                ('disk_format', 'compute_addresses'): 'a:192.0.2.1',
                ('disk_format', 'ssh_user'): 'me',
                ('disk_format', 'ssh_known_hosts_file'): '/known'}}))

    def test_someone_elses_export(self):
        run = self.stack('CINDER_ENABLED_BACKENDS=lvm:lvm,nfs:shares',
                         'CINDER_NFS_SERVERPATH=192.0.2.9:/volumes')
        self.assertEqual([], samples.differences(run.files, {
            'cinder.conf': {('shares', 'nfs_snapshot_support'): 'True'},
            'tempest.conf': {('disk_format', 'nfs_volume_type'): 'shares'}}))
        self.assertEqual([['install_package', 'nfs-common']],
                         run.calls['stack pre-install'])
        self.assertNotIn('unstack', run.calls)

    def test_clients_are_exported_to_once(self):
        run = self.stack('CINDER_ENABLED_BACKENDS=nfs:nfs',
                         'FORMAT_NFS_EXPORT=/srv/volumes',
                         f'FORMAT_NFS_CLIENTS={samples.CONTROLLER_ADDRESS}')
        self.assertEqual(
            f'/srv/volumes {samples.CONTROLLER_ADDRESS}'
            '(rw,sync,no_root_squash,no_subtree_check)\n',
            run.texts[samples.EXPORTS_FILE])

    def test_what_is_misspelt_is_refused(self):
        nfs = 'CINDER_ENABLED_BACKENDS=nfs:nfs'
        for lines, refusal in (
                (['FORMAT_IMAGES_TYPE=rwa'],
                 'FORMAT_IMAGES_TYPE: expected raw, flat or qcow2, got rwa'),
                (['FORMAT_USE_COW_IMAGES=flase'],
                 'FORMAT_USE_COW_IMAGES: expected True or False, got flase'),
                (['FORMAT_FORCE_RAW_IMAGES=1'],
                 'FORMAT_FORCE_RAW_IMAGES: expected True or False, got 1'),
                (['FORMAT_GLANCE_ENFORCE=no'],
                 'FORMAT_GLANCE_ENFORCE: expected True or False, got no'),
                (['FORMAT_NFS_CLIENTS=192.0.2.12'],
                 'FORMAT_NFS_CLIENTS is 192.0.2.12, but FORMAT_NFS_EXPORT '
                 'names no directory'),
                (['FORMAT_NFS_EXPORT=/srv/volumes'],
                 'FORMAT_NFS_EXPORT is /srv/volumes, but '
                 'CINDER_ENABLED_BACKENDS has no backend of type nfs: '
                 'lvm:lvmdriver-1'),
                *(([nfs, f'FORMAT_NFS_EXPORT={path}'],
                   'FORMAT_NFS_EXPORT: expected the absolute path of a '
                   f'directory, without spaces, got {path}')
                  for path in ('/', 'volumes', '/srv/', '/srv/my volumes'))):
            self.assertEqual(refusal, self.refusal(*lines))

    def test_every_knob_is_in_settings(self):
        settings = (samples.PLUGIN_DIR / 'settings').read_text()
        declared = set(re.findall(r'^(FORMAT_\w+)=\${\1:-.*}$', settings,
                                  re.MULTILINE))
        used = set(re.findall(
            r'\bFORMAT_\w+', (samples.PLUGIN_DIR / 'plugin.sh').read_text()))
        self.assertEqual(declared, used - {'FORMAT_EXPORTS_FILE'})
        for path in samples.SAMPLES_DIR.iterdir():
            self.assertEqual(set(), {
                name for name in samples.LocalConf(path.read_text()).localrc
                if name.startswith('FORMAT_')} - declared)


class TestFaultsAreCaught(testtools.TestCase):
    """The tests above on plugins that are broken on purpose."""

    def caught(self, sample, old, new, file='plugin.sh'):
        plugin_dir = pathlib.Path(
            self.useFixture(fixtures.TempDir()).join('devstack'))
        shutil.copytree(samples.PLUGIN_DIR, plugin_dir)
        text = (plugin_dir / file).read_text()
        self.assertIn(old, text)
        (plugin_dir / file).write_text(text.replace(old, new))
        scenario, _, host = sample.rpartition('-')
        return faults(scenario, host, plugin_dir)

    def test_lost_in_nova_cpu_conf(self):
        old, new = '"$NOVA_CONF" libvirt', '"$NOVA_CPU_CONF" libvirt'
        for host in samples.HOSTS:
            self.assertIn(
                'nova-cpu.conf [libvirt] images_type: expected raw, got None',
                self.caught(f'cold-migration-raw-{host}', old, new))

    def test_lost_to_another_writer(self):
        self.assertIn(
            'nova-cpu.conf [libvirt] images_type: expected raw, got None',
            self.caught('cold-migration-raw-subnode',
                        'async_wait configure_neutron_nova', ''))

    def test_too_late(self):
        self.assertIn(
            'nova-cpu.conf [libvirt] images_type: expected raw, got None',
            self.caught('cold-migration-raw-subnode',
                        '"stack post-config"', '"stack extra"'))

    def test_only_on_the_controller(self):
        self.assertIn(
            'nova-cpu.conf [libvirt] images_type: expected raw, got None',
            self.caught('live-migration-mixed-subnode',
                        'is_service_enabled n-cpu',
                        'is_service_enabled n-api'))

    def test_knob_has_no_default(self):
        self.assertIn(
            'nova-cpu.conf [libvirt] images_type: expected raw, got qcow2',
            self.caught('cold-migration-raw-controller',
                        'FORMAT_IMAGES_TYPE=${FORMAT_IMAGES_TYPE:-}',
                        'FORMAT_IMAGES_TYPE=qcow2', file='settings'))

    def test_default_is_overridden_too_late(self):
        self.assertIn(
            'cinder.conf [lvmdriver-1] image_volume_cache_enabled: expected '
            'False, got True',
            self.caught('volume-backed-snapshot-controller',
                        'CINDER_IMG_CACHE_ENABLED=', 'UNUSED=',
                        file='override-defaults'))

    def test_volumes_are_mounted_from_localhost(self):
        self.assertIn(
            'cinder.conf [nfs] nas_host: expected None, got localhost',
            self.caught('nfs-controller',
                        'inidelete "$CINDER_CONF" "$backend" nas_host', ''))

    def test_wrong_section_of_cinder(self):
        self.assertIn(
            'cinder.conf [nfs] nfs_snapshot_support: expected True, got None',
            self.caught('nfs-controller', 'echo "${backend##*:}"',
                        'echo "${backend%%:*}-1"'))

    def test_no_client_on_the_subnode(self):
        self.assertIn(
            'expected the packages {\'nfs-common\'}, got set()',
            self.caught('nfs-subnode', '        install_package nfs-common\n',
                        '        :\n'))

    def test_raw_is_told_the_wrong_way_round(self):
        self.assertIn(
            'tempest.conf [disk_format] raw_images_allowed: expected False, '
            'got True',
            self.caught('volume-backed-snapshot-raw-disallowed-controller',
                        'raw_images_allowed False', 'raw_images_allowed True'))

    def test_export_stays(self):
        sample = 'nfs-controller'
        self.assertIn(
            f'unstack leaves {samples.EXPORTS_FILE}',
            self.caught(sample, 'sudo rm $FORMAT_EXPORTS_FILE', ':'))
        self.assertIn(
            f'unstack leaves {samples.EXPORT}',
            self.caught(sample, 'sudo rmdir', 'sudo true'))

    def test_mounts_stay(self):
        self.assertIn(
            f'unstack leaves {_CINDER_MOUNT}',
            self.caught('nfs-controller',
                        'format_unmount "$CINDER_STATE_PATH/mnt"', ': '))
        self.assertIn(
            f'unstack leaves {_NOVA_MOUNT}, {_NOVA_MOUNT}/nested',
            self.caught('nfs-subnode', '    unstack | clean)', '    clean)'))

    def test_mounted_again(self):
        self.assertIn(
            'unstack: expected [\'stop_process\', \'n-cpu\'], then [\'sudo\', '
            f'\'umount\', \'--lazy\', \'{_NOVA_MOUNT}\']',
            self.caught('nfs-subnode', 'stop_process "$service"', ':'))

    def test_unmounted_in_the_wrong_order(self):
        self.assertIn(
            'unstack: expected [\'sudo\', \'umount\', \'--lazy\', '
            f'\'{_NOVA_MOUNT}/nested\'], then [\'sudo\', \'umount\', '
            f'\'--lazy\', \'{_NOVA_MOUNT}\']',
            self.caught('nfs-subnode', 'tac <<<', 'cat <<<'))

    def test_unmounts_what_is_not_its_own(self):
        self.assertIn(
            f'unstack unmounts {_OTHERS_MOUNT}',
            self.caught('nfs-subnode', '"$directory/"', '"$directory"'))

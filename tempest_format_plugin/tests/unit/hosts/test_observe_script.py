# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import ast
import contextlib
import inspect
import io
import json
import os
import stat
import subprocess
import sys
from unittest import mock

import fixtures
import testtools

from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.tests.unit.hosts import fakes


class InProcess:
    """Runs the script's code in this process."""

    def run_script(self, arguments):
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', self.host.env['PATH']))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            observe_script.main(arguments)
        return output.getvalue()


class Subprocess:
    """Runs the script as a compute host does."""

    def run_script(self, arguments):
        completed = subprocess.run(
            [sys.executable, '-I', '-S', '-', *arguments],
            input=inspect.getsource(observe_script), env=self.host.env,
            capture_output=True, text=True)
        self.assertEqual('', completed.stderr)
        return completed.stdout


class ObserveScriptTests:

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(fakes.ComputeHost())

    def observe(self, **overrides):
        lab = profile.get('lab', instances_path=str(self.host.instances),
                          **overrides)
        report = json.loads(self.run_script(
            [fakes.SERVER_ID, lab.instances_path, *lab.virsh, ';',
             *lab.qemu_img_limited]))
        self.assertEqual(1, report.pop('version'))
        return report

    def test_running(self):
        root, swap = self.host.disk('disk'), self.host.disk('disk.swap')
        self.host.disk_info({root: 'raw', swap: 'raw'})
        live = fakes.xml({root: 'raw', swap: 'raw'}, live=True)
        inactive = fakes.xml({root: 'raw', swap: 'raw'})
        self.host.domain('running', live, inactive)
        report = self.observe()
        self.assertEqual({'state': 'running', 'live': live,
                          'inactive': inactive, 'error': None},
                         report['domain'])
        self.assertEqual(str(self.host.instance_dir), report['instance_dir'])
        self.assertEqual({root: 'raw', swap: 'raw'},
                         json.loads(report['disk_info']))
        self.assertEqual([root, swap], list(report['files']))
        entry = report['files'][root]
        self.assertEqual(os.path.getsize(root), entry['length'])
        self.assertEqual('raw', json.loads(entry['info'])['format'])
        self.assertIsNone(entry['error'])
        self.assertEqual([root, swap], sorted(self.host.probed()))

    def test_commands(self):
        root = self.host.disk('disk')
        self.observe()
        self.assertEqual(
            f'info --force-share --output=json {root}\n',
            (self.host.root / 'qemu-img.calls').read_text())
        separator = f"echo '{observe_script.SEPARATOR}'"
        self.assertEqual(
            f'-c qemu:///system domstate {fakes.SERVER_ID}; {separator}; '
            f'dumpxml {fakes.SERVER_ID}; {separator}; '
            f'dumpxml --inactive {fakes.SERVER_ID}\n',
            (self.host.root / 'virsh.calls').read_text())

    def test_shut_off(self):
        root = self.host.disk('disk')
        inactive = fakes.xml({root: 'raw'})
        self.host.domain('shut off', inactive, inactive)
        self.assertEqual({'state': 'shut off', 'live': None,
                          'inactive': inactive, 'error': None},
                         self.observe()['domain'])

    def test_absent_domain(self):
        root = self.host.disk('disk', 'qcow2', '/base', 'raw')
        self.host.disk_info({root: 'raw'})
        report = self.observe()
        domain = report['domain']
        self.assertIn('failed to get domain', domain.pop('error'))
        self.assertEqual({'state': None, 'live': None, 'inactive': None},
                         domain)
        self.assertIn(root, report['disk_info'])
        # Nobody but the file itself says that it is an overlay.
        self.assertEqual([root], list(report['files']))

    def test_domain_goes_away_between_the_questions(self):
        self.host.virsh(f'running\n\n{observe_script.SEPARATOR}\n'
                        f'{observe_script.SEPARATOR}\n',
                        'error: failed to get domain', 1)
        self.assertIsNone(self.observe()['domain']['state'])

    def test_server_is_not_here(self):
        self.host.instance_dir.rmdir()
        report = self.observe()
        self.assertEqual((None, {}), (report['disk_info'], report['files']))

    def test_all_files_that_anybody_names(self):
        found = self.host.disk('disk.rescue')
        named = str(self.host.instance_dir / 'disk.gone')
        volume = self.host.disk(self.host.root / 'volume-1')
        base = self.host.disk(self.host.root / 'base')
        (self.host.instance_dir / 'console.log').write_text('')
        self.host.disk_info({named: 'raw'})
        self.host.domain('shut off', fakes.xml({volume: 'raw'}),
                         fakes.xml({base: 'raw'}))
        files = self.observe()['files']
        self.assertEqual({found, named, volume, base}, set(files))
        self.assertEqual({'length': None, 'info': None,
                          'error': 'No such file or directory'},
                         files[named])
        self.assertNotIn(named, self.host.probed())

    def overlay(self, declared=('qcow2', 'qcow2'), backing_format='qcow2'):
        """A chain disk -> middle -> base, declared so by live, inactive."""
        base = self.host.disk(self.host.root / 'base')
        middle = self.host.disk(self.host.root / 'middle', 'qcow2', base,
                                'raw')
        root = self.host.disk('disk', 'qcow2', middle, backing_format)
        live, inactive = declared
        self.host.domain('running', fakes.xml({root: live}, live=True),
                         fakes.xml({root: inactive}))
        return root, middle, base

    def test_chain_is_followed_where_it_is_declared(self):
        chain = self.overlay()
        files = self.observe()['files']
        self.assertEqual(list(chain), list(files))
        # Each file once, by itself.
        self.assertEqual(list(chain), self.host.probed())

    def test_backing_file_declared_raw_is_the_end(self):
        root, middle, _ = self.overlay(backing_format='raw')
        self.assertEqual([root, middle], list(self.observe()['files']))
        self.assertEqual([root, middle], self.host.probed())

    def test_undeclared_backing_file_is_the_end(self):
        root, middle, _ = self.overlay(backing_format=None)
        self.assertEqual([root, middle], list(self.observe()['files']))

    def test_header_of_a_raw_disk_is_not_followed(self):
        # It is the guest's own work.
        root, _, _ = self.overlay(declared=('raw', 'raw'))
        self.assertEqual([root], list(self.observe()['files']))
        self.assertEqual([root], self.host.probed())

    def test_header_is_not_followed_if_either_xml_says_raw(self):
        root, _, _ = self.overlay(declared=('raw', 'qcow2'))
        self.assertEqual([root], list(self.observe()['files']))
        root, _, _ = self.overlay(declared=('qcow2', 'raw'))
        self.assertEqual([root], list(self.observe()['files']))

    def test_header_is_not_followed_out_of_the_host(self):
        for name in ('json:{"driver": "nbd"}', 'nbd://192.0.2.1/x', 'base',
                     ['/base']):
            root = self.host.disk('disk', 'qcow2')
            with open(root, 'w') as target:
                json.dump({'format': 'qcow2', 'full-backing-filename': name,
                           'backing-filename-format': 'qcow2'}, target)
            xml = fakes.xml({root: 'qcow2'})
            self.host.domain('shut off', xml, xml)
            self.assertEqual([root], list(self.observe()['files']))

    def test_shared_backing_file_is_probed_once(self):
        base = self.host.disk(self.host.root / 'base')
        disks = {self.host.disk(name, 'qcow2', base, 'raw'): 'qcow2'
                 for name in ('disk', 'disk.eph0')}
        self.host.domain('shut off', fakes.xml(disks), fakes.xml(disks))
        self.observe()
        self.assertEqual(1, self.host.probed().count(base))

    def test_loop_ends(self):
        other = str(self.host.root / 'other')
        root = self.host.disk('disk', 'qcow2', other, 'qcow2')
        self.host.disk(other, 'qcow2', root, 'qcow2')
        xml = fakes.xml({root: 'qcow2'})
        self.host.domain('shut off', xml, xml)
        self.assertEqual({root, other}, set(self.observe()['files']))
        self.assertEqual(2, len(self.host.probed()))

    def test_probes_run_at_the_same_time(self):
        disks = [self.host.disk(name) for name in (
            'disk', 'disk.config', 'disk.eph0', 'disk.swap')]
        (self.host.root / 'together').write_text('4')
        files = self.observe()['files']
        self.assertEqual(disks, list(files))
        self.assertEqual([None] * 4, [files[path]['error'] for path in disks])

    def test_broken_file(self):
        root = self.host.disk('disk')
        with open(root, 'w') as target:
            target.write('broken image')
        xml = fakes.xml({root: 'qcow2'})
        self.host.domain('shut off', xml, xml)
        self.assertEqual(
            {'length': 12, 'info': None, 'error': 'broken image'},
            self.observe()['files'][root])

    def test_what_is_no_file_is_not_opened(self):
        pipe = str(self.host.instance_dir / 'disk.pipe')
        os.mkfifo(pipe)
        entry = self.observe()['files'][pipe]
        self.assertIn('neither a regular file', entry['error'])
        self.assertEqual([], self.host.probed())

    def test_disk_info_that_is_no_file(self):
        path = self.host.instance_dir / 'disk.info'
        os.mkfifo(path)
        report = self.observe()
        # No JSON: a reader that knows no disk_info_error fails as well.
        self.assertEqual(('not a regular file',) * 2, (
            report['disk_info'], report['disk_info_error']))
        path.unlink()
        with open(path, 'w') as file:
            file.truncate(observe_script.LONGEST_DISK_INFO + 1)
        self.assertIn('longer than', self.observe()['disk_info_error'])

    def test_names_that_are_no_paths(self):
        self.host.disk_info({'/a\0b': 'raw'})
        xml = fakes.xml({'--help': 'raw'})
        self.host.domain('shut off', xml, xml)
        files = self.observe()['files']
        self.assertIn('null', files['/a\0b']['error'])
        self.assertEqual('not an absolute path', files['--help']['error'])
        self.assertEqual([], self.host.probed())

    def test_malformed_answers_are_passed_on(self):
        root = self.host.disk('disk')
        with open(root, 'w') as target:
            target.write('[]')
        (self.host.instance_dir / 'disk.info').write_text('{"/x')
        self.host.domain('shut off', '<domain', fakes.xml({root: 'qcow2'}))
        report = self.observe()
        self.assertEqual('<domain', report['domain']['live'])
        self.assertEqual('{"/x', report['disk_info'])
        self.assertEqual('[]', report['files'][root]['info'])

    def test_document_type(self):
        """What it defines might be without end."""
        disk = self.host.disk(self.host.root / 'volume')
        xml = '<!DOCTYPE domain [<!ENTITY a "b">]>' + fakes.xml({disk: 'raw'})
        self.host.domain('shut off', xml, xml)
        report = self.observe()
        self.assertEqual({}, report['files'])
        self.assertEqual(xml, report['domain']['inactive'])

    def test_disks_without_a_file(self):
        xml = (f'<domain id="1"><uuid>{fakes.SERVER_ID}</uuid><devices>'
               f'<disk type="file" device="cdrom"/>'
               f'<disk type="network"><source name="pool/volume"/></disk>'
               f'<disk type="block"><source dev="/dev/no/such"/></disk>'
               f'</devices></domain>')
        self.host.domain('running', xml, xml)
        self.assertEqual(['/dev/no/such'], list(self.observe()['files']))

    def assert_problem(self, field, *words, **overrides):
        report = self.observe(**overrides)
        self.assertEqual(['problem'], list(report))
        self.assertEqual(field, report['problem']['field'])
        for word in words:
            self.assertIn(word, report['problem']['text'])

    def test_missing_virsh(self):
        self.assert_problem('virsh', 'no-virsh: No such file',
                            virsh='no-virsh')

    def test_virsh_that_cannot_be_run(self):
        self.host.virsh(stderr='exec: virsh: not found', status=127)
        self.assert_problem('virsh', 'exec: virsh: not found')
        self.host.virsh(status=126)
        self.assert_problem('virsh', 'virsh: exit status 126')

    def test_libvirt_does_not_answer(self):
        # Which must not pass for a domain that is absent.
        self.host.virsh(
            stderr='error: failed to connect to the hypervisor', status=1)
        self.assert_problem('virsh', 'failed to connect')

    def test_virsh_that_says_something_else(self):
        self.host.virsh('usage: virsh')
        self.assert_problem('virsh', 'exit status 0', 'usage: virsh')

    def test_missing_qemu_img(self):
        self.host.disk('disk')
        self.assert_problem('qemu_img', 'no-qemu-img', qemu_img='no-qemu-img')

    def test_missing_prlimit(self):
        self.host.disk('disk')
        with mock.patch.object(profile, 'QEMU_IMG_LIMITS', ('no-prlimit',)):
            self.assert_problem('qemu_img', 'no-prlimit: No such file')

    def test_missing_instances_path(self):
        self.host.instance_dir.rmdir()
        self.host.instances.rmdir()
        self.assert_problem('instances_path', str(self.host.instances),
                            'No such file')


class ObserveScriptInProcessTest(InProcess, ObserveScriptTests,
                                 testtools.TestCase):

    def test_unreadable_instances(self):
        with mock.patch.object(os, 'listdir', side_effect=PermissionError(
                13, 'Permission denied', '/instances')):
            self.assert_problem('sudo', 'Permission denied', '/instances')

    def test_unreadable_file(self):
        root = self.host.disk('disk')
        with mock.patch.object(os, 'geteuid', return_value=1000), \
                mock.patch.object(os, 'access', return_value=False):
            self.assert_problem('sudo', 'Permission denied', root)

    def test_disk_info_goes_away(self):
        with mock.patch.object(os, 'listdir', return_value=['disk.info']):
            self.assertIsNone(self.observe()['disk_info'])

    def test_command_that_hangs(self):
        self.host.disk('disk')
        self.host.write_tool('qemu-img', '#!/bin/sh\nexec sleep 60\n')
        with mock.patch.object(observe_script, 'PATIENCE', 0.2):
            entry, = self.observe()['files'].values()
        self.assertIn('did not end within', entry['error'])

    def test_anything_else(self):
        with mock.patch.object(os, 'listdir', side_effect=NotADirectoryError(
                20, 'Not a directory', '/x')):
            error = self.assertRaises(SystemExit, self.observe)
        self.assertIn('observe: NotADirectoryError: ', str(error))

    def test_length_of_block_device(self):
        path = self.host.disk('disk')
        with mock.patch.object(stat, 'S_ISREG', return_value=False), \
                mock.patch.object(stat, 'S_ISBLK', return_value=True):
            self.assertEqual(os.path.getsize(path),
                             observe_script.length_of(path))


class ObserveScriptSubprocessTest(Subprocess, ObserveScriptTests,
                                  testtools.TestCase):
    pass


class PortabilityTest(testtools.TestCase):

    def test_old_python(self):
        # The oldest Python of a host that runs a supported nova, with room.
        source = inspect.getsource(observe_script)
        ast.parse(source, feature_version=(3, 6))
        # Whatever the host's locale is.
        self.assertTrue(source.isascii())

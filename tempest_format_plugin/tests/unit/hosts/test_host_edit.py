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

import dataclasses
import inspect
import pathlib
import subprocess
import sys
import time
from unittest import mock

import fixtures

from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import edit_script
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.hosts import fakes

OPTIONS = {'libvirt': {'images_type': 'raw'},
           'DEFAULT': {'use_cow_images': False}}


class RenderTest(base.TestCase):

    def test_config_dir(self):
        for kind in (profile.CONFIG_DIR, profile.IN_PLACE):
            self.assertEqual(
                '[libvirt]\nimages_type = raw\n'
                '[DEFAULT]\nuse_cow_images = False\n',
                host_edit.render(kind, OPTIONS))

    def test_systemd(self):
        self.assertEqual(
            '[Service]\n'
            'Environment="OS_LIBVIRT__IMAGES_TYPE=raw"\n'
            'Environment="OS_DEFAULT__USE_COW_IMAGES=False"\n',
            host_edit.render(profile.SYSTEMD, OPTIONS))

    def test_systemd_quoting(self):
        self.assertEqual(
            '[Service]\nEnvironment="OS_A__B=100%% of \\"c\\\\d\\""\n',
            host_edit.render(profile.SYSTEMD, {'a': {'b': '100% of "c\\d"'}}))


class HostEditTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.server = self.useFixture(fakes.SshServer())
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        source = inspect.getsource(edit_script)
        for name, path in ((edit_script.STATE_DIR, 'state'),
                           (edit_script.BOOT_FILE, 'tmpfiles.d/edit.conf')):
            self.assertIn(repr(name), source)
            source = source.replace(repr(name), repr(str(self.dir / path)))
        self.useFixture(fixtures.MockPatchObject(
            inspect, 'getsource', new=lambda module: source))
        self.file = self.dir / 'conf.d/x.conf'
        self.profile = dataclasses.replace(
            profile.BUILT_IN['lab'], edit_file=str(self.file),
            restart=('true',), running=('true',), log=('echo', 'the log'))

    def host(self, **fields):
        return compute_host.ComputeHost(
            'node-1', ssh.Connection(self.server.endpoint()),
            dataclasses.replace(self.profile, **fields))

    def hold(self, holder='me', **fields):
        return host_edit.hold(self.host(**fields), OPTIONS, holder)

    def wait_until_undone(self):
        end = time.monotonic() + 20
        while any(self.dir.iterdir()):
            self.assertLess(time.monotonic(), end, 'it is not undone')
            time.sleep(0.05)

    def test_undo(self):
        edit = self.hold()
        self.assertEqual(
            '[libvirt]\nimages_type = raw\n'
            '[DEFAULT]\nuse_cow_images = False\n', self.file.read_text())
        self.assertEqual((True, 'the log\n'), edit.state())
        edit.undo()
        self.assertFalse(self.file.exists())
        self.wait_until_undone()

    def test_change(self):
        edit = self.hold()
        edit.change({'libvirt': {'images_type': 'flat'}})
        self.assertEqual('[libvirt]\nimages_type = flat\n',
                         self.file.read_text())
        edit.undo()
        self.wait_until_undone()

    def test_change_that_is_interrupted(self):
        """Nobody knows of the edit any more: it isn't kept alive."""
        self.useFixture(fixtures.MockPatchObject(host_edit, 'RENEWAL', 0.2))
        edit = self.hold()
        with mock.patch.object(edit._talk, 'ask',
                               side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, edit.change, OPTIONS)
        self.wait_until_undone()

    def test_runner_that_is_gone_before_the_script_is_there(self):
        ended = subprocess.run(
            [sys.executable, '-c', host_edit._START.format(100)],
            input=b'less than that', capture_output=True, timeout=20)
        self.assertEqual(1, ended.returncode)

    def test_in_place(self):
        self.file.parent.mkdir()
        self.file.write_text('[DEFAULT]\n')
        edit = self.hold(edit_kind=profile.IN_PLACE)
        self.assertIn('images_type', self.file.read_text())
        edit.undo()
        self.assertEqual('[DEFAULT]\n', self.file.read_text())

    def test_connection_that_drops(self):
        edit = self.hold()
        self.server.drop()
        self.wait_until_undone()
        self.assertRaises(exceptions.HostAccessError, edit.state)
        self.assertRaises(exceptions.HostAccessError, edit.undo)

    def test_lease_is_renewed(self):
        self.useFixture(fixtures.MockPatchObject(host_edit, 'LEASE', 1))
        self.useFixture(fixtures.MockPatchObject(host_edit, 'RENEWAL', 0.2))
        edit = self.hold()
        time.sleep(1.5)
        self.assertTrue(self.file.exists())
        edit.undo()

    def test_lease_that_runs_out(self):
        self.useFixture(fixtures.MockPatchObject(host_edit, 'LEASE', 0.2))
        self.hold()
        self.wait_until_undone()

    def test_second_holder(self):
        edit = self.hold('a test of somebody')
        error = self.assertRaises(exceptions.EditRefused, self.hold)
        self.assertIn('compute host node-1: a test of somebody holds an edit '
                      f'of {self.file} since ', str(error))
        edit.undo()
        self.hold().undo()

    def test_service_that_does_not_start(self):
        error = self.assertRaises(exceptions.EditError, self.hold,
                                  restart=('sh', '-c', f'test ! -e {self.file}'
                                           ))
        self.assertTrue(error.undone)
        self.assertIn('ended with exit status 1', str(error))
        self.assertIn('the host is as it was before', str(error))
        self.assertIn('nova-compute ends with: the log', str(error))
        self.wait_until_undone()

    def test_undo_that_fails(self):
        edit = self.hold(restart=('test', '-e', str(self.file)))
        error = self.assertRaises(exceptions.EditError, edit.undo)
        self.assertFalse(error.undone)
        self.assertIn('IT IS NOT AS IT WAS BEFORE', str(error))
        self.assertEqual(('me', False), tuple(
            map(host_edit.find(self.host()).get, ('holder', 'held'))))

    def test_find(self):
        self.assertIsNone(host_edit.find(self.host()))
        edit = self.hold()
        self.assertTrue(host_edit.find(self.host())['held'])
        edit.undo()
        self.assertIsNone(host_edit.find(self.host()))

    def test_restore(self):
        self.assertFalse(host_edit.restore(self.host()))
        self.test_undo_that_fails()
        state = self.dir / 'state/edit.json'
        state.write_text(state.read_text().replace('"-e"', '"!", "-e"'))
        self.assertTrue(host_edit.restore(self.host()))
        self.wait_until_undone()

    def test_restore_of_what_is_held(self):
        edit = self.hold()
        self.assertRaises(exceptions.EditRefused, host_edit.restore,
                          self.host())
        edit.undo()

    def test_profile_that_does_not_say_how(self):
        for field, option in (('edit_kind', 'compute_edit_kind'),
                              ('restart', 'compute_restart_command')):
            error = self.assertRaises(exceptions.ProfileError, self.hold,
                                      **{field: None})
            self.assertIn(f'set [disk_format] {option}', str(error))
        self.assertEqual(0, self.server.connections)

    def test_no_python(self):
        error = self.assertRaises(exceptions.HostAccessError, self.hold,
                                  edit_scope=('/no/such/command',))
        self.assertIn('/no/such/command', str(error))

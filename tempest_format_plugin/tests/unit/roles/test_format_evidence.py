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

import io
import json
import os
import pathlib
import sys
import threading
import time
from unittest import mock

import fixtures

from tempest_format_plugin.formats import redaction
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.roles import base as roles

# On a host, the role puts a copy beside it.
with mock.patch.dict(sys.modules, redaction=redaction):
    evidence = roles.load('format_evidence', 'evidence.py')

UUID = '5b7e5f5c-3d6e-4a5c-9d0f-0a8d6c1b2e3f'
FAKE = '''#!/bin/sh
echo "$*" >>{log}
case "$*" in
*--uuid) echo {uuid} ;;
list*) echo table ;;
*--inactive) echo "<domain type='kvm'><name>x</name></domain>" ;;
dumpxml*) echo "<domain type='kvm' id='3'><name>x</name></domain>" ;;
info*) echo '{{"format": "raw"}}' ;;
esac
'''


class EvidenceTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log = self.dir / 'log'
        self.kept = self.dir / 'kept'
        self.instances = self.dir / 'instances'
        self.settings = {
            'destination': str(self.kept), 'owner': self.me(),
            'virsh': [self.fake('virsh')], 'qemu_img': [self.fake('qemu-img')],
            'instances_path': str(self.instances), 'share_dirs': [],
            'configuration': [], 'timeout': 60, 'command_timeout': 30,
            'max_bytes': 10 ** 6, 'max_file_bytes': 10 ** 5,
            'max_probes': 100}

    def me(self):
        return evidence.pwd.getpwuid(os.getuid()).pw_name

    def fake(self, name, text=FAKE):
        path = self.dir / name
        path.write_text(text.format(log=self.log, uuid=UUID))
        path.chmod(0o755)
        return str(path)

    def file(self, path, text=''):
        path = self.dir / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def collect(self, **settings):
        self.report = evidence.collect(self.settings | settings)
        return self.report

    def text(self, name):
        return (self.kept / name).read_text()


class LimitsTest(EvidenceTestCase):

    def test_qemu_img_as_the_plugin_limits_it(self):
        self.assertEqual(profile.QEMU_IMG_LIMITS, evidence.QEMU_IMG_LIMITS)

    def test_qemu_img_follows_nothing(self):
        disk = self.file(f'instances/{UUID}/disk')
        self.collect()
        self.assertIn(f'info --force-share --output=json {disk}\n',
                      self.log.read_text())
        self.assertNotIn('--backing-chain', self.log.read_text())

    def test_long_file_ends_with_a_line(self):
        self.file(f'instances/{UUID}/disk.info',
                  f'{"x" * 90}\npassword = hunter2hunter2\n')
        self.collect(max_file_bytes=110)
        self.assertEqual(
            f'{"x" * 90}\n[cut off: more than 110 bytes]\n',
            self.text(f'instances/{UUID}/disk.info'))

    def test_too_much(self):
        for number in range(9):
            self.file(f'instances/{number}/disk.info', 'x' * 1000)
        self.collect(max_bytes=5000)
        self.assertIn('instances/8/disk.info: not kept, all files are more '
                      'than 5000 bytes', self.text('problems.txt'))
        self.assertLess(sum(path.stat().st_size
                            for path in self.kept.rglob('disk.info')), 5001)

    def test_many_files(self):
        for number in range(9):
            self.file(f'instances/{UUID}/disk.{number}')
        self.collect(max_probes=4)
        self.assertEqual(4, len([*self.kept.rglob('*.qemu-img.json')]))
        self.assertIn('files of instance directories: only the first 4 of 9 '
                      'were looked into', self.text('problems.txt'))

    def test_command_that_hangs(self):
        hanging = self.fake('hanging', '#!/bin/sh\nsleep 77 & wait\n')
        started = time.monotonic()
        self.collect(virsh=[hanging], command_timeout=0.2)
        self.assertLess(time.monotonic() - started, 20)
        self.assertIn(f'{hanging} list --all: no answer in 0.2 s',
                      self.text('problems.txt'))

    def test_path_that_hangs(self):
        stop = threading.Event()
        self.addCleanup(stop.set)
        self.useFixture(fixtures.MockPatchObject(
            evidence.Collector, 'shares', autospec=True,
            side_effect=lambda collector: stop.wait(77)))
        evidence.Collector.shares.__name__ = 'shares'
        self.file(f'instances/{UUID}/disk.info', '{}')
        self.collect(timeout=3)
        self.assertIn('shares: not finished in 3 s',
                      self.text('problems.txt'))
        self.assertEqual('{}', self.text(f'instances/{UUID}/disk.info'))

    def test_late_thread_writes_nothing(self):
        kept = evidence.Evidence(str(self.kept), self.me(), 100, 100)
        kept.finish()
        kept.keep('late.txt', 'x')
        kept.problem('late')
        self.assertEqual(['contents.txt', 'problems.txt'],
                         sorted(os.listdir(self.kept)))


class FilesTest(EvidenceTestCase):

    def test_domains(self):
        self.collect()
        self.assertIn("id='3'", self.text(f'instances/{UUID}/domain.live.xml'))
        self.assertNotIn(
            "id='3'", self.text(f'instances/{UUID}/domain.inactive.xml'))

    def test_stopped_domain_has_no_live_xml(self):
        self.collect(virsh=[self.fake('stopped', FAKE.replace(
            " id='3'", ''))])
        self.assertEqual(
            ['domain.inactive.xml'],
            os.listdir(self.kept / 'instances' / UUID))

    def test_secrets_of_problems(self):
        self.collect(virsh=[self.fake(
            'refusing', '#!/bin/sh\necho "password=hunter2" >&2\nexit 1\n')])
        self.assertIn('password=***', self.text('problems.txt'))
        self.assertNotIn('hunter2', json.dumps(self.report))

    def test_error_of_ours_is_a_problem(self):
        self.file(f'instances/{UUID}/disk.info', '{}')
        self.useFixture(fixtures.MockPatchObject(
            evidence.Collector, 'domains', autospec=True,
            side_effect=KeyError('x')))
        evidence.Collector.domains.__name__ = 'domains'
        self.collect()
        self.assertIn("domains: KeyError: 'x'", self.text('problems.txt'))
        self.assertEqual('{}', self.text(f'instances/{UUID}/disk.info'))

    def test_changes(self):
        info = self.file(f'instances/{UUID}/disk.info', '{}')
        self.assertTrue(self.collect()['changed'])
        # The listing would tell the times of the log's file.
        self.assertFalse(self.collect()['changed'])
        info.write_text('{"x": "raw"}')
        self.assertTrue(self.collect()['changed'])

    def test_stale_files(self):
        info = self.file(f'instances/{UUID}/disk.info', '{}')
        self.collect(virsh=['true'])
        other = self.file('kept/own.txt')
        info.unlink()
        self.assertTrue(self.collect(virsh=['true'])['changed'])
        self.assertFalse((self.kept / 'instances').exists())
        self.assertTrue(other.exists())

    def test_stale_files_elsewhere(self):
        precious = self.file('precious')
        self.file('kept/contents.txt', f'../precious\n{precious}\n')
        self.collect()
        self.assertTrue(precious.exists())

    def test_one_name_for_two(self):
        for name in ('a b', 'a_b'):
            self.file(f'instances/{name}/disk.info', f'"{name}"')
        self.collect()
        self.assertEqual(
            {'"a b"', '"a_b"'},
            {self.text(f'instances/a_b/disk{number}.info')
             for number in ('', '-2')})

    def test_file_names(self):
        self.assertEqual(
            ['_._etc_x', 'a_b', '_hidden', 'caf_'],
            [evidence.file_name(name)
             for name in ('../etc/x', 'a\nb', '.hidden', 'caf\xe9')])


class MainTest(EvidenceTestCase):

    def test_nothing_can_be_written(self):
        settings = json.dumps(
            self.settings | {'destination': '/proc/nowhere'})
        self.useFixture(fixtures.MockPatch('sys.stdin',
                                           io.StringIO(settings)))
        error = self.assertRaises(SystemExit, evidence.main)
        self.assertEqual('evidence: /proc/nowhere: No such file or directory',
                         str(error))

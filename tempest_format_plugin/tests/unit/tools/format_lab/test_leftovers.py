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
import subprocess
import time
from unittest import mock

from format_lab import exceptions
from format_lab import leftovers
import psutil

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base


class TakeStockTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        control = self.lab.node_dir('control')
        (control / 'usr/local/bin').mkdir(parents=True)
        (control / 'usr/local/bin/supervisorctl').symlink_to(
            '/cache/venvs/x/bin/supervisorctl')
        (self.lab.cloud_dir / 'passwords').mkdir()
        (self.lab.cloud_dir / 'passwords' / 'admin').write_text('hunter2\n')
        self.command = self.patch(
            (subprocess, 'run'), return_value=subprocess.CompletedProcess(
                [], 0, json.dumps({'server': {'1': 'one'}}), ''))
        self.patch((self.lab, 'processes'), return_value=[])

    def file(self, path):
        path = self.lab.cloud_dir / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def test_cloud(self):
        self.assertEqual({'1': 'one'},
                         leftovers.take_stock(self.lab)['server'])
        (argv,), options = self.command.call_args
        self.assertEqual('/cache/venvs/x/bin/python', str(argv[2]))
        self.assertTrue(argv[3].exists())
        self.assertEqual('hunter2', options['env']['OS_PASSWORD'])
        self.assertEqual('http://10.88.0.1:5000/v3',
                         options['env']['OS_AUTH_URL'])

    def test_cloud_that_does_not_answer(self):
        self.command.return_value = subprocess.CompletedProcess(
            [], 1, '', 'Traceback\n  File x\nConnectFailure: nova\n')
        self.assertIn("can't be listed: ConnectFailure: nova",
                      self.lab_error(leftovers.take_stock, self.lab))

    def test_hosts(self):
        nova = 'nodes/compute-1/upper/var/lib/nova/instances'
        for path in (f'{nova}/1234/disk.info', f'{nova}/_base/abcd',
                     f'{nova}/locks/x', f'{nova}/compute_nodes',
                     'nodes/compute-2/upper/etc/libvirt/qemu/instance-1.xml',
                     'nodes/control/upper/var/lib/glance/images/5678',
                     'export/volume-1'):
            self.file(path)
        found = leftovers.take_stock(self.lab)
        self.assertEqual({
            'instance directory':
                ['compute-1:/var/lib/nova/instances/1234'],
            'libvirt domain': ['compute-2:/etc/libvirt/qemu/instance-1.xml'],
            'image file': ['control:/var/lib/glance/images/5678'],
            'volume file': ['volume-1'], 'guest': [], 'server': ['1'],
        }, {kind: list(those) for kind, those in found.items()})

    def test_guests(self):
        qemu, gone, other = (mock.Mock(pid=pid) for pid in (7, 8, 9))
        qemu.name.return_value = 'qemu-system-x86_64'
        qemu.cmdline.return_value = ['qemu', '-name', 'guest=instance-1']
        gone.name.side_effect = psutil.NoSuchProcess(8)
        other.name.return_value = 'nova-compute'
        self.lab.processes.return_value = [gone, other, qemu]
        self.assertEqual({'process 7': 'guest=instance-1'},
                         leftovers.take_stock(self.lab)['guest'])


class WaitTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.patch((time, 'sleep'), new=self.sleep)
        self.patch((time, 'monotonic'), new=lambda: self.now)
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def wait(self, *stocks):
        stocks = [*stocks]
        self.patch((leftovers, 'take_stock'), new=lambda lab: (
            stocks.pop(0) if len(stocks) > 1 else stocks[0]))
        return leftovers.wait(self.lab, {'server': {'1': 'kept'}})

    def test_nothing(self):
        self.assertEqual([], self.wait({'server': {'1': 'kept'},
                                        'volume': {}}))
        self.assertEqual(0, self.now)

    def test_nothing_after_a_while(self):
        self.assertEqual([], self.wait({'server': {'2': 'x'}},
                                       {'server': {}}))
        self.assertEqual(leftovers.PAUSE, self.now)

    def test_something(self):
        self.assertEqual(
            ['server 2 (test-x)', 'volume file volume-3'],
            self.wait({'server': {'1': 'kept', '2': 'test-x'},
                       'volume file': {'volume-3': ''}}))
        self.assertGreaterEqual(self.now, leftovers.SECONDS)

    def test_cloud_that_does_not_answer(self):
        self.patch((leftovers, 'take_stock'),
                   side_effect=exceptions.LabError('nova is dead'))
        self.assertEqual(['nova is dead'], leftovers.wait(self.lab, {}))


class VerdictTest(base.LabTestCase):

    def test_nothing(self):
        verdict = leftovers.verdict([])
        self.assertEqual((results.AGREES, ''),
                         (verdict.verdict, verdict.reason))

    def test_something(self):
        verdict = leftovers.verdict(['server 2 (x)', 'volume file y'])
        self.assertFalse(verdict.expected)
        self.assertEqual('left behind: server 2 (x); volume file y',
                         verdict.reason)

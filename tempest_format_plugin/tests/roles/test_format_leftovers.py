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

from tempest_format_plugin.tests.roles import base

DATA = '/opt/stack/data'
INSTANCES = f'{DATA}/nova/instances'
SERVER = '5b7e5f5c-3d6e-4a5c-9d0f-0a8d6c1b2e3f'
QEMU = '/srv/qemu-system-x86_64'
KEPT = '/var/lib/format-leftovers'

# Stands in for openstacksdk: what the cloud has is in a file.
STUB = '''\
import json
import os
import types


class Proxy:

    def __init__(self, known):
        self._known = known

    def __getattr__(self, kind):
        return lambda **options: [
            types.SimpleNamespace(id=one, name=name, status=name)
            for one, name in self._known.get(kind, {}).items()]


def connect():
    if os.environ['OS_CLOUD'] != 'devstack-admin':
        raise ValueError('no such cloud')
    with open('/srv/stub/cloud.json') as source:
        proxy = Proxy(json.load(source))
    return types.SimpleNamespace(
        block_storage=proxy, compute=proxy, identity=proxy, image=proxy,
        placement=proxy)
'''
CLOUD = {'servers': {'1': 'kept'}, 'projects': {'2': 'admin'},
         'migrations': {'3': 'completed'},
         'traits': {'HW_CPU_X86_SSE': None}}
LEFT = {'servers': {'1': 'kept', SERVER: 'test-server'},
        'projects': {'2': 'admin'},
        'migrations': {'3': 'completed', '4': 'running'},
        'traits': {'HW_CPU_X86_SSE': None, 'CUSTOM_RAW': None}}
DOMAIN = f'''<domain type='test'>
  <name>instance-00000001</name><uuid>{SERVER}</uuid>
  <memory unit='KiB'>65536</memory><os><type>hvm</type></os></domain>'''


class LeftoversTest(base.RolesTestCase):

    variables = {
        'format_leftovers_python': 'python3',
        'format_leftovers_environment': {
            'OS_CLOUD': 'devstack-admin', 'PYTHONPATH': '/srv/stub'},
        'format_leftovers_virsh_command': [
            'virsh', '--readonly', '--connect', 'test:///srv/domains.xml'],
        'format_leftovers_mount_dirs': [f'{DATA}/nova/mnt'],
        'format_leftovers_timeout': 1}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write('controller', '/srv/stub/openstack/__init__.py', STUB)
        cls.write('controller', f'{DATA}/glance/images/7777', 'kept')
        for host in base.ADDRESSES:
            cls.write(host, f'{INSTANCES}/_base/abcd', 'cached')
            cls.write(host, f'{INSTANCES}/compute_nodes', '{}')
        cls.clean_up()
        cls.first = cls.leftovers('before')
        cls.second = cls.leftovers('before')
        cls.nothing = cls.leftovers('after')
        cls.leave_behind()
        cls.something = cls.leftovers('after', expect=2)
        cls.left = cls.read('compute1', f'{KEPT}/left.json')
        cls.run_on('controller', '(sleep 5; cp /srv/stub/before.json '
                   '/srv/stub/cloud.json) >/dev/null 2>&1 &')
        cls.clean_up('compute1')
        cls.late = cls.leftovers('after', format_leftovers_timeout=60)
        cls.write('controller', '/srv/stub/openstack/__init__.py',
                  'def connect():\n    raise ValueError("nova is dead")\n')
        cls.dead = cls.leftovers('after', expect=2)

    @classmethod
    def leftovers(cls, tasks_from, **variables):
        return cls.role('compute', 'format_leftovers', tasks_from,
                        **(cls.variables | variables))

    @classmethod
    def clean_up(cls, *hosts):
        for host in hosts or base.ADDRESSES:
            cls.write(host, '/srv/stub/before.json', json.dumps(CLOUD))
            cls.write(host, '/srv/stub/cloud.json', json.dumps(CLOUD))
            cls.write(host, '/srv/domains.xml', '<node/>')
            cls.run_on(host, f'''
                rm -rf {INSTANCES}/{SERVER} {DATA}/glance/images/8888
                umount {DATA}/nova/mnt/5f8a 2>/dev/null || :
                kill $(cat /srv/qemu.pid 2>/dev/null) 2>/dev/null || :''')

    @classmethod
    def leave_behind(cls):
        cls.write('controller', '/srv/stub/cloud.json', json.dumps(LEFT))
        cls.write('compute1', f'{INSTANCES}/{SERVER}/disk', 'x')
        cls.write('compute1', '/srv/domains.xml', f'<node>{DOMAIN}</node>')
        cls.run_on('compute1', f'''
            set -eu
            mkdir -p '{DATA}/nova/mnt/5f8a' /srv/export
            mount --bind /srv/export {DATA}/nova/mnt/5f8a
            cp /bin/sleep {QEMU}
            {QEMU} 600 >/dev/null 2>&1 &
            echo $! >/srv/qemu.pid''')

    def test_second_run_changes_nothing(self):
        self.assert_changes(self.first)
        self.assert_no_changes(self.second)

    def test_stock_of_cloud(self):
        stock = json.loads(self.read('controller', f'{KEPT}/cloud.json'))
        self.assertEqual(
            {'server': {'1': 'kept'}, 'project': {'2': 'admin'}},
            {kind: those for kind, those in stock.items() if those})
        self.assertEqual('', self.run_on(
            'compute1', f'ls {KEPT}/cloud.json 2>/dev/null || :'))

    def test_stock_of_host(self):
        self.assertEqual(
            {'instance directory': {}, 'libvirt domain': {}, 'mount': {},
             'process of QEMU': {},
             'image file': {f'{DATA}/glance/images/7777': ''}},
            json.loads(self.read('controller', f'{KEPT}/host.json')))

    def test_nothing_left(self):
        self.assert_no_changes(self.nothing)

    def test_something_left(self):
        self.assertEqual(2, self.something.total('failed'))
        for line in (
                'Left behind by the tests: '
                f'the cloud: server {SERVER} (test-server); '
                'the cloud: trait CUSTOM_RAW; '
                'the cloud: unfinished migration 4 (running)',
                'Left behind by the tests: '
                f'compute1: instance directory {INSTANCES}/{SERVER}; '
                f'compute1: libvirt domain {SERVER} (instance-00000001); '
                f'compute1: mount {DATA}/nova/mnt/5f8a ('):
            self.assertIn(line, self.something.output)

    def test_list_of_what_is_left(self):
        *others, process = json.loads(self.left)
        self.assertEqual(3, len(others))
        self.assertRegex(process, r'^compute1: process of QEMU [0-9]+$')

    def test_something_left_for_a_while(self):
        self.assertEqual((0, 0), (self.late.total('failed'),
                                  self.late.total('changed')))

    def test_cloud_that_does_not_answer(self):
        self.assertIn("the cloud: what is there can't be listed: "
                      "ValueError: nova is dead", self.dead.output)
        self.assertEqual({'controller': 1, 'compute1': 0}, {
            host: counts['failed']
            for host, counts in self.dead.counts.items()})

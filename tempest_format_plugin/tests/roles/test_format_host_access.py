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

SERVER = '5b7e5f5c-3d6e-4a5c-9d0f-0a8d6c1b2e3f'
INSTANCES = '/opt/stack/data/nova/instances'
LOG = '/var/log/libvirt/qemu/instance-00000001.log'
OBSERVE = '/usr/local/libexec/disk-format/observe'
DOMAINS = f"""<node><domain type='test'>
  <name>instance-00000001</name><uuid>{SERVER}</uuid>
  <memory unit='KiB'>65536</memory><os><type>hvm</type></os>
  <devices><disk type='file' device='disk'>
    <driver name='qemu' type='raw'/>
    <source file='{INSTANCES}/{SERVER}/disk'/>
    <target dev='vda' bus='virtio'/></disk></devices></domain></node>"""

# What the user may not do there as root, and what it may not do at all.
REFUSED = (
    'sudo -n sh', 'sudo -n true', 'sudo -n virsh list', f'sudo -n {OBSERVE}',
    f'sudo -n {OBSERVE} {SERVER} {SERVER}', f'sudo -n {OBSERVE} --help',
    f'sudo -n {OBSERVE} ../{SERVER}', 'sudo -n tail -n 500 /etc/shadow',
    f'sudo -n tail -n 500 {LOG} /etc/shadow',
    'sudo -n tail -n 500 /var/log/libvirt/qemu/../../../../etc/shadow',
    f'sudo -n tail -n 501 {LOG}', f'cat {LOG}',
    f'sh -c "echo >>{OBSERVE}"', 'sh -c "echo >>.ssh/authorized_keys"')


class HostAccessTest(base.RolesTestCase):

    variables = {'format_host_access_virsh':
                 'virsh -c test:///srv/domains.xml'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for host in base.ADDRESSES:
            cls.write(host, '/srv/domains.xml', DOMAINS)
            cls.write(host, f'{INSTANCES}/{SERVER}/disk.info', '{}')
            cls.write(host, LOG, 'shutting down, reason=crashed\n', '0600')
            cls.run_on(host, f'chmod 700 {LOG.rpartition("/")[0]}; '
                             f'truncate -s 1M {INSTANCES}/{SERVER}/disk')
        cls.first = cls.role('compute', 'format_host_access', **cls.variables)
        cls.second = cls.role('compute', 'format_host_access',
                              **cls.variables)

    def login(self, host, command):
        """What tempest's user gets from a host: (exit status, output)."""
        output = self.run_on('controller', f'''
            runuser -u tempest -- ssh -n -i /etc/disk-format/id_ed25519 \
                -o UserKnownHostsFile=/etc/disk-format/known_hosts \
                -o StrictHostKeyChecking=yes -o BatchMode=yes \
                -o IdentitiesOnly=yes disk-format@{base.ADDRESSES[host]} \
                "$1" 2>&1 || echo "status $?"''', command)
        text, _, status = output.rpartition('status ')
        return (int(status), text) if status.strip().isdigit() and (
            'status ' in output) else (0, output)

    def test_observes(self):
        for host in base.ADDRESSES:
            status, output = self.login(host, f'sudo -n {OBSERVE} {SERVER}')
            self.assertEqual(0, status, output)
            report = json.loads(output)
            path = f'{INSTANCES}/{SERVER}/disk'
            self.assertEqual('running', report['domain']['state'])
            self.assertEqual('raw', json.loads(
                report['files'][path]['info'])['format'])

    def test_reads_logs(self):
        for host in base.ADDRESSES:
            self.assertEqual((0, 'shutting down, reason=crashed\n'),
                             self.login(host, f'sudo -n tail -n 500 {LOG}'))

    def test_nothing_else(self):
        for command in REFUSED:
            status, output = self.login('compute1', command)
            self.assertNotEqual(0, status, f'{command}: {output}')
            # As it is refused, not because the login fails.
            self.assertNotIn('Permission denied (', output)
            self.assertNotEqual(255, status, f'{command}: {output}')

    def test_files_are_roots(self):
        for host in base.ADDRESSES:
            self.assertEqual('root 755\nroot 644\nroot 440\n', self.run_on(
                host, f'''stat -c '%U %a' {OBSERVE} {OBSERVE}_script.py \
                    /etc/sudoers.d/disk-format'''))

    def test_observe_script_is_the_plugins(self):
        script = (base.REPO / 'tempest_format_plugin' / 'hosts'
                  / 'observe_script.py').read_text()
        self.assertEqual(script, self.read('compute1',
                                           f'{OBSERVE}_script.py'))

    def test_key_is_tempests_alone(self):
        self.assertEqual('tempest 600\n', self.run_on(
            'controller', "stat -c '%U %a' /etc/disk-format/id_ed25519"))
        self.assertEqual('', self.run_on(
            'compute1', 'ls /etc/disk-format 2>/dev/null || :'))

    def test_known_hosts(self):
        known = self.read('controller', '/etc/disk-format/known_hosts')
        for host, address in base.ADDRESSES.items():
            key = self.read(host, '/etc/ssh/ssh_host_ed25519_key.pub')
            self.assertIn(f'{address} {" ".join(key.split()[:2])}\n', known)

    def test_second_run_changes_nothing(self):
        for host in base.ADDRESSES:
            self.assertGreater(self.first.counts[host]['changed'], 0)
        self.assert_no_changes(self.second)

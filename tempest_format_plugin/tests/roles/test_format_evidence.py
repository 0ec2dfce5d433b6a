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
STOPPED = 'b2c1c3a4-90f1-4a2e-8a55-6f4b3f0d9c11'
VOLUME = 'volume-0c7a4b1e-2f5d-4c83-9a8e-71d6e2c4b9f0'
DATA = '/opt/stack/data'
INSTANCE = f'{DATA}/nova/instances/{SERVER}'
MOUNT = f'{DATA}/nova/mnt/5f8a'
EVIDENCE = '/home/zuul/format-evidence'

# One for each way in which a host keeps them. None is made of letters that
# anything else that is kept has.
SECRETS = {
    'transport_url': 'q7transportq7', 'connection': 'q7connectionq7',
    'slave_connection': 'q7slaveq7', 'password': 'q7passwordq7',
    'metadata_proxy_shared_secret': 'q7sharedq7',
    'fixed_key': 'q7fixedq7', 'token': 'q7tokenq7',
    'secret_uuid': 'q7uuidq7', 'memcache_secret_key': 'q7memcacheq7',
    'xml_secret': '1b9f4f7a-77a7-4777-8777-77c7d7e7f777',
    'xml_password': 'q7xmlq7', 'xml_token': 'q7xmltokenq7',
    'disk_info': 'q7diskinfoq7', 'key': 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE',
}
NOVA_CONF = """\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
transport_url = rabbit://stackrabbit:{transport_url}@10.98.0.10:5672/
[database]
connection = mysql+pymysql://root:{connection}@127.0.0.1/nova?charset=utf8
slave_connection = mysql://root:{slave_connection}@127.0.0.1/nova
[keystone_authtoken]
password = {password}
memcache_secret_key = {memcache_secret_key}
admin_token={token}
[neutron]
metadata_proxy_shared_secret = {metadata_proxy_shared_secret}
[key_manager]
fixed_key = {fixed_key}
[libvirt]
images_type = raw
rbd_secret_uuid = {secret_uuid}
[vendordata]
key =
 -----BEGIN OPENSSH PRIVATE KEY-----
 {key}
 -----END OPENSSH PRIVATE KEY-----
[workarounds]
never_download_image_if_on_rbd = true
""".format(**SECRETS)

# For libvirt's test driver, which reads its domains from a file.
DOMAINS = f"""\
<node xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>
  <domain type='test'>
    <name>instance-00000001</name>
    <uuid>{SERVER}</uuid>
    <description>password={SECRETS['xml_password']}
      X-Auth-Token: {SECRETS['xml_token']}</description>
    <memory unit='KiB'>65536</memory>
    <os><type arch='x86_64'>hvm</type></os>
    <devices>
      <disk type='file' device='disk'>
        <driver name='qemu' type='qcow2'/>
        <source file='{INSTANCE}/disk'/>
        <target dev='vda' bus='virtio'/>
      </disk>
      <disk type='network' device='disk'>
        <driver name='qemu' type='raw'/>
        <auth username='cinder'>
          <secret type='ceph' uuid='{SECRETS['xml_secret']}'/>
        </auth>
        <source protocol='rbd' name='volumes/{VOLUME}'>
          <host name='10.98.0.10' port='6789'/>
        </source>
        <target dev='vdb' bus='virtio'/>
      </disk>
    </devices>
  </domain>
  <domain type='test'>
    <test:runstate>5</test:runstate>
    <name>instance-00000002</name>
    <uuid>{STOPPED}</uuid>
    <memory unit='KiB'>65536</memory>
    <os><type arch='x86_64'>hvm</type></os>
  </domain>
</node>
"""
TEST_DRIVER = 'test:///srv/domains.xml'


class EvidenceTest(base.RolesTestCase):
    """One host has something of everything, the other nothing that works."""

    host_vars = {
        'controller': {'format_evidence_virsh_command': [
            'virsh', '--readonly', '--connect', TEST_DRIVER]},
        'compute1': {
            'format_evidence_virsh_command': ['/srv/hangs'],
            'format_evidence_qemu_img_command': ['no-qemu-img'],
            'format_evidence_command_timeout': 1}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prepare()
        variables = {'format_evidence_dir': EVIDENCE}
        cls.first = cls.role('compute', 'format_evidence', **variables)
        cls.second = cls.role('compute', 'format_evidence', **variables)
        cls.kept = {host: cls.kept_on(host) for host in base.ADDRESSES}
        # A server that is gone, and one that has come.
        cls.run_on('controller',
                   f'mv {INSTANCE} {DATA}/nova/instances/{STOPPED}')
        cls.third = cls.role('controller', 'format_evidence', **variables)
        cls.kept_later = cls.kept_on('controller')
        # The collector can't even write what it has read.
        cls.none = cls.role('controller', 'format_evidence',
                            format_evidence_dir='/proc/nowhere')

    @classmethod
    def prepare(cls):
        cls.write('compute1', '/srv/hangs', '#!/bin/sh\nsleep 600 & wait\n',
                  '0755')
        cls.write('controller', '/srv/domains.xml', DOMAINS)
        cls.write('controller', '/etc/nova/nova.conf', '[DEFAULT]\n')
        cls.write('controller', '/etc/nova/nova-cpu.conf', NOVA_CONF, '0600')
        cls.write('controller', f'{INSTANCE}/disk.info', json.dumps({
            f'{INSTANCE}/disk': 'qcow2', 'password': SECRETS['disk_info']}))
        cls.write('controller', f'{INSTANCE}/console.log', 'login: \n')
        cls.run_on('controller', f'''
            set -eu
            cd {DATA}/nova/instances
            mkdir _base
            qemu-img create -q -f raw _base/abcd 1M
            qemu-img create -q -f qcow2 -b {DATA}/nova/instances/_base/abcd \
                -F raw {SERVER}/disk
            mkfifo {SERVER}/disk.pipe
            ln -s /etc/shadow {SERVER}/disk.link
            mkdir -p {MOUNT} /srv/export
            mount --bind /srv/export {MOUNT}
            qemu-img create -q -f qcow2 {MOUNT}/{VOLUME} 2M
            ''')

    @classmethod
    def kept_on(cls, host):
        """What is kept: {path below the directory: text}."""
        return {path: cls.read(host, f'{EVIDENCE}/{path}')
                for path in cls.run_on(
                    host, f'cd {EVIDENCE} && find * -type f').splitlines()}

    def test_files(self):
        self.assertEqual(sorted((
            'configuration/etc_nova_nova-cpu.conf',
            'configuration/etc_nova_nova.conf', 'contents.txt',
            'domains.txt', 'host.txt', 'instances.txt',
            'instances/_base/abcd.qemu-img.json',
            f'instances/{SERVER}/disk.info',
            f'instances/{SERVER}/disk.qemu-img.json',
            f'instances/{SERVER}/domain.inactive.xml',
            f'instances/{SERVER}/domain.live.xml',
            f'instances/{STOPPED}/domain.inactive.xml', 'mounts.txt',
            'problems.txt', 'shares/opt_stack_data_nova_mnt.txt',
            f'shares/opt_stack_data_nova_mnt/5f8a_{VOLUME}.qemu-img.json',
        )), sorted(self.kept['controller']))

    def test_files_are_listed(self):
        self.assertEqual(
            sorted(self.kept['controller']),
            self.kept['controller']['contents.txt'].splitlines())

    def test_xml(self):
        for kind in ('live', 'inactive'):
            self.assertIn(
                f"<source file='{INSTANCE}/disk'",
                self.kept['controller'][
                    f'instances/{SERVER}/domain.{kind}.xml'])

    def test_formats(self):
        kept = self.kept['controller']
        disk = json.loads(kept[f'instances/{SERVER}/disk.qemu-img.json'])
        self.assertEqual(
            ('qcow2', 'raw'),
            (disk['format'], disk['backing-filename-format']))
        self.assertEqual('raw', json.loads(
            kept['instances/_base/abcd.qemu-img.json'])['format'])
        self.assertEqual('qcow2', json.loads(kept[
            f'shares/opt_stack_data_nova_mnt/5f8a_{VOLUME}.qemu-img.json'])[
                'format'])
        self.assertEqual('qcow2', json.loads(
            kept[f'instances/{SERVER}/disk.info'])[f'{INSTANCE}/disk'])

    def test_listings(self):
        kept = self.kept['controller']
        self.assertIn(f'{INSTANCE}/disk.pipe', kept['instances.txt'])
        self.assertIn(f'{INSTANCE}/disk.link /etc/shadow',
                      kept['instances.txt'])
        self.assertIn(f'{MOUNT}/{VOLUME}',
                      kept['shares/opt_stack_data_nova_mnt.txt'])

    def test_configuration(self):
        text = self.kept['controller']['configuration/etc_nova_nova-cpu.conf']
        for line in ('images_type = raw', 'password = ***',
                     'never_download_image_if_on_rbd = true'):
            self.assertIn(line + '\n', text)

    def test_no_secret(self):
        planted = NOVA_CONF + DOMAINS + self.read(
            'controller', f'{INSTANCE.replace(SERVER, STOPPED)}/disk.info')
        found = []
        for name, secret in SECRETS.items():
            # Or else the test would look for what isn't there anyway.
            self.assertIn(secret, planted)
            found += [(name, host, path)
                      for host, kept in self.kept.items()
                      for path, text in kept.items() if secret in text]
            found += [(name, 'output', '') for play in (self.first, self.none)
                      if secret in play.output]
        self.assertEqual([], found)

    def test_of_zuul_and_readable(self):
        self.assertEqual({'zuul 644', 'zuul 755'}, set(self.run_on(
            'controller', f'find {EVIDENCE} -printf "%u %m\n"').splitlines()))

    def test_problems(self):
        self.assertEqual(
            [f'{DATA}/cinder/mnt: no such directory'],
            self.kept['controller']['problems.txt'].splitlines())

    def test_problems_of_a_host_with_nothing(self):
        problems = self.kept['compute1']['problems.txt']
        for problem in ('/srv/hangs list --all: no answer in 1 s',
                        'no-qemu-img: No such file or directory',
                        f'{DATA}/nova/instances: no such directory',
                        '/etc/nova/*.conf: no such file'):
            self.assertIn(problem, problems)
            self.assertIn(problem, self.first.output)

    def test_what_hangs_is_ended(self):
        self.assertEqual('', self.run_on('compute1', 'pgrep sleep || :'))

    def test_second_run_changes_nothing(self):
        self.assertGreater(self.first.counts['controller']['changed'], 0)
        self.assert_no_changes(self.second)

    def test_later_run_keeps_nothing_stale(self):
        self.assertNotIn(f'instances/{SERVER}/disk.qemu-img.json',
                         self.kept_later)
        self.assertIn(f'instances/{STOPPED}/disk.qemu-img.json',
                      self.kept_later)
        self.assertEqual(1, self.third.counts['controller']['changed'])

    def test_collector_is_removed(self):
        self.assertEqual('', self.run_on(
            'controller', 'find / -xdev -name "*.format-evidence"'))

    def test_no_evidence_at_all_is_no_failure(self):
        self.assertIn('/proc/nowhere: No such file or directory',
                      self.none.output)
        self.assertIn('No evidence of controller', self.none.output)
        self.assertEqual((1, 0), (self.none.total('rescued'),
                                  self.none.total('changed')))

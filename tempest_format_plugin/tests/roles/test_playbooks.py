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

import shutil
import textwrap

from tempest_format_plugin.tests.roles import base
from tempest_format_plugin.tests.roles import test_format_leftovers as stub

PLAYBOOKS = base.REPO / 'playbooks' / 'devstack'
DATA = '/opt/stack/data'
LEFT = f'{DATA}/nova/instances/{stub.SERVER}'
OBSERVE = '/usr/local/libexec/disk-format/observe'

# Of devstack's and tempest's roles: what stacking leaves behind, and as whom
# tempest runs. The others have nothing to do here.
STUBS = {
    'orchestrate-devstack': """
        - name: Stack
          ansible.builtin.shell:
            cmd: |
              set -eu
              mkdir -p /etc/nova /opt/stack/tempest/etc \
                /opt/stack/data/nova/instances /opt/stack/data/nova/mnt \
                /opt/stack/data/cinder/mnt
              printf '[DEFAULT]\\ninstances_path = %s\\n' \
                /opt/stack/data/nova/instances >/etc/nova/nova-cpu.conf
              touch /opt/stack/tempest/etc/tempest.conf
          become: true
        """,
    'setup-tempest-run-dir': '[]', 'setup-tempest-data-dir': '[]',
    'acl-devstack-files': '[]', 'set-src-dest-host': '[]',
    'run-tempest': f"""
        - name: Look at a server of each compute host
          ansible.builtin.command:
            argv:
              - ssh
              - -i
              - /etc/disk-format/id_ed25519
              - -o
              - UserKnownHostsFile=/etc/disk-format/known_hosts
              - -o
              - StrictHostKeyChecking=yes
              - -o
              - BatchMode=yes
              - "disk-format@{{{{ address }}}}"
              - sudo -n {OBSERVE} {stub.SERVER}
          become: true
          become_user: tempest
          loop: {list(base.ADDRESSES.values())}
          loop_control:
            loop_var: address
        - name: Leave something behind
          ansible.builtin.file:
            path: {LEFT}
            state: directory
            mode: "0755"
          become: true
          when: leave | default(false)
        - name: Fail
          ansible.builtin.fail:
            msg: A test has failed
          when: fail | default(false)
        """,
}
DRIVER = 'test:///srv/domains.xml'


class DevstackPlaybooksTest(base.RolesTestCase):
    """The playbooks of the devstack jobs, on roles of their parents' names."""

    variables = stub.LeftoversTest.variables | {
        'format_host_access_virsh': f'virsh -c {DRIVER}',
        'format_evidence_virsh_command': ['virsh', '-c', DRIVER],
        'format_evidence_dir': '/home/zuul/format-evidence',
        'format_volumes_on_nfs': True, 'format_nfs_export_serve': False,
        'tempest_set_src_dest_host': True}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, tasks in STUBS.items():
            directory = cls.dir / 'parents' / name / 'tasks'
            directory.mkdir(parents=True)
            (directory / 'main.yaml').write_text(textwrap.dedent(tasks))
        cls.addClassCleanup(shutil.rmtree, cls.dir / 'parents')
        cls.write('controller', '/srv/stub/openstack/__init__.py', stub.STUB)
        cls.write('controller', '/srv/stub/cloud.json', '{}')
        for host in base.ADDRESSES:
            cls.write(host, '/srv/domains.xml', '<node/>')
        cls.pre = cls.job('pre')
        cls.pre_again = cls.job('pre')
        cls.ran = cls.job('run')
        cls.tempest_conf = cls.read('controller',
                                    '/opt/stack/tempest/etc/tempest.conf')
        # A failed test may not hide what was left behind.
        cls.failed = cls.job('run', expect=2, leave=True, fail=True)
        cls.post = cls.job('post')

    @classmethod
    def job(cls, name, **variables):
        return cls.playbook(PLAYBOOKS / f'{name}.yaml',
                            **(cls.variables | variables))

    def test_second_pre_run_changes_nothing(self):
        self.assert_changes(self.pre)
        self.assert_no_changes(self.pre_again)

    def test_pre_run_exports(self):
        self.assertIn('"/srv/format-nfs" 10.98.0.10(', self.read(
            'controller', '/etc/exports.d/format.exports'))

    def test_run_describes_hosts(self):
        for line in ('compute_backends = controller:qcow2,compute1:qcow2',
                     'ssh_user = disk-format', 'sudo_command = sudo -n',
                     f'observe_command = {OBSERVE}'):
            self.assertIn(line + '\n', self.tempest_conf)

    def test_run(self):
        self.assertEqual(0, self.ran.total('failed'))
        self.assertIn('run-tempest : Look at a server', self.ran.output)

    def test_run_that_fails_names_what_is_left(self):
        self.assertIn('A test has failed', self.failed.output)
        self.assertIn('Left behind by the tests: controller: instance '
                      f'directory {LEFT}', self.failed.output)

    def test_post_run_keeps_evidence(self):
        self.assertEqual(0, self.post.total('failed'))
        for host in base.ADDRESSES:
            self.assertEqual('none\n', self.read(
                host, '/home/zuul/format-evidence/problems.txt'))
        self.assertIn(LEFT, self.read(
            'controller', '/home/zuul/format-evidence/instances.txt'))

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
import json
import os.path
import shlex
import subprocess
import sys

from tempest.common import utils
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators

from tempest_format_plugin import cloud
from tempest_format_plugin.hosts import edit_script
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin.tests.scenario import edit_runner
from tempest_format_plugin.tests.scenario import reconfiguration

# Of the documentation's networks (RFC 5737): nova shows what nova-compute has
# there, and nothing that these tests do goes by it.
ADDRESS = '192.0.2.77'
OPTIONS = {'DEFAULT': {'my_ip': ADDRESS}}
# Seconds that a restart is put off, so that something can be done before it.
DELAY = 8
# Until the host must be as it was, without anybody's help.
RESTORED = 60


@decorators.serial
class TestEditFaults(reconfiguration.ReconfigureScenarioTest):
    """Whatever happens to an edit, the host is as before within a minute.

    Its configuration files are the same, byte for byte, nova-compute reports
    and answers with them, and nothing else is left.
    """

    needed_hosts = {cloud.ANY: 1}
    damage = 'It cuts the network of a compute host and fills its disk'

    def setUp(self):
        super().setUp()
        self.name = cloud.hosts_of_backend(cloud.ANY)[0]
        self.host = cloud.compute_hosts().get(self.name)
        # Whatever a test that fails has left is over before the next one.
        self.addCleanup(self.wait_until_free)
        self.before = self.look()
        self.address = self.shown_address()

    @decorators.idempotent_id('6fbe28a5-5887-4359-a4c0-4f82bacf4ade')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_runner_killed_before_the_restart(self):
        """1. Edit; 2. kill -9 the runner before nova-compute restarts."""
        runner = self.start_runner()
        self.wait_for_edit()
        runner.kill()
        self.expect_as_before()

    @decorators.idempotent_id('a8fb471f-1a90-441f-86f2-2c590a2a5697')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_runner_killed_after_the_restart(self):
        """1. Edit and restart; 2. kill -9 the runner."""
        runner = self.start_runner()
        self.wait_until_held(runner)
        runner.kill()
        self.expect_as_before()

    @decorators.idempotent_id('d7de7dc2-5c54-42f0-b312-0f43d9fb384f')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_runner_killed_during_the_undo(self):
        """1. Edit and restart; 2. kill -9 the runner while it undoes that."""
        runner = self.start_runner()
        self.wait_until_held(runner)
        self.order_undo(runner)
        self.wait_for_edit(gone=True)
        runner.kill()
        self.expect_as_before()

    @decorators.idempotent_id('6d3de30a-4227-4e4c-bc6c-dfa1287063d8')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_network_cut(self):
        """1. Edit and restart; 2. take the host off the network."""
        runner = self.start_runner()
        self.wait_until_held(runner)
        self.cut_network(host_edit.LEASE + DELAY)
        self.expect_as_before()

    @decorators.idempotent_id('66951b30-4571-4452-9ce2-e94ace425558')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_host_rebooted(self):
        """1. Edit and restart; 2. cut the host's power and boot it again."""
        runner = self.start_runner()
        self.wait_until_held(runner)
        self.cut_power_and_boot()
        self.expect_as_before()

    @decorators.idempotent_id('bdfae904-6246-4af4-a4f0-0f9a4cb905f1')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_options_that_it_does_not_start_with(self):
        """1. Edit so that nova-compute ends at once: told with its log."""
        error = self.assertRaises(
            reconfiguration.ComputeNotReady, self.set_options, self.name,
            {'libvirt': {'images_type': 'nonsense'}})
        self.assertIn('nonsense', str(error))
        self.expect_as_before()

    @decorators.idempotent_id('8b6719cd-7958-4e3b-9ae2-a633b871b4fc')
    @decorators.attr(type=['slow', 'reconfigure'])
    @utils.services('compute')
    def test_disk_full(self):
        """1. Edit where the file's disk is full; 2. where the state's is."""
        for directory in (os.path.dirname(self.host.profile.edit_file),
                          edit_script.STATE_DIR):
            self.fill(directory)
            error = self.assertRaises(exceptions.EditError, self.set_options,
                                      self.name, OPTIONS)
            self.assertIn('No space left', str(error))
            self.assertTrue(error.undone)
            self.free(directory)
            self.expect_as_before()

    # The runner

    def start_runner(self):
        """Start a runner that edits the host, each restart put off."""
        runner = subprocess.Popen(
            [sys.executable, '-m', edit_runner.__name__, self.name,
             json.dumps(OPTIONS), str(DELAY)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(runner.wait)
        self.addCleanup(runner.kill)
        return runner

    def wait_until_held(self, runner):
        self.assertEqual('held\n', runner.stdout.readline())
        self.wait_until(
            lambda: self.shown_address() == ADDRESS,
            lambda in_time: f'compute host {self.name}: expected {ADDRESS} '
            f'to be shown {in_time}, it is {self.shown_address()}')

    def order_undo(self, runner):
        runner.stdin.write('\n')
        runner.stdin.flush()

    # The host

    def look(self):
        """Return all that an edit could have changed on the host."""
        file = self.host.profile.edit_file
        directories = (os.path.dirname(os.path.dirname(file)),
                       os.path.dirname(edit_script.BOOT_FILE),
                       edit_script.STATE_DIR)
        return self.run_as_root(
            'for each in {}; do [ ! -e $each ] || find $each '
            r"\( -type f -printf '%p %M %U %G %T@\n' -exec sha256sum '{{}}' "
            r"\; \) -o -printf '%p %M %U %G\n'; done | sort".format(
                shlex.join(directories)))

    def wait_for_edit(self, gone=False):
        file = shlex.quote(self.host.profile.edit_file)
        self.wait_until(
            lambda: self.run_as_root(f'ls {file} || :') == '' if gone
            else self.run_as_root(f'ls {file} || :') != '',
            lambda in_time: f'compute host {self.name}: expected {file} '
            f'{"to be gone" if gone else "to be there"} {in_time}')

    def wait_until_free(self):
        self.wait_until(
            lambda: host_edit.find(self.host) is None,
            lambda in_time: f'compute host {self.name}: expected no edit to '
            f'be left {in_time}, there is {host_edit.find(self.host)}')

    def shown_address(self):
        """Return the address that nova-compute has told nova of."""
        return self.hypervisor_of(self.name)['host_ip']

    def expect_as_before(self):
        """Expect the host to be as it was, within a minute."""
        def as_before():
            try:
                seen.update(now=self.look())
            except exceptions.HostAccessError as error:
                seen.update(now=str(error))
            if (seen['now'] != self.before
                    or self.shown_address() != self.address):
                return False
            reported = self._reported(self.name)
            seen.setdefault('reported', reported)
            return (reported not in (None, seen['reported'])
                    and self._answers(self.name))
        seen = {}
        self.assertTrue(
            test_utils.call_until_true(as_before, RESTORED, 1),
            f'compute host {self.name}: expected to be as before within '
            f'{RESTORED} s; nova shows {self.shown_address()}, expected '
            f'{self.address}, and a report after '
            f'{seen.get("reported", "that")}, last was '
            f'{self._reported(self.name)}; expected\n{self.before}\n'
            f'found\n{seen["now"]}')

    def cut_network(self, seconds):
        """Take the host off the network, but for itself, for some seconds."""
        self.run_as_root(
            f'''links=$(ip -br link show up | sed -n '/^lo /d; s/[@ ].*//p')
            setsid sh -c "sleep 1
                for link in $links; do ip link set \\$link down; done
                sleep {seconds}
                for link in $links; do ip link set \\$link up; done
            " > /dev/null 2>&1 < /dev/null &''')

    def cut_power_and_boot(self):
        """Do what a power cut and a boot do, as far as they see an edit.

        What holds it is gone at once, whatever it was doing, and what
        systemd-tmpfiles does at a boot comes before nova-compute.
        """
        lock = shlex.quote(f'{edit_script.STATE_DIR}/lock')
        self.run_as_root(f'''
            for descriptor in /proc/[0-9]*/fd/*; do
                [ "$(readlink $descriptor)" = {lock} ] || continue
                guard=${{descriptor#/proc/}}
            done
            kill -KILL ${{guard%%/*}}
            systemd-tmpfiles --boot --remove --create {edit_script.BOOT_FILE}
            {shlex.join(self.host.profile.restart)} < /dev/null''')

    def fill(self, directory):
        """Let a directory, that is made if need be, have no space."""
        directory = shlex.quote(directory)
        self.addCleanup(self.free, directory)
        self.run_as_root(f'''
            [ -e {directory} ] || {{ mkdir {directory}; touch /run/made; }}
            mount -t tmpfs -o size=4k full {directory}
            head -c 4096 /dev/zero > {directory}/full''')

    def free(self, directory):
        self.run_as_root(f'''
            ! mountpoint -q {directory} || umount {directory}
            [ ! -e /run/made ] || {{ rmdir {directory}; rm /run/made; }}''')

    def run_as_root(self, script):
        """Run a shell script on the host; return its output."""
        return self.host.root_shell(f'set -e\n{script}').check().stdout

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

from tempest.common import utils
from tempest.lib import decorators

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.scenario import reconfiguration

# Seconds: longer than any test, so that nova-compute runs and yet is down.
NO_REPORTS = 24 * 3600


@decorators.serial
class TestEvacuation(reconfiguration.ReconfigureScenarioTest):
    """A server is made anew on a host of another image backend.

    Without shared storage nova builds it from its image there (rebuild with
    evacuate in nova/compute/manager.py).
    """

    needed_hosts = {cloud.ANY: 2}

    def evacuate(self, source, target):
        """The steps of both tests, given the hosts' backends."""
        source = self.host_of_backend(source)
        target = self.host_of_backend(target, other_than=source)
        server = self.boot_server(source)
        self.expect_boot_and_agreement(server, 'before-the-evacuation')
        self.take_down(source)
        self.evacuate_server(server, target)
        self.expect_boot_and_agreement(server, 'after-the-evacuation')
        self.restore_options(source)
        self.expect_nothing_of(server, source)
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    def take_down(self, host):
        """Let nova-compute of a host run on but report no more.

        If the runner ends the host undoes it by itself, as any edit.
        """
        # Back before its servers are deleted, of which it must know.
        self.addCleanup(self.restore_options, host)
        self.set_options(host, {'DEFAULT': {'report_interval': NO_REPORTS}})
        self.wait_until(lambda: not self.is_up(host), lambda in_time: (
            f'compute host {host}: expected nova to take nova-compute, which '
            f'reports no more, for down {in_time}, it is up'))

    def expect_nothing_of(self, server_id, host):
        """Expect a host to have nothing of a server that was evacuated."""
        left = self.left_on(cloud.compute_hosts().get(host), server_id)
        self.assertEqual(
            (models.ABSENT, ()), (left.state, left.disks()),
            f'compute host {host}: expected no domain and no disks of server '
            f'{server_id}, which was evacuated')

    @decorators.idempotent_id('d1b1c98e-ca02-4e9b-b9f1-c7af7e6c5009')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_qcow2_to_raw(self):
        """A server of a qcow2 host is evacuated to a raw host.

        1. Boot a server on a host of the qcow2 backend; all agree.
        2. Let that host's nova-compute report no more, until nova takes it
           for down.
        3. Evacuate the server to a host of the raw backend: it boots there,
           all agree.
        4. The first host comes back, and keeps nothing of the server.
        5. Hard reboot it: the same disk boots, all agree.
        """
        self.evacuate('qcow2', 'raw')

    @decorators.idempotent_id('62e481e7-33ee-41c6-984b-f50f05f635ca')
    @decorators.attr(type=['multinode', 'slow', 'reconfigure'])
    @utils.services('compute', 'image')
    def test_raw_to_qcow2(self):
        """A server of a raw host is evacuated to a qcow2 host.

        The steps are those of test_qcow2_to_raw, the other way round.
        """
        self.evacuate('raw', 'qcow2')

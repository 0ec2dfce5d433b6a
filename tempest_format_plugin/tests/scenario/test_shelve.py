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
from tempest_format_plugin.tests.scenario import base


class TestShelve(base.FormatScenarioTest):
    """A shelved server comes back on a host of another image backend.

    Shelved, its root disk is an image of the format that it had.
    """

    # 2.91: unshelve to a host.
    compute_min_microversion = '2.91'
    needed_features = ('shelve',)
    needed_hosts = {'raw': 1, 'qcow2': 1}

    def shelve_and_unshelve(self, source, target):
        """The steps of both tests, given the hosts' backends."""
        source, = cloud.hosts_of_backend(source)[:1]
        target, = cloud.hosts_of_backend(target)[:1]
        server = self.boot_server(source)
        self.expect_boot_and_agreement(server, 'before-the-shelve')
        self.shelve_server(server)
        self.unshelve_server(server, target)
        self.expect_boot_and_agreement(server, 'after-the-unshelve')
        self.hard_reboot(server)
        self.expect_boot_and_agreement(server, 'after-the-hard-reboot')

    @decorators.idempotent_id('ac0de270-9d2c-4fa8-bfd2-991fb9c4d07a')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    def test_qcow2_to_raw(self):
        """A server of a qcow2 host is unshelved on a raw host.

        1. Boot a server on a host of the qcow2 backend; all agree.
        2. Shelve it, until it is on no host.
        3. Unshelve it to a host of the raw backend: the same root disk boots
           there, all agree.
        4. Hard reboot it: the same disk boots, all agree.
        """
        self.shelve_and_unshelve('qcow2', 'raw')

    @decorators.idempotent_id('5a1b4f9b-51c6-4db5-bf33-9a088c574732')
    @decorators.attr(type=['multinode', 'slow'])
    @utils.services('compute', 'image')
    def test_raw_to_qcow2(self):
        """A server of a raw host is unshelved on a qcow2 host.

        The steps are those of test_qcow2_to_raw, the other way round.
        """
        self.shelve_and_unshelve('raw', 'qcow2')

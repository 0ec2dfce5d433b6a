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
"""Changing the options of nova-compute for as long as a test takes."""

import getpass
import os
import shlex
import socket

from oslo_log import log
from tempest import config
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin import cloud
from tempest_format_plugin import config as format_config
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin.tests.scenario import images

CONF = config.CONF
LOG = log.getLogger(__name__)


class ComputeNotReady(Exception):
    """nova-compute doesn't come back with other options."""


class ReconfigureScenarioTest(images.ImageScenarioTest):
    """Tests that need compute hosts of other options than the cloud's.

    Their classes are @serial: what other tests do on the host meanwhile
    would be done with these options.
    """

    safety_level = format_config.RECONFIGURE

    def setUp(self):
        super().setUp()
        # By host.
        self._edits = {}
        # Before there is a server: the first cleanup is the last to run.
        self.addCleanup(self._restore_all)

    def set_options(self, host, options):
        """Give nova-compute on a host other options, until the end.

        Called again for the same host it replaces those. They are undone
        after the test's servers are gone.

        :param options: {group: {option: value}}, as in nova.conf
        :raises EditError: nova-compute doesn't start with them
        :raises ComputeNotReady: it isn't back in time
        """
        LOG.info('nova-compute on %s: setting %s', host, ', '.join(
            f'[{group}] {name} = {value}'
            for group, those in options.items()
            for name, value in those.items()))
        reported = self._reported(host)
        edit = self._edits.pop(host, None)
        if edit is not None:
            edit.change(options)
        else:
            self._refuse_other_servers(host)
            edit = host_edit.hold(cloud.compute_hosts().get(host), options,
                                  self._holder())
        self._edits[host] = edit
        self._wait_until_ready(host, reported, edit)

    def set_backend(self, host, backend):
        """Give a host an image backend, if it isn't its own already.

        :param backend: as of cloud.hosts_of_backend
        """
        if host in self._edits or host not in cloud.hosts_of_backend(backend):
            self.set_options(host, {'libvirt': {'images_type': backend}})

    def host_of_backend(self, backend, other_than=None):
        """Return a compute host that has an image backend, or is given it.

        :param other_than: a host that it must not be
        """
        host = next(each for each in [*cloud.hosts_of_backend(backend),
                                      *cloud.hosts_of_backend(cloud.ANY)]
                    if each != other_than)
        self.set_backend(host, backend)
        return host

    def forget_image(self, host, image_id):
        """Take an image out of a host's image cache, where it must be.

        :param image_id: of an image that is the test's own, and that no
            server's overlay on this host is based on
        """
        cached = cloud.compute_hosts().get(host).profile.image_cache_file(
            image_id)
        LOG.info('Removing %s from the image cache of %s', image_id, host)
        cloud.compute_hosts().get(host).instances_shell(
            f'rm {shlex.quote(cached)} < /dev/null').check()

    def restore_options(self, host):
        """Give nova-compute on a host its own options back."""
        edit = self._edits.pop(host, None)
        if edit is not None:
            LOG.info('nova-compute on %s: restoring its options', host)
            reported = self._reported(host)
            edit.undo()
            self._wait_until_ready(host, reported)

    def _restore_all(self):
        # A cleanup each, so that one that fails spares the others none.
        for host in self._edits:
            self.addCleanup(self.restore_options, host)

    def _holder(self):
        return (f'{self.id()} of {getpass.getuser()} at '
                f'{socket.gethostname()}, process {os.getpid()}')

    def _refuse_other_servers(self, host):
        if CONF.disk_format.reconfigure_beside_servers:
            return
        others = [server['id'] for server in self.admin_servers.list_servers(
            all_tenants=True, host=host)['servers']
            if server['id'] not in self.followed]
        self.assertEqual(
            [], others, f'compute host {host}: nova-compute would be '
            f'restarted with other options beside these servers, which '
            f'aren\'t the test\'s: set [disk_format] '
            f'reconfigure_beside_servers to allow that')

    def _reported(self, host):
        """Return when nova-compute last reported, as nova tells it."""
        service, = self.os_admin.services_client.list_services(
            binary='nova-compute', host=host)['services']
        return service['updated_at'] if service['state'] == 'up' else None

    def is_up(self, host):
        """Whether nova takes nova-compute of a host for up."""
        return self._reported(host) is not None

    def _answers(self, host):
        """Whether nova-compute answers a call.

        A service may be up that can't be reached yet.
        """
        client = self.os_admin.hypervisor_client
        try:
            hypervisor = client.show_hypervisor_uptime(
                self.hypervisor_of(host)['id'])['hypervisor']
        except (lib_exc.BadRequest, lib_exc.ServerFault) as error:
            LOG.info('nova-compute on %s does not answer: %s', host, error)
            return False
        return bool(hypervisor['uptime'])

    def _wait_until_ready(self, host, reported, edit=None):
        """Wait until nova-compute, which was restarted, reports and answers.

        :param reported: when it last reported before its restart, see
            _reported
        :param edit: HostEdit to undo, and to ask for the reason, if it
            doesn't
        """
        def dead():
            return edit is not None and not edit.state()[0]

        def reports():
            return dead() or self._reported(host) not in (None, reported)
        timeout = CONF.disk_format.compute_ready_timeout
        if (test_utils.call_until_true(reports, timeout, 1) and not dead()
                and test_utils.call_until_true(
                    lambda: self._answers(host), timeout, 1)):
            return
        told = 'see its log'
        if edit is not None:
            told = f'its log ends with: {edit.state()[1]}'
            self._edits.pop(host).undo()
        raise ComputeNotReady(
            f'compute host {host}: expected nova-compute to report and to '
            f'answer within {timeout} s of its restart, it does not; {told}')

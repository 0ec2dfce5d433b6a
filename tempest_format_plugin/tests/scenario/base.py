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

"""The verbs of the bug reports, for all scenario tests."""

import os.path

from oslo_log import log
from tempest import config
from tempest.lib.common import api_version_request
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager
from testtools import content

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions as formats_exceptions
from tempest_format_plugin.formats import guest_console
from tempest_format_plugin.formats import models
from tempest_format_plugin.formats import table
from tempest_format_plugin.guests import boot
from tempest_format_plugin.hosts import exceptions as hosts_exceptions
from tempest_format_plugin.tests.scenario import verdicts

CONF = config.CONF
LOG = log.getLogger(__name__)


# The disks of each server that boot_server makes.
CONFIG_DRIVE = 'disk.config'
DISKS = ('disk', 'disk.eph0', 'disk.swap', CONFIG_DRIVE)


class FormatScenarioTest(manager.ScenarioTest):
    """Servers on chosen hosts, what is believed of their disks, their boots.

    All is done by the admin: choosing a host and reading where a server is
    are the admin's. Servers have no network: the proof of boot is what they
    write to their console.
    """

    credentials = ['primary', 'admin']
    # 2.74: create a server on a host by name, whatever its zone.
    compute_min_microversion = '2.74'
    # Of [compute-feature-enabled], what the tests of a class need besides the
    # console and the config drive.
    needed_features = ()
    # Compute hosts that they need, by image backend.
    needed_hosts = {}

    @classmethod
    def skip_checks(cls):
        # Before the parent's own check, which doesn't name the option.
        for service in ('compute', 'placement'):
            needed = getattr(cls, f'{service}_min_microversion')
            limit = getattr(CONF, service).max_microversion
            if needed and not (limit and _version(limit) >= _version(needed)):
                raise cls.skipException(
                    f'[{service}] max_microversion must be {needed} or later, '
                    f'it is {limit}')
        super().skip_checks()
        for feature in ('console_output', 'config_drive',
                        *cls.needed_features):
            if not CONF.compute_feature_enabled[feature]:
                raise cls.skipException(
                    f'[compute-feature-enabled] {feature} is false')
        for backend, count in cls.needed_hosts.items():
            hosts = cloud.hosts_of_backend(backend)
            if len(hosts) < count:
                raise cls.skipException(
                    f'{count} compute hosts of the image backend {backend} '
                    f'are needed, [disk_format] compute_backends names '
                    f'{len(hosts)}')

    @classmethod
    def setup_credentials(cls):
        cls.set_network_resources()
        # Not the parent's: it asks for a network.
        super(manager.ScenarioTest, cls).setup_credentials()

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        try:
            bugs.get(CONF.disk_format.known_bugs)
        except formats_exceptions.FormatsError as error:
            raise lib_exc.InvalidConfiguration(
                f'[disk_format] known_bugs: {error}')

    def setUp(self):
        super().setUp()
        self.admin_servers = self.os_admin.servers_client
        self._step = 0
        self._operated_on = set()
        # By server id: the console before the operation that should make
        # the guest boot, the boot after it, and the boot before it.
        self._console_before = {}
        self._last_boot = {}
        self._previous_boot = {}
        # What waiting for that boot came to; nothing while nobody has waited.
        self._outcome = {}

    # Servers

    def create_format_flavor(self, disk_growth=0, extra_specs=None):
        """Make a flavor with a root, an ephemeral and a swap disk.

        :param disk_growth: GiB that its root disk has more than
            [disk_format] flavor_disk
        :returns: the flavor's id
        """
        options = CONF.disk_format
        client = self.os_admin.flavors_client
        flavor = client.create_flavor(
            name=data_utils.rand_name('format-flavor'),
            ram=options.flavor_ram, vcpus=options.flavor_vcpus,
            disk=options.flavor_disk + disk_growth,
            ephemeral=options.flavor_ephemeral,
            swap=options.flavor_swap)['flavor']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        client.delete_flavor, flavor['id'])
        if extra_specs:
            client.set_flavor_extra_spec(flavor['id'], **extra_specs)
        return flavor['id']

    def boot_server(self, host):
        """Boot a server with all kinds of local disks on a compute host.

        Root, ephemeral and swap disk and a config drive. Returns once it is
        ACTIVE; that its guest boots is for the caller to expect.

        :returns: the server's id
        """
        LOG.info('Booting a server on %s', host)
        # Not the parent's create_server: it adds networks and a zone by
        # options of its own.
        server_id = self.admin_servers.create_server(
            name=data_utils.rand_name(type(self).__name__),
            imageRef=CONF.compute.image_ref,
            flavorRef=self.create_format_flavor(),
            host=host, networks='none', config_drive=True)['server']['id']
        self.addCleanup(self._wait_for_deletion, server_id)
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.admin_servers.delete_server, server_id)
        self._console_before[server_id] = ''
        self._wait_for_status(server_id, 'ACTIVE')
        self.assert_on_host(server_id, host)
        return server_id

    def cold_migrate(self, server_id, host):
        """Cold migrate a server to a host, up to VERIFY_RESIZE."""
        LOG.info('Cold migrating server %s to %s', server_id, host)
        self._expect_new_boot(server_id)
        self._operated_on.add(server_id)
        self.admin_servers.migrate_server(server_id, host=host)
        self._wait_for_status(server_id, 'VERIFY_RESIZE', 'ACTIVE')
        self.assert_on_host(server_id, host)

    def resize(self, server_id, host):
        """Resize a server to a larger root disk on a host.

        The API takes no host; a trait that only this host has does.
        """
        LOG.info('Resizing server %s onto %s', server_id, host)
        flavor = self.create_format_flavor(disk_growth=1, extra_specs={
            f'trait:{self._mark_host(host)}': 'required'})
        self._expect_new_boot(server_id)
        self._operated_on.add(server_id)
        self.admin_servers.resize_server(server_id, flavor)
        self._wait_for_status(server_id, 'VERIFY_RESIZE', 'ACTIVE')
        self.assert_on_host(server_id, host)

    def confirm_resize(self, server_id):
        """Confirm a resize or cold migration; the guest runs on."""
        self.admin_servers.confirm_resize_server(server_id)
        self._wait_for_status(server_id, 'ACTIVE')

    def revert_resize(self, server_id, host):
        """Revert a resize or cold migration, back to a host."""
        LOG.info('Reverting server %s to %s', server_id, host)
        # What comes back is the disk that was left on the source.
        left = self._previous_boot.get(server_id)
        self._expect_new_boot(server_id)
        self._previous_boot[server_id] = left
        self.admin_servers.revert_resize_server(server_id)
        self._wait_for_status(server_id, 'ACTIVE')
        self.assert_on_host(server_id, host)

    def stop_server(self, server_id):
        """Stop a server."""
        self.admin_servers.stop_server(server_id)
        self._wait_for_status(server_id, 'SHUTOFF')

    def host_of(self, server_id):
        """Return the compute host that a server is on."""
        server = self.admin_servers.show_server(server_id)['server']
        return server['OS-EXT-SRV-ATTR:host']

    def assert_on_host(self, server_id, host):
        self.assertEqual(host, self.host_of(server_id),
                         f'server {server_id} is on another host')

    # Expectations

    def observe(self, server_id, when):
        """Observe a server's disks on its host and keep it as evidence.

        Where the guest has booted since the last operation and tells the
        sizes of its disks, they are part of it.

        :param when: the moment, as the test's steps call it
        :returns: (formats.models.ServerObservation, its Disagreements)
        """
        host = cloud.compute_hosts().get(self.host_of(server_id))
        server = host.observe(server_id)
        booted = self._last_boot.get(server_id)
        guest = booted.guest if booted is not None else None
        if guest is not None:
            server = server.with_guest(guest)
        disagreements = agreement.judge(server)
        self._step += 1
        text = table.render(server, disagreements)
        if guest is not None:
            text += (f'\nThe guest has booted this root disk '
                     f'{guest.counter} times, now as {guest.boot_id}.')
        LOG.info('%s:\n%s', when, text)
        self.addDetail(f'{self._step}-{when}.txt', content.text_content(text))
        self.addDetail(
            f'{self._step}-{when}.json',
            content.json_content(models.as_dict(server)))
        return server, disagreements

    def expect_agreement(self, server_id, when):
        """Expect every source to agree about each disk of a server.

        :raises DisagreementFound: they don't
        """
        server, disagreements = self.observe(server_id, when)
        self._check_complete(server)
        if disagreements:
            raise verdicts.DisagreementFound(
                when, server, disagreements, self._outcome.get(server_id),
                after_operation=server_id in self._operated_on)

    def expect_boot_and_agreement(self, server_id, when):
        """Expect a server's guest to boot and every source to agree.

        Where the guest tells it, also: that the same root disk booted once
        more, that each disk has the size that its format implies, and that
        the guest goes on writing to it.

        :raises DisagreementFound: sources disagree, whether it boots or not
        :raises GuestSilent: they agree, and yet the guest did not boot
        """
        options = CONF.disk_format
        booted = boot.wait_for_boot(
            lambda: self._console(server_id),
            before=self._console_before[server_id],
            marker=options.boot_marker, timeout=options.boot_timeout,
            interval=options.boot_poll_interval)
        LOG.info('%s: the guest of server %s %s after %.0f s', when,
                 server_id, booted.outcome, booted.seconds)
        self._outcome[server_id] = booted.outcome
        if booted.outcome == bugs.BOOTED:
            self._last_boot[server_id] = booted
        else:
            self.addDetail(f'{self._step + 1}-{when}-console.txt',
                           content.text_content(booted.console[-4000:]))
        self.expect_agreement(server_id, when)
        if booted.outcome == bugs.SILENT:
            raise verdicts.GuestSilent(
                f'{when}: the guest of server {server_id} did not write '
                f'{options.boot_marker!r} to its console within '
                f'{options.boot_timeout} s; the console ends with: '
                f'{booted.console[-2000:]!r}')
        self._expect_same_disk(server_id, when)

    def _check_complete(self, server):
        """Check that there was something to agree about, for each disk.

        Where the options lead to another host, another libvirt or another
        directory than the server's, nothing would contradict anything.
        """
        host = cloud.compute_hosts().get(server.host)
        directory = os.path.join(host.profile.instances_path,
                                 server.server_id)
        for disk in DISKS:
            xml = server.xml(disk)
            if xml is None:
                has = ', '.join(filter(server.xml, server.disks()))
                raise hosts_exceptions.HostAccessError(
                    server.host, f'expected {disk} in the domain XML of '
                    f'server {server.server_id}, which nova says is here; the '
                    f'domain is {server.state} and has {has or "no disks"}',
                    'compute_addresses, virsh_command or container_name')
            if os.path.dirname(xml.path or '') != directory:
                raise hosts_exceptions.HostAccessError(
                    server.host, f'expected {disk} of server '
                    f'{server.server_id} in {directory}, the domain XML has '
                    f'{xml.path}', 'instances_path')
            told = self._last_boot.get(server.server_id)
            if (told is not None and told.guest is not None
                    and disk != CONFIG_DRIVE):
                self.assertIsNotNone(
                    server.of(disk, models.GUEST),
                    f'the guest of server {server.server_id} told of its '
                    f'disks, but not of {xml.target} ({disk})')

    def _expect_same_disk(self, server_id, when):
        booted = self._last_boot[server_id]
        guest = booted.guest
        if guest is None:
            self.assertNotIn(
                guest_console.PREFIX, booted.console,
                f'{when}: what the guest of server {server_id} tells of its '
                'boot is not understood')
            return
        previous = self._previous_boot.get(server_id)
        if previous is not None and previous.guest is not None:
            expected = previous.guest.counter + 1
            if guest.counter != expected:
                raise verdicts.OtherDiskBooted(
                    f'{when}: expected boot {expected} of the root disk of '
                    f'server {server_id}, the guest tells of its boot '
                    f'{guest.counter}: another disk, or another state of it')
        boot.wait_for_heartbeat(
            lambda: self._console(server_id), guest.boot_id,
            timeout=CONF.disk_format.heartbeat_timeout,
            interval=CONF.disk_format.boot_poll_interval)

    # Helpers

    def _expect_new_boot(self, server_id):
        """Remember what the console says before the guest boots again."""
        self._console_before[server_id] = self._console(server_id)
        self._previous_boot[server_id] = self._last_boot.pop(server_id, None)
        self._outcome.pop(server_id, None)

    def _console(self, server_id):
        """Return what the console says; '' where there is none.

        A server whose domain is gone or not yet there has none: 404 or 409.
        """
        try:
            return self.admin_servers.get_console_output(server_id)['output']
        except (lib_exc.NotFound, lib_exc.Conflict):
            return ''

    def _wait_for_status(self, server_id, status, rolled_back=None):
        """Wait until a server has a status and nothing is under way.

        :param rolled_back: status that the server has again after an
            operation that nova gave up; None where it has no such status
        """
        seen = {}

        def ended():
            seen.update(self.admin_servers.show_server(server_id)['server'])
            return (seen['OS-EXT-STS:task_state'] is None
                    and seen['status'] in (status, 'ERROR', rolled_back))
        timeout = CONF.disk_format.operation_timeout
        if not test_utils.call_until_true(ended, timeout, 1):
            raise lib_exc.TimeoutException(
                f'server {server_id} on {seen["OS-EXT-SRV-ATTR:host"]}: '
                f'expected status {status} within {timeout} s, it is '
                f'{seen["status"]}, task {seen["OS-EXT-STS:task_state"]}')
        if seen['status'] != status:
            fault = seen.get('fault', {}).get('message', 'no fault recorded')
            self.fail(f'server {server_id} on '
                      f'{seen["OS-EXT-SRV-ATTR:host"]}: expected status '
                      f'{status}, it is {seen["status"]}: {fault}; '
                      f'{self._last_action(server_id)}')

    def _wait_for_deletion(self, server_id):
        """Wait until nova knows a server no more."""
        def gone():
            try:
                self.admin_servers.show_server(server_id)
            except lib_exc.NotFound:
                return True
            return False
        timeout = CONF.disk_format.operation_timeout
        if not test_utils.call_until_true(gone, timeout, 1):
            raise lib_exc.TimeoutException(
                f'server {server_id}: expected to be gone within {timeout} s '
                'of its deletion')

    def _last_action(self, server_id):
        """Say what nova recorded of the last operation on a server."""
        action = self.admin_servers.list_instance_actions(
            server_id)['instanceActions'][0]
        events = self.admin_servers.show_instance_action(
            server_id, action['request_id'])['instanceAction']['events']
        told = [f'{event["event"]} on {event.get("host")}: {event["result"]} '
                f'{event.get("details") or ""}' for event in events]
        return (f'last operation {action["action"]} '
                f'({action["request_id"]}): {"; ".join(told) or "no events"}')

    def _mark_host(self, host):
        """Give a host's resource provider a trait of its own, until the end.

        nova-compute keeps custom traits that others set.

        :returns: the trait's name
        """
        trait = data_utils.rand_name(
            'FORMAT', prefix='CUSTOM').replace('-', '_')
        self.os_admin.placement_client.create_trait(trait)
        self.addCleanup(self.os_admin.placement_client.delete_trait, trait)
        # A hypervisor's id is that of its resource provider (microversion
        # 2.53); the provider's name is the node's, not always the host's.
        hypervisors = self.os_admin.hypervisor_client.list_hypervisors(
            detail=True)['hypervisors']
        ids = {hypervisor['service']['host']: hypervisor['id']
               for hypervisor in hypervisors}
        self.assertIn(host, ids, '[disk_format] compute_backends names a host '
                      'that nova has no hypervisor of')
        provider_id = ids[host]
        self.addCleanup(self._update_traits, provider_id,
                        lambda traits: traits - {trait})
        self._update_traits(provider_id, lambda traits: traits | {trait})
        return trait

    def _update_traits(self, provider_id, change):
        """Change the traits of a resource provider.

        :param change: function from the present set of traits to the new one
        """
        client = self.os_admin.resource_providers_client

        def update():
            current = client.list_resource_provider_traits(provider_id)
            try:
                client.update_resource_provider_traits(
                    provider_id,
                    resource_provider_generation=current[
                        'resource_provider_generation'],
                    traits=sorted(change(set(current['traits']))))
            except lib_exc.Conflict:
                # Any server that comes to or leaves the host changes the
                # generation.
                return False
            return True
        if not test_utils.call_until_true(update, 30, 0.5):
            self.fail(f'the traits of resource provider {provider_id} kept '
                      'changing under the update for 30 s')


def _version(text):
    return api_version_request.APIVersionRequest(text)

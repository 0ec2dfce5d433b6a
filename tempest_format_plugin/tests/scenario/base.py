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

from oslo_log import log
from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager
from testtools import content

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import models
from tempest_format_plugin.formats import table
from tempest_format_plugin.guests import boot
from tempest_format_plugin.tests.scenario import verdicts

CONF = config.CONF
LOG = log.getLogger(__name__)


class FormatScenarioTest(manager.ScenarioTest):
    """Servers on chosen hosts, what is believed of their disks, their boots.

    All is done by the admin: choosing a host and reading where a server is
    are the admin's. Servers have no network: the proof of boot is what they
    write to their console.
    """

    credentials = ['primary', 'admin']
    # 2.74: create a server on a host by name, whatever its zone.
    compute_min_microversion = '2.74'
    # Compute hosts that the tests of a class need, by image backend.
    needed_hosts = {}

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.compute_feature_enabled.console_output:
            raise cls.skipException(
                'The proof of boot is read from the console: '
                '[compute-feature-enabled] console_output is false')
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
        bugs.get(CONF.disk_format.known_bugs)

    def setUp(self):
        super().setUp()
        self.admin_servers = self.os_admin.servers_client
        self._step = 0
        # By server id: the console before the operation that should make
        # the guest boot, the boot after it, and the boot before it.
        self._console_before = {}
        self._last_boot = {}
        self._previous_boot = {}

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
        server = self.create_server(
            clients=self.os_admin, flavor=self.create_format_flavor(),
            host=host, networks='none', config_drive=True)
        self._console_before[server['id']] = ''
        self.assert_on_host(server['id'], host)
        return server['id']

    def cold_migrate(self, server_id, host):
        """Cold migrate a server to a host, up to VERIFY_RESIZE."""
        LOG.info('Cold migrating server %s to %s', server_id, host)
        self._expect_new_boot(server_id)
        self.admin_servers.migrate_server(server_id, host=host)
        self._wait_for_status(server_id, 'VERIFY_RESIZE')
        self.assert_on_host(server_id, host)

    def resize(self, server_id, host):
        """Resize a server to a larger root disk on a host.

        The API takes no host; a trait that only this host has does.
        """
        LOG.info('Resizing server %s onto %s', server_id, host)
        flavor = self.create_format_flavor(disk_growth=1, extra_specs={
            f'trait:{self._mark_host(host)}': 'required'})
        self._expect_new_boot(server_id)
        self.admin_servers.resize_server(server_id, flavor)
        self._wait_for_status(server_id, 'VERIFY_RESIZE')
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
        if disagreements:
            outcome = (bugs.BOOTED if self._last_boot.get(server_id)
                       else bugs.SILENT)
            raise verdicts.DisagreementFound(when, server, disagreements,
                                             outcome)

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

    def _expect_same_disk(self, server_id, when):
        guest = self._last_boot[server_id].guest
        if guest is None:
            return
        previous = self._previous_boot.get(server_id)
        if previous is not None and previous.guest is not None:
            self.assertEqual(
                previous.guest.counter + 1, guest.counter,
                f'{when}: the root disk of server {server_id} is not the one '
                'that booted before: its boot counter is wrong')
        boot.wait_for_heartbeat(
            lambda: self._console(server_id), guest.boot_id,
            timeout=CONF.disk_format.heartbeat_timeout,
            interval=CONF.disk_format.boot_poll_interval)

    # Helpers

    def _expect_new_boot(self, server_id):
        """Remember what the console says before the guest boots again."""
        self._console_before[server_id] = self._console(server_id)
        self._previous_boot[server_id] = self._last_boot.pop(server_id, None)

    def _console(self, server_id):
        """Return what the console says; '' where there is none.

        A server whose domain is gone or not yet there has none: 404 or 409.
        """
        try:
            return self.admin_servers.get_console_output(server_id)['output']
        except (lib_exc.NotFound, lib_exc.Conflict):
            return ''

    def _wait_for_status(self, server_id, status):
        """Wait until a server has a status and nothing is under way."""
        seen = {}

        def reached():
            seen.update(self.admin_servers.show_server(server_id)['server'])
            return (seen['OS-EXT-STS:task_state'] is None
                    and seen['status'] in (status, 'ERROR'))
        timeout = CONF.disk_format.operation_timeout
        if not test_utils.call_until_true(reached, timeout, 1):
            raise lib_exc.TimeoutException(
                f'server {server_id} on {seen["OS-EXT-SRV-ATTR:host"]}: '
                f'expected status {status} within {timeout} s, it is '
                f'{seen["status"]}, task {seen["OS-EXT-STS:task_state"]}')
        self.assertEqual(
            status, seen['status'],
            f'server {server_id} on {seen["OS-EXT-SRV-ATTR:host"]}: '
            f'{seen.get("fault", {}).get("message", "no fault recorded")}')

    def _mark_host(self, host):
        """Give a host's resource provider a trait of its own, until the end.

        nova-compute keeps custom traits that others set.

        :returns: the trait's name
        """
        trait = data_utils.rand_name(
            'FORMAT', prefix='CUSTOM').replace('-', '_')
        self.os_admin.placement_client.create_trait(trait)
        self.addCleanup(self.os_admin.placement_client.delete_trait, trait)
        provider, = self.os_admin.resource_providers_client \
            .list_resource_providers(name=host)['resource_providers']
        self.addCleanup(self._update_traits, provider['uuid'],
                        lambda traits: traits - {trait})
        self._update_traits(provider['uuid'], lambda traits: traits | {trait})
        return trait

    def _update_traits(self, provider_id, change):
        client = self.os_admin.resource_providers_client
        current = client.list_resource_provider_traits(provider_id)
        client.update_resource_provider_traits(
            provider_id,
            resource_provider_generation=current[
                'resource_provider_generation'],
            traits=sorted(change(set(current['traits']))))

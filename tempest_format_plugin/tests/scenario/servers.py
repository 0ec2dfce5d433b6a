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

"""Servers: the verbs of the bug reports, and waiting for what they do."""

import dataclasses

from oslo_log import log
from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import models
from tempest_format_plugin.guests import boot
from tempest_format_plugin.tests.scenario import verdicts

CONF = config.CONF
LOG = log.getLogger(__name__)

CONFIG_DRIVE = 'disk.config'
# Of a server that boots from an image, with the flavor that we make.
LOCAL_DISKS = ('disk', 'disk.eph0', 'disk.swap', CONFIG_DRIVE)
# Of the same server while it is rescued: the others are not attached then.
RESCUE_DISKS = ('disk.rescue', 'disk', f'{CONFIG_DRIVE}.rescue')


@dataclasses.dataclass
class Followed:
    """What a test knows of one of its servers.

    :ivar disks: those that the domain must have
    :ivar hot_plugged: those of them that came after the last boot; the guest
        has told of the others
    :ivar console: its text before the operation that should make the guest
        boot
    :ivar booted: the guests.boot.Boot after that, None while nobody has waited
    :ivar previous: the one before; None where no boot of the same root disk
        came before
    :ivar set_aside: the last one of the server's own root disk while it is
        rescued
    :ivar outcome: what waiting for it came to, of formats.bugs; None while
        nobody has waited
    :ivar refusal: why nova could not start it, where the outcome is REFUSED
    :ivar observed: the last ServerObservation of it
    :ivar operated_on: whether the operation that the test is about was done
    :ivar noted: (when, observation, disagreements) of moments after that
        whose disagreements the test goes on from
    """

    disks: tuple[str, ...]
    hot_plugged: tuple[str, ...] = ()
    console: str = ''
    booted: boot.Boot | None = None
    previous: boot.Boot | None = None
    set_aside: boot.Boot | None = None
    outcome: str | None = None
    refusal: str = ''
    observed: models.ServerObservation | None = None
    operated_on: bool = False
    noted: list = dataclasses.field(default_factory=list)

    @property
    def guest(self):
        """The GuestBoot of the last boot, None where it doesn't tell."""
        return self.booted.guest if self.booted else None


class ServerVerbs(manager.ScenarioTest):
    """Servers on chosen hosts, and what is done to them.

    All is done by the admin: choosing a host and reading where a server is
    are the admin's. Servers have no network: the proof of boot is what they
    write to their console.
    """

    def setUp(self):
        super().setUp()
        self.admin_servers = self.os_admin.servers_client
        # Followed by server id.
        self.followed = {}

    # Making servers

    def create_format_flavor(self, disk_growth=0, extra_specs=None,
                             local_disks=True):
        """Make a flavor with a root, an ephemeral and a swap disk.

        :param disk_growth: GiB that its root disk has more than
            [disk_format] flavor_disk
        :param local_disks: False: for a server that boots from a volume; it
            has none of these disks
        :returns: the flavor's id
        """
        options = CONF.disk_format
        sizes = dict(disk=options.flavor_disk + disk_growth,
                     ephemeral=options.flavor_ephemeral,
                     swap=options.flavor_swap)
        if not local_disks:
            sizes = dict.fromkeys(sizes, 0)
        client = self.os_admin.flavors_client
        flavor = client.create_flavor(
            name=data_utils.rand_name('format-flavor'),
            ram=options.flavor_ram, vcpus=options.flavor_vcpus,
            **sizes)['flavor']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        client.delete_flavor, flavor['id'])
        if extra_specs:
            client.set_flavor_extra_spec(flavor['id'], **extra_specs)
        return flavor['id']

    def boot_server(self, host, image=None):
        """Boot a server with all kinds of local disks on a compute host.

        Root, ephemeral and swap disk and a config drive. Returns once it is
        ACTIVE; that its guest boots is for the caller to expect.

        :param image: id; None: [compute] image_ref
        :returns: the server's id
        """
        return self.create_followed_server(
            host, LOCAL_DISKS, imageRef=image or CONF.compute.image_ref,
            flavorRef=self.create_format_flavor())

    def create_followed_server(self, host, disks, **kwargs):
        """Create a server on a compute host and wait until it is ACTIVE.

        :param disks: those that its domain must have
        :param kwargs: as for tempest.lib's create_server
        :returns: the server's id
        """
        LOG.info('Booting a server on %s', host)
        # Not the parent's create_server: it adds networks and a zone by
        # options of its own.
        server_id = self.admin_servers.create_server(
            name=data_utils.rand_name(type(self).__name__), host=host,
            networks='none', config_drive=True, **kwargs)['server']['id']
        self.addCleanup(self._wait_for_deletion, server_id)
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.admin_servers.delete_server, server_id)
        self.followed[server_id] = Followed(disks)
        self.wait_for_status(server_id, 'ACTIVE')
        self.assert_on_host(server_id, host)
        return server_id

    def delete_followed_server(self, server_id):
        """Delete a server and wait until it is gone."""
        self.admin_servers.delete_server(server_id)
        self._wait_for_deletion(server_id)
        del self.followed[server_id]

    # Moving servers

    def cold_migrate(self, server_id, host):
        """Cold migrate a server to a host, up to VERIFY_RESIZE.

        :raises MigrationFailed: it doesn't get there
        """
        LOG.info('Cold migrating server %s to %s', server_id, host)
        self.expect_new_boot(server_id)
        self.operating_on(server_id)
        self.admin_servers.migrate_server(server_id, host=host)
        self._expect_verify_resize(server_id, host)

    def resize(self, server_id, host):
        """Resize a server to a larger root disk on a host.

        The API takes no host; a trait that only this host has does.

        :raises MigrationFailed: it doesn't get there
        """
        LOG.info('Resizing server %s onto %s', server_id, host)
        flavor = self.create_format_flavor(disk_growth=1, extra_specs={
            f'trait:{self._mark_host(host)}': 'required'})
        self.expect_new_boot(server_id)
        self.operating_on(server_id)
        self.admin_servers.resize_server(server_id, flavor)
        self._expect_verify_resize(server_id, host)

    def _expect_verify_resize(self, server_id, host):
        self.wait_for_status(server_id, 'VERIFY_RESIZE', 'ACTIVE',
                             verdicts.MigrationFailed)
        self.assert_on_host(server_id, host)

    def confirm_resize(self, server_id):
        """Confirm a resize or cold migration; the guest runs on."""
        self.admin_servers.confirm_resize_server(server_id)
        self.wait_for_status(server_id, 'ACTIVE')

    def revert_resize(self, server_id, host):
        """Revert a resize or cold migration, back to a host."""
        LOG.info('Reverting server %s to %s', server_id, host)
        # What comes back is the disk that was left on the source.
        left = self.followed[server_id].previous
        self.expect_new_boot(server_id)
        self.followed[server_id].previous = left
        self.admin_servers.revert_resize_server(server_id)
        self.wait_for_status(server_id, 'ACTIVE')
        self.assert_on_host(server_id, host)

    # Stopping and starting servers

    def stop_server(self, server_id):
        """Stop a server."""
        self.admin_servers.stop_server(server_id)
        self.wait_for_status(server_id, 'SHUTOFF')

    def start_server(self, server_id):
        """Start a stopped server.

        That nova can't is no error yet: it is what the next expectation of a
        boot will tell.
        """
        LOG.info('Starting server %s', server_id)
        self.expect_new_boot(server_id)
        self.admin_servers.start_server(server_id)
        self.wait_for_start(server_id, 'SHUTOFF')

    def hard_reboot(self, server_id):
        """Reboot a server the hard way: nova builds its XML anew."""
        LOG.info('Hard rebooting server %s', server_id)
        self.expect_new_boot(server_id)
        self.admin_servers.reboot_server(server_id, type='HARD')
        self.wait_for_start(server_id)

    def rebuild_server(self, server_id):
        """Rebuild a stopped server with its own image; a root volume is kept.

        It is stopped afterwards, as before (nova/compute/manager.py,
        _do_rebuild_instance).
        """
        LOG.info('Rebuilding server %s', server_id)
        self.admin_servers.rebuild_server(server_id, CONF.compute.image_ref)
        self.wait_for_status(server_id, 'SHUTOFF')

    def rescue_server(self, server_id, image):
        """Rescue a server: it boots from a disk made of an image.

        Its own root disk is attached beside that one.

        :param image: id
        """
        LOG.info('Rescuing server %s with image %s', server_id, image)
        self.expect_new_boot(server_id)
        followed = self.followed[server_id]
        followed.set_aside, followed.previous = followed.previous, None
        followed.disks = RESCUE_DISKS
        self.operating_on(server_id)
        self.admin_servers.rescue_server(server_id, rescue_image_ref=image)
        self.wait_for_status(server_id, 'RESCUE')

    def unrescue_server(self, server_id):
        """End the rescue of a server: it boots from its own disk again."""
        LOG.info('Unrescuing server %s', server_id)
        self.expect_new_boot(server_id)
        followed = self.followed[server_id]
        followed.previous, followed.set_aside = followed.set_aside, None
        followed.disks = LOCAL_DISKS
        self.admin_servers.unrescue_server(server_id)
        self.wait_for_status(server_id, 'ACTIVE')

    def shelve_server(self, server_id):
        """Shelve a server, up to SHELVED_OFFLOADED: it is on no host."""
        LOG.info('Shelving server %s', server_id)
        self.operating_on(server_id)
        self.admin_servers.shelve_server(server_id)
        self.wait_for_status(server_id, 'SHELVED_OFFLOADED')

    def unshelve_server(self, server_id, host=None):
        """Unshelve a server.

        :param host: that it must come to; None: whatever host. Needs the
            microversion 2.91
        """
        LOG.info('Unshelving server %s to %s', server_id, host or 'any host')
        self.expect_new_boot(server_id)
        self.admin_servers.unshelve_server(
            server_id, **({'host': host} if host else {}))
        self.wait_for_status(server_id, 'ACTIVE')
        if host:
            self.assert_on_host(server_id, host)

    def evacuate_server(self, server_id, host):
        """Evacuate a server from a host that is down to another one.

        Without shared storage its disks are made anew from its image.
        """
        LOG.info('Evacuating server %s to %s', server_id, host)
        self.expect_new_boot(server_id)
        self.followed[server_id].previous = None
        self.operating_on(server_id)
        self.admin_servers.evacuate_server(server_id, host=host)
        self.wait_for_status(server_id, 'ACTIVE')
        self.assert_on_host(server_id, host)

    # What nova says of servers

    def host_of(self, server_id):
        """Return the compute host that a server is on."""
        server = self.admin_servers.show_server(server_id)['server']
        return server['OS-EXT-SRV-ATTR:host']

    def hypervisor_of(self, host):
        """Return the details of a compute host's hypervisor."""
        hypervisors = {
            hypervisor['service']['host']: hypervisor for hypervisor in
            self.os_admin.hypervisor_client.list_hypervisors(
                detail=True)['hypervisors']}
        self.assertIn(host, hypervisors, '[disk_format] compute_backends '
                      'names a host that nova has no hypervisor of')
        return hypervisors[host]

    def domain_name(self, server_id):
        """Return the name of a server's domain, such as instance-0000001a."""
        server = self.admin_servers.show_server(server_id)['server']
        return server['OS-EXT-SRV-ATTR:instance_name']

    def volumes_of(self, server_id):
        """Return the ids of the volumes that a server must have."""
        return [disk for disk in self.followed[server_id].disks
                if not models.is_local(disk)]

    def assert_on_host(self, server_id, host):
        self.assertEqual(host, self.host_of(server_id),
                         f'server {server_id} is on another host')

    def console(self, server_id):
        """Return what the console says; '' where there is none.

        A server whose domain is gone or not yet there has none: 404 or 409.
        """
        try:
            return self.admin_servers.get_console_output(server_id)['output']
        except (lib_exc.NotFound, lib_exc.Conflict):
            return ''

    def last_action(self, server_id):
        """Say what nova recorded of the last operation on a server."""
        action = self.admin_servers.list_instance_actions(
            server_id)['instanceActions'][0]
        events = self.admin_servers.show_instance_action(
            server_id, action['request_id'])['instanceAction']['events']
        told = [f'{event["event"]} on {event.get("host")}: {event["result"]} '
                f'{event.get("details") or ""}' for event in events]
        return (f'last operation {action["action"]} '
                f'({action["request_id"]}): {"; ".join(told) or "no events"}')

    # What is to come

    def operating_on(self, server_id):
        """Remember that the operation that the test is about is being done."""
        self.followed[server_id].operated_on = True

    def expect_new_boot(self, server_id):
        """Remember what the console says before the guest boots again."""
        followed = self.followed[server_id]
        followed.console = self.console(server_id)
        followed.previous, followed.booted = followed.booted, None
        followed.outcome, followed.refusal = None, ''
        followed.hot_plugged = ()

    def wait_for_status(self, server_id, status, rolled_back=None,
                        failure=AssertionError):
        """Wait until a server has a status and nothing is under way.

        :param rolled_back: status that the server has again after an
            operation that nova gave up; None where it has no such status
        :param failure: class of what is raised where it has another status
        """
        seen = self.settle_server(server_id, status, rolled_back)
        if seen['status'] != status:
            raise failure(self._unexpected_status(seen, status))

    def wait_for_start(self, server_id, rolled_back=None):
        """Wait until a server is ACTIVE, or nova could not start it.

        :param rolled_back: status that the server has then, beside ERROR
        """
        seen = self.settle_server(server_id, 'ACTIVE', rolled_back)
        if seen['status'] != 'ACTIVE':
            followed = self.followed[server_id]
            followed.outcome = bugs.REFUSED
            followed.refusal = self._unexpected_status(seen, 'ACTIVE')

    def settle_server(self, server_id, status, rolled_back=None):
        """Wait until nothing is under way with a server; return it.

        :raises TimeoutException: something still is, or the status is none
            of those that it may be
        """
        seen = {}

        def ended():
            before = dict(seen)
            seen.update(self.admin_servers.show_server(server_id)['server'])
            if seen['OS-EXT-STS:task_state'] is not None:
                return False
            if seen['status'] in (status, 'ERROR'):
                return True
            # What it was before the operation may be seen before nova has
            # begun with it.
            return (rolled_back is not None
                    and seen['status'] == rolled_back == before.get('status'))
        self.wait_until(ended, lambda in_time: (
            f'server {server_id} on {seen["OS-EXT-SRV-ATTR:host"]}: expected '
            f'status {status} {in_time}, it is {seen["status"]}, task '
            f'{seen["OS-EXT-STS:task_state"]}'))
        return seen

    def wait_until(self, done, told):
        """Wait until something is done, for operation_timeout.

        :param done: function that says whether it is, asked each second
        :param told: function that is given 'within SECONDS s' and returns
            what was expected and what came instead
        :raises TimeoutException: it isn't done in time
        """
        timeout = CONF.disk_format.operation_timeout
        if not test_utils.call_until_true(done, timeout, 1):
            raise lib_exc.TimeoutException(told(f'within {timeout} s'))

    def _unexpected_status(self, seen, status):
        fault = seen.get('fault', {}).get('message', 'no fault recorded')
        return (f'server {seen["id"]} on {seen["OS-EXT-SRV-ATTR:host"]}: '
                f'expected status {status}, it is {seen["status"]}: {fault}; '
                f'{self.last_action(seen["id"])}')

    def _wait_for_deletion(self, server_id):
        """Wait until nova knows a server no more."""
        def gone():
            try:
                self.admin_servers.show_server(server_id)
            except lib_exc.NotFound:
                return True
            return False
        self.wait_until(gone, lambda in_time: (
            f'server {server_id}: expected to be gone {in_time} of its '
            'deletion'))

    # Choosing a host for a resize

    def _mark_host(self, host):
        """Give a host's resource provider a trait of its own, until the end.

        nova-compute keeps custom traits that others set.

        :returns: the trait's name
        """
        trait = data_utils.rand_name(
            'FORMAT', prefix='CUSTOM').replace('-', '_')
        client = self.os_admin.placement_client
        # Not create_trait: it sends a body, which placement doesn't read, and
        # uWSGI behind Apache, as DevStack has it, answers that with 502.
        client.put(f'/traits/{trait}', body=None)
        self.addCleanup(client.delete_trait, trait)
        # A hypervisor's id is that of its resource provider (microversion
        # 2.53); the provider's name is the node's, not always the host's.
        provider_id = self.hypervisor_of(host)['id']
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

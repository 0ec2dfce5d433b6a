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

"""What the scenarios expect of servers, and the evidence they leave."""

import os.path
import shlex
import time

from oslo_log import log
from tempest import config
from tempest.lib.common import api_version_request
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager
from testtools import content
from testtools import content_type

from tempest_format_plugin import attachments
from tempest_format_plugin import cloud
from tempest_format_plugin import config as format_config
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions as formats_exceptions
from tempest_format_plugin.formats import findings
from tempest_format_plugin.formats import guest_console
from tempest_format_plugin.formats import models
from tempest_format_plugin.formats import redaction
from tempest_format_plugin.formats import table
from tempest_format_plugin.guests import boot
from tempest_format_plugin.hosts import exceptions as hosts_exceptions
from tempest_format_plugin import results
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import verdicts

CONF = config.CONF
LOG = log.getLogger(__name__)


class FormatScenarioTest(servers.ServerVerbs):
    """What is believed of the disks of servers, and whether they boot."""

    credentials = ['primary', 'admin']
    # 2.74: create a server on a host by name, whatever its zone.
    compute_min_microversion = '2.74'
    # Of [compute-feature-enabled], what the tests of a class need besides the
    # console and the config drive.
    needed_features = ()
    # Compute hosts that they need, by image backend.
    needed_hosts = {}
    # What they damage on a compute host, as a sentence; None: nothing.
    damage = None
    # What they do to the cloud, of config.SAFETY_LEVELS.
    safety_level = format_config.OPERATIONS

    @classmethod
    def skip_checks(cls):
        # Before the parent's own check, which doesn't name the option.
        for service in ('compute', 'volume', 'placement'):
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
        allowed = CONF.disk_format.safety_level
        levels = format_config.SAFETY_LEVELS
        if levels.index(cls.safety_level) > levels.index(allowed):
            raise cls.skipException(
                f'This is a test of the safety level {cls.safety_level}, '
                f'[disk_format] safety_level is {allowed}')
        for backend, count in cls.needed_hosts.items():
            cls.hosts_of(backend, count)
        if cls.damage and not CONF.disk_format.allow_sabotage:
            raise cls.skipException(
                f'{cls.damage}: [disk_format] allow_sabotage is false')

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
        self._step = 0
        # The first cleanup to be registered is the last to run.
        started = time.process_time()
        self.addCleanup(lambda: self.addDetail(
            results.OWN_SECONDS_DETAIL, content.text_content(
                f'{time.process_time() - started:.3f}')))
        self.addOnException(self._collect_evidence)

    @classmethod
    def hosts_of(cls, backend, count):
        """Return hosts of an image backend; skip if there are too few."""
        hosts = cloud.hosts_of_backend(backend)
        if len(hosts) < count:
            raise cls.skipException(
                f'{count} compute hosts of the image backend {backend} are '
                f'needed, [disk_format] compute_backends names {len(hosts)}')
        return hosts[:count]

    # Observing

    def observe(self, server_id, when):
        """Observe a server's disks on its host and keep it as evidence.

        Where the guest has booted since the last operation and tells the
        sizes of its disks, they are part of it.

        :param when: the moment, as the test's steps call it
        :returns: (formats.models.ServerObservation, its Disagreements)
        """
        server = self._read(server_id)
        disagreements = agreement.judge(server)

        def settled():
            nonlocal server, disagreements
            server = self._read(server_id)
            disagreements = agreement.judge(server)
            return not disagreements
        # Where cinder has told nova of a snapshot, both take a moment more to
        # write down what has become of it.
        if disagreements and self.volumes_of(server_id):
            test_utils.call_until_true(
                settled, CONF.disk_format.settle_timeout, 1)
        text = table.render(server, disagreements)
        guest = self.followed[server_id].guest
        if guest is not None:
            text += (f'\nThe guest has booted this root disk '
                     f'{guest.counter} times, now as {guest.boot_id}.')
        self.followed[server_id].observed = server
        self.keep_table(when, text, models.as_dict(server))
        return server, disagreements

    def keep_table(self, when, text, data):
        """Keep a table as evidence: it becomes part of the report.

        :param when: the moment, which it is called after
        :param data: the same, as JSON has it
        """
        LOG.info('%s:\n%s', when, text)
        self._step += 1
        self.addDetail(f'{self._step}-{when}.txt', content.text_content(text))
        self.addDetail(f'{self._step}-{when}.json', content.json_content(data))

    def _read(self, server_id):
        """Return the ServerObservation of a server as it is now."""
        host = self.host_of(server_id)
        server = cloud.compute_hosts().get(host).observe(server_id)
        guest = self.followed[server_id].guest
        if guest is not None:
            server = server.with_guest(guest)
        if self.volumes_of(server_id):
            server = server.with_attachments(attachments.of_server(
                self.os_admin.attachments_client_latest, server_id, host))
        return server

    def left_on(self, host, server_id):
        """Return what a host has of a server that isn't on it.

        nova takes some seconds to clean up behind a server that has left.

        :param host: a ComputeHost
        :returns: formats.models.ServerObservation
        """
        seen = [host.observe(server_id)]

        def clean():
            seen.append(host.observe(server_id))
            return (seen[-1].state == models.ABSENT
                    and not seen[-1].observations)
        test_utils.call_until_true(clean, CONF.disk_format.settle_timeout, 1)
        return seen[-1]

    def clear_in_the_end(self, host):
        """Remove from a host what nova leaves of the test's servers there.

        Of a server whose resize or cold migration failed on the target, nova
        deletes nothing on the source, not even with the server. Only where
        tests may edit files of hosts. Call it before the servers are made.
        """
        if CONF.disk_format.allow_sabotage:
            self.addCleanup(self._clear, cloud.compute_hosts().get(host))

    def _clear(self, host):
        for server in self.followed:
            directory = host.profile.instance_dir(server)
            host.instances_shell(
                f'{shlex.join(host.profile.virsh)} undefine {server} '
                f'< /dev/null\n'
                f'rm -rf {directory} {directory}_resize {directory}_del\n')

    # Expecting

    def note_agreement(self, server_id, when):
        """Observe, and leave it to the next expectation to judge.

        For a moment at which a bug can be seen already that does its damage
        later. What disagrees now is found then, whatever has become of it.
        """
        server, disagreements = self.observe(server_id, when)
        self._check_complete(server)
        if disagreements:
            self.followed[server_id].noted.append(
                (when, server, disagreements))

    def expect_agreement(self, server_id, when):
        """Expect every source to agree about each disk of a server.

        :raises DisagreementFound: they don't, or didn't when they were noted
        """
        followed = self.followed[server_id]
        refused = followed.outcome == bugs.REFUSED
        server, disagreements = self.observe(server_id, when)
        if not refused:
            self._check_complete(server)
        if not (disagreements or followed.noted or refused):
            return
        qemu_log = ''
        if refused:
            qemu_log = cloud.compute_hosts().get(server.host).qemu_log(
                self.domain_name(server_id))
        fact = findings.Disagreeing(server, disagreements, followed.outcome,
                                    tuple(followed.noted), qemu_log)
        moments = [*followed.noted, (when, server, disagreements)]
        told = [f'{moment}: {found}' for moment, _, all_found in moments
                for found in all_found]
        error = verdicts.DisagreementFound
        if refused:
            error = verdicts.StartRefused
            told.insert(0, f'{followed.refusal}; QEMU: '
                        + (' | '.join(qemu_log.strip().splitlines()[-2:])
                           or 'no log'))
        raise error(
            f'{when}, server {server_id} on {server.host}: expected '
            f'agreement, but (guest {followed.outcome or "not waited for"}):'
            '\n' + '\n'.join(told), fact, after_operation=followed.operated_on)

    def expect_boot_and_agreement(self, server_id, when):
        """Expect a server's guest to boot and every source to agree.

        Where the guest tells it, also: that the same root disk booted once
        more, that each disk has the size that its format implies, and that
        the guest goes on writing to it.

        :raises DisagreementFound: sources disagree, whether it boots or not
        :raises StartRefused: nova could not start it
        :raises GuestSilent: they agree, and yet the guest did not boot
        """
        followed = self.followed[server_id]
        if followed.outcome == bugs.REFUSED:
            self.expect_agreement(server_id, when)
        options = CONF.disk_format
        booted = boot.wait_for_boot(
            lambda: self.console(server_id),
            before=followed.console,
            marker=options.boot_marker, timeout=options.boot_timeout,
            interval=options.boot_poll_interval)
        LOG.info('%s: the guest of server %s %s after %.0f s', when,
                 server_id, booted.outcome, booted.seconds)
        followed.outcome = booted.outcome
        if booted.outcome == bugs.BOOTED:
            followed.booted = booted
        else:
            self.addDetail(
                f'{self._step + 1}-{when}-console.txt', content.text_content(
                    redaction.redact(booted.console[-4000:])))
        self.expect_agreement(server_id, when)
        if booted.outcome == bugs.SILENT:
            raise verdicts.GuestSilent(
                f'{when}: the guest of server {server_id} did not write '
                f'{options.boot_marker!r} to its console within '
                f'{options.boot_timeout} s; the console ends with: '
                f'{booted.console[-2000:]!r}')
        self._expect_same_disk(server_id, when)

    def expect_same_boot(self, server_id):
        """Expect the guest that has booted to go on writing to its root disk.

        Of a guest that tells no boot ids nothing is expected.

        :raises HeartbeatError: it doesn't
        """
        guest = self.followed[server_id].guest
        if guest is not None:
            boot.wait_for_heartbeat(
                lambda: self.console(server_id), guest.boot_id,
                timeout=CONF.disk_format.heartbeat_timeout,
                interval=CONF.disk_format.boot_poll_interval)

    def _check_complete(self, server):
        """Check that there was something to agree about, for each disk.

        Where the options lead to another host, another libvirt or another
        directory than the server's, nothing would contradict anything.
        """
        host = cloud.compute_hosts().get(server.host)
        directory = host.profile.instance_dir(server.server_id)
        followed = self.followed[server.server_id]
        for disk in followed.disks:
            xml = server.xml(disk)
            if xml is None:
                has = ', '.join(filter(server.xml, server.disks()))
                raise hosts_exceptions.HostAccessError(
                    server.host, f'expected {disk} in the domain XML of '
                    f'server {server.server_id}, which nova says is here; the '
                    f'domain is {server.state} and has {has or "no disks"}',
                    'compute_addresses, virsh_command or container_name')
            if not models.is_local(disk):
                for source in (models.ATTACHMENT, models.ATTACHMENT_LIST):
                    self.assertIsNotNone(
                        server.of(disk, source),
                        f'cinder has no {source} of volume {disk} to server '
                        f'{server.server_id}, whose domain uses it')
            elif os.path.dirname(xml.path or '') != directory:
                raise hosts_exceptions.HostAccessError(
                    server.host, f'expected {disk} of server '
                    f'{server.server_id} in {directory}, the domain XML has '
                    f'{xml.path}', 'instances_path')
            if (followed.guest is not None
                    and not models.is_config_drive(disk)
                    and disk not in followed.hot_plugged):
                self.assertIsNotNone(
                    server.of(disk, models.GUEST),
                    f'the guest of server {server.server_id} told of its '
                    f'disks, but not of {xml.target} ({disk})')

    def _expect_same_disk(self, server_id, when):
        followed = self.followed[server_id]
        guest, previous = followed.guest, followed.previous
        if guest is None:
            self.assertNotIn(
                guest_console.PREFIX, followed.booted.console,
                f'{when}: what the guest of server {server_id} tells of its '
                'boot is not understood')
            return
        if previous is not None and previous.guest is not None:
            expected = previous.guest.counter + 1
            if guest.counter != expected:
                raise verdicts.OtherDiskBooted(
                    f'{when}: expected boot {expected} of the root disk of '
                    f'server {server_id}, the guest tells of its boot '
                    f'{guest.counter}: another disk, or another state of it')
        self.expect_same_boot(server_id)

    # Evidence

    def _collect_evidence(self, exc_info):
        """Keep what the hosts have of each server, once a test goes wrong.

        The domain XML, disk.info, what qemu-img says, and QEMU's log.
        """
        if issubclass(exc_info[0], self.skipException):
            return
        for server_id in self.followed:
            for host in cloud.hosts_of_backend(cloud.ANY):
                try:
                    kept = cloud.compute_hosts().get(host).evidence(
                        server_id, self.domain_name(server_id))
                except Exception as error:
                    # testtools takes a test for passed whose handler of an
                    # exception raises one: whatever it is, it is only told.
                    LOG.exception('No evidence of server %s on %s',
                                  server_id, host)
                    kept = {'error.txt': repr(error)}
                for name, text in kept.items():
                    self.addDetail(
                        f'{results.EVIDENCE}{host}/{server_id}/{name}',
                        _file(redaction.redact(text)))


def _file(text):
    """Return a detail that no runner prints: it is for reading elsewhere."""
    return content.Content(
        content_type.ContentType('application', 'octet-stream'),
        lambda: [text.encode()])


def _version(text):
    return api_version_request.APIVersionRequest(text)

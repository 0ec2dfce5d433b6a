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

"""What the unit tests of the scenarios share: a cloud of answers alone."""

import itertools
import json
from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc
import testtools

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.tests.scenario import base as scenario_base
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

SERVER = 'some-server'
HOST = observed.HOST
TARGET = 'node-2'
DOMAIN = 'instance-0000001a'


def answer(status='ACTIVE', task=None, host=HOST, **fields):
    """Return what nova's API says of the server."""
    return {'server': {
        'id': SERVER, 'status': status, 'OS-EXT-STS:task_state': task,
        'OS-EXT-SRV-ATTR:host': host,
        'OS-EXT-SRV-ATTR:instance_name': DOMAIN, **fields}}


def in_turn(*answers):
    """Return a side effect: the answers one by one, the last for ever."""
    return itertools.chain(answers, itertools.repeat(answers[-1]))


def console(boot_id, counter):
    """Return what the lab's guest writes in one boot."""
    return '\r\n'.join([
        '', f'FORMAT-GUEST boot_id={boot_id} root=vda',
        *(f'FORMAT-GUEST disk={disk} sectors={observed.SIZE // 512} serial='
          for disk in ('vda', 'vdb', 'vdc')),
        f'FORMAT-GUEST ready boot_id={boot_id} counter={counter}', ''])


def absent(host=HOST, *disks):
    """Return what a host without the server's domain says of it."""
    return models.ServerObservation(SERVER, host, models.ABSENT,
                                    sum(disks, ()))


class Clock(fixtures.Fixture):
    """Time that passes only while somebody sleeps."""

    def _setUp(self):
        self.now = 0
        self.useFixture(fixtures.MonkeyPatch('time.time', lambda: self.now))
        self.useFixture(fixtures.MonkeyPatch('time.sleep', self._sleep))

    def _sleep(self, seconds):
        self.now += seconds


class ScenarioTestCase(base.TestCase):
    """A scenario on a cloud of which only the answers exist.

    :cvar scenario_class: the class that the scenario is of
    :cvar modules: where else it reads its options
    """

    scenario_class = scenario_base.FormatScenarioTest
    modules = ()

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(
            cloud, scenario_base, servers, verdicts, *self.modules))
        self.conf.set(boot_timeout=1, operation_timeout=5,
                      boot_marker='FORMAT-GUEST ready',
                      compute_backends={HOST: 'raw', TARGET: 'qcow2'})
        self.conf.config(group='compute', image_ref='some-image')
        self.useFixture(fixtures.FakeLogger())
        self.clock = self.useFixture(Clock())
        for name in ('setUp', 'tearDown'):
            # tempest's own would read its configuration.
            self.useFixture(fixtures.MonkeyPatch(
                f'tempest.scenario.manager.ScenarioTest.{name}',
                getattr(testtools.TestCase, name)))
        self.admin = mock.MagicMock()
        self.servers = self.admin.servers_client
        self.servers.create_server.return_value = {'server': {'id': SERVER}}
        self.servers.list_instance_actions.return_value = {'instanceActions': [
            {'action': 'migrate', 'request_id': 'req-2'},
            {'action': 'create', 'request_id': 'req-1'}]}
        self.servers.show_server.side_effect = self._show_server
        self.events()
        self.answer()
        self.console('')
        self.admin.flavors_client.create_flavor.return_value = {
            'flavor': {'id': 'some-flavor'}}
        self.hosts = {host: self._host() for host in (HOST, TARGET)}
        self.host = self.hosts[HOST]
        self.useFixture(fixtures.MockPatchObject(cloud, 'compute_hosts')
                        ).mock.return_value.get.side_effect = self.hosts.get
        self.scenario = self.scenario_type()('runTest')
        self.scenario.setUp()

    @staticmethod
    def _host():
        host = mock.Mock(profile=profile.get('lab'))
        host.qemu_log.return_value = ''
        host.evidence.return_value = {}
        return host

    def scenario_type(self, body=None):
        """Return the class of a scenario on this cloud.

        :param body: function of the scenario: its test
        """
        class Scenario(self.scenario_class):
            os_admin = self.admin

            def runTest(self):
                """Steps."""
                body(self)
        return Scenario

    def run_scenario(self, body):
        """Run a whole scenario, its cleanups and all.

        :returns: (the scenario, its testtools.TestResult)
        """
        scenario = self.scenario_type(body)('runTest')
        result = testtools.TestResult()
        scenario.run(result)
        return scenario, result

    def follow(self, *disks):
        """Let the scenario know the server, as it does once it is booted."""
        self.scenario.followed[SERVER] = servers.Followed(
            disks or servers.LOCAL_DISKS)
        return self.scenario.followed[SERVER]

    def answer(self, *args, **kwargs):
        """Let nova say this of the server from now on, until its deletion."""
        self.answers(answer(*args, **kwargs))

    def answers(self, *answers):
        """Let nova say these of the server one by one, the last for ever."""
        self._answers = in_turn(*answers)

    def _show_server(self, server_id):
        if self.servers.delete_server.called:
            raise lib_exc.NotFound
        return next(self._answers)

    def events(self, *events):
        self.servers.show_instance_action.return_value = {
            'instanceAction': {'events': events}}

    def console(self, text):
        self.servers.get_console_output.return_value = {'output': text}

    def observes(self, *found, host=HOST):
        """Let a host observe these, one after the other, then the last."""
        self.hosts[host].observe.side_effect = in_turn(*found)

    def attached(self, *attachments, name=f'volume-{observed.VOLUME}'):
        """Let cinder know attachments of the volume observed.VOLUME.

        :param attachments: (id, server, format when shown, when listed) of
            each; no format: it isn't connected
        :param name: of the volume's file
        """
        def body(attachment_id, server, format_):
            return {'id': attachment_id, 'instance': server,
                    'volume_id': observed.VOLUME, 'connection_info': format_
                    and {'driver_volume_type': 'nfs', 'format': format_,
                         'name': name}}
        client = self.admin.attachments_client_latest
        client.get.return_value = (None, json.dumps({'attachments': [
            body(key, server, listed)
            for key, server, _, listed in attachments]}))
        client.show_attachment.side_effect = {
            key: {'attachment': body(key, server, shown)}
            for key, server, shown, _ in attachments}.get

    def calls(self, *names):
        """Return the names of the calls of clients so far, of these only."""
        return [name for name, *_ in self.admin.mock_calls
                if name.split('.')[-1] in names]

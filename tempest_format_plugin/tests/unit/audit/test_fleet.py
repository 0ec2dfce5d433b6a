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

import json
from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc
from urllib3 import exceptions as urllib3_exc

from tempest_format_plugin.audit import fleet
from tempest_format_plugin.audit import walk
from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

VOLUME = observed.VOLUME


def body(server_id, host='h-1', project='p', volumes=(), status='ACTIVE'):
    return {'id': server_id, 'OS-EXT-SRV-ATTR:host': host,
            'tenant_id': project, 'status': status,
            'os-extended-volumes:volumes_attached': list(volumes)}


class ServersTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.client = mock.Mock()
        self.pages([body('s-1'), body('s-2', volumes=[{'id': VOLUME}])],
                   [body('s-3', host=None, project='q')])

    def pages(self, *pages):
        self.client.list_servers.side_effect = [
            {'servers': page} for page in (*pages, [])]

    def servers(self, **filters):
        return list(fleet.servers(self.client, **filters))

    def asked(self):
        return [call.kwargs for call in self.client.list_servers.mock_calls]

    def test_pages(self):
        self.assertEqual([('s-1', 'h-1', 'p', []),
                          ('s-2', 'h-1', 'p', [VOLUME]),
                          ('s-3', None, 'q', [])], self.servers())
        common = {'detail': True, 'all_tenants': 1, 'limit': fleet.PAGE}
        self.assertEqual([common, common | {'marker': 's-2'},
                          common | {'marker': 's-3'}], self.asked())

    def test_hosts(self):
        self.client.list_servers.side_effect = [
            {'servers': [body('s-1')]}, {'servers': []},
            {'servers': [body('s-2', host='h-2')]}, {'servers': []}]
        self.assertEqual(2, len(self.servers(hosts=['h-1', 'h-2'])))
        self.assertEqual(['h-1', 'h-1', 'h-2', 'h-2'],
                         [call['host'] for call in self.asked()])

    def test_projects_of_hosts(self):
        self.assertEqual(['s-3'], [server for server, *_ in self.servers(
            hosts=['h-1'], projects=['q'])])

    def test_projects(self):
        self.servers(projects=['p'])
        self.assertEqual('p', self.asked()[0]['project_id'])

    def test_pages_that_do_not_heed_the_marker(self):
        self.client.list_servers.side_effect = None
        self.client.list_servers.return_value = {'servers': [body('s-1')]}
        self.assertEqual(1, len(self.servers()))

    def test_projects_without_servers(self):
        self.client.list_servers.side_effect = [
            {'servers': [body('s-1')]}, {'servers': []}, {'servers': []}]
        said = []
        self.servers(projects=['p', 'tpyo'], told=said.append)
        self.assertEqual(['nova lists no server of project_id tpyo'], said)

    def nova(self, *ids, cap=fleet.PAGE):
        """Have nova list servers in an order, as many at once as it likes."""
        self.there = list(ids)

        def list_servers(limit, marker=None, **_):
            if marker is not None and marker not in self.there:
                raise lib_exc.BadRequest(
                    {'message': f'marker [{marker}] not found'})
            first = 0 if marker is None else self.there.index(marker) + 1
            return {'servers': [body(one) for one in self.there[
                first:first + min(limit, cap)]]}
        self.client.list_servers.side_effect = list_servers

    def test_pages_smaller_than_asked_for(self):
        """As where nova's max_limit is lower than what is asked for."""
        self.nova(*(f's-{number}' for number in range(7)), cap=3)
        self.assertEqual([f's-{number}' for number in range(7)],
                         [server for server, *_ in self.servers()])

    def deleting(self, *gone, after):
        """Return what is listed where servers go away meanwhile."""
        listed = []
        for server, *_ in fleet.servers(self.client):
            listed.append(server)
            if server == after:
                self.there = [one for one in self.there if one not in gone]
        return listed

    def test_marker_that_is_deleted(self):
        self.nova(*'abcdef', cap=3)
        self.assertEqual([*'abcdef'], self.deleting('c', after='c'))

    def test_markers_that_are_deleted(self):
        """The page before is gone on from, or the list begins anew."""
        self.nova(*'abcdefgh', cap=3)
        self.assertEqual([*'abcdefgh'], self.deleting(*'def', after='f'))
        self.nova(*'abcdefgh', cap=3)
        self.assertEqual([*'abcdefgh'], self.deleting(*'abc', after='c'))

    def test_bad_request_of_another_kind(self):
        self.client.list_servers.side_effect = [
            {'servers': [body('s-1')]}, lib_exc.BadRequest('host')]
        self.assertRaises(lib_exc.BadRequest, self.servers)

    def test_no_such_server(self):
        self.client.show_server.side_effect = lib_exc.NotFound
        error = self.assertRaises(fleet.NoServer, self.servers, ids=['s-9'])
        self.assertEqual('nova has no server s-9', str(error))

    def test_not_all_projects(self):
        self.client.list_servers.side_effect = lib_exc.Forbidden('no')
        error = self.assertRaises(fleet.NoAdmin, self.servers)
        self.assertIn('[auth] admin_username', str(error))

    def test_no_admin(self):
        server = body('s-1')
        del server['OS-EXT-SRV-ATTR:host']
        self.pages([server])
        error = self.assertRaises(fleet.NoAdmin, self.servers)
        self.assertIn('is not an admin', str(error))

    def test_ids(self):
        self.client.show_server.side_effect = lambda server: {
            'server': body(server)}
        self.assertEqual(['s-8', 's-9'], [server for server, *_ in
                                          self.servers(ids=['s-8', 's-9'])])
        self.assertFalse(self.client.list_servers.called)


class PatienceTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.sleep = self.useFixture(fixtures.MockPatch('time.sleep')).mock
        self.said = []
        self.patience = fleet.Patience(self.said.append)
        self.client = mock.Mock(service='compute')

    def ask(self, *answers):
        return self.patience.ask(self.client, mock.Mock(side_effect=answers))

    def pauses(self):
        return [call.args[0] for call in self.sleep.mock_calls]

    def test_what_may_pass(self):
        def answered(status):
            return lib_exc.UnexpectedResponseCode(
                'x', resp=mock.Mock(status=status))
        for number, error in enumerate((
                answered(503), answered(429),
                lib_exc.ServerFault('x', resp=mock.Mock(status=500)),
                urllib3_exc.ProtocolError('dropped'),
                urllib3_exc.MaxRetryError(None, '/'),
                ConnectionResetError(), json.JSONDecodeError('x', '', 0)), 1):
            self.assertEqual('yes', self.ask(error, 'yes'))
            self.assertEqual([1] * number, self.pauses())
            self.assertIn(f'compute failed ({type(error).__name__}: ',
                          self.said[-1])
            self.assertIn('asked again in 1 s', self.said[-1])

    def test_what_does_not_pass(self):
        for error in (lib_exc.NotFound, lib_exc.Forbidden, KeyError,
                      lib_exc.BadRequest, lib_exc.EndpointNotFound):
            self.assertRaises(error, self.ask, error, 'yes')
        self.assertEqual([], self.pauses())

    def test_growing_pauses(self):
        self.assertEqual('yes', self.ask(OSError, OSError, OSError, 'yes'))
        self.assertEqual([1, 4, 15], self.pauses())

    def test_what_does_not_come_back(self):
        """It costs its pauses once, until it answers."""
        self.assertRaises(OSError, self.ask, *[OSError] * 4, 'yes')
        self.assertRaises(OSError, self.ask, OSError, 'yes')
        self.assertEqual([1, 4, 15], self.pauses())
        self.assertEqual('yes', self.ask('yes'))
        self.assertEqual('yes', self.ask(OSError, 'yes'))
        self.assertEqual([1, 4, 15, 1], self.pauses())

    def test_token_that_has_ended(self):
        self.assertEqual('yes', self.ask(lib_exc.Unauthorized, 'yes'))
        self.client.auth_provider.clear_auth.assert_called_once_with()
        self.assertRaises(lib_exc.Unauthorized, self.ask,
                          *[lib_exc.Unauthorized] * 2, 'yes')


class ObserverTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.manager = mock.Mock()
        self.show = self.manager.servers_client.show_server
        self.host = mock.Mock()
        self.hosts = self.useFixture(fixtures.MockPatchObject(
            cloud, 'compute_hosts')).mock.return_value
        self.hosts.get = {'h-1': self.host}.get
        self.observer = fleet.Observer(self.manager)

    def observe(self, *volumes):
        return self.observer.observe('h-1', 's-1', volumes)

    def test_local_disks(self):
        self.host.observe.return_value = observed.server(observed.disk())
        self.assertIs(self.host.observe.return_value, self.observe())
        self.assertFalse(self.manager.mock_calls)

    def attachments(self, *formats):
        """Let cinder know attachments of the server, each shown otherwise."""
        def attachment(number, format_):
            return {'id': f'a-{number}', 'instance': 's-1',
                    'volume_id': VOLUME, 'connection_info': {
                        'driver_volume_type': 'nfs', 'format': format_,
                        'name': f'volume-{VOLUME}'}}
        self.client = self.manager.attachments_client_latest
        self.client.get.return_value = None, json.dumps({'attachments': [
            attachment(number, 'raw') for number in range(len(formats))]})
        self.client.show_attachment.side_effect = [
            {'attachment': attachment(0, format_)} if format_
            else lib_exc.NotFound for format_ in formats]
        self.host.observe.return_value = observed.server(observed.volume(
            attached=None, listed=None))

    def test_attachments(self):
        self.attachments('qcow2')
        server = self.observe(VOLUME)
        self.assertEqual(['qcow2', 'raw'], [
            server.of(VOLUME, source).format
            for source in (models.ATTACHMENT, models.ATTACHMENT_LIST)])
        self.assertIn('instance_id=s-1', self.client.get.call_args.args[0])

    def test_attachment_that_is_gone_meanwhile(self):
        self.attachments(None, 'qcow2')
        self.assertEqual('qcow2', self.observe(VOLUME).of(
            VOLUME, models.ATTACHMENT).format)

    def test_volume_without_an_attachment(self):
        self.attachments()
        error = self.assertRaises(walk.Untold, self.observe, VOLUME)
        self.assertIn(f'no attachment of volume {VOLUME}', str(error))

    def test_leave(self):
        self.observer.leave('h-1')
        self.hosts.forget.assert_called_once_with('h-1')

    def absent(self, kind):
        self.host.observe.return_value = models.ServerObservation(
            's-1', 'h-1', models.ABSENT, ())
        return self.assertRaises(kind, self.observe)

    def test_deleted(self):
        self.show.side_effect = lib_exc.NotFound
        self.assertIsNone(self.absent(walk.ServerMoved).host)

    def test_moved(self):
        for host in ('h-2', None):
            self.show.return_value = {'server': body('s-1', host=host)}
            self.assertEqual(host, self.absent(walk.ServerMoved).host)

    def test_no_domain(self):
        self.show.return_value = {'server': body('s-1', status='SHUTOFF')}
        self.assertIn('status SHUTOFF, but libvirt there has no domain',
                      str(self.absent(walk.Untold)))

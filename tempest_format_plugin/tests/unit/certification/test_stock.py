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

import itertools
from unittest import mock

import fixtures

from tempest_format_plugin.certification import stock
from tempest_format_plugin.tests.unit import base

NOTHING = stock.Stock(frozenset(), {})


def stock_of(*things, **unlisted):
    return stock.Stock(frozenset(things), unlisted)


def thing(kind='volume', id_='1', name='tempest-x', project=''):
    return stock.Thing(kind, id_, name, project)


class LeftTest(base.TestCase):

    def left(self, before, after, prefix='tempest'):
        return [one.id for one in stock.left(before, after, prefix)]

    def test_what_was_there_before(self):
        there = stock_of(thing())
        self.assertEqual([], self.left(there, there))
        self.assertEqual([], self.left(there, NOTHING))
        self.assertEqual(['1'], self.left(NOTHING, there))

    def test_names(self):
        after = stock_of(
            thing(id_='tests', name='tempest-TestX-server-1'),
            thing(id_='of-nova', name='snapshot for tempest-image-1'),
            thing(id_='others', name='their-volume'),
            thing(id_='alike', name='tempestuous'),
            thing(id_='none', name=''))
        self.assertEqual(['of-nova', 'tests'],
                         sorted(self.left(NOTHING, after)))
        self.assertEqual([], self.left(NOTHING, after, prefix='mine'))

    def test_projects(self):
        theirs = thing('project', 'p-theirs', 'their project')
        tests = thing('project', 'p-tests', 'tempest-Test-1')
        after = stock_of(
            theirs, tests,
            thing(id_='1', name='', project='p-theirs'),
            thing(id_='2', name='', project='p-tests'),
            # Its project came and went.
            thing(id_='3', name='', project='p-gone'))
        self.assertEqual(
            ['2', '3', 'p-tests'],
            sorted(self.left(stock_of(theirs), after)))

    def test_traits_are_the_tests_own(self):
        self.assertEqual(['CUSTOM_FORMAT_1'], self.left(
            NOTHING, stock_of(thing('trait', 'CUSTOM_FORMAT_1', ''))))

    def test_text(self):
        self.assertEqual('volume 1 (tempest-x)', str(thing()))
        self.assertEqual('trait 1', str(thing('trait', name='')))


class WaitTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.take = self.useFixture(fixtures.MockPatchObject(
            stock, 'take')).mock
        self.slept = self.useFixture(fixtures.MockPatchObject(
            stock.time, 'sleep')).mock
        self.useFixture(fixtures.MockPatchObject(
            stock.time, 'monotonic', side_effect=itertools.count(0, 10)))

    def test_deletes_take_their_time(self):
        self.take.side_effect = [stock_of(thing()), NOTHING]
        self.assertEqual(([], []), stock.wait(None, NOTHING, 'tempest'))
        self.assertEqual(1, self.slept.call_count)

    def test_what_stays(self):
        self.take.return_value = stock_of(thing())
        self.assertEqual(([thing()], []),
                         stock.wait(None, NOTHING, 'tempest'))
        self.assertEqual(5, self.slept.call_count)

    def test_what_could_not_be_listed(self):
        self.take.return_value = stock_of(port='no answer')
        self.assertEqual(
            ([], ['image: before', 'port: no answer']),
            stock.wait(None, stock_of(image='before'), 'tempest'))


class TakeTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(stock))
        self.conf.config(group='service_available', cinder=True,
                         neutron=False)
        self.manager = mock.Mock()
        listed = {
            'projects_client.list_projects': {'projects': [
                {'id': 'p', 'name': 'tempest-p'}]},
            'users_v3_client.list_users': {'users': []},
            'server_groups_client.list_server_groups': {'server_groups': []},
            'aggregates_client.list_aggregates': {'aggregates': [
                {'id': 7, 'name': 'a'}]},
            'flavors_client.list_flavors': {'flavors': []},
            'image_client_v2.list_images': {'images': []},
            'placement_client.list_traits': {'traits': ['CUSTOM_FORMAT_1']},
            'volumes_client_latest.list_volumes': {'volumes': []},
            'snapshots_client_latest.list_snapshots': {'snapshots': []},
            'servers_client.list_servers': {'servers': []}}
        for path, answer in listed.items():
            client, _, method = path.partition('.')
            getattr(getattr(self.manager, client),
                    method).return_value = answer

    def test_all_kinds(self):
        found = stock.take(self.manager)
        self.assertEqual({}, found.unlisted)
        self.assertEqual({
            stock.Thing('project', 'p', 'tempest-p'),
            stock.Thing('aggregate', '7', 'a'),
            stock.Thing('trait', 'CUSTOM_FORMAT_1', '')}, found.things)

    def test_pages(self):
        pages = [[{'id': '1', 'name': None, 'tenant_id': 'p'},
                  {'id': '2', 'name': 'b', 'tenant_id': 'p'}],
                 [{'id': '3', 'name': 'c', 'tenant_id': 'p'}], []]
        asked = self.manager.servers_client.list_servers
        asked.side_effect = [{'servers': page} for page in pages]
        found = stock.take(self.manager)
        self.assertEqual({'1', '2', '3'}, {
            one.id for one in found.things if one.kind == 'server'})
        self.assertIn(stock.Thing('server', '1', '', 'p'), found.things)
        self.assertEqual([None, '2', '3'], [
            call.kwargs.get('marker') for call in asked.mock_calls])

    def test_pages_without_end(self):
        self.manager.servers_client.list_servers.return_value = {
            'servers': [{'id': '1', 'name': 'a', 'tenant_id': 'p'}]}
        self.assertEqual({}, stock.take(self.manager).unlisted)

    def test_service_that_is_not_there(self):
        self.conf.config(group='service_available', cinder=False)
        stock.take(self.manager)
        self.manager.volumes_client_latest.list_volumes.assert_not_called()

    def test_what_can_not_be_listed(self):
        self.manager.users_v3_client.list_users.side_effect = OSError('no')
        found = stock.take(self.manager)
        self.assertEqual({'user': 'OSError: no'}, found.unlisted)
        self.assertTrue(found.things)

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
import socket
import threading
import time
from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin import cloud
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.discovery import find
from tempest_format_plugin.discovery import host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.discovery import found

IMAGE = {'id': 'i-1', 'name': 'cirros', 'disk_format': 'qcow2', 'size': 10,
         'virtual_size': 100, 'min_ram': 0, 'min_disk': 2}


def service(name, *regions):
    """Return a service of keystone's catalog."""
    return {'type': name, 'endpoints': [
        {'region': region} for region in regions or ['RegionOne']]}


class LookTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud))
        self.manager = self.useFixture(fixtures.MockPatchObject(
            cloud, 'admin')).mock.return_value
        self.patch(socket, 'getaddrinfo', side_effect=socket.gaierror)
        self.looked_at = []
        self.host = self.patch(host, 'look', side_effect=self.look_at_host)
        self.services = ['host-2', 'host-1']
        self.manager.services_client.list_services.side_effect = (
            lambda binary: {'services': [{'host': name}
                                         for name in self.services]})
        self.manager.hypervisor_client.list_hypervisors.return_value = {
            'hypervisors': [
                {'service': {'host': 'host-1'}, 'host_ip': '192.0.2.1'},
                {'service': {'host': 'host-2'}, 'host_ip': '192.0.2.2'},
                {'service': {'host': 'ironic'}, 'host_ip': None}]}
        self.manager.catalog_client.show_catalog.return_value = {
            'catalog': [service(name) for name in (
                'compute', 'volumev3', 'block-storage', 'image')]}
        self.manager.compute_versions_client.list_versions.return_value = {
            'versions': [{'version': ''}, {'version': '2.9'},
                         {'version': '2.104'}]}
        self.manager.placement_client.get.return_value = (None, json.dumps(
            {'versions': [{'max_version': '1.39'}]}))
        volume = self.manager.volume_v3
        self.versions = volume.VersionsClient.return_value.list_versions
        self.versions.return_value = {'versions': [{'version': '3.71'}]}
        self.pools = volume.SchedulerStatsClient.return_value.list_pools
        self.pools.return_value = {'pools': [self.pool('nfs', 'NFS')]}
        self.types = volume.TypesClient.return_value.list_volume_types
        self.types.return_value = {'volume_types': [
            {'name': 'a', 'extra_specs': {'volume_backend_name': 'other'}},
            {'name': 'b', 'extra_specs': {'volume_backend_name': 'nfs'}}]}
        self.images = self.manager.image_client_v2.list_images
        self.images.return_value = {'images': [IMAGE]}
        self.schema = self.manager.schemas_client.show_schema
        self.schema.return_value = {'properties': {'disk_format': {
            'enum': [None, 'raw', 'qcow2']}}}

    def patch(self, owner, name, **more):
        return self.useFixture(fixtures.MockPatchObject(
            owner, name, **more)).mock

    def pool(self, backend, protocol):
        return {'name': f'h@{backend}#p', 'capabilities': {
            'volume_backend_name': backend, 'storage_protocol': protocol,
            'vendor_name': 'V', 'driver_version': '1.0'}}

    def look_at_host(self, connection, address):
        time.sleep(0.001)
        self.looked_at.append(connection.endpoint.address)
        return found.host(connection.endpoint.host, address=address)

    def test_all(self):
        self.assertEqual(facts.CloudFacts(
            hosts=(found.host('host-1', address='192.0.2.1'),
                   found.host('host-2', address='192.0.2.2')),
            pools=(facts.PoolFacts('h@nfs#p', 'NFS', 'nfs', 'V', '1.0'),),
            microversions={'compute': '2.104', 'placement': '1.39',
                           'volume': '3.71'},
            services=('block-storage', 'compute', 'image', 'volumev3'),
            nfs_volume_types=('b',),
            images=(facts.ImageFacts('i-1', 'cirros', 'qcow2', 100,
                                     min_disk=2),),
            raw_images_allowed=True), find.look())
        # As the catalog calls it, whatever tempest.conf does.
        self.manager.volume_v3.TypesClient.assert_called_with(
            service='volumev3')

    def test_addresses(self):
        self.conf.set(compute_addresses={'host-1': '198.51.100.1'})
        find.look()
        self.assertEqual({'198.51.100.1', '192.0.2.2'}, set(self.looked_at))

    def test_name_that_resolves(self):
        self.patch(socket, 'getaddrinfo', return_value=[])
        find.look()
        self.assertEqual({'host-1', 'host-2'}, set(self.looked_at))

    def test_services_that_nova_does_not_use(self):
        self.services = {'a': ('enabled', 'up'), 'b': ('disabled', 'up'),
                         'c': ('enabled', 'down'), 'd': ('disabled', 'down')}
        self.manager.services_client.list_services.side_effect = (
            lambda binary: {'services': [
                {'host': name, 'status': status, 'state': state}
                for name, (status, state) in self.services.items()]})
        self.assertEqual(
            {'a': None, 'b': 'disabled', 'c': 'down', 'd': 'disabled'},
            {one.host: one.out_of_service for one in find.look().hosts})

    def test_only_some(self):
        found_out = find.look(['host-2', 'host-9'])
        self.assertEqual(['host-2'], [one.host for one in found_out.hosts])
        self.assertEqual(('nova has no compute host host-9',),
                         found_out.problems)

    def test_hosts_that_fail(self):
        self.host.side_effect = [
            exceptions.HostAccessError('host-1', 'it is down'),
            RecursionError('too deep')]
        first, second = sorted(
            one.problems[0] for one in find.look(at_once=1).hosts)
        self.assertEqual('RecursionError: too deep', first)
        self.assertIn('compute host host-1: it is down', second)

    def test_some_at_once(self):
        barrier = threading.Barrier(2, timeout=10)

        def meet(connection, address):
            barrier.wait()
            return self.look_at_host(connection, address)
        self.host.side_effect = meet
        find.look(at_once=2)
        self.assertEqual(2, len(self.looked_at))

    def test_progress(self):
        told = mock.Mock()
        find.look(told=told)
        words = [call.args[0] for call in told.call_args_list]
        self.assertEqual('looked at host-', words[1][:15])
        self.assertIn('2 of 2 hosts', words[2])

    def test_interrupted(self):
        self.services = [f'host-{number}' for number in range(50)]

        def interrupt(words):
            if 'looked at' in words:
                raise KeyboardInterrupt
        self.assertRaises(KeyboardInterrupt, find.look, told=interrupt,
                          at_once=1)
        # What had begun ends, no other begins.
        self.assertLess(len(self.looked_at), 50)

    def test_nobody_gets_in(self):
        self.manager.services_client.list_services.side_effect = (
            lib_exc.Forbidden)
        self.assertRaises(lib_exc.Forbidden, find.look)

    def test_apis_that_refuse(self):
        refusing = (
            self.manager.hypervisor_client.list_hypervisors,
            self.manager.compute_versions_client.list_versions,
            self.manager.placement_client.get, self.versions, self.pools,
            self.types, self.images, self.schema)
        for one in refusing:
            one.side_effect = lib_exc.Forbidden(message='x' * 1000)
        found_out = find.look()
        self.assertEqual(len(refusing), len(found_out.problems))
        for problem in found_out.problems:
            self.assertIn(': Forbidden: ', problem)
            self.assertLess(len(problem), 400)
        self.assertEqual(2, len(found_out.hosts))

    def test_apis_that_make_no_sense(self):
        self.manager.placement_client.get.return_value = (None, 'no JSON')
        self.pools.return_value = {'pools': [{'name': 'x'}]}
        self.versions.return_value = {'versions': [{'version': 'three'}]}
        self.schema.return_value = {}
        found_out = find.look()
        self.assertEqual(4, len(found_out.problems))
        for problem in found_out.problems:
            self.assertIn('the answer makes no sense', problem)
        self.assertEqual({'compute': '2.104'}, found_out.microversions)

    def test_api_that_is_not_there(self):
        # tempest lets the errors of urllib3 through.
        self.pools.side_effect = ConnectionError('no route to host')
        self.types.return_value = {'volume_types': [{
            'name': 'a', 'extra_specs': None}]}
        found_out = find.look()
        self.assertEqual(
            "cinder's pools: ConnectionError: no route to host",
            found_out.problems[0])
        self.assertIn("cinder's volume types: the answer makes no sense "
                      "(AttributeError(", found_out.problems[1])
        self.assertEqual(2, len(found_out.hosts))

    def test_no_cinder(self):
        self.manager.catalog_client.show_catalog.return_value = {
            'catalog': [service('compute')]}
        found_out = find.look()
        self.assertEqual(((), (), ()), (found_out.pools, found_out.problems,
                                        found_out.nfs_volume_types))
        self.assertNotIn('volume', found_out.microversions)

    def test_regions(self):
        catalog = [service('compute', 'a', 'b'), service('volumev3', 'b')]
        self.manager.catalog_client.show_catalog.return_value = {
            'catalog': catalog}
        for region, services, problems in (
                ('a', ('compute',), ()),
                ('b', ('compute', 'volumev3'), ()),
                ('c', ('compute', 'volumev3'), (
                    "keystone's catalog has no region c, only a, b: set "
                    "[identity] region",))):
            self.conf.config(group='identity', region=region)
            found_out = find.look()
            self.assertEqual((services, problems), (found_out.services,
                                                    found_out.problems))

    def test_nfs_volume_types(self):
        def types(*pools):
            self.pools.return_value = {'pools': list(pools)}
            self.types.return_value = {'volume_types': [
                {'name': 'a', 'extra_specs': {'volume_backend_name': 'x'}},
                {'name': 'any', 'extra_specs': {}}]}
            return find.look().nfs_volume_types
        self.assertEqual(('a', 'any'), types(self.pool('x', 'nfs')))
        self.assertEqual(('a',), types(self.pool('x', 'NFS'),
                                       self.pool('y', 'ceph')))
        self.assertEqual((), types(self.pool('x', 'NFS'),
                                   self.pool('x', 'iSCSI')))
        self.assertEqual((), types())
        # cinder may name all that a protocol is called.
        self.assertEqual(('a', 'any'), types(self.pool('x', ['NFS', 'nfs'])))
        self.assertEqual('NFS', find.look().pools[0].storage_protocol)

    def test_images(self):
        self.images.return_value = {'images': [
            IMAGE, IMAGE | {'id': 'i-2', 'disk_format': 'raw', 'size': 50,
                            'virtual_size': None},
            IMAGE | {'id': 'i-5', 'size': 200, 'virtual_size': None},
            IMAGE | {'id': 'i-3', 'disk_format': 'iso'},
            IMAGE | {'id': 'i-4', 'os_hidden': True}]}
        self.assertEqual([('i-2', True), ('i-1', True), ('i-5', False)], [
            (one.id, one.size_known) for one in find.look().images])
        # Of more than glance gives at once these are the first.
        self.assertEqual('size', self.images.call_args.args[0]['sort_key'])

    def test_no_raw_images(self):
        self.schema.return_value['properties']['disk_format']['enum'] = [
            None, 'qcow2']
        self.assertFalse(find.look().raw_images_allowed)

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

"""Finding out what a cloud is: by its APIs and from its compute hosts."""

from concurrent import futures
import contextlib
import dataclasses
import json
import socket

from oslo_log import log

from tempest_format_plugin import cloud
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.discovery import host as hosts
from tempest_format_plugin.formats import exceptions as formats_exceptions
from tempest_format_plugin.hosts import exceptions as hosts_exceptions
from tempest_format_plugin.hosts import ssh

LOG = log.getLogger(__name__)

AT_ONCE = 20
# Of an error: some of tempest's show all that keystone said.
LONGEST = 300


def look(only=(), at_once=AT_ONCE, told=lambda words: None):
    """Return the CloudFacts of the cloud that CONF is about. Reads only.

    What can't be found out is a problem of the facts and stops nothing else.

    :param only: names of compute hosts; empty: all
    :param at_once: how many hosts are connected to at once
    :param told: function that is called with words of progress
    :raises tempest.lib.exceptions.RestClientException: keystone doesn't let
        the admin of [auth] in, or nova doesn't list its services to it
    """
    manager = cloud.admin()
    told('asking nova for its compute services')
    services = {service['host']: service for service in
                manager.services_client.list_services(
                    binary='nova-compute')['services']}
    names = sorted(services)
    asked = _Asked(manager)
    addresses = asked.addresses()
    problems = [f'nova has no compute host {name}' for name in only
                if name not in names]
    names = [name for name in names if not only or name in only]
    with futures.ThreadPoolExecutor(at_once) as pool:
        looked_at = {pool.submit(_look_at, name, addresses): name
                     for name in names}
        try:
            for number, one in enumerate(futures.as_completed(looked_at), 1):
                told(f'looked at {looked_at[one]}, {number} of {len(names)} '
                     f'hosts')
        except KeyboardInterrupt:
            # Or all hosts that are left would be looked at first.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    told('asking the APIs')
    found = facts.CloudFacts(
        hosts=tuple(dataclasses.replace(
            one.result(), out_of_service=_out_of_service(services[name]))
            for one, name in looked_at.items()),
        microversions=asked.microversions(), services=asked.services,
        images=asked.images(), raw_images_allowed=asked.raw_images_allowed(),
        **asked.volumes())
    return dataclasses.replace(
        found, problems=(*problems, *asked.problems))


def _out_of_service(service):
    """Return why nova puts no servers on a service's host, None if it does."""
    if service.get('status') == 'disabled':
        return 'disabled'
    return 'down' if service.get('state') == 'down' else None


def _look_at(name, addresses):
    """Return the HostFacts of a compute host, whatever happens."""
    address = _address(name, addresses)
    connection = ssh.Connection(cloud.endpoint(name, address))
    try:
        with contextlib.closing(connection):
            return hosts.look(connection, address)
    except (hosts_exceptions.HostError,
            formats_exceptions.ObservationError) as error:
        problem = str(error)
    except Exception as error:
        # What a host answers may be anything, and is about this host alone.
        LOG.debug('Host %s', name, exc_info=True)
        problem = f'{type(error).__name__}: {error}'
    return facts.HostFacts(name, address, problems=(problem,))


def _address(name, addresses):
    """Return where to reach a host: as set, by its name, or as nova says.

    :param addresses: {host: address} of nova's hypervisors
    """
    configured = cloud.address_of(name)
    if configured:
        return configured
    with contextlib.suppress(OSError):
        socket.getaddrinfo(name, None)
        return name
    return addresses.get(name, name)


class _Asked:
    """What the APIs of a cloud say, and what they wouldn't.

    :ivar services: types in keystone's catalog, of [identity] region
    :ivar problems: what they wouldn't, a line each
    """

    def __init__(self, manager):
        self._manager = manager
        self.problems = []
        self.services = self._services()

    @contextlib.contextmanager
    def _asking(self, what):
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            LOG.debug('%s', what, exc_info=True)
            self.problems.append(
                f'{what}: the answer makes no sense ({error!r})')
        except Exception as error:
            # tempest's, and those of urllib3 that it lets through.
            LOG.debug('%s', what, exc_info=True)
            self.problems.append(
                f'{what}: {type(error).__name__}: '
                f'{" ".join(str(error).split())[:LONGEST]}')

    def addresses(self):
        with self._asking("the addresses of nova's hypervisors"):
            return {one['service']['host']: one['host_ip'] for one in
                    self._manager.hypervisor_client.list_hypervisors(
                        detail=True)['hypervisors'] if one.get('host_ip')}
        return {}

    def _services(self):
        with self._asking("keystone's catalog"):
            found = {
                one['type']: {endpoint['region']
                              for endpoint in one['endpoints']}
                for one in
                self._manager.catalog_client.show_catalog()['catalog']}
            region, regions = cloud.region(), set().union(*found.values())
            if region in regions:
                return tuple(sorted(name for name, having in found.items()
                                    if region in having))
            # tempest takes the first endpoint then.
            self.problems.append(
                f"keystone's catalog has no region {region}, only "
                f"{', '.join(sorted(regions))}: set [identity] region")
            return tuple(sorted(found))
        return ()

    def microversions(self):
        found = {}
        with self._asking("the versions of nova's API"):
            found['compute'] = _highest(
                self._manager.compute_versions_client.list_versions(),
                'version')
        with self._asking("the versions of placement's API"):
            # The client has no method for it.
            _, body = self._manager.placement_client.get('/')
            found['placement'] = _highest(json.loads(body), 'max_version')
        if self._has_volumes:
            with self._asking("the versions of cinder's API"):
                found['volume'] = _highest(
                    self._volume('VersionsClient').list_versions(), 'version')
        return found

    @property
    def _has_volumes(self):
        return facts.volume_catalog_type(self.services) is not None

    def _volume(self, name):
        """Return a client of cinder, which tempest.conf may call otherwise."""
        return getattr(self._manager.volume_v3, name)(
            service=facts.volume_catalog_type(self.services))

    def volumes(self):
        """Return the pools and nfs_volume_types of CloudFacts."""
        pools, types = (), ()
        if self._has_volumes:
            with self._asking("cinder's pools"):
                pools = tuple(
                    _pool(one) for one in self._volume(
                        'SchedulerStatsClient').list_pools(
                            detail=True)['pools'])
            with self._asking("cinder's volume types"):
                types = tuple(_types_on_nfs(
                    self._volume('TypesClient').list_volume_types()[
                        'volume_types'], pools))
        return {'pools': pools, 'nfs_volume_types': types}

    def images(self):
        with self._asking("glance's images"):
            listed = self._manager.image_client_v2.list_images(
                {'status': 'active', 'visibility': 'public',
                 'sort_key': 'size', 'sort_dir': 'asc',
                 # The most that glance gives at once.
                 'limit': 1000})['images']
            return tuple(sorted(
                (facts.ImageFacts(
                    one['id'], one['name'] or '', one['disk_format'],
                    one.get('virtual_size') or one['size'], one['min_ram'],
                    one['min_disk'],
                    size_known=bool(one.get('virtual_size'))
                    or one['disk_format'] != 'qcow2')
                 for one in listed
                 if one['disk_format'] in facts.FILE_BACKENDS
                 and not one.get('os_hidden')),
                key=lambda image: image.size))
        return ()

    def raw_images_allowed(self):
        with self._asking("glance's formats"):
            schema = self._manager.schemas_client.show_schema('image')
            return 'raw' in schema['properties']['disk_format']['enum']
        return None


def _highest(document, field):
    """Return the highest microversion of an API's versions; None: it has none.

    :raises KeyError, ValueError: it makes no sense
    """
    return max((one[field] for one in document['versions'] if one.get(field)),
               key=lambda version: [int(part) for part in version.split('.')],
               default=None)


def _pool(found):
    told = found['capabilities']
    protocol = told.get('storage_protocol') or 'unknown'
    if isinstance(protocol, list):
        # All names of one: cinder/scheduler/host_manager.py,
        # get_storage_protocol_variants.
        protocol = protocol[0]
    return facts.PoolFacts(
        found['name'], protocol,
        backend=told.get('volume_backend_name'),
        vendor=told.get('vendor_name'),
        driver_version=told.get('driver_version'))


def _types_on_nfs(types, pools):
    """Yield the names of the volume types all of whose pools are on NFS.

    A type that names no backend may go to any.
    """
    for one in types:
        backend = one['extra_specs'].get('volume_backend_name')
        protocols = {pool.storage_protocol.lower() for pool in pools
                     if backend in (None, pool.backend)}
        if protocols == {'nfs'}:
            yield one['name']

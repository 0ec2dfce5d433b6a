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

"""What tests have left behind on a cloud."""

import dataclasses
import time

from tempest import config
from tempest.lib.common import api_microversion_fixture

from tempest_format_plugin.audit import fleet

CONF = config.CONF

# 1.6: traits. 2.13: the project of a server group.
MICROVERSIONS = {'volume_microversion': fleet.VOLUME_MICROVERSION,
                 'placement_microversion': '1.6',
                 'compute_microversion': '2.13'}

# Deletes take their time.
SECONDS = 60
PAUSE = 3

# What servers.py calls its traits.
_TRAITS = 'CUSTOM_FORMAT_'


@dataclasses.dataclass(frozen=True)
class Thing:
    """Something that a cloud has.

    :ivar kind: such as 'volume snapshot'
    :ivar name: '' if it has none
    :ivar project: id of the project that it belongs to; '' if to none
    """

    kind: str
    id: str
    name: str
    project: str = ''

    def __str__(self):
        return f'{self.kind} {self.id}' + (
            f' ({self.name})' if self.name else '')


@dataclasses.dataclass(frozen=True)
class Stock:
    """What a cloud has at a moment.

    :ivar things: frozenset of Thing
    :ivar unlisted: {kind: why it could not be listed}
    """

    things: frozenset
    unlisted: dict


def take(manager):
    """Return the Stock of a cloud, as an admin sees it.

    :param manager: tempest.clients.Manager of an admin
    """
    things, unlisted = set(), {}
    with api_microversion_fixture.APIMicroversionFixture(**MICROVERSIONS):
        for kind, lister in _listers().items():
            try:
                things |= {Thing(kind, *each) for each in lister(manager)}
            except Exception as error:
                # Whatever it is: what can't be listed may be there.
                unlisted[kind] = f'{type(error).__name__}: {error}'
    return Stock(frozenset(things), unlisted)


def left(before, after, prefix):
    """Return the Things of tests that came between two Stocks and are there.

    Others may use the cloud meanwhile. A test's are those with tempest's
    prefix in their name or their project's, and those of a project that came
    and went between.

    :param prefix: [DEFAULT] resource_name_prefix of tempest.conf
    :returns: list, by kind and name
    """
    def is_named(name):
        return f'{prefix}-' in name
    projects = {one.id: one.name for stock in (before, after)
                for one in stock.things if one.kind == 'project'}

    def is_a_tests(one):
        return (is_named(one.name) or one.kind == 'trait'
                or bool(one.project)
                and is_named(projects.get(one.project, f'{prefix}-')))
    return sorted(filter(is_a_tests, after.things - before.things),
                  key=lambda one: (one.kind, one.name, one.id))


def wait(manager, before, prefix):
    """Return the Things that stay, and what can't be told, a line each.

    :param before: the Stock from before the tests
    """
    until = time.monotonic() + SECONDS
    while True:
        after = take(manager)
        staying = left(before, after, prefix)
        if not staying or time.monotonic() >= until:
            unlisted = before.unlisted | after.unlisted
            return staying, [f'{kind}: {why}'
                             for kind, why in unlisted.items()]
        time.sleep(PAUSE)


def _listers():
    listers = {
        'project': lambda manager: _named(
            manager.projects_client.list_projects()['projects']),
        'user': lambda manager: _named(
            manager.users_v3_client.list_users()['users']),
        'server': _servers,
        'server group': lambda manager: _named(
            manager.server_groups_client.list_server_groups(
                all_projects=True)['server_groups'], 'project_id'),
        'aggregate': lambda manager: _named(
            manager.aggregates_client.list_aggregates()['aggregates']),
        'flavor': lambda manager: _named(_pages(
            lambda **params: manager.flavors_client.list_flavors(
                is_public='None', **params)['flavors'])),
        'image': lambda manager: _named(_pages(
            lambda **params: manager.image_client_v2.list_images(
                params=params)['images']), 'owner'),
        'trait': lambda manager: (
            (name, '', '') for name in manager.placement_client.list_traits(
                name=f'startswith:{_TRAITS}')['traits']),
    }
    if CONF.service_available.cinder:
        listers |= {'volume': _volumes, 'volume snapshot': _snapshots}
    if CONF.service_available.neutron:
        listers |= {
            'network': lambda manager: _named(
                manager.networks_client.list_networks()['networks'],
                'project_id'),
            'port': lambda manager: _named(
                manager.ports_client.list_ports()['ports'], 'project_id'),
        }
    return listers


def _servers(manager):
    return _named(_pages(
        lambda **params: manager.servers_client.list_servers(
            detail=True, all_tenants=1, **params)['servers']), 'tenant_id')


def _volumes(manager):
    return _named(_pages(
        lambda **params: manager.volumes_client_latest.list_volumes(
            detail=True, params={'all_tenants': 1, **params})['volumes']),
        'os-vol-tenant-attr:tenant_id')


def _snapshots(manager):
    return _named(_pages(
        lambda **params: manager.snapshots_client_latest.list_snapshots(
            detail=True, all_tenants=1, **params)['snapshots']),
        'os-extended-snapshot-attributes:project_id')


def _named(listed, project=None):
    """Yield (id, name, id of the project) of each."""
    for one in listed:
        yield (str(one['id']), one.get('name') or '',
               (project and one.get(project)) or '')


def _pages(ask):
    """Yield what is listed, a page after the other."""
    marker = {}
    while page := ask(limit=fleet.PAGE, **marker):
        yield from page
        following = {'marker': page[-1]['id']}
        if following == marker:
            # What doesn't heed the marker would go on for ever.
            return
        marker = following

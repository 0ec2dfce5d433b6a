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

"""The servers of a cloud, and what all sources say of one of them."""

from tempest.lib import exceptions as lib_exc

from tempest_format_plugin import attachments
from tempest_format_plugin.audit import walk
from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models

# nova's own limit of a page ([api] max_limit).
PAGE = 1000
# 3.27: attachments.
VOLUME_MICROVERSION = '3.27'

_HOST = 'OS-EXT-SRV-ATTR:host'


class NoAdmin(Exception):
    """nova doesn't tell what only an admin is told."""


def servers(servers_client, hosts=(), projects=(), ids=()):
    """Yield (id, host, project, ids of volumes) of each server.

    Those that are on no host, as shelved ones, have host None. A page of them
    is in memory at a time.

    :param hosts, projects, ids: only servers of one of these; empty: of all
    :raises NoAdmin: nova doesn't tell the host
    """
    if ids:
        for server_id in ids:
            yield _facts(servers_client.show_server(server_id)['server'])
        return
    for filters in ([{'host': host} for host in hosts]
                    or [{'project_id': project} for project in projects]
                    or [{}]):
        marker = {}
        while page := servers_client.list_servers(
                detail=True, all_tenants=1, limit=PAGE, **filters,
                **marker)['servers']:
            for server in page:
                facts = _facts(server)
                if not projects or facts[2] in projects:
                    yield facts
            following = {'marker': page[-1]['id']}
            if following == marker:
                # What doesn't heed the marker would go on for ever.
                return
            marker = following


def _facts(server):
    if _HOST not in server:
        raise NoAdmin('nova does not tell the hosts of servers: the user of '
                      '[auth] admin_username is not an admin there')
    return (server['id'], server[_HOST], server['tenant_id'],
            [volume['id'] for volume in
             server['os-extended-volumes:volumes_attached']])


class Observer:
    """Observes servers, on their hosts and at cinder.

    :param manager: tempest.clients.Manager of an admin
    """

    def __init__(self, manager):
        self._manager = manager

    def observe(self, host, server_id, volumes):
        """Return the ServerObservation of a server.

        :param volumes: ids of those that nova has attached to it
        :raises ServerMoved: it isn't there any more
        :raises Untold: nothing of it is there, or of one of its volumes at
            cinder
        :raises HostError, ObservationError: see ComputeHost.observe
        """
        server = cloud.compute_hosts().get(host).observe(server_id)
        if server.state == models.ABSENT:
            self._explain_absence(host, server_id)
        if volumes:
            server = server.with_attachments(attachments.of_server(
                self._manager.attachments_client_latest, server_id, host))
            for volume in volumes:
                if server.of(volume, models.ATTACHMENT) is None:
                    raise walk.Untold(f'cinder has no attachment of volume '
                                      f'{volume}, which nova has attached')
        return server

    def leave(self, host):
        """Close the connection to a host that is done with."""
        cloud.compute_hosts().forget(host)

    def _explain_absence(self, host, server_id):
        try:
            server = self._manager.servers_client.show_server(
                server_id)['server']
        except lib_exc.NotFound:
            raise walk.ServerMoved(None)
        if server[_HOST] != host:
            raise walk.ServerMoved(server[_HOST])
        raise walk.Untold(
            f'nova says that it is on {host}, status {server["status"]}, but '
            f'libvirt there has no domain of it')

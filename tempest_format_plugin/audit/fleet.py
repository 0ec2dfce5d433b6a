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

import time

from tempest.lib import exceptions as lib_exc
from urllib3 import exceptions as urllib3_exc

from tempest_format_plugin import attachments
from tempest_format_plugin.audit import walk
from tempest_format_plugin import cloud
from tempest_format_plugin.formats import models

# What nova gives at most by default ([api] max_limit); where it gives less,
# more pages are asked for.
PAGE = 1000
# Seconds to wait before an API that has failed is asked again.
PAUSES = (1, 4, 15)
# 3.27: attachments.
VOLUME_MICROVERSION = '3.27'

# Statuses below 500 that say "later": timeouts and limits of a rate.
_LATER = (408, 413, 429)
_HOST = 'OS-EXT-SRV-ATTR:host'
_NO_ANSWER = (lib_exc.TempestException, urllib3_exc.HTTPError, OSError,
              ValueError)


class NoAdmin(Exception):
    """nova doesn't tell what only an admin is told."""


class NoServer(Exception):
    """There is no such server."""


class Patience:
    """Asks an API again while what went wrong may pass.

    tempest's clients repeat a broken request at once and answers of 5xx not
    at all. An API that stays out of order is asked but once each time from
    then on, until it answers: thousands of servers may follow.

    :param told: function that takes what there is to say, as text; it may be
        called in several threads
    """

    def __init__(self, told=lambda words: None):
        self._told = told
        self._pauses = PAUSES

    def ask(self, client, function, *args, **kwargs):
        """Return what function(*args, **kwargs) does, which asks client."""
        pauses = iter(self._pauses)
        logged_in = True
        while True:
            try:
                answer = function(*args, **kwargs)
            except lib_exc.Unauthorized:
                # Its token has ended although our clock says that it hasn't.
                if not logged_in:
                    raise
                logged_in = False
                client.auth_provider.clear_auth()
            except Exception as error:
                if not _may_pass(error):
                    raise
                pause = next(pauses, None)
                if pause is None:
                    self._pauses = ()
                    raise
                self._told(f'{client.service} failed ({_told(error)}); it is '
                           f'asked again in {pause} s')
                time.sleep(pause)
            else:
                self._pauses = PAUSES
                return answer


def _may_pass(error):
    """Whether what an API has answered, or not answered, may pass."""
    status = getattr(getattr(error, 'resp', None), 'status', 0)
    return (status >= 500 or status in _LATER
            # No answer, or half of one.
            or isinstance(error, (urllib3_exc.HTTPError, OSError, ValueError)))


def _told(error):
    return f'{type(error).__name__}: {error}'


def servers(servers_client, hosts=(), projects=(), ids=(),
            told=lambda words: None):
    """Yield (id, host, project, ids of volumes) of each server.

    Those that are on no host, as shelved ones, have host None. A page of them
    is in memory at a time. One that moves meanwhile may come twice.

    :param hosts, projects, ids: only servers of one of these; empty: of all
    :param told: as of Patience
    :raises NoAdmin: nova doesn't tell the host, or of all servers
    :raises NoServer: nova has no server of one of the ids
    """
    ask = Patience(told).ask
    if ids:
        for server_id in ids:
            try:
                shown = ask(servers_client, servers_client.show_server,
                            server_id)
            except lib_exc.NotFound:
                raise NoServer(f'nova has no server {server_id}')
            yield _facts(shown['server'])
        return
    for filters in ([{'host': host} for host in hosts]
                    or [{'project_id': project} for project in projects]
                    or [{}]):
        listed = False
        for page in _pages(ask, servers_client, filters):
            listed = True
            for server in page:
                facts = _facts(server)
                if not projects or facts[2] in projects:
                    yield facts
        for name, value in filters.items():
            if not listed:
                told(f'nova lists no server of {name} {value}')


def _pages(ask, servers_client, filters):
    """Yield lists of servers as nova shows them, page by page."""
    # What can be gone on from, the best at the end; None: the beginning.
    markers = [None]
    while True:
        marker = {'marker': markers[-1]} if markers[-1] else {}
        try:
            page = ask(servers_client, servers_client.list_servers,
                       detail=True, all_tenants=1, limit=PAGE, **filters,
                       **marker)['servers']
        except lib_exc.Forbidden as error:
            raise NoAdmin(f'nova does not list the servers of all projects '
                          f'for the user of [auth] admin_username: {error}')
        except lib_exc.BadRequest as error:
            if len(markers) == 1 or 'marker' not in str(error):
                raise
            # That server was deleted meanwhile, and purged. The list has an
            # order, so that the one before it does as well.
            markers.pop()
            continue
        # What doesn't heed the marker would go on for ever.
        if not page or page[-1]['id'] == markers[-1]:
            return
        yield page
        markers = [*dict.fromkeys((None, markers[-1])),
                   *(server['id'] for server in page)]


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
    :param told: as of Patience
    """

    def __init__(self, manager, told=lambda words: None):
        self._manager = manager
        self._nova = Patience(told)
        self._cinder = Patience(told)

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
            server = server.with_attachments(
                self._attachments(server_id, host))
            for volume in volumes:
                if server.of(volume, models.ATTACHMENT) is None:
                    raise walk.Untold(f'cinder has no attachment of volume '
                                      f'{volume}, which nova has attached')
        return server

    def leave(self, host):
        """Close the connection to a host that is done with."""
        cloud.compute_hosts().forget(host)

    def _attachments(self, server_id, host):
        client = self._manager.attachments_client_latest
        try:
            return self._cinder.ask(client, attachments.of_server, client,
                                    server_id, host)
        except _NO_ANSWER as error:
            raise walk.Untold('cinder does not tell of its attachments: '
                              f'{_told(error)}') from error
        except (AttributeError, LookupError, RecursionError,
                TypeError) as error:
            raise walk.Untold('what cinder tells of its attachments makes no '
                              f'sense: {_told(error)}') from error

    def _explain_absence(self, host, server_id):
        client = self._manager.servers_client
        try:
            server = self._nova.ask(client, client.show_server,
                                    server_id)['server']
        except lib_exc.NotFound:
            raise walk.ServerMoved(None)
        except _NO_ANSWER as error:
            raise walk.Untold(f'libvirt on {host} has no domain of it, and '
                              f'nova does not tell where it is: '
                              f'{_told(error)}') from error
        if server[_HOST] != host:
            raise walk.ServerMoved(server[_HOST])
        raise walk.Untold(
            f'nova says that it is on {host}, status {server["status"]}, but '
            f'libvirt there has no domain of it')

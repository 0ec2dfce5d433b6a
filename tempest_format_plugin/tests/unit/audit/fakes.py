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


"""The APIs of a small cloud, real enough for tempest's clients."""

import collections
import datetime
import http.server
import json
import threading
import urllib.parse

import fixtures

PASSWORD = 'correct-horse'
NOW = '2026-01-01T00:00:00Z'


def server(server_id, host='node-1', volumes=()):
    """What nova shows an admin of a server."""
    return {
        'id': server_id, 'name': 'a', 'status': 'ACTIVE', 'image': '',
        'flavor': {'id': '1', 'links': []}, 'user_id': 'u',
        'tenant_id': 'p', 'created': NOW, 'updated': NOW, 'metadata': {},
        'links': [], 'addresses': {}, 'hostId': 'h',
        'OS-EXT-SRV-ATTR:host': host,
        'os-extended-volumes:volumes_attached': [
            {'id': volume} for volume in volumes]}


class Apis(fixtures.Fixture):
    """keystone, nova and cinder on one port.

    :ivar servers: what nova knows, in the order of its lists
    :ivar attachments: what cinder knows
    :ivar services: types of the services that the catalog has
    :ivar cap: most servers of a page
    :ivar life: seconds that a token says it has
    :ivar faults: {part of a path: answers to give before the right ones}; an
        answer is (status, body), or DROP, or CUT: half of the right one
    :ivar asked: paths so far, with their queries
    """

    DROP, CUT = object(), object()

    def _setUp(self):
        self.servers = []
        self.attachments = []
        self.services = {'compute': 'compute', 'volumev3': 'volume'}
        self.cap = 1000
        self.life = 3600
        self.faults = collections.defaultdict(list)
        self.asked = []
        handler = type('Handler', (_Handler,), {'apis': self})
        self._http = http.server.ThreadingHTTPServer(('127.0.0.1', 0),
                                                     handler)
        self.url = f'http://127.0.0.1:{self._http.server_port}'
        threading.Thread(target=self._http.serve_forever, args=(0.02,),
                         daemon=True).start()
        self.addCleanup(self.stop)

    def stop(self):
        self._http.shutdown()
        self._http.server_close()

    def fault_of(self, path):
        for part, answers in self.faults.items():
            if part in path and answers:
                return answers.pop(0)
        return None

    def answer(self, method, path, query, body):
        """Return the status, headers and body of the right answer."""
        parts = path.strip('/').split('/')
        if parts[-2:] == ['auth', 'tokens']:
            return self._token(json.loads(body))
        if parts[-2:] == ['servers', 'detail']:
            return self._page(query)
        if parts[-2] == 'servers':
            return self._one('server', self.servers, parts[-1])
        if parts[-2:] == ['attachments', 'detail']:
            return 200, {}, {'attachments': self.attachments}
        if parts[-2] == 'attachments':
            return self._one('attachment', self.attachments, parts[-1])
        return 404, {}, {'itemNotFound': {'message': path}}

    def _token(self, body):
        user = body['auth']['identity']['password']['user']
        if user['password'] != PASSWORD:
            return 401, {}, {'error': {
                'code': 401, 'message': 'The request you have made requires '
                'authentication.', 'title': 'Unauthorized'}}
        ends = datetime.datetime.now(datetime.timezone.utc) + (
            datetime.timedelta(seconds=self.life))
        domain = {'id': 'default', 'name': 'Default'}
        return 201, {'X-Subject-Token': 'token'}, {'token': {
            'methods': ['password'], 'expires_at': ends.strftime(
                '%Y-%m-%dT%H:%M:%S.000000Z'), 'issued_at': NOW,
            'user': {'id': 'u', 'name': 'admin', 'domain': domain},
            'project': {'id': 'p', 'name': 'admin', 'domain': domain},
            'roles': [{'id': 'r', 'name': 'admin'}],
            'catalog': [{
                'id': kind, 'name': kind, 'type': kind, 'endpoints': [{
                    'id': f'{kind}-{view}', 'interface': view,
                    'region': 'one', 'region_id': 'one',
                    'url': f'{self.url}/{path}/v3'}
                    for view in ('public', 'internal', 'admin')]}
                for kind, path in self.services.items()]}}

    def _page(self, query):
        there = [one for one in self.servers if query.get('host') in (
            None, one.get('OS-EXT-SRV-ATTR:host'))]
        ids = [one['id'] for one in there]
        first = 0
        if 'marker' in query:
            if query['marker'] not in ids:
                return 400, {}, {'badRequest': {
                    'code': 400,
                    'message': f'marker [{query["marker"]}] not found'}}
            first = ids.index(query['marker']) + 1
        return 200, {}, {'servers': there[
            first:first + min(int(query['limit']), self.cap)]}

    def _one(self, name, there, wanted):
        for one in there:
            if one['id'] == wanted:
                return 200, {}, {name: one}
        return 404, {}, {'itemNotFound': {'code': 404,
                                          'message': 'it could not be found'}}


class _Handler(http.server.BaseHTTPRequestHandler):

    apis: Apis

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        self.apis.asked.append(self.path)
        fault = self.apis.fault_of(self.path)
        if fault is self.apis.DROP:
            self.close_connection = True
            return
        if isinstance(fault, tuple):
            status, headers, said = fault[0], {}, fault[1]
        else:
            status, headers, said = self.apis.answer(
                self.command, address.path, query, body)
        text = said if isinstance(said, str) else json.dumps(said)
        kind = 'text/html' if text.startswith('<') else 'application/json'
        if fault is self.apis.CUT:
            text = text[:len(text) // 2]
        # Each service that is asked for a microversion names it.
        version = self.headers.get('OpenStack-API-Version')
        if version:
            headers = {**headers, 'OpenStack-API-Version': version}
        self.send_response(status)
        for name, value in {**headers, 'Content-Type': kind,
                            'Content-Length': len(text.encode())}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET

    def log_message(self, *_):
        pass

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


"""What may go wrong around an audit, kind by kind.

Each test has one kind of bad input, and expects a clear error or a listed
"couldn't tell", never a traceback, and nothing run that shouldn't be.
tempest's own clients ask APIs on a port, paramiko logs in to an SSH server,
the observe script runs and calls stand-ins of virsh and qemu-img.
SubprocessTest starts ``tempest disk-format audit`` by itself.
"""

import contextlib
import io
import json
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys
import time
import types
from unittest import mock
from xml.sax import saxutils

import fixtures
from tempest.lib import auth
from tempest.lib.services.compute import servers_client
from tempest.lib.services.volume.v3 import attachments_client

from tempest_format_plugin.audit import fleet
from tempest_format_plugin import cloud
from tempest_format_plugin.commands import audit
from tempest_format_plugin.formats import printable
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import observe_script
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit.audit import fakes as apis
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.hosts import fakes

ID = fakes.SERVER_ID
OTHER = '5b1a0a62-9d8c-4f6e-8d6d-6f0c8cf9a2e1'
VOLUME = 'c6a6d5a0-58f0-4c5c-9a3f-0a3a6ab9f3f6'
AGREE, DISAGREE, UNKNOWN, NO_AUDIT = range(4)

# Knows domains by their ids, and tells what it was asked.
VIRSH = f'''#!/bin/sh
root=${{0%/*}}/..
for words; do :; done
echo "$words" >> "$root/virsh.calls"
id=${{words#domstate }}
id=${{id%%;*}}
[ -e "$root/domain.$id" ] && exec cat "$root/domain.$id"
echo; echo '{observe_script.SEPARATOR}'; echo '{observe_script.SEPARATOR}'
echo "error: failed to get domain '$id'" >&2
exit 1
'''


class BadInputTest(base.TestCase):
    """A cloud of one host where two servers agree, and what is bad then."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger('paramiko'))
        self.useFixture(fixtures.FakeLogger('tempest'))
        self.useFixture(fixtures.FakeLogger('urllib3'))
        self.directory = pathlib.Path(self.useFixture(
            fixtures.TempDir()).path)
        self.apis = self.useFixture(apis.Apis())
        self.tools = self.useFixture(fakes.ComputeHost())
        self.tools.write_tool('virsh', VIRSH)
        self.node = self.useFixture(fakes.SshServer(self.tools.env))
        self.servers = {}
        for server_id in (ID, OTHER):
            self.add_server(server_id)
        self.root = self.servers[ID]

    def add_server(self, server_id, host='node-1', volumes=()):
        """A server whose sources agree."""
        directory = self.tools.instances / server_id
        directory.mkdir(exist_ok=True)
        root = self.tools.disk(directory / 'disk')
        (directory / 'disk.info').write_text(json.dumps({root: 'raw'}))
        self.domain(fakes.xml({root: 'raw'}, live=True),
                    fakes.xml({root: 'raw'}), server_id)
        self.apis.servers.append(apis.server(server_id, host, volumes))
        self.servers[server_id] = root

    def domain(self, live, inactive=None, server_id=ID, state='running'):
        """Have virsh know a domain; the XMLs may be bytes."""
        separator = f'\n{observe_script.SEPARATOR}\n'.encode()
        (self.tools.root / f'domain.{server_id}').write_bytes(separator.join(
            part if isinstance(part, bytes) else part.encode()
            for part in (state, live, live if inactive is None
                         else inactive)))

    def disk_info(self, text):
        (self.tools.instance_dir / 'disk.info').write_text(text)

    def expect(self, status, *words, ran):
        """Expect an exit status, and words in what was said or printed."""
        ended, printed, said = ran
        both = printed + said
        self.assertEqual(status, ended, both)
        for word in words:
            self.assertIn(word, both)
        self.assertNotIn('Traceback', both)
        self.assertNotIn(apis.PASSWORD, both)
        for character in both:
            self.assertTrue(character.isprintable() or character == '\n',
                            both)
        if status == NO_AUDIT:
            self.assertEqual('', printed)


class InProcessTest(BadInputTest):

    def setUp(self):
        super().setUp()
        self.password = apis.PASSWORD
        self.endpoint = {}
        self.profile = {}
        self.useFixture(fixtures.MockPatchObject(cloud, 'admin', self.admin))
        self.useFixture(fixtures.MockPatchObject(
            cloud, 'compute_hosts', self.compute_hosts))
        self.sleep = self.useFixture(fixtures.MockPatchObject(
            fleet.time, 'sleep')).mock
        # The Python of the tests need not be the system's.
        self.python(sys.executable)
        self.hosts = None

    def python(self, path):
        self.useFixture(fixtures.MockPatchObject(
            profile, 'PYTHON', (path, '-I', '-S', '-')))

    def patience(self, seconds):
        """How long the observe script waits for its commands."""
        source = compute_host.inspect.getsource
        self.useFixture(fixtures.MockPatchObject(
            compute_host.inspect, 'getsource', lambda module: source(
                module).replace('PATIENCE = 50', f'PATIENCE = {seconds}')))

    def admin(self):
        identity = f'{self.apis.url}/identity/v3'
        provider = auth.KeystoneV3AuthProvider(auth.get_credentials(
            identity, identity_version='v3', username='admin',
            password=self.password, project_name='admin',
            domain_name='Default', user_domain_name='Default',
            project_domain_name='Default'), identity)
        return types.SimpleNamespace(
            servers_client=servers_client.ServersClient(
                provider, 'compute', 'one'),
            attachments_client_latest=attachments_client.AttachmentsClient(
                provider, 'volumev3', 'one'))

    def compute_hosts(self):
        if self.hosts is None:
            own = profile.get('lab', **{
                'instances_path': str(self.tools.instances), **self.profile})
            self.hosts = compute_host.ComputeHosts(
                lambda host: self.node.endpoint(host=host, **self.endpoint),
                lambda host: own)
            self.addCleanup(self.hosts.close)
        return self.hosts

    def audit(self, *arguments):
        """Return the exit status, what it printed and what it said."""
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), \
                contextlib.redirect_stderr(said):
            try:
                command = audit.Audit(mock.Mock(), None)
                status = command.run(
                    command.get_parser('audit').parse_args([*arguments]))
            except SystemExit as error:
                status = error.code
        return status, printed.getvalue(), said.getvalue()

    def expect_audit(self, status, *words, arguments=()):
        ran = self.audit(*arguments)
        self.expect(status, *words, ran=ran)
        return ran

    def expect_unknown(self, *words, server=ID):
        """One server can't be told, the other one agrees."""
        status, printed, said = self.audit('--format', 'json')
        told = json.loads(printed)
        self.assertEqual([server], [one['server'] for one in told['unknown']],
                         told)
        self.assertEqual(1, told['counts']['agrees'])
        reason = printable.printable(
            f'{server} on {told["unknown"][0]["host"]}: '
            f'{told["unknown"][0]["reason"]}')
        self.expect(UNKNOWN, *words, ran=(status, reason, said))

    def expect_all_unknown(self, *words):
        self.expect_audit(UNKNOWN, "0 agrees, 0 disagrees, 2 couldn't tell",
                          *words)


class GoodInputTest(InProcessTest):

    def test_nothing_is_wrong(self):
        """What makes the tests below worth something."""
        self.expect_audit(AGREE, '2 agrees, 0 disagrees')
        self.assertEqual([], self.sleep.mock_calls)
        self.assertEqual(1, self.node.connections)


class KeystoneTest(InProcessTest):

    def test_keystone_is_down(self):
        self.apis.stop()
        self.expect_audit(NO_AUDIT, 'audit: MaxRetryError', 'auth/tokens',
                          'Connection refused')

    def test_wrong_password(self):
        self.password = 'wrong'
        self.expect_audit(NO_AUDIT, 'audit: Unauthorized',
                          'requires authentication')

    def test_keystone_answers_with_a_page(self):
        self.apis.faults['auth/tokens'] = [(502, '<html>Bad gateway')]
        self.expect_audit(NO_AUDIT, 'audit: ', '502')

    def test_token_that_ends_early(self):
        """As where this machine's clock is behind."""
        gone = 401, {'error': {'code': 401, 'message': 'no such token'}}
        self.apis.faults['servers/detail'] = [gone]
        self.expect_audit(AGREE, '2 agrees')
        # Two are needed to log in.
        self.assertEqual(3, sum('tokens' in one for one in self.apis.asked))

    def test_token_that_has_ended_when_it_is_made(self):
        """As where this machine's clock is ahead."""
        self.apis.life = -9999
        self.expect_audit(AGREE, '2 agrees')

    def test_token_that_nova_never_takes(self):
        gone = 401, {'error': {'code': 401, 'message': 'no such token'}}
        self.apis.faults['servers/detail'] = [gone] * 9
        self.expect_audit(NO_AUDIT, 'audit: Unauthorized', 'no such token')


class NovaTest(InProcessTest):

    def test_no_rights_of_an_admin(self):
        self.apis.faults['servers/detail'] = [(403, {'forbidden': {
            'code': 403, 'message': "Policy doesn't allow all tenants"}})]
        self.expect_audit(NO_AUDIT, 'audit: NoAdmin: nova does not list the '
                          'servers of all projects for the user of [auth] '
                          'admin_username', "Policy doesn't allow")

    def test_no_rights_to_see_hosts(self):
        for one in self.apis.servers:
            del one['OS-EXT-SRV-ATTR:host']
        self.expect_audit(NO_AUDIT, 'audit: NoAdmin: nova does not tell the '
                          'hosts of servers')

    def test_nova_is_missing_in_the_catalog(self):
        del self.apis.services['compute']
        self.expect_audit(NO_AUDIT, 'audit: EndpointNotFound')

    def test_page_that_fails_once(self):
        for fault, words in (
                ((503, {'error': {'message': 'busy'}}), 'compute failed (Unex'
                 'pectedResponseCode'),
                ((500, {'computeFault': {'message': 'oops'}}),
                 'compute failed (ServerFault'),
                ((504, '<html>Gateway timeout'), 'asked again in 1 s'),
                (self.apis.DROP, ''),
                (self.apis.CUT, 'compute failed (JSONDecodeError')):
            self.apis.cap = 1
            self.apis.faults[f'marker={ID}'] = [fault]
            self.expect_audit(AGREE, words, '2 agrees')
        self.assertEqual(5 * [[]], [*self.apis.faults.values()] * 5)

    def test_nova_stays_down(self):
        self.apis.faults['servers/detail'] = [
            (503, {'error': {'message': 'busy'}})] * 9
        self.expect_audit(NO_AUDIT, 'asked again in 15 s',
                          'audit: UnexpectedResponseCode')
        self.assertEqual([1, 4, 15], [
            call.args[0] for call in self.sleep.mock_calls])

    def test_limits_of_a_page(self):
        self.apis.cap = 1
        self.expect_audit(AGREE, '2 agrees')
        self.assertEqual(3, sum('detail' in one for one in self.apis.asked))

    def test_last_server_of_a_page_is_deleted(self):
        third = 'd9a2f3cb-5c53-4b37-8d3b-6a57c0a9dfb6'
        self.add_server(third)
        self.apis.cap = 2
        page = self.apis._page

        def then_delete(query):
            answer = page(query)
            self.apis.servers = [one for one in self.apis.servers
                                 if one['id'] != OTHER]
            return answer
        self.apis._page = then_delete
        self.expect_audit(AGREE, '3 agrees')

    def test_empty_cloud(self):
        self.apis.servers = []
        self.expect_audit(NO_AUDIT, 'audit: there is no server to look at')

    def test_host_that_does_not_exist(self):
        self.expect_audit(NO_AUDIT, 'nova lists no server of host tpyo',
                          arguments=('--host', 'tpyo'))
        self.expect_audit(
            AGREE, 'nova lists no server of host $(id)\\x1b[2J',
            arguments=('--host', 'node-1', '--host', '$(id)\x1b[2J'))

    def test_server_that_does_not_exist(self):
        self.expect_audit(NO_AUDIT, f'audit: NoServer: nova has no server '
                          f'{VOLUME}', arguments=('--server', VOLUME))

    def test_server_that_is_no_id(self):
        for bad in ('../flavors', 'x; reboot', ''):
            self.expect_audit(
                NO_AUDIT, 'audit: argument --server: expected the UUID of a '
                f'server, got {bad!r}', arguments=('--server', bad))
        self.assertEqual([], self.apis.asked)

    def test_format_that_is_unknown(self):
        self.expect_audit(NO_AUDIT, "audit: argument --format: invalid choice",
                          arguments=('--format', 'yaml'))

    def test_id_that_is_a_command(self):
        bad = '$(touch pwned); reboot'
        self.apis.servers[0]['id'] = bad
        self.expect_unknown(
            'compute host node-1: expected the UUID of a server, got '
            f"'{bad}'", server=bad)
        self.assertEqual(1, len(self.node.commands))
        self.assertNotIn('pwned', str(self.node.commands))

    def test_host_that_is_a_command(self):
        for bad in ('-oProxyCommand=reboot', '$(reboot)', 'a\0b', 'x' * 300,
                    'ü.' * 200, ''):
            self.endpoint = {'address': bad}
            self.hosts = None
            self.expect_all_unknown(
                'compute host node-1: ', 'set [disk_format] compute_addresses')
        self.assertEqual([], self.node.commands)

    def test_names_that_no_file_can_hold(self):
        self.apis.servers[0]['tenant_id'] = '\ud800'
        self.expect_audit(AGREE, '2 agrees')

    def test_server_is_deleted_meanwhile(self):
        del self.apis.servers[0]
        (self.tools.root / f'domain.{ID}').unlink()
        self.apis.servers.insert(0, apis.server(ID))
        self.apis.faults[f'servers/{ID}'] = [(404, {'itemNotFound': {}})]
        self.expect_audit(AGREE, '1 agrees', "0 couldn't tell")

    def test_domain_is_deleted_behind_nova(self):
        (self.tools.root / f'domain.{ID}').unlink()
        self.expect_unknown('nova says that it is on node-1, status ACTIVE, '
                            'but libvirt there has no domain of it')

    def test_nova_goes_down_meanwhile(self):
        (self.tools.root / f'domain.{ID}').unlink()
        self.apis.faults[f'servers/{ID}'] = [
            (503, {'error': {'message': 'busy'}})] * 99
        self.expect_unknown('libvirt on node-1 has no domain of it, and nova '
                            'does not tell where it is: Unexpected')

    def test_server_moves_meanwhile(self):
        (self.tools.root / f'domain.{ID}').unlink()
        moved = apis.server(ID, 'node-2')
        self.apis.faults[f'servers/{ID}'] = [(200, {'server': moved})] * 2
        self.expect_unknown(f'{ID} on node-2: nova says that it is on node-2, '
                            'status ACTIVE')


class CinderTest(InProcessTest):

    def setUp(self):
        super().setUp()
        self.apis.servers[0] = apis.server(ID, volumes=[VOLUME])

    def test_cinder_is_missing_in_the_catalog(self):
        del self.apis.services['volumev3']
        self.expect_unknown('cinder does not tell of its attachments: '
                            'EndpointNotFound')

    def test_attachments_are_forbidden(self):
        self.apis.faults['attachments/detail'] = [(403, {'forbidden': {
            'code': 403, 'message': 'no'}})] * 9
        self.expect_unknown('cinder does not tell of its attachments: '
                            'Forbidden')

    def test_cinder_fails_once(self):
        self.apis.faults['attachments/detail'] = [(503, {'x': 'busy'})]
        self.expect_unknown(f'cinder has no attachment of volume {VOLUME}')
        self.assertEqual(1, len(self.sleep.mock_calls))

    def test_cinder_stays_down(self):
        self.apis.faults['attachments/detail'] = [(503, {'x': 'busy'})] * 99
        self.expect_unknown('cinder does not tell of its attachments: Unexp')

    def test_answers_that_make_no_sense(self):
        for answer in ('[]', '{"attachments": [[]]}', '{}', '<html>',
                       '{"attachments": [{}]}', '[' * 99999):
            self.apis.faults['attachments/detail'] = [(200, answer)] * 9
            self.expect_unknown('of its attachments')

    def test_attachment_that_makes_no_sense(self):
        for info in ([], {'driver_volume_type': 7}, {
                'driver_volume_type': 'nfs', 'name': '../../etc/shadow'}):
            self.apis.attachments = [{
                'id': 'a', 'instance': ID, 'volume_id': VOLUME,
                'connection_info': info or 'x'}]
            self.expect_unknown(
                f'attachment of volume {VOLUME} on node-1: expected ')


class SshTest(InProcessTest):

    def key(self, path):
        self.endpoint = {'key_file': str(path)}

    def test_no_key(self):
        self.key(self.directory / 'none')
        self.expect_all_unknown("none can't be read (No such file",
                                'set [disk_format] ssh_key_file')

    def test_directory_in_place_of_a_key(self):
        self.key(self.directory)
        self.expect_all_unknown("can't be read (Is a directory)")

    def test_key_with_a_passphrase(self):
        self.node.write_key('id_locked', apis.PASSWORD)
        self.key(self.node.directory / 'id_locked')
        self.expect_all_unknown('id_locked is no private key that can be used '
                                'without a passphrase')

    def test_no_key_in_the_file(self):
        key = self.directory / 'key'
        key.write_bytes(b'\0\xff' * 99)
        self.key(key)
        self.expect_all_unknown('key is no private key that can be used')

    def test_wrong_key(self):
        self.node.write_key('id_other')
        self.key(self.node.directory / 'id_other')
        self.expect_all_unknown('refused the login with',
                                'set [disk_format] ssh_user and ssh_key_file')

    def test_host_key_has_changed(self):
        self.node.write_known_hosts(self.node.user_key)
        self.expect_all_unknown('the host key of stack@127.0.0.1',
                                'has changed: expected ')

    def test_host_key_is_unknown(self):
        pathlib.Path(self.node.known_hosts).write_text('')
        self.expect_all_unknown('the host key of stack@127.0.0.1', 'is not in')

    def test_known_hosts_that_makes_no_sense(self):
        pathlib.Path(self.node.known_hosts).write_bytes(b'\xff\0' * 99)
        self.expect_all_unknown('compute host node-1: the known_hosts file ',
                                'makes no sense')

    def test_host_is_down(self):
        self.node.stop()
        self.expect_all_unknown('compute host node-1: nothing answers at '
                                'stack@127.0.0.1')

    def test_host_goes_down_in_the_middle(self):
        run = fakes._Session._run

        def drop_second(session, channel, command):
            if len(self.node.commands) > 1:
                channel.makefile('rb').read()
                self.node.drop()
                self.node.stop()
            else:
                run(session, channel, command)
        self.useFixture(fixtures.MockPatchObject(
            fakes._Session, '_run', drop_second))
        self.expect_audit(UNKNOWN, '1 agrees', "1 couldn't tell",
                          'compute host node-1: the connection to stack@127')

    def test_host_that_never_answers(self):
        self.node.hang = True
        self.endpoint = {'command_timeout': 0.3}
        self.expect_all_unknown('did not end within 0.3 seconds: set '
                                '[disk_format] ssh_command_timeout')

    def test_host_that_never_stops(self):
        self.useFixture(fixtures.MockPatchObject(ssh, 'MOST_OUTPUT', 9999))
        for stream in ('', ' >&2'):
            self.profile = {'observe': f"sh -c 'yes{stream}'"}
            self.hosts = None
            self.expect_all_unknown('said more than 9999 bytes')

    def test_host_that_says_anything(self):
        for said in ('', 'Last login: yesterday', '[' * 99999, '{}', '[1]',
                     '{"version": 1}', '\\377\\0', '{"version": 1, "domain":'
                     ' null, "disk_info": null, "files": {}}'):
            self.profile = {'observe': f"printf '{said}%.0s'"}
            self.hosts = None
            self.expect_all_unknown('node-1: expected ')

    def tool(self, name, text):
        self.tools.write_tool(name, f'#!/bin/sh\n{text}\n')

    def test_sudo_asks_for_a_password(self):
        self.tool('sudo', 'echo "sudo: a password is required" >&2; exit 1')
        self.profile = {'sudo': 'sudo -n'}
        self.expect_all_unknown(
            'compute host node-1: expected root access without a password',
            'set [disk_format] sudo_command')

    def test_python_is_missing(self):
        self.python('/no/such/python3')
        self.expect_all_unknown('compute host node-1: expected '
                                '/no/such/python3, got: ', 'not found')

    def test_container_is_missing(self):
        self.tool('docker', 'echo "Error: No such container: x" >&2; exit 1')
        self.profile = {'container_name': 'x', 'container_runtime': 'docker'}
        self.expect_all_unknown('expected the container x to run')


class HostTest(InProcessTest):

    def tool(self, name, text):
        self.tools.write_tool(name, f'#!/bin/sh\n{text}\n')

    def test_virsh_is_missing(self):
        (self.tools.bin / 'virsh').unlink()
        self.profile = {'virsh': 'no-virsh'}
        self.expect_all_unknown(
            'compute host node-1: expected a virsh that reaches libvirt, got: '
            'no-virsh: No such file', 'set [disk_format] virsh_command')

    def test_libvirt_is_down(self):
        self.tool('virsh', 'echo "error: failed to connect" >&2; exit 1')
        self.expect_all_unknown('virsh that reaches libvirt, got: error: '
                                'failed to connect')

    def test_virsh_hangs(self):
        self.patience(1)
        self.tool('virsh', 'exec sleep 60')
        self.expect_all_unknown('virsh that reaches libvirt, got: virsh did '
                                'not end within 1 seconds')

    def test_qemu_img_is_missing(self):
        self.profile = {'qemu_img': 'no-qemu-img'}
        self.tool('prlimit', 'echo "prlimit: failed to execute no-qemu-img: '
                  'No such file" >&2; exit 127')
        self.expect_all_unknown('compute host node-1: expected prlimit and '
                                'qemu-img, got: prlimit: failed to execute')

    def test_qemu_img_hangs(self):
        """Without using the processor, as on a share that is gone."""
        self.patience(1)
        self.tool('qemu-img', f'for path; do :; done; [ "$path" = {self.root} '
                  f'] && exec sleep 60; cat "$path"')
        self.expect_unknown(f'file {self.root} on node-1: prlimit did not end '
                            'within 1 seconds')

    def test_qemu_img_says_anything(self):
        for said in ('', 'no JSON', '[]', '[' * 99999, '{"format": "raw"}',
                     '{"format": {}, "virtual-size": 1}',
                     '{"format": "x\x1b[2Jy", "virtual-size": 1}', '\x00'):
            pathlib.Path(self.root).write_text(said)
            self.expect_unknown(f'file {self.root} on node-1: expected ')

    def test_qemu_img_says_what_is_no_utf8(self):
        self.tool('qemu-img', 'printf "no image: \\377\\n" >&2; exit 1')
        self.expect_all_unknown(
            f'file {self.root} on node-1: no image: \ufffd')

    def test_instances_are_elsewhere(self):
        self.profile = {'instances_path': '/no/such'}
        self.expect_all_unknown('expected the instances directory of nova, '
                                'got: /no/such: No such file')

    def test_directory_of_a_server_is_a_file(self):
        (self.tools.instance_dir / 'disk').unlink()
        (self.tools.instance_dir / 'disk.info').unlink()
        self.tools.instance_dir.rmdir()
        self.tools.instance_dir.write_text('')
        self.expect_unknown('observe: NotADirectoryError: ')


class XmlTest(InProcessTest):

    def test_malformed(self):
        for bad, words in (('<domain', 'expected domain XML'),
                           ('&', 'expected domain XML'),
                           (b'<domain>\xff</domain>', 'expected disks'),
                           (b'<a\0/>', 'expected domain XML'),
                           ('<domain/>', 'expected disks, found none'),
                           ('<domain id="1"/>', 'expected disks'),
                           ('<?xml version="1.0" encoding="x"?><domain/>',
                            'expected disks')):
            self.domain(bad)
            self.expect_unknown(words)

    def test_entities_of_entities(self):
        """A few hundred bytes that would be gigabytes."""
        laughs = ''.join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">'
                         for n in range(1, 12))
        self.domain(f'<!DOCTYPE domain [<!ENTITY a0 "ha">{laughs}]>'
                    f'<domain><devices>&a11;</devices></domain>')
        started = time.monotonic()
        self.expect_unknown('expected domain XML: it has a document type')
        self.assertLess(time.monotonic() - started, 30)

    def test_file_of_the_host_as_an_entity(self):
        self.domain('<!DOCTYPE domain [<!ENTITY x SYSTEM "/etc/passwd">]>'
                    '<domain><title>&x;</title></domain>')
        self.expect_unknown('expected domain XML: it has a document type')

    def test_huge(self):
        disks = fakes.xml({self.root: 'raw'})
        self.domain(disks.replace(
            '<devices>', f'<metadata>{"<a>x</a>" * 500000}</metadata>'
            '<devices>'))
        self.expect_audit(AGREE, '2 agrees')

    def test_deep(self):
        self.domain('<a>' * 200000 + '</a>' * 200000)
        self.expect_unknown('expected disks, found none')

    def test_driver_that_is_unknown(self):
        self.domain(fakes.xml({self.root: 'qcow9'}))
        self.expect_unknown('inactive XML, disk vda on node-1: expected a '
                            'disk format', "found 'qcow9'")

    def test_paths_with_anything_in_them(self):
        """They are names, to each shell and to each tool."""
        for name in ("a b's", '$(touch pwned)', '`touch pwned`',
                     'x;touch pwned', 'a\nb', '-o', 'ü', '\\', '%s%n', '*'):
            directory = self.tools.root / name
            directory.mkdir()
            path = self.tools.disk(directory / 'disk')
            quoted = saxutils.escape(path, {'"': '&quot;', '\n': '&#10;'})
            self.domain(fakes.xml({quoted: 'raw'}))
            self.disk_info(json.dumps({path: 'raw'}))
            self.expect_audit(AGREE, '2 agrees')
            self.assertIn(path, (
                self.tools.root / 'qemu-img.calls').read_text())
        self.assertEqual([], [*self.tools.root.rglob('pwned')])
        self.assertEqual([], [*pathlib.Path().glob('pwned')])

    def test_path_that_is_an_option_or_a_url(self):
        for path in ('--object=secret', 'json:{}', 'nbd://192.0.2.1/x'):
            self.domain(fakes.xml({path: 'raw'}))
            self.expect_unknown(f'file {path} on node-1: not an absolute path')

    def test_terminal_codes(self):
        self.domain(fakes.xml({'/x\u009b2J\u202e\x7f': 'raw'}))
        for format_ in ('text', 'csv'):
            self.expect_audit(UNKNOWN, '\\x9b2J\\u202e\\x7f',
                              arguments=('--format', format_))


class FileTest(InProcessTest):

    def replaced(self, name='disk'):
        path = self.tools.instance_dir / name
        path.unlink()
        return path

    def test_disk_is_missing(self):
        self.replaced()
        self.expect_unknown(f'file {self.root} on node-1: No such file')

    def test_disk_is_a_pipe(self):
        os.mkfifo(self.replaced())
        self.expect_unknown(f'file {self.root} on node-1: neither a regular '
                            'file nor a block device')

    def test_disk_is_a_loop_of_links(self):
        path = self.replaced()
        path.symlink_to(path)
        self.expect_unknown(f'file {self.root} on node-1: Too many levels of')

    def test_disk_is_a_directory(self):
        self.replaced().mkdir()
        self.expect_unknown(f'file {self.root} on node-1: neither a regular')

    def test_name_that_is_no_utf8(self):
        name = os.fsencode(self.tools.instance_dir) + b'/disk.\xff\n'
        with open(name, 'w') as file:
            file.write('{"format": "raw", "virtual-size": 1}')
        self.expect_audit(AGREE, '2 agrees')
        with open(name, 'w') as file:
            file.write('broken')
        self.expect_unknown('disk.\\udcff\\n on node-1: broken')

    def test_disk_info_is_a_pipe(self):
        os.mkfifo(self.replaced('disk.info'))
        self.endpoint = {'command_timeout': 5}
        self.expect_unknown('disk.info on node-1: not a regular file')

    def test_disk_info_is_a_device(self):
        self.replaced('disk.info').symlink_to('/dev/zero')
        self.expect_unknown('disk.info on node-1: not a regular file')

    def test_disk_info_is_a_loop_of_links(self):
        path = self.replaced('disk.info')
        path.symlink_to(path)
        self.expect_unknown('disk.info on node-1: Too many levels of')

    def test_disk_info_of_10_gib(self):
        with open(self.tools.instance_dir / 'disk.info', 'w') as file:
            file.truncate(10 << 30)
        self.expect_unknown('disk.info on node-1: longer than 1048576 bytes')

    def test_disk_info_that_makes_no_sense(self):
        for text in ('[]', '7', '{"/x"', '[' * 99999, '{"a": ' * 99999,
                     '\x00', '{"/x": null}', '{"/x": ["raw"]}',
                     '{"/x": "qcow9"}', '"' + '\\ud800' * 99 + '"'):
            self.disk_info(text)
            self.expect_unknown('on node-1: expected ')
        (self.tools.instance_dir / 'disk.info').write_bytes(b'{"\xff": 1}')
        self.expect_unknown('on node-1: expected a disk format')

    def test_disk_info_with_names_of_nothing(self):
        for name in ('/a\0b', '/\ud800', '/' + 'x' * 9999, '', '../x'):
            self.disk_info(json.dumps({self.root: 'raw', name: 'raw'}))
            self.expect_audit(AGREE, '2 agrees')

    def backed(self, declared, backing=None, believed='qcow2'):
        base = backing or self.tools.disk(self.tools.root / 'base')
        self.tools.disk('disk', 'qcow2', base, declared)
        self.domain(fakes.xml({self.root: believed}))
        self.disk_info(json.dumps({self.root: believed}))

    def test_header_with_an_unknown_format(self):
        """What can be told is told: it is no reason to know nothing."""
        for declared in ('qcow9', '\x1b[2J', ['raw'], 'ü'):
            self.backed(declared)
            self.expect_audit(
                DISAGREE, f'to be {declared!a}, a probe says raw', 'rule 4',
                '1 agrees, 1 disagrees')

    def test_header_of_a_guest_that_names_itself(self):
        for backing in (self.root, '/etc/shadow', '/no/such'):
            self.backed('qcow2', backing, believed='raw')
            self.expect_audit(DISAGREE,
                              'inactive XML says raw, file says qcow2',
                              '1 agrees, 1 disagrees')
        self.assertNotIn('/etc/shadow', self.tools.probed())

    def test_overlay_over_itself(self):
        self.backed('qcow2', self.root)
        self.expect_unknown('expected a backing chain with an end, found a '
                            'loop')

    def test_overlay_over_nothing(self):
        self.backed('raw', '/no/such')
        self.expect_unknown('file /no/such on node-1: No such file')


class JournalTest(InProcessTest):

    def setUp(self):
        super().setUp()
        self.journal = self.directory / 'journal'
        self.arguments = ('--journal', str(self.journal))

    def expect_refused(self, *words):
        self.expect_audit(NO_AUDIT, f'audit: JournalError: {self.journal}: ',
                          *words, arguments=self.arguments)
        self.assertEqual([], self.node.commands)

    def test_something_else(self):
        self.journal.write_text('my diary, which must not be lost' * 99)
        self.expect_refused('expected the journal of an audit')
        self.assertIn('my diary', self.journal.read_text())

    def test_another_application(self):
        with contextlib.closing(sqlite3.connect(self.journal)) as other:
            other.execute('CREATE TABLE audit (servers, listed)')
        self.expect_refused('it is of another application')

    def test_no_file(self):
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(
                '/dev/full', path)):
            make(self.journal)
            self.expect_refused('expected the journal of an audit')
            self.journal.rmdir() if self.journal.is_dir() else (
                self.journal.unlink())

    def test_nowhere(self):
        self.journal = self.directory / 'no' / 'such'
        self.arguments = ('--journal', str(self.journal))
        self.expect_refused('No such file or directory')

    def test_another_audit(self):
        with contextlib.closing(sqlite3.connect(self.journal)) as other:
            other.execute('BEGIN EXCLUSIVE')
            self.expect_refused('locked')

    def audited(self):
        self.expect_audit(AGREE, arguments=self.arguments)
        self.node.commands.clear()

    def test_other_servers(self):
        self.audited()
        self.arguments += '--host', 'node-1'
        self.expect_refused('it is of an audit of other servers')

    def test_half_of_one(self):
        self.audited()
        whole = self.journal.read_bytes()
        for length in (50, 1000, 5000, len(whole) - 4096):
            self.journal.write_bytes(whole[:length])
            self.expect_refused('expected the journal of an audit')

    def tampered(self, *queries):
        self.audited()
        with contextlib.closing(sqlite3.connect(self.journal)) as file:
            for query in queries:
                file.execute(query)
            file.commit()

    def test_tampered_with(self):
        for query in ("UPDATE audit SET servers = 'x'",
                      "UPDATE servers SET outcome = NULL, volumes = '{'",
                      'DROP TABLE servers', 'DROP TABLE findings'):
            self.tampered(query)
            ran = self.audit(*self.arguments)
            self.expect(NO_AUDIT, 'audit: JournalError: ', ran=(
                ran[0], '', ran[2]))
            self.journal.unlink()

    def test_harm_that_is_unknown(self):
        self.tampered(f"INSERT INTO findings VALUES ('{ID}', 'd', 1, 77, 'w', "
                      "'c', 'r')")
        self.expect_refused('77 is not a valid Harm')

    def test_disk_is_full(self):
        connect = sqlite3.connect

        def small(*arguments, **more):
            file = connect(*arguments, **more)
            file.execute('PRAGMA max_page_count = 12')
            return file
        self.useFixture(fixtures.MockPatchObject(sqlite3, 'connect', small))
        for number in range(400):
            self.apis.servers.append(apis.server(f'{number}' * 50))
        self.expect_refused('database or disk is full')


class OutputTest(InProcessTest):

    def expect_refused(self, path, *words):
        self.expect_audit(NO_AUDIT, f'audit: OSError: --output {path}: ',
                          *words, arguments=('--output', str(path)))
        # Said at once, not at the end.
        self.assertEqual([], self.node.commands)

    def test_directory(self):
        self.expect_refused(self.directory, 'expected a file')

    def test_nowhere(self):
        self.expect_refused('/no/such/file', 'No such file or directory')

    def test_device(self):
        """Root must not put a file in its place."""
        device = self.directory / 'null'
        os.mkfifo(device)
        self.expect_refused(device, 'expected a file, or nothing there')
        self.assertTrue(device.is_fifo())

    def test_place_that_nobody_can_write_to(self):
        self.expect_refused('/proc/self/audit', 'expected a directory that '
                            'can be written to')

    def test_profile_that_is_unknown(self):
        self.profile = {'observe': "'"}
        self.expect_audit(NO_AUDIT, 'audit: ProfileError: ')


class SubprocessTest(BadInputTest):
    """The command as a person starts it, with a tempest.conf."""

    def setUp(self):
        super().setUp()
        self.conf = self.directory / 'tempest.conf'
        self.conf.write_text(f'''
[auth]
admin_username = admin
admin_password = {apis.PASSWORD}
admin_project_name = admin
admin_domain_name = Default
[identity]
uri_v3 = {self.apis.url}/identity/v3
region = one
[compute]
region = one
[disk_format]
profile = lab
compute_addresses = node-1:127.0.0.1
ssh_port = {self.node.port}
ssh_user = stack
ssh_key_file = {self.node.directory}/id_user
ssh_known_hosts_file = {self.node.known_hosts}
instances_path = {self.tools.instances}
''')
        self.environment = {
            **os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}

    def audit(self, *arguments, shell='"$@"', limits=lambda: None):
        ended = subprocess.run(
            ['sh', '-c', shell, 'sh', sys.executable, '-m',
             'tempest.cmd.main', 'disk-format', 'audit', '--config-file',
             str(self.conf), *arguments],
            capture_output=True, env=self.environment, timeout=120,
            cwd=self.directory, preexec_fn=limits)
        return (ended.returncode, ended.stdout.decode(),
                ended.stderr.decode())

    def test_nothing_is_wrong(self):
        self.expect(AGREE, '2 agrees', ran=self.audit())

    def test_no_configuration(self):
        """tempest itself would go by /etc/tempest/tempest.conf."""
        self.conf = self.directory / 'none'
        self.expect(NO_AUDIT, f'audit: FileNotFoundError: --config-file '
                    f'{self.conf}: expected a file', ran=self.audit())

    def test_configuration_that_makes_no_sense(self):
        self.conf.write_text('[disk_format\nssh_port = many')
        self.expect(NO_AUDIT, 'audit: ', ran=self.audit())

    def disagree(self):
        root = self.tools.disk('disk.ü')
        self.domain(fakes.xml({root: 'qcow2'}))

    def test_terminal_without_unicode(self):
        self.disagree()
        self.environment |= {'LC_ALL': 'C', 'PYTHONUTF8': '0',
                             'PYTHONCOERCECLOCALE': '0'}
        for format_ in ('text', 'json', 'csv', 'html'):
            self.expect(DISAGREE, 'disk.', ran=self.audit(
                '--format', format_))

    def test_nobody_reads(self):
        """As with ``| head`` where there is more than a pipe holds."""
        self.expect(NO_AUDIT, 'audit: BrokenPipeError', ran=self.audit(
            shell='{ "$@"; echo $? >status; } | true; exit "$(cat status)"'))

    def test_no_standard_output(self):
        self.expect(NO_AUDIT, 'audit: OSError: there is no standard output',
                    ran=self.audit(shell='"$@" >&-'))

    def test_output_that_is_full(self):
        self.expect(NO_AUDIT, 'audit: OSError: ', 'No space left', ran=(
            self.audit(shell='"$@" >/dev/full')))

    def test_nobody_listens(self):
        for shell in ('"$@" 2>&-', '"$@" 2>/dev/full'):
            ran = self.audit('--format', 'json', shell=shell)
            self.assertEqual((AGREE, 2, ''), (
                ran[0], json.loads(ran[1])['counts']['agrees'], ran[2]))

    def test_files_may_not_grow(self):
        def limits():
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        self.expect(NO_AUDIT, 'audit: JournalError: ', 'expected the journal',
                    ran=self.audit('--journal', 'j', limits=limits))

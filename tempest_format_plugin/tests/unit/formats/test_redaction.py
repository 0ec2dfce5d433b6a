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

import io

from tempest_format_plugin.formats import redaction
from tempest_format_plugin.tests.unit import base

SECRET = 'pl0ugh-Xyzzy'
PRIVATE_KEY = ('-----BEGIN RSA PRIVATE KEY-----\n'
               'Proc-Type: 4,ENCRYPTED\n'
               '\n'
               'MIIEpAIBAAKCAQEAxyzzy\n'
               'cGxvdWdo==\n'
               '-----END RSA PRIVATE KEY-----\n')
CEPHX_KEY = 'AQ' + 'xyzzy0' * 6 + '=='
FERNET_TOKEN = 'gAAAAABxyzzy-pl0ugh_' + 'x' * 150

# SECRET is what must go, the rest is what must stay.
SECRETS = (
    # connection_info in JSON, in JSON in JSON, in repr
    f'{{"auth_username": "{SECRET}", "auth_password": "{SECRET}", '
    '"name": "volume-1.2", "format": "qcow2"}',
    f'{{"secret_uuid": "{SECRET}", "keyring": "[c]\\n\\tkey = {SECRET}\\n", '
    '"name": "pool/volume-1"}',
    f'"{{\\"auth_password\\": \\"{SECRET}\\", \\"format\\": \\"raw\\"}}"',
    f'\'{{"a": "{{\\\\"auth_password\\\\": \\\\"{SECRET}\\\\", '
    '\\\\"format\\\\": \\\\"raw\\\\"}"}\'',
    f"{{'auth_password': '{SECRET}', 'format': 'raw'}}",
    f'{{"password": "a\'b{SECRET}", "format": "raw"}}',
    f'{{"password": "a\\"b{SECRET}", "format": "raw"}}',
    f'{{"password": "a\\\\", "secret": "{SECRET}", "format": "raw"}}',
    f'{{"encryption_key": "{SECRET}", "passphrase": "{SECRET}", '
    '"encryption_key_id": "9f3c"}',
    f'{{"access_key": "{SECRET}","secretKey":"{SECRET}","key_name":"mine"}}',
    f'{{"adminPass": "{SECRET}", "status": "ACTIVE"}}',
    f'"password": "{SECRET} cut off',
    # ini, environment, command lines
    f'password = {SECRET}',
    f'  admin_password={SECRET} has "spaces"',
    f'metadata_proxy_shared_secret: {SECRET}',
    f'export OS_PASSWORD="{SECRET}" OS_USERNAME=admin',
    f'os.environ["OS_PASSWORD"] = "{SECRET}"',
    f'mysql --password {SECRET} nova',
    f"['mysql', '--password', '{SECRET}', 'nova']",
    f'iscsiadm -n node.session.auth.password -v {SECRET} -p 10.0.0.1',
    f'["-n", "node.session.auth.password", "-v", "{SECRET}", "-p"]',
    # headers
    f'X-Auth-Token: {SECRET}',
    f'X-Subject-Token: {SECRET}',
    f'x-service-token: {SECRET}',
    f'curl -H "X-Auth-Token: {SECRET}" http://10.0.0.1/',
    f"{{'X-Auth-Token': '{SECRET}', 'Accept': 'application/json'}}",
    f"('X-Auth-Token', '{SECRET}'), ('Accept', 'application/json')",
    f"{{b'X-Auth-Token': b'{SECRET}', b'Accept': b'application/json'}}",
    f'Authorization: Bearer {SECRET}',
    f'Set-Cookie: session={SECRET}; path=/',
    f'{{"token": {{"id": "{SECRET}"}}, "methods": ["token"]}}',
    # URLs
    f'transport_url = rabbit://nova:{SECRET}@10.0.0.1:5672/',
    f'rabbit://a:{SECRET}@one:5672,b:{SECRET}@two:5672/',
    f'connection = mysql+pymysql://nova:{SECRET}@10.0.0.1/nova?charset=utf8',
    f'redis://:{SECRET}@10.0.0.1:6379',
    f'http://10.0.0.1:6080/vnc_lite.html?path=%3Ftoken%3D{SECRET}',
    # libvirt, QEMU
    f"<auth username='{SECRET}'><secret type='ceph' uuid='{SECRET}'/></auth>",
    f"<secret type='iscsi' usage='{SECRET}'/>",
    f'<secret>{SECRET}</secret>',
    f"<graphics type='vnc' passwd='{SECRET}' port='5900'/>",
    f'<server adminPass="{SECRET}"><adminPass>{SECRET}</adminPass></server>',
    '-object {"qom-type":"secret","id":"masterKey0","data":'
    f'"{SECRET}","format":"base64"}} -blockdev {{"driver":"qcow2"}}',
    f'-object secret,id=s0,data={SECRET} -drive format=raw',
    # By their looks
    f'got {FERNET_TOKEN} from keystone',
    'token=x eyJhbGciOiJFUzI1.eyJzdWIiOiJ4eXp6eSJ9.xyzzy_pl0ugh-x end',
    f'key = {CEPHX_KEY}',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIxyzzy0pl0ugh0xyzzy0pl0ugh me@here',
    repr(PRIVATE_KEY),
    repr(repr({'private_key': PRIVATE_KEY, 'name': 'mine'})),
)
# Of the above, in any case.
PARTS = ('pl0ugh', 'xyzzy', 'MIIE', 'cGxv')

HARMLESS = (
    'Server 5b6f on node-1: running, qcow2, /var/lib/nova/instances/5b6f/disk',
    '{"format": "qcow2", "name": "volume-1.2", "key_name": "mine"}',
    "{'password': None, 'secret': null, 'token': {'methods': ['password']}}",
    'GET http://10.0.0.1:8774/v2.1/servers/5b6f req-6f1c 0.2s',
    'keystone: public_key sort_key=created_at, tokens, passed, me@here',
    '<encryption format="luks"><secret type="passphrase"/></encryption>',
    '-----BEGIN CERTIFICATE-----',
    '',
)


class RedactionTest(base.TestCase):

    def assert_redacted(self, text):
        redacted = redaction.redact(text)
        for part in PARTS:
            self.assertNotIn(part.lower(), redacted.lower(), text)
        self.assertIn(redaction.MASK, redacted)
        self.assertEqual(redacted, redaction.redact(redacted))
        return redacted

    def test_secrets_go(self):
        for text in SECRETS:
            self.assert_redacted(text)
            lines = self.assert_redacted(f'first\n{text}\nlast\n')
            self.assertTrue(lines.startswith('first\n'))
            self.assertTrue(lines.endswith('\nlast\n'))
            self.assertEqual(3, lines.count('\n'))
            self.assert_redacted(f'2026-10-05 10:00 DEBUG nova [-] {text}')

    def test_upper_and_lower_case(self):
        self.assert_redacted(f'PASSWORD="{SECRET}" X-AUTH-TOKEN: {SECRET}')

    def test_what_is_beside_a_secret_stays(self):
        for text in SECRETS:
            redacted = redaction.redact(text)
            for kept in ('"format": "qcow2"', "'format': 'raw'",
                         '\\"format\\": \\"raw\\"', '"name": "volume-1.2"',
                         '"name": "pool/volume-1"', '"key_name":"mine"',
                         '"encryption_key_id": "9f3c"', 'OS_USERNAME=admin',
                         "'Accept': 'application/json'", 'mysql+pymysql://',
                         '"status": "ACTIVE"', "port='5900'", 'format=raw',
                         '"driver":"qcow2"', '-p 10.0.0.1'):
                if kept in text:
                    self.assertIn(kept, redacted)

    def test_connection_info(self):
        self.assertEqual(
            '{"auth_username": "***", "auth_password": "***", '
            '"name": "volume-1.2", "format": "qcow2"}',
            redaction.redact(SECRETS[0]))

    def test_harmless(self):
        for text in HARMLESS:
            self.assertEqual(text, redaction.redact(text))
        self.assertEqual('\n\r\n\x85\n', redaction.redact('\n\r\n\x85\n'))

    def test_samples(self):
        for name in ('domain-live.xml', 'host_report-qcow2-with-volume.json',
                     'console-rebooted.txt'):
            text = self.sample(name)
            self.assertEqual(text, redaction.redact(text))

    def test_private_key(self):
        self.assertEqual(
            'a\n***\n\nb\n', redaction.redact(f'a\n{PRIVATE_KEY}b\n'))
        self.assertEqual(
            "{'private_key': '***', 'name': 'mine'}", redaction.redact(
                repr({'private_key': PRIVATE_KEY, 'name': 'mine'})))

    def test_private_key_without_an_end(self):
        begin = PRIVATE_KEY[:70]
        self.assertEqual('***\n2026-10-05 DEBUG: raw', redaction.redact(
            f'{begin}\n2026-10-05 DEBUG: raw'))
        self.assertEqual('a ***', redaction.redact(f'a {begin}'))

    def test_letter_with_two_for_its_lower_case(self):
        self.assert_redacted(f'\u0130\u0130 password="{SECRET}"')

    def test_lines(self):
        log = io.StringIO(f'one\npassword={SECRET}\n{PRIVATE_KEY}two')
        self.assertEqual(['one\n', 'password=***\n', '***\n', '\n', 'two'],
                         list(redaction.redact_lines(log)))

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
import json

from format_lab import places
from format_lab import record
import subunit

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base

SECRET = 'hunter2'
# Three of it are more than a packet of a stream holds.
LONG = '\xe9' * 700_000 + '\n'
REQUEST = 'req-11111111-1234-1234-1234-123456789abc'


class RecordTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.lab.cloud_dir.mkdir(parents=True)
        self.record = record.Record(self.lab)
        self.repository = self.record.directory / '.stestr'

    def stestr(self):
        """Put a run into stestr's repository, and a stestr that shows it."""
        self.repository.mkdir(parents=True, exist_ok=True)
        stream = io.BytesIO()
        output = subunit.StreamResultToBytes(stream)
        for name, mime_type, content in (
                ('traceback', 'text/x-traceback; charset="utf8"',
                 f'password = {SECRET}'.encode()),
                ('1-before.json', 'application/json',
                 f'{{"password": "{SECRET}", "disk": "vda"}}'.encode()),
                ('image', 'application/octet-stream', b'\xff\x00')):
            output.status(test_id='a.TestB.test_c', file_name=name,
                          mime_type=mime_type, file_bytes=content, eof=True)
        output.status(test_id='a.TestB.test_c', test_status='fail')
        # In pieces: those of a secret, and one that isn't marked as the last.
        for content in ('password = hun', f'ter2\n{LONG}', LONG, LONG):
            output.status(test_id='a.TestB.test_d', file_name='log',
                          mime_type='text/plain', file_bytes=content.encode())
        output.status(test_id='a.TestB.test_d', test_status='success')
        (self.repository / '0').write_bytes(stream.getvalue())
        (self.repository / 'failing').write_bytes(stream.getvalue())
        (self.repository / 'times.dbm').touch()
        stestr = self.directory / 'stestr'
        stestr.write_text('#!/bin/sh\ncat .stestr/0\n')
        stestr.chmod(0o755)
        self.patch((places, 'BIN'), new=self.directory)

    def assertNoSecret(self):
        for path in self.record.directory.rglob('*'):
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    def test_clear(self):
        self.stestr()
        (self.record.directory / '.stestr.conf').touch()
        (self.record.directory / 'evidence').mkdir()
        self.record.clear()
        self.assertEqual([self.repository],
                         list(self.record.directory.iterdir()))
        self.assertEqual(['times.dbm'], [
            path.name for path in self.repository.iterdir()])

    def test_clear_for_the_first_time(self):
        self.record.clear()
        self.assertEqual('', self.record.raw_log.read_text())

    def test_log(self):
        self.record.clear()
        self.record.raw_log.write_text(
            '2026-10-05 12:00:02.500 7 INFO tempest.lib.common.rest_client '
            f'[None {REQUEST} ] Request (TestB:test_c): 202 POST '
            f'http://nova/ 0.5s\n    Body: {{"adminPass": "{SECRET}"}}\n')
        request, = self.record.take_log()
        self.assertEqual(REQUEST, request.id)
        self.assertIn(REQUEST, (self.record.directory / 'tempest.log')
                      .read_text())
        self.assertNoSecret()
        self.assertFalse(self.record.raw_log.exists())

    def test_stream(self):
        self.stestr()
        self.assertTrue(self.record.take_stream())
        self.assertNoSecret()
        with open(self.record.stream, 'rb') as stream:
            one, other = results.tests(stream)
        self.assertEqual(('a.TestB.test_c', 'fail'),
                         (one['id'], one['status']))
        self.assertEqual(
            {'1-before.json': b'{"password": "***", "disk": "vda"}',
             'traceback': b'password = ***', 'image': b'\xff\x00'},
            {name: b''.join(detail.iter_bytes())
             for name, detail in one['details'].items()})
        self.assertEqual(('a.TestB.test_d', 'success'),
                         (other['id'], other['status']))
        # A failure would show all of them.
        self.assertEqual(
            hash(f'password = ***\n{LONG * 3}'.encode()),
            hash(b''.join(other['details']['log'].iter_bytes())))

    def test_no_stream(self):
        # What an earlier run found is no verdict of this one.
        self.stestr()
        self.record.clear()
        self.assertFalse(self.record.take_stream())

    def keep(self, *verdicts):
        log = self.lab.node_dir('control') / 'var/log/nova-api.log'
        log.parent.mkdir(parents=True)
        log.write_text(f'1 INFO nova [None {REQUEST}] secret={SECRET} it\n')
        self.record.clear()
        verdicts = self.record.with_service_logs(
            verdicts, {REQUEST: {one.test for one in verdicts}})
        self.record.keep(base.run(*verdicts))
        return verdicts

    def evidence(self):
        return sorted(str(path.relative_to(self.record.directory))
                      for path in self.record.directory.rglob('*.log'))

    def test_verdicts(self):
        verdicts = self.keep(base.verdict(results.AGREES))
        self.assertEqual(
            json.loads(json.dumps(results.as_dicts(verdicts))),
            json.loads((self.record.directory / 'verdicts.json')
                       .read_text()))
        self.assertEqual([], self.evidence())
        self.assertTrue((self.record.directory / 'report.html').exists())

    def test_services_log(self):
        self.keep(base.verdict(results.REPRODUCED, bug='2038898'),
                  base.verdict(results.AGREES, test='a.TestB.test_d'),
                  base.verdict(results.FAILED, test='a.TestB.test_e'))
        self.assertEqual(['evidence/TestB.test_c/services.log',
                          'evidence/TestB.test_e/services.log'],
                         self.evidence())
        self.assertNoSecret()

    def test_evidence_of_hosts(self):
        gathered = self.lab.node_dir('compute-1') / record.EVIDENCE
        gathered.mkdir(parents=True)
        (gathered / 'domains.txt').write_text('instance-00000001')
        self.record.clear()
        self.record.take_evidence_of_hosts()
        hosts = self.record.directory / 'hosts'
        self.assertEqual(['compute-1'], [path.name for path in
                                         hosts.iterdir()])
        self.assertEqual('instance-00000001',
                         (hosts / 'compute-1/domains.txt').read_text())
        self.record.clear()
        self.assertFalse(hosts.exists())

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

import pathlib

import fixtures

from tempest_format_plugin import evidence
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import test_redaction

REPRODUCED = results.Verdict(
    'a.b.TestC.test_d', results.REPRODUCED, '2038898', 1, '',
    {'1-before': 'table 1', '10-after a/migration': 'table 10'},
    {'node-1/s/live.xml': '<domain/>\r\n', '../../../up.txt': 'up'})


class EvidenceTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'evidence'

    def written(self, *verdicts):
        paths = evidence.write_evidence(self.directory, verdicts)
        found = {str(path.relative_to(self.directory)): path.read_bytes()
                 for path in self.directory.rglob('*') if path.is_file()}
        self.assertEqual(
            sorted(found),
            sorted(str(path.relative_to(self.directory)) for path in paths))
        return {name: text.decode() for name, text in found.items()}

    def test_reproduced(self):
        self.assertEqual(
            {'TestC.test_d/01-before.txt': 'table 1\n',
             'TestC.test_d/10-after-a-migration.txt': 'table 10\n',
             'TestC.test_d/node-1/s/live.xml': '<domain/>\r\n',
             'TestC.test_d/up.txt': 'up',
             'TestC.test_d/reason.txt':
                 'reproduced LP 2038898\n'
                 'image format change during migration breaks instances\n'},
            self.written(REPRODUCED))

    def test_failed_class(self):
        self.assertEqual(
            {'setUpClass-b.TestC/reason.txt': 'failed\nOSError: no answer\n'},
            self.written(results.Verdict(
                'setUpClass (a.b.TestC)', results.FAILED, '', 0,
                'OSError: no answer', {})))

    def test_none(self):
        self.assertEqual({}, self.written(*(
            results.Verdict('a.B.test_c', verdict, '', 1, '', {'1-x': 'y'},
                            {'live.xml': '<domain/>'})
            for verdict in (results.AGREES, results.SKIPPED))))

    def test_redacted(self):
        secrets = '\n'.join(test_redaction.SECRETS)
        for text in self.written(results.Verdict(
                'a.B.test_c', results.FAILED, '', 0, secrets,
                {'1-x': secrets}, {'qemu.log': secrets})).values():
            for part in test_redaction.PARTS:
                self.assertNotIn(part.lower(), text.lower())

    def test_write_redacted(self):
        directory = self.useFixture(fixtures.TempDir())
        raw, log = directory.join('raw'), directory.join('log')
        pathlib.Path(raw).write_bytes(
            b'one\r\n\xff password=' + test_redaction.SECRET.encode()
            + b'\n' + test_redaction.PRIVATE_KEY.encode() + b'two')
        evidence.write_redacted(raw, log)
        self.assertEqual('one\r\n\ufffd password=***\n***\n\ntwo',
                         pathlib.Path(log).read_bytes().decode())

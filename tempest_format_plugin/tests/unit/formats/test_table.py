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

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import table
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed


class TableTest(base.TestCase):

    def _cells(self, text):
        """Return the rows of the table as lists of cells, header first."""
        return [[cell.strip() for cell in line.strip('|').split('|')]
                for line in text.splitlines() if line.startswith('|')]

    def test_header_names_server_host_and_state(self):
        text = table.render(observed.server(state='shut off'))
        self.assertEqual(
            f'Server some-server on {observed.HOST}: shut off\nNo disks.',
            text)

    def test_disk_that_agrees(self):
        text = table.render(observed.server(observed.disk(
            live='qcow2', inactive=None, info='qcow2', file='qcow2',
            backing=observed.chain((observed.BASE, 'raw', 'raw')),
            guest_size=observed.SIZE)))
        head, row = self._cells(text)
        self.assertEqual(
            ['vda', 'disk', 'qcow2', '-', 'qcow2', '-', 'qcow2',
             'some-image: raw/raw', f'{observed.SIZE}/{observed.SIZE}',
             'agrees'], row)
        self.assertEqual(len(head), len(row))

    def test_row_per_disk_then_line_per_disagreement(self):
        server = observed.server(
            observed.disk('disk.swap'), observed.disk(file='qcow2'))
        found = agreement.judge(server)
        text = table.render(server, found)
        head, root, swap = self._cells(text)
        self.assertEqual('breaks 1, 2', root[-1])
        self.assertEqual('agrees', swap[-1])
        self.assertEqual([str(d) for d in found],
                         text.splitlines()[-len(found):])

    def test_what_no_source_tells(self):
        server = observed.server(observed.disk(
            live=None, inactive=None, info=None, file='qcow2',
            backing=observed.chain((observed.BASE, None, None))))
        head, row = self._cells(table.render(server))
        self.assertEqual('-', row[0])
        self.assertEqual('some-image: -/-', row[7])
        self.assertEqual(f'-/{observed.SIZE}', row[8])

    def test_disk_without_file(self):
        server = observed.server(observed.disk(file=None))
        head, row = self._cells(table.render(server))
        self.assertEqual(['-', '-', '-/-'], row[6:9])

    def test_attachments(self):
        for attached, listed, expected in (
                ('raw', 'raw', 'raw'),
                ('raw', 'qcow2', 'raw (list: qcow2)'),
                ('raw', None, 'raw'), (None, 'qcow2', 'qcow2'),
                (None, None, '-')):
            head, row = self._cells(table.render(observed.server(
                observed.volume(attached=attached, listed=listed))))
            self.assertEqual(('Attachment', expected), (head[5], row[5]))

    def test_attachment_without_format(self):
        for fields, expected in (
                ({'format': None}, 'no format (list: raw)'),
                ({'format': None, 'path': None}, '- (list: raw)')):
            head, row = self._cells(table.render(observed.server(
                observed.volume(attachment=fields))))
            self.assertEqual(expected, row[5])

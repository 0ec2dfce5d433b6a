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

from tempest_format_plugin.formats import advice
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

BASE = observed.BASE


class AdviseTest(base.TestCase):

    def harms(self, *disks):
        """Return {(rule, left source, right source): harm} of what differs."""
        return {(found.rule, found.left.source, found.right.source):
                advice.advise(found).harm
                for found in agreement.judge(observed.server(*disks))}

    def test_file_that_is_used_as_another_format(self):
        self.assertEqual({
            (1, 'live XML', 'file'): advice.Harm.NOW,
            (1, 'inactive XML', 'file'): advice.Harm.NEXT_START,
            (2, 'disk.info', 'file'): advice.Harm.NEXT_START},
            self.harms(observed.disk(file='qcow2')))

    def test_inactive_xml(self):
        self.assertEqual({advice.Harm.NEXT_START}, set(self.harms(
            observed.disk(inactive='qcow2')).values()))

    def test_no_entry(self):
        found, = agreement.judge(observed.server(observed.disk(info=None)))
        advised = advice.advise(found)
        self.assertEqual(advice.Harm.NEXT_START, advised.harm)
        self.assertIn('not the one that a probe', advised.remedy)

    def test_attachment(self):
        self.assertEqual({
            (3, 'attachment', 'live XML'): advice.Harm.NEXT_START,
            (3, 'attachment', 'inactive XML'): advice.Harm.NEXT_START,
            (3, 'attachment', 'file'): advice.Harm.NEXT_START},
            self.harms(observed.snapshotted(attached='raw', listed='raw')))
        self.assertEqual(
            advice.Harm.NEXT_MOVE, self.harms(observed.snapshotted(
                listed='raw'))[3, 'attachment', 'attachment list'])

    def test_backing_file(self):
        self.assertEqual({advice.Harm.NOW}, set(self.harms(observed.disk(
            live='qcow2', inactive='qcow2', info='qcow2', file='qcow2',
            backing=observed.chain((BASE, 'raw', 'qcow2')))).values()))

    def test_size(self):
        self.assertEqual(
            {(5, 'guest', 'file'): advice.Harm.NOW},
            self.harms(observed.disk(guest_size=observed.SIZE + 512)))

    def remedies(self, *disks):
        """Return {(rule, left source, right source): remedy}."""
        return {(found.rule, found.left.source, found.right.source):
                advice.advise(found).remedy
                for found in agreement.judge(observed.server(*disks))}

    def test_header_that_a_guest_may_have_written(self):
        """Nothing is to be opened as what a probe says."""
        for remedy in self.remedies(observed.disk(file='qcow2')).values():
            self.assertIn('leave the file alone', remedy)
            self.assertIn('reads what the header names', remedy)
        for remedy in self.remedies(observed.disk(
                live='qcow2', inactive='qcow2', info='qcow2', file='qcow2',
                backing=observed.chain((BASE, 'raw', 'qcow2')))).values():
            self.assertIn('Do not have the overlay declare', remedy)

    def test_entry_that_alone_is_wrong(self):
        found = self.remedies(observed.disk(
            live='qcow2', inactive='qcow2', file='qcow2', info='raw'))
        self.assertIn('nothing else', found[2, 'disk.info', 'live XML'])

    def test_file_of_another_backend(self):
        found = self.remedies(observed.disk(live='qcow2', inactive='qcow2'))
        self.assertIn('images_type', found[1, 'live XML', 'file'])

    def test_volume(self):
        """It has no disk.info, and its file is cinder's."""
        for remedy in {**self.remedies(observed.snapshotted(attached='raw')),
                       **self.remedies(observed.volume(
                           file='qcow2'))}.values():
            self.assertNotIn('disk.info', remedy)
            self.assertIn('Do not convert', remedy)
            self.assertIn('Do not rebuild', remedy)

    def test_words(self):
        self.assertEqual(
            ['now', 'at the next start', 'at the next move'],
            [harm.words for harm in sorted(advice.Harm)])

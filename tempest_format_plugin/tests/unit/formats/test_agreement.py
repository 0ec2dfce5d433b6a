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
from tempest_format_plugin.formats import host_report
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

VOLUME = observed.VOLUME
LIVE = models.LIVE_XML
INACTIVE = models.INACTIVE_XML
INFO = models.DISK_INFO
FILE = models.FILE
GUEST = models.GUEST
SHOWN = models.ATTACHMENT
LISTED = models.ATTACHMENT_LIST
RAW_BASE = observed.chain((observed.BASE, 'raw', 'raw'))


def _qcow2(**changes):
    return observed.disk(**({'live': 'qcow2', 'inactive': 'qcow2',
                             'info': 'qcow2', 'file': 'qcow2'} | changes))


class RuleTest(base.TestCase):

    def judge(self, *disks):
        return agreement.judge(observed.server(*disks))

    def assertAgrees(self, *disks):
        self.assertEqual((), self.judge(*disks))

    def assertBreaks(self, expected, *disks):
        """Expect (rule, left source, right source), in order."""
        found = self.judge(*disks)
        self.assertEqual(expected, [
            (d.rule, d.left.source, d.right.source) for d in found])
        return found


class XmlTest(RuleTest):

    def test_holds(self):
        for format_ in ('raw', 'qcow2'):
            self.assertAgrees(observed.disk(
                live=format_, inactive=format_, info=format_, file=format_))

    def test_raw_in_xml_qcow2_in_file(self):
        live, inactive = self.assertBreaks(
            [(1, LIVE, FILE), (1, INACTIVE, FILE)],
            observed.disk(VOLUME, info=None, file='qcow2'))
        self.assertIn('the guest is handed the qcow2 container',
                      live.consequence)
        self.assertIn('at its next start', inactive.consequence)

    def test_qcow2_in_xml_raw_in_file(self):
        live, inactive = self.assertBreaks(
            [(1, LIVE, FILE), (1, INACTIVE, FILE)],
            observed.disk(VOLUME, live='qcow2', inactive='qcow2', info=None))
        self.assertIn('header that the guest may have written is trusted',
                      live.consequence)

    def test_neither_is_raw(self):
        found, = self.assertBreaks(
            [(1, LIVE, FILE)],
            observed.disk(VOLUME, live='qed', inactive=None, info=None,
                          file='qcow2'))
        self.assertEqual('QEMU refuses the disk', found.consequence)

    def test_live_right_inactive_wrong(self):
        self.assertBreaks(
            [(1, INACTIVE, FILE), (1, LIVE, INACTIVE)],
            observed.disk(VOLUME, live='qcow2', info=None, file='qcow2'))

    def test_live_wrong_inactive_right(self):
        self.assertBreaks(
            [(1, LIVE, FILE), (1, LIVE, INACTIVE)],
            observed.disk(VOLUME, live='qcow2', info=None))

    def test_other_path_in_inactive(self):
        # What another file is can't be held against this one.
        found, = self.assertBreaks(
            [(1, LIVE, INACTIVE)],
            observed.disk(inactive_xml={'path': '/elsewhere'}))
        self.assertIn('/elsewhere', found.what)

    def test_one_xml_alone(self):
        self.assertAgrees(observed.disk(live=None))
        self.assertAgrees(observed.disk(inactive=None))

    def test_network_disk_has_nothing_to_compare(self):
        self.assertAgrees(observed.disk(
            'some_disk', info=None, file=None, live_xml={'path': None},
            inactive_xml={'path': None}))


class DiskInfoTest(RuleTest):

    def test_raw_in_disk_info_else_qcow2(self):
        file, live, inactive = self.assertBreaks(
            [(2, INFO, FILE), (2, INFO, LIVE), (2, INFO, INACTIVE)],
            _qcow2(info='raw'))
        self.assertIn('after the next operation that rebuilds the XML',
                      file.consequence)
        self.assertIn('handed the qcow2 container', file.consequence)
        self.assertIn('turns qcow2 into raw', live.consequence)

    def test_qcow2_in_disk_info_else_raw(self):
        file, live, inactive = self.assertBreaks(
            [(2, INFO, FILE), (2, INFO, LIVE), (2, INFO, INACTIVE)],
            observed.disk(info='qcow2'))
        self.assertIn('is trusted', file.consequence)

    def test_file_alone_is_different(self):
        self.assertBreaks(
            [(1, LIVE, FILE), (1, INACTIVE, FILE), (2, INFO, FILE)],
            observed.disk(file='qcow2'))

    def test_domain_gone(self):
        self.assertBreaks([(2, INFO, FILE)], observed.disk(
            live=None, inactive=None, file='qcow2'))

    def test_no_entry(self):
        found, = self.assertBreaks([(2, INFO, FILE)],
                                   observed.disk('disk.swap', info=None))
        self.assertIsNone(found.left.format)
        self.assertIn('disk.info has no entry, file says raw', found.what)
        self.assertIn('probes', found.consequence)

    def test_no_entry_of_a_file_that_no_domain_uses(self):
        self.assertAgrees(observed.disk('disk.eph0', live=None,
                                        inactive=None, info=None))

    def test_no_file_of_an_entry(self):
        self.assertAgrees(observed.disk('disk.rescue', live=None,
                                        inactive=None, file=None))

    def test_config_drive_may_have_no_entry(self):
        self.assertAgrees(observed.disk('disk.config', info=None))
        self.assertBreaks([(2, INFO, FILE), (2, INFO, LIVE),
                           (2, INFO, INACTIVE)],
                          observed.disk('disk.config', info='qcow2'))

    def test_volume_has_no_entry(self):
        self.assertAgrees(observed.disk(VOLUME, info=None))


class AttachmentTest(RuleTest):

    def test_holds(self):
        self.assertAgrees(observed.volume())
        self.assertAgrees(observed.snapshotted())
        self.assertAgrees(observed.snapshotted(live=None, live_backing=()))
        self.assertAgrees(observed.volume(live=None, inactive=None,
                                          file=None))

    def test_raw_in_attachment_else_qcow2(self):
        live, inactive, file, listed = self.assertBreaks(
            [(3, SHOWN, LIVE), (3, SHOWN, INACTIVE), (3, SHOWN, FILE),
             (3, SHOWN, LISTED)], observed.snapshotted(attached='raw'))
        self.assertEqual('attachment says raw, live XML says qcow2',
                         live.what)
        for found in (live, inactive):
            self.assertEqual(
                'when nova next rebuilds the XML from the attachment (start, '
                'hard reboot, migration) it takes the volume for raw',
                found.consequence)
        self.assertIn('(start, hard reboot, migration) the guest is handed '
                      'the qcow2 container', file.consequence)
        self.assertIn('nova goes by the listed one when it attaches',
                      listed.consequence)

    def test_qcow2_in_attachment_else_raw(self):
        live, inactive, file = self.assertBreaks(
            [(3, SHOWN, LIVE), (3, SHOWN, INACTIVE), (3, SHOWN, FILE)],
            observed.volume(attached='qcow2', listed='qcow2'))
        self.assertIn('takes the volume for qcow2', live.consequence)
        self.assertIn('is trusted', file.consequence)

    def test_file_alone_is_different(self):
        self.assertBreaks(
            [(1, LIVE, FILE), (1, INACTIVE, FILE), (3, SHOWN, FILE)],
            observed.volume(file='qcow2'))

    def test_one_xml_is_different(self):
        self.assertBreaks(
            [(1, LIVE, FILE), (1, LIVE, INACTIVE), (3, SHOWN, LIVE)],
            observed.volume(live='qcow2'))
        self.assertBreaks(
            [(1, INACTIVE, FILE), (1, LIVE, INACTIVE), (3, SHOWN, INACTIVE)],
            observed.volume(inactive='qcow2'))

    def test_no_format(self):
        for file, builder in (('raw', observed.volume),
                              ('qcow2', observed.snapshotted)):
            for found in self.assertBreaks(
                    [(3, SHOWN, LIVE), (3, SHOWN, INACTIVE),
                     (3, SHOWN, FILE)],
                    builder(attachment={'format': None},
                            attachment_list={'format': None})):
                self.assertEqual(f'attachment says no format, '
                                 f'{found.right.source} says {file}',
                                 found.what)
                self.assertIn('takes the volume for raw', found.consequence)

    def test_other_name(self):
        # What the file is can't be held against the name of another.
        other = {'path': f'volume-{VOLUME}'}
        live, inactive = self.assertBreaks(
            [(3, SHOWN, LIVE), (3, SHOWN, INACTIVE)],
            observed.snapshotted(attachment=other, attachment_list=other))
        self.assertEqual(
            f'attachment names volume-{VOLUME}, live XML names '
            f'{observed.MOUNT}/volume-{VOLUME}.some-snapshot', live.what)
        self.assertIn('gives the guest another file', live.consequence)

    def test_other_name_and_format(self):
        other = {'path': f'volume-{VOLUME}', 'format': 'raw'}
        self.assertBreaks(
            [(3, SHOWN, LIVE)] * 2 + [(3, SHOWN, INACTIVE)] * 2,
            observed.snapshotted(attachment=other, attachment_list=other))

    def test_other_name_in_list(self):
        found, = self.assertBreaks(
            [(3, SHOWN, LISTED)],
            observed.volume(attachment_list={'path': 'volume-other'}))
        self.assertIn('attachment list names volume-other', found.what)

    def test_xml_without_path(self):
        self.assertAgrees(observed.volume(
            file=None, live_xml={'path': None}, inactive_xml={'path': None}))

    def test_volume_that_is_no_file(self):
        block = {'format': None, 'path': None}
        self.assertAgrees(observed.volume(attachment=block,
                                          attachment_list=block))

    def test_not_observed(self):
        self.assertAgrees(observed.snapshotted(attached=None, listed=None))
        self.assertAgrees(observed.snapshotted(attached=None, listed='raw'))
        self.assertAgrees(observed.snapshotted(listed=None))


class ChainTest(RuleTest):

    def test_holds(self):
        self.assertAgrees(_qcow2(backing=RAW_BASE))
        self.assertAgrees(_qcow2(backing=observed.chain(
            ('/b/middle', 'qcow2', 'qcow2'), ('/b/base', 'raw', 'raw'))))

    def test_declared_raw_is_qcow2(self):
        # libvirt goes by the header, so the live chain is wrong as well.
        declared, live = self.assertBreaks(
            [(4, FILE, FILE), (4, LIVE, FILE)],
            _qcow2(backing=observed.chain((observed.BASE, 'raw', 'qcow2'))))
        self.assertIn(observed.BASE, declared.what)
        self.assertIn('reads other data', declared.consequence)
        self.assertNotIn('trusted', declared.consequence)

    def test_declared_qcow2_is_raw(self):
        declared, live = self.assertBreaks(
            [(4, FILE, FILE), (4, LIVE, FILE)],
            _qcow2(backing=observed.chain((observed.BASE, 'qcow2', 'raw'))))
        self.assertIn('trusted', declared.consequence)

    def test_second_overlay_is_wrong(self):
        self.assertBreaks(
            [(4, FILE, FILE)],
            _qcow2(live=None, backing=observed.chain(
                ('/b/middle', 'qcow2', 'qcow2'), ('/b/base', 'raw', 'vmdk'))))

    def test_no_declared_format(self):
        found, = self.assertBreaks(
            [(4, FILE, FILE)],
            _qcow2(backing=observed.chain((observed.BASE, None, 'raw')),
                   live_backing=observed.chain((observed.BASE, 'raw'))))
        self.assertIn('declares no format', found.what)

    def test_other_path_in_live_xml(self):
        found, = self.assertBreaks(
            [(4, LIVE, FILE)],
            _qcow2(backing=RAW_BASE,
                   live_backing=observed.chain(('/b/other', 'raw'))))
        self.assertIn('/b/other (raw)', found.what)
        self.assertIn(f'{observed.BASE} (raw)', found.what)

    def test_other_format_in_live_xml(self):
        self.assertBreaks(
            [(4, LIVE, FILE)],
            _qcow2(backing=RAW_BASE,
                   live_backing=observed.chain((observed.BASE, 'qcow2'))))

    def test_longer_or_shorter_in_live_xml(self):
        found, = self.assertBreaks(
            [(4, LIVE, FILE)], _qcow2(backing=RAW_BASE, live_backing=()))
        self.assertIn('live XML says the chain is empty', found.what)
        self.assertBreaks([(4, LIVE, FILE)], _qcow2(live_backing=RAW_BASE))

    def test_inactive_xml_has_none(self):
        self.assertAgrees(_qcow2(live=None, backing=RAW_BASE))

    def test_not_probed(self):
        self.assertAgrees(_qcow2(
            backing=observed.chain((observed.BASE, 'raw'))))

    def test_chain_of_a_file_used_as_raw_is_not_judged(self):
        self.assertBreaks(
            [(1, LIVE, FILE), (1, INACTIVE, FILE), (2, INFO, FILE)],
            observed.disk(
                file='qcow2', live_backing=(),
                backing=observed.chain((observed.BASE, 'raw'))))


class GuestSizeTest(RuleTest):

    def test_holds(self):
        self.assertAgrees(observed.disk(guest_size=observed.SIZE))
        self.assertAgrees(_qcow2(guest_size=observed.SIZE))

    def test_guest_sees_more_or_less(self):
        for size in (observed.SIZE + 512, observed.SIZE - 512):
            found, = self.assertBreaks([(5, GUEST, FILE)],
                                       _qcow2(guest_size=size))
            self.assertIn(f'guest sees {size} bytes', found.what)
            self.assertIn(f'gives {observed.SIZE}', found.what)

    def _rule_5(self, *disks):
        return [d.rule for d in self.judge(*disks) if d.rule == 5]

    def test_guest_sees_the_container(self):
        # 196624 bytes are 384 sectors and a bit.
        used_as_raw = {'live': 'raw', 'info': 'raw', 'file': 'qcow2'}
        self.assertEqual([], self._rule_5(
            observed.disk(guest_size=385 * 512, **used_as_raw)))
        self.assertEqual([5], self._rule_5(
            observed.disk(guest_size=observed.SIZE, **used_as_raw)))

    def test_live_xml_goes_before_inactive(self):
        self.assertEqual([], self._rule_5(_qcow2(
            inactive='raw', guest_size=observed.SIZE)))
        self.assertEqual([5], self._rule_5(_qcow2(
            live=None, inactive='raw', guest_size=observed.SIZE)))

    def test_nothing_implied(self):
        for disk in (
                observed.disk(live='qcow2', guest_size=5),
                observed.disk(guest_size=5, live_xml={'path': '/elsewhere'}),
                observed.disk(VOLUME, file=None, info=None, guest_size=5),
                observed.disk('disk.config', guest_size=5)):
            self.assertEqual([], self._rule_5(disk))


class JudgeTest(base.TestCase):

    def _sample(self, name):
        return host_report.parse(self.sample(f'host_report-{name}.json'),
                                 server_id='some-server', host='node-1')

    def test_samples_that_agree(self):
        for name in ('raw', 'qcow2', 'qcow2-with-volume', 'shut-off',
                     'absent'):
            self.assertEqual((), agreement.judge(self._sample(name)), name)

    def test_sample_of_the_bug(self):
        server = self._sample('cold-migrated-raw')
        pairs = [(1, LIVE, FILE), (1, INACTIVE, FILE), (2, INFO, FILE)]
        self.assertEqual(
            [(disk, *pair) for disk in ('disk', 'disk.eph0', 'disk.swap')
             for pair in pairs],
            [(d.disk, d.rule, d.left.source, d.right.source)
             for d in agreement.judge(server)])

    def test_samples_edited_by_hand(self):
        for name, *pairs in (
                ('edited-disk-info', (2, INFO, FILE), (2, INFO, LIVE),
                 (2, INFO, INACTIVE)),
                ('edited-inactive-xml', (1, INACTIVE, FILE),
                 (1, LIVE, INACTIVE), (2, INFO, INACTIVE)),
                ('edited-file', (1, INACTIVE, FILE), (2, INFO, FILE)),
                ('edited-backing-format', (4, FILE, FILE))):
            self.assertEqual(
                [('disk', *pair) for pair in pairs],
                [(d.disk, d.rule, d.left.source, d.right.source)
                 for d in agreement.judge(self._sample(name))], name)

    def test_sentence(self):
        found = agreement.judge(observed.server(
            observed.disk(inactive=None, file='qcow2')))
        self.assertEqual(
            'disk on node-1 (rule 1): live XML says raw, file says qcow2: '
            'the guest is handed the qcow2 container as its disk: it finds '
            'neither a system to boot nor its data', str(found[0]))

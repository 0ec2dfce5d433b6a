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

import dataclasses

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import host_report
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import found
from tempest_format_plugin.tests.unit.formats import observed

COLD_MIGRATION = '2038898'
RAW_DISALLOWED = 'volume-backed-snapshot-raw-disallowed'
VOLUME_SNAPSHOT = '1989514'
LIVE_MIGRATION = 'live-migration-mixed-backends'
VOLUME_BACKED_IMAGE = 'volume-backed-snapshot-format'
ALL = (COLD_MIGRATION, VOLUME_SNAPSHOT, LIVE_MIGRATION, VOLUME_BACKED_IMAGE,
       RAW_DISALLOWED)


class GetTest(base.TestCase):

    def test_known(self):
        bug, = bugs.get([COLD_MIGRATION])
        self.assertEqual((COLD_MIGRATION, 'nova', ()),
                         (bug.id, bug.project, bug.fixed_in))
        self.assertEqual((), bugs.get([]))

    def test_all_in_order(self):
        self.assertEqual(ALL, tuple(bugs.BUGS))
        self.assertEqual(ALL, tuple(bug.id for bug in bugs.get(ALL)))

    def test_unknown(self):
        error = self.assertRaises(exceptions.FormatsError, bugs.get, ['1'])
        self.assertIn("Unknown bug '1'", str(error))
        self.assertIn(COLD_MIGRATION, str(error))


class MatchesTest(base.TestCase):

    def test_each_finding_is_its_bug_and_no_other(self):
        for expected, finding in (
                (COLD_MIGRATION, found.disagreeing(observed.server(
                    observed.disk(file='qcow2')))),
                (VOLUME_SNAPSHOT, found.disagreeing(observed.server(
                    observed.snapshotted(live='raw', inactive='raw',
                                         attached='raw', listed='raw')))),
                (LIVE_MIGRATION, found.failed_migration()),
                (LIVE_MIGRATION, found.refused_reboot()),
                (VOLUME_BACKED_IMAGE, found.failed_image()),
                (RAW_DISALLOWED, dataclasses.replace(found.failed_image(),
                                                     image=None))):
            self.assertEqual([expected], [
                bug.id for bug in bugs.BUGS.values()
                if bugs.matches(bug, finding)])


class BugTest(base.TestCase):

    bug_id = None

    def matches(self, finding):
        return bugs.matches(bugs.BUGS[self.bug_id], finding)


class ColdMigrationTest(BugTest):

    bug_id = COLD_MIGRATION

    def _matches(self, server, *arguments, **keywords):
        return self.matches(found.disagreeing(server, *arguments, **keywords))

    def assertMatches(self, *disks):
        self.assertTrue(self._matches(observed.server(*disks)))

    def assertNoMatch(self, *disks, outcome=bugs.SILENT):
        self.assertFalse(self._matches(observed.server(*disks), outcome))

    def _shows(self, name='disk', **changes):
        return observed.disk(name, **({'file': 'qcow2'} | changes))

    def test_sample(self):
        server = host_report.parse(
            self.sample('host_report-cold-migrated-raw.json'),
            server_id='some-server', host='node-1')
        self.assertTrue(self._matches(server))
        self.assertFalse(self._matches(server, bugs.BOOTED))

    def test_root_alone(self):
        self.assertMatches(self._shows())

    def test_one_xml(self):
        self.assertMatches(self._shows(live=None))
        self.assertMatches(self._shows(inactive=None))

    def test_config_drive_and_volumes_that_agree(self):
        self.assertMatches(
            self._shows(), observed.disk('disk.config'),
            observed.disk('some-volume', info=None))

    def test_entry_of_a_removed_file(self):
        self.assertMatches(self._shows(), observed.disk(
            'disk.rescue', live=None, inactive=None, file=None))

    def test_all_agree(self):
        self.assertNoMatch(observed.disk())
        self.assertNoMatch()

    def test_guest_booted(self):
        self.assertNoMatch(self._shows(), outcome=bugs.BOOTED)

    def test_on_a_qcow2_host(self):
        disks = [self._shows(name, live='qcow2', inactive='qcow2')
                 for name in ('disk', 'disk.swap')]
        self.assertTrue(self._matches(observed.server(*disks), bugs.BOOTED))
        self.assertNoMatch(*disks)
        self.assertNoMatch(disks[0], observed.disk('disk.swap'),
                           outcome=bugs.BOOTED)
        self.assertNoMatch(disks[0], self._shows('disk.swap'),
                           outcome=bugs.BOOTED)

    def test_swap_not_shown(self):
        self.assertNoMatch(self._shows(), observed.disk('disk.swap'))

    def test_root_not_shown(self):
        self.assertNoMatch(observed.disk(), self._shows('disk.swap'))
        self.assertNoMatch(self._shows('disk.swap'))

    def test_other_way_round(self):
        self.assertNoMatch(observed.disk(
            live='qcow2', inactive='qcow2', info='qcow2', file='raw'))

    def test_other_format(self):
        self.assertNoMatch(self._shows(file='qed'))

    def test_one_source_says_otherwise(self):
        for source in ('live', 'inactive', 'info'):
            self.assertNoMatch(self._shows(**{source: 'qcow2'}))

    def test_no_entry_in_disk_info(self):
        self.assertNoMatch(self._shows(info=None))

    def test_no_xml(self):
        self.assertNoMatch(self._shows(live=None, inactive=None))

    def test_backing_file(self):
        self.assertNoMatch(self._shows(
            backing=observed.chain((observed.BASE, 'raw')), live_backing=()))

    def test_config_drive_disagrees(self):
        self.assertNoMatch(self._shows(), self._shows('disk.config'))

    def test_volume_disagrees(self):
        self.assertNoMatch(self._shows(),
                           self._shows('some-volume', info=None))

    def test_guest_size_disagrees(self):
        self.assertNoMatch(self._shows(guest_size=observed.SIZE))

    def test_disagreement_missing_or_besides(self):
        server = observed.server(self._shows())
        judged = agreement.judge(server)
        self.assertFalse(self._matches(server, disagreements=judged[1:]))
        self.assertFalse(self._matches(server,
                                       disagreements=judged + judged[:1]))

    def test_earlier_moments(self):
        shown = observed.server(self._shows())
        for earlier, expected in (
                ([shown, shown], True), ([observed.server(observed.disk())],
                                         True),
                ([observed.server(observed.disk(info='qcow2')), shown],
                 False)):
            self.assertEqual(expected, self._matches(shown, earlier=earlier))


class VolumeSnapshotTest(BugTest):

    bug_id = VOLUME_SNAPSHOT

    def stale(self, name=observed.VOLUME, **changes):
        """Return a volume after the snapshot, XML not rebuilt yet."""
        return observed.snapshotted(
            name, **({'attached': 'raw', 'listed': 'raw', 'target': 'vda'}
                     | changes))

    def stopped(self, name=observed.VOLUME, **changes):
        return self.stale(name, **({'live': None} | changes))

    def started(self, name=observed.VOLUME, **changes):
        """Return a volume whose XML was rebuilt from its attachment."""
        return self.stale(name, **({'live': 'raw', 'inactive': 'raw',
                                    'live_backing': ()} | changes))

    def assertMatches(self, *disks, outcome=bugs.SILENT, expected=True,
                      state='running', **keywords):
        self.assertEqual(expected, self.matches(found.disagreeing(
            observed.server(*disks, state=state), outcome, **keywords)))

    def assertNoMatch(self, *disks, **keywords):
        self.assertMatches(*disks, expected=False, **keywords)

    def test_root_volume(self):
        self.assertMatches(self.started())
        self.assertMatches(self.started(inactive=None))
        self.assertMatches(self.started(), observed.disk('disk.config'))

    def test_chain_was_not_probed(self):
        # The observe script follows no header of a disk used as raw.
        self.assertMatches(self.started(
            backing=observed.chain(('/some/volume', 'raw'))))

    def test_list_says_otherwise(self):
        self.assertMatches(self.started(listed='qcow2'))
        self.assertMatches(self.started(listed=None))
        self.assertNoMatch(self.started(listed='qed'))
        self.assertNoMatch(self.started(
            attachment_list={'path': 'volume-other'}))

    def test_earlier_moments(self):
        after_snapshot = observed.server(self.stopped(), state='shut off')
        for earlier, expected in (
                (self.stopped(), True),
                (self.stopped(listed='qcow2'), True),
                (self.stale(), True),
                (observed.snapshotted(), True),
                (self.stopped(inactive='raw'), True),
                (self.stopped(attached='qcow2'), False),
                (self.stopped(file='raw', backing=()), False),
                (self.stale() + observed.disk(info='qcow2'), False)):
            self.assertMatches(self.started(), expected=expected, earlier=[
                after_snapshot, observed.server(earlier)])

    def test_outcome(self):
        for outcome in (bugs.BOOTED, bugs.REFUSED, None):
            self.assertNoMatch(self.started(), outcome=outcome)

    def test_attached_anew(self):
        # As a rebuild does: only the view by itself is wrong then.
        self.assertMatches(self.stale(listed='qcow2'), outcome=bugs.BOOTED)
        for outcome in (bugs.SILENT, None):
            self.assertNoMatch(self.stale(listed='qcow2'), outcome=outcome)
        for listed in ('raw', None):
            self.assertNoMatch(self.stale(listed=listed), outcome=bugs.BOOTED)
        self.assertNoMatch(self.stale(listed='qcow2'),
                           self.started('other', target='vdb'),
                           outcome=bugs.BOOTED)

    def test_silent_for_another_reason(self):
        self.assertNoMatch(self.stale())
        self.assertNoMatch(self.stopped())
        self.assertNoMatch(self.stopped(inactive='raw'))

    def test_refused(self):
        for changes in ({}, {'inactive': 'raw'}):
            self.assertMatches(self.stopped(**changes), state='shut off',
                               outcome=bugs.REFUSED)

    def test_refused_and_undefined(self):
        def gone(**changes):
            return self.stale(live=None, inactive=None, file=None, **changes)
        earlier = [observed.server(self.stopped())]
        for disks, expected in (
                ([gone()], True),
                ([gone(attached='qcow2')], False),
                ([gone(attachment={'path': 'volume-other'})], False),
                ([gone(listed='qcow2')], False),
                ([gone(), observed.disk(live=None, inactive=None,
                                        file='qcow2')], False)):
            self.assertMatches(*disks, outcome=bugs.REFUSED, earlier=earlier,
                               state=models.ABSENT, expected=expected)
        self.assertMatches(
            gone(listed='qcow2'), outcome=bugs.REFUSED, state=models.ABSENT,
            earlier=[observed.server(self.stopped(listed='qcow2'))])
        # Nothing ever showed the bug.
        for earlier in ((), [observed.server(observed.snapshotted())]):
            self.assertNoMatch(gone(listed='qcow2'), outcome=bugs.REFUSED,
                               state=models.ABSENT, earlier=earlier)
        self.assertNoMatch(gone(), state=models.ABSENT,
                           earlier=[observed.server(self.stopped())])

    def test_data_volume(self):
        for root in (observed.disk(), observed.volume('root', target='vda')):
            started = self.started(target='vdb')
            self.assertMatches(root, started, outcome=bugs.BOOTED)
            self.assertNoMatch(root, started, outcome=bugs.SILENT)
            self.assertNoMatch(root, self.stale(target='vdb'),
                               outcome=bugs.BOOTED)
            self.assertMatches(root, self.stopped(target='vdb'),
                               outcome=bugs.REFUSED)

    def test_two_volumes(self):
        self.assertMatches(self.started(),
                           self.started('other', target='vdb'))
        self.assertMatches(self.started(),
                           observed.volume('other', target='vdb'))

    def test_two_snapshots(self):
        self.assertMatches(self.started(backing=observed.chain(
            ('/some/middle', 'qcow2'), ('/some/base', 'raw'))))

    def test_all_agree(self):
        self.assertNoMatch(observed.snapshotted(target='vda'))
        self.assertNoMatch(observed.disk())
        self.assertNoMatch()
        self.assertNoMatch(outcome=bugs.REFUSED)

    def test_other_file_in_attachment(self):
        other = {'path': 'volume-other'}
        self.assertNoMatch(self.started(attachment=other,
                                        attachment_list=other))
        self.assertNoMatch(
            self.stopped(attachment=other, attachment_list=other),
            outcome=bugs.REFUSED, state='shut off')

    def test_other_formats(self):
        self.assertNoMatch(self.started(file='qed'))
        self.assertNoMatch(self.started(attached='qed'))
        self.assertNoMatch(self.started(attachment={'format': None}))
        self.assertNoMatch(self.started(inactive='qcow2'))
        self.assertNoMatch(self.started(live='qed', inactive='qed'))

    def test_no_backing_file(self):
        self.assertNoMatch(self.started(backing=()))

    def test_no_attachment(self):
        self.assertNoMatch(self.started(attached=None, listed=None))

    def test_another_rule(self):
        self.assertNoMatch(self.started(guest_size=observed.SIZE))
        self.assertNoMatch(
            self.stopped(backing=observed.chain(('/base', 'raw', 'qcow2'))),
            outcome=bugs.REFUSED)

    def test_local_disk_disagrees(self):
        self.assertNoMatch(self.started(),
                           observed.disk('disk.eph0', info='qcow2'))

    def test_disagreement_missing_or_besides(self):
        server = observed.server(self.started())
        judged = agreement.judge(server)
        for disagreements in (judged[1:], judged + judged[:1]):
            self.assertFalse(self.matches(found.disagreeing(
                server, disagreements=disagreements)))


class LiveMigrationTest(BugTest):

    bug_id = LIVE_MIGRATION

    def assertNoMatch(self, **changes):
        self.assertFalse(self.matches(found.failed_migration(**changes)),
                         changes)

    def test_shown(self):
        for status in ('ACTIVE', 'ERROR'):
            for migration in ('error', 'failed'):
                self.assertTrue(self.matches(found.failed_migration(
                    server_status=status, migration_status=migration)))

    def test_server(self):
        self.assertNoMatch(server_host='node-2')
        self.assertNoMatch(server_status='SHUTOFF')
        self.assertNoMatch(migration_status='running')
        self.assertNoMatch(guest_alive=False)

    def test_something_is_left_on_the_target(self):
        for state, disks in (('shut off', ()),
                             (models.ABSENT, observed.disk())):
            self.assertNoMatch(left_on_target=observed.server(
                disks, state=state))

    def test_disagreement_before(self):
        self.assertNoMatch(before=observed.server(observed.disk(
            live='qcow2', inactive='qcow2', file='qcow2')))

    def test_other_reason(self):
        for log in ('', 'qemu-system-x86_64: Failed to get "write" lock\n',
                    'Image is not in raw format'):
            self.assertNoMatch(qemu_log=log)

    def test_no_local_disk(self):
        self.assertNoMatch(before=observed.server(observed.snapshotted()))
        self.assertNoMatch(before=observed.server())


class HardRebootTest(BugTest):
    """The same bug the other way round, after the migration."""

    bug_id = LIVE_MIGRATION

    def assertNoMatch(self, *disks, **changes):
        self.assertFalse(self.matches(found.refused_reboot(*disks, **changes)))

    def test_shown(self):
        self.assertTrue(self.matches(found.refused_reboot()))

    def test_outcome(self):
        for outcome in (bugs.BOOTED, bugs.SILENT, None):
            self.assertNoMatch(outcome=outcome)

    def test_domain_that_is_left(self):
        self.assertNoMatch(server=observed.server(observed.disk(),
                                                  state='shut off'))

    def test_other_formats(self):
        undefined = {'live': None, 'inactive': None}
        for changes in ({'file': 'qcow2', 'info': 'qcow2'}, {'file': 'qcow2'},
                        {'info': 'qcow2'}, {'info': None}, {'file': None}):
            self.assertNoMatch(observed.disk(**undefined),
                               observed.disk('disk.swap',
                                             **undefined | changes))

    def test_no_local_disk(self):
        self.assertNoMatch(observed.volume(live=None, inactive=None))

    def test_disagreement_now_or_earlier(self):
        wrong = observed.server(observed.disk(file='qcow2'))
        judged = agreement.judge(wrong)
        self.assertNoMatch(disagreements=judged)
        self.assertNoMatch(earlier=(('before', wrong, judged),))

    def test_other_reason(self):
        for log in ('', 'Failed to get "write" lock',
                    'Image is not in raw format'):
            self.assertNoMatch(qemu_log=log)

    def test_reason_of_an_earlier_start(self):
        log = found.refused_reboot().qemu_log
        started = '2026-10-05 12:20:00.000+0000: starting up libvirt'
        self.assertNoMatch(qemu_log=f'{log}{started} version: 10.0.0\n'
                                    'Failed to get "write" lock\n')
        self.assertTrue(self.matches(found.refused_reboot(
            qemu_log=f'{started}\n{log}')))


class VolumeBackedImageTest(BugTest):

    bug_id = VOLUME_BACKED_IMAGE

    def assertNoMatch(self, **changes):
        self.assertFalse(self.matches(found.failed_image(**changes)), changes)

    def test_shown(self):
        for size in (None, 0):
            self.assertTrue(self.matches(found.failed_image({'size': size})))
        self.assertTrue(self.matches(found.failed_image(
            {'snapshot_ids': ('snapshot-1',)},
            snapshots=(('snapshot-1', 'available'),))))

    def test_other_answer(self):
        for status in (None, 202, 400, 503):
            self.assertNoMatch(http_status=status)

    def test_image(self):
        left = found.failed_image()
        self.assertFalse(self.matches(dataclasses.replace(left, image=None)))
        for fields in ({'status': 'active'}, {'status': 'killed'},
                       {'disk_format': 'raw'}, {'disk_format': None},
                       {'size': 1}):
            self.assertNoMatch(image=fields)

    def test_snapshots(self):
        one = (('snapshot-1', 'available'),)
        for snapshots in ((), one, (*one, ('snapshot-2', 'error')),
                          (*one, ('snapshot-3', 'available'))):
            self.assertNoMatch(snapshots=snapshots)
        self.assertNoMatch(image={'snapshot_ids': ()}, snapshots=())


class RawDisallowedTest(BugTest):

    bug_id = RAW_DISALLOWED

    def test_signature(self):
        shown = dataclasses.replace(found.failed_image(), image=None)
        self.assertTrue(self.matches(shown))
        for changes in ({'http_status': 400}, {'http_status': None},
                        {'snapshots': ()},
                        {'snapshots': (('snapshot-1', 'error'),)}):
            self.assertFalse(self.matches(
                dataclasses.replace(shown, **changes)), changes)

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

import uuid

import fixtures
from tempest.lib import exceptions as lib_exc
from tempest.scenario import manager

from tempest_format_plugin import cloud
from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import models
from tempest_format_plugin.guests import boot
from tempest_format_plugin.guests import exceptions as guest_exceptions
from tempest_format_plugin.hosts import exceptions as hosts_exceptions
from tempest_format_plugin import results
from tempest_format_plugin.tests.scenario import base as scenario_base
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.unit import base as unit_base
from tempest_format_plugin.tests.unit.formats import found
from tempest_format_plugin.tests.unit.formats import observed
from tempest_format_plugin.tests.unit.scenario import base

SERVER, HOST, TARGET = base.SERVER, base.HOST, base.TARGET
VOLUME = observed.VOLUME
ONE, TWO, THREE = (str(uuid.UUID(int=number)) for number in (1, 2, 3))


class SkipChecksTest(unit_base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(
            unit_base.PluginConf(cloud, scenario_base))
        self.conf.config(group='compute', max_microversion='2.74')
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'skip_checks'))

    def skip_checks(self, placement=None, features=(), **hosts):
        class Scenario(scenario_base.FormatScenarioTest):
            needed_features = features
            needed_hosts = hosts
            placement_min_microversion = placement
        Scenario.skip_checks()

    def assertSkips(self, reason, **needed):
        error = self.assertRaises(self.skipException, self.skip_checks,
                                  **needed)
        self.assertEqual(reason, str(error))

    def test_nothing_needed(self):
        self.skip_checks()

    def test_enough(self):
        self.conf.set(compute_backends={'a': 'raw', 'b': 'flat',
                                        'c': 'qcow2'})
        self.skip_checks(raw=2, qcow2=1)

    def test_too_few(self):
        self.conf.set(compute_backends={'a': 'raw', 'c': 'qcow2'})
        self.assertSkips('2 compute hosts of the image backend raw are '
                         'needed, [disk_format] compute_backends names 1',
                         qcow2=1, raw=2)

    def test_feature_that_is_off(self):
        for feature in ('console_output', 'config_drive'):
            self.conf.config(group='compute-feature-enabled',
                             **{feature: False})
            self.assertSkips(f'[compute-feature-enabled] {feature} is false')
            self.conf.config(group='compute-feature-enabled',
                             **{feature: True})

    def test_feature_that_a_class_needs(self):
        self.conf.config(group='compute-feature-enabled', resize=False)
        self.assertSkips('[compute-feature-enabled] resize is false',
                         features=('resize',))
        self.skip_checks()

    def test_compute_microversion(self):
        for limit in (None, '2.9', '2.73'):
            self.conf.config(group='compute', max_microversion=limit)
            self.assertSkips('[compute] max_microversion must be 2.74 or '
                             f'later, it is {limit}')
        for limit in ('2.74', '2.100', 'latest'):
            self.conf.config(group='compute', max_microversion=limit)
            self.skip_checks()

    def test_placement_microversion(self):
        self.assertSkips('[placement] max_microversion must be 1.6 or later, '
                         'it is None', placement='1.6')
        self.conf.config(group='placement', max_microversion='1.39')
        self.skip_checks(placement='1.6')

    def test_unknown_bug_is_no_skip(self):
        self.conf.set(known_bugs=['1'])
        self.useFixture(fixtures.MockPatchObject(
            manager.ScenarioTest, 'resource_setup'))
        error = self.assertRaises(
            lib_exc.InvalidConfiguration,
            scenario_base.FormatScenarioTest.resource_setup)
        self.assertIn('[disk_format] known_bugs: ', str(error))


class TwoHostsTest(base.ScenarioTestCase):

    def test_two_hosts(self):
        self.conf.set(compute_backends={'a': 'raw', 'b': 'qcow2', 'c': 'flat',
                                        'd': 'raw'})
        self.assertEqual(['a', 'c'], self.scenario.hosts_of('raw', 2))

    def test_too_few(self):
        error = self.assertRaises(self.skipException,
                                  self.scenario.hosts_of, 'raw', 2)
        self.assertIn('compute_backends names 1', str(error))


class ExpectTestCase(base.ScenarioTestCase):
    """A server of which all sources agree, unless a test has it otherwise."""

    def setUp(self):
        super().setUp()
        self.disks = {name: observed.disk(name)
                      for name in servers.LOCAL_DISKS}
        self.state = 'running'
        self.host.observe.side_effect = lambda server: observed.server(
            *self.disks.values(), state=self.state)
        self.heartbeat = self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_heartbeat', autospec=True)).mock
        self.followed = self.follow()

    def expect(self, when='after'):
        self.scenario.expect_boot_and_agreement(SERVER, when)

    def assertFinds(self, kind=verdicts.DisagreementFound, expect=None):
        """Check what an expectation finds, by default of agreement alone."""
        expect = expect or (
            lambda: self.scenario.expect_agreement(SERVER, 'after'))
        return self.assertRaises(kind, expect)

    def booted(self, boot_id, counter):
        """Let the guest boot, as is expected."""
        self.console(base.console(boot_id, counter))
        self.expect('before')

    def operate(self):
        """Do whatever should make the guest boot again."""
        self.scenario.expect_new_boot(SERVER)

    def silent(self):
        """Let the guest stay silent from now on."""
        self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_boot', return_value=boot.Boot(
                bugs.SILENT, 'SeaBIOS', None, 45.0)))

    def detail(self, name):
        return self.scenario.getDetails()[name].as_text()


class ObserveTest(ExpectTestCase):

    def test_details(self):
        self.booted(ONE, 1)
        self.assertEqual(['1-before.txt', '1-before.json'],
                         list(self.scenario.getDetails()))
        table = self.detail('1-before.txt')
        self.assertIn(SERVER, table)
        self.assertIn(f'1 times, now as {ONE}', table)

    def test_steps_are_numbered(self):
        self.scenario.expect_agreement(SERVER, 'before')
        self.scenario.note_agreement(SERVER, 'between')
        self.scenario.observe(SERVER, 'after')
        self.assertEqual(
            [f'{step}.{kind}' for step in ('1-before', '2-between', '3-after')
             for kind in ('txt', 'json')], list(self.scenario.getDetails()))

    def test_last_one_is_kept(self):
        server, _ = self.scenario.observe(SERVER, 'now')
        self.assertIs(server, self.followed.observed)

    def test_local_disks_must_agree_at_once(self):
        self.disks['disk'] = observed.disk(file='qcow2')
        _, disagreements = self.scenario.observe(SERVER, 'now')
        self.assertEqual(3, len(disagreements))
        self.assertEqual((0, 1),
                         (self.clock.now, self.host.observe.call_count))


class ObserveVolumesTest(base.ScenarioTestCase):

    def setUp(self):
        super().setUp()
        self.follow(VOLUME, servers.CONFIG_DRIVE)
        self.attached(('attachment-1', SERVER, 'raw', 'raw'))
        self.observes(self.server())

    def server(self, **changes):
        return observed.server(
            observed.volume(attached=None, listed=None, **changes),
            observed.disk('disk.config'))

    def formats(self, server):
        return [o.format for o in (server.of(VOLUME, models.ATTACHMENT),
                                   server.of(VOLUME, models.ATTACHMENT_LIST))
                if o]

    def observe(self):
        return self.scenario.observe(SERVER, 'now')

    def test_both_views(self):
        self.attached(('attachment-1', SERVER, 'raw', 'qcow2'))
        server, disagreements = self.observe()
        self.assertEqual(['raw', 'qcow2'], self.formats(server))
        self.assertEqual([3], [found.rule for found in disagreements])

    def test_every_project_is_asked_for_that_server(self):
        self.observe()
        self.admin.attachments_client_latest.get.assert_called_once_with(
            f'attachments/detail?all_tenants=1&instance_id={SERVER}')

    def test_attachment_to_another_server(self):
        self.attached(('attachment-2', 'another-server', 'qcow2', 'qcow2'),
                      ('attachment-1', SERVER, 'raw', 'raw'))
        server, disagreements = self.observe()
        self.assertEqual((['raw', 'raw'], ()),
                         (self.formats(server), disagreements))

    def test_attachment_that_is_not_connected(self):
        self.attached(('attachment-1', SERVER, None, None))
        server, _ = self.observe()
        self.assertEqual([], self.formats(server))

    def test_disagreement_that_settles(self):
        stale = self.server(file='qcow2')
        self.observes(stale, stale, self.server())
        server, disagreements = self.observe()
        self.assertEqual(((), 'raw'), (
            disagreements, server.of(VOLUME, models.FILE).format))
        self.assertLess(self.clock.now, 10)
        self.assertIn('raw', self.scenario.getDetails()['1-now.txt'].as_text())

    def test_disagreement_that_stays(self):
        self.conf.set(settle_timeout=7)
        self.observes(self.server(file='qcow2'))
        _, disagreements = self.observe()
        self.assertNotEqual((), disagreements)
        self.assertEqual(7, self.clock.now)

    def test_agreement_is_not_waited_for(self):
        self.observe()
        self.assertEqual(0, self.clock.now)

    def test_attachment_that_cinder_does_not_know(self):
        self.attached()
        error = self.assertRaises(AssertionError,
                                  self.scenario.expect_agreement, SERVER,
                                  'now')
        self.assertNotIsInstance(error, verdicts.Finding)
        self.assertIn(f'cinder has no attachment of volume {VOLUME} to '
                      'server some-server', str(error))

    def test_volumes_are_anywhere(self):
        self.scenario.expect_agreement(SERVER, 'now')


class CheckCompleteTest(ExpectTestCase):

    def assertRefuses(self, problem, option):
        for expect in (self.scenario.expect_agreement,
                       self.scenario.note_agreement):
            error = self.assertRaises(hosts_exceptions.HostAccessError,
                                      expect, SERVER, 'before')
            self.assertEqual((HOST, problem, option),
                             (error.host, error.problem, error.option))

    def assertRefusesXml(self, disk, domain):
        self.assertRefuses(
            f'expected {disk} in the domain XML of server some-server, which '
            f'nova says is here; the domain is {domain}',
            'compute_addresses, virsh_command or container_name')

    def test_absent_domain(self):
        self.state = models.ABSENT
        self.disks = {}
        self.assertRefusesXml('disk', 'absent and has no disks')

    def test_absent_domain_whose_files_are_there(self):
        self.state = models.ABSENT
        self.disks = {'disk': observed.disk(live=None, inactive=None)}
        self.assertRefusesXml('disk', 'absent and has no disks')

    def test_disk_that_is_missing(self):
        del self.disks['disk.swap']
        self.assertRefusesXml(
            'disk.swap', 'running and has disk, disk.config, disk.eph0')

    def test_disks_elsewhere(self):
        self.disks['disk'] = observed.disk(live_xml={'path': '/nova/disk'})
        self.assertRefuses(
            'expected disk of server some-server in '
            '/var/lib/nova/instances/some-server, the domain XML has '
            '/nova/disk', 'instances_path')

    def test_stopped_server(self):
        self.disks = {name: observed.disk(name, live=None)
                      for name in servers.LOCAL_DISKS}
        self.scenario.expect_agreement(SERVER, 'stopped')

    def test_guest_that_leaves_out_a_disk(self):
        self.console(base.console(ONE, 1).replace('disk=vdc', 'disk=sda'))
        error = self.assertRaises(AssertionError, self.expect)
        self.assertIn('the guest of server some-server told of its disks, '
                      'but not of vdc (disk.swap)', str(error))


class ExpectAgreementTest(ExpectTestCase):

    def test_message(self):
        self.disks['disk'] = observed.disk(file='qcow2')
        error = self.assertFinds()
        first, *others = str(error).split('\n')
        self.assertEqual('after, server some-server on node-1: expected '
                         'agreement, but (guest not waited for):', first)
        self.assertEqual([f'after: {found}'
                          for found in error.fact.disagreements], others)

    def test_nobody_has_waited_for_the_guest(self):
        # That is not silence: no signature may be made of it.
        self.booted(ONE, 1)
        self.operate()
        self.disks['disk'] = observed.disk(file='qcow2')
        self.assertIsNone(self.assertFinds().fact.outcome)

    def test_what_is_found_after_the_operation(self):
        self.disks['disk'] = observed.disk(file='qcow2')
        self.assertFalse(self.assertFinds().after_operation)
        self.scenario.operating_on(SERVER)
        self.assertTrue(self.assertFinds().after_operation)

    def test_noted_disagreement_is_found_later(self):
        agreeing = self.disks['disk']
        self.disks['disk'] = observed.disk(info='qcow2')
        self.scenario.note_agreement(SERVER, 'early')
        noted = self.followed.observed
        self.disks['disk'] = agreeing
        error = self.assertFinds()
        (when, server, disagreements), = error.fact.earlier
        self.assertEqual(('early', noted, 3),
                         (when, server, len(disagreements)))
        self.assertEqual((), error.fact.disagreements)
        self.assertIn(f'\nearly: {disagreements[0]}', str(error))

    def test_noted_disagreement_and_one_now(self):
        self.disks['disk'] = observed.disk(info='qcow2')
        self.scenario.note_agreement(SERVER, 'early')
        self.disks['disk'] = observed.disk(file='qcow2')
        error = self.assertFinds()
        self.assertEqual(['early'] * 3 + ['after'] * 3,
                         [line.split(': ')[0]
                          for line in str(error).split('\n')[1:]])

    def test_agreement_leaves_nothing_noted(self):
        self.scenario.note_agreement(SERVER, 'early')
        self.scenario.expect_agreement(SERVER, 'after')


class ExpectBootTest(ExpectTestCase):

    def test_boots_again(self):
        self.booted(ONE, 1)
        self.operate()
        self.console(base.console(TWO, 2))
        self.expect()
        self.assertEqual([ONE, TWO],
                         [call.args[1] for call in
                          self.heartbeat.call_args_list])

    def assertBootsAnotherDisk(self, counter):
        self.booted(ONE, 1)
        self.operate()
        self.console(base.console(TWO, counter))
        error = self.assertFinds(verdicts.OtherDiskBooted, self.expect)
        self.assertEqual(
            'after: expected boot 2 of the root disk of server some-server, '
            f'the guest tells of its boot {counter}: another disk, or another '
            'state of it', str(error))

    def test_boot_of_a_fresh_disk(self):
        self.assertBootsAnotherDisk(1)

    def test_boot_in_between(self):
        self.assertBootsAnotherDisk(3)

    def test_guest_that_stops_writing(self):
        self.heartbeat.side_effect = guest_exceptions.HeartbeatError(
            ONE, 'a write to the root disk failed', '')
        self.console(base.console(ONE, 1))
        self.assertRaises(guest_exceptions.HeartbeatError, self.expect)

    def test_guest_without_boot_ids(self):
        self.conf.set(boot_marker='login:')
        self.console('cirros login: ')
        self.expect()
        self.operate()
        self.console('cirros login: reboot\r\ncirros login: ')
        self.expect()
        self.scenario.expect_same_boot(SERVER)
        self.heartbeat.assert_not_called()

    def test_guest_that_is_not_understood(self):
        self.console('FORMAT-GUEST ready: boot one\r\n')
        error = self.assertRaises(AssertionError, self.expect)
        self.assertIn('after: what the guest of server some-server tells of '
                      'its boot is not understood', str(error))

    def test_disagreement_comes_before_the_counter(self):
        self.booted(ONE, 1)
        self.operate()
        self.console(base.console(TWO, 1))
        self.disks['disk'] = observed.disk(info='qcow2')
        error = self.assertFinds(expect=self.expect)
        self.assertEqual(bugs.BOOTED, error.fact.outcome)

    def test_disagreement_comes_before_the_silence(self):
        self.silent()
        self.disks['disk'] = observed.disk(file='qcow2')
        error = self.assertFinds(expect=self.expect)
        self.assertEqual((bugs.SILENT, SERVER),
                         (error.fact.outcome, error.fact.server.server_id))
        self.assertEqual('SeaBIOS', self.detail('1-after-console.txt'))

    def test_silent(self):
        self.silent()
        error = self.assertFinds(verdicts.GuestSilent, self.expect)
        self.assertIn("after: the guest of server some-server did not write "
                      "'FORMAT-GUEST ready' to its console within 1 s; the "
                      "console ends with: 'SeaBIOS'", str(error))
        self.assertIn(SERVER, self.detail('1-after.txt'))

    def test_silence_after_a_boot(self):
        self.booted(ONE, 1)
        self.operate()
        self.silent()
        self.disks['disk'] = observed.disk(file='qcow2')
        fact = self.assertFinds(expect=self.expect).fact
        self.assertEqual(bugs.SILENT, fact.outcome)
        # What the guest told before is no evidence of now.
        self.assertIsNone(fact.server.of('disk', models.GUEST))

    def test_size_that_the_guest_sees(self):
        self.console(base.console(ONE, 1).replace(
            f'vda sectors={observed.SIZE // 512}', 'vda sectors=8'))
        error = self.assertFinds(expect=self.expect)
        self.assertEqual([5], [one.rule for one in error.fact.disagreements])

    def revert(self):
        self.answer()
        self.scenario.revert_resize(SERVER, HOST)
        self.console(base.console(THREE, 2))
        self.expect()

    def migrate(self):
        self.answer('VERIFY_RESIZE')
        self.scenario.cold_migrate(SERVER, HOST)

    def test_revert_brings_back_the_disk_of_the_source(self):
        self.booted(ONE, 1)
        self.migrate()
        self.revert()

    def test_revert_after_a_boot_on_the_target(self):
        self.booted(ONE, 1)
        self.migrate()
        self.booted(TWO, 2)
        self.revert()

    def test_revert_that_brings_back_another_disk(self):
        self.booted(ONE, 3)
        self.migrate()
        self.assertFinds(verdicts.OtherDiskBooted, self.revert)


class RefusedStartTest(ExpectTestCase):

    def setUp(self):
        super().setUp()
        self.host.qemu_log.return_value = 'one\ntwo\nthree\n'
        self.answer('ERROR', fault={'message': 'internal error'})
        self.scenario.hard_reboot(SERVER)
        self.state, self.disks = models.ABSENT, {}
        self.wait = self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_boot', autospec=True)).mock

    def test_both_expectations_find_it(self):
        for expect in (self.scenario.expect_agreement,
                       self.scenario.expect_boot_and_agreement):
            error = self.assertRaises(verdicts.StartRefused, expect, SERVER,
                                      'after')
            self.assertEqual(
                (bugs.REFUSED, models.ABSENT, (), 'one\ntwo\nthree\n'),
                (error.fact.outcome, error.fact.server.state,
                 error.fact.disagreements, error.fact.qemu_log))
        # A guest that wasn't started isn't waited for.
        self.wait.assert_not_called()

    def test_message(self):
        error = self.assertFinds(verdicts.StartRefused)
        self.assertIn('(guest refused):\nserver some-server on node-1: '
                      'expected status ACTIVE, it is ERROR: internal error; '
                      'last operation ', str(error))
        self.assertIn('QEMU: two | three', str(error))
        self.host.qemu_log.assert_called_once_with(base.DOMAIN)

    def test_disagreement_besides(self):
        self.disks = {'disk': observed.disk(file='qcow2')}
        error = self.assertFinds(verdicts.StartRefused)
        self.assertEqual(3, len(error.fact.disagreements))
        self.assertIn('QEMU: two | three\nafter: disk on node-1', str(error))

    def test_next_start_that_works(self):
        self.disks = {name: observed.disk(name)
                      for name in servers.LOCAL_DISKS}
        self.answer()
        self.scenario.hard_reboot(SERVER)
        self.scenario.expect_agreement(SERVER, 'after')


class EvidenceTest(base.ScenarioTestCase):

    def setUp(self):
        super().setUp()
        self.host.evidence.return_value = {
            'live.xml': "<graphics passwd='secret'/>", 'qemu.log': 'refused'}

    def run_failing(self, error, cleanup=None):
        """Run a scenario that fails with a server on a host.

        :returns: (the files that are kept, traceback)
        """
        def body(scenario):
            if cleanup:
                scenario.addCleanup(cleanup)
            scenario.create_followed_server(HOST, servers.LOCAL_DISKS)
            raise error
        scenario, result = self.run_scenario(body)
        self.assertEqual(1, result.testsRun)
        kept = {name.removeprefix(results.EVIDENCE):
                b''.join(detail.iter_bytes()).decode()
                for name, detail in scenario.getDetails().items()
                if name.startswith(results.EVIDENCE)}
        return kept, [text for _, text in result.failures + result.errors]

    def test_each_host_is_asked_before_anything_is_cleaned_up(self):
        asked = []

        def evidence(*args):
            asked.append((args, self.servers.delete_server.called))
            return {'qemu.log': 'refused'}
        for host in self.hosts.values():
            host.evidence.side_effect = evidence
        self.run_failing(verdicts.GuestSilent('silent'))
        self.assertEqual([((SERVER, base.DOMAIN), False)] * 2, asked)

    def test_files(self):
        kept, _ = self.run_failing(verdicts.GuestSilent('silent'))
        self.assertEqual([f'{HOST}/{SERVER}/{name}'
                          for name in ('live.xml', 'qemu.log')], list(kept))
        self.assertEqual('refused', kept[f'{HOST}/{SERVER}/qemu.log'])
        self.assertNotIn('secret', kept[f'{HOST}/{SERVER}/live.xml'])

    def test_whatever_goes_wrong(self):
        kept, _ = self.run_failing(lib_exc.TimeoutException)
        self.assertIn(f'{HOST}/{SERVER}/qemu.log', kept)

    def test_answer_that_makes_no_sense(self):
        self.host.evidence.side_effect = ValueError('expected JSON')
        _, (traceback,) = self.run_failing(verdicts.GuestSilent('silent'))
        self.assertIn('GuestSilent: silent', traceback)

    def test_host_that_can_not_be_asked(self):
        self.hosts[TARGET].evidence.side_effect = (
            hosts_exceptions.HostAccessError(TARGET, 'no route'))
        kept, (traceback,) = self.run_failing(verdicts.GuestSilent('silent'))
        self.assertIn('no route', kept[f'{TARGET}/{SERVER}/error.txt'])
        self.assertIn('GuestSilent: silent', traceback)
        self.assertIn(f'{HOST}/{SERVER}/qemu.log', kept)

    def test_whatever_goes_wrong_once_the_server_is_gone(self):
        def cleanup():
            raise AssertionError('volume is in use')
        kept, tracebacks = self.run_failing(
            verdicts.GuestSilent('silent'), cleanup)
        self.assertIn(f'{HOST}/{SERVER}/qemu.log', kept)
        self.assertIn('GuestSilent: silent', ''.join(tracebacks))

    def test_known_bug(self):
        self.conf.set(known_bugs=['live-migration-mixed-backends'])

        @verdicts.known_bug('live-migration-mixed-backends')
        def body(scenario):
            scenario.create_followed_server(HOST, servers.LOCAL_DISKS)
            raise verdicts.MigrationFailed('failed', found.failed_migration())
        scenario, result = self.run_scenario(body)
        self.assertEqual(1, len(result.expectedFailures))
        self.assertIn(f'{results.EVIDENCE}{HOST}/{SERVER}/qemu.log',
                      scenario.getDetails())
        self.host.evidence.assert_called_once_with(SERVER, base.DOMAIN)

    def test_nothing_where_nothing_is_wrong(self):
        def skipped(scenario):
            scenario.create_followed_server(HOST, servers.LOCAL_DISKS)
            scenario.skipTest('not here')
        for body in (skipped, lambda scenario: (
                scenario.create_followed_server(HOST, servers.LOCAL_DISKS))):
            _, result = self.run_scenario(body)
            self.assertTrue(result.wasSuccessful())
            self.servers.delete_server.reset_mock()
        self.host.evidence.assert_not_called()


class OwnSecondsTest(base.ScenarioTestCase):

    def test_cleanups_are_its_own(self):
        told = []
        scenario, _ = self.run_scenario(lambda scenario: scenario.addCleanup(
            lambda: told.append(
                results.OWN_SECONDS_DETAIL in scenario.getDetails())))
        self.assertEqual([False], told)
        self.assertGreaterEqual(float(
            scenario.getDetails()[results.OWN_SECONDS_DETAIL].as_text()), 0)

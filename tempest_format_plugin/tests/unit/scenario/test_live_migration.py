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

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import models
from tempest_format_plugin.guests import boot
from tempest_format_plugin.guests import exceptions as guest_exceptions
from tempest_format_plugin.tests.scenario import live_migrations
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import test_live_migration
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.unit.formats import found
from tempest_format_plugin.tests.unit.formats import observed
from tempest_format_plugin.tests.unit.scenario import base

SERVER, HOST, TARGET = base.SERVER, base.HOST, base.TARGET
BUG = bugs.BUGS['live-migration-mixed-backends']
BOOT = '00000000-0000-0000-0000-000000000001'


def local(*names, **changes):
    """Return the observations of local disks, by default all."""
    return [observed.disk(name, **changes)
            for name in names or servers.LOCAL_DISKS]


class LiveMigrationTestCase(base.ScenarioTestCase):
    """A server that has booted on its source."""

    scenario_class = live_migrations.LiveMigrationVerbs

    def setUp(self):
        super().setUp()
        self.conf.set(operation_timeout=60)
        self.heartbeat = self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_heartbeat', autospec=True)).mock
        self.observes(observed.server(*local()))
        self.observes(base.absent(TARGET), host=TARGET)
        self.migration('completed')
        self.followed = self.follow()
        self.console(base.console(BOOT, 1))
        self.scenario.expect_boot_and_agreement(SERVER, 'before')
        self.heartbeat.reset_mock()
        self.answer(host=TARGET)

    def migration(self, *statuses):
        """Let the record of the last migration have these statuses."""
        client = self.admin.migrations_client
        client.list_migrations.side_effect = base.in_turn(*(
            {'migrations': [{'status': status} for status in
                            (each, 'completed') if status]}
            for each in statuses))

    def migrate(self):
        self.scenario.live_migrate(SERVER, TARGET)


class LiveMigrateTest(LiveMigrationTestCase):

    def test_migrate(self):
        self.migrate()
        self.servers.live_migrate_server.assert_called_once_with(
            SERVER, host=TARGET, block_migration='auto')
        self.admin.migrations_client.list_migrations.assert_called_with(
            instance_uuid=SERVER)
        self.assertTrue(self.followed.operated_on)
        # The same boot goes on.
        self.assertEqual(BOOT, self.followed.guest.boot_id)

    def test_record_that_comes_late(self):
        self.migration('running', 'post-migrating', 'completed')
        self.migrate()
        self.assertEqual(2, self.clock.now)

    def test_record_that_does_not_end(self):
        self.migration('running')
        error = self.assertRaises(lib_exc.TimeoutException, self.migrate)
        self.assertIn('expected its migration to be over within 60 s, its '
                      'record says running', str(error))

    def test_no_record(self):
        client = self.admin.migrations_client
        client.list_migrations.side_effect = None
        client.list_migrations.return_value = {'migrations': []}
        error = self.assertRaises(lib_exc.TimeoutException, self.migrate)
        self.assertIn('its record says nothing', str(error))


class MigrationFailedTest(LiveMigrationTestCase):

    def setUp(self):
        super().setUp()
        self.migration('preparing', 'error')
        self.answer(fault={'message': 'Operation not supported'})

    def fails(self):
        return self.assertRaises(verdicts.MigrationFailed, self.migrate)

    def test_fact(self):
        self.hosts[TARGET].qemu_log.return_value = 'refused'
        before = self.followed.observed
        fact = self.fails().fact
        self.assertEqual(
            (HOST, TARGET, 'ACTIVE', HOST, 'error', True, 'refused', before,
             base.absent(TARGET), 'Operation not supported'),
            (fact.source, fact.target, fact.server_status, fact.server_host,
             fact.migration_status, fact.guest_alive, fact.qemu_log,
             fact.before, fact.left_on_target, fact.fault))
        self.hosts[TARGET].qemu_log.assert_called_once_with(base.DOMAIN)
        self.assertTrue(self.fails().after_operation)

    def test_what_is_left_is_observed(self):
        self.fails()
        self.assertIn('2-after-the-failed-migration.txt',
                      self.scenario.getDetails())

    def test_known_bug(self):
        log = found.failed_migration().qemu_log
        self.hosts[TARGET].qemu_log.return_value = log
        # The server is qcow2, as the log has it.
        self.assertFalse(bugs.matches(BUG, self.fails().fact))
        self.observes(observed.server(*local(
            live='qcow2', inactive='qcow2', info='qcow2', file='qcow2')))
        self.scenario.observe(SERVER, 'now')
        self.assertTrue(bugs.matches(BUG, self.fails().fact))

    def test_message(self):
        self.hosts[TARGET].qemu_log.return_value = 'one\ntwo\nthree\nfour\n'
        self.assertEqual(
            f'live migration of server {SERVER} from {HOST} to {TARGET}: '
            'expected it to be completed, its record says error; the server '
            f'is ACTIVE on {HOST}, its guest goes on, nothing of it is on '
            f'{TARGET}; Operation not supported; QEMU there: two | three | '
            'four', str(self.fails()))

    def test_message_without_a_fault(self):
        self.answer()
        message = str(self.fails())
        self.assertIn('last operation migrate (req-2)', message)
        self.assertIn('no log', message)

    def test_server_that_stayed(self):
        self.migration('completed')
        self.assertEqual((HOST, 'completed'), (
            (fact := self.fails().fact).server_host, fact.migration_status))

    def test_server_in_error_on_the_target(self):
        self.migration('completed')
        self.answer('ERROR', host=TARGET)
        self.observes(observed.server(*local()), host=TARGET)
        self.assertEqual(('ERROR', TARGET), (
            (fact := self.fails().fact).server_status, fact.server_host))

    def test_silent_guest(self):
        self.heartbeat.side_effect = guest_exceptions.HeartbeatError(
            BOOT, 'nothing of this boot', '')
        error = self.fails()
        self.assertFalse(error.fact.guest_alive)
        self.assertIn('its guest is silent', str(error))

    def test_guest_that_nobody_has_seen(self):
        self.scenario.expect_new_boot(SERVER)
        self.assertFalse(self.fails().fact.guest_alive)

    def test_target_that_is_cleaned_up_late(self):
        left = base.absent(TARGET, *local('disk', live=None, inactive=None))
        self.observes(left, left, base.absent(TARGET), host=TARGET)
        self.assertEqual((), self.fails().fact.left_on_target.observations)

    def test_target_that_is_not_cleaned_up(self):
        for state, disks in (
                (models.ABSENT, local('disk', live=None, inactive=None)),
                ('paused', local())):
            left = observed.server(*disks, state=state)
            self.observes(left, host=TARGET)
            started = self.clock.now
            error = self.fails()
            self.assertEqual(left, error.fact.left_on_target)
            self.assertIn(', '.join(left.disks()) + f' of it is on {TARGET}',
                          str(error))
            self.assertGreaterEqual(self.clock.now - started, 10)


class ThereAndBackTest(base.ScenarioTestCase):
    """The steps, with a guest that boots and heartbeats that go on."""

    scenario_class = test_live_migration.LiveMigrationTest

    def setUp(self):
        super().setUp()
        self.at, self.boots = HOST, 0
        self.useFixture(fixtures.MockPatchObject(
            boot, 'wait_for_heartbeat', autospec=True))
        self.servers.show_server.side_effect = (
            lambda server: base.answer(self.status, host=self.at))
        self.status = 'ACTIVE'
        self.servers.create_server.side_effect = self.booting(
            {'server': {'id': SERVER}})
        self.servers.reboot_server.side_effect = self.booting()
        self.servers.live_migrate_server.side_effect = self.moving
        self.admin.migrations_client.list_migrations.return_value = {
            'migrations': [{'status': 'completed'}]}
        for host in (HOST, TARGET):
            self.observes(observed.server(*local()), host=host)

    def booting(self, result=None):
        def side_effect(*args, **kwargs):
            self.boots += 1
            self.console(base.console(BOOT[:-1] + f'{self.boots}', self.boots))
            return result
        return side_effect

    def moving(self, server_id, host, block_migration):
        self.at = host

    def go(self):
        self.scenario.migrate_there_and_back(HOST, TARGET)

    def test_steps(self):
        self.go()
        self.assertEqual(
            [f'servers_client.{name}' for name in (
                'create_server', 'live_migrate_server', 'reboot_server',
                'live_migrate_server')],
            self.calls('create_server', 'live_migrate_server',
                       'reboot_server'))
        self.assertEqual(HOST, self.at)
        self.assertEqual(
            ['1-before-the-migration', '2-after-the-migration',
             '3-after-the-hard-reboot', '4-back-on-the-source'],
            [name.removesuffix('.txt') for name in self.scenario.getDetails()
             if name.endswith('.txt')])

    def refuse(self, *args, **kwargs):
        """Let nova undefine the domain that it can't start."""
        self.status = 'ERROR'
        self.hosts[TARGET].qemu_log.return_value = (
            found.refused_reboot().qemu_log)
        self.observes(base.absent(TARGET, *local(live=None, inactive=None)),
                      host=TARGET)

    def test_hard_reboot_that_the_target_refuses(self):
        self.servers.reboot_server.side_effect = self.refuse
        error = self.assertRaises(verdicts.StartRefused, self.go)
        self.assertTrue(error.after_operation)
        self.assertTrue(bugs.matches(BUG, error.fact))


class BackendsTest(base.ScenarioTestCase):

    scenario_class = test_live_migration.TestMixedBackends

    def test_hosts(self):
        self.assertEqual((HOST, TARGET),
                         (self.scenario.raw, self.scenario.qcow2))

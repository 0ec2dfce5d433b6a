# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import dataclasses
import socket
import threading
import time

import fixtures
import paramiko
import testtools

from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin.tests.unit.hosts import fakes


class ConnectionTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # It logs what the tests do to it.
        self.useFixture(fixtures.FakeLogger('paramiko'))
        self.server = self.useFixture(fakes.SshServer())

    def connection(self, **values):
        connection = ssh.Connection(self.server.endpoint(**values))
        self.addCleanup(connection.close)
        return connection

    def assert_refused(self, option, *words, run='true', connection=None,
                       **values):
        connection = connection or self.connection(**values)
        error = self.assertRaises(exceptions.HostAccessError,
                                  connection.run, run)
        self.assertEqual('node-1', error.host)
        self.assertEqual(option, error.option)
        message = str(error)
        self.assertIn('compute host node-1: ', message)
        if option:
            self.assertIn(f'set [disk_format] {option}', message)
        for word in words:
            self.assertIn(word, message)

    def test_run(self):
        completed = self.connection().run('cat; echo oops >&2; exit 3',
                                          stdin='héllo')
        self.assertEqual(
            ssh.Completed('node-1', 'cat; echo oops >&2; exit 3', 3,
                          'héllo', 'oops\n'), completed)

    def test_run_large_output_on_both_streams(self):
        # More than a window (2 MiB) of each, errors first.
        completed = self.connection().run(
            'head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero')
        self.assertEqual((3000000, 3000000),
                         (len(completed.stdout), len(completed.stderr)))

    def test_run_output_without_end(self):
        self.useFixture(fixtures.MockPatchObject(ssh, 'LONGEST', 2 ** 20))
        connection = self.connection()
        self.assert_refused(
            None, 'said more than 1 MiB', connection=connection,
            run='cat /dev/zero')
        self.assert_refused(
            None, 'said more than 1 MiB', connection=connection,
            run='cat /dev/zero >&2')
        self.assertEqual('x', connection.run('printf x').stdout)

    def test_one_connection_for_many_commands(self):
        connection = self.connection()
        self.assertEqual(0, self.server.connections)
        for number in range(5):
            self.assertEqual(f'{number}\n',
                             connection.run(f'echo {number}').stdout)
        self.assertEqual(1, self.server.connections)

    def test_commands_of_several_threads(self):
        connection = self.connection()
        answers = []
        threads = [
            threading.Thread(target=lambda number=number: answers.append(
                connection.run(f'echo {number}').stdout))
            for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([f'{number}\n' for number in range(5)],
                         sorted(answers))
        self.assertEqual(1, self.server.connections)

    def test_reconnects_after_drop(self):
        connection = self.connection()
        connection.run('true')
        self.server.drop()
        self.assertEqual('again\n', connection.run('echo again').stdout)
        self.assertEqual(2, self.server.connections)

    def test_reconnects_after_drop_at_channel(self):
        connection = self.connection()
        connection.run('true')
        self.server.drops = 1
        self.assertEqual('again\n', connection.run('echo again').stdout)
        self.assertEqual(2, self.server.connections)

    def test_second_drop_in_a_row(self):
        connection = self.connection()
        connection.run('true')
        self.server.drops = 2
        self.assert_refused(None, 'drops the connection',
                            connection=connection)
        self.assertEqual(2, self.server.connections)
        self.assertEqual(['true'], self.server.commands)
        # The next command starts afresh.
        connection.run('true').check()

    def test_host_gone_after_drop(self):
        connection = self.connection()
        connection.run('true')
        self.server.stop()
        self.assert_refused('compute_addresses or ssh_port',
                            'nothing answers', connection=connection)

    def test_drop_while_command_is_sent(self):
        # It may have run: it must not run twice.
        self.server.drop_on_exec = True
        self.assert_refused(None, 'did not take the command reboot',
                            run='reboot')
        self.assertEqual(['reboot'], self.server.commands)

    def test_drop_while_command_runs(self):
        self.assert_refused(None, 'was lost while drop me was running',
                            run='drop me')
        self.assertEqual(['drop me'], self.server.commands)

    def test_killed_command(self):
        completed = self.connection().run('kill me')
        error = self.assertRaises(exceptions.CommandError, completed.check)
        self.assertIn('killed by a signal', str(error))

    def test_command_that_does_not_read_its_input(self):
        completed = self.connection().run('exit 4', stdin='x' * 100000)
        self.assertEqual(4, completed.exit_status)

    def test_command_timeout(self):
        connection = self.connection()
        self.server.hang = True
        start = time.monotonic()
        error = self.assertRaises(exceptions.HostAccessError, connection.run,
                                  'sleep 99', timeout=0.3)
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual('ssh_command_timeout', error.option)
        self.assertIn('sleep 99 on stack@127.0.0.1', str(error))
        self.assertIn('0.3 seconds', str(error))
        # The connection is still good.
        self.server.hang = False
        connection.run('true').check()
        self.assertEqual(1, self.server.connections)

    def test_command_timeout_of_endpoint(self):
        self.server.hang = True
        self.assert_refused('ssh_command_timeout', command_timeout=0.2)

    def test_close(self):
        connection = self.connection()
        connection.close()
        connection.run('true')
        connection.close()
        connection.run('true')
        self.assertEqual(2, self.server.connections)

    def test_wrong_user(self):
        self.assert_refused(
            'ssh_user and ssh_key_file', 'nobody@127.0.0.1', 'id_user',
            'refused the login', user='nobody')

    def test_wrong_key(self):
        self.server.write_key('id_other')
        self.assert_refused(
            'ssh_user and ssh_key_file', 'refused the login', 'id_other',
            key_file=str(self.server.directory / 'id_other'))

    def test_missing_key_file(self):
        self.assert_refused('ssh_key_file', '/no/such/key',
                            'No such file', key_file='/no/such/key')
        self.assertEqual(0, self.server.connections)

    def test_key_file_with_passphrase(self):
        self.server.write_key('id_secret', 'passphrase')
        self.assert_refused(
            'ssh_key_file', 'id_secret', 'without a passphrase',
            key_file=str(self.server.directory / 'id_secret'))

    def test_key_file_of_something_else(self):
        path = self.server.directory / 'id_garbage'
        path.write_text('hunter2')
        error = self.assertRaises(
            exceptions.HostAccessError,
            self.connection(key_file=str(path)).run, 'true')
        self.assertEqual('ssh_key_file', error.option)
        self.assertNotIn('hunter2', str(error))

    def test_no_key_at_all(self):
        self.useFixture(fixtures.EnvironmentVariable(
            'HOME', str(self.server.directory)))
        self.useFixture(fixtures.EnvironmentVariable('SSH_AUTH_SOCK'))
        self.assert_refused('ssh_key_file', 'there is no key',
                            key_file=None)

    def test_known_hosts_file_missing(self):
        self.assert_refused('ssh_known_hosts_file', '/no/such/file',
                            known_hosts_file='/no/such/file')

    def unknown_host(self):
        path = self.server.directory / 'empty'
        path.write_text('')
        return str(path)

    def test_unknown_host_key(self):
        self.assert_refused(
            'ssh_known_hosts_file, or ssh_allow_unknown_hosts to accept any '
            'host', 'ecdsa-sha2-nistp256', self.server.host_key.fingerprint,
            known_hosts_file=self.unknown_host())
        self.assertEqual([], self.server.commands)

    def test_no_known_hosts_file(self):
        error = self.assertRaises(
            exceptions.HostAccessError,
            self.connection(known_hosts_file=None).run, 'true')
        self.assertIn('no known_hosts file is set', str(error))

    def test_allow_unknown_hosts(self):
        connection = self.connection(known_hosts_file=self.unknown_host(),
                                     allow_unknown_hosts=True)
        with self.assertLogs(ssh.LOG, 'WARNING') as logs:
            connection.run('true').check()
        self.assertEqual(1, len(logs.output))
        self.assertIn('node-1', logs.output[0])
        self.assertIn(self.server.host_key.fingerprint, logs.output[0])
        # From now on it is known.
        self.server.drop()
        self.server.host_key = paramiko.ECDSAKey.generate()
        self.assert_refused('ssh_known_hosts_file', 'has changed',
                            connection=connection)

    def test_allow_unknown_hosts_without_file(self):
        connection = self.connection(known_hosts_file='/no/such/file',
                                     allow_unknown_hosts=True)
        with self.assertLogs(ssh.LOG, 'WARNING'):
            connection.run('true').check()

    def test_changed_host_key(self):
        other = paramiko.ECDSAKey.generate()
        self.server.write_known_hosts(other)
        for allow in (False, True):
            self.assert_refused(
                'ssh_known_hosts_file', 'has changed', other.fingerprint,
                self.server.host_key.fingerprint, allow_unknown_hosts=allow)
        self.assertEqual([], self.server.commands)

    def test_unresolvable_name(self):
        self.assert_refused('compute_addresses', 'no-such-host.invalid',
                            'resolved', address='no-such-host.invalid')

    def test_connection_refused(self):
        with socket.create_server(('127.0.0.1', 0)) as closed:
            port = closed.getsockname()[1]
        self.assert_refused('compute_addresses or ssh_port',
                            f'stack@127.0.0.1:{port}', 'refused', port=port)

    def test_no_ssh_server(self):
        # It accepts the connection and says nothing.
        with socket.create_server(('127.0.0.1', 0)) as silent:
            self.assert_refused(
                'compute_addresses or ssh_port', 'no SSH connection',
                port=silent.getsockname()[1], connect_timeout=0.3)


class CompletedTest(testtools.TestCase):

    completed = ssh.Completed('node-1', 'virsh list', 0, 'out', 'err')

    def test_check(self):
        self.assertIs(self.completed, self.completed.check())

    def test_check_failed(self):
        failed = dataclasses.replace(self.completed, exit_status=5,
                                     stderr='x' * 3000 + 'the end\n')
        error = self.assertRaises(exceptions.CommandError, failed.check)
        message = str(error)
        self.assertIn('compute host node-1: command virsh list ended with '
                      'exit status 5: xxx', message)
        self.assertTrue(message.endswith('the end'))
        self.assertLess(len(message), 2200)

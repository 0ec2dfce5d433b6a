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

"""Zuul's own daemons."""

import configparser
import contextlib
import pathlib
import subprocess
import sys

import fixtures
import yaml
from zuul.lib import keystorage
from zuul import zk

from tempest_format_plugin.tests.zuul_services import exceptions
from tempest_format_plugin.tests.zuul_services import paths
from tempest_format_plugin.tests.zuul_services import postgresql
from tempest_format_plugin.tests.zuul_services import processes
from tempest_format_plugin.tests.zuul_services import zookeeper

_BINARIES = pathlib.Path(sys.executable).parent
_CONNECTION = 'opendev'
_CONFIG = """\
[zookeeper]
hosts=127.0.0.1:{zookeeper.port}
tls_cert={zookeeper.certificates.certificate}
tls_key={zookeeper.certificates.key}
tls_ca={zookeeper.certificates.ca}
[keystore]
password={password}
[database]
dburi={database.uri}
[scheduler]
tenant_config={directory}/main.yaml
command_socket={directory}/scheduler.socket
[merger]
git_dir={directory}/merger
git_user_email=zuul@example.org
git_user_name=Zuul
command_socket={directory}/merger.socket
[connection {connection}]
driver=git
baseurl=file://{repositories.path}
canonical_hostname=opendev.org
poll_delay=2
"""
# Of the keys that Zuul makes for projects; they end with the test.
_PASSWORD = 'of-this-test-alone'


class Zuul(fixtures.Fixture):
    """What Zuul's daemons need: ZooKeeper, a database, and a configuration.

    :param repositories: Repositories
    :param further: text that is added to zuul.conf, in which {directory}
        stands for a directory of Zuul's own
    """

    def __init__(self, repositories, further=''):
        super().__init__()
        self.repositories = repositories
        self._further = further

    def _setUp(self):
        # What Zuul's code says in this process.
        self.useFixture(fixtures.FakeLogger())
        # First what ends last: a daemon that has lost its ZooKeeper doesn't
        # heed any signal.
        self.zookeeper = self.useFixture(zookeeper.ZooKeeper())
        self.database = self.useFixture(postgresql.PostgreSQL())
        self.directory = self.useFixture(paths.Directory()).path
        # Nobody's own settings: git's, SSH's, Ansible's.
        home = self.directory / 'home'
        home.mkdir()
        self.environment = {
            'PATH': f'{_BINARIES}:/usr/sbin:/usr/bin:/sbin:/bin',
            'HOME': str(home), 'LANG': 'C.UTF-8', 'GIT_CONFIG_NOSYSTEM': '1'}
        (self.directory / 'main.yaml').write_text(
            yaml.safe_dump([{'tenant': self.repositories.tenant}]))
        self._config = self.directory / 'zuul.conf'
        self._config.write_text(
            _CONFIG.format(connection=_CONNECTION, database=self.database,
                           directory=self.directory, password=_PASSWORD,
                           repositories=self.repositories,
                           zookeeper=self.zookeeper)
            + self._further.format(directory=self.directory))
        self._store_keys()

    def start(self, daemon, *options):
        """Start a daemon; it ends with this fixture.

        :param daemon: 'merger', 'scheduler', ...
        :returns: Process, which may not be ready for work yet
        """
        return self.useFixture(processes.Process(
            f'zuul-{daemon}', self._command(daemon, '-d', *options),
            log=self.directory / f'{daemon}.log', env=self.environment,
            cwd=self.directory))

    def validate_tenants(self, seconds=1800):
        """Let a scheduler load the tenant and say what is wrong with it.

        A merger must run.

        :returns: (its exit status, all that it said)
        :raises ServicesError: it didn't end in time
        """
        command = processes.bound(self._command(
            'scheduler', '--validate-tenants',
            self.repositories.tenant['name']))
        try:
            ended = subprocess.run(
                command, check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=seconds, env=self.environment, cwd=self.directory)
        except subprocess.TimeoutExpired as error:
            said = (error.stdout or b'').decode(errors='replace')
            raise exceptions.ServicesError(
                f'{" ".join(command)}: expected its end within {seconds} '
                f'seconds, it said until then:\n{said}')
        return ended.returncode, ended.stdout

    def _command(self, daemon, *options):
        return [str(_BINARIES / f'zuul-{daemon}'), '-f',
                '-c', str(self._config), *options]

    def _store_keys(self):
        """Give all projects the keys of the first.

        Zuul would make two for each, and to make one takes a second.
        """
        config = configparser.ConfigParser()
        config.read(self._config)
        client = zk.ZooKeeperClient.fromConfig(config)
        client.connect()
        with contextlib.ExitStack() as stack:
            stack.callback(client.disconnect)
            keys = keystorage.KeyStorage(client, _PASSWORD, start_cache=False)
            first, *others = self.repositories.projects
            keys.getProjectSecretsKeys(_CONNECTION, first)
            keys.getProjectSSHKeys(_CONNECTION, first)
            secrets = keys.loadProjectsSecretsKeys(_CONNECTION, first)
            ssh = keys.loadProjectSSHKeys(_CONNECTION, first)
            for project in others:
                keys.saveProjectsSecretsKeys(_CONNECTION, project, secrets)
                keys.saveProjectSSHKeys(_CONNECTION, project, ssh)

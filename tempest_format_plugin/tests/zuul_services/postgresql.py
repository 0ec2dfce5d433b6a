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

"""A PostgreSQL, of Debian's packages."""

import pathlib
import pwd
import shutil
import signal
import subprocess

import fixtures

from tempest_format_plugin.tests.zuul_services import exceptions
from tempest_format_plugin.tests.zuul_services import paths
from tempest_format_plugin.tests.zuul_services import processes

# It refuses to run as root; the package makes this user.
_USER = 'postgres'
_VERSIONS = pathlib.Path('/usr/lib/postgresql')


class PostgreSQL(fixtures.Fixture):
    """A cluster of its own with an empty database, on no port.

    Clusters of the package's own making are left alone.

    :ivar uri: how SQLAlchemy finds the database, by its socket
    """

    def _setUp(self):
        directory = self.useFixture(paths.Directory()).path
        newest_first = sorted(
            _VERSIONS.glob('*/bin'), reverse=True,
            key=lambda path: float(path.parent.name))
        initdb = processes.program('initdb', 'postgresql', *newest_first)
        binaries = pathlib.Path(initdb).parent
        try:
            pwd.getpwnam(_USER)
        except KeyError:
            raise exceptions.ServicesError(
                f'there is no user {_USER}: it comes with the Debian package '
                f'postgresql')
        shutil.chown(directory, _USER, _USER)
        self._as_user = {'user': _USER, 'group': _USER, 'extra_groups': [],
                         'cwd': directory, 'env': {'LANG': 'C.UTF-8'}}
        self._run(initdb, '--pgdata', directory / 'data', '--username', _USER,
                  '--auth', 'trust', '--no-sync')
        self.useFixture(processes.Process(
            'postgresql',
            [binaries / 'postgres', '-D', directory / 'data',
             '-k', directory, '-c', 'listen_addresses=', '-c', 'fsync=off'],
            log=directory / 'log',
            ready=lambda: not subprocess.run(
                [binaries / 'pg_isready', '-h', directory, '-U', _USER],
                capture_output=True, check=False).returncode,
            # Ends without waiting for clients.
            stop_signal=signal.SIGINT, **self._as_user))
        self._run(binaries / 'createdb', '-h', directory, '-U', _USER, 'zuul')
        self.uri = f'postgresql://{_USER}@/zuul?host={directory}'

    def _run(self, *argv):
        ended = subprocess.run([str(word) for word in argv], check=False,
                               stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, **self._as_user)
        if ended.returncode:
            raise exceptions.ServicesError(
                f'{" ".join(ended.args)} as {_USER}: expected status 0, came '
                f'{ended.returncode}: {ended.stdout.strip()}')

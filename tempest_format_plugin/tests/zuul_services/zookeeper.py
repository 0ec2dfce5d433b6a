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

"""A ZooKeeper, of Debian's packages."""

import pathlib

import fixtures

from tempest_format_plugin.tests.zuul_services import certificates
from tempest_format_plugin.tests.zuul_services import exceptions
from tempest_format_plugin.tests.zuul_services import paths
from tempest_format_plugin.tests.zuul_services import processes

_JAVA = pathlib.Path('/usr/share/java')
# zookeeper.jar names most of what it needs itself, but not all that the TLS
# of its netty does, and no implementation of slf4j.
_JARS = ('zookeeper', 'netty-codec', 'netty-resolver',
         'netty-transport-native-unix-common', 'slf4j-simple')
# Zuul's daemons ask to be waited for for 120 s, which is more than ZooKeeper
# grants by itself: on a busy machine they need it.
_CONFIG = """\
dataDir={directory}/data
maxSessionTimeout=120000
admin.enableServer=false
secureClientPortAddress=127.0.0.1
secureClientPort={port}
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location={certificates.both}
ssl.keyStore.type=PEM
ssl.trustStore.location={certificates.ca}
ssl.trustStore.type=PEM
"""


class ZooKeeper(fixtures.Fixture):
    """A ZooKeeper on 127.0.0.1, with nothing in it, that takes TLS alone.

    :ivar port: its port
    :ivar certificates: Certificates, by which a client is let in
    """

    def _setUp(self):
        directory = self.useFixture(paths.Directory()).path
        self.certificates = self.useFixture(certificates.Certificates())
        self.port = processes.free_port()
        config = directory / 'zoo.cfg'
        config.write_text(_CONFIG.format(
            directory=directory, port=self.port,
            certificates=self.certificates))
        (directory / 'data').mkdir()
        self.useFixture(processes.Process(
            'zookeeper',
            [processes.program('java', 'default-jre-headless'), '-Xmx256m',
             '-cp', ':'.join(map(_jar, _JARS)),
             'org.apache.zookeeper.server.quorum.QuorumPeerMain', config],
            log=directory / 'log',
            ready=lambda: processes.accepts_connections(
                '127.0.0.1', self.port),
            cwd=directory))


def _jar(name):
    path = _JAVA / f'{name}.jar'
    if not path.exists():
        raise exceptions.ServicesError(
            f'there is no {path}: it comes with the Debian package zookeeper')
    return str(path)

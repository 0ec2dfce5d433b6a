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

"""Zuul with an executor, and what is left of the builds that it ran."""

import dataclasses
import json
import pathlib
import sys

import sqlalchemy

from tempest_format_plugin.tests.zuul_services import processes
from tempest_format_plugin.tests.zuul_services import zuul

_CONFIG = """\
[launcher]
command_socket={{directory}}/launcher.socket
temp_dir={{directory}}
[executor]
command_socket={{directory}}/executor.socket
state_dir={{directory}}/executor
git_dir={{directory}}/executor/git
job_dir={{directory}}/builds
private_key_file={key}
finger_port={finger_port}
ansible_root={ansible}
manage_ansible=false
sigterm_method=stop
# A busy machine shall be slow, not idle.
load_multiplier=1000
ansible_setup_timeout=600
# bubblewrap, in which playbooks run, shows them nothing that isn't named.
trusted_ro_paths={programs}
untrusted_ro_paths={programs}
[connection nodes]
driver=static
"""
_FINISHED = sqlalchemy.text(
    'SELECT uuid, job_name, result, error_detail FROM zuul_build '
    'WHERE end_time IS NOT NULL')


@dataclasses.dataclass(frozen=True)
class Build:
    """A build that has ended.

    :ivar result: as Zuul reports it: SUCCESS, FAILURE, ...
    :ivar error: what Zuul says where no playbook is to blame, or None
    :ivar logs: path of the directory that would have been published
    """

    job: str
    result: str
    error: str | None
    logs: pathlib.Path

    @property
    def output(self):
        """What the playbooks said, as text."""
        log = self.logs / 'job-output.txt'
        return log.read_text() if log.exists() else f'there is no {log}'

    def playbooks(self):
        """Return which playbooks ran.

        :returns: list of (phase, path in the repository), in their order
        """
        return [(each['phase'], each['playbook'].partition('/playbooks/')[2])
                for each in json.loads(
                    (self.logs / 'job-output.json').read_text())]


class ZuulWithNode(zuul.Zuul):
    """All of Zuul that it takes to run a job on a node.

    :param repositories: Repositories
    :param node: Node, which the tenant's configuration must have as well
    :param ansible_root: path of a directory as ansible.install() makes it
    """

    def __init__(self, repositories, node, ansible_root):
        ansible_root = pathlib.Path(ansible_root).resolve()
        programs = {sys.prefix, sys.base_prefix, str(ansible_root)}
        super().__init__(repositories, _CONFIG.format(
            key=node.key, finger_port=processes.free_port(),
            ansible=ansible_root, programs=':'.join(sorted(programs))))

    def _setUp(self):
        super()._setUp()
        processes.program('bwrap', 'bubblewrap')
        for name in ('builds', 'executor'):
            (self.directory / name).mkdir()
        self.scheduler = self.start('scheduler')
        self.start('executor', '--keep-jobdir')
        self.start('launcher')

    def wait_until_watching(self, project, seconds=1800):
        """Wait until Zuul would notice a push to a project's repository.

        :raises ServicesError: it takes too long
        """
        # Of a push that it sees before that it only takes note.
        self.scheduler.wait_for_line('Config priming complete', seconds)
        self.scheduler.wait_for_line(
            rf'Read \d+ refs for project {project}\n', seconds)

    def wait_for_build(self, seconds=1800):
        """Wait until a build has ended.

        :returns: Build, the first of all
        :raises ServicesError: it takes too long
        """
        engine = sqlalchemy.create_engine(self.database.uri)
        self.addCleanup(engine.dispose)

        def finished():
            with engine.connect() as connection:
                return connection.execute(_FINISHED).first()
        found = self.scheduler.wait('a build has ended', finished, seconds)
        return Build(
            found.job_name, found.result, found.error_detail,
            self.directory / 'builds' / found.uuid / 'work/logs')

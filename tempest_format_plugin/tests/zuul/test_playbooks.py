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

"""The playbooks that our jobs play, and the roles that they play."""

from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import playbooks
from tempest_format_plugin.tests.zuul import repositories


class TestPlaybooks(base.ZuulTest):

    def all(self):
        """Return the set of all playbooks of all jobs of ours."""
        return {playbook for job in self.jobs().values()
                for playbook in job.playbooks}

    def test_all_are_there(self):
        """The parents' too, at the paths that theirs have."""
        missing = [str(playbook) for playbook in self.all() if not (
            self.repositories[playbook.project] / playbook.path).is_file()]
        self.assertEqual([], sorted(missing))

    def test_all_of_ours_are_played(self):
        played = {playbook.path for playbook in self.all()
                  if playbook.project == repositories.OWN}
        for directory in ('devstack', 'format-lab'):
            there = {
                path.relative_to(repositories.ROOT).as_posix() for path in
                (repositories.ROOT / 'playbooks' / directory).glob('*.yaml')}
            self.assertTrue(there)
            self.assertEqual(set(), there - played)

    def test_all_roles_are_there(self):
        for playbook in self.all():
            if playbook.project == repositories.OWN:
                self.assertEqual([], playbooks.missing_roles(
                    playbook, self.repositories), str(playbook))

    def test_syntax(self):
        by_roles = {}
        for playbook in self.all():
            if playbook.project == repositories.OWN:
                by_roles.setdefault(playbook.roles, []).append(playbook)
        self.assertTrue(by_roles)
        for together in by_roles.values():
            self.assertEqual('', playbooks.syntax_errors(
                together, self.repositories))

    def test_order_of_a_run(self):
        """What tempest must know is written between DevStack and tempest."""
        text = (repositories.ROOT / 'playbooks/devstack/run.yaml').read_text()
        self.assertEqual(
            (('orchestrate-devstack', 'main'),
             ('setup-tempest-run-dir', 'main'),
             ('setup-tempest-data-dir', 'main'),
             ('acl-devstack-files', 'main'),
             ('set-src-dest-host', 'main'),
             ('format_host_access', 'main'),
             ('format_tempest_conf', 'main'),
             ('format_leftovers', 'before'),
             ('run-tempest', 'main'),
             ('format_leftovers', 'after')), playbooks.named_roles(text))

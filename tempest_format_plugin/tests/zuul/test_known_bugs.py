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

"""Which bugs the jobs of each branch are told that it has."""

import re

import yaml

from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import repositories

_LAB = repositories.ROOT / 'playbooks/lab/expected.yaml'
_VARIABLE = 'format_known_bugs'


def of_lab(cycle):
    """Return the bugs that the lab's table says of a release.

    :param cycle: such as '2025.1'; None: the newest one there is, which
        stands for master
    :raises ValueError: the table doesn't have the release, and those before
        and after it differ about a bug
    """
    known = []
    for bug, says in yaml.safe_load(_LAB.read_text()).items():
        releases = says['releases']
        if cycle is None:
            near = {max(releases)}
        else:
            near = {max(each for each in releases if each <= cycle),
                    min(each for each in releases if each >= cycle)}
        verdicts = {releases[each] for each in near}
        if len(verdicts) > 1:
            raise ValueError(
                f'{_LAB}: expected to read what bug {bug} does on {cycle}, '
                f'since it differs between {" and ".join(sorted(near))}')
        if verdicts == {'reproduced'}:
            known.append(bug)
    return known


class TestKnownBugs(base.ZuulTest):

    def test_they_are_those_of_the_lab(self):
        """On each branch of each service, as the lab's table has them."""
        for project, branches in repositories.BRANCHES.items():
            for branch in branches:
                cycle = branch.removeprefix('stable/')
                expected = of_lab(None if branch == 'master' else cycle)
                jobs = base.frozen(self.tenant, 'check', project, branch)
                self.assertEqual(
                    [], base.differences(dict.fromkeys(jobs, expected), {
                        name: job.variables[_VARIABLE]
                        for name, job in jobs.items()}), branch)

    def test_they_are_those_of_the_lab_in_our_own_jobs(self):
        """Of our own jobs, also those that check a stable branch out."""
        jobs = {name: job for name, job in self.jobs().items()
                if _VARIABLE in job.variables}
        self.assertEqual(
            {f'stable/{cycle}' for cycle in repositories.CYCLES} | {None},
            {job.override_checkout for job in jobs.values()})
        self.assertEqual([], base.differences({
            name: of_lab(job.override_checkout and
                         job.override_checkout.removeprefix('stable/'))
            for name, job in jobs.items()}, {
                name: job.variables[_VARIABLE]
                for name, job in jobs.items()}))

    def test_they_are_written_once(self):
        """A file has one list, all others in it are aliases of that."""
        files = sorted((repositories.ROOT / 'zuul.d').glob('*.yaml'))
        having = {}
        for path in files:
            lists = list(_values(yaml.compose(path.read_text())))
            if lists:
                having[path.name] = len({id(each) for each in lists})
        self.assertEqual(dict.fromkeys((
            'base.yaml', *(f'stable-{cycle}.yaml' for cycle
                           in repositories.CYCLES)), 1), having)

    def test_a_branch_has_a_list_of_its_own(self):
        """What changes in a branch's file changes that branch alone."""
        for cycle in repositories.CYCLES:
            _, tenant = self.planted((
                f'zuul.d/stable-{cycle}.yaml', '        - "2038898"\n', ''))
            without = [bug for bug in of_lab(cycle) if bug != '2038898']
            for branch in repositories.BRANCHES['openstack/nova']:
                jobs = tenant.freeze('check', 'openstack/nova', branch)
                expected = (without if branch == f'stable/{cycle}'
                            else of_lab(None))
                self.assertEqual(
                    {name: expected for name in jobs},
                    {name: job.variables[_VARIABLE]
                     for name, job in jobs.items()}, branch)
            own = {name: job.variables[_VARIABLE]
                   for pipeline in ('check', 'experimental')
                   for name, job in tenant.freeze(
                       pipeline, repositories.OWN).items()
                   if _VARIABLE in job.variables}
            self.assertEqual({
                name: without if name.endswith(cycle.replace('.', '-'))
                else of_lab(None) for name in own}, own)

    def test_the_change_that_mends_a_bug_can_pass(self):
        """What base.yaml tells it to add works, beside our template."""
        comment = (repositories.ROOT / 'zuul.d/base.yaml').read_text()
        told = re.search(r'((?:^#      .*\n)+)', comment, re.MULTILINE)[1]
        added = re.sub(r'^#', '', told, flags=re.MULTILINE)
        _, tenant = self.planted(stub_edits=[
            ('openstack/nova', 'zuul.d/more.yaml', '', f'---\n{added}')])
        self.assertEqual([], tenant.errors('openstack/nova'))
        for pipeline in ('check', 'gate'):
            job = tenant.freeze(pipeline, 'openstack/nova')['format-lab']
            self.assertTrue(job.voting)
            self.assertEqual(
                [bug for bug in of_lab(None) if bug != '2038898'],
                job.variables[_VARIABLE])
            self.assertEqual(of_lab(None), tenant.freeze(
                pipeline, 'openstack/cinder')['format-lab'].variables[
                    _VARIABLE])


def _values(node):
    """Return the nodes of all values of the variable, below a YAML node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == _VARIABLE:
                yield value
            else:
                yield from _values(value)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _values(each)

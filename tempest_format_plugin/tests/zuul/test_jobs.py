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

"""The jobs as Zuul makes them: each one, in each pipeline, whole."""

from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import repositories
from tempest_format_plugin.tests.zuul import review

# What makes a job run that no pipeline has.
_RUN_ALL = """---
- project:
    experimental:
      jobs:
        - format-reconfigure
"""


class TestConfiguration(base.ZuulTest):
    """Zuul has nothing to say against it, and neither have we."""

    def test_zuul_finds_no_fault(self):
        for project in base.PROJECTS:
            self.assertEqual([], self.tenant.errors(project))

    def test_review_finds_no_fault(self):
        for project in base.PROJECTS:
            self.assertEqual([], review.problems(
                self.tenant, project, self.repositories))


class TestPipelines(base.ZuulTest):
    """Which jobs run where, and which of them vote."""

    def test_jobs_of_pipelines(self):
        found = {project: {} for project in base.PROJECTS}
        for project in base.PROJECTS:
            for pipeline in self.tenant.pipelines():
                jobs = base.frozen(self.tenant, pipeline, project)
                if jobs:
                    found[project][pipeline] = {
                        name: job.voting for name, job in jobs.items()}
        self.assertEqual([], base.differences(
            base.EXPECTED['pipelines'], found))

    def test_jobs_of_stable_branches(self):
        """On a stable branch the templates give the same jobs."""
        for project, branches in repositories.BRANCHES.items():
            for branch in branches:
                self.assertEqual(
                    base.EXPECTED['pipelines'][project]['check'].keys(),
                    base.frozen(self.tenant, 'check', project, branch).keys())

    def test_jobs_by_files(self):
        for project, files in base.EXPECTED['files'].items():
            found = {file: sorted(
                name for name in self.tenant.freeze('check', project,
                                                    files=[file])
                if name.startswith('format-')) for file in files}
            self.assertEqual([], base.differences(files, found))


class TestJobs(base.ZuulTest):
    """Each job of ours as the executor is given it."""

    def setUp(self):
        super().setUp()
        self.all = self.jobs()

    def test_all_are_expected(self):
        """Each job that isn't abstract is here, and in a pipeline but one."""
        defined = {job.name for job in self.tenant.definitions(
            repositories.OWN)} - {job.name for job in self.tenant.definitions(
                repositories.OWN) if job.abstract}
        self.assertEqual(base.EXPECTED['jobs'].keys(), defined)
        self.assertEqual(defined - {'format-reconfigure'}, self.all.keys())

    def test_nodes_and_timeouts(self):
        for attribute in ('nodes', 'timeout', 'override_checkout'):
            self._compare({
                name: {attribute: job.get(attribute)}
                for name, job in base.EXPECTED['jobs'].items()},
                lambda job: {attribute: getattr(job, attribute)})
        self._compare({
            name: {group: tuple(nodes) for group, nodes in
                   job['groups'].items()}
            for name, job in base.EXPECTED['jobs'].items()},
            lambda job: job.groups)

    def test_projects(self):
        self._compare({name: tuple(job['projects']) for name, job
                       in base.EXPECTED['jobs'].items()},
                      lambda job: job.projects)

    def test_playbooks(self):
        """Ours come after the parents' before the run, and before after."""
        self._compare(
            {name: job['playbooks'] for name, job
             in base.EXPECTED['jobs'].items() if 'playbooks' in job},
            lambda job: {phase: [str(each) for each in getattr(job, phase)]
                         for phase in ('pre_run', 'run', 'post_run')})

    def test_roles_of_playbooks(self):
        self._compare(
            {name: {tuple(job['roles'])} for name, job
             in base.EXPECTED['jobs'].items() if 'roles' in job},
            lambda job: {playbook.roles for playbook in job.playbooks
                         if playbook.project == repositories.OWN})

    def test_variables(self):
        parents = self._parents()
        self._compare(
            {name: base.merged(parents[job['parent']].variables
                               if 'parent' in job else {}, job['variables'])
             for name, job in base.EXPECTED['jobs'].items()},
            lambda job: job.variables)

    def test_group_and_host_variables(self):
        parents = self._parents()
        self._compare(
            {name: base.merged(
                parents[job['parent']].group_variables
                if 'parent' in job else {}, job.get('group_variables', {}))
             for name, job in base.EXPECTED['jobs'].items()},
            lambda job: job.group_variables)
        self._compare(dict.fromkeys(base.EXPECTED['jobs'], {}),
                      lambda job: job.host_variables)

    def test_no_variable_is_hidden_from_a_subnode(self):
        """What subnodes need is in their group's own variables.

        Those of a group replace the job's whole, and the last group by name
        replaces the others.
        """
        for name, job in self.all.items():
            if 'subnode' not in job.groups:
                continue
            both = (job.variables['devstack_localrc'],
                    job.group_variables['subnode']['devstack_localrc'])
            for knob in ('FORMAT_IMAGES_TYPE', 'CINDER_ENABLED_BACKENDS'):
                self.assertEqual(knob in both[0], knob in both[1],
                                 f'{name}: {knob}')
            self.assertEqual(
                'subnode', max(group for group in job.group_variables
                               if 'compute1' in job.groups[group]))

    def _parents(self):
        return base.frozen(self.tenant, 'check', base.PARENTS)

    def _compare(self, expected, actual):
        """Compare what is expected of jobs with what a function finds."""
        self.assertEqual([], base.differences(
            {name: value for name, value in expected.items()
             if name in self.all},
            {name: actual(job) for name, job in self.all.items()
             if name in expected}))


class TestJobsInNoPipeline(TestJobs):
    """The same of a job that nothing runs yet."""

    # The Tenant that runs it, loaded for the first test.
    _planted = []

    def setUp(self):
        super().setUp()
        if not self._planted:
            _, tenant = self.planted(('zuul.d/zz.yaml', '', _RUN_ALL))
            self._planted.append(tenant)
        self.tenant, = self._planted
        name = 'format-reconfigure'
        self.all = {name: base.frozen(
            self.tenant, 'experimental', repositories.OWN)[name]}

    def test_all_are_expected(self):
        self.assertEqual(['format-reconfigure'], list(self.all))

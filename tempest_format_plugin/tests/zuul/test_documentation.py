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

"""What is said of the jobs, and what they set."""

import re

import yaml

from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import repositories

_JOBVAR = re.compile(r'^\s*\.\. zuul:jobvar:: (\S+)$', re.MULTILINE)
_JOBREF = re.compile(r':zuul:job:`([^`]+)`')
# A knob of the DevStack plugin, given its default.
_KNOB = re.compile(r'^(FORMAT_\w+)=', re.MULTILINE)


class TestDocumentation(base.ZuulTest):

    def setUp(self):
        super().setUp()
        self.definitions = self.tenant.definitions(repositories.OWN)
        self.descriptions = {}
        # The variant for a branch comes later, and says that alone.
        for job in self.definitions:
            if job.description:
                self.descriptions.setdefault(job.name, job.description)
        documented = {name: set(_JOBVAR.findall(text))
                      for name, text in self.descriptions.items()}
        # A job has the variables of what it descends from, and the two bases
        # on DevStack have the same.
        documented['format-multinode-base'] |= documented['format-base']
        self.documented = documented

    def test_each_job_is_described(self):
        self.assertEqual(set(), {job.name for job in self.definitions}
                         - self.descriptions.keys())

    def test_each_job_is_in_the_documents(self):
        page = (repositories.ROOT / 'doc/source/ci/jobs.rst').read_text()
        self.assertEqual(
            sorted({job.name for job in self.definitions}),
            sorted(re.findall(r'^\.\. zuul:autojob:: (\S+)$', page,
                              re.MULTILINE)))

    def test_each_scenario_says_what_it_needs(self):
        for name, job in self.jobs().items():
            if job.override_checkout or 'format_known_bugs' not in (
                    job.variables):
                continue
            text = ' '.join(self.descriptions[name].split())
            for part in ('Proves that', 'It needs'):
                if name == 'format-cold-migration-flat':
                    part = part.lower() if part == 'Proves that' else part
                self.assertIn(part, text, name)
            self.assertRegex(text, r'\d{4}\.\d', f'{name}: since which cycle')

    def test_each_variable_of_ours_is_documented(self):
        for name, job in self.jobs().items():
            known = set().union(*(
                self.documented.get(each, set()) for each in job.ancestors))
            self.assertEqual(set(), {
                variable for variable in job.variables
                if variable.startswith('format_')} - known, name)

    def test_each_documented_variable_is_one(self):
        """It is set by a job, or a playbook looks at it."""
        used = set()
        for job in self.definitions:
            used |= set(job.variables)
        for path in (repositories.ROOT / 'playbooks').glob('*/*.yaml'):
            used |= set(re.findall(r'\bformat_\w+', path.read_text()))
        for name, variables in self.documented.items():
            self.assertEqual(set(), variables - used, name)

    def test_each_job_that_is_mentioned_is_one(self):
        names = {job.name for job in self.definitions}
        for name, text in self.descriptions.items():
            self.assertEqual(set(), set(_JOBREF.findall(text)) - names, name)

    def test_defaults_are_told_right(self):
        """What the text calls a default is what the job sets."""
        told = re.compile(r'\.\. zuul:jobvar:: (\S+)\n(?:\s+:type: .*\n)?'
                          r'\s+:default: (\S+)$', re.MULTILINE)
        checked = []
        for job in self.definitions:
            for variable, default in told.findall(job.description or ''):
                if variable in job.variables and default != 'false':
                    checked.append(variable)
                    self.assertEqual(default, str(job.variables[variable]))
        self.assertIn('format_run_lab_cloud', checked)

    def test_variables_of_roles_are_theirs(self):
        """A role's variable that a job sets is one that the role has."""
        roles = {path.parents[1].name: yaml.safe_load(path.read_text())
                 for path in (repositories.ROOT / 'roles').glob(
                     '*/defaults/main.yaml')}
        checked = set()
        for name, job in self.jobs().items():
            for variable in job.variables:
                for role in roles:
                    if variable.startswith(f'{role}_'):
                        checked.add(variable)
                        self.assertIn(variable, roles[role], name)
        self.assertEqual({'format_evidence_dir', 'format_nfs_export_dir',
                          'format_run_lab_cloud'}, checked)

    def test_knobs_are_those_of_the_devstack_plugin(self):
        knobs = set(_KNOB.findall(
            (repositories.ROOT / 'devstack/settings').read_text()))
        self.assertTrue(knobs)
        for name, job in self.jobs().items():
            for variables in (job.variables, *job.group_variables.values()):
                self.assertEqual(set(), {
                    knob for knob in variables.get('devstack_localrc', {})
                    if knob.startswith('FORMAT_')} - knobs, name)

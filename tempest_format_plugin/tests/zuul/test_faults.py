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

"""Every fault that is planted in our files is found, and told as what it is.

Zuul itself finds some when it loads the configuration, some only when it makes
a job, and some never: those a job would meet when it runs, or it would not run
at all.
"""

from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import playbooks
from tempest_format_plugin.tests.zuul import repositories
from tempest_format_plugin.tests.zuul import review

_NEW = 'zuul.d/zz.yaml'


def job(text):
    """Return the edit that adds a job, of the attributes besides its name."""
    return _NEW, '', f'---\n- job:\n    name: format-new\n{text}'


class TestFoundByZuul(base.ZuulTest):
    """Zuul refuses the configuration when it loads it."""

    def expect(self, message, *edits):
        _, tenant = self.planted(*edits)
        errors = tenant.errors(repositories.OWN)
        self.assertTrue(errors, f'expected an error with {message!r}')
        # In the text lines are broken somewhere.
        self.assertIn(message, ' '.join(' '.join(errors).split()))

    def test_unknown_parent(self):
        self.expect('Job devstack-tempst not defined', (
            'zuul.d/base.yaml', 'parent: devstack-tempest\n',
            'parent: devstack-tempst\n'))

    def test_unknown_job(self):
        self.expect('Job format-nfz not defined', (
            'zuul.d/templates.yaml', '        - format-nfs: *nova-check\n',
            '        - format-nfz: *nova-check\n'))

    def test_unknown_template(self):
        self.expect(
            'The project template "tempest-plugin-job" was not found', (
                'zuul.d/project.yaml', '- tempest-plugin-jobs\n',
                '- tempest-plugin-job\n'))

    def test_unknown_nodeset(self):
        self.expect('The nodeset "devstack-single-node-debian-buzz" was not '
                    'found', ('zuul.d/lab.yaml', 'debian-bookworm\n',
                              'debian-buzz\n'))

    def test_unknown_required_project(self):
        self.expect(
            'The project "opendev.org/openstack/nova-plugin" was not found', (
                'zuul.d/lab.yaml', '- opendev.org/openstack/nova\n',
                '- opendev.org/openstack/nova-plugin\n'))

    def test_unknown_dependency(self):
        self.expect('format-nobody', ('zuul.d/project.yaml', (
            '        - format-lab: &lab\n'), (
            '        - format-lab: &lab\n'
            '            dependencies: [format-nobody]\n')))

    def test_unknown_attribute(self):
        self.expect('extra keys not allowed', (
            'zuul.d/lab.yaml', '    timeout: 5400\n', '    timout: 5400\n'))

    def test_wrong_type(self):
        self.expect('expected int', (
            'zuul.d/lab.yaml', '    timeout: 5400\n',
            '    timeout: ninety minutes\n'))

    def test_bad_variable_name(self):
        self.expect('format-run-lab-cloud', (
            'zuul.d/base.yaml', 'format_run_lab_cloud: current\n',
            'format-run-lab-cloud: current\n'))

    def test_reserved_variables(self):
        for name in ('ansible_user', 'nodepool', 'zuul'):
            self.expect(f"variable named '{name}' is not allowed", job(
                f'    vars: {{{name}: 1}}\n'))

    def test_duplicate_key(self):
        self.expect('The key "timeout" appears more than once', job(
            '    timeout: 1\n    timeout: 2\n'))

    def test_bad_yaml(self):
        self.expect('while parsing', job('    vars: {a: [}\n'))

    def test_group_with_absent_node(self):
        self.expect('compute1', job(
            '    nodeset:\n'
            '      nodes: [{name: controller, label: ubuntu-noble}]\n'
            '      groups: [{name: compute, nodes: [compute1]}]\n'))

    def test_job_of_another_project(self):
        self.expect('not permitted to shadow', (_NEW, '', (
            '---\n- job: {name: devstack-tempest, parent: devstack}\n')))

    def test_regular_expression_that_re2_lacks(self):
        """Only a warning of Zuul's, and yet the jobs would run otherwise."""
        self.expect('invalid perl operator', (
            'zuul.d/templates.yaml', '- ^glance/domain/\n',
            '- ^glance/(?!tests)\n'))


class TestFoundByReview(base.ZuulTest):
    """Zuul loads the configuration as if it were right."""

    def expect(self, message, *edits, stub_edits=()):
        directories, tenant = self.planted(*edits, stub_edits=stub_edits)
        self.assertEqual([], tenant.errors(repositories.OWN))
        problems = review.problems(tenant, repositories.OWN, directories)
        self.assertTrue([each for each in problems if message in each],
                        f'expected {message!r} in one of {problems}')

    def test_abstract_job_in_a_pipeline(self):
        self.expect('format-multinode-base is abstract', (
            'zuul.d/project.yaml', '        - format-cold-migration-flat\n',
            '        - format-multinode-base\n'))

    def test_unknown_pipeline(self):
        self.expect('there is no pipeline experimentl', (
            'zuul.d/project.yaml', '    experimental:\n',
            '    experimentl:\n'))

    def test_undefined_ancestor(self):
        """Only the repository of the ancestor's child is told; ours runs."""
        self.expect('pipeline check: format-nfs is left out', stub_edits=[(
            'openstack/devstack', 'zuul.d/jobs.yaml', '    name: devstack\n',
            '    name: devstackk\n')])

    def test_branch_that_no_variant_is_for(self):
        self.expect('pipeline gate: format-lab is left out', (
            'zuul.d/lab.yaml', '    name: format-lab\n',
            '    name: format-lab\n    branches: ^stable/\n'))

    def test_missing_playbook(self):
        self.expect('format-multinode-base: there is no playbook '
                    'playbooks/devstack/post.yaml',
                    ('playbooks/devstack/post.yaml', '', None))

    def test_unknown_repository_of_roles(self):
        self.expect('format-base: the tenant has no repository '
                    'opendev.org/openstack/devstak', (
                        'zuul.d/base.yaml',
                        '- zuul: opendev.org/openstack/devstack\n',
                        '- zuul: opendev.org/openstack/devstak\n'))

    def test_missing_role(self):
        self.expect('playbooks/devstack/run.yaml names run-tempst', (
            'playbooks/devstack/run.yaml', 'name: run-tempest\n',
            'name: run-tempst\n'))

    def test_role_of_a_repository_that_is_not_asked(self):
        """A repository that is there, whose roles no job of ours asks for."""
        roles = '    roles:\n      - zuul: zuul/zuul-jobs\n'
        self.expect(
            'format-lab: playbooks/format-lab/post.yaml names stage-output',
            ('zuul.d/lab.yaml', roles, ''), stub_edits=[
                ('opendev/base-jobs', 'zuul.d/jobs.yaml', roles, '')])

    def test_missing_part_of_a_role(self):
        self.expect('names format_leftovers/tasks/afterwards', (
            'playbooks/devstack/run.yaml', 'tasks_from: after\n',
            'tasks_from: afterwards\n'))

    def test_variables_of_an_unknown_host(self):
        self.expect('format-lab: host-vars for compute2', (
            'zuul.d/lab.yaml', '    timeout: 5400\n', (
                '    timeout: 5400\n'
                '    host-vars:\n'
                '      compute2:\n'
                '        format_run_lab_cloud: current\n')))

    def test_variables_of_an_unknown_group(self):
        self.expect('format-live-migration-mixed: group-vars for subnodes', (
            'zuul.d/scenarios.yaml', (
                '    group-vars:\n      subnode:\n        devstack_localrc:\n'
                '          FORMAT_IMAGES_TYPE: raw\n'), (
                '    group-vars:\n      subnodes:\n        devstack_localrc:\n'
                '          FORMAT_IMAGES_TYPE: raw\n')))

    def test_unknown_label(self):
        self.expect('format-lab: nobody else has nodes of the label '
                    'debian-bookwurm', (
                        'zuul.d/lab.yaml',
                        'nodeset: devstack-single-node-debian-bookworm\n',
                        'nodeset: {nodes: [{name: controller, '
                        'label: debian-bookwurm}]}\n'))


class TestFoundByAnsible(base.ZuulTest):
    """Nobody looks into a playbook but Ansible."""

    def expect(self, message, old, new):
        directories, tenant = self.planted((
            'playbooks/format-lab/run.yaml', old, new))
        run, = tenant.freeze('gate', repositories.OWN)['format-lab'].run
        self.assertIn(message, ' '.join(playbooks.syntax_errors(
            [run], directories).split()))

    def test_missing_role(self):
        self.expect("the role 'format_run_lap' was not found",
                    '    - format_run_lab\n', '    - format_run_lap\n')

    def test_unknown_keyword(self):
        self.expect("'becom' is not a valid attribute for a Play",
                    '  become: true\n', '  becom: true\n')

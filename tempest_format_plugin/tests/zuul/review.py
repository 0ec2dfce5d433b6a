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

"""What Zuul accepts, and what would fail when the job runs, or run nothing."""

import pathlib

from tempest_format_plugin.tests.zuul import playbooks
from tempest_format_plugin.tests.zuul import tenant as tenants


def problems(tenant, project, repositories):
    """Return what is wrong with a project's jobs that Zuul doesn't say.

    :param tenant: a tenant.Tenant, loaded from the repositories
    :param repositories: {project: directory}
    :returns: list of texts
    """
    found = _of_definitions(tenant, project, repositories)
    for pipeline, wanted in tenant.configured(project).items():
        if pipeline not in tenant.pipelines():
            found.append(f'there is no pipeline {pipeline}')
            continue
        try:
            frozen = tenant.freeze(pipeline, project)
        except tenants.FreezeError as error:
            found.append(f'pipeline {pipeline}: {error}')
            continue
        found += [
            f'pipeline {pipeline}: {name} is left out: an ancestor of it is '
            'not defined, or no variant is for this branch'
            for name in sorted(wanted - frozen.keys())]
        for job in frozen.values():
            found += _of_job(tenant, job, project, repositories)
    return sorted(set(found))


def _of_definitions(tenant, project, repositories):
    found = []
    for job in tenant.definitions(project):
        found += [
            f'{job.name}: there is no playbook {playbook.path}'
            for phase in (job.pre_run, job.run, job.post_run, job.cleanup_run)
            for playbook in phase or ()
            if not (pathlib.Path(repositories[project])
                    / playbook.path).is_file()]
        found += [
            f'{job.name}: the tenant has no repository {role.project_name}, '
            'whose roles it asks for'
            for role in job.roles or ()
            if not role.implicit and not tenant.has_project(role.project_name)]
    return found


def _of_job(tenant, job, project, repositories):
    found = [
        f'{job.name}: {playbook.path} names {missing}, which is in none of '
        f'{", ".join(playbook.roles)}'
        for playbook in job.playbooks if playbook.project == project
        and (pathlib.Path(repositories[project]) / playbook.path).is_file()
        for missing in playbooks.missing_roles(playbook, repositories)]
    found += [f'{job.name}: host-vars for {host}, which is none of its nodes'
              for host in job.host_variables if host not in job.nodes]
    # Those of our own definitions: the parents name groups that not all of
    # their nodesets have.
    found += [
        f'{job.name}: group-vars for {group}, which is none of its groups'
        for variant in tenant.definitions(project) if variant.name == job.name
        for group in variant.group_variables or ()
        if group not in {*job.groups, 'all'}]
    labels = tenant.labels_of_others(project)
    found += [f'{job.name}: nobody else has nodes of the label {label}'
              for label in job.nodes.values() if label not in labels]
    return found

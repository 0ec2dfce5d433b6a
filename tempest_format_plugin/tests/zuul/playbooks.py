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

"""Playbooks of frozen jobs: the roles that they name, and their syntax."""

import functools
import os
import pathlib
import subprocess
import sys
import tempfile

import yaml

_INCLUDES = ('ansible.builtin.include_role', 'ansible.builtin.import_role',
             'include_role', 'import_role')
# libyaml's, where PyYAML has it: ten times as fast.
_Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
# Where tasks stand in a play, and in a block.
_TASK_LISTS = ('pre_tasks', 'tasks', 'post_tasks', 'handlers',
               'block', 'rescue', 'always')


@functools.cache
def named_roles(text):
    """Return the (role, tasks file) that a playbook or a task file names.

    Roles that are included while it runs are among them: a syntax check of
    Ansible's looks at none of those.
    """
    found = []

    def look(things):
        for thing in things or ():
            for role in thing.get('roles', ()):
                found.append((role if isinstance(role, str) else
                              role.get('role') or role['name'], 'main'))
            for name in _INCLUDES:
                if name in thing:
                    found.append((thing[name]['name'],
                                  thing[name].get('tasks_from', 'main')))
            for tasks in _TASK_LISTS:
                look(thing.get(tasks))
    look(yaml.load(text, Loader=_Loader))
    return tuple(found)


def role_path(playbook, repositories):
    """Return the directories where Zuul lets a playbook look for roles.

    :param playbook: a tenant.Playbook
    :param repositories: {project: directory}
    :returns: list of pathlib.Path, in order
    """
    return [pathlib.Path(repositories[project]) / 'roles'
            for project in playbook.roles]


def missing_roles(playbook, repositories):
    """Return what a playbook names that its roles don't have.

    :returns: list of '<role>' or '<role>/tasks/<file>', those included that
        are named by roles of the playbook's own repository
    """
    own = pathlib.Path(repositories[playbook.project])
    path = role_path(playbook, repositories)
    missing, seen = [], set()
    pending = [*named_roles((own / playbook.path).read_text())]
    while pending:
        role, tasks = pending.pop()
        if (role, tasks) in seen:
            continue
        seen.add((role, tasks))
        found = next((directory / role for directory in path
                      if (directory / role).is_dir()), None)
        if found is None:
            missing.append(role)
            continue
        stem = tasks.removesuffix('.yaml').removesuffix('.yml')
        if not any((found / 'tasks' / f'{stem}.{suffix}').is_file()
                   for suffix in ('yaml', 'yml')):
            missing.append(f'{role}/tasks/{tasks}')
        if found.is_relative_to(own / 'roles'):
            for tasks_file in (found / 'tasks').glob('*.yaml'):
                pending += named_roles(tasks_file.read_text())
    return missing


def syntax_errors(playbooks, repositories):
    """Have ansible-playbook check playbooks that have the same role path.

    :param playbooks: list of tenant.Playbook
    :returns: what it says against them; empty: nothing
    """
    roles, = {playbook.roles for playbook in playbooks}
    paths = [pathlib.Path(repositories[playbook.project]) / playbook.path
             for playbook in playbooks]
    program = pathlib.Path(sys.executable).with_name('ansible-playbook')
    with tempfile.TemporaryDirectory() as directory:
        # Nothing of whoever runs the tests: an empty configuration, and a
        # home directory of its own.
        config = pathlib.Path(directory) / 'ansible.cfg'
        config.touch()
        ended = subprocess.run(
            [program, '--syntax-check', '--inventory', 'localhost,', *paths],
            capture_output=True, text=True,
            env=os.environ | {
                'ANSIBLE_CONFIG': str(config), 'HOME': directory,
                'ANSIBLE_ROLES_PATH': ':'.join(map(str, role_path(
                    playbooks[0], repositories))),
                'ANSIBLE_NOCOLOR': '1'})
    return ended.stdout + ended.stderr if ended.returncode else ''

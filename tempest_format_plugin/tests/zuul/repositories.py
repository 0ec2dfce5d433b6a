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

"""The repositories of the tenant: ours, and stand-ins for those of others."""

import os
import pathlib
import shutil

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
STUBS = pathlib.Path(__file__).parent / 'stub_parents'
CONFIG = STUBS / 'main.yaml'

OWN = 'openstack/tempest-format-plugin'
# Those that use our templates, and have stable branches.
SERVICES = ('openstack/cinder', 'openstack/glance', 'openstack/nova')
CYCLES = ('2025.1', '2025.2', '2026.1')
BRANCHES = {service: ['master', *(f'stable/{cycle}' for cycle in CYCLES)]
            for service in SERVICES}

# Names a directory with checkouts, as <directory>/openstack/devstack, of the
# repositories below. What else is there is not used.
UPSTREAM_VARIABLE = 'FORMAT_ZUUL_UPSTREAM_DIR'
UPSTREAM = ('openstack/devstack', 'openstack/openstack-zuul-jobs',
            'openstack/tempest', 'zuul/zuul-jobs')

# What of our repository counts for its jobs.
_OWN_PARTS = ('playbooks', 'roles', 'zuul.d')

_PLAYBOOK = """---
- name: Do nothing
  hosts: all
  gather_facts: false
  tasks: []
"""
_TASKS = """---
- name: Do nothing
  ansible.builtin.meta: noop
"""


def write_stubs(directory):
    """Write the stub repositories, with their playbooks and roles.

    :param directory: where, as <directory>/<project>
    :returns: {project: its directory}
    """
    directory = pathlib.Path(directory)
    shutil.copytree(STUBS, directory, dirs_exist_ok=True)
    for project, contents in yaml.safe_load(
            (STUBS / 'contents.yaml').read_text()).items():
        for playbook in contents['playbooks']:
            _write(directory / project / playbook, _PLAYBOOK)
        for role in contents['roles']:
            _write(directory / project / 'roles' / role / 'tasks/main.yaml',
                   _TASKS)
    return {path.relative_to(directory).as_posix(): path
            for path in sorted(directory.glob('*/*')) if path.is_dir()}


def with_stubs(directory):
    """Return {project: directory}: ours as it is here, all others stubs.

    :param directory: where to write the stubs
    """
    return {**write_stubs(directory), OWN: ROOT}


def with_upstream(directory):
    """Return {project: directory}, real parents in place of the stubs.

    Repositories that nobody outside of OpenDev can see stay stubs.

    :param directory: where to write the stubs
    :raises FileNotFoundError: a checkout isn't there
    """
    upstream = pathlib.Path(os.environ[UPSTREAM_VARIABLE])
    found = {project: upstream / project for project in UPSTREAM}
    for project, path in found.items():
        if not path.is_dir():
            raise FileNotFoundError(
                f'{UPSTREAM_VARIABLE} is {upstream}: expected a checkout of '
                f'{project} in {path}, there is none')
    return {**with_stubs(directory), **found}


def copy_of_own(directory):
    """Copy what counts of our repository, to be changed; return its path."""
    target = pathlib.Path(directory) / OWN
    for part in _OWN_PARTS:
        shutil.copytree(ROOT / part, target / part)
    # A role takes files from there.
    (target / 'tempest_format_plugin').symlink_to(
        ROOT / 'tempest_format_plugin')
    return target


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

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

"""What the tests of the jobs share."""

import atexit
import functools
import shutil
import tempfile

import fixtures
import testtools
import yaml

from tempest_format_plugin.tests.zuul import repositories
from tempest_format_plugin.tests.zuul import tenant

# All projects that run jobs of ours.
PROJECTS = (repositories.OWN, *repositories.SERVICES)
# The project that runs the parents of our jobs by themselves.
PARENTS = 'openstack/devstack'

EXPECTED = yaml.safe_load((
    repositories.ROOT / 'tempest_format_plugin/tests/zuul/expected.yaml'
).read_text())


def load(directories):
    """Return a Tenant, loaded from {project: directory}."""
    return tenant.Tenant(repositories.CONFIG, directories,
                         repositories.BRANCHES)


@functools.cache
def _directory():
    path = tempfile.mkdtemp(prefix='format-zuul-')
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def stubs():
    """Return ours and the stubs as {project: directory}, once a process."""
    return repositories.with_stubs(_directory())


@functools.cache
def loaded_stubs():
    return load(stubs())


@functools.cache
def upstream():
    """Return ours and the real parents, as stubs() does."""
    return repositories.with_upstream(_directory())


@functools.cache
def loaded_upstream():
    return load(upstream())


@functools.cache
def frozen(of, pipeline, project, branch='master'):
    """Freeze jobs as Tenant.freeze does, once a process.

    :param of: a Tenant
    """
    return of.freeze(pipeline, project, branch)


def differences(expected, actual, path=''):
    """Return a line for each place where nested dictionaries differ.

    :returns: list of '<key>.<key>: expected ..., got ...'
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [line for key in sorted({*expected, *actual}, key=str)
                for line in differences(
                    expected.get(key, 'nothing'), actual.get(key, 'nothing'),
                    f'{path}.{key}' if path else key)]
    return [] if expected == actual else [
        f'{path}: expected {expected!r}, got {actual!r}']


def merged(variables, more):
    """Merge variables into others as Zuul does from parent to child."""
    if isinstance(variables, dict) and isinstance(more, dict):
        return variables | {key: merged(variables.get(key), value)
                            for key, value in more.items()}
    return more


class ZuulTest(testtools.TestCase):
    """Base of the tests: a tenant, and the repositories it is made of."""

    def setUp(self):
        super().setUp()
        self.repositories, self.tenant = self.parents()

    def parents(self):
        """Return (repositories, Tenant) that the tests are about."""
        return stubs(), loaded_stubs()

    def jobs(self):
        """Return {name: Job} of all jobs of ours that are in a pipeline."""
        return {name: job for pipeline in self.tenant.pipelines()
                for name, job in frozen(
                    self.tenant, pipeline, repositories.OWN).items()
                if name.startswith('format-')}

    def planted(self, *edits, stub_edits=()):
        """Load copies of our files, or of the stubs, with something changed.

        :param edits: (path, old, new): a text that is there once and becomes
            another; old '' makes a new file of that text, new None deletes
            the file
        :param stub_edits: (project, path, old, new) of the stubs
        :returns: (repositories, Tenant)
        """
        directory = self.useFixture(fixtures.TempDir()).path
        copies = repositories.write_stubs(directory)
        copies[repositories.OWN] = repositories.copy_of_own(directory)
        for project, path, old, new in (
                *((repositories.OWN, *edit) for edit in edits), *stub_edits):
            _edit(copies[project] / path, old, new)
        return copies, load(copies)


def _edit(path, old, new):
    if new is None:
        path.unlink()
        return
    text = path.read_text() if old else ''
    if old and text.count(old) != 1:
        raise ValueError(f'{path}: expected {old!r} once, it is there '
                         f'{text.count(old)} times')
    path.write_text(text.replace(old, new) if old else new)

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

"""The same with the real parents, where somebody has checkouts of them.

Frozen against them our jobs must come out as with the stubs: where they don't,
the parents have changed and the stubs must follow.
"""

import dataclasses
import os
import pathlib
import re

from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import repositories
from tempest_format_plugin.tests.zuul import test_jobs
from tempest_format_plugin.tests.zuul import test_known_bugs
from tempest_format_plugin.tests.zuul import test_playbooks
from tempest_format_plugin.tests.zuul import test_selection


class Upstream:
    """A mixin: the tests of another class, with the real parents."""

    def parents(self):
        if not os.environ.get(repositories.UPSTREAM_VARIABLE):
            self.skipTest(f'{repositories.UPSTREAM_VARIABLE} names no '
                          'directory with checkouts of '
                          f'{", ".join(repositories.UPSTREAM)}')
        return base.upstream(), base.loaded_upstream()


class TestConfiguration(Upstream, test_jobs.TestConfiguration):
    pass


class TestPipelines(Upstream, test_jobs.TestPipelines):
    pass


class TestJobs(Upstream, test_jobs.TestJobs):
    pass


class TestKnownBugs(Upstream, test_known_bugs.TestKnownBugs):
    pass


class TestPlaybooks(Upstream, test_playbooks.TestPlaybooks):
    pass


class TestSelection(Upstream, test_selection.TestSelection):
    pass


class TestStubs(Upstream, base.ZuulTest):
    """The stubs are what the real parents are, for our jobs."""

    def test_parents(self):
        self._compare(base.PARENTS, 'check')

    def test_our_jobs(self):
        for project in base.PROJECTS:
            for pipeline in self.tenant.pipelines():
                self._compare(project, pipeline)

    def _compare(self, project, pipeline):
        ours = re.compile('format-|devstack-tempest|tempest-multinode')
        stubs, real = (
            {name: dataclasses.asdict(job) for name, job in base.frozen(
                tenant, pipeline, project).items() if ours.match(name)}
            for tenant in (base.loaded_stubs(), self.tenant))
        self.assertEqual([], base.differences(stubs, real))


class TestFiles(base.ZuulTest):
    """The files at whose change our jobs run are files of the services."""

    def test_each_pattern_matches(self):
        directory = os.environ.get(repositories.UPSTREAM_VARIABLE)
        if not directory:
            self.skipTest(f'{repositories.UPSTREAM_VARIABLE} names no '
                          'directory with checkouts')
        there = [service for service in repositories.SERVICES
                 if (pathlib.Path(directory) / service).is_dir()]
        if not there:
            self.skipTest(f'{directory} has no checkout of any of '
                          f'{", ".join(repositories.SERVICES)}')
        for service in there:
            root = pathlib.Path(directory) / service
            files = [path.relative_to(root).as_posix()
                     for path in root.rglob('*') if path.is_file()]
            patterns = self.tenant.file_patterns('check', service)
            self.assertTrue(patterns)
            for pattern in patterns:
                self.assertTrue(any(re.search(pattern, file)
                                    for file in files),
                                f'{service} has no file like {pattern}')

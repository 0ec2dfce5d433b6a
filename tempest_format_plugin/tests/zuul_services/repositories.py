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

"""Git repositories as those that Zuul takes configuration and code from."""

import shutil
import subprocess

import fixtures
import yaml

from tempest_format_plugin.tests.zuul import repositories as sources
from tempest_format_plugin.tests.zuul_services import paths

OWN = sources.OWN
# Nobody's own settings, such as hooks.
_ENVIRONMENT = {
    'PATH': '/usr/bin:/bin', 'GIT_CONFIG_GLOBAL': '/dev/null',
    'GIT_CONFIG_NOSYSTEM': '1', 'GIT_AUTHOR_NAME': 'Test',
    'GIT_AUTHOR_EMAIL': 'test@example.org', 'GIT_COMMITTER_NAME': 'Test',
    'GIT_COMMITTER_EMAIL': 'test@example.org'}


class Repositories(fixtures.Fixture):
    """A repository with the branch master for each project of the tenant.

    What counts of ours is in there as it is in this directory, committed or
    not. All others are the stubs of "tox -e zuul", or empty.

    :ivar path: the directory that they are in, each by its project's name
    :ivar tenant: the tenant's configuration, {'name': str, 'source': ...}
    :ivar projects: names of the projects
    """

    def _setUp(self):
        self.path = self.useFixture(paths.Directory()).path
        (entry,) = yaml.safe_load(sources.CONFIG.read_text())
        self.tenant = entry['tenant']
        self.projects = [
            next(iter(project)) if isinstance(project, dict) else project
            for kinds in self.tenant['source'].values()
            for projects in kinds.values() for project in projects]
        sources.write_stubs(self.path)
        package = sources.copy_of_own(self.path) / 'tempest_format_plugin'
        # A link to outside of the repository wouldn't go with it.
        package.unlink()
        shutil.copytree(
            sources.ROOT / package.name, package,
            ignore=shutil.ignore_patterns('tests', '__pycache__'))
        for project in self.projects:
            (self.path / project).mkdir(parents=True, exist_ok=True)
            self._git(project, 'init', '--quiet', '--initial-branch=master')
            self.commit(project, 'What the project is')

    def configure(self, project, options):
        """Set options of a config project in the tenant's configuration.

        :param options: {name: value}
        :raises ValueError: it is no config project, or has options
        """
        for kinds in self.tenant['source'].values():
            kinds['config-projects'][
                kinds['config-projects'].index(project)] = {project: options}

    def lay_over(self, directory):
        """Put further files into the repositories and commit them.

        :param directory: path of a directory that has them as
            <project>/<path>
        """
        shutil.copytree(directory, self.path, dirs_exist_ok=True)
        for project in self.projects:
            if (directory / project).is_dir():
                self.commit(project, 'What the test adds')

    def write(self, project, path, text):
        """Write a file and commit it."""
        (self.path / project / path).write_text(text)
        self.commit(project, f'Write {path}')

    def replace(self, project, path, old, new):
        """Replace a text that a file has once, and commit that.

        :raises ValueError: the file hasn't got it, or more than once
        """
        text = (self.path / project / path).read_text()
        if text.count(old) != 1:
            raise ValueError(f'{project}:{path}: expected {old!r} once, it is '
                             f'there {text.count(old)} times')
        self.write(project, path, text.replace(old, new))

    def commit(self, project, message):
        """Commit all that is in a project's directory to master.

        :returns: the commit's id
        """
        self._git(project, 'add', '--all')
        self._git(project, 'commit', '--quiet', '--allow-empty',
                  f'--message={message}')
        return self.head(project)

    def head(self, project):
        """Return the id of a project's last commit."""
        return self._git(project, 'rev-parse', 'HEAD').strip()

    def _git(self, project, *arguments):
        return subprocess.run(
            ['git', *arguments], cwd=self.path / project, env=_ENVIRONMENT,
            check=True, stdout=subprocess.PIPE, text=True).stdout

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

"""Load Zuul's configuration with Zuul's own code, inside this process.

No scheduler, no ZooKeeper, no database, no merger and no network: the
configuration loader gets its files from directories and dictionaries, and the
jobs are frozen as the scheduler freezes them, by the same functions. Written
for the Zuul that tox.ini pins: what is faked here is the inside of Zuul, and
may have to follow it.
"""

import configparser
import dataclasses
import itertools
import logging
import pathlib
import re
import types

from cryptography.hazmat.primitives.asymmetric import rsa
from opentelemetry.sdk import trace as trace_sdk
from opentelemetry import trace
from zuul import configloader
from zuul.driver import git
from zuul import exceptions
from zuul.lib import ansible
from zuul import model
from zuul.zk import zkobject

_CONNECTION = 'opendev'
_CONFIG = f"""
[scheduler]
[web]
root=http://localhost
[connection {_CONNECTION}]
driver=git
baseurl=file:///nonexistent
canonical_hostname=opendev.org
"""
_CHANGES = itertools.count()
# How Zuul writes down of which definitions a frozen job is made.
_ANCESTOR = re.compile(r'<Job (\S+) ')
# Errors are returned; whoever wants Zuul's own words has a handler for them.
logging.getLogger('zuul').addHandler(logging.NullHandler())
# Zuul makes spans of what it does, and wants real ones.
trace.set_tracer_provider(trace_sdk.TracerProvider())


class FreezeError(Exception):
    """Zuul can't make a job that it could run."""


@dataclasses.dataclass(frozen=True)
class Playbook:
    """A playbook of a frozen job.

    :ivar project: the repository that it is in, as 'openstack/devstack'
    :ivar path: its path there
    :ivar roles: the repositories whose roles it may use, in the order of
        ANSIBLE_ROLES_PATH
    """

    project: str
    path: str
    roles: tuple[str, ...]

    def __str__(self):
        return f'{self.project}:{self.path}'


@dataclasses.dataclass(frozen=True)
class Job:
    """A frozen job: what the executor is given.

    :ivar nodes: {name of node: label}
    :ivar groups: {group: (name of node, ...)}
    :ivar projects: sorted canonical names of its required projects
    :ivar ancestors: names of the jobs that it is made of, the oldest first,
        each once for every variant that matched
    """

    name: str
    voting: bool
    timeout: int | None
    nodes: dict
    groups: dict
    projects: tuple[str, ...]
    override_checkout: str | None
    pre_run: tuple[Playbook, ...]
    run: tuple[Playbook, ...]
    post_run: tuple[Playbook, ...]
    variables: dict
    group_variables: dict
    host_variables: dict
    ancestors: tuple[str, ...]

    @property
    def playbooks(self):
        return self.pre_run + self.run + self.post_run


class Tenant:
    """A tenant, loaded.

    :param config: path of a tenant configuration file
    :param repositories: {project: a directory or {path: text}}; of a
        directory only YAML files are seen. A project of the configuration
        that isn't here is empty.
    :param branches: {project: its branches}; master alone for all others.
        Each branch has the same files.
    """

    def __init__(self, config, repositories, branches=None):
        parsed = configparser.ConfigParser()
        parsed.read_string(_CONFIG)
        connections = _Connections(dict(parsed.items(
            f'connection {_CONNECTION}')), branches or {})
        loader = configloader.ConfigLoader(
            connections, types.SimpleNamespace(system_id='tests'), _ZooKeeper,
            model.SystemAttributes.fromConfig(parsed), _NoCache,
            merger=_Merger(repositories), keystorage=_Keys())
        unparsed = loader.readConfig(str(config))
        abide = model.Abide()
        loader.loadAuthzRules(abide, unparsed)
        loader.loadSemaphores(abide, unparsed)
        loader.loadTPCs(abide, unparsed)
        name, = unparsed.tenants
        self.tenant = loader.loadTenant(
            abide, name, ansible.AnsibleManager(), unparsed,
            min_ltimes=None, ignore_cat_exception=False)
        self.layout = self.tenant.layout

    def errors(self, project):
        """Return what Zuul says against a project's configuration.

        :returns: list of texts, errors and warnings alike
        """
        return [f'{error.severity}: {error.error}'
                for error in self.layout.loading_errors.errors
                if error.key.context.project_name == project]

    def has_project(self, project):
        return self.tenant.getProject(project)[1] is not None

    def pipelines(self):
        return tuple(self.layout.pipeline_managers)

    def definitions(self, project):
        """Return all variants of all jobs that a project defines.

        :returns: list of zuul.model.Job
        """
        return [variant for variants in self.layout.jobs.values()
                for variant in variants
                # Zuul's own job noop comes from nowhere.
                if variant.source_context
                and variant.source_context.project_name == project]

    def labels_of_others(self, project):
        """Return the labels of nodes that other projects' nodesets have.

        Which labels there are is known to OpenDev's launchers alone.
        """
        nodesets = [*self.layout.nodesets.values(), *(
            job.nodeset for variants in self.layout.jobs.values()
            for job in variants if isinstance(job.nodeset, model.NodeSet)
            and _defined_by_other(job, project))]
        return {node.label for nodeset in nodesets
                if _defined_by_other(nodeset, project)
                for node in nodeset.getNodes()}

    def configured(self, project):
        """Return what a project's stanzas and their templates ask for.

        :returns: {pipeline: set of names of jobs}, those pipelines included
            that don't exist
        """
        found = {}
        _, known = self.tenant.getProject(project)
        configs = list(self.layout.project_configs.get(
            known.canonical_name, ()))
        for config in tuple(configs):
            for template in config.templates:
                configs += self.layout.project_templates.get(template, ())
        for config in configs:
            for pipeline, jobs in config.pipelines.items():
                found.setdefault(pipeline, set()).update(jobs.job_list.jobs)
        return found

    def file_patterns(self, pipeline, project):
        """Return the regular expressions of files of a project's jobs.

        :returns: set of texts: a change runs a job if it touches a file that
            one of the job's matches
        """
        _, known = self.tenant.getProject(project)
        configs = [
            template for config in self.layout.project_configs.get(
                known.canonical_name, ()) for name in config.templates
            for template in self.layout.project_templates.get(name, ())]
        return {regex.pattern for config in configs
                if pipeline in config.pipelines
                for variants in config.pipelines[
                    pipeline].job_list.jobs.values()
                for variant in variants if variant.file_matcher
                for regex in variant.file_matcher.regexes}

    def freeze(self, pipeline, project, branch='master', files=None):
        """Freeze the jobs that a change would run.

        :param files: paths that the change touches; None: as if every file
            matcher matched
        :returns: {name: Job}
        :raises FreezeError: a job can't be run
        """
        _, known = self.tenant.getProject(project)
        change = model.Branch(known)
        change.branch = branch
        if files is not None:
            change.files = list(files)
        # All that is asked of it is to tell changes apart.
        change.cache_stat = types.SimpleNamespace(
            key=types.SimpleNamespace(reference=str(next(_CHANGES))))
        with zkobject.LocalZKContext(logging.getLogger(__name__)) as context:
            queue = model.ChangeQueue.new(
                context, manager=self.layout.pipeline_managers[pipeline])
            item = model.QueueItem.new(context, queue=queue, changes=[change])
            try:
                item.freezeJobGraph(self.layout, context, None,
                                    skip_file_matcher=files is None,
                                    redact_secrets_and_keys=True)
            except (model.JobConfigurationError,
                    exceptions.NodesetNotFoundError) as error:
                raise FreezeError(str(error)) from error
        graph = item.current_build_set.job_graph
        return {job.name: self._plain(job)
                for job in graph.getJobs()} if graph else {}

    def _plain(self, frozen):
        nodeset = frozen.nodeset
        return Job(
            name=frozen.name, voting=frozen.voting, timeout=frozen.timeout,
            nodes={name: node.label for node in nodeset.getNodes()
                   for name in node.name},
            groups={group.name: tuple(group.nodes)
                    for group in nodeset.getGroups()},
            projects=tuple(sorted(frozen.required_projects)),
            override_checkout=frozen.override_checkout,
            variables=_thawed(frozen.variables),
            group_variables=_thawed(frozen.group_variables),
            host_variables=_thawed(frozen.host_variables),
            ancestors=tuple(_ANCESTOR.match(step)[1]
                            for step in frozen.inheritance_path),
            **{phase: tuple(self._playbook(each)
                            for each in getattr(frozen, phase))
               for phase in ('pre_run', 'run', 'post_run')})

    def _playbook(self, frozen):
        return Playbook(frozen['project'], frozen['path'],
                        tuple(role['project'] for role in frozen['roles']))


def _defined_by_other(thing, project):
    return not thing.source_context or (
        thing.source_context.project_name != project)


def _thawed(value):
    """Return frozen variables as what they were in YAML."""
    if isinstance(value, (dict, types.MappingProxyType)):
        return {str(key): _thawed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_thawed(each) for each in value]
    return value


class _Connections:
    """The git driver alone: zuul.lib.connections imports that of each cloud.

    :param branches: {project: its branches}
    """

    def __init__(self, options, branches):
        self.driver = git.GitDriver()
        self.drivers = {'git': self.driver}
        connection = self.driver.getConnection(_CONNECTION, options)
        connection.getProjectBranches = (
            lambda project, tenant, min_ltime=-1:
            list(branches.get(project.name, ['master'])))
        self.connections = {_CONNECTION: connection}

    def getSource(self, name):
        return self.connections[name].source

    def getTrigger(self, name, config=None):
        return self.driver.getTrigger(self.connections[name], config)

    def getReporter(self, name, *args):
        raise LookupError(f'there is no reporter {name}')


class _Merger:
    """Hands out files where Zuul would ask its mergers for them."""

    git_timeout = 10

    def __init__(self, repositories):
        self.repositories = repositories

    def cancel(self, job):
        pass

    def getFiles(self, connection, project, branch, files, dirs=()):
        def wanted(path):
            return path in files or path.startswith(
                tuple(f'{directory}/' for directory in dirs))
        source = self.repositories.get(project, {})
        if not isinstance(source, dict):
            source = _yaml_files(pathlib.Path(source), files, dirs)
        found = {path: text for path, text in source.items() if wanted(path)}
        return types.SimpleNamespace(
            files=found, updated=True, wait=lambda timeout=None: True)


def _yaml_files(root, files, dirs):
    paths = [root / name for name in files]
    for directory in dirs:
        paths += (root / directory).rglob('*.yaml')
    return {path.relative_to(root).as_posix(): path.read_text()
            for path in paths if path.is_file()}


class _Keys:
    """One key for all projects, and a short one: to make one takes a while.

    It is asked for, and never used: nobody's secrets are decrypted here.
    """

    def __init__(self):
        self._key = rsa.generate_private_key(65537, 1024)

    def getProjectSecretsKeys(self, connection, project):
        return self._key, self._key.public_key()

    @staticmethod
    def getProjectSSHKeys(connection, project):
        return 'private', 'public'

    @staticmethod
    def getTenantSSHKeys(tenant):
        return 'private', 'public'


class _ZooKeeper:
    client = None

    @staticmethod
    def getCurrentLtime():
        return 1


class _FilesCache(dict):
    ltime = -1

    def setValidFor(self, *args):
        pass

    def isValidFor(self, *args):
        return False


class _Lock:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


class _NoCache:
    """Nothing is remembered from one loading to the next."""

    @staticmethod
    def getFilesCache(*args):
        return _FilesCache()

    @staticmethod
    def readLock(*args):
        return _Lock()

    writeLock = readLock

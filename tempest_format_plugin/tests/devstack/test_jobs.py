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

"""The samples make the clouds that the Zuul jobs of the scenarios make."""

import os.path

import jinja2
import testtools
import yaml

from tempest_format_plugin.tests.devstack import samples

# The variables of jobs go into other places of a local.conf than a person
# writes, and much of it comes from elsewhere. These are in the samples alone:
_ONLY_IN_SAMPLES = {
    # what Zuul's inventory and DevStack's role know of the hosts,
    'HOST_IP', 'SERVICE_HOST', 'MYSQL_HOST', 'RABBIT_HOST', 'DATABASE_TYPE',
    'ADMIN_PASSWORD', 'DATABASE_PASSWORD', 'RABBIT_PASSWORD',
    'SERVICE_PASSWORD', 'LOGFILE',
    # what the parents of the jobs have,
    'NOVA_ALLOW_MOVE_TO_SAME_HOST', 'LIVE_MIGRATION_AVAILABLE',
    'USE_BLOCK_MIGRATION_FOR_LIVE_MIGRATION', 'GLANCE_HOSTPORT',
    'ENABLE_CHASSIS_AS_GW',
    ('test-config', '$TEMPEST_CONFIG', 'compute', 'min_compute_nodes'),
    # and what the roles format_host_access, format_tempest_conf and
    # format_nfs_export find out or do.
    'FORMAT_COMPUTE_BACKENDS', 'FORMAT_SSH_KEY_FILE', 'FORMAT_NFS_EXPORT',
    'FORMAT_NFS_CLIENTS',
}
_ONLY_IN_SAMPLES_OF = {
    'controller': set(),
    # That cinder has volumes on NFS makes the plugin install the client.
    'subnode': {'CINDER_ENABLED_BACKENDS'},
}
# Jobs without a sample, and why.
_NO_SAMPLE = {
    'format-reconfigure': 'any pair of samples is a cloud for it',
}
_PLUGIN = {'tempest-format-plugin':
           'https://opendev.org/openstack/tempest-format-plugin'}
_BASES = ('format-base', 'format-multinode-base')


def read_jobs():
    """Return the jobs of zuul.d as master sees them, by name."""
    jobs = {}
    for path in sorted((samples.ROOT / 'zuul.d').glob('*.yaml')):
        for item in yaml.safe_load(path.read_text()):
            job = item.get('job')
            if job and not {'branches', 'override-checkout'} & job.keys():
                jobs[job['name']] = job
    return jobs


def _merge(below, above):
    if isinstance(below, dict) and isinstance(above, dict):
        return {name: _merge(below.get(name), above.get(name, below.get(name)))
                for name in {**below, **above}}
    return above


def _inherited(jobs, name):
    """Return vars and group-vars as this repository's ancestors add up."""
    if name not in jobs:
        return {'vars': {}, 'group-vars': {}}
    job = jobs[name]
    return _merge(_inherited(jobs, job.get('parent')),
                  {key: job.get(key, {}) for key in ('vars', 'group-vars')})


class JobHost:
    """What a job says of one host's local.conf."""

    def __init__(self, jobs, name, host):
        inherited = _inherited(jobs, name)
        variables = inherited['vars']
        # A group's variable hides the one that holds for all hosts, and for
        # these the parents have one of the group's.
        of_host = (variables if host == 'controller'
                   else inherited['group-vars'].get('subnode', {}))
        context = {
            **variables,
            'hostvars': {'controller': {'nodepool': {
                'private_ipv4': samples.CONTROLLER_ADDRESS}}}}
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined)

        def render(value):
            return environment.from_string(str(value)).render(context)

        self.localrc = {key: render(value) for key, value in
                        of_host.get('devstack_localrc', {}).items()}
        self.services = of_host.get('devstack_services', {})
        self.meta = {
            (phase, file, section, option): render(value)
            for phase, files in of_host.get('devstack_local_conf', {}).items()
            for file, sections in files.items()
            for section, options in sections.items()
            for option, value in options.items()}
        self.plugins = variables['devstack_plugins']
        self.tempest_plugins = (
            variables['tempest_plugins'] if host == 'controller' else [])


def differences(job_host, text, host):
    """Return how a sample differs from a job, in sentences."""
    sample = samples.LocalConf(text)
    of_job = {**job_host.localrc, **job_host.meta}
    of_sample = {**sample.localrc, **sample.meta}
    services = set(of_sample.pop('ENABLED_SERVICES', '').split(','))
    plugins = {}
    for command in sample.commands:
        words = command.split()
        if words[0] == 'enable_plugin':
            plugins[words[1]] = words[2]
        elif words[0] == 'enable_service':
            services.update(words[1:])
        else:
            yield f'what is {command}?'
    if plugins != job_host.plugins:
        yield f'the job has the plugins {job_host.plugins}, not {plugins}'
    tempest_plugins = [
        os.path.basename(path)
        for path in of_sample.pop('TEMPEST_PLUGINS', '').split()]
    if tempest_plugins != job_host.tempest_plugins:
        yield (f'the job has the tempest plugins {job_host.tempest_plugins}, '
               f'not {tempest_plugins}')
    for service, enabled in job_host.services.items():
        if enabled != (service in services):
            yield f'the job has {service}: {enabled}'
    if 'FORMAT_NFS_EXPORT' in of_sample:
        # The plugin's settings derive it; the job has a role for the rest.
        of_sample['CINDER_NFS_SERVERPATH'] = (
            f'{of_sample["HOST_IP"]}:{of_sample["FORMAT_NFS_EXPORT"]}')
    exempt = _ONLY_IN_SAMPLES | _ONLY_IN_SAMPLES_OF[host]
    for key in sorted({*of_job, *of_sample} - exempt, key=str):
        if of_job.get(key) != of_sample.get(key):
            yield (f'{key}: the job has {of_job.get(key)}, the sample '
                   f'{of_sample.get(key)}')


class TestJobs(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.jobs = read_jobs()

    def differences(self, scenario, host, text=None):
        return list(differences(
            JobHost(self.jobs, f'format-{scenario}', host),
            text or samples.path(scenario, host).read_text(), host))

    def test_samples_equal_jobs(self):
        every = [(scenario, host) for scenario in samples.SCENARIOS
                 for host in samples.HOSTS]
        self.assertEqual({sample: [] for sample in every},
                         {sample: self.differences(*sample)
                          for sample in every})

    def test_every_job_has_a_sample(self):
        self.assertEqual(
            {f'format-{scenario}' for scenario in samples.SCENARIOS}
            | _NO_SAMPLE.keys(),
            {name for name, job in self.jobs.items()
             if job.get('parent') in _BASES})

    def test_nothing_is_exempt_for_nothing(self):
        used = {host: set() for host in samples.HOSTS}
        for scenario in samples.SCENARIOS:
            for host in samples.HOSTS:
                sample = samples.LocalConf(
                    samples.path(scenario, host).read_text())
                used[host] |= sample.localrc.keys() | sample.meta.keys()
        self.assertEqual(
            set(), _ONLY_IN_SAMPLES - used['controller'] - used['subnode'])
        for host, exempt in _ONLY_IN_SAMPLES_OF.items():
            self.assertEqual(set(), exempt - used[host])

    def test_differences_are_seen(self):
        for scenario, host, old, new, seen in (
                ('cold-migration-raw', 'subnode',
                 'FORMAT_IMAGES_TYPE=raw', 'FORMAT_IMAGES_TYPE=qcow2',
                 'FORMAT_IMAGES_TYPE: the job has raw, the sample qcow2'),
                ('cold-migration-raw', 'subnode',
                 'FORMAT_IMAGES_TYPE=raw', '',
                 'FORMAT_IMAGES_TYPE: the job has raw, the sample None'),
                ('nfs', 'controller', '/srv/format-nfs', '/srv/other',
                 'CINDER_NFS_SERVERPATH: the job has '
                 '192.0.2.11:/srv/format-nfs, the sample '
                 '192.0.2.11:/srv/other'),
                ('nfs', 'subnode', '=n-cpu,', '=n-cpu,c-vol,',
                 'the job has c-vol: False'),
                ('volume-backed-snapshot', 'controller',
                 'FORMAT_GLANCE_ENFORCE=True', 'FORMAT_GLANCE_ENFORCE=False',
                 'FORMAT_GLANCE_ENFORCE: the job has True, the sample False'),
                ('volume-backed-snapshot', 'controller',
                 'FORMAT_KNOWN_BUGS=2038898,', 'FORMAT_KNOWN_BUGS=',
                 f'FORMAT_KNOWN_BUGS: the job has {samples.KNOWN_BUGS}, the '
                 'sample live-migration-mixed-backends,'
                 'volume-backed-snapshot-raw-disallowed'),
                ('nfs', 'controller', 'min_compute_nodes', 'min_nodes',
                 '(\'test-config\', \'$TEMPEST_CONFIG\', \'compute\', '
                 '\'min_nodes\'): the job has None, the sample 2'),
                ('nfs', 'subnode', 'enable_plugin ', 'enable_plugin other-',
                 f'the job has the plugins {_PLUGIN}, not '
                 + str(_PLUGIN).replace('tempest-', 'other-tempest-', 1))):
            text = samples.path(scenario, host).read_text()
            self.assertIn(old, text)
            found = self.differences(scenario, host, text.replace(old, new))
            self.assertEqual([seen], found)

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

"""Finding out from a compute host itself what it is."""

import dataclasses
import inspect
import re
import shlex

from tempest_format_plugin.discovery import deployment
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import nova_compute_script
from tempest_format_plugin.hosts import profile as profiles

# Before it is known how to become root there. sudo is given no chance to ask.
_AS_ROOT = ('[ "$(id -u)" -eq 0 ] || set -- sudo -n; '
            'exec "$@" /usr/bin/python3 -I -S -')
_VERSIONS = {
    'libvirt': re.compile(r'^Using library: libvirt (\S+)', re.MULTILINE),
    'qemu': re.compile(r'^Running hypervisor: QEMU (\S+)', re.MULTILINE),
}


def look(connection, address):
    """Return the HostFacts of a compute host. Reads only.

    :param connection: ssh.Connection to it
    :raises HostAccessError: no connection, or not as root
    :raises CommandError: there is no Python
    :raises ObservationError: what it says makes no sense
    """
    host = connection.endpoint.host
    completed = connection.run(
        shlex.join(('sh', '-c', _AS_ROOT)),
        stdin=inspect.getsource(nova_compute_script))
    if compute_host.sudo_refused(completed):
        raise exceptions.HostAccessError(
            host, f'expected root access without a password for '
            f'{connection.endpoint.user}, got: {completed.stderr.strip()}',
            'ssh_user')
    report = deployment.parse(completed.check().stdout, host=host)
    found = _of_report(host, address, report)
    if found.deployment is None:
        return found
    return _with_versions(found, connection)


def profile_of(found):
    """Return the Profile of a host: that of its deployment, overridden."""
    fields = {option: field for field, option in profiles.OPTIONS.items()}
    return profiles.get(found.deployment, **{
        fields[option]: value for option, value in found.overrides.items()})


def _of_report(host, address, report):
    problems = [*report.problems]
    name = deployment.recognise(report)
    if name is None and report.nova_compute is not None:
        problems.append(
            f'expected nova-compute to run as in one of the deployments '
            f'{", ".join(profiles.BUILT_IN)}, found it '
            f'{deployment.describe(report.nova_compute)}: set [disk_format] '
            f'profile and what is otherwise than there')
    conf = report.conf
    if conf and conf['host'] != host:
        problems.append(f'its nova-compute calls itself {conf["host"]}: is '
                        f'{address} the address of {host}? Set [disk_format] '
                        f'compute_addresses')
        conf = {}
    if conf and conf['instances_path'] is None:
        problems.append('where its instances are could not be told: set '
                        '[disk_format] instances_path')
    container = report.libvirt and report.libvirt.container
    if container and container.name is None:
        problems.append(f'the name of the {container.runtime} container with '
                        f'libvirt could not be told: set [disk_format] '
                        f'container_name')
    driver = (conf.get('compute_driver') or '').partition('.')[0]
    if driver not in ('', 'libvirt'):
        problems.append(f'its compute_driver is {conf["compute_driver"]}, not '
                        f'libvirt')
        # What the options of libvirt are set to means nothing there.
        conf = {}
    return facts.HostFacts(
        host, address, deployment=name,
        images_type=conf.get('images_type'),
        use_cow_images=conf.get('use_cow_images'),
        force_raw_images=conf.get('force_raw_images'),
        instances_path=conf.get('instances_path'), nova=report.nova,
        overrides=_overrides(name, report) if name else {},
        problems=tuple(problems))


def _overrides(name, report):
    """Return {option: value} where a host isn't as its profile says."""
    profile = profiles.BUILT_IN[name]
    found = {}
    if not report.sudo and profile.sudo:
        found['sudo_command'] = ''
    elif report.sudo and not profile.sudo:
        found['sudo_command'] = 'sudo -n'
    path = report.conf.get('instances_path')
    if path and path != profile.instances_path:
        found['instances_path'] = path
    container = report.libvirt and report.libvirt.container
    if container and container.name:
        if ((container.runtime, container.name)
                != (profile.container_runtime, profile.container_name)):
            found['container_runtime'] = container.runtime
            found['container_name'] = container.name
    elif report.libvirt and not container and profile.container_name:
        found['container_name'] = ''
    return found | deployment.other_paths(name, report)


def _with_versions(found, connection):
    """Return the facts with what virsh, as the profile says, tells."""
    try:
        said = connection.run(shlex.join(
            (*profile_of(found).virsh_argv, 'version'))).check().stdout
    except exceptions.HostError as error:
        return dataclasses.replace(found, problems=(
            *found.problems, f'{error}: set [disk_format] virsh_command'))
    versions = {name: match and match[1] for name, match in (
        (name, pattern.search(said)) for name, pattern in _VERSIONS.items())}
    return dataclasses.replace(found, **versions)

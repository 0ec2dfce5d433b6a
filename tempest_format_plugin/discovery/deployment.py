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

"""What a compute host says of its nova-compute, and the deployment it is."""

import dataclasses
import json

import jsonschema

from tempest_format_plugin.formats import exceptions

# Of what hosts.nova_compute_script prints.
VERSION = 1

# Deployment profiles (hosts.profile) by the unit of nova-compute.
_OF_UNITS = {
    'devstack@n-cpu.service': 'devstack',
    'nova-compute.service': 'debian',
    'openstack-nova-compute.service': 'rdo',
}
# What kolla-ansible, TripleO and RHOSO keep of a container nova_compute on the
# host. All three call it the same.
_KOLLA = '/etc/kolla/nova-compute'
_TRIPLEO = '/var/lib/config-data/puppet-generated/nova_libvirt'
# Of RHOSO the later and the earlier versions.
_RHOSO, _OLD_RHOSO = ('/var/lib/openstack/nova',
                      '/var/lib/openstack/config/nova')
_OPENSTACK_ANSIBLE = '/openstack/venvs/'


def _object(**properties):
    return {'type': ['object', 'null'], 'properties': properties,
            'required': list(properties)}


# What a host says is believed where it can be: any of these may end up in
# options for the whole cloud.
_TEXT, _FLAG = {'type': 'string'}, {'type': 'boolean'}
_TEXT_OR_NOT = {'type': ['string', 'null']}
_TEXTS = {'type': 'array', 'items': _TEXT}
_DAEMON = _object(
    program=_TEXT, unit=_TEXT_OR_NOT, supervised=_FLAG, container=_object(
        runtime={'enum': ['docker', 'podman']}, name=_TEXT_OR_NOT))
_SCHEMA = _object(
    version={'const': VERSION}, sudo=_FLAG, nova_compute=_DAEMON,
    libvirt=_DAEMON, marks=_TEXTS, nova=_TEXT_OR_NOT, problems=_TEXTS,
    conf=_object(
        host=_TEXT, images_type=_TEXT, use_cow_images=_FLAG,
        force_raw_images=_FLAG, compute_driver=_TEXT_OR_NOT,
        instances_path=_TEXT_OR_NOT | {'pattern': '^/'}),
) | {'type': 'object'}


@dataclasses.dataclass(frozen=True)
class Container:
    """:ivar name: None if the runtime doesn't tell."""

    runtime: str
    name: str | None


@dataclasses.dataclass(frozen=True)
class Daemon:
    """A daemon that runs on a compute host.

    :ivar program: path, as it sees it
    :ivar unit: of systemd; None: it isn't of one
    :ivar container: None: it runs on the host itself
    :ivar supervised: whether supervisord runs it
    """

    program: str
    unit: str | None
    container: Container | None
    supervised: bool


@dataclasses.dataclass(frozen=True)
class HostReport:
    """What hosts.nova_compute_script prints, see there."""

    sudo: bool
    nova_compute: Daemon | None
    libvirt: Daemon | None
    marks: tuple[str, ...]
    nova: str | None
    conf: dict
    problems: tuple[str, ...]


def parse(text, *, host):
    """Return the HostReport of a text.

    :param host: name of the compute host, for errors
    :raises ObservationError: it makes no sense
    """
    try:
        report = json.loads(text)
        jsonschema.validate(report, _SCHEMA)
    except (ValueError, RecursionError,
            jsonschema.ValidationError) as error:
        reason = getattr(error, 'message', str(error))
        raise exceptions.ObservationError(
            'nova_compute_script', host,
            f'expected the JSON document of the script, found {text[:200]!r} '
            f'({reason[-200:]})') from error
    return HostReport(
        sudo=report['sudo'], nova_compute=_daemon(report['nova_compute']),
        libvirt=_daemon(report['libvirt']), marks=tuple(report['marks']),
        nova=report['nova'], conf=report['conf'] or {},
        problems=tuple(report['problems']))


def recognise(report):
    """Return the name of the deployment profile of a host; None: not known.

    :param report: HostReport
    """
    nova_compute = report.nova_compute
    if nova_compute is None:
        return None
    if nova_compute.container is not None:
        return _of_container(report)
    if nova_compute.program.startswith(_OPENSTACK_ANSIBLE):
        return 'openstack-ansible'
    if nova_compute.supervised:
        return 'lab'
    return _OF_UNITS.get(nova_compute.unit)


def _of_container(report):
    if _KOLLA in report.marks:
        return f'kolla-{report.nova_compute.container.runtime}'
    if _TRIPLEO in report.marks:
        libvirt = report.libvirt and report.libvirt.container
        return ('tripleo-modular'
                if libvirt and libvirt.name == 'nova_virtqemud'
                else 'tripleo')
    if not {_RHOSO, _OLD_RHOSO}.isdisjoint(report.marks):
        return 'rhoso'
    return None


def other_paths(name, report):
    """Return {option: value} where a version of a deployment has others.

    :param name: of the deployment profile
    """
    if name == 'rhoso' and _RHOSO not in report.marks:
        return {'compute_edit_file':
                f'{_OLD_RHOSO}/02-nova-host-specific.conf'}
    return {}


def describe(daemon):
    """Return what is seen of how a daemon runs, in words."""
    if daemon.container is not None:
        return (f'in the {daemon.container.runtime} container '
                f'{daemon.container.name}')
    if daemon.unit:
        return f'by the unit {daemon.unit}'
    return f'as {daemon.program}'


def _daemon(found):
    if found is None:
        return None
    container = found['container']
    return Daemon(
        found['program'], found['unit'],
        container and Container(container['runtime'], container['name']),
        found['supervised'])

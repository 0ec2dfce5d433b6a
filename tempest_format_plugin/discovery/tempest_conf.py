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

"""What was found out of a cloud, as a piece of tempest.conf."""

import collections
import re

import prettytable

from tempest_format_plugin.discovery import facts
from tempest_format_plugin.formats import redaction

# Those of the option compute_backends.
_BACKENDS = frozenset((*facts.FILE_BACKENDS, 'lvm', 'rbd', 'ploop'))
# What fits into an option that holds names and colons.
_NAME = re.compile(r'[\w.-]+')
_ADDRESS = re.compile(r'[\w.:-]+')
# The flavor of the scenarios, unless told otherwise.
_FLAVOR_RAM = 256
_GIB = 2 ** 30


def render(found, made, hosts_file=None):
    """Return text that can be added to a tempest.conf as it is.

    What isn't an option is a comment: the table, and what couldn't be found
    out.

    :param found: CloudFacts
    :param made: when, in words
    :param hosts_file: path of the file that has hosts_that_differ(found);
        None: there is none
    """
    options, notes = propose(found, hosts_file)
    lines = [f'Found out by "tempest disk-format discover", {made}.', '',
             *_table(found).splitlines(), '', *_apis(found)]
    problems = [*notes, *problems_of(found)]
    if problems:
        lines += ['', "What couldn't be found out, or needs a look:"]
        lines += [f'- {problem}' for problem in problems]
    text = [_comment(line) for line in lines]
    for group, values in options.items():
        text += ['', f'[{group}]']
        text += [_option(name, str(value)) for name, value in values.items()]
    return redaction.redact('\n'.join(text)) + '\n'


def problems_of(found):
    """Return what couldn't be found out, a line each."""
    return [*found.problems, *(f'{host.host}: {problem}'
                               for host in found.hosts
                               for problem in host.problems)]


def hosts_that_differ(found):
    """Return the document of a hosts file: what no option can say.

    :param found: CloudFacts
    :returns: as hosts_file.SCHEMA; {} if one profile fits all hosts
    """
    usable = _usable(found)
    most, overrides = _most(usable)
    differing = {
        host.host: {'profile': host.deployment} | dict.fromkeys(overrides)
        | host.overrides
        for host in usable if host.deployment
        and (host.deployment, host.overrides) != (most, overrides)}
    return {'hosts': differing} if differing else {}


def propose(found, hosts_file=None):
    """Return ({group: {option: value}}, notes) for a tempest.conf.

    :param found: CloudFacts
    :param hosts_file: see render
    :returns: the options that what was found decides, and what somebody
        should look at
    """
    notes = []
    in_service = sum(not host.out_of_service for host in found.hosts)
    options = {
        'compute': {'min_compute_nodes': in_service or 1,
                    'max_microversion': 'latest'},
        # What libvirt can do, and tempest takes for missing.
        'compute-feature-enabled': {
            'resize': 'true', 'block_migration_for_live_migration': 'true'},
        'placement': {'max_microversion': 'latest'},
        'service_available': {}, 'volume': {}, 'disk_format': {},
    }
    options['compute'].update(_images(found, options['disk_format'], notes))
    if found.services:
        volume_type = facts.volume_catalog_type(found.services)
        options['service_available']['cinder'] = str(
            volume_type is not None).lower()
        if volume_type:
            options['volume'] = {'catalog_type': volume_type,
                                 'max_microversion': 'latest'}
    options['disk_format'].update(_hosts(found, hosts_file, notes))
    if found.nfs_volume_types:
        options['disk_format']['nfs_volume_type'] = found.nfs_volume_types[0]
    if found.raw_images_allowed is False:
        options['disk_format']['raw_images_allowed'] = 'false'
    return ({group: values for group, values in options.items() if values},
            notes)


def _images(found, disk_format, notes):
    """Return the options about images of [compute].

    :param disk_format: gets those about the flavor, where it must be larger
    """
    if not found.images:
        notes.append('no active public image is raw or qcow2: set [compute] '
                     'image_ref')
        return {}
    first = found.images[0]
    other = next((image for image in found.images
                  if image.disk_format != first.disk_format), first)
    if len(found.images) > len({first, other}):
        notes.append(
            f'{len(found.images)} images are public, {first.name} is the '
            f'smallest: what [compute] image_ref names must write '
            f'[disk_format] boot_marker to its serial console when it is up')
    notes += [f'glance doesn\'t tell how large the disk of {image.name} is: '
              f'[disk_format] flavor_disk may have to be larger'
              for image in found.images
              if image in (first, other) and not image.size_known]
    disk = max(-(-max(first.size, other.size) // _GIB),
               first.min_disk, other.min_disk)
    if disk > 1:
        disk_format['flavor_disk'] = disk
    ram = max(first.min_ram, other.min_ram)
    if ram > _FLAVOR_RAM:
        disk_format['flavor_ram'] = ram
    return {'image_ref': first.id, 'image_ref_alt': other.id}


def _hosts(found, hosts_file, notes):
    """Return the options about compute hosts of [disk_format]."""
    usable = _usable(found)
    notes += [f'{host.host}: its name or its address {host.address} can\'t be '
              f'an option\'s value'
              for host in found.hosts if not _can_be_named(host)]
    notes += [f'{host.host}: nova-compute is {host.out_of_service} there: '
              f'tests would get no server on it, so it is not among '
              f'compute_backends'
              for host in found.hosts if host.out_of_service]
    most, overrides = _most(usable)
    options = {'profile': most} | overrides if most else {}
    differing = hosts_that_differ(found).get('hosts', {})
    if differing and hosts_file:
        options['hosts_file'] = hosts_file
    elif differing:
        notes.append(
            f'{", ".join(differing)}: not deployed as most are; "discover '
            f'--hosts-file FILE" writes a file for [disk_format] hosts_file '
            f'that says how')
    in_service = [host for host in usable if not host.out_of_service]
    if in_service:
        options['compute_backends'] = ','.join(
            f'{host.host}:{host.images_type}' for host in in_service)
    if usable:
        options['compute_addresses'] = ','.join(
            f'{host.host}:{host.address}' for host in usable)
    return options


def _usable(found):
    """Return the hosts that options can be about."""
    return [host for host in found.hosts
            if _can_be_named(host) and host.images_type in _BACKENDS]


def _can_be_named(host):
    return (_NAME.fullmatch(host.host) is not None
            and _ADDRESS.fullmatch(host.address) is not None)


def _most(hosts):
    """Return the profile and the overrides that most hosts have.

    (None, {}) if no deployment is known.
    """
    (most, *overrides), _ = (collections.Counter(
        (host.deployment, *sorted(host.overrides.items())) for host in hosts
        if host.deployment).most_common(1) or [((None,), 0)])[0]
    return most, dict(overrides)


def _table(found):
    table = prettytable.PrettyTable([
        'Host', 'Address', 'Deployment', 'images_type', 'use_cow_images',
        'force_raw_images', 'instances_path', 'nova', 'libvirt', 'QEMU'])
    table.align = 'l'
    for host in found.hosts:
        table.add_row([_shown(value) for value in (
            host.host, host.address, host.deployment, host.images_type,
            host.use_cow_images, host.force_raw_images, host.instances_path,
            host.nova, host.libvirt, host.qemu)])
    return table.get_string()


def _apis(found):
    lines = [f'{name} API: up to microversion {version}' for name, version
             in sorted(found.microversions.items())]
    for pool in found.pools:
        lines.append(
            f'volume pool {pool.name}: {pool.storage_protocol}, '
            f'{pool.vendor or "vendor not told"}, driver version '
            f'{pool.driver_version or "not told"}')
    return lines


def _shown(value):
    return {None: '?', True: 'yes', False: 'no'}.get(value, value)


def _option(name, value):
    """Return a line that sets an option; a comment where no line can."""
    if not value.isprintable():
        return _comment(f'{name} must be set by hand to {value!r}')
    return f'{name} = {value.replace("$", "$$")}'


def _comment(line):
    """Return a line as a comment in which nothing is but what can be seen."""
    return ('# ' + ''.join(each if each.isprintable() else ' '
                           for each in line)).rstrip()

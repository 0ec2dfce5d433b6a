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

"""The sample local.confs, and what each of them must bring about.

One table for both ways of trying the plugin: ``phases``, with stand-ins for
DevStack, and ``dry_run``, with DevStack itself.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[3]
PLUGIN_DIR = ROOT / 'devstack'
SAMPLES_DIR = PLUGIN_DIR / 'samples'

SCENARIOS = (
    'cold-migration-flat',
    'cold-migration-raw',
    'live-migration-mixed',
    'nfs',
    'volume-backed-snapshot',
    'volume-backed-snapshot-raw-disallowed',
)
HOSTS = ('controller', 'subnode')
CONTROLLER_ADDRESS = '192.0.2.11'
SUBNODE_ADDRESS = '192.0.2.12'

KNOWN_BUGS = ('2038898,live-migration-mixed-backends,'
              'volume-backed-snapshot-raw-disallowed')
EXPORTS_FILE = '/etc/exports.d/format.exports'
EXPORT = '/srv/format-nfs'

_NOVA_DEFAULTS = {
    ('libvirt', 'images_type'): None,
    ('DEFAULT', 'use_cow_images'): None,
    ('DEFAULT', 'force_raw_images'): None,
}


def path(scenario, host):
    """Return where the sample of one host of a scenario is."""
    return SAMPLES_DIR / f'{scenario}-{host}.conf'


def expected(scenario, host):
    """Return which options the plugin must bring about.

    :returns: by name of the file (nova.conf, ...), the value by section and
        option; None: the option must not be there. Files that the host
        doesn't have are left out.
    """
    images_type = {
        'cold-migration-raw': ('raw', 'raw'),
        'cold-migration-flat': ('flat', 'flat'),
        'live-migration-mixed': ('qcow2', 'raw'),
    }.get(scenario, (None, None))
    of_host = images_type[HOSTS.index(host)]
    nova = {**_NOVA_DEFAULTS, ('libvirt', 'images_type'): of_host}
    files = {'nova.conf': nova, 'nova-cpu.conf': nova}
    if host == 'controller':
        on_nfs = scenario == 'nfs'
        raw_allowed = scenario != 'volume-backed-snapshot-raw-disallowed'
        files['glance-api.conf'] = {
            ('image_format', 'require_image_format_match'): 'True',
            ('image_format', 'disk_formats'):
                None if raw_allowed else 'qcow2,vmdk,iso',
        }
        backend = 'nfs' if on_nfs else 'lvmdriver-1'
        files['cinder.conf'] = {
            ('nfs', 'nas_host'): None,
            ('nfs', 'nas_share_path'): None,
            ('nfs', 'nas_secure_file_operations'):
                'False' if on_nfs else None,
            ('nfs', 'nas_secure_file_permissions'):
                'False' if on_nfs else None,
            ('nfs', 'nfs_snapshot_support'): 'True' if on_nfs else None,
            (backend, 'image_volume_cache_enabled'): 'False',
        }
        files['tempest.conf'] = {
            ('disk_format', 'profile'): 'devstack',
            ('disk_format', 'instances_path'):
                '/opt/stack/data/nova/instances',
            ('disk_format', 'raw_images_allowed'): str(raw_allowed),
            ('disk_format', 'nfs_volume_type'): 'nfs' if on_nfs else None,
            ('disk_format', 'known_bugs'): KNOWN_BUGS,
            ('disk_format', 'compute_backends'): ','.join(
                f'{name}:{backend or "qcow2"}'
                for name, backend in zip(HOSTS, images_type)),
            ('disk_format', 'compute_addresses'): None,
            ('disk_format', 'ssh_user'): 'stack',
            ('disk_format', 'ssh_key_file'): '/opt/stack/.ssh/id_ed25519',
            ('disk_format', 'ssh_known_hosts_file'): None,
            ('image-feature-enabled', 'image_format_enforcement'): 'True',
            ('compute', 'min_compute_nodes'): '2',
        }
        if scenario == 'live-migration-mixed':
            files['tempest.conf'].update({
                ('compute-feature-enabled', 'live_migration'): 'True',
                ('compute-feature-enabled',
                 'block_migration_for_live_migration'): 'True',
            })
    return files


def expected_shares(scenario, host):
    """Return the lines of cinder's file of NFS shares, None without one."""
    if (scenario, host) == ('nfs', 'controller'):
        return f'{CONTROLLER_ADDRESS}:{EXPORT}\n'
    return None


def expected_exports(scenario, host):
    """Return the text of the plugin's file for exportfs, None without it."""
    if (scenario, host) != ('nfs', 'controller'):
        return None
    return ''.join(
        f'{EXPORT} {address}(rw,sync,no_root_squash,no_subtree_check)\n'
        for address in (CONTROLLER_ADDRESS, SUBNODE_ADDRESS))


def expected_packages(scenario, host):
    """Return the packages of NFS that the host needs."""
    if scenario != 'nfs':
        return set()
    return {'nfs-common'} | (
        {'nfs-kernel-server'} if host == 'controller' else set())


def differences(files, wanted):
    """Return how files differ from what is wanted of them.

    :param files: by name, the values (a list for each option that is there,
        since one may be there several times) by section and option
    :param wanted: as expected() returns it
    :returns: one sentence for each difference
    """
    found = []
    for name, options in wanted.items():
        if name not in files:
            found.append(f'{name} is not there')
            continue
        for (section, option), value in options.items():
            got = files[name].get((section, option), [])
            if got != ([] if value is None else [value]):
                found.append(f'{name} [{section}] {option}: expected {value}, '
                             f'got {", ".join(got) or None}')
    return found


class LocalConf:
    """What a local.conf says.

    :ivar localrc: values of the localrc sections by name, as they are written
        but for quotes round the whole of one
    :ivar commands: the other lines of the localrc sections
    :ivar meta: value by phase, file, section and option
    """

    def __init__(self, text):
        self.localrc = {}
        self.commands = []
        self.meta = {}
        phase = file = section = None
        for line in text.splitlines():
            line = line.strip()
            if not line or line.startswith('#'):
                continue
            if match := re.fullmatch(r'\[\[(.+)\|(.+)\]\]', line):
                phase, file = match.groups()
            elif phase == 'local':
                if match := re.fullmatch(r'(\w+)=(.*)', line):
                    name, value = match.groups()
                    quoted = re.fullmatch(r'"(.*)"', value)
                    self.localrc[name] = quoted[1] if quoted else value
                else:
                    self.commands.append(line)
            elif match := re.fullmatch(r'\[(.+)\]', line):
                section = match[1]
            else:
                option, value = (part.strip() for part in line.split('=', 1))
                self.meta[phase, file, section, option] = value

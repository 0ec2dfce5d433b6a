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

"""What is found out of clouds that aren't there."""

from tempest_format_plugin.discovery import facts


def report(marks=(), sudo=False, libvirt=None, problems=(), conf=None,
           **daemon):
    """Return what nova_compute_script prints of a host.

    :param conf: parts of its configuration other than usual
    :param daemon: parts of its nova-compute other than usual
    """
    return {
        'version': 1, 'sudo': sudo, 'marks': list(marks), 'libvirt': libvirt,
        'nova_compute': {'program': '/usr/bin/nova-compute', 'unit': None,
                         'container': None, 'supervised': False} | daemon,
        'nova': '31.0.1', 'problems': list(problems),
        'conf': {'host': 'host-1', 'images_type': 'raw',
                 'use_cow_images': True, 'force_raw_images': True,
                 'instances_path': '/var/lib/nova/instances',
                 'compute_driver': 'libvirt.LibvirtDriver'} | (conf or {})}


def host(name='host-1', **more):
    return facts.HostFacts(**{
        'host': name, 'address': '192.0.2.1', 'deployment': 'lab',
        'images_type': 'raw', 'use_cow_images': True,
        'force_raw_images': False,
        'instances_path': '/var/lib/nova/instances', 'nova': '31.0.1',
        'libvirt': '10.0.0', 'qemu': '8.2.2'} | more)


def image(number, disk_format='raw', size=2 ** 20, **more):
    return facts.ImageFacts(f'id-{number}', f'image {number}', disk_format,
                            size, **more)

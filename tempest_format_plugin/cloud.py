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

"""The cloud that tempest.conf describes: its admin, its compute hosts."""

import functools

from tempest import clients
from tempest import config
from tempest.lib import auth
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh

CONF = config.CONF

# For what doesn't depend on the image backend.
ANY = 'any'

# images_type = flat is the same backend as raw under another name: the class
# is nova's Flat for both (nova/virt/libvirt/imagebackend.py, Backend).
_SAME_BACKEND = {'flat': 'raw'}


def admin():
    """Return the clients of the admin of [auth], a tempest.clients.Manager.

    They log in when they are first used: RestClientException of
    tempest.lib.exceptions then tells that keystone doesn't let it in.

    :raises InvalidConfiguration: an option of the credentials isn't set
    """
    options = CONF.auth
    for group, name in (('auth', 'admin_username'), ('auth', 'admin_password'),
                        ('auth', 'admin_project_name'),
                        ('identity', 'uri_v3')):
        if not getattr(CONF, group)[name]:
            raise lib_exc.InvalidConfiguration(f'[{group}] {name} is not set')
    return clients.Manager(credentials=auth.get_credentials(
        CONF.identity.uri_v3, identity_version='v3',
        username=options.admin_username, password=options.admin_password,
        project_name=options.admin_project_name,
        domain_name=options.admin_domain_name,
        user_domain_name=options.admin_domain_name,
        project_domain_name=options.admin_domain_name))


def hosts_of_backend(backend):
    """Return the names of the compute hosts that have an image backend.

    :param backend: 'raw' (which includes flat), 'qcow2', ..., or ANY
    :returns: list in the order of [disk_format] compute_backends
    """
    return [host for host, name in CONF.disk_format.compute_backends.items()
            if backend in (ANY, _SAME_BACKEND.get(name, name))]


@functools.cache
def compute_hosts():
    """Return the ComputeHosts of this process: one connection per host.

    :raises ProfileError: the options of the deployment profile contradict
        each other
    """
    options = CONF.disk_format
    return compute_host.ComputeHosts(endpoint, profile.get(
        options.profile,
        sudo=options.sudo_command,
        container_runtime=options.container_runtime,
        container_name=options.container_name,
        virsh=options.virsh_command,
        qemu_img=options.qemu_img_command,
        observe=options.observe_command,
        root_shell=options.root_shell_command,
        instances_path=options.instances_path,
        qemu_log_dir=options.qemu_log_dir,
        edit_kind=options.compute_edit_kind,
        edit_file=options.compute_edit_file,
        restart=options.compute_restart_command,
        running=options.compute_running_command,
        log=options.compute_log_command))


def endpoint(host, address=None):
    """Return how to reach a compute host, as an ssh.Endpoint.

    :param address: None: the one of compute_addresses, or the host's name
    """
    options = CONF.disk_format
    return ssh.Endpoint(
        host, address or options.compute_addresses.get(host, host),
        port=options.ssh_port,
        user=options.ssh_user,
        key_file=options.ssh_key_file,
        known_hosts_file=options.ssh_known_hosts_file,
        allow_unknown_hosts=options.ssh_allow_unknown_hosts,
        connect_timeout=options.ssh_connect_timeout,
        command_timeout=options.ssh_command_timeout)

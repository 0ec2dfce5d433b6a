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

"""The cloud that tempest.conf and its hosts file describe."""

import functools

from tempest import clients
from tempest import config
from tempest.lib import auth
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.hosts import compute_host
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import profile
from tempest_format_plugin.hosts import ssh
from tempest_format_plugin import hosts_file

CONF = config.CONF

# For what doesn't depend on the image backend.
ANY = 'any'

# images_type = flat is the same backend as raw under another name: the class
# is nova's Flat for both (nova/virt/libvirt/imagebackend.py, Backend).
_SAME_BACKEND = {'flat': 'raw'}

_SAYS_NOTHING = hosts_file.Host()

_read_hosts = functools.cache(hosts_file.read)


def _hosts():
    """Return what the hosts file says: {name: hosts_file.Host}.

    :raises HostsFileError: it makes no sense
    """
    path = CONF.disk_format.hosts_file
    return _read_hosts(path) if path else {}


def admin():
    """Return the clients of the admin of [auth], a tempest.clients.Manager.

    :raises InvalidConfiguration: an option of the credentials isn't set
    :raises tempest.lib.exceptions.RestClientException: keystone doesn't let
        it in
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
        project_domain_name=options.admin_domain_name,
        **config.service_client_config()))


def region():
    """Return the region of the catalog that tempest goes by."""
    return CONF.identity.region


def hosts_of_backend(backend):
    """Return the names of the compute hosts that have an image backend.

    :param backend: 'raw' (which includes flat), 'qcow2', ..., or ANY
    :returns: list in the order of [disk_format] compute_backends, then of the
        hosts file
    :raises HostsFileError: the hosts file makes no sense
    """
    backends = CONF.disk_format.compute_backends | {
        name: host.backend for name, host in _hosts().items() if host.backend}
    return [host for host, name in backends.items()
            if backend in (ANY, _SAME_BACKEND.get(name, name))]


@functools.cache
def compute_hosts():
    """Return the ComputeHosts of this process: one connection per host.

    :raises ProfileError: the options of the deployment profile contradict
        each other
    :raises HostsFileError: the hosts file makes no sense, or contradicts
        itself or the options
    """
    # Before the first connection, of the hosts that nothing is said of too.
    for host in ('', *_hosts()):
        profile_of(host)
    return compute_host.ComputeHosts(endpoint, profile_of)


def profile_of(host):
    """Return the deployment profile of a compute host.

    What the hosts file says goes before what the options say, and that before
    what the profile says.

    :raises ProfileError, HostsFileError: see compute_hosts
    """
    options, entry = CONF.disk_format, _hosts().get(host, _SAYS_NOTHING)
    values = {field: getattr(options, option)
              for field, option in profile.OPTIONS.items()}
    try:
        return profile.get(entry.profile or options.profile,
                           **(values | entry.overrides))
    except exceptions.ProfileError as error:
        if entry is _SAYS_NOTHING:
            raise
        raise hosts_file.HostsFileError(
            options.hosts_file, f'host {host}, at /hosts/{host}: '
            f'{error.problem}: set {error.option} there') from error


def address_of(host):
    """Return the address that is configured of a host; None: none is.

    :raises HostsFileError: the hosts file makes no sense
    """
    return (_hosts().get(host, _SAYS_NOTHING).address
            or CONF.disk_format.compute_addresses.get(host))


def endpoint(host, address=None):
    """Return how to reach a compute host, as an ssh.Endpoint.

    :param address: None: as configured, or the host's name
    :raises HostsFileError: the hosts file makes no sense
    """
    options, entry = CONF.disk_format, _hosts().get(host, _SAYS_NOTHING)
    return ssh.Endpoint(
        host, address or address_of(host) or host,
        port=entry.ssh_port or options.ssh_port,
        user=entry.ssh_user or options.ssh_user,
        key_file=entry.ssh_key_file or options.ssh_key_file,
        known_hosts_file=options.ssh_known_hosts_file,
        allow_unknown_hosts=options.ssh_allow_unknown_hosts,
        connect_timeout=options.ssh_connect_timeout,
        command_timeout=options.ssh_command_timeout)

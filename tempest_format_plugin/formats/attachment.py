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

"""Volumes as cinder's attachments describe them."""

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models

# The drivers of nova/virt/libvirt/volume for which a volume is a file that
# the attachment names and whose format nova takes from it. Others make it raw
# whatever the attachment says (gpfs is such a one, although it has a file).
FILE_DRIVERS = frozenset(('nfs', 'quobyte', 'smbfs', 'vzstorage'))


def parse(body, *, source, host):
    """Read what an attachment says of its volume.

    Of connection_info nothing but the driver, name and format is kept or
    printed: the rest may hold passwords.

    :param body: dict, the "attachment" of GET /v3/attachments/{id}, or one of
        the "attachments" of GET /v3/attachments/detail
    :param source: models.ATTACHMENT for the former, models.ATTACHMENT_LIST
        for the latter
    :param host: the compute host, for errors and the observation
    :returns: an Observation, its disk the volume's id, its path the bare name
        of the file; format and path are None unless the volume is a file.
        None where the volume isn't connected, as on a shelved server.
    :raises ObservationError: it isn't such a body, tells no driver or, for a
        file, no name, or the format is unknown
    """
    if not isinstance(body, dict) or not isinstance(
            body.get('volume_id'), str):
        raise exceptions.ObservationError(
            source, host, 'expected an attachment with a volume_id')
    source_of = f'{source} of volume {body["volume_id"]}'

    def fail(problem):
        raise exceptions.ObservationError(source_of, host, problem)

    if 'connection_info' not in body:
        # The summary list leaves it out, connected or not.
        fail('expected connection_info, found none')
    info = body['connection_info'] or {}
    if not isinstance(info, dict):
        fail(f'expected connection_info to be an object, found '
             f'{type(info).__name__}')
    # cinder adds the volume's format to an attachment that isn't connected,
    # too: see show in cinder/api/v3/attachments.py.
    if not info.keys() - {'format'}:
        return None
    driver = info.get('driver_volume_type')
    if not isinstance(driver, str):
        fail(f'expected a driver_volume_type, found {driver!r}')
    name = format_ = None
    if driver in FILE_DRIVERS:
        name = info.get('name')
        if not isinstance(name, str) or not name or '/' in name:
            fail(f'expected the name of a file, found {name!r}')
        format_ = info.get('format')
        if format_ is not None:
            models.known_format(format_, source=source_of, host=host)
    return models.Observation(source, host, body['volume_id'], format_,
                              path=name)

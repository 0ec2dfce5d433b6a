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

"""Images as glance describes them."""

import dataclasses
import json

from tempest_format_plugin.formats import exceptions


@dataclasses.dataclass(frozen=True)
class Image:
    """What glance says of an image.

    :ivar disk_format: None where nobody has said; container_format likewise
    :ivar size: bytes, None as long as there are no data
    :ivar snapshot_ids: the cinder snapshots that the image of a volume-backed
        server consists of
    """

    id: str
    status: str
    disk_format: str | None
    container_format: str | None
    size: int | None
    snapshot_ids: tuple[str, ...] = ()


def parse(body):
    """Read an image.

    :param body: dict, the answer to GET /v2/images/{id}. The property
        block_device_mapping is JSON text, a list of objects; nova writes it
        (snapshot_volume_backed in nova/compute/api.py)
    :returns: an Image
    :raises ObservationError: it isn't such a body
    """
    image_id = body.get('id') if isinstance(body, dict) else None
    if not isinstance(image_id, str):
        _fail('glance image', 'expected an image with an id')
    source = f'glance image {image_id}'
    for name, types in (('status', str), ('disk_format', str | None),
                        ('container_format', str | None),
                        ('size', int | None)):
        if not isinstance(body.get(name), types):
            _fail(source, f'expected {name} to be '
                  f'{"a number" if name == "size" else "text"}, found '
                  f'{body.get(name)!r}')
    return Image(image_id, body['status'], body.get('disk_format'),
                 body.get('container_format'), body.get('size'),
                 tuple(_snapshot_ids(body, source)))


def _snapshot_ids(body, source):
    text = body.get('block_device_mapping') or '[]'
    try:
        mapping = json.loads(text)
    except (TypeError, ValueError) as error:
        _fail(source, f'expected JSON in block_device_mapping: {error}')
    if not isinstance(mapping, list) or not all(
            isinstance(device, dict) for device in mapping):
        _fail(source, 'expected a list of objects in block_device_mapping')
    # Devices that aren't volumes have none: ephemeral disks, swap.
    return filter(None, (device.get('snapshot_id') for device in mapping))


def _fail(source, problem):
    raise exceptions.ObservationError(source, 'glance', problem)

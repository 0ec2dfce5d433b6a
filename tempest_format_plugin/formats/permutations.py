# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""What nova makes of an image under each configuration of a compute host.

Which class of nova/virt/libvirt/imagebackend.py a disk gets is decided by
[libvirt] images_type and, where that is "default", by use_cow_images; what a
class without overlays writes depends on force_raw_images and on the image.
"""

import itertools
import typing

import prettytable

from tempest_format_plugin.formats import models

IMAGE_FORMATS = ('qcow2', 'raw')


class Configuration(typing.NamedTuple):
    """The options of nova-compute that decide about the format of a disk."""

    images_type: str
    use_cow_images: bool
    force_raw_images: bool

    @property
    def options(self):
        """The same as {group: {option: value}} of nova.conf."""
        return {'libvirt': {'images_type': self.images_type},
                'DEFAULT': {'use_cow_images': self.use_cow_images,
                            'force_raw_images': self.force_raw_images}}


class Believed(typing.NamedTuple):
    """What is believed of a root disk.

    :ivar xml: driver type in the domain XML
    :ivar disk_info: entry of disk.info
    :ivar file: format of the file
    :ivar backing: format that it declares for its backing file, None where
        it has none
    """

    xml: str | None
    disk_info: str | None
    file: str | None
    backing: str | None

    @classmethod
    def of(cls, server):
        """Return what a ServerObservation says of its root disk."""
        formats = [server.of('disk', source) for source in (
            models.INACTIVE_XML, models.DISK_INFO, models.FILE)]
        backing = formats[-1].backing if formats[-1] else ()
        return cls(*(one and one.format for one in formats),
                   backing[0].declared_format if backing else None)


class Row(typing.NamedTuple):
    """A boot: the configuration, the image's format, and what came of it."""

    configuration: Configuration
    image_format: str
    believed: Believed

    @property
    def expected(self):
        return expected(self.configuration, self.image_format)


def configurations_of(images_type):
    """Return each Configuration that has an images_type."""
    return tuple(itertools.starmap(Configuration, itertools.product(
        (images_type,), (True, False), (True, False))))


def expected(configuration, image_format):
    """Return what nova documents and does, as Believed.

    :param image_format: disk_format of the image, of IMAGE_FORMATS
    """
    kept = 'raw' if configuration.force_raw_images else image_format
    if configuration.images_type == 'qcow2' or (
            configuration.images_type == 'default'
            and configuration.use_cow_images):
        return Believed('qcow2', 'qcow2', 'qcow2', backing=kept)
    return Believed(kept, kept, kept, backing=None)


def differing(rows, option, one, other):
    """Return what of the rows depends on whether an option is one or other.

    Where only one of them is there, nothing is known to.

    :param option: a field of Configuration
    :returns: {(configuration with the option at `one`, image format):
        (Believed with one, Believed with other)}; empty if nothing does
    """
    believed = {(row.configuration, row.image_format): row.believed
                for row in rows}
    found = {}
    for (configuration, image), known in believed.items():
        twin = believed.get(
            (configuration._replace(**{option: other}), image), known)
        if getattr(configuration, option) == one and twin != known:
            found[configuration, image] = known, twin
    return found


def render(rows):
    """Return the table of some rows; what isn't as expected is marked."""
    table = prettytable.PrettyTable([
        'images_type', 'use_cow_images', 'force_raw_images', 'image',
        'domain XML', 'disk.info', 'file', 'backing file', ''])
    table.align = 'l'
    for row in rows:
        table.add_row([
            *row.configuration, row.image_format,
            *(one or '-' for one in row.believed),
            '' if row.believed == row.expected else
            'expected ' + ', '.join(one or '-' for one in row.expected)])
    return table.get_string()

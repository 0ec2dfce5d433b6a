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

"""Disks as libvirt's domain XML describes them."""

import os.path

from xml.etree import ElementTree

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models

# The attribute of <source> that says where the disk is, for the types file,
# block and network (for which the name is none of this host's paths).
_PLACES = ('file', 'dev', 'name')


class _Builder(ElementTree.TreeBuilder):

    def doctype(self, name, public_id, system):
        # libvirt writes none: what it defines might be without end.
        raise ElementTree.ParseError('it has a document type')


def parse(text, *, source, host):
    """Read the disks and CD-ROMs of a domain.

    A CD-ROM without a medium is left out. A network disk has no path. The
    backing chain is in the live XML only: nova defines none.

    :param text: domain XML
    :param source: models.LIVE_XML or models.INACTIVE_XML
    :param host: the compute host, for errors and observations
    :returns: tuple of Observation, in the order of the XML
    :raises ObservationError: it isn't XML, or has no disks, a disk without
        source or driver type, an unknown format or two disks of one name
    """
    def fail(problem):
        raise exceptions.ObservationError(source, host, problem)

    try:
        domain = ElementTree.fromstring(
            text, ElementTree.XMLParser(target=_Builder()))
    except ElementTree.ParseError as error:
        fail(f'expected domain XML: {error}')
    found = {}
    for element in domain.findall('./devices/disk'):
        if element.get('device', 'disk') == 'floppy':
            continue
        observation = _parse_disk(element, source, host)
        if observation is None:
            continue
        if observation.disk in found:
            fail(f'expected disks of different names, found two that are '
                 f'called {observation.disk}')
        found[observation.disk] = observation
    if not found:
        fail('expected disks, found none')
    return tuple(found.values())


def _parse_disk(element, source, host):
    target = element.find('target')
    device = 'without target' if target is None else target.get('dev')
    where = f'{source}, disk {device}'
    place = _place(element)
    if place is None:
        if element.get('device') == 'cdrom':
            return None
        raise exceptions.ObservationError(
            where, host, 'expected a <source> with file, dev or name')
    driver = element.find('driver')
    path = None if element.get('type') == 'network' else place
    return models.Observation(
        source, host,
        # Only volumes have a serial: nova sets it to the volume id.
        disk=element.findtext('serial') or os.path.basename(place),
        format=models.known_format(
            None if driver is None else driver.get('type'),
            source=where, host=host),
        path=path,
        target=None if target is None else device,
        backing=tuple(_backing(element, where, host)))


def _place(element):
    source = element.find('source')
    if source is None:
        return None
    return next((source.get(name) for name in _PLACES if source.get(name)),
                None)


def _backing(element, source, host):
    """Yield the chain below a <disk>, to the empty <backingStore/>."""
    while (element := element.find('backingStore')) is not None:
        place = _place(element)
        if place is None:
            return
        declared = element.find('format')
        yield models.BackingFile(
            place,
            declared_format=None if declared is None else models.known_format(
                declared.get('type'), source=source, host=host))

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

"""Disks as nova's disk.info file records them."""

import json
import os.path

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models


def parse(text, *, host):
    """Read the entries of an instance's disk.info.

    The Flat image backend reads an entry rather than probe the file; the
    Qcow2 backend writes it and never reads it. See resolve_driver_format in
    nova/virt/libvirt/imagebackend.py, which takes an empty file for {}.

    :param text: JSON, {absolute path: format}
    :returns: tuple of Observation, in the order of the file
    :raises ObservationError: it isn't such JSON, or a format is unknown
    """
    try:
        entries = json.loads(text.strip() or '{}')
    except (ValueError, RecursionError) as error:
        raise exceptions.ObservationError(
            models.DISK_INFO, host, f'expected JSON: {error}')
    if not isinstance(entries, dict):
        raise exceptions.ObservationError(
            models.DISK_INFO, host,
            f'expected a JSON object, found {type(entries).__name__}')
    return tuple(
        models.Observation(
            models.DISK_INFO, host, os.path.basename(path),
            models.known_format(name, source=f'{models.DISK_INFO}, {path}',
                                host=host),
            path=path)
        for path, name in entries.items())

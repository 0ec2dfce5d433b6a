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

"""Disks as a probe of their files describes them."""

import json
import os.path

from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models


def parse(texts, *, host, path, length):
    """Read `qemu-img info --output=json` of a file and of its chain.

    Each text comes from a probe of one file by itself: --backing-chain
    trusts the backing format that the overlay declares. Where the text of a
    backing file is missing, its format is None.

    :param texts: JSON texts: the file's, then those of its backing files
    :param path: the file's absolute path; its last part names the disk
    :param length: bytes of the file itself, None where not known
    :returns: an Observation of source FILE
    :raises ObservationError: a text isn't such JSON, or what a probe says
        isn't a format
    """
    infos = []
    chain = []
    below = path
    for text in texts:
        infos.append(_load(text, below, host))
        below = _backing_path(infos[-1])
        if below is None:
            break
        chain.append((below, infos[-1].get('backing-filename-format')))
    probed = [info['format'] for info in infos[1:]] + [None]
    backing = tuple(
        models.BackingFile(
            name, declared_format=_declared(declared), format=real)
        for (name, declared), real in zip(chain, probed))
    return models.Observation(
        models.FILE, host, os.path.basename(path), infos[0]['format'],
        path=path, virtual_size=infos[0]['virtual-size'], length=length,
        backing=backing)


def backing_path(text, *, host, path):
    """Return the path of the backing file that a text names, or None.

    :param text: `qemu-img info --output=json` of the file at path
    :raises ObservationError: as for parse
    """
    return _backing_path(_load(text, path, host))


def _backing_path(info):
    return info.get('full-backing-filename') or info.get('backing-filename')


def _declared(format_):
    """Return what an overlay declares of its backing file.

    What isn't a format as we know them is shown as it is: its header may be
    its guest's word, and must not keep other sources from being heard.
    """
    known = format_ is None or (isinstance(format_, str)
                                and format_ in models.FORMATS)
    return format_ if known else ascii(format_)


def _load(text, path, host):
    source = f'file {path}'
    try:
        info = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise exceptions.ObservationError(
            source, host, f'expected JSON from qemu-img info: {error}')
    if not isinstance(info, dict) or not isinstance(
            info.get('virtual-size'), int):
        raise exceptions.ObservationError(
            source, host,
            'expected qemu-img info to tell a format and a virtual-size')
    models.known_format(info.get('format'), source=source, host=host)
    return info

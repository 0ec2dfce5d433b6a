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

"""The report that the observe script prints on a compute host."""

import dataclasses
import json
import os.path

from tempest_format_plugin.formats import disk_info
from tempest_format_plugin.formats import domain_xml
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models
from tempest_format_plugin.formats import qemu_img

VERSION = 1

# How virsh says that there is no such domain, in the C locale.
_NO_DOMAIN = ('failed to get domain', 'Domain not found')


def parse(text, *, server_id, host):
    """Put together what all sources of one host say about a server.

    The report is a JSON object::

        {"version": 1,
         "domain": {"state": as virsh domstate prints it, or null,
                    "live": XML or null, "inactive": XML or null,
                    "error": virsh's stderr or null},
         "disk_info": text or null,
         "disk_info_error": text or null, or not there,
         "instance_dir": path,
         "files": {path: {"length": bytes or null,
                          "info": text of qemu-img info or null,
                          "error": text or null}}}

    A file that only disk.info names need not exist, since nova never removes
    an entry; a file that the domain uses must. Block devices may be missing
    from the report: they are not nova's files.

    :returns: a ServerObservation
    :raises ObservationError: the report or a part of it can't be read
    """
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        _fail('observe report', host, f'expected JSON: {error}')
    if not isinstance(report, dict):
        _fail('observe report', host, 'expected a JSON object, found '
              f'{text[:80]!r}')
    if report.get('version') != VERSION:
        _fail('observe report', host, f'expected version {VERSION}, found '
              f'{report.get("version")!r}')
    try:
        state, xml = _domain(report['domain'], host)
        if report.get('disk_info_error'):
            _fail(models.DISK_INFO, host, report['disk_info_error'])
        entries = _disk_info(report['disk_info'], report['instance_dir'],
                             host)
        files = tuple(_files(report['files'], report['instance_dir'], xml,
                             entries, host))
    except KeyError as error:
        _fail('observe report', host, f'expected {error}, found none')
    except (AttributeError, TypeError) as error:
        _fail('observe report', host, f'expected other kinds of values: '
              f'{error}')
    return models.ServerObservation(
        server_id, host, state, xml + entries + files)


def _fail(source, host, problem):
    raise exceptions.ObservationError(source, host, problem)


def _domain(domain, host):
    state = domain['state']
    error = domain['error']
    texts = ((models.LIVE_XML, domain['live']),
             (models.INACTIVE_XML, domain['inactive']))
    if state is None:
        # A libvirt that doesn't answer must not pass for an absent domain.
        if error and not any(words in error for words in _NO_DOMAIN):
            _fail('domain', host, error.strip())
        return models.ABSENT, ()
    if not any(xml for source, xml in texts):
        _fail('domain', host, f'expected XML of a domain that is {state}: '
              f'{(error or "no error given").strip()}')
    return state, tuple(
        observation for source, xml in texts if xml
        for observation in domain_xml.parse(xml, source=source, host=host))


def _disk_info(text, instance_dir, host):
    entries = {}
    for entry in disk_info.parse(text or '', host=host):
        # Entries are keyed by path: once instances_path has changed, nova
        # no longer reads those of the old directory.
        if (entry.disk not in entries
                or os.path.dirname(entry.path) == instance_dir):
            entries[entry.disk] = entry
    return tuple(entries.values())


def _files(files, instance_dir, xml, entries, host):
    """Yield an Observation for each disk's file, by the live XML first."""
    named = [(o.disk, o.path) for o in xml + entries if o.path]
    named += [(os.path.basename(path), path) for path in files
              if os.path.dirname(path) == instance_dir
              and models.is_local(os.path.basename(path))]
    used = {o.path for o in xml}
    done = {models.DISK_INFO}
    for disk, path in named:
        if disk in done:
            continue
        if path not in files:
            if path in used and not path.startswith('/dev/'):
                _fail(f'file {path}', host, f'expected the report to tell of '
                      f'the file of disk {disk}')
            continue
        if path not in used and not _exists(files[path]):
            continue
        overlay = {o.format for o in xml if o.path == path} == {'qcow2'}
        observation = qemu_img.parse(
            _chain(files, path, host, overlay), host=host, path=path,
            length=files[path]['length'])
        done.add(disk)
        yield dataclasses.replace(observation, disk=disk)


def _exists(entry):
    return entry['info'] is not None or entry['length'] is not None


def _chain(files, path, host, overlay):
    """Return the texts of a file and of its backing files in the report.

    :param overlay: whether the domain takes the file for one. If not, what
        its header says may be the guest's work, and must not keep its format
        from being told: a chain that makes no sense ends there
    """
    texts = {}
    while path in files:
        if texts and not overlay and (
                path in texts or files[path]['info'] is None):
            break
        if path in texts:
            # A guest can write such a header.
            _fail(f'file {path}', host,
                  'expected a backing chain with an end, found a loop')
        text = files[path]['info']
        if text is None:
            _fail(f'file {path}', host,
                  (files[path]['error'] or 'there is no such file').strip())
        texts[path] = text
        path = qemu_img.backing_path(text, host=host, path=path)
    return tuple(texts.values())

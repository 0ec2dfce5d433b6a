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

"""Which known bugs a cloud is to be expected to show, and why.

By the versions of its services where they are known, else by the highest
microversions of their APIs, and by those of its settings that hide a bug.
"""

import dataclasses
import re

from packaging import version as versions_

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import exceptions

# The highest microversion of each service's API, and the first and the last
# major version of the service that have it as their highest. Of nova as its
# rest_api_version_history.rst says; of cinder and of nova after 32 as
# _MAX_API_VERSION in the releases themselves. glance's API tells nothing that
# matters here: 29 and 30, without and with enforcement of formats, both have
# 2.17. The last line of a service is without an end: later versions may have
# it too.
_MAJORS = {
    'nova': (('2.87', 21, 22), ('2.88', 23, 23), ('2.90', 24, 25),
             ('2.93', 26, 26), ('2.95', 27, 28), ('2.96', 29, 30),
             ('2.100', 31, 32), ('2.103', 33, 33), ('2.104', 34, None)),
    'cinder': (('3.62', 17, 17), ('3.64', 18, 18), ('3.66', 19, 19),
               ('3.68', 20, 20), ('3.70', 21, 23), ('3.71', 24, None)),
}

SERVICES = ('nova', 'cinder', 'glance')

# The first glance that compares format and content unless told otherwise.
_GLANCE_ENFORCES = '30.0.0'

# Releases have been called by their year since 2023.1.
_YEARS = 2023

# What a distribution puts around a version: an epoch, its own revision.
_PACKAGED = re.compile(r'(?:\d+:)?(?P<upstream>[^-]+)(?:-.*)?')


@dataclasses.dataclass(frozen=True)
class Cloud:
    """What is known of a cloud; what isn't is empty or None.

    :ivar versions: {service of SERVICES: versions in use, as packages have
        them}
    :ivar microversions: {service of SERVICES: highest of its API, 'X.Y'}
    :ivar backends: images_type of each compute host with disks in files:
        'raw', 'flat' or 'qcow2'
    :ivar use_cow_images: the values that those hosts have; None among them
        where it isn't known of one
    :ivar nfs: whether cinder has volumes on NFS
    :ivar enforces_formats: whether glance compares format and content
    :ivar takes_raw: whether glance takes raw images
    :ivar backends_change: whether the tests give hosts other backends
    """

    versions: dict = dataclasses.field(default_factory=dict)
    microversions: dict = dataclasses.field(default_factory=dict)
    backends: tuple[str, ...] = ()
    use_cow_images: tuple[bool | None, ...] = ()
    nfs: bool | None = None
    enforces_formats: bool | None = None
    takes_raw: bool | None = None
    backends_change: bool = False


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Whether a bug is to be expected.

    :ivar bug: a formats.bugs.KnownBug
    :ivar expected: None: it can't be told
    :ivar why: a sentence without its full stop
    """

    bug: bugs.KnownBug
    expected: bool | None
    why: str

    @property
    def words(self):
        return {True: 'expected', False: 'not expected',
                None: "can't tell"}[self.expected]


def propose(cloud):
    """Return a Proposal for each bug of formats.bugs.BUGS, in order."""
    return tuple(_proposal(bug, cloud) for bug in bugs.BUGS.values())


def parse(text):
    """Return the packaging.version.Version in a package's version.

    :raises FormatsError: it isn't one
    """
    match = _PACKAGED.fullmatch(text.strip())
    try:
        # Debian's tilde is before anything, as a pre-release is.
        found = versions_.Version(match['upstream'].replace('~', ''))
    except (TypeError, versions_.InvalidVersion):
        raise exceptions.FormatsError(f'{text!r} is no version of a service')
    if found.major >= _YEARS:
        raise exceptions.FormatsError(
            f'{text!r} is the name of a release: expected the version that '
            f'the service has in it, such as 31.0.0')
    return found


def has_fix(version, fixed_in):
    """Whether a version has a fix; None if that can't be told.

    :param version: packaging.version.Version
    :param fixed_in: first fixed release of each branch; empty: none has it
    """
    if not fixed_in:
        return False
    fixes = {fix.major: fix for fix in map(versions_.Version, fixed_in)}
    if version.major not in fixes:
        return version.major > max(fixes)
    fix = fixes[version.major]
    # A pre-release of the first release with the fix, and what was built from
    # between two releases, may have it: the number doesn't say. Ubuntu calls
    # a snapshot on the way to 31.0.0 31.0.0+git...
    between = version.is_devrelease or version.local is not None
    if versions_.Version(version.base_version) == fix:
        return None if between or version.is_prerelease else True
    if version > fix:
        return True
    return None if between else False


def _proposal(bug, cloud):
    shows, why = _SHOWS[bug.id](cloud)
    if shows is False:
        return Proposal(bug, False, why)
    fixed, why_fixed = _fixed(bug, cloud)
    if fixed:
        return Proposal(bug, False, why_fixed)
    if shows is None:
        return Proposal(bug, None, why)
    if fixed is None:
        return Proposal(bug, None, why_fixed)
    return Proposal(bug, True, f'{why_fixed}; {why}')


def _fixed(bug, cloud):
    """Return (whether the cloud has a bug's fix or None, why)."""
    if not bug.fixed_in:
        return False, 'no release has a fix'
    where = f'fixed in {", ".join(bug.fixed_in)}'
    if in_use := cloud.versions.get(bug.project):
        told = f'{bug.project} {", ".join(sorted(set(in_use)))}'
        try:
            found = {has_fix(parse(text), bug.fixed_in) for text in in_use}
        except exceptions.FormatsError as error:
            return None, str(error)
        if len(found) == 1 and None not in found:
            return found.pop(), f'{told}: {where}'
        return None, (f'{told}: {where}, and ' + (
            'not all of them are the same side of it' if len(found) > 1
            else 'an unreleased version may or may not have it'))
    microversion = cloud.microversions.get(bug.project)
    if microversion is None:
        return None, f'{where}, and the version of {bug.project} is not known'
    return _fixed_by_microversion(bug, microversion, where)


def _fixed_by_microversion(bug, microversion, where):
    first, last = _majors(bug.project, microversion)
    if first is None:
        return None, (f'{where}, and the versions of {bug.project} with the '
                      f'microversion {microversion} are not known')
    fixes = {fix.major: fix for fix in map(versions_.Version, bug.fixed_in)}
    told = f'{bug.project} with the microversion {microversion} is ' + (
        f'{first} or later' if last is None
        else f'{first}' if first == last else f'{first} to {last}')
    # A branch whose first release has the fix has it throughout.
    found = {True if major > max(fixes)
             or fixes.get(major) == versions_.Version(f'{major}.0.0')
             else None if major in fixes else False
             for major in range(first, (last or max(fixes) + 1) + 1)}
    if last is None:
        found.add(True)
    if len(found) == 1 and None not in found:
        return found.pop(), f'{told}: {where}'
    return None, f'{told}: {where}, so that it may or may not have it'


def _majors(service, microversion):
    """Return the first and last major version whose highest this can be.

    (None, None): not known; last None: no end.
    """
    wanted = _as_numbers(microversion)
    known = _MAJORS.get(service, ())
    lower = [line for line in known if _as_numbers(line[0]) <= wanted]
    if not lower:
        return None, None
    if _as_numbers(lower[-1][0]) == wanted:
        return lower[-1][1:]
    # Between two of them is the development of the later one; after all of
    # them, what came since.
    following = known[len(lower):]
    if not following:
        return lower[-1][1], None
    return lower[-1][1], following[0][2]


def _as_numbers(microversion):
    return tuple(map(int, microversion.split('.')))


# Whether the settings let a bug show: (True, False or None, why).

def _cold_migration(cloud):
    if not (cloud.backends_change or {'raw', 'flat'} & set(cloud.backends)):
        return False, 'no compute host has the backend raw'
    values = set(cloud.use_cow_images)
    if values == {False}:
        return False, 'use_cow_images is false, which hides it'
    if values == {True}:
        return True, 'use_cow_images is true'
    if values - {None} == {True, False}:
        return None, 'use_cow_images is true on some compute hosts only'
    return None, 'use_cow_images is not known of all compute hosts'


def _nfs_snapshot(cloud):
    if cloud.nfs is False:
        return False, 'no volumes are on NFS'
    return True, 'volumes are on NFS'


def _live_migration(cloud):
    backends = set(cloud.backends)
    if cloud.backends_change or (
            'qcow2' in backends and {'raw', 'flat'} & backends):
        return True, 'hosts of both backends, raw and qcow2, take part'
    return False, 'there are no hosts of both backends, raw and qcow2'


def _volume_backed_snapshot(cloud):
    if cloud.takes_raw is False:
        return False, ('glance takes no raw images: another bug is met first')
    if cloud.enforces_formats is False:
        return False, 'glance does not compare format and content'
    in_use = cloud.versions.get('glance')
    if in_use:
        try:
            enforcing = {
                parse(text) >= versions_.Version(_GLANCE_ENFORCES)
                for text in in_use}
        except exceptions.FormatsError as error:
            return None, str(error)
        if enforcing == {False}:
            return False, (f'glance {", ".join(in_use)} does not compare '
                           f'format and content: {_GLANCE_ENFORCES} does')
    if cloud.enforces_formats is None:
        return None, 'it is not known whether glance compares formats'
    return True, 'glance compares format and content'


def _raw_disallowed(cloud):
    if cloud.takes_raw is None:
        return None, 'it is not known whether glance takes raw images'
    if cloud.takes_raw:
        return False, 'glance takes raw images'
    return True, 'glance takes no raw images'


_SHOWS = {
    '2038898': _cold_migration,
    '1989514': _nfs_snapshot,
    'live-migration-mixed-backends': _live_migration,
    'volume-backed-snapshot-format': _volume_backed_snapshot,
    'volume-backed-snapshot-raw-disallowed': _raw_disallowed,
}

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

"""Which bugs a cloud is known to have: playbooks/lab/expected.yaml."""

from tempest_format_plugin import results
import yaml

from format_lab import clouds
from format_lab import exceptions
from format_lab import places


def load():
    """Return expected.yaml: {bug: {service, releases, source, ...}}."""
    return yaml.safe_load(places.EXPECTED.read_text())


def of_cloud(settings):
    """Return {bug: 'reproduced' or 'agrees'} as a cloud must show it.

    Bugs that its tests don't look for are left out.

    A source tree counts as the release that it is installed over: what it
    mends is meant to be noticed. Whoever mends it says so by 'known_bugs'.

    :param settings: the cloud's, with 'releases', 'use_cow_images' and
        others; 'known_bugs' are ids of bugs, which alone it then has
    :raises LabError: nothing is known of one of its releases; there is no
        such bug
    """
    expected = {}
    takes_raw = clouds.takes_raw_images(settings)
    told = settings.get('known_bugs')
    bugs = load()
    for bug in told or ():
        if bug not in bugs:
            raise exceptions.LabError(
                f'--known-bugs: there is no bug {bug!r}: it is any of '
                f'{", ".join(bugs)}')
    for bug, known in bugs.items():
        if known.get('raw_disallowed', False) == takes_raw:
            continue
        service = known['service']
        release = settings['releases'][service]
        if release not in known['releases']:
            raise exceptions.LabError(
                f'{places.EXPECTED} does not say what bug {bug} does on '
                f'{service} of {release}')
        hidden = any(settings.get(setting) == value for setting, value
                     in known.get('hidden_by', {}).items())
        verdict = known['releases'][release]
        if told is not None:
            verdict = results.REPRODUCED if bug in told else results.AGREES
        expected[bug] = results.AGREES if hidden else verdict
    return expected


def known_bugs(settings):
    """Return the ids of the bugs that a cloud must show."""
    return [bug for bug, verdict in of_cloud(settings).items()
            if verdict == results.REPRODUCED]

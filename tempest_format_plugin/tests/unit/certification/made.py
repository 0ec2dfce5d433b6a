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

"""Certificates made of verdicts that a lab's run has given."""

import datetime
import json
import pathlib

from tempest_format_plugin.certification import certificate
from tempest_format_plugin.certification import lists
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.formats import expectations
from tempest_format_plugin import results

SAMPLE = pathlib.Path(__file__).parents[1] / 'samples' / 'verdicts.json'
STARTED = datetime.datetime(2026, 10, 5, 9, tzinfo=datetime.timezone.utc)
HOSTS = tuple(
    facts.HostFacts(f'compute-{number}', f'10.88.0.1{number}', 'lab', backend,
                    True, True, '/var/lib/nova/instances', '34.0.0', '9.0.0',
                    '7.2.22')
    for number, backend in enumerate(('raw', 'raw', 'qcow2', 'qcow2'), 1))
FACTS = facts.CloudFacts(
    hosts=HOSTS,
    pools=(facts.PoolFacts('control@nfs#nfs', 'nfs', 'NFS', 'Open Source',
                           '1.4.0'),),
    microversions={'compute': '2.104', 'volume': '3.71'})
CLOUD = expectations.Cloud(
    {'nova': ['34.0.0']}, {'cinder': '3.71'}, ('raw', 'qcow2'),
    (True, True), nfs=True, enforces_formats=True, takes_raw=True)


def verdicts():
    """Return the Verdicts of the sample."""
    return [results.Verdict(**one) for one in json.loads(SAMPLE.read_text())]


def certificate_of(*verdicts_, **fields):
    """Return a Certificate of some verdicts, or of the sample's."""
    verdicts_ = verdicts_ or tuple(verdicts())
    chosen = lists.TestList('some', 3, 'a few tests', 'operations',
                            tuple(one.test for one in verdicts_))
    return certificate.Certificate(**{
        'chosen': (chosen,), 'verdicts': verdicts_,
        'expectations': tuple(
            certificate.Expectation(one.bug, bool(one.expected), one)
            for one in expectations.propose(CLOUD)),
        'expected_by': 'as versions and settings tell',
        'left': (), 'unlisted': (), 'safety_level': 'operations',
        'started': STARTED,
        'ended': STARTED + datetime.timedelta(minutes=7, seconds=30),
        'facts': FACTS,
        'versions': {'tempest-format-plugin': '1.0.0', 'tempest': '47.0.0'},
        'options': {'safety_level': 'operations', 'known_bugs': '2038898'},
    } | fields)


def verdict(kind=results.AGREES, test='a.TestB.test_c', **fields):
    return results.Verdict(**{'test': test, 'verdict': kind, 'bug': '',
                              'seconds': 1.5, 'reason': '', 'tables': {},
                              **fields})

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

"""When each test ran, and what it asked of the cloud meanwhile.

From the subunit stream of a run and from tempest's log: its REST client
(tempest.lib.common.rest_client) logs each request with the id by which the
services' logs call it.
"""

import collections
import dataclasses
import datetime
import re

from tempest_format_plugin import results

_REQUEST = re.compile(
    r'(?P<ended>\S+ \S+) \d+ INFO tempest\.lib\.common\.rest_client '
    r'\[(?:[^]]*(?P<id>req-[\w-]+))?[^]]*\] '
    r'Request \((?P<caller>\w+):\w*\): \d+ '
    r'(?P<method>[A-Z]+) \S+ (?P<seconds>[\d.]+)s')


@dataclasses.dataclass(frozen=True)
class Test:
    """:ivar started: datetime with a time zone, as is ended"""

    id: str
    started: datetime.datetime
    ended: datetime.datetime
    worker: str


@dataclasses.dataclass(frozen=True)
class Request:
    """:ivar caller: the class of the test that made it"""

    id: str
    method: str
    caller: str
    started: datetime.datetime
    ended: datetime.datetime


def tests(stream):
    """Return the Test of each test of a subunit v2 stream that ended.

    :param stream: binary file
    """
    return [
        Test(test['id'], *test['timestamps'],
             ''.join(tag for tag in test['tags'] if tag.startswith('worker')))
        for test in results.tests(stream) if all(test['timestamps'])]


def requests(lines):
    """Yield the Request of each line of tempest's log that tells of one."""
    for line in lines:
        if request := _REQUEST.match(line):
            ended = datetime.datetime.fromisoformat(
                request['ended']).astimezone()
            spent = datetime.timedelta(seconds=float(request['seconds']))
            yield Request(request['id'] or '', request['method'],
                          request['caller'], ended - spent, ended)


def tests_by_request(all_tests, all_requests):
    """Return {request id: set of test ids}, of requests that change a thing.

    Tests of one class run one after the other, with their cleanups: so class
    and time tell whose a request is.
    """
    by_class = collections.defaultdict(list)
    for test in all_tests:
        by_class[f'.{test.id}'.split('.')[-2]].append(test)
    found = collections.defaultdict(set)
    for request in all_requests:
        if request.method in ('GET', 'HEAD') or not request.id:
            continue
        for test in by_class.get(request.caller, ()):
            if test.started <= request.ended <= test.ended:
                found[request.id].add(test.id)
    return dict(found)


def own_share(started, ended, own_seconds, all_tests, all_requests):
    """Return the share of a run's time that waits for no cloud or guest.

    Outside of tests all counts but requests; within them the processor time
    of the test's process, divided among the processes that shared the time.

    :param started: datetime; of the whole run, as is ended
    :param own_seconds: processor seconds of all tests together
    """
    waiting = _union([(one.started, one.ended)
                      for one in [*all_tests, *all_requests]])
    whole = (ended - started).total_seconds()
    workers = len({test.worker for test in all_tests}) or 1
    return (whole - waiting + own_seconds / workers) / whole


def _union(intervals):
    """Return the seconds that any of the intervals covers."""
    seconds, covered = 0.0, None
    for start, end in sorted(intervals):
        if covered is not None:
            start = max(start, covered)
        if end > start:
            seconds += (end - start).total_seconds()
            covered = end
    return seconds

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

import datetime
import io

from format_lab import timeline
import subunit

from tempest_format_plugin.tests.unit.tools import base

UTC = datetime.timezone.utc
# As the log tells it: in the zone of the machine.
LOCAL = datetime.datetime(2026, 10, 5, 12, 0, 0).astimezone()


def at(seconds):
    return LOCAL + datetime.timedelta(seconds=seconds)


def ran(name, start, end, worker='worker-0'):
    return timeline.Test(name, at(start), at(end), worker)


def asked(name, start, end, caller='TestB', method='POST'):
    return timeline.Request(name, method, caller, at(start), at(end))


class TestsTest(base.LabTestCase):

    def test_stream(self):
        stream = io.BytesIO()
        output = subunit.StreamResultToBytes(stream)
        for status, seconds in (('inprogress', 1), ('success', 3)):
            output.status(test_id='a.TestB.test_c[id-1]', test_status=status,
                          timestamp=at(seconds).astimezone(UTC),
                          test_tags={'worker-1'})
        output.status(test_id='never', test_status='inprogress',
                      timestamp=at(1).astimezone(UTC))
        stream.seek(0)
        self.assertEqual([ran('a.TestB.test_c', 1, 3, 'worker-1')],
                         timeline.tests(stream))


class RequestsTest(base.LabTestCase):

    client = ('2026-10-05 12:00:02.500 7 INFO '
              'tempest.lib.common.rest_client {} ')

    def test_requests(self):
        told = 'Request (TestB:test_c): 202 POST http://nova/ 0.500s\n'
        lines = [
            self.client.format('[req-1 req-1 ]') + told,
            self.client.format('[None req-2 ]') + told.replace('POST', 'GET'),
            self.client.format('[-]') + told,
            self.client.format('[None req-3 ]').replace('INFO', 'DEBUG')
            + 'Request - Headers: {}\n',
            '        Body: {"server": {}}\n']
        self.assertEqual(
            [asked('req-1', 2, 2.5), asked('req-2', 2, 2.5, method='GET'),
             asked('', 2, 2.5)], list(timeline.requests(lines)))


class TestsByRequestTest(base.LabTestCase):

    def test_class_and_time(self):
        tests = [ran('a.TestB.test_c', 0, 10), ran('a.TestB.test_d', 11, 20),
                 ran('a.TestE.test_f', 0, 20, 'worker-1'),
                 ran('tearDownClass (a.TestB)', 21, 22), ran('odd', 1, 2)]
        found = timeline.tests_by_request(tests, [
            asked('req-1', 1, 2), asked('req-2', 12, 13),
            asked('req-3', 1, 2, caller='TestE'),
            # Only what changes something, only while a test runs.
            asked('req-4', 1, 2, method='GET'), asked('', 1, 2),
            asked('req-5', 10.2, 10.5), asked('req-6', 1, 2, 'TestX')])
        self.assertEqual(
            {'req-1': {'a.TestB.test_c'}, 'req-2': {'a.TestB.test_d'},
             'req-3': {'a.TestE.test_f'}}, found)


class OwnShareTest(base.LabTestCase):

    def share(self, tests=(), requests=(), own=0.0):
        return timeline.own_share(at(0), at(100), own, tests, requests)

    def test_nothing_but_own(self):
        self.assertEqual(1, self.share())

    def test_outside_of_tests(self):
        # 5 s before, 10 s between, of which a request takes 4, 5 s after.
        tests = [ran('a', 5, 50), ran('b', 60, 95), ran('c', 7, 20)]
        requests = [asked('req-1', 48, 52), asked('req-2', 57, 59)]
        self.assertAlmostEqual(0.16, self.share(tests, requests))

    def test_within_tests(self):
        tests = [ran('a', 0, 100), ran('b', 0, 100, 'worker-1')]
        self.assertAlmostEqual(0.03, self.share(tests, own=6.0))

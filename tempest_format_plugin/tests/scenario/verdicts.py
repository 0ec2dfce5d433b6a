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

"""How a scenario ends: what it found, held against the known bugs."""

import functools

from tempest import config
from testtools import content

from tempest_format_plugin.formats import bugs
from tempest_format_plugin import results

CONF = config.CONF


class DisagreementFound(AssertionError):
    """Sources that must agree about a server's disks don't.

    :ivar server: the formats.models.ServerObservation
    :ivar disagreements: all its Disagreements
    :ivar outcome: formats.bugs.BOOTED or SILENT; None if nobody has waited
        for the guest, which is not silence
    :ivar after_operation: whether the operation that the test is about had
        been done; what is found earlier can't come from it
    """

    def __init__(self, when, server, disagreements, outcome, *,
                 after_operation):
        super().__init__(
            f'{when}, server {server.server_id} on {server.host}: expected '
            f'agreement, but (guest {outcome or "not waited for"}):\n'
            + '\n'.join(map(str, disagreements)))
        self.server = server
        self.disagreements = disagreements
        self.outcome = outcome
        self.after_operation = after_operation


class GuestSilent(AssertionError):
    """All sources agree, and yet the guest did not boot."""


class OtherDiskBooted(AssertionError):
    """A guest booted, but not from the disk that booted before."""


def known_bug(bug_id):
    """Decorate a test that reproduces a bug of formats.bugs.BUGS.

    On a cloud whose known_bugs option names the bug, the test ends as an
    expected failure if what it found is the bug's signature and nothing else,
    and as an unexpected success if it found nothing. On any other cloud, and
    for any other disagreement, it just fails.
    """
    bug, = bugs.get([bug_id])

    def decorator(test):
        @functools.wraps(test)
        def wrapper(self, *args, **kwargs):
            if bug_id not in CONF.disk_format.known_bugs:
                return test(self, *args, **kwargs)
            found = None
            try:
                test(self, *args, **kwargs)
            except DisagreementFound as error:
                if not (error.after_operation and bugs.matches(
                        bug, error.disagreements, error.outcome,
                        server=error.server)):
                    raise
                found = error
            self.addDetail(results.BUG_DETAIL, content.text_content(bug_id))

            def the_test():
                if found is not None:
                    raise found
            self.expectFailure(
                f'{bug.project} bug {bug_id}: {bug.title}', the_test)
        return wrapper
    return decorator

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

"""What ends a scenario test, and what it means on a cloud with known bugs."""

import functools

from tempest import config
from testtools import content

from tempest_format_plugin.formats import bugs
from tempest_format_plugin import results

CONF = config.CONF


class Finding(AssertionError):
    """What a test found out about disks and guests.

    :ivar fact: of formats.findings; None where no bug is known to look so
    :ivar after_operation: whether the operation that the test is about had
        been done; what is found earlier can't come from it
    """

    def __init__(self, message, fact=None, *, after_operation=True):
        super().__init__(message)
        self.fact = fact
        self.after_operation = after_operation


class DisagreementFound(Finding):
    """Sources that must agree about a server's disks don't."""


class StartRefused(Finding):
    """nova could not start a server."""


class MigrationFailed(Finding):
    """A migration or resize came to nothing."""


class ImageFailed(Finding):
    """No usable image came of a server's createImage."""


class GuestSilent(Finding):
    """All sources agree, and yet the guest did not boot."""


class OtherDiskBooted(Finding):
    """A guest booted, but not from the disk that booted before."""


class OtherFormat(Finding):
    """All sources agree, but on a format that it should not be."""


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
            self.addDetail(results.BUG_DETAIL, content.text_content(bug_id))
            if bug_id not in CONF.disk_format.known_bugs:
                return test(self, *args, **kwargs)
            found = None
            try:
                test(self, *args, **kwargs)
            except Finding as error:
                if not (error.after_operation and error.fact is not None
                        and bugs.matches(bug, error.fact)):
                    raise
                found = error

            def the_test():
                if found is not None:
                    raise found
            self.expectFailure(
                f'{bug.project} bug {bug_id}: {bug.title}', the_test)
        return wrapper
    return decorator

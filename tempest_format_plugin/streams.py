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

"""Subunit streams without the secrets in what is attached to their tests."""

import testtools

from tempest_format_plugin.formats import redaction

# A packet of a subunit stream holds 4 MiB at most.
_PIECE = 2 ** 20


class Redacted(testtools.CopyStreamResult):
    """Passes a stream on without the secrets in what is attached to it.

    Attachments come in pieces, and a secret may lie across two: each is held
    back until it has ended, or its test, or the stream.
    """

    def __init__(self, targets):
        super().__init__(targets)
        self._attached = {}

    def status(self, test_id=None, test_status=None, *, file_name=None,
               file_bytes=None, mime_type=None, eof=False, **more):
        attachment = test_id, more.get('route_code'), file_name
        if file_name is not None:
            _, pieces = self._attached.setdefault(
                attachment, (more | {'mime_type': mime_type}, []))
            pieces.append(bytes(file_bytes))
            if eof:
                self._pass_on(attachment)
        if test_status not in (None, 'exists', 'inprogress'):
            for one in [one for one in self._attached if one[0] == test_id]:
                self._pass_on(one)
        if test_status is not None or file_name is None:
            super().status(test_id=test_id, test_status=test_status, **more)

    def stopTestRun(self):
        for attachment in list(self._attached):
            self._pass_on(attachment)
        super().stopTestRun()

    def _pass_on(self, attachment):
        test_id, _, file_name = attachment
        more, pieces = self._attached.pop(attachment)
        text = b''.join(pieces).decode(errors='surrogateescape')
        redacted = redaction.redact(text).encode(errors='surrogateescape')
        for start in range(0, len(redacted) or 1, _PIECE):
            end = start + _PIECE
            super().status(test_id=test_id, file_name=file_name,
                           file_bytes=redacted[start:end],
                           eof=end >= len(redacted), **more)

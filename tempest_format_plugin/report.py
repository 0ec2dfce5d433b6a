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

"""The results of one or more runs as one HTML page."""

import dataclasses
import datetime
import urllib.parse

from tempest_format_plugin import evidence
from tempest_format_plugin import pages
from tempest_format_plugin import results


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of the scenarios on a cloud.

    :ivar settings: {name: value} of the cloud
    :ivar verdicts: list of results.Verdict
    :ivar seconds: how long it took
    :ivar own_share: the part of seconds that was spent on waiting for neither
        the cloud nor a guest, 0 to 1; None if it isn't known
    :ivar leftovers: what the tests left behind, a line each; None if nobody
        has looked
    :ivar started: datetime; None if it isn't known
    :ivar directory: where evidence/ is, relative to the page; '' beside it
    """

    cloud: str
    settings: dict
    verdicts: list
    seconds: float
    own_share: float | None = None
    leftovers: list | None = None
    started: datetime.datetime | None = None
    directory: str = ''

    @property
    def unexpected(self):
        """The verdicts that aren't what is known of the cloud."""
        return [one for one in self.verdicts if not one.expected]

    @property
    def duration(self):
        """How long it took and what it waited for, in words."""
        minutes, seconds = divmod(round(self.seconds), 60)
        text = f'{minutes} min {seconds:02} s' if minutes else f'{seconds} s'
        if self.own_share is not None:
            text += (f', {self.own_share:.1%} of it waiting for neither the '
                     f'cloud nor a guest')
        return text


def page(title, runs, *, rows=(), made=None):
    """Return an HTML page that needs nothing but itself, without secrets.

    :param title: what was run
    :param runs: list of Run
    :param rows: bug by cloud, see results.render_matrix; left out if empty
    :param made: datetime, now if None
    """
    made = made or datetime.datetime.now(datetime.timezone.utc)
    template = pages.template(
        'report.html.j2',
        bug_label=results.bug_label, bug_title=results.bug_title,
        cell=results.cell, clouds_of=results.clouds_of,
        evidence_of=evidence.paths,
        link=lambda run, verdict, path: link(verdict, path, run.directory))
    return template.render(title=title, runs=runs, rows=rows, made=made)


def link(verdict, path, directory=''):
    """Return the address of a file of evidence, relative to a page.

    :param directory: where evidence/ is, relative to the page
    """
    return urllib.parse.quote('/'.join(filter(None, (
        directory, 'evidence', evidence.directory_of(verdict), path))))

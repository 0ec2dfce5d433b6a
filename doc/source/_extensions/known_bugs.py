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

"""The directive known-bugs: the table of bugs, as the code has it.

From formats/bugs.py, and from what the lab must show of each bug by release
(playbooks/lab/expected.yaml).
"""

import pathlib

from sphinx.util import docutils
import yaml

from tempest_format_plugin.formats import bugs
from tempest_format_plugin import results

EXPECTED = (pathlib.Path(__file__).parents[3]
            / 'playbooks' / 'lab' / 'expected.yaml')


def table():
    """Return the lines of a list-table of all known bugs."""
    yield from ('.. list-table::', '   :header-rows: 1',
                '   :widths: 22 10 28 16 24', '')
    rows = [('Bug', 'Of', 'What', 'First fixed in', 'In the lab')]
    expected = yaml.safe_load(EXPECTED.read_text())
    for bug in bugs.BUGS.values():
        shown = expected[bug.id]['releases']
        rows.append((
            f'`{results.bug_label(bug.id)} <{bug.source}>`__', bug.project,
            bug.title, ', '.join(bug.fixed_in) or 'open',
            '; '.join(f'{release}: {verdict}'
                      for release, verdict in shown.items())))
    for row in rows:
        for number, cell in enumerate(row):
            yield f'   {"  " if number else "* "}- {cell}'


class KnownBugs(docutils.SphinxDirective):
    """The table, in place of the directive."""

    def run(self):
        self.env.note_dependency(str(EXPECTED))
        self.env.note_dependency(bugs.__file__)
        return self.parse_text_to_nodes('\n'.join(table()))


def setup(app):
    app.add_directive('known-bugs', KnownBugs)
    return {'parallel_read_safe': True}

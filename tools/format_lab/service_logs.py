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

"""What the services logged of a test's requests."""

import collections
import re

from tempest_format_plugin.formats import redaction

LINE_LENGTH = 2000
# Of one test and one log.
LINES = 2000

_ID = re.compile(r'req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def of_lab(lab):
    """Return {title: path} of the services' logs of a cloud."""
    logs = {}
    for node in lab.nodes():
        for path in sorted((lab.node_dir(node) / 'var/log').glob('*.log')):
            logs[f'{node}: {path.name}'] = path
    return logs


def collect(logs, tests_by_request):
    """Return {test: text} of the lines that hold one of its request ids.

    A traceback follows the line that has the id and has none itself. Secrets
    are redacted before long lines are cut: half of one may not look like it.

    :param logs: {title: path}
    :param tests_by_request: {request id: test ids}
    """
    texts = collections.defaultdict(list)
    for title, path in logs.items():
        lines = collections.defaultdict(list)
        with open(path, errors='replace') as log:
            for line, tests in _assigned(log, tests_by_request):
                for test in tests:
                    lines[test].append(line)
        for test, those in lines.items():
            texts[test] += [f'== {title}\n',
                            *map(_cut,
                                 redaction.redact_lines(those[:LINES]))]
            if len(those) > LINES:
                texts[test].append(f'... and {len(those) - LINES} more\n')
    return {test: ''.join(those) for test, those in texts.items()}


def _assigned(log, tests_by_request):
    """Yield (line, tests) of the lines that are anybody's."""
    tests = set()
    for line in log:
        if 'req-' in line:
            tests = set().union(*(tests_by_request.get(one, ())
                                  for one in _ID.findall(line)))
        elif ' ERROR ' not in line:
            tests = set()
        if tests:
            yield line, tests


def _cut(line):
    return line.rstrip('\n')[:LINE_LENGTH] + '\n'

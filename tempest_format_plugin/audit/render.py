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

"""What an audit has found, for people and for programs."""

import csv
import datetime
import itertools
import json
import operator

from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.formats import printable
from tempest_format_plugin import pages

FIELDS = journals.Finding._fields


def text(journal, output):
    """Write what a person reads: the worst first, then the sums."""
    harm = None
    for found in _findings(journal):
        if found['harm'] != harm:
            harm = found['harm']
            output.write(f'Does harm {harm}\n{"=" * len(f"Does harm {harm}")}'
                         '\n\n')
        output.write(_line(
            f'{found["server"]} on {found["host"]} (project '
            f'{found["project"]}), {found["disk"]}, rule {found["rule"]}'))
        output.write(_line(f'    {found["what"]}: {found["consequence"]}'))
        output.write(_line(f'    {found["remedy"]}') + '\n')
    counts = journal.counts()
    if counts[journals.UNKNOWN]:
        output.write("Couldn't tell\n=============\n\n")
        for one in _unknown(journal):
            output.write(_line(
                f'{one["server"]} on {one["host"]}: {one["reason"]}'))
        output.write('\n')
    output.write(f'Of the servers that nova listed at {journal.listed()}: ')
    output.write(', '.join(f'{number} {name}' for name, number
                           in counts.items()))
    left = journal.to_do_count()
    output.write(f', {left} not looked at\n' if left else '\n')


def as_json(journal, output):
    """Write a JSON object: counts, findings (the worst first), unknown."""
    output.write(json.dumps({
        'made': _now().isoformat(timespec='seconds'),
        'listed': journal.listed(),
        'counts': journal.counts(), 'not_looked_at': journal.to_do_count(),
    })[:-1])
    for name, items in (('findings', _findings(journal)),
                        ('unknown', _unknown(journal))):
        output.write(f', "{name}": [')
        for number, item in enumerate(items):
            output.write((',\n ' if number else '\n ') + json.dumps(item))
        output.write(']')
    output.write('}\n')


def as_csv(journal, output):
    """Write a line per finding; what couldn't be told has no disk or rule."""
    writer = csv.DictWriter(output, (*FIELDS, 'reason'), lineterminator='\n')
    writer.writeheader()
    for row in itertools.chain(_findings(journal), _unknown(journal)):
        writer.writerow({
            name: (printable.printable(value) if isinstance(value, str)
                   else value)
            for name, value in row.items()})


def html(journal, output):
    """Write a page that stands alone, the worst first."""
    pages.template('audit.html.j2').stream(
        title='Disks that are believed to have several formats', made=_now(),
        listed=journal.listed(), counts=journal.counts(),
        left=journal.to_do_count(),
        by_harm=itertools.groupby(_findings(journal),
                                  operator.itemgetter('harm')),
        unknown=_unknown(journal)).dump(output)


def _line(words):
    return printable.printable(words) + '\n'


def _now():
    return datetime.datetime.now(datetime.timezone.utc)


def _findings(journal):
    for found in journal.findings():
        yield found._asdict() | {'harm': found.harm.words}


def _unknown(journal):
    for server, host, reason in journal.unknown():
        yield {'server': server, 'host': host, 'reason': reason}


FORMATS = {'text': text, 'json': as_json, 'csv': as_csv, 'html': html}

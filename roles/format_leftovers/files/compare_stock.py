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

"""Keep what a command lists, or wait until it lists no more than was kept.

The command prints {kind: {id: name}} as JSON. Runs on Python 3.6 with nothing
but the standard library::

  compare_stock.py before FILE COMMAND...
  compare_stock.py after FILE SECONDS COMMAND...

The first prints {"changed": whether FILE had something else before}. The
second prints {"left": [text, ...]}, one for each thing that wasn't there
before and still is after the given time; what can't be listed may be there,
and so is one too. Exit status 1, with a reason on stderr, if there is nothing
to compare with.
"""

import json
import os
import subprocess
import sys
import time

PAUSE = 3
# For one listing: a cloud that hangs must not hang the job.
COMMAND_SECONDS = 120


class Unlisted(Exception):
    """The command has not told what there is."""


def listing(command):
    try:
        listed = subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=COMMAND_SECONDS)
    except OSError as error:
        raise Unlisted('{}: {}'.format(command[0], error.strerror))
    except subprocess.TimeoutExpired:
        raise Unlisted('no answer in {} s'.format(COMMAND_SECONDS))
    if listed.returncode:
        lines = listed.stderr.decode('utf-8', 'replace').split('\n')
        raise Unlisted(next(
            (line.strip() for line in reversed(lines) if line.strip()),
            'exit status {}'.format(listed.returncode)))
    return json.loads(listed.stdout.decode())


def before(path, command):
    stock = json.dumps(listing(command), indent=1, sort_keys=True)
    try:
        with open(path) as source:
            changed = source.read() != stock
    except FileNotFoundError:
        changed = True
    if changed:
        with open(path + '.new', 'w') as target:
            os.fchmod(target.fileno(), 0o600)
            target.write(stock)
        os.replace(path + '.new', path)
    return {'changed': changed}


def after(path, seconds, command):
    with open(path) as source:
        kept = json.load(source)
    started = time.monotonic()
    while True:
        left = look(kept, command)
        if not left or time.monotonic() - started >= seconds:
            return {'left': left}
        time.sleep(PAUSE)


def look(kept, command):
    try:
        stock = listing(command)
    except Unlisted as error:
        return ['what is there can\'t be listed: {}'.format(error)]
    return ['{} {} ({})'.format(kind, one, name) if name
            else '{} {}'.format(kind, one)
            for kind, those in sorted(stock.items())
            for one, name in sorted(those.items())
            if one not in kept.get(kind, {})]


def main(arguments):
    try:
        if arguments[0] == 'before':
            result = before(arguments[1], arguments[2:])
        else:
            result = after(arguments[1], float(arguments[2]), arguments[3:])
    except Unlisted as error:
        sys.exit('what is there before the tests can\'t be listed: '
                 '{}'.format(error))
    except (OSError, ValueError) as error:
        sys.exit('what was there before the tests: {}: {}'.format(
            arguments[1], error))
    json.dump(result, sys.stdout)


if __name__ == '__main__':
    main(sys.argv[1:])

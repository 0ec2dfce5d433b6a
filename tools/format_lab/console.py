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

"""What the driver says while it works."""

import contextlib
import re
import time


def say(text=''):
    """Print a line.

    Whoever listened may be gone: the cloud must be taken down all the same.
    """
    with contextlib.suppress(OSError):
        print(text, flush=True)


@contextlib.contextmanager
def step(title):
    """Say what is being done, and afterwards how long it took."""
    say(f'{title} ...')
    started = time.monotonic()
    yield
    say(f'  {time.monotonic() - started:6.1f} s  done')


def show_progress(lines):
    """Say what the scenarios have said in tempest's log since last time."""
    for line in lines:
        found = re.search(r' INFO tempest_format_plugin\.tests\.scenario\S* '
                          r'\[.*?\] (.*)', line)
        if found and not found[1].endswith(':'):
            say(f'    {time.strftime("%H:%M:%S")} {found[1]}')

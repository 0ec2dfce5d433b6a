# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Hold an edit of a compute host's options: a runner that can be killed.

Arguments: the host's name, the options as JSON, and for how many seconds to
put off each restart of nova-compute. Says "held" once it holds the edit, and
undoes it when there is a line on its standard input.
"""

import dataclasses
import json
import sys

from tempest_format_plugin import cloud
from tempest_format_plugin.hosts import host_edit


def main(name, options, delay):
    host = cloud.compute_hosts().get(name)
    host.profile = dataclasses.replace(host.profile, restart=(
        'sh', '-c', f'sleep {int(delay)}; exec "$@"', 'sh',
        *host.profile.restart))
    edit = host_edit.hold(host, json.loads(options), 'a runner to be killed')
    print('held', flush=True)
    sys.stdin.readline()
    edit.undo()


if __name__ == '__main__':
    main(*sys.argv[1:])

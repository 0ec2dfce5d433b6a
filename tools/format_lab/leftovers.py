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

"""Does anything of a test stay behind, on the cloud or on its hosts?

The role format_leftovers knows, which Zuul's jobs have as well.
"""

import json

from tempest_format_plugin import results

from format_lab import exceptions

# Where the role keeps what it finds, on each node.
LEFT = 'var/lib/format-leftovers/left.json'


def keep_stock(lab):
    """Keep what a cloud and its hosts have before the tests.

    :raises LabError: it can't be listed
    """
    if lab.play('before-tests.yaml'):
        raise exceptions.LabError(
            f'what the cloud {lab.cloud} has can\'t be listed; what failed is '
            f'told above')


def find(lab):
    """Return a line for each thing that wasn't there before and stays.

    What is deleted is given the time that it takes to be gone. What can't be
    listed may be there: that is a line too.
    """
    failed = lab.play('after-tests.yaml')
    left = []
    for node in lab.nodes():
        try:
            left += json.loads((lab.node_dir(node) / LEFT).read_text())
        except FileNotFoundError:
            left.append(f'{node}: what is there was not listed')
    if failed and not left:
        left.append('after-tests.yaml of the lab failed, see its output')
    return left


def verdict(left):
    """Return the Verdict on what find has returned."""
    return results.Verdict(
        test='format_lab.Leftovers.nothing_stays_behind',
        verdict=results.FAILED if left else results.AGREES, bug='', seconds=0,
        reason=f'left behind: {"; ".join(left)}' if left else '', tables={})

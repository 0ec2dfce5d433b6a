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

"""What can be wrong with a guest."""


class GuestError(Exception):
    """Base of all errors of this package."""


class HeartbeatError(GuestError):
    """A guest that has booted doesn't go on writing to its disk.

    :ivar console: what its console said at last
    """

    # Enough for a kernel's last words, short enough for a test result.
    TAIL = 2000

    def __init__(self, boot_id, problem, console):
        super().__init__(f'guest boot {boot_id}: {problem}; its console '
                         f'ends with: {console[-self.TAIL:]}')
        self.boot_id = boot_id
        self.problem = problem
        self.console = console

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

"""Errors of the pure core."""


class FormatsError(Exception):
    """Base of all errors of tempest_format_plugin.formats."""


class ObservationError(FormatsError):
    """A source says something that can't be read or isn't known.

    :ivar source: what was read, such as 'live XML' or 'file /…/disk'
    :ivar host: the compute host it was read on
    :ivar problem: what was expected and what came instead
    """

    def __init__(self, source, host, problem):
        super().__init__(f'{source} on {host}: {problem}')
        self.source = source
        self.host = host
        self.problem = problem

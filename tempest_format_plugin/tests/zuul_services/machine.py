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

"""Is this machine fit for the tests?"""

import os

from tempest_format_plugin.tests.zuul_services import exceptions


def check():
    """Refuse whoever may not do what the tests do.

    :raises ServicesError: the user isn't root
    """
    if os.geteuid() != 0:
        raise exceptions.ServicesError(
            f'the tests run services as other users and make namespaces: run '
            f'them as root, not as user {os.geteuid()}')

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

"""A real scheduler takes our configuration, and refuses a broken copy."""

import testtools

from tempest_format_plugin.tests.zuul_services import machine
from tempest_format_plugin.tests.zuul_services import repositories
from tempest_format_plugin.tests.zuul_services import zuul


class ValidateTenantsTest(testtools.TestCase):

    def test_our_configuration_and_a_broken_copy(self):
        machine.check()

        # 1. The tenant: our repository as it is, and stubs of all the others.
        projects = self.useFixture(repositories.Repositories())

        # 2. ZooKeeper, PostgreSQL, and a merger for the scheduler to ask.
        services = self.useFixture(zuul.Zuul(projects))
        services.start('merger')

        # 3. What we have is right.
        status, said = services.validate_tenants()
        self.assertEqual(0, status, said)
        self.assertIn('Config validation complete', said)

        # 4. A job whose parent is misspelled isn't, and the error says so.
        projects.replace(repositories.OWN, 'zuul.d/base.yaml',
                         'parent: devstack-tempest\n',
                         'parent: devstack-tempst\n')
        status, said = services.validate_tenants()
        self.assertEqual(1, status, said)
        self.assertIn('Job devstack-tempst not defined', said)

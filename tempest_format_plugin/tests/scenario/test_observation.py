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

from tempest.common import utils
from tempest.lib import decorators

from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.scenario import sabotage

DISK_INFO = models.DISK_INFO
FILE = models.FILE
INACTIVE = models.INACTIVE_XML
LIVE = models.LIVE_XML


class TestObservation(sabotage.SabotageTest):
    """The observation itself: a disagreement that was made by hand is seen."""

    @decorators.idempotent_id('9b376ac7-709e-4681-9a11-0461f5f5b821')
    @utils.services('compute', 'image')
    def test_each_sabotage_is_named(self):
        """Each hand-made disagreement is named, and nothing besides.

        1. Boot a server on a host of the qcow2 backend: all agree.
        2. While it runs, edit in turn its root disk's entry in disk.info and
           the driver type in the inactive XML.
        3. Stop it; convert its root disk in place, then declare another
           format for the disk's backing file.
        4. Each time exactly the pairs that the edit broke disagree, and none
           once it is undone.
        """
        self.boot_victim()
        with self.sabotage('disk.info', sabotage.EDIT_DISK_INFO,
                           sabotage.UNDO_DISK_INFO):
            self.expect_exactly((2, DISK_INFO, FILE), (2, DISK_INFO, LIVE),
                                (2, DISK_INFO, INACTIVE))
        with self.sabotage('inactive-xml', sabotage.EDIT_XML,
                           sabotage.UNDO_XML):
            self.expect_exactly((1, INACTIVE, FILE), (1, LIVE, INACTIVE),
                                (2, DISK_INFO, INACTIVE))
        self.stop_server(self.server)
        with self.sabotage('file', sabotage.CONVERT_DISK,
                           sabotage.UNDO_DISK):
            self.expect_exactly((1, INACTIVE, FILE), (2, DISK_INFO, FILE))
        with self.sabotage('backing-format', sabotage.EDIT_BACKING,
                           sabotage.UNDO_DISK):
            self.expect_exactly((4, FILE, FILE))

    def expect_exactly(self, *expected):
        """Expect these (rule, left source, right source), all of the root."""
        _, disagreements = self.observe(self.server, f'{self.what}-edited')
        self.assertEqual(
            sorted(('disk', *pair) for pair in expected),
            sorted((d.disk, d.rule, d.left.source, d.right.source)
                   for d in disagreements))

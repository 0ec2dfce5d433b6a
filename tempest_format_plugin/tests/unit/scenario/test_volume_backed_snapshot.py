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

from unittest import mock

import fixtures
from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.formats import glance_image
from tempest_format_plugin.guests import boot
from tempest_format_plugin.tests.scenario import servers
from tempest_format_plugin.tests.scenario import test_volume_backed_snapshot
from tempest_format_plugin.tests.scenario import verdicts
from tempest_format_plugin.tests.scenario import volumes
from tempest_format_plugin.tests.unit import base as unit_base
from tempest_format_plugin.tests.unit.scenario import base

SERVER, HOST, TARGET = base.SERVER, base.HOST, base.TARGET
BUG = bugs.BUGS['volume-backed-snapshot-format']
MAPPING = '[{"snapshot_id": "new", "volume_size": 1}, {"no_device": true}]'


def server_fault():
    """Return what tempest raises at a 500 of nova's."""
    return lib_exc.ServerFault('Unexpected API Error', resp=mock.Mock(
        status=500))


class SkipChecksTest(unit_base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(unit_base.PluginConf(
            test_volume_backed_snapshot))
        self.useFixture(fixtures.MockPatchObject(
            volumes.VolumeScenarioTest, 'skip_checks'))

    def assertSkips(self, scenario, reason):
        error = self.assertRaises(self.skipException, scenario.skip_checks)
        self.assertEqual(reason, str(error))

    def test_raw_images(self):
        about = {True: test_volume_backed_snapshot.TestVolumeBackedSnapshot,
                 False: test_volume_backed_snapshot.TestRawImagesDisallowed}
        for allowed in about:
            self.conf.set(raw_images_allowed=allowed)
            about[allowed].skip_checks()
            self.assertSkips(about[not allowed], '[disk_format] '
                             f'raw_images_allowed is {allowed}')

    def test_glance_enforcement(self):
        test_volume_backed_snapshot.TestGlanceEnforcement.skip_checks()
        self.conf.config(group='image-feature-enabled',
                         image_format_enforcement=False)
        self.assertSkips(test_volume_backed_snapshot.TestGlanceEnforcement,
                         '[image-feature-enabled] image_format_enforcement '
                         'is false')


class ImageTestCase(base.ScenarioTestCase):

    scenario_class = test_volume_backed_snapshot.VolumeBackedSnapshotTest
    modules = (test_volume_backed_snapshot, volumes)

    def setUp(self):
        super().setUp()
        self.images = self.admin.image_client_v2
        self.snapshots = self.admin.snapshots_client_latest
        self.create = self.admin.compute_images_client.create_image
        self.follow('volume', servers.CONFIG_DRIVE)
        self.snapshots_are({'old': 'available'},
                           {'old': 'available', 'new': 'available'})
        self.snapshots.show_snapshot.return_value = {
            'snapshot': {'status': 'available', 'volume_id': 'volume'}}
        self.image_is('active')

    def image_is(self, *statuses, **fields):
        """Let glance list the image with these statuses, None: not at all."""
        self.images.list_images.side_effect = base.in_turn(*(
            {'images': [{'id': 'image', 'status': status, 'size': 0,
                         'disk_format': 'raw', 'container_format': 'bare',
                         'block_device_mapping': MAPPING} | fields] * bool(
                             status)}
            for status in statuses))

    def snapshots_are(self, *listings):
        """Let cinder list the volume's snapshots as {id: status} in turn."""
        self.snapshots.list_snapshots.side_effect = base.in_turn(*(
            {'snapshots': [{'id': key, 'status': status}
                           for key, status in listing.items()]}
            for listing in listings))

    def create_image(self):
        return self.scenario.create_server_image(SERVER)


class CreateImageTest(ImageTestCase):

    def test_image(self):
        self.image_is('queued', 'saving', 'active')
        image = self.create_image()
        self.assertEqual(('image', 'active', ('new',)),
                         (image.id, image.status, image.snapshot_ids))
        self.assertTrue(self.scenario.followed[SERVER].operated_on)
        self.assertEqual(2, self.clock.now)

    def test_snapshots_are_waited_for(self):
        self.snapshots.show_snapshot.side_effect = [
            {'snapshot': {'status': status}}
            for status in ('creating', 'available')]
        self.create_image()
        self.assertEqual(1, self.clock.now)

    def test_image_is_deleted_however_it_ends(self):
        self.create.side_effect = [None, server_fault()]
        self.create_image()
        self.assertRaises(verdicts.ImageFailed, self.create_image)
        self.images.show_image.side_effect = [
            {'status': 'active'}, lib_exc.NotFound, lib_exc.NotFound]
        self.image_is('active')
        self.scenario.doCleanups()
        self.assertEqual([mock.call('image')] * 2,
                         self.images.delete_image.call_args_list)
        self.assertEqual(1, self.clock.now)

    def test_nothing_to_delete(self):
        self.create_image()
        self.image_is(None)
        self.scenario.doCleanups()
        self.images.delete_image.assert_not_called()


class ImageFailedTest(ImageTestCase):

    def fails(self):
        return self.assertRaises(verdicts.ImageFailed, self.create_image)

    def test_known_bug(self):
        self.create.side_effect = server_fault()
        self.image_is('queued', disk_format='qcow2', size=None)
        error = self.fails()
        self.assertTrue(error.after_operation)
        self.assertTrue(bugs.matches(BUG, error.fact))
        self.assertEqual((500, 'queued', (('new', 'available'),)), (
            error.fact.http_status, error.fact.image.status,
            error.fact.snapshots))
        message = str(error)
        for words in ('Unexpected API Error', "disk_format='qcow2'",
                      "('new', 'available')"):
            self.assertIn(words, message)

    def test_what_it_has_begun_is_waited_for(self):
        self.create.side_effect = server_fault()
        self.answers(base.answer('ACTIVE', 'image_snapshot_pending'),
                     base.answer('ACTIVE'))
        self.snapshots_are({}, {'new': 'creating'}, {'new': 'available'})
        self.snapshots.show_snapshot.side_effect = [
            {'snapshot': {'status': status}}
            for status in ('creating', 'available')]
        self.assertEqual((('new', 'available'),), self.fails().fact.snapshots)
        self.assertEqual(2, self.clock.now)

    def test_stopped_server(self):
        self.create.side_effect = server_fault()
        self.answer('SHUTOFF')
        self.fails()

    def test_image_that_does_not_become_active(self):
        self.image_is('queued')
        error = self.fails()
        self.assertEqual((None, 'queued', ''), (
            error.fact.http_status, error.fact.image.status,
            error.fact.message))
        self.assertIn('nova answered nothing', str(error))
        self.assertFalse(bugs.matches(BUG, error.fact))

    def test_nothing_is_left(self):
        self.create.side_effect = lib_exc.Conflict
        self.image_is(None)
        self.snapshots_are({'old': 'available'})
        error = self.fails()
        self.assertEqual((None, ()), (error.fact.image, error.fact.snapshots))
        self.assertIn('image none, volume snapshots none', str(error))


class CleanRefusalTest(ImageTestCase):

    scenario_class = test_volume_backed_snapshot.TestRawImagesDisallowed

    def setUp(self):
        super().setUp()
        self.refused(lib_exc.BadRequest(resp=mock.Mock(status=400)))
        self.image_is(None)
        self.snapshots_are({'old': 'available'})

    def refused(self, error):
        self.create.side_effect = error

    def expect(self):
        self.scenario.expect_clean_refusal(SERVER)

    def assertFinds(self):
        self.assertRaises(verdicts.ImageFailed, self.expect)

    def test_clean(self):
        self.expect()

    def test_other_answer(self):
        self.refused(server_fault())
        self.assertFinds()

    def test_image_is_left(self):
        self.image_is('queued')
        self.assertFinds()

    def test_snapshot_is_left(self):
        self.snapshots_are({}, {'new': 'available'})
        self.assertFinds()

    def test_not_refused(self):
        self.refused(None)
        self.image_is('active')
        self.assertRaises(AssertionError, self.expect)


class BootFromImageTest(ImageTestCase):

    def setUp(self):
        super().setUp()
        self.image = glance_image.Image('image', 'active', 'raw', 'bare', 0,
                                        ('new',))
        self.booted = boot.Boot(bugs.BOOTED, '', None, 1.0)
        self.scenario.followed['first'] = servers.Followed(
            ('volume',), booted=self.booted)
        self.answer(host=TARGET)
        self.servers.list_volume_attachments.return_value = {
            'volumeAttachments': [{'volumeId': 'copy'}]}
        self.admin.volumes_client_latest.list_volumes.return_value = {
            'volumes': [{'id': 'volume', 'snapshot_id': None},
                        {'id': 'copy', 'snapshot_id': 'new'},
                        {'id': 'other', 'snapshot_id': 'old'}]}
        self.admin.volumes_client_latest.show_volume.side_effect = (
            lib_exc.NotFound)

    def boot(self):
        return self.scenario.boot_from_image(self.image, TARGET, like='first')

    def test_boot(self):
        self.assertEqual(SERVER, self.boot())
        self.servers.create_server.assert_called_once_with(
            name=mock.ANY, host=TARGET, networks='none', config_drive=True,
            imageRef='image', flavorRef='some-flavor')
        followed = self.scenario.followed[SERVER]
        self.assertEqual(['copy'], self.scenario.volumes_of(SERVER))
        self.assertIn('disk.config', followed.disks)
        # It must be the next boot of the same disk.
        self.assertIs(self.booted, followed.previous)

    def test_volumes_go_after_their_server(self):
        self.boot()
        self.scenario.doCleanups()
        self.assertEqual(
            ['servers_client.delete_server',
             'volumes_client_latest.delete_volume'],
            self.calls('delete_server', 'delete_volume'))
        self.admin.volumes_client_latest.delete_volume.assert_called_with(
            'copy', cascade=True)

    def test_volumes_go_where_the_server_did_not_come_up(self):
        self.answer('ERROR', host=TARGET)
        self.assertRaises(AssertionError, self.boot)
        self.scenario.doCleanups()
        self.admin.volumes_client_latest.delete_volume.assert_called_with(
            'copy', cascade=True)

    def expect(self, image, *volumes):
        self.scenario.expect_image_without_data(image, *volumes)

    def test_image_without_data(self):
        self.expect(self.image, 'volume')

    def test_image_that_is_another(self):
        for image, volume in (
                (glance_image.Image('image', 'active', 'qcow2', 'bare', 0,
                                    ('new',)), 'volume'),
                (glance_image.Image('image', 'active', 'raw', 'bare', 512,
                                    ('new',)), 'volume'),
                (glance_image.Image('image', 'active', 'raw', 'bare', 0),
                 'volume'),
                (self.image, 'another')):
            self.assertRaises(AssertionError, self.expect, image, volume)

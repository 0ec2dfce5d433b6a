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

from tempest_format_plugin.formats import attachment
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed

SECRET = 'not-to-be-told'


def body(connection_info):
    """Return an attachment as cinder's API has it."""
    return {
        'id': '9d8f8a5e-8a0b-4c7c-bb3f-2f8e2a1f0c11', 'status': 'attached',
        'instance': '22749d77-83a1-4ae9-ade8-7bd9548406cd',
        'volume_id': observed.VOLUME, 'attach_mode': 'rw',
        'attached_at': '2026-10-05T12:15:35.000000', 'detached_at': '',
        'connection_info': connection_info}


def nfs(**changes):
    """Return the connection_info of a volume on NFS."""
    return {
        'export': '10.88.0.1:/srv/nfs/volumes', 'format': 'raw',
        'name': f'volume-{observed.VOLUME}', 'options': None,
        'qos_specs': None, 'access_mode': 'rw', 'encrypted': False,
        'cacheable': False, 'driver_volume_type': 'nfs',
        'mount_point_base': '/var/lib/cinder/mnt',
        'attachment_id': '9d8f8a5e-8a0b-4c7c-bb3f-2f8e2a1f0c11',
        'enforce_multipath': False} | changes


ISCSI = {
    'driver_volume_type': 'iscsi', 'target_portal': '10.88.0.1:3260',
    'target_iqn': 'iqn.2010-10.org.openstack:volume-1', 'target_lun': 0,
    'auth_method': 'CHAP', 'auth_username': 'u', 'auth_password': SECRET}
RBD = {
    'driver_volume_type': 'rbd', 'name': 'volumes/volume-1',
    'hosts': ['10.88.0.1'], 'keyring': SECRET, 'format': 'raw'}


class AttachmentTest(base.TestCase):

    def parse(self, attached, source=models.ATTACHMENT):
        return attachment.parse(attached, source=source, host='node-1')

    def assertRefused(self, attached, *words):
        """Expect an error that has the words and no secret."""
        error = self.assertRaises(exceptions.ObservationError, self.parse,
                                  attached)
        for word in ('attachment', 'on node-1: expected', *words):
            self.assertIn(word, str(error))
        self.assertNotIn(SECRET, str(error))

    def test_file(self):
        for source in (models.ATTACHMENT, models.ATTACHMENT_LIST):
            self.assertEqual(
                models.Observation(source, 'node-1', observed.VOLUME, 'raw',
                                   path=f'volume-{observed.VOLUME}'),
                self.parse(body(nfs()), source))

    def test_file_drivers(self):
        for driver in ('nfs', 'quobyte', 'smbfs', 'vzstorage'):
            found = self.parse(body(nfs(driver_volume_type=driver,
                                        name='v.s', format='qcow2')))
            self.assertEqual(('v.s', 'qcow2'), (found.path, found.format))

    def test_file_without_format(self):
        without = nfs()
        del without['format']
        for info in (without, nfs(format=None)):
            found = self.parse(body(info))
            self.assertEqual((f'volume-{observed.VOLUME}', None),
                             (found.path, found.format))

    def test_no_file(self):
        # nova takes no format from the attachment of these.
        for info in (ISCSI, RBD, nfs(driver_volume_type='gpfs')):
            self.assertEqual(
                models.Observation(models.ATTACHMENT, 'node-1',
                                   observed.VOLUME, None),
                self.parse(body(info)))

    def test_keeps_nothing_else(self):
        for info in (ISCSI, RBD, nfs(auth_password=SECRET)):
            self.assertNotIn(SECRET, repr(self.parse(body(info))))

    def test_not_connected(self):
        for info in (None, {}, {'format': 'qcow2'}):
            self.assertIsNone(self.parse(body(info)))

    def test_no_attachment(self):
        for text in (None, [], {}, {'attachment': body(nfs())},
                     body(nfs()) | {'volume_id': None}):
            self.assertRefused(text, 'an attachment with a volume_id')

    def test_no_connection_info(self):
        summary = body(nfs())
        del summary['connection_info']
        self.assertRefused(summary, observed.VOLUME,
                           'connection_info, found none')
        self.assertRefused(body(SECRET), 'found str')

    def test_no_driver(self):
        self.assertRefused(body(ISCSI | {'driver_volume_type': None}),
                           'a driver_volume_type, found None')

    def test_no_name(self):
        for name in (None, '', 1, '/srv/volume-1'):
            self.assertRefused(body(nfs(name=name, password=SECRET)),
                               observed.VOLUME, f'found {name!r}')

    def test_unknown_format(self):
        self.assertRefused(body(nfs(format='qcow9', password=SECRET)),
                           observed.VOLUME, 'a disk format', "'qcow9'")

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

import json

from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import exceptions
from tempest_format_plugin.formats import history
from tempest_format_plugin.formats import models
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.formats import observed


def server(host='h-1', state='running', **disks):
    """Return a ServerObservation of disks {name: {source: format}}."""
    return models.ServerObservation('s', host, state, tuple(
        models.Observation(
            source, host, name, format_, path=f'/i/{name}',
            target='vda' if source == models.LIVE_XML else None,
            backing=tuple(models.BackingFile('/b', one) for one in over))
        for name, told in disks.items()
        for source, (format_, *over) in told.items()))


def of(live='raw', info='raw', file='raw', over=()):
    return {models.FILE: (file, *over), models.DISK_INFO: (info,),
            models.LIVE_XML: (live,)}


class FollowTest(base.TestCase):

    def one_disk(self, *observed):
        followed, = history.follow(
            (f'{number}-moment', one)
            for number, one in enumerate(observed, 1))
        disk, = followed.disks
        return disk

    def test_nothing_changes(self):
        disk = self.one_disk(server(disk=of()), server(disk=of()))
        self.assertEqual(((), False, 'vda'),
                         (disk.changes, disk.eventful, disk.target))
        self.assertEqual([models.LIVE_XML, models.DISK_INFO, models.FILE],
                         list(disk.rows))

    def test_who_changed_when(self):
        disk = self.one_disk(
            server(disk=of()), server('h-2', disk=of(file='qcow2')),
            server('h-1', disk=of()))
        self.assertEqual(
            ['2-moment, on h-2: file changed from raw to qcow2',
             '3-moment, on h-1: file changed from qcow2 to raw'],
            [str(one) for one in disk.changes])
        self.assertEqual([False, True, True], [
            cell.changed for cell in disk.rows[models.FILE]])
        self.assertEqual([False] * 3, [
            cell.changed for cell in disk.rows[models.LIVE_XML]])

    def test_changes_are_in_order_of_moments(self):
        disk = self.one_disk(
            server(disk=of()), server(disk=of(file='qcow2')),
            server(disk=of(live='qcow2', file='qcow2')))
        self.assertEqual(
            [('2-moment', models.FILE), ('3-moment', models.LIVE_XML)],
            [(one.moment, one.source) for one in disk.changes])

    def test_chain(self):
        disk = self.one_disk(
            server(disk=of(file='qcow2', over=['raw'])),
            server(disk=of(file='qcow2', over=[None])))
        change, = disk.changes
        self.assertEqual(('qcow2 over raw', 'qcow2 over none given'),
                         (change.before, change.after))

    def test_source_that_is_silent_meanwhile(self):
        told = of()
        silent = {source: one for source, one in told.items()
                  if source != models.LIVE_XML}
        disk = self.one_disk(
            server(disk=told), server(disk=silent, state='shut off'),
            server(disk=told), server(disk=silent),
            server(disk=of(live='qcow2')))
        cells = disk.rows[models.LIVE_XML]
        self.assertEqual([True, False, True, False, True],
                         [cell is not None for cell in cells])
        change, = disk.changes
        self.assertEqual(('5-moment', 'raw'), (change.moment, change.before))

    def test_at_odds(self):
        disk = self.one_disk(server(disk=of(file='qcow2')))
        self.assertEqual(
            {models.LIVE_XML: True, models.DISK_INFO: True,
             models.FILE: True},
            {source: cells[0].at_odds
             for source, cells in disk.rows.items()})
        self.assertEqual(((), True), (disk.changes, disk.eventful))

    def test_disks_apart(self):
        followed, = history.follow([
            ('1', server(disk=of(), **{'disk.swap': of()})),
            ('2', server(disk=of(), **{'disk.swap': of(file='qcow2')}))])
        self.assertEqual([('disk', 0), ('disk.swap', 1)], [
            (disk.disk, len(disk.changes)) for disk in followed.disks])
        self.assertEqual(('h-1', 'h-1'), followed.hosts)

    def test_disk_that_comes_later(self):
        followed, = history.follow([
            ('1', server(disk=of())),
            ('2', server(disk=of(), volume=of()))])
        self.assertIsNone(followed.disks[1].rows[models.FILE][0])

    def test_servers_apart(self):
        one = server(disk=of())
        followed = history.follow(
            [('1', one), ('2', observed.server(observed.disk()))])
        self.assertEqual([('s', ('1',)), (followed[1].server_id, ('2',))],
                         [(each.server_id, each.moments)
                          for each in followed])

    def test_nothing(self):
        self.assertEqual((), history.follow([]))


class FromDictTest(base.TestCase):

    def test_there_and_back(self):
        one = server(disk=of(file='qcow2', over=['raw', None]))
        back = models.from_dict(json.loads(json.dumps(models.as_dict(one))))
        self.assertEqual(one, back)
        self.assertEqual(agreement.judge(one), agreement.judge(back))

    def test_of_something_else(self):
        for data in ({}, {'observations': [{}]},
                     {'observations': [], 'else': 1}):
            self.assertRaises(exceptions.FormatsError, models.from_dict, data)

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

import io
import json
import os
import pathlib
from unittest import mock

import fixtures
from oslo_config import cfg
import subunit

from tempest_format_plugin.certification import lists
from tempest_format_plugin.certification import run
from tempest_format_plugin.certification import stock
from tempest_format_plugin import cloud
from tempest_format_plugin.commands import certify
from tempest_format_plugin.discovery import facts
from tempest_format_plugin.discovery import find
from tempest_format_plugin.hosts import host_edit
from tempest_format_plugin.tests.unit import base

TESTS = lists.load()['raw-disallowed'].tests
FACTS = facts.CloudFacts(
    hosts=(facts.HostFacts('h-1', 'a', images_type='raw',
                           use_cow_images=True, nova='30.0.0'),
           facts.HostFacts('h-2', 'a', images_type='qcow2',
                           use_cow_images=True, nova='30.0.0')),
    pools=(facts.PoolFacts('p', 'NFS'),),
    microversions={'compute': '2.96', 'volume': '3.71'})


class CertifyTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(base.PluginConf(cloud, certify, stock))
        # What tempest's has besides its groups.
        certify.CONF.resource_name_prefix = 'tempest'
        certify.CONF.get_location = self.conf.conf.get_location
        self.conf.config(group='disk_format',
                         compute_backends={'h-1': 'raw', 'h-2': 'qcow2'})
        for where, name, returned in (
                (certify.Certify, 'read_configuration', None),
                (cloud, 'compute_hosts', mock.Mock()),
                (cloud, 'admin', None),
                (host_edit, 'find', None),
                (stock.time, 'sleep', None)):
            self.useFixture(fixtures.MockPatchObject(
                where, name, return_value=returned))
        self.look = self.useFixture(fixtures.MockPatchObject(
            find, 'look', return_value=FACTS)).mock
        self.take = self.useFixture(fixtures.MockPatchObject(
            stock, 'take', return_value=stock.Stock(frozenset(), {}))).mock
        self.useFixture(fixtures.MockPatchObject(stock, 'SECONDS', 0))
        self.runner = self.useFixture(fixtures.MockPatchObject(
            run, 'Runner')).mock
        child = self.runner.return_value
        child.interrupted = False
        child.discover.return_value = {
            test: f'{test}[id-1,slow]'
            for one in lists.load().values() for test in one.tests}
        child.run.side_effect = self.ran
        self.status = 'success'
        self.details = {}
        self.sentence = ''
        self.output = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'report'

    def ran(self, ids, concurrency, stream, told):
        result = subunit.StreamResultToBytes(stream)
        for one in ids:
            for each in (result, told):
                each.status(test_id=one, test_status='inprogress')
            for name, text in self.details.items():
                result.status(test_id=one, file_name=name, eof=True,
                              file_bytes=text.encode(),
                              mime_type='text/plain; charset=utf8')
            for each in (result, told):
                each.status(test_id=one, test_status=self.status)
        return self.sentence

    def run_command(self, *arguments, list_='raw-disallowed'):
        """Return the exit status, what it printed and what it said."""
        streams = [self.useFixture(fixtures.MockPatch(
            f'sys.{name}', new_callable=io.StringIO)).mock
            for name in ('stdout', 'stderr')]
        one = certify.Certify(mock.Mock(), None)
        status = one.run(one.get_parser('x').parse_args([
            '--list', list_, '--output', str(self.output), *arguments]))
        return status, *(stream.getvalue() for stream in streams)

    def report(self):
        return json.loads((self.output / 'report.json').read_text())

    def test_certified(self):
        status, printed, said = self.run_command()
        self.assertEqual(0, status, said)
        self.assertIn('Disk format certificate: complete, as expected; see '
                      f'{self.output}/report.html', printed)
        self.assertIn('begun: TestRawImagesDisallowed', said)
        self.assertIn('agrees: TestRawImagesDisallowed.'
                      'test_image_is_refused_cleanly (1 of 1)', said)
        self.assertEqual(
            ['junit.xml', 'report.html', 'report.json', 'results.subunit'],
            sorted(os.listdir(self.output)))
        self.assertTrue(self.report()['certified'])

    def test_ids_are_those_that_stestr_knows(self):
        self.run_command()
        self.assertEqual([f'{TESTS[0]}[id-1,slow]'],
                         self.runner.return_value.run.call_args.args[0])

    def test_not_as_expected(self):
        self.status = 'fail'
        status, printed, _ = self.run_command()
        self.assertEqual(1, status)
        self.assertIn('no certificate: complete, 1 not as expected', printed)
        self.assertTrue((self.output / 'evidence').is_dir())

    def test_skipped(self):
        self.status, self.details = 'skip', {'reason': 'too few hosts'}
        status, printed, _ = self.run_command()
        self.assertEqual(2, status)
        self.assertIn('no certificate: incomplete: skipped 1', printed)
        self.assertEqual({TESTS[0]: 'too few hosts'},
                         self.report()['skipped'])

    def test_test_that_vanished(self):
        self.runner.return_value.discover.return_value = {'a.B.c': 'x'}
        status, _, _ = self.run_command()
        self.assertEqual(2, status)
        self.assertIn('no such test', self.report()['not_run'][TESTS[0]])

    def test_stopped(self):
        self.runner.return_value.run.side_effect = lambda *_: ''
        self.runner.return_value.interrupted = True
        status, _, _ = self.run_command()
        self.assertEqual(2, status)
        self.assertEqual((['it was stopped'], {TESTS[0]: ''}), tuple(
            self.report()[name] for name in ('told', 'not_run')))

    def test_run_that_went_wrong(self):
        self.sentence = 'stestr ended with 3'
        status, _, _ = self.run_command()
        self.assertEqual(2, status)
        self.assertEqual(['stestr ended with 3'], self.report()['told'])

    def test_left_behind(self):
        self.take.side_effect = [
            stock.Stock(frozenset(), {}),
            stock.Stock(frozenset([stock.Thing(
                'volume', '1', 'tempest-x')]), {})]
        status, _, said = self.run_command()
        self.assertEqual(1, status)
        self.assertIn('left behind: volume 1 (tempest-x)', said)
        self.assertEqual(['volume 1 (tempest-x)'],
                         self.report()['left_behind'])

    def test_stopped_while_it_looks_for_what_is_left(self):
        self.take.side_effect = [stock.Stock(frozenset(), {}),
                                 KeyboardInterrupt]
        self.assertEqual(2, self.run_command()[0])
        self.assertEqual(['the looking was stopped'],
                         self.report()['not_listed'])

    def test_edit_left_behind(self):
        host_edit.find.return_value = {'file': '/etc/f', 'held': False}
        self.conf.config(group='disk_format', safety_level='reconfigure')
        self.assertEqual(1, self.run_command(list_='reconfigure')[0])
        self.assertEqual(
            [f'edit of /etc/f on {host}: see tempest disk-format restore'
             for host in ('h-1', 'h-2')], self.report()['left_behind'])
        host_edit.find.side_effect = OSError('no')
        self.output = self.output.with_name('other')
        self.assertEqual(2, self.run_command(list_='reconfigure')[0])

    def test_no_run(self):
        for where, error in ((find.look, OSError('no')),
                             (self.runner, run.NoRun('no')),
                             (stock.take, KeyboardInterrupt)):
            where.side_effect = error
            status, _, said = self.run_command()
            self.assertEqual(3, status, error)
            self.assertIn('certify: ', said)
            where.side_effect = None
            self.output = self.output.with_name(str(error) + 'x')

    def test_report_is_not_written_over(self):
        self.output.mkdir()
        self.assertEqual(3, self.run_command()[0])

    def test_arguments(self):
        for arguments in (['--list', 'what'], ['--version', 'nova'],
                          ['--version', 'what=1.0'],
                          ['--version', 'nova=2025.1'],
                          ['--safety-level', 'what'], ['--concurrency', '0']):
            error = self.assertRaises(SystemExit, self.run_command,
                                      *arguments)
            self.assertEqual(3, error.code, arguments)

    def test_safety_level(self):
        status, _, said = self.run_command('--safety-level', 'read-only')
        self.assertEqual(3, status)
        self.assertIn('say --safety-level operations', said)
        self.assertFalse(self.output.exists())
        self.assertEqual(3, self.run_command(list_='reconfigure')[0])
        self.assertEqual(0, self.run_command(
            '--safety-level', 'reconfigure', list_='reconfigure')[0])
        self.assertEqual('reconfigure',
                         self.runner.call_args.args[1]['safety_level'])

    def test_concurrency(self):
        for arguments, list_, expected in (
                ([], 'raw-disallowed', 2),
                (['--concurrency', '7'], 'raw-disallowed', 7),
                (['--concurrency', '7', '--safety-level', 'reconfigure'],
                 'reconfigure', 1)):
            self.run_command(*arguments, list_=list_)
            self.assertEqual(
                expected, self.runner.return_value.run.call_args.args[1])
            self.output = self.output.with_name(list_ + 'x' * expected)

    def expected(self, *arguments):
        """Return the bugs that a run expects, and who says so."""
        self.output = self.output.with_name(f'{self.output.name}x')
        self.assertEqual(0, self.run_command(*arguments)[0])
        told = self.report()['known_bugs']
        found = [one['id'] for one in told['bugs'] if one['expected']]
        self.assertEqual(','.join(found),
                         self.runner.call_args.args[1]['known_bugs'])
        return found, told['expected_by']

    PROPOSED = ['2038898', 'live-migration-mixed-backends',
                'volume-backed-snapshot-format']

    def test_bugs_that_are_proposed(self):
        self.assertEqual(
            (self.PROPOSED, 'as versions and settings tell'),
            self.expected())

    def test_bugs_of_a_version(self):
        found, _ = self.expected('--version', 'cinder=25.0.0',
                                 '--version', 'nova=31.0.0')
        # nova is of several versions then.
        self.assertEqual(['2038898', '1989514',
                          'live-migration-mixed-backends'], found)

    def test_bugs_of_tempest_conf(self):
        certify.CONF.get_location = mock.Mock(
            return_value=cfg.LocationInfo(cfg.Locations.user, 'file'))
        self.conf.config(group='disk_format', known_bugs=['1989514'])
        self.assertEqual(
            (['1989514'], 'as [disk_format] known_bugs says'),
            self.expected())
        self.assertEqual((self.PROPOSED, 'as versions and settings tell'),
                         self.expected('--known-bugs', 'proposed'))
        self.assertEqual(([], 'as --known-bugs says'),
                         self.expected('--known-bugs', ''))
        self.assertEqual((['2038898'], 'as --known-bugs says'),
                         self.expected('--known-bugs', '2038898'))

    def test_bug_that_is_not_known(self):
        status, _, said = self.run_command('--known-bugs', '2038898,what')
        self.assertEqual(3, status)
        self.assertIn("Unknown bug 'what'", said)

    def test_hosts_that_do_not_tell(self):
        self.look.return_value = facts.CloudFacts(
            hosts=(facts.HostFacts('h-1', 'a', problems=('no',)),),
            microversions={'compute': '2.100'})
        # use_cow_images isn't known then.
        self.assertEqual(['live-migration-mixed-backends'],
                         self.expected()[0])

    def test_options_in_force(self):
        self.run_command()
        options = self.report()['options']
        self.assertEqual(
            ('operations', ','.join(self.PROPOSED), 'h-1:raw,h-2:qcow2'),
            tuple(options[name] for name in (
                'safety_level', 'known_bugs', 'compute_backends')))
        self.assertNotIn('ssh_key_file', options)

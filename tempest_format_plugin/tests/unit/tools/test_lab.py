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
import signal
import sys
from unittest import mock

import fixtures
from format_lab import clouds
from format_lab import documents
from format_lab import driver
from format_lab import exceptions
from format_lab import expectations
from format_lab import places
from format_lab import processes
from format_lab import releases
from format_lab import scenarios
from format_lab import workspace
import lab

from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.tools import base


class ArgumentsTest(base.LabTestCase):

    def parse(self, *argv):
        arguments, rest = lab.parse_arguments(argv)
        return (arguments.command, arguments.cloud, arguments.images_type,
                arguments.use_cow_images, rest)

    def assertRefused(self, *argv):
        with mock.patch('sys.stderr', new_callable=io.StringIO) as stderr:
            self.assertRaises(SystemExit, lab.parse_arguments, argv)
        return stderr.getvalue()

    def test_none(self):
        self.assertEqual(('run', 'current', 'raw', None, []), self.parse())

    def test_settings(self):
        expected = ('up', 'current', 'flat', 'false', [])
        options = ('--images-type', 'flat', '--use-cow-images', 'false')
        self.assertEqual(expected, self.parse('up', *options))
        self.assertEqual(expected, self.parse(*options, 'up'))

    def test_values_that_do_not_exist(self):
        self.assertIn('qcow2', self.assertRefused('--images-type', 'qcow2'))
        self.assertIn('never', self.assertRefused('--cloud', 'never'))
        self.assertIn('start', self.assertRefused('start'))

    def test_rest_is_for_tempest(self):
        rest = ['--regex', 'up', '--serial']
        for command in ('run', 'test'):
            self.assertEqual((command, 'current', 'raw', None, rest),
                             self.parse(command, *rest))

    def test_rest_is_a_command_or_documents(self):
        rest = ['openstack', 'server', 'list', '--all-projects', '-f', 'json']
        self.assertEqual(rest, self.parse('shell', *rest)[-1])
        self.assertEqual(['README.rst'], self.parse('docs', 'README.rst')[-1])

    def test_no_abbreviations(self):
        # --c would be --cloud.
        self.assertEqual(['--c', 'x'], self.parse('test', '--c', 'x')[-1])

    def test_no_rest_for_the_others(self):
        for command in ('up', 'status', 'down'):
            self.assertIn(f'{command} takes no --regex x',
                          self.assertRefused(command, '--regex', 'x'))

    def test_lock_takes_a_release(self):
        self.assertEqual(['2024.2'], self.parse('lock', '2024.2')[-1])
        self.assertIn('one of 2024.2', self.assertRefused('lock'))

    def test_mix_of_a_cloud_that_is_up(self):
        self.assertIn('test takes no --release', self.assertRefused(
            'test', '--release', 'nova=2024.2'))
        self.assertIn('test takes no --known-bugs', self.assertRefused(
            'test', '--known-bugs', '1'))


class MainTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        for number in processes.INTERRUPTS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.euid = self.patch((os, 'geteuid'), return_value=0)
        self.useFixture(fixtures.EnvironmentVariable(
            'FORMAT_LAB_DIR', str(self.directory)))

    def test_not_root(self):
        # Whatever the command, before anything is touched.
        self.euid.return_value = 1000
        for command in ('run', 'up', 'test', 'status', 'down'):
            self.said.truncate(self.said.seek(0))
            self.assertEqual(1, lab.main([command]))
            self.assertEqual('lab: the lab makes network namespaces: run it '
                             'as root\n', self.said.getvalue())
        self.assertFalse(self.directory.exists())

    def test_shell(self):
        with mock.patch.object(workspace, 'shell', return_value=3) as shell:
            self.assertEqual(3, lab.main(['shell', 'one', '--two']))
        self.assertEqual(['one', '--two'], shell.call_args.args[1])

    def test_docs(self):
        for failed, status in ((0, 0), (2, 1)):
            with mock.patch.object(documents, 'run',
                                   return_value=failed) as run:
                self.assertEqual(status, lab.main(['docs', 'README.rst']))
            self.assertEqual(['README.rst'], run.call_args.args[1])

    def test_relative_directory(self):
        self.useFixture(fixtures.EnvironmentVariable('FORMAT_LAB_DIR', 'x'))
        with mock.patch.object(driver, 'Lab') as made:
            lab.main(['status'])
        self.assertEqual(pathlib.Path.cwd() / 'x', made.call_args.args[0])

    def test_empty_directory(self):
        self.useFixture(fixtures.EnvironmentVariable('FORMAT_LAB_DIR', ''))
        with mock.patch.object(driver, 'Lab') as made:
            lab.main(['status'])
        self.assertEqual(pathlib.Path('/var/lib/format-lab'),
                         made.call_args.args[0])

    def test_settings(self):
        with mock.patch.object(driver.Lab, 'up') as up:
            self.assertEqual(0, lab.main(
                ['up', '--images-type', 'flat', '--use-cow-images', 'false']))
        cloud = clouds.load('current')
        up.assert_called_once_with(cloud, cloud.choices() | {
            'images_type': 'flat', 'use_cow_images': False})

    def test_settings_of_the_cloud(self):
        for options, expected in (([], False),
                                  (['--use-cow-images', 'true'], True)):
            with mock.patch.object(driver.Lab, 'up') as up:
                lab.main(['up', '--cloud', 'no-cow-images', *options])
            self.assertIs(expected, up.call_args.args[1]['use_cow_images'])

    def test_known_bugs(self):
        for options, expected in (([], None), (['--known-bugs', ''], []),
                                  (['--known-bugs', '1,2'], ['1', '2'])):
            with mock.patch.object(driver.Lab, 'up') as up:
                lab.main(['up', *options])
            self.assertEqual(expected,
                             up.call_args.args[1].get('known_bugs'))

    def test_mix(self):
        with mock.patch.object(driver.Lab, 'up') as up:
            self.assertEqual(0, lab.main(
                ['up', '--release', 'nova=2025.1', '--release',
                 'cinder=2024.2', '--source', f'nova={places.REPO}']))
        settings = up.call_args.args[1]
        self.assertEqual(
            ['2026.2', '2025.1', '2024.2'],
            [settings['releases'][service]
             for service in ('glance', 'nova', 'cinder')])
        self.assertEqual({'nova': str(places.REPO)}, settings['sources'])

    def test_mix_that_does_not_exist(self):
        self.assertEqual(1, lab.main(['up', '--release', 'glance=2024.2']))
        self.assertEqual("lab: glance can't be of release '2024.2': it is of "
                         '2026.2\n', self.said.getvalue())

    def test_lock(self):
        with mock.patch.object(releases, 'lock', return_value=7) as lock:
            self.assertEqual(7, lab.main(['lock', '2024.2']))
        lock.assert_called_once_with('2024.2')

    def test_test(self):
        for option, chosen in (('--all', 'all'),
                               ('--reconfigure', 'reconfiguring')):
            with mock.patch.object(scenarios, 'test') as test:
                test.return_value = base.run(base.verdict(results.FIXED))
                self.assertEqual(1, lab.main(['test', option, '--serial']))
            self.assertEqual((['--serial'], chosen), test.call_args.args[1:])

    def test_status(self):
        self.assertEqual(1, lab.main(['status']))
        self.assertEqual('the cloud current is down\n', self.said.getvalue())

    def test_interrupted(self):
        with mock.patch.object(driver.Lab, 'down',
                               side_effect=KeyboardInterrupt):
            self.assertEqual(130, lab.main(['down']))
        self.assertTrue(self.said.getvalue().endswith('lab: interrupted\n'))

    def test_interrupted_once(self):
        for number in processes.INTERRUPTS:
            def down(one):
                self.assertRaises(KeyboardInterrupt, os.kill, os.getpid(),
                                  number)
                for again in processes.INTERRUPTS:
                    os.kill(os.getpid(), again)
                self.said.write('in order')
            for one in processes.INTERRUPTS:
                signal.signal(one, signal.SIG_DFL)
            with mock.patch.object(driver.Lab, 'down', down):
                lab.main(['down'])
            self.assertIn('in order', self.said.getvalue())
            self.said.truncate(self.said.seek(0))

    def test_ignored_signals_stay_ignored(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        lab.main(['status'])
        self.assertEqual(signal.SIG_IGN, signal.getsignal(signal.SIGHUP))


class RunTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.patch((processes, 'no_interrupts'))
        self.steps = mock.Mock()
        self.steps.test.return_value = base.run(
            base.verdict(results.AGREES))
        for name in ('up', 'down'):
            self.patch((self.lab, name), new=getattr(self.steps, name))
        self.patch((scenarios, 'test'), new=self.steps.test)
        self.patch((self.lab, 'networks'), return_value=[])

    def run_lab(self):
        return lab.run(self.lab, 'cloud', {}, ['--serial'], 'headline')

    def assertSteps(self, *names):
        self.assertEqual(list(names),
                         [call[0] for call in self.steps.method_calls])

    def test_from_nothing_to_nothing(self):
        self.assertIs(self.steps.test.return_value, self.run_lab())
        self.assertEqual(
            [mock.call.up('cloud', {}),
             mock.call.test(self.lab, ['--serial'], 'headline'),
             mock.call.down()], self.steps.method_calls)

    def test_what_an_earlier_run_left(self):
        self.lab.cloud_dir.mkdir(parents=True)
        self.run_lab()
        self.assertSteps('down', 'up', 'test', 'down')

    def test_networks_that_an_earlier_run_left(self):
        self.lab.networks.return_value = ['format-lab-current-control']
        self.run_lab()
        self.assertSteps('down', 'up', 'test', 'down')

    def test_down_whatever_happens(self):
        for error in (exceptions.LabError, KeyboardInterrupt):
            self.steps.reset_mock()
            self.steps.up.side_effect = error
            self.assertRaises(error, self.run_lab)
            self.assertSteps('up', 'down')

    def test_down_though_nobody_listens(self):
        self.patch((sys, 'stdout')).write.side_effect = BrokenPipeError
        self.run_lab()
        self.assertSteps('up', 'test', 'down')


class MatrixTest(base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.ran = []
        self.patch((lab, 'run'), new=self.run_one)
        self.patch((os, 'geteuid'), return_value=0)
        self.failing = ()
        self.useFixture(fixtures.EnvironmentVariable(
            'FORMAT_LAB_DIR', str(self.directory)))
        for number in processes.INTERRUPTS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def run_one(self, one, cloud, settings, arguments, full):
        self.ran.append((one.cloud, arguments, full))
        if one.cloud in self.failing:
            raise exceptions.LabError('it did not come up')
        expected = expectations.of_cloud(settings)
        return base.run(*(base.verdict(found, bug=bug)
                          for bug, found in expected.items()))

    def kept(self):
        return json.loads(
            (self.directory / 'results' / 'matrix.json').read_text())

    def test_as_expected(self):
        self.assertEqual(0, lab.main(['matrix']))
        self.assertEqual([('current', [], 'headline'),
                          ('2024.2', [], 'headline')],
                         self.ran)
        kept = self.kept()
        self.assertTrue(kept['as_expected'])
        self.assertEqual(
            {'current': {'found': 'agrees', 'expected': 'agrees'},
             '2024.2': {'found': 'reproduced', 'expected': 'reproduced'}},
            kept['bugs']['1989514'])
        self.assertIn('all verdicts are as expected', self.said.getvalue())

    def test_cloud_that_fails(self):
        self.failing = ('current',)
        self.assertEqual(1, lab.main(['matrix', '--clouds',
                                      'current,2025.1']))
        self.assertEqual(['current', '2025.1'],
                         [cloud for cloud, *_ in self.ran])
        self.assertFalse(self.kept()['as_expected'])
        self.assertEqual('not tested', self.kept()['bugs']['1989514'][
            'current']['found'])

    def test_no_such_cloud(self):
        self.assertEqual(1, lab.main(['matrix', '--clouds', 'current,x']))
        self.assertEqual([], self.ran)
        self.assertIn("no cloud 'x'", self.said.getvalue())

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

import contextlib
import io
import json
import os
import pathlib
import shutil
import socket
import sys

import fixtures
from oslo_config import cfg

from tempest_format_plugin.hosts import nova_compute_script
from tempest_format_plugin.tests.unit import base


class FactsTest(base.TestCase):

    script = nova_compute_script

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MockPatchObject(
            socket, 'gethostname', return_value='node-1'))

    def facts(self, *texts):
        paths = [self.directory / f'{n}.conf' for n in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        return self.script.facts([str(path) for path in paths])

    def write(self, text):
        path = self.directory / 'nova.conf'
        path.write_text(text)
        return str(path)

    def fails(self, words, *texts):
        error = self.assertRaises(self.script.ConfigError, self.facts, *texts)
        self.assertIn(words, str(error))
        return str(error)

    def test_defaults(self):
        self.assertEqual(
            {'host': 'node-1', 'images_type': 'qcow2', 'use_cow_images': True,
             'force_raw_images': True, 'instances_path': None,
             'compute_driver': None},
            self.facts(''))

    def test_all_set(self):
        self.assertEqual(
            {'host': 'a.example.org', 'images_type': 'raw',
             'use_cow_images': False, 'force_raw_images': False,
             'instances_path': '/srv/instances',
             'compute_driver': 'libvirt.LibvirtDriver'},
            self.facts('[DEFAULT]\nhost = a.example.org\n'
                       'compute_driver = libvirt.LibvirtDriver\n'
                       'use_cow_images = False\nforce_raw_images=no\n'
                       'instances_path: /srv/instances\n'
                       '[libvirt]\nimages_type = raw\n'))

    def test_effective_image_backend(self):
        for use_cow_images, expected in (
                ('True', 'qcow2'), ('1', 'qcow2'), ('False', 'flat'),
                ('off', 'flat')):
            for images_type in ('', 'images_type = default\n'):
                self.assertEqual(expected, self.facts(
                    f'[DEFAULT]\nuse_cow_images = {use_cow_images}\n'
                    f'[libvirt]\n{images_type}')['images_type'])
        # A backend that is named goes before use_cow_images.
        for images_type in ('raw', 'qcow2', 'rbd'):
            self.assertEqual(images_type, self.facts(
                f'[DEFAULT]\nuse_cow_images = false\n'
                f'[libvirt]\nimages_type = {images_type}')['images_type'])

    def test_later_file_counts(self):
        found = self.facts(
            '[DEFAULT]\nhost = a\nuse_cow_images = false\n'
            '[libvirt]\nimages_type = raw\n',
            '[libvirt]\nimages_type = qcow2\n[DEFAULT]\nhost = b\n')
        self.assertEqual(
            ('b', 'qcow2', False),
            (found['host'], found['images_type'], found['use_cow_images']))

    def test_later_line_and_section_count(self):
        self.assertEqual('flat', self.facts(
            '[libvirt]\nimages_type = raw\nimages_type = qcow2\n'
            '[DEFAULT]\ndebug = true\n'
            '[libvirt]\nimages_type = flat\n')['images_type'])

    def test_options_of_other_sections(self):
        self.assertEqual('qcow2', self.facts(
            '[DEFAULT]\nimages_type = raw\n[glance]\nimages_type = flat\n'
            '[libvirt]\n')['images_type'])

    def test_what_is_no_option(self):
        self.assertEqual(
            ('%(x)s%', 'raw'), tuple(map(self.facts(
                '# images_type = a\n[DEFAULT]\nhost = %(x)s%\n'
                'pipeline = a\n    images_type = b\n'
                '[libvirt]\n;images_type = c\nimages_type = "raw"\n'
                '#images_type = d\n').get, ('host', 'images_type'))))

    def test_values_of_several_lines(self):
        # What stands below an option goes on with it, a comment too.
        self.assertEqual(('qcow2', 'a\n# b\nhost = c'), tuple(map(self.facts(
            '[DEFAULT]\nx = a\n    # b\n    use_cow_images = false\n'
            'host = a\n\t# b\n  host = c').get, ('images_type', 'host'))))

    def test_as_oslo_config(self):
        """The same values as oslo.config itself, or refused as by it."""
        for text in (
                'host = "a', 'host = "a"b"', "host = 'a\"", 'host = "a" "b"',
                'host = "a"\n  "b"', 'host="', 'host =\ta ; b # c',
                'host:a=b', 'host = a:b', '[X]\n[DEFAULT ]\nhost = a',
                'host = a\n\n  b', '  host = a', '[a]b]\nhost = c',
                'host = a\n[libvirt]x', 'host = a\n[]', 'host = a\n[b',
                'host = a\n= b', 'host = a\nb', 'host = a\\\n',
                'host = a\n#\n b', 'host = a\x0cb\n', 'Host = a',
                'host = a\r\n  b\r\n', '[LIBVIRT]\nimages_type = raw'):
            path = self.write(f'[DEFAULT]\n{text}')
            conf = cfg.ConfigOpts()
            conf.register_opt(cfg.StrOpt('host', default='node-1'))
            conf.register_opt(cfg.StrOpt('images_type', default='qcow2'),
                              group='libvirt')
            try:
                conf([], default_config_files=[path])
            except cfg.ConfigFileParseError:
                self.assertRaises(self.script.ConfigError, self.script.facts,
                                  [path])
                continue
            found = self.script.facts([path])
            self.assertEqual(
                (conf.host or 'node-1', conf.libvirt.images_type),
                (found['host'], found['images_type']), text)

    def test_paths_of_paths(self):
        for text, expected in (
                ('state_path = /var/lib/nova', '/var/lib/nova/instances'),
                ('state_path = /s\ninstances_path = $state_path/i', '/s/i'),
                ('state_path = /s\ninstances_path = ${state_path}/i', '/s/i'),
                ('pybasedir = /p\nstate_path = $pybasedir/s',
                 '/p/s/instances'),
                ('pybasedir = /p', '/p/instances'),
                ('host = h\ninstances_path = /i/$host', '/i/h'),
                ('instances_path = /i/$libvirt.images_type\n'
                 '[libvirt]\nimages_type = raw', '/i/raw'),
                ('instances_path = /a$$b', '/a$b'),
                ('instances_path = /a\\$b', '/a$b'),
                ('instances_path = /a$', '/a$'),
                ('instances_path = /i/$host', '/i/node-1'),
                ('instances_path = $my_ip/i', None),
                ('instances_path = $instances_path', None),
                ('state_path = $a\na = $state_path', None)):
            self.assertEqual(
                expected, self.facts(f'[DEFAULT]\n{text}')['instances_path'],
                text)

    def test_nova_beside_this_python(self):
        package = self.directory / 'lib' / 'nova'
        package.mkdir(parents=True)
        (package / '__init__.py').write_text('raise Exception("imported")')
        self.useFixture(fixtures.MonkeyPatch(
            'sys.path', [str(package.parent), *sys.path]))
        self.assertEqual(str(package.parent), self.script.pybasedir())
        self.assertEqual('/x/instances', self.script.facts(
            [self.write('[DEFAULT]')], base_dir='/x')['instances_path'])

    def test_environment(self):
        # oslo.config's own: before all files.
        path = self.write('[DEFAULT]\nuse_cow_images = true\nhost = a\n'
                          '[libvirt]\nimages_type = qcow2\n')
        found = self.script.facts([path], {
            'OS_LIBVIRT__IMAGES_TYPE': 'raw',
            'OS_DEFAULT__USE_COW_IMAGES': 'false'})
        self.assertEqual(('a', 'raw', False), tuple(
            found[name] for name in ('host', 'images_type',
                                     'use_cow_images')))

    def test_name_of_the_host(self):
        self.assertEqual('node-1', self.facts('[DEFAULT]\nhost =')['host'])
        self.assertEqual('a-b', self.facts(
            '[DEFAULT]\nname = a\nhost = $name-b')['host'])
        self.fails("host: '$my_ip' names an option", '[DEFAULT]\nhost=$my_ip')

    def test_value_that_it_cannot_have(self):
        self.fails("[DEFAULT] use_cow_images: expected a boolean, found "
                   "'perhaps'", '[DEFAULT]\nuse_cow_images = perhaps')

    def test_missing_files(self):
        path = self.directory / 'there.conf'
        path.write_text('[DEFAULT]\nhost = h')
        missing = [str(self.directory / 'a'), str(self.directory / 'b')]
        found = self.script.facts([missing[0], str(path), missing[1]])
        self.assertEqual('h', found['host'])
        error = self.assertRaises(self.script.ConfigError, self.script.facts,
                                  missing)
        self.assertIn(f'found none of {", ".join(missing)}', str(error))

    def test_file_that_cannot_be_read(self):
        error = self.assertRaises(self.script.ConfigError, self.script.facts,
                                  [str(self.directory)])
        self.assertIn(f'{self.directory}: Is a directory', str(error))

    def test_malformed_file(self):
        for text, line in (('password = secret\n', 1),
                           ('[DEFAULT]\n\nsecret\n', 3)):
            said = self.fails(f'0.conf: line {line} is neither', text)
            self.assertNotIn('secret', said)
        (self.directory / 'x').write_bytes(b'[DEFAULT]\n# \xff\n')
        error = self.assertRaises(self.script.ConfigError, self.script.facts,
                                  [str(self.directory / 'x')])
        self.assertIn('x: expected UTF-8', str(error))

    def test_main(self):
        path = self.directory / 'nova.conf'
        path.write_text('[DEFAULT]\nhost = h')
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.script.main([os.devnull, str(path)])
        self.assertEqual('h', json.loads(printed.getvalue())['host'])

    def test_main_names_the_host(self):
        error = self.assertRaises(SystemExit, self.script.main, ['/nowhere'])
        self.assertEqual('node-1: expected a configuration of nova-compute, '
                         'found none of /nowhere', str(error))


class RunningTest(base.TestCase):
    """The nova-compute that runs, on a host made of files."""

    NUMBER = 'c' * 64

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.proc = self.directory / 'proc'
        self.patch('PROC', str(self.proc))
        self.patch('name_of', lambda runtime, number: f'{runtime}-{number}')
        self.patch('MARKS', (str(self.directory), '/nowhere'))
        self.useFixture(fixtures.MockPatchObject(
            socket, 'gethostname', return_value='node-1'))
        for name in ('chroot', 'geteuid', 'chdir'):
            setattr(self, name, self.useFixture(fixtures.MockPatchObject(
                os, name, return_value=0)).mock)
        self.useFixture(fixtures.EnvironmentVariable('SUDO_UID'))
        self.useFixture(fixtures.MonkeyPatch('sys.path', [*sys.path]))
        self.conf = self.directory / 'nova.conf'
        self.conf.write_text('[DEFAULT]\nhost = h\npassword = secret\n')
        self.process(1, ['/sbin/init'])
        self.process('self', ['python3'])

    def patch(self, name, value):
        self.useFixture(fixtures.MockPatchObject(
            nova_compute_script, name, value))

    def process(self, pid, argv, parent=0, cgroup='0::/', network='host',
                environ=''):
        directory = self.proc / str(pid)
        (directory / 'ns').mkdir(parents=True)
        for name, text in (
                ('cmdline', ''.join(f'{each}\0' for each in argv)),
                ('status', f'Name:\tx\nPPid:\t{parent}\n'),
                ('cgroup', f'{cgroup}\n'), ('environ', environ)):
            (directory / name).write_text(text)
        (directory / 'ns' / 'net').symlink_to(f'net:[{network}]')
        (directory / 'cwd').symlink_to('/var/lib/nova')

    def nova_compute(self, pid=20, parent=1,
                     program='/usr/bin/nova-compute', **more):
        self.process(pid, ['/usr/bin/python3.11', '-s', program,
                           '--config-file', str(self.conf)], parent, **more)

    def running(self):
        return nova_compute_script.running()

    def test_unit(self):
        self.nova_compute(cgroup='0::/system.slice/nova-compute.service')
        found = self.running()
        self.assertEqual(
            {'program': '/usr/bin/nova-compute',
             'unit': 'nova-compute.service', 'container': None,
             'supervised': False}, found['nova_compute'])
        self.assertEqual(('h', [], [str(self.directory)], False),
                         (found['conf']['host'], found['problems'],
                          found['marks'], found['sudo']))
        self.chroot.assert_called_once_with(f'{self.proc}/20/root')
        self.chdir.assert_called_with('/var/lib/nova')
        # Nothing is imported from what may be a container.
        self.assertEqual([], sys.path)
        self.assertNotIn('secret', json.dumps(found))

    def test_container(self):
        for runtime, cgroup in (
                ('docker', f'/system.slice/docker-{self.NUMBER}.scope'),
                ('docker', f'/docker/{self.NUMBER}'),
                ('podman', f'/machine.slice/libpod-{self.NUMBER}.scope/c'),
                ('podman', f'/libpod_parent/libpod-{self.NUMBER}')):
            shutil.rmtree(self.proc / '20', ignore_errors=True)
            self.nova_compute(cgroup=f'0::{cgroup}')
            self.assertEqual(
                {'runtime': runtime, 'id': self.NUMBER,
                 'name': f'{runtime}-{self.NUMBER}'},
                self.running()['nova_compute']['container'])

    def test_container_without_cgroup(self):
        self.process(10, ['/usr/bin/conmon', '--api-version', '1', '-c',
                          self.NUMBER, '-n', 'nova_compute'], 1)
        self.process(11, ['dumb-init', '--', 'kolla_start'], 10)
        self.nova_compute(parent=11)
        self.assertEqual(
            {'runtime': 'podman', 'id': self.NUMBER, 'name': 'nova_compute'},
            self.running()['nova_compute']['container'])

    def test_supervised(self):
        self.process(10, ['/x/bin/python', '/x/bin/supervisord', '-n'], 1)
        self.nova_compute(parent=10)
        self.assertTrue(self.running()['nova_compute']['supervised'])

    def test_none(self):
        # An editor is none, nor is one in a network of its own.
        self.process(9, ['vi', '/usr/bin/nova-compute'], 1)
        self.nova_compute(network='other')
        found = self.running()
        self.assertEqual(
            (None, None, ['expected one nova-compute to run here, found '
                          'none']),
            (found['nova_compute'], found['conf'], found['problems']))
        self.assertFalse(self.chroot.called)

    def test_its_children_do_not_count(self):
        self.nova_compute()
        self.nova_compute(21, 20)
        self.assertEqual('h', self.running()['conf']['host'])

    def test_two(self):
        self.nova_compute()
        self.nova_compute(21)
        self.assertEqual(['expected one nova-compute to run here, found 2'],
                         self.running()['problems'])

    def test_libvirt(self):
        self.nova_compute()
        self.process(30, ['/usr/sbin/virtqemud'], 1,
                     f'0::/docker/{self.NUMBER}')
        self.assertEqual(
            ('/usr/sbin/virtqemud', f'docker-{self.NUMBER}'),
            (lambda daemon: (daemon['program'], daemon['container']['name']))(
                self.running()['libvirt']))

    def test_environment(self):
        self.nova_compute(environ='OS_LIBVIRT__IMAGES_TYPE=raw\0HOME=/root\0'
                                  'OS_PASSWORD=secret\0')
        found = self.running()
        self.assertEqual('raw', found['conf']['images_type'])
        self.assertNotIn('secret', json.dumps(found))

    def test_environment_under_a_title(self):
        # cotyledon's title, which lies where the environment was.
        show = self.useFixture(fixtures.MockPatchObject(
            nova_compute_script.subprocess, 'run')).mock
        show.return_value.stdout = (
            b'OS_LIBVIRT__IMAGES_TYPE=raw "OS_DEFAULT__HOST=a b" X=secret\n')
        self.nova_compute(cgroup='0::/system.slice/nova-compute.service')
        found = self.running()
        self.assertEqual(('raw', 'a b'), (found['conf']['images_type'],
                                          found['conf']['host']))
        self.assertIn('nova-compute.service', show.call_args.args[0])
        self.assertNotIn('secret', json.dumps(found))

    def test_no_systemd(self):
        self.useFixture(fixtures.MockPatchObject(
            nova_compute_script.subprocess, 'run',
            side_effect=FileNotFoundError))
        self.nova_compute(cgroup='0::/system.slice/nova-compute.service')
        self.assertEqual('h', self.running()['conf']['host'])

    def test_sudo(self):
        self.useFixture(fixtures.EnvironmentVariable('SUDO_UID', '1000'))
        self.assertTrue(self.running()['sudo'])

    def test_not_root(self):
        self.geteuid.return_value = 1000
        error = self.assertRaises(SystemExit, nova_compute_script.main, [])
        self.assertEqual('node-1: expected to be root', str(error))

    def test_malformed_configuration(self):
        self.conf.write_text('secret')
        self.nova_compute()
        found = self.running()
        self.assertIsNone(found['conf'])
        self.assertEqual([f'{self.conf}: line 1 is neither a section nor an '
                          f'option'], found['problems'])

    def test_title(self):
        # As cotyledon sets it, with all that comes after it in memory.
        self.process(20, [
            f'nova-compute: master process [/opt/bin/nova-compute '
            f'--config-file {self.conf}]', '', ''], 1)
        self.process(21, ['nova-compute: ServiceWrapper worker(0)'], 20)
        found = self.running()
        self.assertEqual(('/opt/bin/nova-compute', 'h'), (
            found['nova_compute']['program'], found['conf']['host']))

    def test_options_of_python(self):
        for pid, options in enumerate((
                ['-X', 'dev'], ['-Xdev', '-s'], ['-bW', 'ignore', '-E'],
                ['-Wd'], ['-I', '-S'])):
            self.process(100 + pid, ['/x/python3', *options,
                                     '/x/nova-compute', '--debug'], 1)
            self.assertEqual(
                ['/x/nova-compute', '--debug'],
                nova_compute_script.Process(100 + pid).argv, options)

    def test_ends_meanwhile(self):
        self.nova_compute()
        self.process(30, ['/usr/sbin/libvirtd'], 1)
        self.chroot.side_effect = FileNotFoundError(2, 'No such file')
        found = self.running()
        self.assertEqual(
            (None, None, ['expected nova-compute to go on running, could not '
                          'look at it: No such file']),
            (found['nova_compute'], found['conf'], found['problems']))
        self.assertIsNotNone(found['libvirt'])

    def test_deleted_working_directory(self):
        self.nova_compute()
        self.chdir.side_effect = [None, FileNotFoundError]
        self.assertEqual('h', self.running()['conf']['host'])

    def test_gone_meanwhile(self):
        self.nova_compute()
        (self.proc / '21').mkdir()
        self.assertEqual('h', self.running()['conf']['host'])


class ConfigFilesTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, *names):
        for name in names:
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def files(self, *arguments):
        found = nova_compute_script.config_files(
            ['nova-compute', *arguments], str(self.home))
        # What this machine may have of its own stays out.
        return [path.replace(f'{self.home}/', '') for path in found
                if path.startswith(str(self.home)) or path in arguments]

    def test_given(self):
        self.write('d/b.conf', 'd/a.conf', 'd/c.txt', '.nova/nova.conf')
        for arguments in (
                ['--config-file', '/a', '--config-dir', f'{self.home}/d',
                 '--config-file', '/z', '--debug'],
                ['--config-file=/a', f'--config-dir={self.home}/d',
                 '--config-file=/z']):
            found = nova_compute_script.config_files(
                ['nova-compute', *arguments], str(self.home))
            self.assertEqual(
                ['/a', f'{self.home}/d/a.conf', f'{self.home}/d/b.conf',
                 '/z'], found[-4:])
            self.assertNotIn(f'{self.home}/.nova/nova.conf', found)

    def test_default(self):
        self.write('.nova/nova.conf', 'nova.conf', 'nova-compute.conf',
                   '.nova/nova.conf.d/x.conf')
        self.assertEqual(['.nova/nova.conf', 'nova-compute.conf',
                          '.nova/nova.conf.d/x.conf'], self.files())

    def test_as_oslo_config(self):
        """The same files in the same order as oslo.config itself."""
        for name, text in (
                ('.nova/nova.conf', 'a'), ('nova-compute.conf', 'b'),
                ('.nova/nova.conf.d/1.conf', 'c'), ('d/2.conf', 'd'),
                ('d/1.conf', 'e'), ('x.conf', 'f')):
            self.write(name)
            (self.home / name).write_text(f'[DEFAULT]\nhost = {text}\n')
        self.useFixture(fixtures.EnvironmentVariable('HOME', str(self.home)))
        for arguments in (
                [], ['--config-file', f'{self.home}/x.conf'],
                ['--config-dir', f'{self.home}/d'],
                ['--config-file', f'{self.home}/x.conf', '--config-dir',
                 f'{self.home}/d'],
                ['--config-dir', f'{self.home}/d', '--config-file',
                 f'{self.home}/x.conf']):
            conf = cfg.ConfigOpts()
            conf.register_opt(cfg.StrOpt('host'))
            conf(arguments, project='nova', prog='nova-compute')
            self.assertEqual(conf.host, nova_compute_script.facts(
                nova_compute_script.config_files(
                    ['nova-compute', *arguments], str(self.home)))['host'])


class PackageTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.prefix = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.packages = self.prefix / 'lib/python3.11/site-packages'
        self.packages.mkdir(parents=True)

    def package(self):
        return nova_compute_script.package(f'{self.prefix}/bin/nova-compute')

    def test_metadata(self):
        (self.packages / 'nova').mkdir()
        for name, version in (('nova-29.2.1.dev3.dist-info', '29.2.1.dev3'),
                              ('nova-27.5.1-py3.9.egg-info', '27.5.1'),
                              ('nova-26.2.2.egg-info', '26.2.2')):
            (self.packages / name).mkdir()
            (self.packages / 'nova_powervm-1.0.dist-info').mkdir(
                exist_ok=True)
            self.assertEqual((version, str(self.packages)), self.package())
            (self.packages / name).rmdir()

    def test_editable(self):
        metadata = self.packages / 'nova-31.0.0.dist-info'
        metadata.mkdir()
        self.assertEqual(('31.0.0', None), self.package())
        (metadata / 'direct_url.json').write_text(
            '{"url": "file:///opt/stack/nova", "dir_info": {}}')
        self.assertEqual(('31.0.0', '/opt/stack/nova'), self.package())

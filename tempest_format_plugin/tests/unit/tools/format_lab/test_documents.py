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

import configparser
import importlib
import inspect
import pathlib
import re
import shlex

import fixtures
from format_lab import documents
from format_lab import exceptions
from format_lab import places
import lab

from tempest_format_plugin.formats import bugs
from tempest_format_plugin.tests import scenario
from tempest_format_plugin.tests.unit import base
from tempest_format_plugin.tests.unit.tools import base as tools_base

TOX = ('tools/tox.sh', 'tox')


def console(mark, *lines):
    return '\n'.join([*([f'.. {mark}', ''] if mark else []),
                      '.. code-block:: console', '',
                      *(f'   {line}' for line in lines), ''])


def scenarios():
    """Return the full names of all tests on a cloud."""
    for path in pathlib.Path(scenario.__file__).parent.glob('test_*.py'):
        module = importlib.import_module(f'{scenario.__name__}.{path.stem}')
        for name, found in inspect.getmembers(module, inspect.isclass):
            if found.__module__ == module.__name__:
                yield from (f'{module.__name__}.{name}.{test}'
                            for test in dir(found)
                            if test.startswith('test_'))


class DocumentsTest(base.TestCase):
    """Of the documents themselves."""

    def commands(self):
        """Yield (document, words) of each command that begins with a word."""
        for path in documents.documents():
            for block in documents.blocks(path):
                for command in block.commands:
                    yield block.document, shlex.split(
                        command.text.replace('\\\n', ' '), comments=True)

    def test_it_is_known_of_each_block_what_is_done_with_it(self):
        run = {block.document for path in documents.documents()
               for block in documents.blocks(path) if block.place}
        self.assertIn('README.rst', run)

    def test_known_bugs(self):
        told = (places.REPO / 'doc/source/user/known_bugs.rst').read_text()
        for bug_id in bugs.BUGS:
            self.assertIn(f'\n``{bug_id}``\n', told)

    def test_environments_of_tox(self):
        tox = configparser.ConfigParser(interpolation=None)
        tox.read(places.REPO / 'tox.ini')
        found = 0
        for document, words in self.commands():
            if words[0] in TOX and '-e' in words:
                for name in words[words.index('-e') + 1].split(','):
                    self.assertIn(f'testenv:{name}', tox, document)
                    found += 1
        self.assertLess(0, found)

    def test_commands_of_the_lab(self):
        names = list(scenarios())
        found = 0
        for document, words in self.commands():
            if words[0] not in TOX or words[1:3] != ['-e', 'lab']:
                continue
            # Arguments that aren't the lab's are tempest's.
            _, rest = lab.parse_arguments(words[4:])
            if '--regex' in rest:
                self.assertSelects(names, rest, document)
                found += 1
        self.assertLess(0, found)

    def assertSelects(self, names, words, document):
        regex = words[words.index('--regex') + 1]
        self.assertTrue(any(re.search(regex, name) for name in names),
                        f'{document}: {regex} is the name of no test')

    def test_commands_of_tempest(self):
        setup = configparser.ConfigParser(interpolation=None)
        setup.read(places.REPO / 'setup.cfg')
        ours = {line.split(' = ')[0].replace('_', ' ') for line in
                setup['entry_points']['tempest.cm'].strip().splitlines()}
        names = list(scenarios())
        for document, words in self.commands():
            if words[:2] == ['tempest', 'disk-format']:
                self.assertIn(' '.join(words[1:3]), ours, document)
            elif words[:2] == ['tempest', 'run'] and '--regex' in words:
                self.assertSelects(names, words, document)


class BlocksTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MockPatchObject(
            places, 'REPO', self.directory))

    def blocks(self, *texts):
        path = self.directory / 'some.rst'
        path.write_text('\n'.join(texts))
        return documents.blocks(path)

    def assertRefused(self, expected, *texts):
        error = self.assertRaises(documents.DocumentError, self.blocks, *texts)
        self.assertIn('some.rst', str(error))
        self.assertIn(expected, str(error))

    def test_run(self):
        block, = self.blocks('Title\n=====\n',
                             console('run: machine', '$ one', '$ two'))
        self.assertEqual('some.rst', block.document)
        self.assertEqual(
            ('machine', 'current', (0,)),
            (block.place, block.cloud, block.statuses))
        self.assertEqual(['one', 'two'], [x.text for x in block.commands])

    def test_run_with_all_that_may_be_said(self):
        block, = self.blocks(console(
            'run: cloud, on 2024.2, exits with 0 or 1', '$ one'))
        self.assertEqual(('cloud', '2024.2', (0, 1)),
                         (block.place, block.cloud, block.statuses))

    def test_not_run(self):
        block, = self.blocks(console('not run: it takes\n   hours', '$ one'))
        self.assertIsNone(block.place)

    def test_no_commands_are_run(self):
        self.assertEqual([], self.blocks(
            '.. no commands are run: why', '', console(None, '$ one')))

    def test_neither(self):
        for mark in (None, 'run: nowhere', 'not run:', 'runs: cloud',
                     'run: cloud, exits with one'):
            self.assertRefused("begins with '$ one'", console(mark, '$ one'))

    def test_comment_elsewhere(self):
        self.assertRefused(
            'must say', '.. run: cloud', '', 'Text.', '',
            console(None, '$ one'))

    def test_no_language(self):
        self.assertRefused('code-block', 'Text::\n\n    one\n')
        self.assertRefused('code-block', '* Text::\n\n      one\n')

    def test_options_that_hide_a_block(self):
        self.assertRefused('code-block', '.. code-block:: console\n'
                           '   :emphasize-lines: 1\n\n   $ one\n')

    def test_other_languages(self):
        self.assertEqual([], self.blocks(
            '.. code-block:: ini\n\n   [a]\n\n'
            '.. toctree::\n\n   one\n'))

    def test_output(self):
        block, = self.blocks(console(
            'run: cloud', '$ one', 'some', '', 'more', '$ two'))
        self.assertEqual(['some\n\nmore', ''],
                         [x.output for x in block.commands])

    def test_commands_of_several_lines(self):
        block, = self.blocks(console(
            'run: cloud', '$ one \\', '    two', 'said',
            '$ cat <<END', '> text', '> END', '$ one \\', '> two'))
        self.assertEqual(
            [('one \\\n    two', 'said'), ('cat <<END\ntext\nEND', ''),
             ('one \\\ntwo', '')],
            [(x.text, x.output) for x in block.commands])

    def test_no_prompt(self):
        self.assertRefused("'one' follows no", console('run: cloud', 'one'))


class ShellTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.shell = documents.Shell([], '/', {'PATH': '/usr/bin:/bin'})
        self.addCleanup(self.shell.close)

    def check(self, text, output='', statuses=(0,), **options):
        documents.check(self.shell, documents.Command(text, output), statuses,
                        **options)

    def assertFails(self, expected, *args, **options):
        error = self.assertRaises(
            documents.CommandError, self.check, *args, **options)
        self.assertIn(expected, str(error))

    def test_status_and_output(self):
        self.assertEqual((3, 'one\ntwo'), self.shell.run(
            'echo one\necho two >&2\n(exit 3)'))

    def test_what_is_set_stays(self):
        self.shell.run('cd /usr; name=x; f() { echo "$name" "$PWD"; }')
        self.assertEqual((0, 'x /usr'), self.shell.run('f'))

    def test_output_without_end_of_line(self):
        self.assertEqual((0, 'one'), self.shell.run('printf one'))

    def test_nothing_to_read(self):
        self.assertEqual((0, ''), self.shell.run('cat'))

    def test_timeout(self):
        error = self.assertRaises(documents.CommandError, self.shell.run,
                                  'echo one; sleep 60', timeout=0.5)
        self.assertIn('one', str(error))

    def test_ended(self):
        self.assertFails('ended its shell', 'exit 0')
        self.assertFails('ended its shell', 'echo one')

    def test_expected_status(self):
        self.check('(exit 3)', statuses=(0, 3))
        self.assertFails('it exits with 3, expected 0 or 1: no',
                         'echo no; (exit 3)', statuses=(0, 1))

    def test_expected_output(self):
        self.check('echo a  b; echo c', 'a b\nc')
        self.check('echo a 17 b; echo c', 'a ... b\n...')
        self.assertFails('expected:\na\nit says:\nb', 'echo b', 'a')

    def test_directory(self):
        self.check('echo /var/lib/format-lab/x', '/srv/lab/x',
                   directory=pathlib.Path('/srv/lab'))


class RunTest(tools_base.LabTestCase):

    def setUp(self):
        super().setUp()
        self.repository = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.patch((places, 'REPO'), new=self.repository)
        (self.repository / 'doc' / 'source').mkdir(parents=True)
        (self.lab.cloud_dir / 'passwords').mkdir(parents=True)
        self.lab.settings_file.write_text('{}')
        (self.lab.cloud_dir / 'passwords' / 'admin').write_text('secret\n')
        (self.lab.cloud_dir / 'tempest.conf').write_text(
            '[DEFAULT]\nlog_dir = /elsewhere\n[auth]\n')
        (self.lab.cloud_dir / 'credentials.conf').write_text('[auth]\n')
        self.patch((self.lab, 'in_cloud'), return_value=['env', 'IN=cloud'])
        self.patch((self.lab, 'nodes'), return_value={'control': '10.0.0.1'})

    def write(self, name, *blocks):
        (self.repository / name).write_text('\n'.join(blocks))

    def run_documents(self, *names):
        failed = documents.run(self.lab, names)
        return failed, self.said.getvalue()

    def test_all(self):
        self.write('README.rst', console(
            'run: machine', '$ echo "$PWD in $IN with $FORMAT_LAB_DIR"',
            f'{self.repository} in with {self.directory}'))
        self.write('doc/source/one.rst', console(
            'run: cloud', '$ echo "$IN $OS_PASSWORD $OS_AUTH_URL"',
            'cloud secret http://10.0.0.1:5000/v3',
            '$ grep -c /elsewhere tempest.conf || echo none', '0', 'none'))
        failed, said = self.run_documents()
        self.assertEqual(0, failed, said)
        self.assertIn('README.rst: echo', said)
        self.assertIn('doc/source/one.rst: grep', said)

    def test_those_of_this_cloud_that_are_named(self):
        self.write('README.rst', console('run: machine', '$ false'))
        self.write('doc/source/one.rst',
                   console('run: cloud', '$ echo first'),
                   console('run: cloud, on 2024.2', '$ false'),
                   console('not run: why', '$ false'),
                   console('run: machine', '$ echo last'))
        failed, said = self.run_documents('doc/source/one.rst')
        self.assertEqual(0, failed, said)
        self.assertIn('last', said)

    def test_failure_ends_its_document_alone(self):
        self.write('README.rst', console(
            'run: machine', '$ false', '$ echo later'))
        self.write('doc/source/one.rst', console('run: cloud', '$ echo next'))
        failed, said = self.run_documents()
        self.assertEqual(1, failed)
        self.assertIn('FAILED  README.rst: false\nit exits with 1', said)
        self.assertNotIn('later', said)
        self.assertIn('next', said)

    def test_no_such_document(self):
        self.write('README.rst')
        self.assertIn('no document', self.lab_error(
            documents.run, self.lab, ['none.rst']))

    def test_cloud_that_is_down(self):
        self.lab.settings_file.unlink()
        self.assertRaises(exceptions.LabError, documents.run, self.lab, [])

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

"""DevStack itself, run dry with the plugin: see dry_run.sh."""

import collections
import pathlib
import subprocess
import tempfile

from tempest_format_plugin.tests.devstack import samples

_SCRIPT = pathlib.Path(__file__).with_name('dry_run.sh')
STAGES = ('stack', 'unstack', 'clean')


class DryRunError(Exception):
    """One of DevStack's scripts ended with an error."""


class Stage:
    """What is there when one of DevStack's scripts has ended.

    :ivar texts: by path, the text of each configuration file
    :ivar mounted: set of the mount points
    :ivar files: set of the paths of the files on the export and in the mount
        directories of nova and cinder
    :ivar directories: set of the paths of the directories below /srv
    :ivar calls: the calls of stand-ins that the script made, one line each
    """

    def __init__(self, kept, calls):
        self.calls = calls
        self.texts = {
            f'/{path.relative_to(kept)}': path.read_text()
            for directory in ('etc', 'opt')
            for path in (kept / directory).rglob('*') if path.is_file()}
        for name in ('mounted', 'files', 'directories'):
            setattr(self, name, set((kept / name).read_text().splitlines()))

    @property
    def options(self):
        """The configuration files' values, as samples.differences() takes."""
        return {pathlib.Path(path).name: _options(text)
                for path, text in self.texts.items()
                if path.endswith('.conf')}


def _options(text):
    values = collections.defaultdict(list)
    section = None
    for line in text.splitlines():
        if line.startswith('['):
            section = line.strip('[]')
        elif '=' in line and not line.startswith('#'):
            option, value = (part.strip() for part in line.split('=', 1))
            values[section, option].append(value)
    return dict(values)


def run(devstack_dir, text, name, plugin_dir=samples.PLUGIN_DIR):
    """Run stack.sh, unstack.sh and clean.sh of a checkout, one after another.

    Takes most of a minute of CPU time, and root.

    :param devstack_dir: the checkout of DevStack
    :param text: the local.conf
    :param name: the host's name
    :param plugin_dir: the directory with settings and plugin.sh
    :returns: dict of Stages by the script's name without .sh
    :raises DryRunError: a script ended with an error; with its last words
    """
    with tempfile.TemporaryDirectory() as results:
        results = pathlib.Path(results)
        local_conf = results / 'local.conf'
        local_conf.write_text(text)
        ended = subprocess.run(
            ['bash', _SCRIPT, devstack_dir, plugin_dir, local_conf, results,
             name], capture_output=True, text=True)
        if ended.returncode:
            raise DryRunError(
                f'a dry run of {devstack_dir} on {name} ended with '
                f'{ended.returncode}:\n{ended.stdout}{ended.stderr}')
        calls = collections.defaultdict(list)
        for line in (results / 'out/calls').read_text().splitlines():
            if line.startswith('== '):
                stage = line[3:]
            else:
                calls[stage].append(line)
        return {stage: Stage(results / 'out' / stage, calls[stage])
                for stage in STAGES}

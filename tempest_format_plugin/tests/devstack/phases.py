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

"""The plugin run phase by phase with stand-ins for DevStack."""

import collections
import os.path
import pathlib
import subprocess
import tempfile

from tempest_format_plugin.tests.devstack import samples

_SCRIPT = pathlib.Path(__file__).with_name('phases.sh')


class PhasesError(Exception):
    """The plugin ended a phase with an error."""


class Run:
    """What one run of all phases, from stack to clean, did.

    :ivar files: by name of a configuration file (nova.conf, ...), the values
        by section and option, as they are when DevStack has stacked
    :ivar texts: by path, the text of each other file that was written
    :ivar calls: by phase, such as 'stack extra', the calls in it, each a list
        of words; None has those of the settings. Options that are set are
        not among them.
    :ivar left: by 'unstack' and 'clean', the set of paths that are there
        after it although the plugin made them, mounts included
    """

    def __init__(self, records, local_conf):
        self.files = {}
        self.texts = {}
        self.calls = collections.defaultdict(list)
        self.left = {}
        phase = None
        for call in records:
            name, *words = call
            if name == 'phase':
                phase = ' '.join(words)
            elif name == 'iniset':
                path, section, option, value = (*words, '')[:4]
                self._file(path)[section, option] = [value]
            elif name == 'inidelete':
                path, section, option = words
                self._file(path).pop((section, option), None)
            elif name == 'copy':
                source, target = words
                self.files[os.path.basename(target)] = dict(
                    self._file(source))
            elif name == 'merge':
                self._merge(local_conf, *words)
            elif name == 'left':
                self.left[phase] = set(words)
            else:
                self.calls[phase].append(call)
                if name == 'tee':
                    self.texts[words[0]] = f'{words[1]}\n'

    def _file(self, path):
        return self.files.setdefault(os.path.basename(path), {})

    def _merge(self, local_conf, wanted):
        files = {'$TEMPEST_CONFIG': 'tempest.conf'}
        for (phase, file, section, option), value in local_conf.meta.items():
            if phase == wanted:
                self._file(files[file])[section, option] = [value]


def run(text, plugin_dir=samples.PLUGIN_DIR, mounted=()):
    """Run all phases of the plugin under a local.conf.

    :param text: the local.conf
    :param plugin_dir: the directory with settings and plugin.sh
    :param mounted: mount points that there are when unstack begins
    :returns: a Run
    :raises PhasesError: the plugin ended with an error; with what it said
    """
    local_conf = samples.LocalConf(text)
    with tempfile.NamedTemporaryFile('w', suffix='.localrc') as localrc:
        localrc.writelines(f'{name}="{value}"\n'
                           for name, value in local_conf.localrc.items())
        localrc.flush()
        ended = subprocess.run(
            ['bash', _SCRIPT, plugin_dir, localrc.name],
            capture_output=True, text=True, timeout=300,
            env={'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8',
                 'MOUNTED': ' '.join(mounted)})
    if ended.returncode:
        raise PhasesError(f'the plugin\'s phases ended with '
                          f'{ended.returncode}:\n{ended.stderr}')
    words = ended.stdout.split('\0')[:-1]
    records = []
    while words:
        count = int(words[0])
        records.append(words[1:1 + count])
        words = words[1 + count:]
    return Run(records, local_conf)

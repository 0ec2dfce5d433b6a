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

"""The Ansible that Zuul's executor runs playbooks with."""

import configparser
import importlib.resources
import os
import pathlib
import subprocess
import sys

from tempest_format_plugin.tests.zuul_services import exceptions
from tempest_format_plugin.tests.zuul_services import paths

# Keeps it from one run to the next: it is 570 MB. tox.ini sets this.
DIRECTORY = pathlib.Path(os.environ.get(
    'FORMAT_ZUUL_ANSIBLE_DIR', paths.REPO / '.tox/zuul-ansible'))
# Of the libraries that Zuul would add, those that its own plugins import; the
# others are for modules of clouds.
_LIBRARIES = 'google-re2 voluptuous'


def install():
    """Install Zuul's default Ansible, unless it is there.

    It is the release that Zuul itself would install.

    :returns: path of a directory as the executor's ansible_root
    :raises ServicesError: it can't be installed
    """
    versions = configparser.ConfigParser()
    versions.read_string((importlib.resources.files(
        'zuul') / 'lib/ansible-config.conf').read_text())
    default = versions['common']['default_version']
    wanted = f'{versions[default]["requirements"]} {_LIBRARIES}'
    venv = DIRECTORY / default
    stamp = venv / 'installed'
    # Written last: what an interrupted run has left is made anew.
    if not stamp.exists() or stamp.read_text() != wanted:
        stamp.unlink(missing_ok=True)
        _run(sys.executable, '-m', 'venv', '--clear', venv)
        _run(venv / 'bin/python', '-m', 'pip', 'install', '--quiet',
             '--disable-pip-version-check', *wanted.split())
        stamp.write_text(wanted)
    # The executor doesn't start unless each version that it knows answers.
    for other in set(versions.sections()) - {'common', default}:
        link = DIRECTORY / other
        link.unlink(missing_ok=True)
        link.symlink_to(default)
    return DIRECTORY


def _run(*argv):
    ended = subprocess.run([str(word) for word in argv], check=False,
                           capture_output=True, text=True)
    if ended.returncode:
        raise exceptions.ServicesError(
            f'{" ".join(ended.args)}: expected status 0, came '
            f'{ended.returncode}: {ended.stderr.strip()}')

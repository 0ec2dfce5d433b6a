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

"""Where a person, or a document, works with a cloud by hand."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from format_lab import places


def make(lab, directory):
    """Put what reaches a cloud into a directory.

    tempest.conf; cloud.conf, a configuration with the credentials alone; and
    ssh_config with the nodes by name.

    :returns: the environment of commands there, besides what is inherited:
        the admin's OS_* variables, and a PATH with openstack and tempest
    """
    directory = pathlib.Path(directory)
    configuration = (lab.cloud_dir / 'tempest.conf').read_text()
    # The tests' own log is the driver's.
    (directory / 'tempest.conf').write_text(re.sub(
        r'(?m)^log_dir *=.*', f'log_dir = {directory}', configuration))
    shutil.copy(lab.cloud_dir / 'credentials.conf', directory / 'cloud.conf')
    (directory / 'ssh_config').write_text(''.join(
        f'Host {node}\n  HostName {address}\n'
        for node, address in lab.nodes().items())
        + f'Host *\n  User root\n  IdentitiesOnly yes\n'
          f'  IdentityFile {lab.cloud_dir}/id_ed25519\n'
          f'  UserKnownHostsFile {lab.cloud_dir}/known_hosts\n'
          f'  LogLevel ERROR\n')
    path = [str(places.BIN), os.environ['PATH']]
    for client in (lab.cache_dir / 'venvs').glob('*/bin/openstack'):
        (directory / 'bin').mkdir()
        (directory / 'bin' / 'openstack').symlink_to(client)
        path.insert(0, f'{directory}/bin')
        break
    return {
        'PATH': ':'.join(path),
        'TEMPEST_CONFIG_DIR': str(directory),
        'OS_AUTH_URL': f'http://{lab.nodes()["control"]}:5000/v3',
        'OS_USERNAME': 'admin',
        'OS_PASSWORD':
            (lab.cloud_dir / 'passwords' / 'admin').read_text().strip(),
        'OS_PROJECT_NAME': 'admin',
        'OS_USER_DOMAIN_ID': 'default',
        'OS_PROJECT_DOMAIN_ID': 'default',
        'OS_IDENTITY_API_VERSION': '3'}


def shell(lab, argv):
    """Run a command in such a directory, and remove that afterwards.

    :param argv: empty: a shell, for a person
    :returns: its exit status
    """
    lab.settings()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(
            tempfile.TemporaryDirectory(prefix='format-lab-'))
        terminal = None
        if not argv:
            # tox gives its commands pipes, with which Ctrl-C would end tox.
            with contextlib.suppress(OSError):
                terminal = stack.enter_context(
                    open('/dev/tty', 'r+b', buffering=0))
        return subprocess.run(
            lab.in_cloud(*(argv or ['bash'])), cwd=directory, check=False,
            env=os.environ | make(lab, directory), stdin=terminal,
            stdout=terminal, stderr=terminal).returncode

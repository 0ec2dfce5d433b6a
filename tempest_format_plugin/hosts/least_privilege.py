# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What a compute host must let the plugin's user do as root, and no more.

Made from what the profile would run: nothing here names a command that
compute_host doesn't get from it too.
"""

import dataclasses
import inspect
import os.path
import re
import shlex

from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import observe_script

OBSERVE = '/usr/local/libexec/disk-format/observe'
SUDOERS_FILE = '/etc/sudoers.d/disk-format'
SECURE_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'

# In the place of what differs from one command to the next.
_SERVER, _DOMAIN = 'SERVER_ID', 'DOMAIN'
_EXPRESSIONS = {
    _SERVER: '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    # nova's instance_name_template can be anything.
    _DOMAIN: '[0-9A-Za-z_.-]+',
}
# Each bracket is one character and none of them a space: unlike with an
# asterisk, there is no room for further arguments.
_HEX = '[0-9a-f]'
_WILDCARDS = {
    _SERVER: '-'.join(_HEX * length for length in (8, 4, 4, 4, 12)),
    _DOMAIN: 'instance-' + _HEX * 8,
}

# What means nothing else to sudo, to a shell or to a regular expression; of
# the latter but for the dot.
_PLAIN = re.compile(r'[0-9A-Za-z_./-]+')
_USER = re.compile(r'[a-z_][a-z0-9_-]*')
_END = 'END_OF_TEMPEST_FORMAT_PLUGIN'


@dataclasses.dataclass(frozen=True)
class Command:
    """A command line that the plugin runs on a host, and what for.

    :ivar argv: words, with SERVER_ID or DOMAIN where one of these goes
    """

    argv: tuple[str, ...]
    why: str


def with_observe(profile):
    """Return the profile, with an observe command if it has none.

    A script that is sent to python3 can't be told from any other script: who
    may do that as root may do everything.
    """
    return profile if profile.observe else dataclasses.replace(
        profile, observe=(OBSERVE,))


def commands(profile, root_shell=False):
    """Return all Commands that the plugin runs on a host.

    :param root_shell: also for what edits something there
    """
    profile = with_observe(profile)
    found = [Command(profile.observe_argv(_SERVER),
                     'what the host knows about the disks of a server'),
             Command(profile.qemu_log_argv(_DOMAIN),
                     "the end of QEMU's log of a server")]
    if root_shell:
        found.append(Command(profile.root_shell_argv,
                             'a root shell, which may do everything: it edits '
                             'options of nova-compute and restarts it'))
        if profile.container_name:
            found.append(Command(profile.instances_shell_argv,
                                 'the same, where libvirt and the instances '
                                 'are'))
    return found


def sudoers(profile, user, root_shell=False, expressions=True):
    """Return a sudoers file that allows a user these commands alone.

    :param expressions: with regular expressions, which sudo has since 1.9.10;
        without, the domains must be called as nova does by default
    :raises ProfileError: sudo isn't used, or something can't be said there
    """
    if not profile.sudo or os.path.basename(profile.sudo[0]) != 'sudo':
        raise exceptions.ProfileError(
            f'expected sudo to give root access, got '
            f'{shlex.join(profile.sudo) or "nothing"}', 'sudo_command')
    if not _USER.fullmatch(user) or user == 'root':
        raise exceptions.ProfileError(
            f'expected the name of a user other than root, got {user!r}',
            'ssh_user')
    allowed = commands(profile, root_shell)
    told = ['# What tempest-format-plugin does on this host as root, and '
            'nothing else:']
    for each in allowed:
        told += [f'# {each.why}:', f'#   {shlex.join(each.argv)}']
    rules = [f'Defaults:{user} env_reset, !requiretty, '
             f'secure_path="{SECURE_PATH}"']
    for each in allowed:
        rules.append(f'{user} ALL = (root) NOPASSWD: ' + _rule(
            each.argv[len(profile.sudo):], expressions))
    return '\n'.join([*told, *rules, ''])


def observe_command(profile):
    """Return the text of the observe command, a shell script.

    Its script, the module observe_script, lies beside it. All but the
    server's id is settled in it.
    """
    profile = with_observe(profile)
    words = dataclasses.replace(profile, sudo=()).observe_script_argv(_SERVER)
    command = ' '.join('"$1"' if word == _SERVER else shlex.quote(word)
                       for word in words)
    return f'''\
#!/bin/sh
# observe SERVER_ID: print what this host knows about the disks of a server,
# for the option observe_command of tempest-format-plugin. Run as root by a
# user who may run nothing else: all but the server's id is settled here.
LC_ALL=C
hex='[0-9a-f]'
hex4="$hex$hex$hex$hex"
case "$#:$1" in
1:$hex4$hex4-$hex4-$hex4-$hex4-$hex4$hex4$hex4) ;;
*)
    echo "observe: expected the id of one server, a UUID in lower case" >&2
    exit 2
    ;;
esac
exec /usr/bin/env -i LC_ALL=C PATH={SECURE_PATH} \\
    {command} \\
    <{shlex.quote(_script(profile))}
'''


def install(profile, user, root_shell=False, expressions=True):
    """Return a shell script that puts all this on a host, run there as root.

    :raises ProfileError: see sudoers
    """
    profile = with_observe(profile)
    files = [
        (_script(profile), '0644', ':', inspect.getsource(observe_script)),
        (profile.observe[0], '0755', 'sh -n', observe_command(profile)),
        # sudo passes over a name with a dot, as the new one has.
        (SUDOERS_FILE, '0440', f'PATH=$PATH:{SECURE_PATH} visudo -cqsf',
         sudoers(profile, user, root_shell, expressions))]
    lines = ['#!/bin/sh',
             '# Let tempest-format-plugin look at the servers of this host: '
             'run this as root.',
             f'# The user {user} and the key for its logins must be there '
             'already.',
             'set -eu', 'umask 022',
             f'mkdir -p {shlex.quote(os.path.dirname(profile.observe[0]))}']
    for path, mode, check, text in files:
        if _END in text or not text.endswith('\n'):
            raise ValueError(f'{path} would not arrive whole')
        path = shlex.quote(path)
        lines += [f"cat >{path}.new <<'{_END}'", text + _END,
                  f'{check} {path}.new', f'chown root:root {path}.new',
                  f'chmod {mode} {path}.new', f'mv {path}.new {path}']
    return '\n'.join([*lines, ''])


def _script(profile):
    return os.path.join(os.path.dirname(profile.observe[0]),
                        'observe_script.py')


def _rule(argv, expressions):
    """Say what may be run as sudoers(5) does: path, then its arguments."""
    for word in argv:
        if not _PLAIN.fullmatch(word):
            raise exceptions.ProfileError(
                f'expected nothing but letters, digits and _./- in '
                f'{shlex.join(argv)}, as it is to be said to sudo', 'profile')
    program, *arguments = argv
    if '/' not in program:
        program = f'/usr/bin/{program}'
    if not arguments:
        return f'{program} ""'
    text = ' '.join(arguments)
    if expressions:
        text = '^' + text.replace('.', '\\.') + '$'
    for name, value in (_EXPRESSIONS if expressions else _WILDCARDS).items():
        if text.count(name) > 1:
            raise exceptions.ProfileError(
                f'expected {name} once in {shlex.join(argv)}', 'profile')
        text = text.replace(name, value)
    return f'{program} {text}'

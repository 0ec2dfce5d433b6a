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

"""tempest disk-format sudoers: what compute hosts must allow, for sudo."""

from tempest_format_plugin import cloud
from tempest_format_plugin.commands import base
from tempest_format_plugin import config
from tempest_format_plugin.hosts import least_privilege


class Sudoers(base.Command):
    """Print a sudoers file with all that is run on a compute host as root.

    Made from the deployment profile and the options of [disk_format]; for
    ssh_user. The comments in it list the commands. Reading needs two of them,
    and so does all up to the safety level operations. The level reconfigure,
    and allow_sabotage, need a root shell too: that is everything.

    Reading by the least privileges needs observe_command. Without it the
    script is sent to python3 as root, and to allow that is to allow
    everything.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--host', metavar='HOST',
            help='for this compute host, where a hosts_file tells them apart')
        parser.add_argument(
            '--safety-level', choices=config.SAFETY_LEVELS,
            default=config.READ_ONLY,
            help='for tests up to this level (default: read-only)')
        parser.add_argument(
            '--without-expressions', action='store_true',
            help='for a sudo older than 1.9.10, which has no regular '
                 'expressions: names of domains are then those that nova '
                 'gives by default, instance- and 8 hexadecimal digits')
        parser.add_argument(
            '--show', default='sudoers',
            choices=['sudoers', 'commands', 'observe', 'install'],
            help='the sudoers file, the commands alone, the observe command, '
                 'or a script that installs all of it if it is run as root '
                 'on a compute host (default: sudoers)')
        return parser

    def take_action(self, parsed_args):
        self.read_configuration(parsed_args)
        host = parsed_args.host or ''
        profile = cloud.profile_of(host)
        if not profile.observe:
            self.say('set [disk_format] observe_command to '
                     f'{least_privilege.OBSERVE} once it is installed: '
                     'without it a script is sent to python3, which this '
                     'does not allow')
        root_shell = parsed_args.safety_level == config.RECONFIGURE
        if root_shell:
            self.say('the level reconfigure needs a root shell: the user may '
                     'then do everything')
        if parsed_args.show == 'commands':
            for each in least_privilege.commands(profile, root_shell):
                print(' '.join(each.argv))
            return
        if parsed_args.show == 'observe':
            print(least_privilege.observe_command(profile), end='')
            return
        make = {'sudoers': least_privilege.sudoers,
                'install': least_privilege.install}[parsed_args.show]
        print(make(profile, cloud.endpoint(host).user, root_shell,
                   not parsed_args.without_expressions), end='')

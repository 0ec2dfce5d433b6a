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
"""tempest disk-format restore: undo what tests have left of their edits."""

import datetime

from tempest_format_plugin import cloud
from tempest_format_plugin.commands import base
from tempest_format_plugin.hosts import exceptions
from tempest_format_plugin.hosts import host_edit


class Restore(base.Command):
    """Undo what tests have left of their edits of nova-compute's options.

    A compute host undoes such an edit by itself when the test that made it
    ends, however it ends. This is for hosts where that could not work: what
    undoes it was killed, or nova-compute didn't restart. Looks at every host
    whose backend [disk_format] compute_backends or hosts_file tells. An edit
    that a test still holds is left alone. The exit status is 1 if a host could
    not be looked at or is still not as it was.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--list', action='store_true',
            help='only tell what there is to undo')
        return parser

    def take_action(self, parsed_args):
        self.read_configuration(parsed_args)
        hosts = cloud.hosts_of_backend(cloud.ANY)
        if not hosts:
            print('neither [disk_format] compute_backends nor its hosts_file '
                  'names a compute host with its backend')
            return 1
        failed = False
        for name in hosts:
            try:
                as_before, told = _restore(cloud.compute_hosts().get(name),
                                           parsed_args.list)
            except exceptions.HostError as error:
                as_before, told = False, str(error)
            failed = failed or not as_before
            print(f'{name}: {told}')
        return int(failed)


def _restore(host, only_list):
    """Undo a host's edit if nobody holds it.

    :returns: whether the host is as it was, and what to tell of it
    """
    edit = host_edit.find(host)
    if edit is None:
        return True, 'nothing to undo'
    since = datetime.datetime.fromtimestamp(
        edit['since'], datetime.timezone.utc)
    told = (f'an edit of {edit["file"]}, made by {edit["holder"]} at '
            f'{since:%Y-%m-%d %H:%M:%S} UTC')
    if edit['held']:
        return False, f'{told}, still held: left alone'
    if only_list:
        return False, f'{told}, held by nobody'
    host_edit.restore(host)
    return True, f'{told}: undone'

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

"""Print what a cloud has, as JSON: {kind: {id: name}}.

Reads the cloud from OS_* variables. Run by the Python that has openstacksdk,
on a host of the cloud or inside its network: it can import nothing of what
starts it.
"""

import json
import sys

import openstack

ENDED = frozenset(('cancelled', 'completed', 'confirmed', 'done', 'error',
                   'failed', 'reverted'))

cloud = openstack.connect()
volumes = cloud.block_storage
found = {
    'server': cloud.compute.servers(details=False, all_projects=True),
    'unfinished migration': (
        migration for migration in cloud.compute.migrations()
        if migration.status not in ENDED),
    # None: neither public ones only nor private ones only.
    'flavor': cloud.compute.flavors(is_public='None'),
    'volume': volumes.volumes(details=False, all_projects=True),
    'volume snapshot': volumes.snapshots(details=False, all_projects=True),
    'attachment': volumes.attachments(all_projects=True),
    'image': cloud.image.images(),
    'project': cloud.identity.projects(),
    'user': cloud.identity.users(),
    'trait': (trait for trait in cloud.placement.traits()
              if trait.id.startswith('CUSTOM_')),
}
json.dump({kind: {one.id: one.name or '' for one in those}
           for kind, those in found.items()}, sys.stdout)

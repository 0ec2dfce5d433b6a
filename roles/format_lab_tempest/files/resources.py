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

"""Create the images, the flavors and the volume type that are missing.

Reads the cloud from OS_* variables and from standard input a JSON object
{"images": [{"name", "file", "disk_format"}],
 "flavors": [{"name", "ram", "vcpus", "disk"}],
 "volume_type": name, which is also its volume_backend_name}.
Waits until cinder's volume service has reported, for up to a minute: before
it has, no volume can be made. Prints a JSON object with the ids:
{"images": [id, ...], "flavors": [id, id], "made": [names]}.
"""

import json
import sys
import time

import openstack

wanted = json.load(sys.stdin)
cloud = openstack.connect()
made = []
images = []
for image in wanted['images']:
    existing = cloud.image.find_image(image['name'])
    if existing is None:
        existing = cloud.image.create_image(
            name=image['name'], filename=image['file'],
            disk_format=image['disk_format'], container_format='bare',
            visibility='public', wait=True, validate_checksum=False)
        made.append(image['name'])
    images.append(existing.id)
existing = {flavor.name: flavor for flavor in cloud.compute.flavors()}
flavors = []
for flavor in wanted['flavors']:
    if flavor['name'] not in existing:
        existing[flavor['name']] = cloud.compute.create_flavor(**flavor)
        made.append(flavor['name'])
    flavors.append(existing[flavor['name']].id)
volume_type = wanted['volume_type']
if cloud.block_storage.find_type(volume_type) is None:
    cloud.block_storage.create_type(
        name=volume_type, extra_specs={'volume_backend_name': volume_type})
    made.append(volume_type)
deadline = time.monotonic() + 60
while not any(service.state == 'up' for service in
              cloud.block_storage.services(binary='cinder-volume')):
    if time.monotonic() > deadline:
        sys.exit('cinder-volume has not reported within 60 s: see '
                 '/var/log/cinder-volume.log on the control node')
    time.sleep(1)
json.dump({'images': images, 'flavors': flavors, 'made': made}, sys.stdout)

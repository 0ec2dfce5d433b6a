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

"""Create the service project, users and catalog that are missing.

Reads the cloud from OS_* variables, the services from a JSON object
{service type: [name, user, URL]} on standard input and the users' password
from SERVICE_PASSWORD. Prints what it made, a line each.
"""

import json
import os
import sys

import openstack

cloud = openstack.connect()
identity = cloud.identity
region = os.environ['OS_REGION_NAME']
password = os.environ['SERVICE_PASSWORD']

project = identity.find_project('service')
if project is None:
    project = identity.create_project(name='service', domain_id='default')
    print('project service')
roles = {role.name: role for role in identity.roles()}
for name in ('service', 'admin', 'member', 'reader'):
    if name not in roles:
        roles[name] = identity.create_role(name=name)
        print('role', name)
users = {user.name for user in identity.users()}
types = {service.type for service in identity.services()}
for service_type, (name, user, url) in json.load(sys.stdin).items():
    if user not in users:
        created = identity.create_user(
            name=user, password=password, domain_id='default')
        for role in ('service', 'admin'):
            identity.assign_project_role_to_user(
                project, created, roles[role])
        users.add(user)
        print('user', user)
    if service_type not in types:
        service = identity.create_service(name=name, type=service_type)
        for interface in ('public', 'internal', 'admin'):
            identity.create_endpoint(
                service_id=service.id, interface=interface, url=url,
                region_id=region)
        print('service', service_type)

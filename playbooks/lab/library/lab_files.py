#!/usr/bin/python
#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

import os

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: lab_files
short_description: Write several files in one round trip
description:
  - What ansible.builtin.template does in a round trip per file costs a lab of
    four nodes on two processors half of its start. This writes all the files
    of a node at once, and only those that differ.
options:
  files:
    description: The wanted text by absolute path.
    type: dict
    required: true
  mode:
    description: The files' permissions, octal.
    type: str
    default: "0600"
"""


def main():
    module = AnsibleModule({
        'files': {'type': 'dict', 'required': True, 'no_log': True},
        'mode': {'type': 'str', 'default': '0600'}})
    written = []
    for path, text in module.params['files'].items():
        wanted = text.encode()
        try:
            with open(path, 'rb') as current:
                if current.read() == wanted:
                    continue
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        # A reader sees the old file or the new one, never a part.
        temporary = f'{path}.lab-new'
        opener = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                         int(module.params['mode'], 8))
        with open(opener, 'wb') as new:
            new.write(wanted)
        os.replace(temporary, path)
        written.append(path)
    module.exit_json(changed=bool(written), written=written)


if __name__ == '__main__':
    main()

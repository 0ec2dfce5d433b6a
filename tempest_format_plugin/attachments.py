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

"""What cinder says of a server's attachments."""

import json
import urllib.parse

from tempest.lib import exceptions as lib_exc

from tempest_format_plugin.formats import attachment
from tempest_format_plugin.formats import models


def of_server(client, server_id, host):
    """Return the Observations of both views of a server's attachments.

    The list is cinder's record; the view of a single one is corrected by the
    volume's admin metadata (cinder/api/v3/attachments.py).

    :param client: tempest's attachments client of an admin, at the
        microversion 3.27 or later
    :param host: the compute host, for the observations
    :raises ObservationError: an attachment makes no sense
    """
    query = urllib.parse.urlencode({'all_tenants': 1,
                                    'instance_id': server_id})
    # The client has no method for it.
    _, body = client.get(f'attachments/detail?{query}')
    found = []
    for listed in json.loads(body)['attachments']:
        # Operators may take filters away (resource_filters.json of cinder).
        if listed['instance'] != server_id:
            continue
        try:
            shown = client.show_attachment(listed['id'])['attachment']
        except lib_exc.NotFound:
            # It was detached meanwhile.
            continue
        found += [
            attachment.parse(shown, source=models.ATTACHMENT, host=host),
            attachment.parse(listed, source=models.ATTACHMENT_LIST,
                             host=host)]
    return tuple(filter(None, found))

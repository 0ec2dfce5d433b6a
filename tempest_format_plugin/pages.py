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

"""HTML pages that need nothing but themselves."""

import jinja2

from tempest_format_plugin.formats import redaction


def template(name, **globals_):
    """Return a template of templates/, whose pages show no secrets.

    :param globals_: functions that it uses, by name
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('tempest_format_plugin'),
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # All that the template shows comes through here, and before its
        # quotes are escaped, by which a secret is known.
        finalize=_redacted)
    environment.globals.update(globals_, time=_time)
    return environment.get_template(name)


def _redacted(value):
    return redaction.redact(value) if isinstance(value, str) else value


def _time(moment):
    return moment.strftime('%Y-%m-%d %H:%M:%S %Z').strip()

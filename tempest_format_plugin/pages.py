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

import base64
import hashlib

import jinja2

from tempest_format_plugin.formats import redaction


def template(name, script=None, **globals_):
    """Return a template of templates/, whose pages show no secrets.

    :param script: the one of templates/ that its pages may run, by name;
        None: browsers run nothing
    :param globals_: functions that it uses, by name
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('tempest_format_plugin'),
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # All that the template shows comes through here, and before its
        # quotes are escaped, by which a secret is known.
        finalize=_redacted)
    environment.globals.update(
        globals_, time=_time, script=script,
        script_source=_source(environment, script) if script else "'none'")
    return environment.get_template(name)


def _source(environment, script):
    """Return the word of a Content-Security-Policy for a script alone."""
    digest = hashlib.sha256(
        environment.get_template(script).render().encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _redacted(value):
    # What a macro returns has been through here, and is escaped by now.
    if isinstance(value, str) and not hasattr(value, '__html__'):
        return redaction.redact(value)
    return value


def _time(moment):
    return moment.strftime('%Y-%m-%d %H:%M:%S %Z').strip()

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

"""What the tests of the roles' files share."""

import importlib.util
import pathlib
import shlex

import jinja2
import yaml

ROLES = pathlib.Path(__file__).parents[4] / 'roles'


def load(role, name):
    """Import a role's file, which lies in no package."""
    path = ROLES / role / 'files' / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def render(role, name, **variables):
    """Return what Ansible makes of a role's template.

    :param variables: in place of the role's defaults; those of the defaults
        that are templates themselves must be among them
    """
    defaults = yaml.safe_load(
        (ROLES / role / 'defaults' / 'main.yaml').read_text())
    # As Ansible does it.
    environment = jinja2.Environment(
        trim_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters['quote'] = shlex.quote
    environment.filters['bool'] = bool
    template = environment.from_string(
        (ROLES / role / 'templates' / name).read_text())
    text = template.render(defaults | variables)
    if '{{' in text:
        raise ValueError(f'{name}: a default is a template: {text}')
    return text

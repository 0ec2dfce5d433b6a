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

import pathlib
import sys

# Of this directory: _extensions/known_bugs.py
sys.path.insert(0, str(pathlib.Path(__file__).parent / '_extensions'))

extensions = [
    'known_bugs',
    'openstackdocstheme',
    'oslo_config.sphinxext',
    'sphinx.ext.autodoc',
    'zuul_sphinx',
]

project = 'tempest-format-plugin'
copyright = 'The tempest-format-plugin developers'

html_theme = 'openstackdocs'

openstackdocs_repo_name = 'openstack/tempest-format-plugin'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_bug_project = 'tempest-format-plugin'
openstackdocs_bug_tag = ''
openstackdocs_pdf_link = False

# In the order in which a scenario uses them.
autodoc_member_order = 'bysource'
toc_object_entries = False

# A role without a README is a mistake.
zuul_autoroles_warn_missing = True

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

"""Text of which nothing is but what can be seen."""


def printable(words):
    """Return text in which what can't be seen is written as Python does.

    Names of files and what tools and APIs say of them may come from a guest,
    and terminals obey some characters.
    """
    return ''.join(
        each if each.isprintable() else
        each.encode('unicode_escape').decode() for each in words)

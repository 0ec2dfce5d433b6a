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

"""Secrets taken out of all that is kept or shown."""

import re

MASK = '***'

# oslo_utils.strutils.mask_password won't do: in JSON and repr it also takes
# away what follows a secret (name and format in a connection_info), more of it
# each time; it misses JSON within JSON, and has 1 MB/s. The names are its own,
# and more.
_WORDS = ('password', 'passwd', 'passphrase', 'pswd', 'pass', 'secret',
          'token', 'key', 'username', 'cookie', 'authorization',
          'configdrive', 'user_data')

# From one of these words on: a secret's name, as it ends.
_NAME = r'''(?:
    pass(?:word|wd|phrase) | pswd | (?:(?<=[_-])|(?<=admin)|(?<=new))pass
    | secret(?:_uuid)? | token(?:_id)? | cookie | authorization
    | (?<=auth[._ -])username | configdrive | user_data | keyring
    | (?<=[a-z][_-])key(?<!primary.key)(?<!public.key)(?<!routing.key)
        (?<!sort.key)
    | (?:(?<=access)|(?<=client)|(?<=fernet)|(?<=private)|(?<=secret)
        |(?<=ssh)|(?<=ssl))key
    )\d*'''

# Ends at the same quote, as often escaped, or else with the line.
_QUOTED = r'''(?P<open>(?P<escape>\\+)?["'])
    (?(escape)(?:(?!(?<!\\)(?P=open)).)*|(?:\\.|(?!(?P=open))[^\\\n])*)
    (?P<close>(?P=open))?'''
_VALUE = rf'''(?P<value>{_QUOTED}
    |(?![\[({{]|(?:none|null|true|false)(?:[\s,)}}\]]|$))
     (?:[^\s"'<>\\]|\\(?![nrt"'\\]))+)'''
# In JSON and repr, as a quoted name tells.
_LITERAL = rf'(?P<value>{_QUOTED}|[+-]?\d[\w.+-]*)'


def _compile(pattern):
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


# All that a rule may find begins like this.
_CANDIDATE = _compile(rf'{_NAME}[\s"\'\\=:>,%]')

# What comes before a word of _WORDS, None for anything, and what from it on.
_RULES = tuple((before and _compile(before), _compile(after))
               for before, after in (
    # A line of an ini file, where values have spaces.
    (r'^[ \t]*[\w.-]*$',
     rf'{_NAME}[ \t]*=(?!>)[ \t]*(?P<value>(?!["\'])\S.*)'),
    # A header by itself.
    (None,
     r'(?:authorization|cookie)\s*:\s*(?P<value>[^\s"\'][^"\'\n]*)'),
    # name=value, name: value
    (None, rf'{_NAME}\s*(?:=>?|:|%3D)\s*[bu]?{_VALUE}'),
    # "name": "value", ["name"] = "value"
    (None, rf'{_NAME}\\*["\']\]?\s*[:=]\s*[bu]?{_LITERAL}'),
    # --name value, '--name', 'value'
    (r'--[\w.-]*$', rf'{_NAME}(?:\\*["\'],\s*|\s+){_VALUE}'),
    # iscsiadm: name -v value, 'name', '-v', 'value'
    (None, rf'''{_NAME}(?:\\*["'],)?\s+(?:\\*["'])?(?:-v|--value)
           (?:\\*["'],\s*|\s+){_VALUE}'''),
    # ('X-Auth-Token', 'value')
    (r'x-[\w-]*$', rf'token\\*["\'],\s*b?{_LITERAL}'),
    # <name>value</name>
    (r'<[\w:.-]*$',
     rf'{_NAME}(?:\s[^<>]{{0,300}})?(?<!/)>\s*(?P<value>[^<\s][^<\n]*)'),
    # libvirt: <secret type='ceph' uuid='value'/>
    ('<$', rf'secret\s[^<>]{{0,300}}?\b(?:usage|uuid)={_LITERAL}'),
    # QEMU: -object secret,id=id,data=value, and the same in JSON
    (None, rf'''secret(?:\\*["'])?,[^{{}}]{{0,300}}?\bdata
           (?:\\*["']\s*:|=)\s*{_VALUE}'''),
    # keystone, where a token asks for another: "token": {"id": "value"}
    (None, rf'''token\\*["']\s*:\s*{{\s*\\*["']id\\*["']\s*:\s*
           {_LITERAL}'''),
))

# Longer than any name's beginning.
_BEFORE = 100

# Fernet tokens, JWS tokens, cephx keys, SSH keys: what makes them worth a
# look, and how they look.
_LOOKS = tuple((part, re.compile(look)) for part, look in (
    ('gAAAA', r'gAAAA[\w=-]{16,}'),
    ('eyJ', r'(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*'),
    ('==', r'(?<![\w+/])AQ[A-Za-z0-9+/]{36}=='),
    ('AAAA', r'AAAA[BCE][A-Za-z0-9+/]{32,}={0,2}'),
))

# Up to the last @: there may be several hosts, each with its password.
_URL = re.compile(r'''(://[^\s:/@"'<>]*:)[^\s"'<>]{1,256}@''')

_KEY = r'-----{}(?: [A-Z0-9]+){{0,4}} PRIVATE KEY-----'
_KEY_END = re.compile('.*' + _KEY.format('END'))
_KEY_LINE = re.compile(r'\s*(?:[A-Za-z0-9+/=]*|[A-Z][\w-]*: .*)\s*$')
_KEY_BEGIN = re.compile(
    rf'{_KEY.format("BEGIN")}(?:.*?(?P<end>{_KEY.format("END")})|.*)')


def redact(text):
    """Return text with MASK in place of each secret.

    Passwords, tokens, keys and the like in JSON, repr, ini files, XML, URLs,
    headers and command lines. What is in doubt is a secret. All else stays,
    and to redact again changes nothing.
    """
    lines = (line + '\n' for line in text.split('\n'))
    return ''.join(redact_lines(lines))[:-1]


def redact_data(data):
    """Return data of JSON with the secrets out of its texts."""
    if isinstance(data, dict):
        # In one, as a name tells that its value is a secret.
        return {key: redact(f'{key} = {value}')[len(key) + 3:]
                if isinstance(value, str) else redact_data(value)
                for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [redact_data(value) for value in data]
    return redact(data) if isinstance(data, str) else data


def redact_lines(lines):
    """Yield lines with MASK in place of each secret: see redact.

    Takes a time that is proportional to their length. A private key on
    several lines becomes one.

    :param lines: iterable of text, each with its newline
    """
    in_key = False
    for line in lines:
        if in_key:
            end = _KEY_END.match(line)
            in_key = not end and bool(_KEY_LINE.match(line))
            if in_key:
                continue
            line = line[end.end():] if end else line
        if 'PRIVATE KEY-----' in line:
            in_key = any(not found['end']
                         for found in _KEY_BEGIN.finditer(line))
            line = _KEY_BEGIN.sub(MASK, line)
        for part, look in _LOOKS:
            if part in line:
                line = look.sub(MASK, line)
        if '://' in line and '@' in line:
            line = _URL.sub(rf'\g<1>{MASK}@', line)
        yield _redact_named(line)


def _redact_named(line):
    """Mask what stands beside a name that says that it is a secret."""
    # A regular expression for the names would take ten times as long.
    # The one letter that has more than one for its lower case: places must
    # be the same in both.
    lower = line.replace('\u0130', 'I').lower()
    places = {found.start() for word in _WORDS if word in lower
              for found in re.finditer(word, lower)}
    pieces = []
    done = 0
    for place in sorted(places):
        if place < done or not _CANDIDATE.match(line, place):
            continue
        before = line[max(done, place - _BEFORE):place]
        for rule_before, rule_after in _RULES:
            found = rule_after.match(line, place)
            if found and (not rule_before or rule_before.search(before)):
                groups = found.groupdict()
                pieces += [line[done:found.start('value')],
                           groups.get('open') or '', MASK,
                           groups.get('close') or '']
                done = found.end()
                break
    return ''.join([*pieces, line[done:]])

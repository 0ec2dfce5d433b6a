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

"""A certification run as an HTML page, as JSON and as JUnit XML.

Nothing of it has secrets.
"""

import dataclasses
import json
import re
from xml.etree import ElementTree

from tempest_format_plugin.certification import certificate as certificates
from tempest_format_plugin import evidence
from tempest_format_plugin.formats import redaction
from tempest_format_plugin import pages
from tempest_format_plugin import report
from tempest_format_plugin import results

# What XML 1.0 has no way to say; a guest's console may have it.
_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')

# Raised when what a program reads of the JSON changes its meaning.
FORMAT_VERSION = 1


def as_json(certificate):
    """Return a certificate as JSON; of evidence only the names are there."""
    return json.dumps(redaction.redact_data({
        'format_version': FORMAT_VERSION,
        'outcome': certificate.outcome,
        'certified': certificate.certified,
        'complete': certificate.complete,
        'status': certificate.status,
        'started': certificate.started.isoformat(timespec='seconds'),
        'ended': certificate.ended.isoformat(timespec='seconds'),
        'lists': [{'name': one.name, 'version': one.version,
                   'title': one.title, 'safety_level': one.safety_level,
                   'tests': list(one.tests)} for one in certificate.chosen],
        'safety_level': certificate.safety_level,
        'versions': certificate.versions,
        'options': certificate.options,
        'cloud': dataclasses.asdict(certificate.facts),
        'known_bugs': {
            'expected_by': certificate.expected_by,
            'bugs': [_bug(certificate, one)
                     for one in certificate.expectations]},
        'verdicts': [_verdict(one) for one in certificate.verdicts],
        'skipped': {one.test: one.reason for one in certificate.skipped},
        'not_run': {one.test: one.reason for one in certificate.not_run},
        'left_behind': certificate.left,
        'not_listed': certificate.unlisted,
        'told': certificate.told,
    }), indent=1) + '\n'


def junit(certificate):
    """Return a certificate as JUnit XML.

    A reproduced bug that was expected is a test that passed; a test that was
    not run is an error, for it must not look like one that passed.
    """
    cases = [_case(one) for one in certificate.verdicts]
    left = ElementTree.Element('testcase', {
        'classname': 'tempest_format_plugin.certification',
        'name': 'nothing_left_behind'})
    if certificate.left:
        _outcome(left, 'failure', 'left behind', '\n'.join(certificate.left))
    if certificate.unlisted:
        _outcome(left, 'error', 'not listed', '\n'.join(certificate.unlisted))
    run = ElementTree.Element('testcase', {
        'classname': 'tempest_format_plugin.certification', 'name': 'run'})
    if certificate.told:
        _outcome(run, 'error', 'run', '\n'.join(certificate.told))
    cases += [left, run]
    suite = ElementTree.Element('testsuite', {
        'name': _xml(' + '.join(one.name for one in certificate.chosen)),
        'timestamp': certificate.started.isoformat(timespec='seconds'),
        'time': f'{(certificate.ended - certificate.started).seconds}',
        'tests': str(len(cases)),
        **{f'{kind}s' if kind != 'skipped' else kind: str(sum(
            case.find(kind) is not None for case in cases))
           for kind in ('failure', 'error', 'skipped')}})
    properties = ElementTree.SubElement(suite, 'properties')
    for name, value in (('outcome', certificate.outcome),
                        *certificate.versions.items()):
        ElementTree.SubElement(properties, 'property', {
            'name': name, 'value': _xml(value)})
    suite.extend(cases)
    suites = ElementTree.Element('testsuites')
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding='unicode',
                                xml_declaration=True) + '\n'


def page(certificate):
    """Return a certificate as an HTML page that needs nothing but itself."""
    template = pages.template(
        'certificate.html.j2', script='certificate.js',
        bug_label=results.bug_label, bug_title=results.bug_title,
        pictures=certificates.pictures, moment=_moment,
        evidence_of=evidence.paths, link=report.link)
    return template.render(title=certificate.title, certificate=certificate,
                           kinds=dict.fromkeys(
                               one.verdict for one in certificate.verdicts))


def _bug(certificate, one):
    return {'id': one.bug.id, 'title': one.bug.title,
            'project': one.bug.project, 'fixed_in': list(one.bug.fixed_in),
            'link': one.bug.source, 'workaround': one.bug.workaround,
            'expected': one.expected, 'proposed': one.proposal.expected,
            'proposed_because': one.proposal.why,
            'met': certificate.bug_met(one.bug)}


def _verdict(verdict):
    told, = results.as_dicts([verdict])
    told['changes'] = [
        {'server': server.server_id, 'disk': disk.disk,
         'target': disk.target, **dataclasses.asdict(change)}
        for server in certificates.pictures(verdict)
        for disk in server.disks for change in disk.changes]
    return told


def _case(verdict):
    classname, _, name = verdict.test.rpartition('.')
    case = ElementTree.Element('testcase', {
        'classname': classname, 'name': name,
        'time': f'{verdict.seconds:.3f}'})
    if verdict.verdict == results.SKIPPED:
        ElementTree.SubElement(case, 'skipped', {
            'message': _xml(verdict.reason)})
    elif verdict.verdict in (results.DISAGREES, results.FIXED):
        _outcome(case, 'failure', str(verdict), verdict.reason)
    elif not verdict.expected:
        _outcome(case, 'error', str(verdict), verdict.reason)
    elif verdict.verdict == results.REPRODUCED:
        ElementTree.SubElement(case, 'system-out').text = _xml(
            f'{verdict}: {verdict.reason}')
    return case


def _outcome(case, kind, name, text):
    ElementTree.SubElement(case, kind, {
        'type': name,
        'message': _xml(text.partition('\n')[0])}).text = _xml(text)


def _xml(text):
    """Return a text without secrets and with nothing that XML can't say."""
    return _NOT_XML.sub('�', redaction.redact(text))


def _moment(name):
    """Return '2 after the migration' for '2-after-the-migration'."""
    return name.replace('-', ' ')

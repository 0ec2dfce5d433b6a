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

"""What is kept of a run of the scenarios: the cloud's results directory.

Nothing gets there with its secrets: tempest's log is written elsewhere, and
its subunit stream is in stestr's repository until it has been redacted.
"""

import dataclasses
import json
import shutil
import subprocess

import subunit
from tempest_format_plugin import evidence
from tempest_format_plugin import report
from tempest_format_plugin import results
from tempest_format_plugin import streams

from format_lab import places
from format_lab import service_logs
from format_lab import timeline

# Where the role format_evidence leaves it on a node, secrets out.
EVIDENCE = 'var/log/format-evidence'


class Record:
    """The results directory of a cloud.

    :ivar raw_log: where the cloud's tempest.conf lets tempest log to
    :ivar environment: what spares it to log to each test's details once more
    """

    def __init__(self, lab):
        self.lab = lab
        self.directory = lab.results_dir
        self.stream = self.directory / 'results.subunit'
        self.raw_log = lab.cloud_dir / 'tempest.log'
        self.environment = {'OS_LOG_CAPTURE': '0'}
        self._repository = self.directory / '.stestr'

    def clear(self):
        """Remove what an earlier run left.

        stestr's repository stays: by its times the next run is balanced. Its
        configuration doesn't: it names the tempest of another checkout.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        for old in self.directory.iterdir():
            if old != self._repository:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        self._remove_streams()
        self.raw_log.write_text('')

    def discover_scenarios_only(self):
        """Spare tempest the import of all tests that are its own.

        It is done three times a run and takes as long as a test. Nor are the
        tests of a class kept together, as tempest does: they share nothing
        but credentials, and one worker would get the long ones.
        """
        (self.directory / '.stestr.conf').write_text(
            f'[DEFAULT]\n'
            f'test_path={places.REPO}/tempest_format_plugin/tests/scenario\n'
            f'top_dir={places.REPO}\n')

    def take_log(self):
        """Keep tempest's log, redacted; return its timeline.Requests."""
        with open(self.raw_log, errors='replace') as log:
            requests = list(timeline.requests(log))
        evidence.write_redacted(self.raw_log, self.directory / 'tempest.log')
        self.raw_log.unlink()
        return requests

    def take_stream(self):
        """Keep the subunit stream, redacted; return whether there is one."""
        if not any(self._streams()):
            return False
        last = subprocess.Popen(
            [places.BIN / 'stestr', 'last', '--subunit'],
            cwd=self.directory, stdout=subprocess.PIPE)
        with last, open(self.stream, 'wb') as output:
            redacted = streams.Redacted([subunit.StreamResultToBytes(output)])
            subunit.ByteStreamToStreamResult(last.stdout).run(redacted)
            redacted.stopTestRun()
        self._remove_streams()
        return True

    def take_evidence_of_hosts(self):
        """Keep what the role format_evidence has gathered on the nodes."""
        for node in self.lab.nodes():
            gathered = self.lab.node_dir(node) / EVIDENCE
            if gathered.exists():
                shutil.copytree(gathered, self.directory / 'hosts' / node)

    def with_service_logs(self, verdicts, tests_by_request):
        """Return verdicts with what the services logged of their requests.

        :param tests_by_request: {request id: ids of tests}
        """
        wanted = {one.test for one in verdicts
                  if one.verdict not in evidence.WITHOUT_EVIDENCE}
        logs = service_logs.collect(
            service_logs.of_lab(self.lab),
            {request: tests & wanted
             for request, tests in tests_by_request.items()})
        return [
            dataclasses.replace(one, evidence=one.evidence | {
                'services.log': logs[one.test]})
            if one.test in logs else one for one in verdicts]

    def keep(self, run):
        """Keep all that a report.Run has found."""
        (self.directory / 'verdicts.json').write_text(
            json.dumps(results.as_dicts(run.verdicts), indent=1))
        evidence.write_evidence(self.directory / 'evidence', run.verdicts)
        (self.directory / 'report.html').write_text(
            report.page(f'Disk formats on the cloud {run.cloud}', [run]))

    def _streams(self):
        """The runs in stestr's repository; each is named by its number."""
        if self._repository.exists():
            yield from (path for path in self._repository.iterdir()
                        if path.name.isdigit())

    def _remove_streams(self):
        for path in [*self._streams(), self._repository / 'failing']:
            path.unlink(missing_ok=True)

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

"""Which scenario tests each job on DevStack runs."""

import pathlib
import re
import unittest

from tempest_format_plugin.tests import scenario
from tempest_format_plugin.tests.zuul import base
from tempest_format_plugin.tests.zuul import repositories

# Which of them each job runs, by class; 'module.*' for all of a module.
SELECTED = {
    'format-cold-migration-raw': {
        'test_cold_migration.TestColdMigration',
        'test_cold_migration.TestResize'},
    'format-live-migration-mixed': {'test_live_migration.TestMixedBackends'},
    'format-nfs': {
        'test_nfs_volume_snapshot.TestColdMigrationWithSnapshot',
        'test_nfs_volume_snapshot.TestNfsVolumeSnapshot',
        'test_nfs_volume_snapshot.TestNfsVolumeSnapshotVariants'},
    'format-volume-backed-snapshot': {
        'test_volume_backed_snapshot.TestGlanceEnforcement',
        'test_volume_backed_snapshot.TestVolumeBackedSnapshot'},
    'format-volume-backed-snapshot-raw-disallowed': {
        'test_volume_backed_snapshot.TestRawImagesDisallowed'},
}
SELECTED['format-cold-migration-flat'] = SELECTED['format-cold-migration-raw']
for _cycle in ('2025-1', '2025-2', '2026-1'):
    for _job in ('format-cold-migration-raw', 'format-nfs'):
        SELECTED[f'{_job}-{_cycle}'] = SELECTED[_job]

# Those that the lab alone runs.
LAB = {
    # Three hosts; nova leaves a server's files behind where one migration
    # fails, which only a cloud that can be thrown away may be cleaned of.
    'test_cold_migration.TestColdMigrationBetweenBackends',
    # Two hosts of each backend. Nothing is known to be wrong there.
    'test_live_migration.TestSameBackend',
    # One host of each backend. Nothing is known to be wrong there either.
    'test_rescue.TestRescue',
    'test_server_snapshot.TestServerSnapshot',
    'test_shelve.TestShelve',
    # They edit the files of servers on the hosts.
    'test_audit.TestAudit',
    'test_observation.TestObservation',
    # They make users and a container there.
    'test_host_access.TestHostAccess',
    # The jobs about these bugs run the same operations.
    'test_audit.TestAuditAfterColdMigration',
    'test_audit.TestAuditAfterNfsSnapshot',
}
# Tests with these attributes are for one job alone.
ATTRIBUTES = {
    'raw_disallowed': 'format-volume-backed-snapshot-raw-disallowed',
    'reconfigure': 'format-reconfigure',
}


def scenario_tests():
    """Return the ids of all scenario tests, as tempest lists them."""
    directory = pathlib.Path(scenario.__file__).parent
    return sorted(_ids(unittest.TestLoader().discover(
        str(directory), top_level_dir=str(repositories.ROOT))))


def _ids(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _ids(test)
        else:
            yield test.id()


def class_of(test):
    """Return '<module>.<class>' of the id of a scenario test."""
    return '.'.join(test.split('[')[0].split('.')[-3:-1])


def selected(job, tests):
    """Return the tests that tempest runs for a job's variables.

    As the role run-tempest hands them over: stestr looks for the one regular
    expression and then drops what has the other.
    """
    exclude = job.variables.get('tempest_exclude_regex')
    return [test for test in tests
            if re.search(job.variables['tempest_test_regex'], test)
            and not (exclude and re.search(exclude, test))]


class TestSelection(base.ZuulTest):

    def setUp(self):
        super().setUp()
        self.tests = scenario_tests()
        self.by_job = {name: job for name, job in self.jobs().items()
                       if 'tempest_test_regex' in job.variables}

    def test_classes_of_each_job(self):
        """Whole classes, and just these."""
        self.assertEqual(SELECTED.keys(), self.by_job.keys())
        for name, job in self.by_job.items():
            chosen = selected(job, self.tests)
            self.assertEqual(SELECTED[name], set(map(class_of, chosen)), name)
            self.assertEqual(
                [test for test in self.tests
                 if class_of(test) in SELECTED[name]], chosen, name)

    def test_environment(self):
        """Regular expressions count in this one of tempest's alone."""
        self.assertEqual({'all'}, {job.variables['tox_envlist']
                                   for job in self.by_job.values()})

    def test_each_test_is_for_a_job(self):
        """A new test is for a job here, or LAB says that it isn't."""
        self.assertEqual(set().union(*SELECTED.values(), LAB), {
            class_of(test) for test in self.tests
            if not _attributes(test) & {'reconfigure'}})

    def test_attributes_are_for_one_job(self):
        for attribute, wanted in ATTRIBUTES.items():
            having = [test for test in self.tests
                      if attribute in _attributes(test)]
            for name, job in self.by_job.items():
                self.assertEqual(having if name == wanted else [], [
                    test for test in selected(job, self.tests)
                    if attribute in _attributes(test)], name)
        self.assertTrue([test for test in self.tests
                         if 'raw_disallowed' in _attributes(test)])

    def test_reconfigure(self):
        """It finds its tests by their attribute alone."""
        regex = base.EXPECTED['jobs']['format-reconfigure']['variables'][
            'tempest_test_regex']
        name = 'tempest_format_plugin.tests.scenario.test_x.TestX.test_x'
        self.assertTrue(re.search(regex, f'{name}[id-1,reconfigure,slow]'))
        self.assertFalse(re.search(regex, f'{name}[id-1,slow]'))
        self.assertFalse(re.search(regex, f'{name}_reconfigure[id-1]'))


def _attributes(test):
    return set(test.partition('[')[2].rstrip(']').split(','))

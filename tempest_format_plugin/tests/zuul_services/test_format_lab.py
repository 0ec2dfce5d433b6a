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

"""Zuul runs the playbooks of format-lab on a node."""

import testtools
from testtools import content
import yaml

from tempest_format_plugin.tests.zuul_services import ansible
from tempest_format_plugin.tests.zuul_services import builds
from tempest_format_plugin.tests.zuul_services import machine
from tempest_format_plugin.tests.zuul_services import nodes
from tempest_format_plugin.tests.zuul_services import paths
from tempest_format_plugin.tests.zuul_services import repositories

_SOURCES = ('cinder', 'glance', 'nova')
_HOME = '/home/zuul'
_CHECKOUTS = f'{_HOME}/src/opendev.org/openstack'
_OWN_CHECKOUT = f'{_CHECKOUTS}/tempest-format-plugin'


class FormatLabJobTest(testtools.TestCase):
    """All is real but the lab: the job's tools/tox.sh only notes its calls.

    The stubs of other repositories get what the job needs of OpenDev's: a base
    job that gives the node its checkouts and fetches what is staged, and the
    role that stages. See the directory site.
    """

    def test_playbooks(self):
        machine.check()

        # 1. A node, and the Ansible that Zuul's executor uses.
        ansible_root = ansible.install()
        node = self.useFixture(nodes.Node())

        # 2. The tenant: our repository, stubs of the others, our site's own.
        projects = self.useFixture(repositories.Repositories())
        projects.lay_over(paths.HERE / 'site')
        projects.write('opendev/base-jobs', 'zuul.d/provider.yaml',
                       yaml.safe_dump(node.provider('debian-bookworm')))
        projects.configure('opendev/base-jobs',
                           {'include-provider-config': True})
        projects.tenant['use-nodepool'] = False

        # 3. ZooKeeper, PostgreSQL, scheduler, executor and launcher.
        services = self.useFixture(
            builds.ZuulWithNode(projects, node, ansible_root))

        # 4. Somebody pushes, and Zuul runs format-lab.
        services.wait_until_watching(repositories.OWN)
        pushed = projects.commit(repositories.OWN, 'A change')
        build = services.wait_for_build()
        self.addDetail('job-output', content.text_content(build.output))
        self.assertEqual(('format-lab', 'SUCCESS', None),
                         (build.job, build.result, build.error))

        # 5. Its playbooks ran between those of the base job.
        self.assertEqual(
            [('pre', 'base/pre.yaml'), ('pre', 'format-lab/pre.yaml'),
             ('run', 'format-lab/run.yaml'), ('post', 'format-lab/post.yaml'),
             ('post', 'base/post.yaml')], build.playbooks())

        # 6. Before the run the node was told that root may read the checkouts
        # of its user.
        trusted = node.path('/etc/gitconfig').read_text()
        for name in ('tempest-format-plugin', *_SOURCES):
            self.assertIn(f'directory = {_CHECKOUTS}/{name}\n', trusted)

        # 7. The lab was run as root on what Zuul had checked out, and asked
        # for the bugs that the branch has; what it left was taken down.
        results = build.logs / 'current'
        base = yaml.safe_load((
            paths.REPO / 'zuul.d/base.yaml').read_text())
        known_bugs, = (
            each['job']['vars']['format_known_bugs'] for each in base
            if each['job']['name'] == 'format-lab-base')
        options = ' '.join(f'--source={name}={_CHECKOUTS}/{name}'
                           for name in _SOURCES)
        self.assertEqual(
            [f'root in {_OWN_CHECKOUT}: -e lab -- run --cloud current '
             f'--known-bugs {",".join(known_bugs)} {options}',
             f'root in {_OWN_CHECKOUT}: -e lab -- down --cloud current'],
            (results / 'calls.txt').read_text().splitlines())
        self.assertFalse(
            node.path('/var/lib/format-lab/clouds/current').exists())

        # 8. Root's git could read each source, and each is at its project's
        # commit; what was pushed is what was run.
        self.assertEqual(
            [projects.head(f'openstack/{name}') for name in _SOURCES],
            (results / 'heads.txt').read_text().split())
        self.assertEqual(
            pushed, (results / 'own-head.txt').read_text().strip())

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

from tempest_format_plugin.tests.roles import base

ADDRESSES = base.ADDRESSES
OPTIONS = '(rw,sync,no_root_squash,no_subtree_check)'
EXPORTS = '/etc/exports.d/format.exports'
DIRECTORY = '/srv/volumes of a test'

# Debian's packages are out of the nodes' reach, and so is a kernel's NFS
# server. These install what the role calls, and keep how it was called.
EXPORTFS = """#!/bin/sh
echo "$*" >>/var/log/exportfs.calls
cat /etc/exports.d/*.exports >/var/lib/exported 2>/dev/null || :
"""
SERVICE = """#!/bin/sh
### BEGIN INIT INFO
# Provides: nfs-server
# Required-Start: $local_fs
# Required-Stop: $local_fs
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: stands in for the NFS server
### END INIT INFO
case $1 in
start) echo start >>/var/log/nfs-server.calls; : >/run/nfs-server.running ;;
status) [ -e /run/nfs-server.running ] && echo running || exit 3 ;;
esac
"""
STATUS = r'${db:Status-Abbrev}${Package}\n'
PACKAGES = {
    'nfs-kernel-server': {'usr/sbin/exportfs': EXPORTFS,
                          'etc/init.d/nfs-server': SERVICE},
    'nfs-common': {'sbin/mount.nfs': '#!/bin/sh\n'},
}


class NfsExportTest(base.RolesTestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_archive()
        variables = {'format_nfs_export_dir': DIRECTORY}
        cls.files_only = cls.role(
            'all', 'format_nfs_export', format_nfs_export_dir='/srv/other',
            format_nfs_export_serve=False)
        cls.seen_files_only = cls.look()
        cls.first = cls.role('all', 'format_nfs_export', **variables)
        cls.second = cls.role('all', 'format_nfs_export', **variables)
        cls.seen = cls.look()
        cls.write('controller', f'{DIRECTORY}/volume-1', 'precious')
        cls.role('all', 'format_nfs_export', tasks_from='remove', **variables)
        cls.seen_kept = cls.look()
        cls.run_on('controller', f'rm "{DIRECTORY}/volume-1"')
        cls.undone = cls.role('all', 'format_nfs_export', tasks_from='remove',
                              **variables)
        cls.undone_again = cls.role(
            'all', 'format_nfs_export', tasks_from='remove', **variables)
        cls.seen_undone = cls.look()

    @classmethod
    def make_archive(cls):
        """Give the nodes an archive of packages, and no other."""
        archive = cls.dir / 'shared'
        # The version is higher than any that another package breaks with.
        for package, files in PACKAGES.items():
            tree = cls.dir / 'packages' / package
            for path, text in files.items():
                file = tree / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
                file.chmod(0o755)
            (tree / 'DEBIAN').mkdir()
            (tree / 'DEBIAN' / 'control').write_text(
                f'Package: {package}\nVersion: 99:1\nArchitecture: all\n'
                f'Maintainer: nobody <nobody@example.org>\n'
                f'Description: stands in for Debian\'s\n')
            cls._command('dpkg-deb', '--build', '--root-owner-group', '-Znone',
                         tree, archive)
        index = ''.join(cls.entry(path) for path in archive.glob('*.deb'))
        (archive / 'Packages').write_text(index)
        for host in ADDRESSES:
            cls.run_on(host, f'''
                rm -rf /etc/apt/sources.list* /var/lib/apt/lists
                mkdir -p /var/lib/apt/lists/partial
                echo 'deb [trusted=yes] file:{archive} ./' \
                    >/etc/apt/sources.list
                echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/99test
                apt-get -qq update''')

    @classmethod
    def entry(cls, path: pathlib.Path):
        control = cls._command('dpkg-deb', '--field', path)
        digest = cls._command('sha256sum', path).split()[0]
        return (f'{control}Filename: ./{path.name}\nSHA256: {digest}\n'
                f'Size: {path.stat().st_size}\n\n')

    @classmethod
    def look(cls):
        """What there is on each host, by a name for it."""
        return {host: dict(
            line.partition('=')[::2] for line in cls.run_on(host, f'''
                echo "exports=$(grep -v '^#' {EXPORTS} 2>/dev/null)"
                echo "exported=$(grep -v '^#' /var/lib/exported 2>/dev/null)"
                echo "exportfs=$(cat /var/log/exportfs.calls | xargs)"
                echo "service=$(cat /var/log/nfs-server.calls | xargs)"
                echo "dir=$(stat -c '%U %a' '{DIRECTORY}' 2>/dev/null)"
                echo "packages=$(dpkg-query -W -f '{STATUS}' 'nfs-*' |
                    sed -n 's/^ii *//p' | xargs)"
                ''').splitlines() if line and '=' in line)
            for host in ADDRESSES}

    def test_export(self):
        self.assertEqual(
            f'"{DIRECTORY}" {ADDRESSES["controller"]}{OPTIONS} '
            f'2001:db8::10{OPTIONS} {ADDRESSES["compute1"]}{OPTIONS}',
            self.seen['controller']['exports'])
        self.assertEqual('stack 755', self.seen['controller']['dir'])

    def test_export_on_controller_only(self):
        self.assertEqual(('', ''), (self.seen['compute1']['exports'],
                                    self.seen['compute1']['dir']))

    def test_serves(self):
        seen = self.seen['controller']
        self.assertEqual(seen['exports'], seen['exported'])
        # Once, in two runs.
        self.assertEqual(('-ra', 'start'), (seen['exportfs'],
                                            seen['service']))

    def test_packages(self):
        self.assertEqual('nfs-common nfs-kernel-server',
                         self.seen['controller']['packages'])
        self.assertEqual('nfs-common', self.seen['compute1']['packages'])

    def test_second_run_changes_nothing(self):
        self.assert_changes(self.first)
        self.assert_no_changes(self.second)

    def test_files_only(self):
        seen = self.seen_files_only
        self.assert_changes(self.files_only)
        self.assertEqual(
            self.seen['controller']['exports'].replace(DIRECTORY,
                                                       '/srv/other'),
            seen['controller']['exports'])
        for host in ADDRESSES:
            self.assertEqual(
                ('', '', ''), (seen[host]['exportfs'], seen[host]['service'],
                               seen[host]['packages']))

    def test_undone(self):
        seen = self.seen_undone['controller']
        self.assertEqual(('', '', '-ra -ra'), (
            seen['exports'], seen['exported'], seen['exportfs']))
        self.assert_no_changes(self.undone_again)

        self.assertEqual('', seen['dir'])

    def test_undone_leaves_volumes(self):
        self.assertEqual('stack 755', self.seen_kept['controller']['dir'])

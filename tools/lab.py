#!/usr/bin/env python3
#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Drive the lab: a real OpenStack on this machine, and the scenarios on it.

``run`` (the default) starts a cloud from nothing, runs the scenarios, prints
the verdicts and stops the cloud; its exit status is 0 only if every verdict
is the one that this cloud is known for. ``up``, ``test``, ``status`` and
``down`` are its parts, for working on a cloud that stays.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import psutil
from tempest_format_plugin import results
import yaml

REPO = pathlib.Path(__file__).resolve().parent.parent
PLAYBOOKS = REPO / 'playbooks' / 'lab'
CLOUDS = PLAYBOOKS / 'clouds'
BIN = pathlib.Path(sys.executable).parent

NETNS = pathlib.Path('/run/netns')
DIRECTORY = pathlib.Path('/var/lib/format-lab')
# In the environment of all that the driver starts: which cloud it is for.
MARK = 'FORMAT_LAB_DRIVEN_CLOUD'
MEMORY_GIB = 6
DISK_GIB = 8
# Comes before the arguments: tempest goes by the last word.
DEFAULT_CONCURRENCY = ['--concurrency', '2']
# What tempest is told where the arguments don't select tests of their own.
DEFAULT_TESTS = ['--regex', r'^tempest_format_plugin\.tests\.scenario\.']
SELECTING = ('--regex', '-r', '--include-list', '--load-list', '--smoke', '-s')
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SUPPORTED_SYSTEMS = {('debian', '12'), ('debian', '13')}


class LabError(Exception):
    """Something that the person at the keyboard can mend."""


def say(text=''):
    # Whoever listened may be gone: the cloud must be taken down all the same.
    with contextlib.suppress(OSError):
        print(text, flush=True)


@contextlib.contextmanager
def step(title):
    """Say what is being done, and afterwards how long it took."""
    say(f'{title} ...')
    started = time.monotonic()
    yield
    say(f'  {time.monotonic() - started:6.1f} s  done')


class Lab:
    """One cloud of the lab and the place where it lives."""

    def __init__(self, directory, cloud):
        self.directory = directory
        self.cloud = cloud
        self.cloud_dir = directory / 'clouds' / cloud
        # Network namespaces are the machine's, not the directory's.
        place = '' if directory == DIRECTORY else '-' + hashlib.sha256(
            bytes(directory)).hexdigest()[:6]
        self.netns_prefix = f'format-lab{place}-{cloud}'
        self.control_netns = f'{self.netns_prefix}-control'
        self.results_dir = directory / 'results' / cloud
        self.settings_file = self.cloud_dir / 'settings.json'
        # There while the mount of NETNS is the lab's own doing.
        self.netns_file = directory / 'netns-is-ours'

    # -- running things

    @contextlib.contextmanager
    def lock(self):
        """Keep a second driver of the same cloud out.

        The lock dies with this process, whatever kills it: it isn't
        inherited by children.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f'{self.cloud}.lock', 'w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LabError(f'another lab command is at work on the cloud '
                               f'{self.cloud}: wait for it, or end it')
            self._end_orphans()
            yield

    def _end_orphans(self):
        """End what a killed driver left running: it would go on changing.

        Known by the driver's mark in their environment. The nodes have none:
        they are meant to stay.
        """
        orphans = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) == str(self.cloud_dir):
                    orphans.append(process)
        if orphans:
            say(f'ending {len(orphans)} processes of an interrupted run')
            end(orphans)

    @contextlib.contextmanager
    def child(self, argv, environment=None, **kwargs):
        """Start a child; end it and its descendants when the block ends.

        It has a session of its own: Ctrl-C reaches the driver alone, which
        decides what is ended in which order.
        """
        child = subprocess.Popen(
            argv, start_new_session=True, stdin=subprocess.DEVNULL,
            env=os.environ | {MARK: str(self.cloud_dir)} | (environment or {}),
            **kwargs)
        try:
            yield child
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.poll() is None:
                    process = psutil.Process(child.pid)
                    # The process first: it would replace what it loses.
                    end([process, *process.children(recursive=True)])
            child.wait()

    def ansible_environment(self):
        """What ansible-playbook is told by its environment.

        Its files are the cloud's. So are its SSH connections, which outlive
        it and go by the address alone: another cloud has the same addresses.
        """
        home = self.cloud_dir / 'ansible'
        return {'ANSIBLE_CONFIG': str(PLAYBOOKS / 'ansible.cfg'),
                'ANSIBLE_HOME': str(home),
                'ANSIBLE_SSH_CONTROL_PATH_DIR': str(home / 'cp'),
                'ANSIBLE_LOCALHOST_WARNING': 'false',
                'LC_ALL': 'C.UTF-8'}

    def in_cloud(self, *argv):
        """argv, entered into the network of the control node."""
        return ['nsenter', f'--net={NETNS}/{self.control_netns}', *argv]

    # -- what the lab has

    def networks(self):
        """Names of this cloud's network namespaces."""
        names = [f'{self.netns_prefix}-{node}' for node in self.nodes()]
        return [name for name in names if os.path.exists(f'{NETNS}/{name}')]

    @staticmethod
    def nodes():
        """The nodes' addresses by name."""
        inventory = yaml.safe_load((PLAYBOOKS / 'inventory.yaml').read_text())
        return {host: variables['ansible_host']
                for group in inventory['all']['children'].values()
                for host, variables in group['hosts'].items()}

    def processes(self):
        """Processes of this cloud: those in its network or its nodes."""
        found = []
        spaces = {os.stat(f'{NETNS}/{name}').st_ino
                  for name in self.networks()}
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.stat(f'/proc/{process.pid}/ns/net').st_ino in spaces:
                    found.append(process)
        return found

    def lock_digest(self):
        """What this cloud's packages are; the cache goes by it."""
        cloud = yaml.safe_load((CLOUDS / f'{self.cloud}.yaml').read_text())
        lock_file = CLOUDS / cloud['format_lab_lock']
        return hashlib.sha256(lock_file.read_bytes()).hexdigest()[:16]

    # -- verbs

    def up(self, settings):
        if not self.networks():
            # A cloud that is up has taken its memory already.
            check_machine(self.directory)
            check_isolation(self.directory)
        check_sources(self.directory / 'cache' / 'venvs' / self.lock_digest())
        if self.settings_file.exists():
            running = json.loads(self.settings_file.read_text())
            if running != settings:
                raise LabError(
                    f'the cloud {self.cloud} was started with other settings '
                    f'({describe(running)}): take it down first')
        self.cloud_dir.mkdir(parents=True, exist_ok=True)
        if not netns_is_mounted():
            self.netns_file.touch()
        new = self.settings_file.with_suffix('.new')
        new.write_text(json.dumps(settings))
        new.replace(self.settings_file)
        variables = {
            'format_lab_dir': str(self.directory),
            'format_lab_cloud': self.cloud,
            'format_lab_lock_digest': self.lock_digest(),
            'format_lab_netns': self.netns_prefix,
            'format_lab_raw_images_type': settings['images_type'],
            'format_lab_use_cow_images': settings['use_cow_images'],
        }
        playbook = self.child(
            [BIN / 'ansible-playbook', 'up.yaml',
             '-e', f'@clouds/{self.cloud}.yaml', '-e', json.dumps(variables)],
            cwd=PLAYBOOKS, environment=self.ansible_environment())
        with playbook as child:
            if child.wait():
                raise LabError(f'the cloud {self.cloud} did not come up; '
                               'what failed is told above')

    def test(self, arguments):
        """Run tempest; return the verdicts and keep them in results_dir."""
        if not (self.cloud_dir / 'tempest.conf').exists():
            raise LabError(f'the cloud {self.cloud} is not up: bring it up '
                           'first')
        self.results_dir.mkdir(parents=True, exist_ok=True)
        # stestr's repository stays: by its times the next run is balanced. Its
        # configuration doesn't: it names the tempest of another checkout.
        for old in self.results_dir.iterdir():
            if old.name != '.stestr':
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        log = self.results_dir / 'tempest.log'
        log.touch()
        tempest = self.child(
            self.in_cloud(BIN / 'tempest', 'run', '--config-file',
                          self.cloud_dir / 'tempest.conf',
                          *DEFAULT_CONCURRENCY, *arguments,
                          *([] if any(map(selects_tests, arguments))
                            else DEFAULT_TESTS)),
            cwd=self.results_dir)
        before = self._runs_of_stestr()
        with tempest as child, open(log, errors='replace') as lines:
            while child.poll() is None:
                show_progress(lines)
                time.sleep(0.5)
            show_progress(lines)
        if self._runs_of_stestr() == before:
            raise LabError('no test was run: see what tempest said above')
        stream = self.results_dir / 'results.subunit'
        with open(stream, 'wb') as output:
            subprocess.run([BIN / 'stestr', 'last', '--subunit'], check=False,
                           cwd=self.results_dir, stdout=output)
        with open(stream, 'rb') as results_stream:
            verdicts = results.read(results_stream)
        (self.results_dir / 'verdicts.json').write_text(
            json.dumps(results.as_dicts(verdicts), indent=1))
        if child.returncode and all(v.expected for v in verdicts):
            # A worker that died between two tests takes the rest with it.
            raise LabError(f'tempest ended with {child.returncode} although '
                           'no test failed: see what it said above')
        return verdicts

    def _runs_of_stestr(self):
        """What stestr counts its stored runs by; None if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return (self.results_dir / '.stestr' / 'next-stream').read_text()

    def benchmark(self):
        """Measure an observation; return the benchmark's exit status."""
        with self.child(
                self.in_cloud(sys.executable,
                              REPO / 'tools' / 'benchmark_observation.py'),
                environment={'TEMPEST_CONFIG_DIR': str(self.cloud_dir),
                             'TEMPEST_CONFIG': 'tempest.conf'}) as child:
            return child.wait()

    def status(self):
        """Say what runs; return whether all of it does."""
        if not self.settings_file.exists():
            say(f'the cloud {self.cloud} is down')
            return False
        settings = json.loads(self.settings_file.read_text())
        say(f'the cloud {self.cloud}, {describe(settings)}')
        if not (self.cloud_dir / 'ssh').exists():
            say('its nodes have never been started')
            return False
        healthy = True
        for node, address in self.nodes().items():
            services = subprocess.run(
                [self.cloud_dir / 'ssh', '-o', 'ConnectTimeout=10',
                 '-i', self.cloud_dir / 'id_ed25519', '-o',
                 f'UserKnownHostsFile={self.cloud_dir}/known_hosts',
                 '-o', 'IdentitiesOnly=yes',
                 f'root@{address}',
                 'supervisorctl -c /etc/supervisord.conf status'],
                check=False, capture_output=True, text=True)
            lines = services.stdout.splitlines()
            healthy &= bool(lines) and all(' RUNNING ' in x for x in lines)
            say(f'{node} ({address})')
            for line in lines or services.stderr.splitlines():
                say(f'  {line}')
        return healthy

    def down(self):
        """Stop all of the cloud and remove its state; the cache stays."""
        # The nodes' first processes take all in their namespaces with them.
        for _ in range(50):
            processes = self.processes()
            if not processes:
                break
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(processes, timeout=1)
        else:
            raise LabError('these processes of the cloud do not end: '
                           + ', '.join(map(str, processes)))
        for name in self.networks():
            subprocess.run(['ip', 'netns', 'del', name], check=True)
        # ip makes a mount of the directory at the first namespace ever, and
        # leaves it.
        if self.netns_file.exists() and not any(NETNS.iterdir()):
            subprocess.run(['umount', NETNS], check=False)
            NETNS.rmdir()
            self.netns_file.unlink()
        if self.cloud_dir.exists():
            shutil.rmtree(self.cloud_dir)


def netns_is_mounted():
    """Whether NETNS is a mount; a bind of a directory is no ismount()."""
    mounts = pathlib.Path('/proc/self/mountinfo').read_text().splitlines()
    return any(mount.split()[4] == str(NETNS) for mount in mounts)


def selects_tests(argument):
    """Whether an argument for tempest run says which tests to run."""
    return (argument.split('=')[0] in SELECTING
            or re.match('-[rs].', argument) is not None)


def end(processes):
    """End processes, in this order, by their ids: gently, then not."""
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.terminate()
    _, alive = psutil.wait_procs(processes, timeout=10)
    for one in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(alive, timeout=5)


def show_progress(lines):
    """Say what the scenarios have said in tempest's log since last time."""
    for line in lines:
        found = re.search(r' INFO tempest_format_plugin\.tests\.scenario\S* '
                          r'\[.*?\] (.*)', line)
        if found and not found[1].endswith(':'):
            say(f'    {time.strftime("%H:%M:%S")} {found[1]}')


def check_root():
    """Refuse whoever may not do what the lab does."""
    if os.geteuid() != 0:
        raise LabError('the lab makes network namespaces: run it as root')


def check_machine(directory):
    """Refuse at once, in one line, a machine that the lab can't run on."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$',
                              pathlib.Path('/etc/os-release').read_text(),
                              re.MULTILINE))
    system = release.get('ID'), release.get('VERSION_ID')
    if system not in SUPPORTED_SYSTEMS:
        raise LabError(f'the lab runs on Debian 12 or 13, this is '
                       f'{release.get("PRETTY_NAME", "unknown")}: use a '
                       f'virtual machine')
    if platform.machine() != 'x86_64':
        raise LabError(f'the lab\'s guest is for x86_64, this machine is '
                       f'{platform.machine()}: use another')
    memory = psutil.virtual_memory().available / 2 ** 30
    if memory < MEMORY_GIB:
        raise LabError(f'the lab needs {MEMORY_GIB} GiB of free memory, there '
                       f'are {memory:.1f}: end something or use a larger '
                       f'machine')
    directory.mkdir(parents=True, exist_ok=True)
    disk = shutil.disk_usage(directory).free / 2 ** 30
    if disk < DISK_GIB:
        raise LabError(f'the lab needs {DISK_GIB} GiB of free disk in '
                       f'{directory}, there are {disk:.1f}: free some or name '
                       f'another place with FORMAT_LAB_DIR')


def check_isolation(directory):
    """Refuse, in one line, a machine that nodes can't be made on."""
    namespaces = subprocess.run(
        ['unshare', '--net', '--mount', '--uts', '--ipc', '--pid', '--fork',
         'true'], check=False, capture_output=True, text=True)
    if namespaces.returncode:
        raise LabError(f'this machine makes no namespaces '
                       f'({last_line(namespaces.stderr)}): use a virtual '
                       f'machine or a privileged container')
    with tempfile.TemporaryDirectory(dir=directory) as trial:
        for name in ('upper', 'work', 'root'):
            os.mkdir(f'{trial}/{name}')
        # In a namespace of its own: it goes with the process.
        overlay = subprocess.run(
            ['unshare', '--mount', 'mount', '-t', 'overlay', 'overlay', '-o',
             f'lowerdir=/,upperdir={trial}/upper,workdir={trial}/work',
             f'{trial}/root'], check=False, capture_output=True, text=True)
    if overlay.returncode:
        raise LabError(f'the file system of {directory} takes no overlay '
                       f'({last_line(overlay.stderr)}): name a place on ext4 '
                       f'or XFS with FORMAT_LAB_DIR')


def check_sources(venv):
    """Refuse, in one line, a machine whose packages can't be had.

    Asks only where something is missing: a lab that has all it needs comes
    up without any network.

    :param venv: where the services' packages are installed
    """
    defaults = yaml.safe_load(
        (REPO / 'roles/format_lab_host/defaults/main.yaml').read_text())
    installed = subprocess.run(
        ['dpkg-query', '--show', '--showformat', '${db:Status-Status}\n',
         *defaults['format_lab_host_packages']],
        check=False, capture_output=True, text=True)
    if installed.returncode or set(installed.stdout.split()) != {'installed'}:
        update = subprocess.run(['apt-get', '-qq', 'update'], check=False,
                                capture_output=True, text=True)
        # One of several sources may be down: what counts is whether all
        # packages are to be had.
        trial = subprocess.run(
            ['apt-get', '-qq', '--simulate', '--no-install-recommends',
             'install', *defaults['format_lab_host_packages']],
            check=False, capture_output=True, text=True)
        if trial.returncode:
            raise LabError(f'Debian packages are missing and can\'t be had: '
                           f'see /etc/apt '
                           f'({last_line(update.stderr + trial.stderr)})')
    if (venv / 'complete').exists():
        return
    resolve = subprocess.run(
        [BIN / 'uv', 'pip', 'compile', '--quiet', '-'], check=False,
        input='pbr', capture_output=True, text=True)
    if resolve.returncode:
        raise LabError(f'Python packages are missing and no index answers: '
                       f'name one with UV_DEFAULT_INDEX '
                       f'({last_line(resolve.stderr)})')


def last_line(text):
    return (text.strip().splitlines() or ['no reason given'])[-1].strip()


def describe(settings):
    return ', '.join(f'{key} = {value}' for key, value in settings.items())


def verdict_of(verdicts):
    """Show the verdicts; return the exit status that they amount to."""
    say(results.render(verdicts))
    unexpected = [v for v in verdicts if not v.expected]
    say(f'{len(verdicts) - len(unexpected)} verdicts as expected, '
        f'{len(unexpected)} not')
    return 1 if unexpected else 0


def ignore_interrupts():
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)


def interrupt(number, frame):
    """Be interrupted, once: tox passes Ctrl-C on more than once.

    What then ends the child and takes the cloud down must not be cut short.
    """
    ignore_interrupts()
    raise KeyboardInterrupt


def run(lab, settings, arguments):
    """A cloud from nothing, the scenarios, the verdicts, and all away."""
    if lab.cloud_dir.exists() or lab.networks():
        with step('Taking down what an earlier run left'):
            lab.down()
    try:
        lab.up(settings)
        with step('Scenarios'):
            verdicts = lab.test(arguments)
        return verdict_of(verdicts)
    finally:
        ignore_interrupts()
        with step('Taking the cloud down'):
            lab.down()


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog='tox -e lab --', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # What it doesn't know is for tempest, not an abbreviation.
        allow_abbrev=False)
    parser.add_argument(
        'command', nargs='?', default='run',
        choices=['run', 'up', 'test', 'benchmark', 'status', 'down',
                 'lock'],
        help='run: all of it (default); up, test, status, down: its parts; '
             'benchmark: what an observation costs, on a cloud that is up; '
             'lock: make the lock file of the cloud anew from its .in file')
    parser.add_argument(
        '--cloud', default='current', choices=sorted(
            path.stem for path in CLOUDS.glob('*.yaml')),
        help='which releases, by a file of playbooks/lab/clouds (default: '
             'current)')
    parser.add_argument(
        '--images-type', default='raw', choices=['raw', 'flat'],
        help='by which of its two names the raw hosts call their image '
             'backend (default: raw)')
    parser.add_argument(
        '--use-cow-images', default='true', choices=['true', 'false'],
        help='false: the workaround that LP 2038898 names (default: true)')
    arguments, rest = parser.parse_known_args(argv)
    if rest and arguments.command not in ('run', 'test'):
        parser.error(f'{arguments.command} takes no {" ".join(rest)}')
    return arguments, rest


def main(argv=None):
    arguments, rest = parse_arguments(argv)
    directory = os.environ.get('FORMAT_LAB_DIR') or DIRECTORY
    lab = Lab(pathlib.Path(directory).absolute(), arguments.cloud)
    settings = {'images_type': arguments.images_type,
                'use_cow_images': arguments.use_cow_images == 'true',
                'packages': lab.lock_digest()}
    for number in INTERRUPTS:
        # nohup and a shell's & ignore one: so it stays.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        if arguments.command == 'lock':
            return lock(arguments.cloud)
        check_root()
        if arguments.command == 'status':
            return 0 if lab.status() else 1
        with lab.lock():
            if arguments.command == 'run':
                return run(lab, settings, rest)
            if arguments.command == 'up':
                lab.up(settings)
            elif arguments.command == 'test':
                return verdict_of(lab.test(rest))
            elif arguments.command == 'benchmark':
                return lab.benchmark()
            elif arguments.command == 'down':
                with step('Taking the cloud down'):
                    lab.down()
    except LabError as error:
        say(f'lab: {error}')
        return 1
    except KeyboardInterrupt:
        say('lab: interrupted')
        return 130
    return 0


def lock(cloud):
    """Resolve a cloud's .in file anew, as of the date in its first line."""
    source = CLOUDS / f'{cloud}.in'
    date = re.match(r'# As of (\S+)', source.read_text())
    if date is None:
        raise LabError(f'{source}: the first line must be "# As of DATE"')
    return subprocess.run(
        [BIN / 'uv', 'pip', 'compile', source.name, '-o', f'{cloud}.lock',
         '--universal', '--python-version', '3.11', '--generate-hashes',
         '--upgrade', '--quiet', '--exclude-newer', date[1],
         '--custom-compile-command', f'tox -e lab -- lock --cloud {cloud}'],
        check=False, cwd=CLOUDS).returncode


if __name__ == '__main__':
    sys.exit(main())

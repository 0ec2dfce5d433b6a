# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What can go wrong between the test process and a compute host."""


class HostError(Exception):
    """Base of all errors of this package."""


class ProfileError(HostError):
    """The deployment profile, as configured, makes no sense."""

    def __init__(self, problem, option):
        super().__init__(f'{problem}: set [disk_format] {option}')
        self.problem = problem
        self.option = option


class HostAccessError(HostError):
    """A compute host can't be used as it is configured.

    :param host: name of the compute host
    :param problem: what was tried, and what came instead
    :param option: option (or several, in words) of [disk_format] that helps;
        None where no option does
    """

    def __init__(self, host, problem, option=None):
        advice = f': set [disk_format] {option}' if option else ''
        super().__init__(f'compute host {host}: {problem}{advice}')
        self.host = host
        self.problem = problem
        self.option = option


class EditRefused(HostError):
    """Somebody else holds an edit of a host's configuration."""

    def __init__(self, host, reason):
        super().__init__(f'compute host {host}: {reason}; "tempest '
                         f'disk-format restore" undoes what nobody holds any '
                         f'more')
        self.host = host


class EditError(HostError):
    """An edit of a host's configuration, or its undo, went wrong.

    :ivar undone: whether the host is as it was before
    :ivar log: what nova-compute logged at last
    """

    def __init__(self, host, problem, undone, log):
        now = ('the host is as it was before' if undone else
               'IT IS NOT AS IT WAS BEFORE: "tempest disk-format restore" '
               'tries to undo it again')
        super().__init__(f'compute host {host}: {problem}; {now}; the log of '
                         f'nova-compute ends with: {log.strip() or "nothing"}')
        self.host = host
        self.undone = undone
        self.log = log


class CommandError(HostError):
    """A command ran on a compute host and failed.

    What was sent to the command's standard input is never part of the
    message: it may hold secrets.
    """

    # Enough for the last message of any tool, not for a whole log.
    TAIL = 2000

    def __init__(self, host, command, exit_status, stderr):
        tail = stderr[-self.TAIL:].strip() or '(no message)'
        how = ('was killed by a signal' if exit_status < 0
               else f'ended with exit status {exit_status}')
        super().__init__(
            f'compute host {host}: command {command} {how}: {tail}')
        self.host = host
        self.command = command
        self.exit_status = exit_status
        self.stderr = stderr

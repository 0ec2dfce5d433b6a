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

"""Show a play as a step: what it does, how long it took, what failed."""

import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: lab_steps
type: stdout
short_description: a line per play, with its time, and the failures
description: a line per play, with its time, and the failures
options:
  show_tasks:
    description: Also print each task's time.
    type: bool
    default: false
    env: [{name: FORMAT_LAB_SHOW_TASKS}]
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'lab_steps'

    def __init__(self):
        super().__init__()
        self.play = self.task = None
        self.started = self.task_started = 0.0
        self.changed = 0

    def _end_task(self):
        if self.task and self.get_option('show_tasks'):
            self._display.display(
                f'    {time.monotonic() - self.task_started:6.1f} s  '
                f'{self.task}')
        self.task = None

    def _end_play(self):
        self._end_task()
        if self.play:
            seconds = time.monotonic() - self.started
            changes = (f'{self.changed} changes' if self.changed
                       else 'nothing to change')
            self._display.display(f'  {seconds:6.1f} s  done, {changes}')
        self.play = None

    def v2_playbook_on_play_start(self, play):
        self._end_play()
        self.play, self.changed = play.get_name(), 0
        self.started = time.monotonic()
        self._display.display(f'{self.play} ...')

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._end_task()
        self.task, self.task_started = task.get_name(), time.monotonic()

    def v2_runner_on_ok(self, result):
        if result._result.get('changed'):
            self.changed += 1
            if self.get_option('show_tasks'):
                self._display.display(
                    f'             changed on {result._host}')

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if ignore_errors:
            return
        outcome = result._result
        self._display.display(
            f'FAILED: {result._task.get_name()} on {result._host}',
            color='red')
        for key in ('msg', 'stdout', 'stderr'):
            text = str(outcome.get(key) or '').strip()
            if text:
                self._display.display(f'{key}: {text}')
        for item in outcome.get('results', []):
            if item.get('failed'):
                name = item.get(item.get('ansible_loop_var', 'item'))
                self._display.display(
                    f"{name}: {item.get('msg')} {item.get('stderr', '')}")

    def v2_runner_on_unreachable(self, result):
        self._display.display(
            f"UNREACHABLE: {result._host}: {result._result.get('msg')}",
            color='red')

    def v2_playbook_on_stats(self, stats):
        self._end_play()

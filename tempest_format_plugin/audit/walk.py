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

"""Going from host to host, some at once, over one connection each."""

from concurrent import futures
import threading

from oslo_log import log

from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.formats import agreement
from tempest_format_plugin.formats import exceptions as formats_exceptions
from tempest_format_plugin.hosts import exceptions as hosts_exceptions

LOG = log.getLogger(__name__)

# Servers of a host that are in memory at once.
BATCH = 100
# After so many servers in a row for which a host could not be used, the host
# is given up.
PATIENCE = 2
# A server that has moved is looked for on its new host once.
ROUNDS = 2


class ServerMoved(Exception):
    """A server isn't where it was listed.

    :ivar host: where it is; None: on no host, or deleted
    """

    def __init__(self, host):
        super().__init__(f'it is on {host or "no host"} by now')
        self.host = host


class Untold(Exception):
    """What must be known of a server isn't to be had."""


def walk(journal, observe, leave, at_once, told=lambda: None,
         stopping=lambda: None):
    """Look at each server of a journal that nobody has looked at yet.

    A host that can't be used and a server that makes no sense are noted as
    such and stop nothing else.

    :param journal: a journal.Journal
    :param observe: function(host, server id, ids of its volumes) that returns
        a ServerObservation. It is called for one server of a host at a time,
        in several threads for several hosts. Whatever it raises is about this
        server: ServerMoved, or why nothing can be said of it
    :param leave: function(host) that is called when a host is done with, in
        the thread that has looked at it
    :param at_once: how many hosts are looked at at once, at most
    :param told: function that is called after each server, in any thread
    :param stopping: function that is called when the walk is interrupted and
        has to wait for what is under way
    :raises JournalError: the journal can't be written
    """
    for _ in range(ROUNDS):
        _round(journal, observe, leave, at_once, told, stopping)
    for host in journal.hosts_to_do():
        journal.keep_host_unknown(host, 'it moves while it is looked for')


def _round(journal, observe, leave, at_once, told, stopping):
    stopped = threading.Event()
    with futures.ThreadPoolExecutor(at_once) as pool:
        hosts = [pool.submit(_look_at_host, journal, observe, leave, host,
                             stopped, told) for host in journal.hosts_to_do()]
        try:
            for host in futures.as_completed(hosts):
                host.result()
        except KeyboardInterrupt:
            stopping()
            raise
        finally:
            # An interrupt: what is under way ends, what isn't never begins.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _look_at_host(journal, observe, leave, host, stopped, told):
    try:
        _look_at_servers(journal, observe, host, stopped, told)
    finally:
        leave(host)


def _look_at_servers(journal, observe, host, stopped, told):
    unusable = 0
    while servers := journal.to_do(host, BATCH):
        for server, volumes in servers:
            if stopped.is_set():
                return
            unusable_before, unusable = unusable, 0
            try:
                found = agreement.judge(observe(host, server, volumes))
                journal.keep(server, found)
            except journals.JournalError:
                raise
            except ServerMoved as error:
                journal.move(server, error.host)
            except hosts_exceptions.HostAccessError as error:
                journal.keep_unknown(server, str(error))
                unusable = unusable_before + 1
                if unusable == PATIENCE:
                    journal.keep_host_unknown(host, str(error))
                    return
            except (formats_exceptions.ObservationError,
                    hosts_exceptions.HostError, Untold) as error:
                journal.keep_unknown(server, str(error))
            except Exception as error:
                # What an API or a host answers may be anything, and must cost
                # no more than what it is about.
                LOG.debug('Server %s on %s', server, host, exc_info=True)
                journal.keep_unknown(
                    server, f'{type(error).__name__}: {error}')
            told()

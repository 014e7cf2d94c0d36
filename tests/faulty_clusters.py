"""Clusters whose workers are killed at a chosen moment, and requests that must not wait for them for ever."""

import os
import pickle
import signal
import time
from contextlib import contextmanager
from threading import Thread, Timer

import dask
from distributed import Client, LocalCluster

from unlearnspn.cluster.dask_shards import DaskShards

#: Seconds after which whatever is still going on counts as hanging.
PATIENCE = 60


#: A cluster drops a worker for good that is not there so long after one of its name was lost: here often another is.
_NEVER_DROPPED = {"distributed.deploy.lost-worker-timeout": "1 day"}


@contextmanager
def running_cluster(n_workers=2):
    """Yield the client of a cluster in processes of its own; whoever is killed is started again."""
    options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with dask.config.set(_NEVER_DROPPED), LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def worker_pids(client):
    """Return the processes of the workers, in the order of the shards of a model that is loaded."""
    answers = client.run(os.getpid, on_error="return")
    return [answers[address] for address in sorted(answers)]


def wait_for_all(client, without=(), n_workers=2):
    """Wait until there are as many workers as before, none of them the ones that were killed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        client.wait_for_workers(n_workers, timeout=PATIENCE)
        pids = worker_pids(client)
        if len(pids) == n_workers and all(isinstance(pid, int) and pid not in without for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError("the workers did not come back")


def in_time(act, *arguments):
    """Do something in a thread; return what it returns and what it raises, and fail if it takes for ever."""
    found, raised = [], []

    def run():
        try:
            found.append(act(*arguments))
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "this hangs"
    return (found or [None])[0], (raised or [None])[0]


def done_in_time(act, *arguments):
    """Do something in a thread; return what it returns, raise what it raises, and fail if it takes for ever."""
    found, error = in_time(act, *arguments)
    if error is not None:
        raise error
    return found


class Kill:
    """Kills a worker when shards are called for the k-th time, or by a method for the first time.

    `when` is "before", "after", or how many seconds after the call began; with 0 for k, after all began.
    """

    def __init__(self, pid, point, when):
        self.pid, self.point, self.when = pid, point, when
        self.n_calls = 0
        self.done = False
        self._timer = None

    def strike(self):
        if not self.done:
            self.done = True
            os.kill(self.pid, signal.SIGKILL)

    def installed(self, monkeypatch):
        """Look at each call that a coordinator makes."""
        call_all = DaskShards._call_all
        if self.point == 0:
            self._strike_later()

        def watched(shards, calls):
            is_here = self._is_here(calls)
            if is_here and self.when == "before":
                self.strike()
            if is_here and isinstance(self.when, float):
                self._strike_later()
            answers = call_all(shards, calls)
            if is_here and self.when == "after":
                self.strike()
            return answers

        monkeypatch.setattr(DaskShards, "_call_all", watched)

    def _strike_later(self):
        self._timer = Timer(self.when, self.strike)
        self._timer.start()

    def finish(self):
        """Have it done, if the moment has not come yet; tell whether it came."""
        if self._timer is not None:
            self._timer.join()
        came = self.done
        self.strike()
        return came

    def _is_here(self, calls):
        if self.done or self._timer is not None:
            return False
        self.n_calls += 1
        return self.point == self.n_calls or self.point in {_method_of(call) for call in calls.values()}


def _method_of(call):
    return pickle.loads(call[1])[0] if call[0] in ("call", "give") else call[0]

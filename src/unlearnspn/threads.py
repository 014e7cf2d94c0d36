"""Threads, where they are worth having: compiled code releases the lock that Python's threads share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from unlearnspn.interrupts import Uninterrupted

T = TypeVar("T")

#: Compiled code is sooner done with fewer rows than threads are started.
_MANY_ROWS = 4000


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pays_on_all_cores(n_jobs: int, n_rows: int) -> bool:
    """Tell whether so many jobs, with so many rows in all, should be done in threads."""
    return n_jobs > 1 and n_rows >= _MANY_ROWS and n_cores() > 1


def on_all_cores(do: Callable[..., T], jobs: Sequence[tuple[Any, ...]], sizes: Sequence[int]) -> list[T]:
    """Do some jobs, the largest first, in threads if that pays, and return the results in the order of the jobs.

    The sizes are numbers of rows. Ctrl-C waits for threads, for nothing else can end them.
    """
    if not pays_on_all_cores(len(jobs), sum(sizes)):
        return [do(*job) for job in jobs]
    with Uninterrupted(), ThreadPoolExecutor(min(n_cores(), len(jobs))) as pool:
        largest_first = sorted(range(len(jobs)), key=sizes.__getitem__, reverse=True)
        futures = {number: pool.submit(do, *jobs[number]) for number in largest_first}
        return [futures[number].result() for number in range(len(jobs))]

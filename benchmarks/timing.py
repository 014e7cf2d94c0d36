"""Taking time, with one thread for BLAS and OpenMP."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from threadpoolctl import threadpool_limits

#: What tells a new process to use one thread.
ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"
)


class Stopwatch:
    """Takes the time of a block.

    >>> with Stopwatch() as watch:
    ...     time.sleep(0.001)
    >>> watch.seconds >= 0.001
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.perf_counter() - self._started


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread, here and in the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

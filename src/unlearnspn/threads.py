"""How many threads are worth having: kernels release the lock that Python's threads share."""

from __future__ import annotations

import os


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

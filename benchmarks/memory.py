"""How much memory this process holds."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int | None:
    """Return the bytes that are resident, after giving back what is free; None where the system does not tell.

    >>> resident_bytes() is None or resident_bytes() > 1_000_000
    True
    """
    if not _STATM.exists():
        return None
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps freed memory otherwise
    if trim is not None:
        trim(0)
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int | None:
    """Return the most bytes that were ever resident; None where the system does not tell.

    >>> peak_bytes() is None or peak_bytes() > 1_000_000
    True
    """
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # macOS counts bytes, others KiB

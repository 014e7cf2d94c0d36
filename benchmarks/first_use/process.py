"""What happens in a fresh process, with whichever version of the library its Python has; the figures go to stdout.

PYTHON process.py import
PYTHON process.py use TABLE
PYTHON process.py remove TABLE CATEGORICAL_FEATURES REMOVALS

The library is imported late: its import is part of what is timed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from statistics import fmean, median
from time import perf_counter, process_time
from typing import Any

Figures = dict[str, float]


def import_() -> Figures:
    """Return the CPU seconds of an import."""
    started = process_time()
    from unlearnspn import SPN  # noqa: F401, PLC0415

    return {"seconds": process_time() - started}


def use(path: str) -> Figures:
    """Return the CPU seconds of the whole process until a table is learned, a record removed and the rest scored."""
    read = _reader(path)
    started = process_time()
    table = read(path)
    reading = process_time() - started
    from unlearnspn import SPN  # noqa: PLC0415

    spn = SPN().fit(table)
    spn.unlearn([0])
    spn.score(table)
    return {"seconds": process_time() - reading}


def remove(path: str, categorical_features: str, removals: str) -> Figures:
    """Return the seconds of the first removal, of all in the median and in the mean, and of a training after them."""
    from unlearnspn import SPN  # noqa: PLC0415

    table, number = _reader(path)(path), int(removals)
    spn = SPN(categorical_features=categorical_features).fit(table)
    seconds = []
    for name in range(number):
        started = perf_counter()
        spn.unlearn([name])
        seconds.append(perf_counter() - started)
    fresh = SPN(categorical_features=categorical_features)
    started = perf_counter()
    fresh.fit(table.iloc[number:], ids=range(number, len(table)))
    retrain = perf_counter() - started
    assert spn.digest() == fresh.digest()
    return {"first": seconds[0], "median": median(seconds), "mean": fmean(seconds), "retrain": retrain}


def _reader(path: str) -> Callable[[str], Any]:
    """Return what reads a file: an array, which needs no pandas, or a data frame."""
    if path.endswith(".npy"):
        import numpy as np  # noqa: PLC0415

        return np.load
    import pandas as pd  # noqa: PLC0415

    return pd.read_csv


if __name__ == "__main__":
    acts: dict[str, Callable[..., Figures]] = {"import": import_, "use": use, "remove": remove}
    print(json.dumps(acts[sys.argv[1]](*sys.argv[2:])))

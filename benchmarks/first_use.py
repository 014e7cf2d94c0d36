"""Measure what the first use costs: importing, the first estimator; fit, score and removal with nothing compiled.

python benchmarks/first_use.py

Every figure is from a process of its own; that of the interpreter's start is not included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

_TIMED = """
from time import perf_counter
{before}
started = perf_counter()
{timed}
print(perf_counter() - started)
"""
_FIT = """
from sklearn.datasets import load_iris
from unlearnspn import SPN
X = load_iris().data
"""
_FITTED = f"{_FIT}spn = SPN(min_rows=30).fit(X)"


def seconds(timed: str, before: str = "", cache: str | None = None) -> float:
    """Return how long some statements take in a new process, with compiled functions cached in a folder."""
    environment = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    code = _TIMED.format(before=before, timed=timed)
    run = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(run.stdout)


def main() -> None:
    with TemporaryDirectory() as cache:
        figures = {
            "import unlearnspn": seconds("import unlearnspn"),
            "the first Circuit": seconds("unlearnspn.Circuit", "import unlearnspn"),
            "the first SPN": seconds("unlearnspn.SPN", "import unlearnspn"),
            "the first fit, compiling": seconds("SPN(min_rows=30).fit(X)", _FIT, cache),
            "the first score, compiling": seconds("spn.score(X)", _FITTED, cache),
            "the first fit and score of the next process": seconds("SPN(min_rows=30).fit(X).score(X)", _FIT, cache),
            "the first removal, compiling": seconds("spn.unlearn([0])", _FITTED, cache),
            "the first removal of the next process": seconds("spn.unlearn([0])", _FITTED, cache),
        }
    for name, figure in figures.items():
        print(f"{name:<44} {figure:7.2f} s")


if __name__ == "__main__":
    main()

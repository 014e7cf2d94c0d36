"""Measure what the first use costs: importing, the demonstration, and a first fit, score and removals, not compiled.

Of each table up to 1,000 rows are scored. Removed are some records one by one, and then 1 % of all in one batch.

python benchmarks/first_use.py

Every line is from a process of its own; that of the interpreter's start is not included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

REMOVALS, SCORED = 20, 1000
_TIMED = """
from time import perf_counter
def timed(action):
    started = perf_counter()
    result = action()
    print(perf_counter() - started)
    return result
"""
_IMPORT = "timed(lambda: __import__('unlearnspn'))"
_FIRST = "import unlearnspn\ntimed(lambda: unlearnspn.{name})"
_USE = """
from unlearnspn import SPN
{table}
spn = timed(lambda: {spn}.fit(X))
timed(lambda: spn.score(X[:{scored}]))
timed(lambda: [spn.unlearn([name]) for name in range({removals})])
timed(lambda: spn.unlearn(range(100, 100 + len(X) // 100)))
"""
_DEMO = """
import io, rich.console
from unlearnspn import demo
size = demo.{size}
plan = demo.make_plan(size, size.removals, 0)
timed(lambda: demo.run(rich.console.Console(file=io.StringIO()), plan, times={times}, progress=False))
"""
_GENERATED = "from unlearnspn.bench.generated import generate\nX = generate({n_rows}, {n_columns}).frame"
_IRIS = "from sklearn.datasets import load_iris\nX = load_iris().data"


def seconds(code: str, cache: str | None = None, compiles: bool = False) -> list[float]:
    """Run some statements in a new process, with kernels kept in a folder, and return how long what it times took."""
    environment = dict(os.environ)
    environment.pop("UNLEARNSPN_COMPILE", None)
    environment |= {"NUMBA_CACHE_DIR": cache} if cache else {}
    environment |= {"UNLEARNSPN_COMPILE": "always"} if compiles else {}
    command = [sys.executable, "-c", _TIMED + code]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [float(line) for line in run.stdout.split()]


def show_imports() -> None:
    """Print what imports take."""
    figures = {"import unlearnspn": _IMPORT, **{f"the first {n}": _FIRST.format(name=n) for n in ("Circuit", "SPN")}}
    for name, code in figures.items():
        print(f"{name:<28} {seconds(code)[0]:6.2f} s")


def show_demo() -> None:
    """Print what the demonstration takes with nothing compiled, then with times, and then each of them once more."""
    small, with_times = _DEMO.format(size="FEW", times=False), _DEMO.format(size="MANY", times=True)
    with TemporaryDirectory() as cache:
        for name, code in (("demo", small), ("demo --times", with_times)) * 2:
            print(f"{name:<28} {seconds(code, cache)[0]:6.2f} s")


def show_use(name: str, table: str, spn: str = "SPN()", compiles: bool = False) -> None:
    """Print what the first use of a table takes, in the next process, and if wished with all kernels compiled."""
    code = _USE.format(table=table, spn=spn, removals=REMOVALS, scored=SCORED)
    with TemporaryDirectory() as cache:
        _show(name, seconds(code, cache))
        _show("  the next process", seconds(code, cache))
        if compiles:
            _show("  everything compiled", seconds(code, cache, compiles=True))
            _show("  the process after that", seconds(code, cache))


def _show(name: str, figures: list[float]) -> None:
    print(f"{name:<28}" + "".join(f" {figure:9.2f}" for figure in [*figures, sum(figures)]))


def main() -> None:
    show_imports()
    show_demo()
    names = ("fit", "score", f"{REMOVALS} alone", "batch", "all")
    print(f"\n{'seconds':<28}" + "".join(f" {name:>9}" for name in names))
    show_use("iris, 150 x 4", _IRIS, "SPN(min_rows=30)")
    for n_rows, n_columns in ((1000, 15), (5000, 15), (30_000, 15), (100_000, 15)):
        table = _GENERATED.format(n_rows=n_rows, n_columns=n_columns)
        show_use(f"generated, {n_rows} x {n_columns}", table, compiles=n_rows == 30_000)
    show_use("generated, 1000 x 15, paper", _GENERATED.format(n_rows=1000, n_columns=15), "SPN.from_paper()")


if __name__ == "__main__":
    main()

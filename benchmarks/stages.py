"""Say where the time of a removal goes, and how far it is from the least it could take.

python benchmarks/stages.py [--data FOLDER] [--dataset NAME] [--rows N] [--removals N]

The least: to touch each statistic of each node that held the record once, without asking whether any decision changes.
That is what taking a walk back does.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from unlearnspn import SPN, model, records, revision
from unlearnspn.bench.datasets import Dataset, load
from unlearnspn.bench.generated import generate
from unlearnspn.bench.timing import Stopwatch
from unlearnspn.compiling import compile_always
from unlearnspn.walking import Trail, walk, walk_back

#: What is timed: where a function is looked up, its name there, and what it does.
STAGES: list[tuple[Any, str, str]] = [
    (records.Records, "find", "find the record"),
    (records.Records, "stage", "totals of the columns, and whether the coding stays"),
    (revision, "walk", "walk: shift statistics, ask the questions again"),
    (model.Model, "digest_as", "digests of what was touched"),
    (model._Request, "commit", "wipe the record, and nodes that were replaced"),
]
WHOLE, FLOOR = "the whole removal", "the least: touch each statistic once"


class Stages:
    """Times some functions, whoever calls them."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def watch(self, place: Any, name: str, what: str) -> None:
        function = getattr(place, name)

        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            return self.time(what, lambda: function(*arguments, **options))

        setattr(place, name, timed)

    def time(self, what: str, function: Callable[[], Any]) -> Any:
        with Stopwatch() as watch:
            result = function()
        self.seconds[what].append(watch.seconds)
        return result


def measure(data: Dataset, removals: int) -> dict[str, list[float]]:
    """Remove records one after another; for the floor, shift each back and forth once more before it leaves."""
    ids = data.frame.index.tolist()
    warm_up = data.spn(SPN).fit(data.frame, ids=ids)
    for name in ids[:removals]:
        warm_up.unlearn([name])
    spn = data.spn(SPN).fit(data.frame, ids=ids)
    spn.digest()
    stages = Stages()
    for place, name, what in STAGES:
        stages.watch(place, name, what)
    for name in ids[:removals]:
        _time_floor(spn, name, stages)
        stages.time(WHOLE, lambda name=name: spn.unlearn([name]))  # type: ignore[misc]
    return stages.seconds


def _time_floor(spn: SPN, name: int, stages: Stages) -> None:
    engine = spn._model
    network, ground = engine.network, engine.learner.ground
    row = engine.records.find([name])
    trail = Trail(walk(network.words, ground, np.array([network.root, 0, 1, 1]), row, -1))
    if trail.n_left:  # this is no plain walk
        walk_back(network.words, ground, trail.steps, trail.rows)
    else:
        stages.time(FLOOR, lambda: walk_back(network.words, ground, trail.steps, trail.rows))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--dataset", help="a data set; a generated table without it")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--removals", type=int, default=200)
    compile_always()
    options = parser.parse_args(arguments)
    data = (
        load(options.dataset, options.data).sample(options.rows, 0) if options.dataset else generate(options.rows, 20)
    )
    seconds = measure(data, options.removals)
    table = Table("what", "median µs", title=f"{data.name}, {len(data.frame)} rows", highlight=False)
    for what in [*(stage[2] for stage in STAGES), WHOLE, FLOOR]:
        table.add_row(what, f"{np.median(seconds[what]) * 1e6:.0f}")
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Time removals against retraining, on the same records, with the same code, in the same run.

python benchmarks/speed.py FOLDER [--seeds N] [--removals N] [--settings default paper]

Retraining starts from a data frame; as reading it is no part of learning, the ratio without it is shown too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from rich.progress import track

from datasets import Dataset, load
from unlearnspn import SPN
from unlearnspn.tables import read_table

N_ROWS = 1000
NAMES = ["adult", "plants", "plants_paper", "abalone", "msnbc", "nltcs"]
SETTINGS: dict[str, Callable[..., SPN]] = {"default": SPN, "paper": SPN.from_paper}


@dataclass
class Seconds:
    """Totals of one run."""

    unlearn: float = 0.0
    read: float = 0.0
    retrain: float = 0.0

    @property
    def ratio(self) -> float:
        return (self.read + self.retrain) / self.unlearn

    @property
    def ratio_without_reading(self) -> float:
        return self.retrain / self.unlearn


def measure(everything: Dataset, make: Callable[..., SPN], seed: int, removals: int) -> Seconds:
    """Remove records one by one, and retrain on what is left after each."""
    data = everything.sample(N_ROWS, seed)
    ids, seconds = data.frame.index.tolist(), Seconds()
    spn = data.spn(make, random_state=seed).fit(data.frame, ids=ids)
    for place in range(removals):
        rest, left = data.frame.iloc[place + 1 :], ids[place + 1 :]
        fresh = data.spn(make, random_state=seed)
        started = time.perf_counter()
        spn.unlearn([ids[place]])
        unlearned = time.perf_counter()
        table = read_table(rest)
        read = time.perf_counter()
        fresh.fit(table, ids=left)
        retrained = time.perf_counter()
        seconds.unlearn += unlearned - started
        seconds.read += read - unlearned
        seconds.retrain += retrained - read
        if (spn.digest(), spn.state_digest()) != (fresh.digest(), fresh.state_digest()):
            raise RuntimeError(f"{data.name}, seed {seed}: not the retrained model after {place + 1} removals")
    return seconds


def fit_time(everything: Dataset, make: Callable[..., SPN], seeds: int) -> list[float]:
    """Return the seconds of full fits, from the data frame on."""
    seconds = []
    for seed in range(seeds):
        data = everything.sample(N_ROWS, seed)
        spn = data.spn(make)
        started = time.perf_counter()
        spn.fit(data.frame)
        seconds.append(time.perf_counter() - started)
    return seconds


def spread(values: list[float]) -> str:
    return f"{mean(values):6.1f} ± {stdev(values) if len(values) > 1 else 0.0:4.1f}"


def line(name: str, setting: str, runs: list[Seconds], removals: int) -> str:
    unlearn = mean(run.unlearn for run in runs) / removals * 1e3
    retrain = mean(run.read + run.retrain for run in runs) / removals * 1e3
    return (
        f"{name:<13} {setting:<8} {unlearn:>10.2f} {retrain:>10.2f}   {spread([run.ratio for run in runs])}   "
        f"{spread([run.ratio_without_reading for run in runs])}"
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the data sets")
    parser.add_argument("--seeds", type=int, default=5, help="how many runs, each with its own rows")
    parser.add_argument("--removals", type=int, default=100, help="how many removals a run")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["default"])
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    lines, plants = [], None
    for name in NAMES:
        data = load(name, options.folder)
        plants = data if name == "plants" else plants
        for setting in options.settings:
            make = SETTINGS[setting]
            measure(data, make, options.seeds, 5)  # numba compiles, or loads, before time is taken
            seeds = track(range(options.seeds), f"{name}, {setting}")
            runs = [measure(data, make, seed, options.removals) for seed in seeds]
            lines.append(line(name, setting, runs, options.removals))
    print("data set      setting  unlearn ms retrain ms   ratio           ratio without reading")
    print("\n".join(lines))
    if plants is not None:
        for setting in options.settings:
            times = [seconds * 1e3 for seconds in fit_time(plants, SETTINGS[setting], options.seeds)]
            print(f"a fit of {N_ROWS} rows of plants, {setting}: {spread(times)} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())

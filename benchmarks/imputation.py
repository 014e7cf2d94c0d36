"""Blank cells at random, fill them in, and compare with column means and modes on rows held out.

python benchmarks/imputation.py FOLDER [--share 0.2] [--min-std S] [--seeds N] [--quick]

A model is learned from rows in which a share of all cells is blanked. Of the rows held out, the same share is blanked
and filled in, by means (numbers) and modes (categories) of the training rows, and by `impute`. Numbers are compared by
the root of the mean squared error in units of the column's deviation, categories by how often they are wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from unlearnspn import SPN
from unlearnspn.bench.datasets import load

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def blank(frame: pd.DataFrame, share: float, rng: np.random.Generator) -> tuple[pd.DataFrame, Mask]:
    """Return the frame with cells blanked, and which of those were known."""
    mask = rng.random(frame.shape) < share
    return frame.mask(mask), mask & frame.notna().to_numpy()


def fill_by_column(train: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in means and modes of the training rows."""
    numeric = train.select_dtypes("number").columns
    return frame.fillna({name: train[name].mean() if name in numeric else train[name].mode()[0] for name in frame})


def errors(truth: pd.DataFrame, filled: pd.DataFrame, mask: Mask) -> dict[str, float]:
    """Return each column's error: normalised root mean squared error, or the share of wrong categories."""
    result = {}
    for place, name in enumerate(truth.columns):
        cells = mask[:, place]
        right, given = truth.loc[cells, name], filled.loc[cells, name]
        if pd.api.types.is_numeric_dtype(truth[name]):
            result[name] = float(np.sqrt(((right - given) ** 2).mean()) / truth[name].std())
        else:
            result[name] = float((right.astype(str) != given.astype(str)).mean())
    return result


def run(frame: pd.DataFrame, share: float, seed: int, n_held_out: int, spn: SPN) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(frame))
    held_out = frame.iloc[order[:n_held_out]].reset_index(drop=True)
    train, _ = blank(frame.iloc[order[n_held_out:]], share, rng)
    incomplete, mask = blank(held_out, share, rng)
    spn.fit(train, ids=range(len(train)))
    fillers: dict[str, Callable[[], pd.DataFrame]] = {
        "means and modes": lambda: fill_by_column(train, incomplete),
        "impute, mean": lambda: spn.impute(incomplete, how="mean"),
        "impute, mpe": lambda: spn.impute(incomplete, how="mpe"),
        "impute, sample": lambda: spn.impute(incomplete, how="sample", random_state=seed),
    }
    return {name: errors(held_out, fill(), mask) for name, fill in fillers.items()}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the data sets")
    parser.add_argument("--share", type=float, default=0.2, help="which share of the cells is blanked")
    parser.add_argument(
        "--seeds", type=int, default=3, help="how many times, with other blanks and other rows held out"
    )
    parser.add_argument(
        "--min-std", type=float, default=0.05, help="the model's, as a share of the columns' deviations"
    )
    parser.add_argument("--quick", action="store_true", help="one seed, 5,000 rows")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    frame = load("adult", options.folder).frame
    if options.quick:
        frame, options.seeds = frame.sample(5000, random_state=0), 1
    # Whole numbers come back as whole numbers; as floats the means are compared unrounded.
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("number").columns, float))
    runs = [
        run(frame, options.share, seed, len(frame) // 5, SPN(min_std=options.min_std)) for seed in range(options.seeds)
    ]
    numeric = set(frame.select_dtypes("number").columns)
    table = Table(title=f"adult, {options.share:.0%} of the cells blanked: errors, {options.seeds} seeds")
    table.add_column("column")
    for method in runs[0]:
        table.add_column(method, justify="right")
    means = {
        method: {name: float(np.mean([one[method][name] for one in runs])) for name in frame.columns}
        for method in runs[0]
    }
    for name in frame.columns:
        measure = "error" if name in numeric else "wrong"
        table.add_row(f"{name} ({measure})", *(f"{means[method][name]:.3f}" for method in means))
    for kind, names in (("numbers", numeric), ("categories", set(frame.columns) - numeric)):
        shown = (f"{np.mean([means[method][name] for name in names]):.3f}" for method in means)
        table.add_row(f"all {kind}", *shown, style="bold")
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

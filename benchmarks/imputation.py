"""Blank cells at random, fill them in, and compare with column means and modes on rows held out.

A model is learned from rows in which a share of all cells is blanked. Of the rows held out, the same share is blanked
and filled in, by means (numbers) and modes (categories) of the training rows, and by `impute`. Numbers are compared by
the root of the mean squared error in units of the column's deviation, categories by how often they are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import load
from benchmarks.progress import Bar
from benchmarks.reports import Column, Section
from unlearnspn import SPN

NAME = "imputation"

_QUICK_ROWS = 5000

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
    """Return each method's errors, by column, with blanks drawn by a seed."""
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


@dataclass(frozen=True)
class Plan:
    """Which share of the cells is blanked, the model's floor of deviations, and how often with other blanks."""

    folder: Path
    share: float = 0.2
    min_std: float = 0.05
    seeds: int = 3
    quick: bool = False
    left_out: list[str] = field(default_factory=list)

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {name: getattr(self, name) for name in ("share", "min_std", "seeds", "quick")}

    def table(self) -> pd.DataFrame:
        """Return Adult; whole numbers come back as whole numbers, and as floats the means are compared unrounded."""
        frame = load("adult", self.folder).frame
        if self.quick:
            frame = frame.sample(min(_QUICK_ROWS, len(frame)), random_state=0)
        return frame.astype(dict.fromkeys(frame.select_dtypes("number").columns, float))


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Fill in with every method."""
    frame, runs = plan.table(), []
    bar.begin("filling in", plan.seeds)
    for seed in range(plan.seeds):
        runs.append(run(frame, plan.share, seed, len(frame) // 5, SPN(min_std=plan.min_std)))
        bar.step()
    methods = list(runs[0])
    columns = [Column("column", "column"), *(Column(method, method, 3) for method in methods)]
    section = Section("imputation", f"Adult, {plan.share:.0%} of the cells blanked: errors", columns)
    numeric = set(frame.select_dtypes("number").columns)
    groups = {f"{name} ({'error' if name in numeric else 'wrong'})": [name] for name in frame.columns}
    groups |= {"all numbers": sorted(numeric), "all categories": sorted(set(frame.columns) - numeric)}
    for label, names in groups.items():
        means = {method: float(np.mean([one[method][name] for one in runs for name in names])) for method in methods}
        section.rows.append({"column": label, **means})
    yield section

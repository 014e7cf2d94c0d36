"""What is measured: which data sets, how many seeds and removals, which peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import split_missing
from benchmarks.peers.environment import DEEPROB_KIT, SPFLOW
from unlearnspn import SPN

#: The data sets of the paper's experiment; then Plants as the paper had it, with the row number as a variable.
REMOVAL_DATA = ("abalone", "adult", "msnbc", "plants", "wine", "plants_paper")
#: Those on which the targets are meant.
MAIN_DATA = REMOVAL_DATA[:4]
LIKELIHOOD_DATA = ("msnbc", "plants", "nltcs", "abalone", "adult")
#: SPFlow takes minutes for these.
NOT_QUICK = ("plants", "plants_paper")
SETTINGS: dict[str, Callable[..., SPN]] = {"ours": SPN, "paper": SPN.from_paper}
N_ROWS, N_HELD_OUT = 1000, 2000


@dataclass(frozen=True)
class Plan:
    """How much of it to do."""

    folder: Path | None = None
    seeds: int = 10
    removals: int = 100
    #: How many full trainings of SPFlow are timed for each seed.
    peer_trainings: int = 3
    peers: bool = True
    environments: Path | None = None
    quick: bool = False

    @classmethod
    def of(
        cls,
        folder: Path | None,
        seeds: int | None,
        removals: int | None,
        peers: bool,
        environments: Path | None,
        quick: bool,
    ) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        return cls(
            folder,
            seeds or (1 if quick else cls.seeds),
            removals or (20 if quick else cls.removals),
            1 if quick else cls.peer_trainings,
            peers,
            environments,
            quick,
        )

    @property
    def removal_data(self) -> list[str]:
        """The data sets for removals that are at hand."""
        return self._at_hand(REMOVAL_DATA)

    @property
    def likelihood_data(self) -> list[str]:
        """The data sets for held-out likelihood that are at hand."""
        return self._at_hand(LIKELIHOOD_DATA)

    def _at_hand(self, names: Iterable[str]) -> list[str]:
        found, _ = split_missing(names, self.folder)
        return [name for name in found if not (self.quick and name in NOT_QUICK)]

    @property
    def left_out(self) -> list[str]:
        """What is not measured, and why."""
        _, reasons = split_missing(dict.fromkeys((*REMOVAL_DATA, *LIKELIHOOD_DATA)), self.folder)
        if self.quick:
            reasons += [f"{name} is not part of a quick run" for name in NOT_QUICK]
        if not self.peers:
            reasons.append("SPFlow and deeprob-kit, as asked for")
        return reasons

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        return {
            "seeds": self.seeds,
            "removals": self.removals,
            "rows": N_ROWS,
            "held_out_rows": N_HELD_OUT,
            "settings": {name: repr(make()) for name, make in SETTINGS.items()},
            "peers": [str(SPFLOW), str(DEEPROB_KIT)] if self.peers else [],
            "peer_trainings": self.peer_trainings,
            "quick": self.quick,
        }

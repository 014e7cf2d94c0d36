"""What is compared on which tables, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from benchmarks.alternatives.accounting import DELTA, InvalidEpsilonError, require_epsilon
from benchmarks.alternatives.sisa import SLICES, Sisa
from benchmarks.alternatives.tables import (
    ALWAYS,
    FROM_FOLDER,
    PUBLIC_SHARE,
    TRAIN_SHARE,
    Table,
    at_hand,
    load_table,
)
from benchmarks.options import read_numbers
from benchmarks.peers.environment import SDV

PARTS = ("likelihood", "costs", "membership", "versions", "epsilon")
#: The synthesiser takes long, and longer for more columns: it is asked with one ε, on tables of so many at most.
SYNTHESISER_EPSILON, _SYNTHESISER_COLUMNS = 1.0, 20
#: It is attacked where columns have so many codes in all at most: where they have more, each model takes minutes.
MOST_CODES = 64


@dataclass(frozen=True)
class Plan:
    """How much of it to do."""

    folder: Path | None
    names: list[str]
    epsilons: list[float]
    shards: list[int]
    parts: list[str]
    seeds: int = 5
    #: Membership: models, targets of each kind, and records of the pool.
    models: int = 32
    targets: int = 40
    pool: int = 2_000
    #: Models of the synthesiser that are attacked, the first ones; 0 for no attack on it.
    synthesised: int = 16
    #: Both versions: candidates of each kind; removals of each kind and size, for what has no noise and for what has
    #: some; sizes of batches. As each removal has models of its own, tables are those of a quick run.
    candidates: int = 20
    removals: tuple[int, int] = (20, 10)
    batches: tuple[int, ...] = (10, 100)
    #: Removals one by one that are timed.
    timed: int = 10
    #: Releases with the canary, and as many without.
    releases: int = 10_000
    peers: bool = True
    environments: Path | None = None
    quick: bool = False
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        folder: Path | None,
        names: str | None,
        seeds: int | None,
        epsilons: str,
        shards: str,
        parts: str | None,
        models: int | None,
        synthesised: int | None,
        peers: bool,
        environments: Path | None,
        quick: bool,
    ) -> Plan:
        """Return the plan that options ask for; None stands for the default."""
        wanted = None if names is None else _listed(names, [*FROM_FOLDER, *ALWAYS, "wine"], "--names")
        found, left_out = at_hand(folder, quick, wanted)
        if not found or (wanted is not None and left_out):
            raise typer.BadParameter("; ".join(left_out), param_hint="--names")
        if not peers:
            left_out.append("MST and SDMetrics, as asked for")
        plan = cls(
            folder,
            found,
            read_epsilons(epsilons),
            read_numbers(shards, "--shards", 2, "a division has at least 2 shards"),
            list(PARTS) if parts is None else _listed(parts, list(PARTS), "--parts"),
            seeds=seeds or (1 if quick else cls.seeds),
            models=models or (16 if quick else cls.models),
            targets=20 if quick else cls.targets,
            pool=1_000 if quick else cls.pool,
            synthesised=(0 if quick else cls.synthesised) if synthesised is None else synthesised,
            timed=5 if quick else cls.timed,
            releases=1_000 if quick else cls.releases,
            peers=peers,
            environments=environments,
            quick=quick,
            left_out=left_out,
        )
        plan.require_enough_records()
        return plan

    def require_enough_records(self) -> None:
        """Raise unless each table has enough records for the shards, in each thing that is trained."""
        for table in self.tables():
            for sisa in self.sharded:
                self._require(table, sisa, table.n_train, "to train on")
            pool = min(self.pool, table.n_train - table.n_public)
            if "membership" in self.parts:
                self._require(table, self.attacked, table.n_public + pool // 2 - self.targets, "in each attacked model")

    @staticmethod
    def _require(table: Table, sisa: Sisa, n_records: int, where: str) -> None:
        if n_records < sisa.least_records:
            raise typer.BadParameter(
                f"{table.name} is too small for {sisa.n_shards} shards: they need {sisa.least_records:,} records, and "
                f"there are {max(n_records, 0):,} {where}",
                param_hint="--shards",
            )

    def tables(self) -> list[Table]:
        """Load the tables."""
        return [load_table(name, self.folder, self.quick) for name in self.names]

    def small_tables(self) -> list[Table]:
        """Load the tables as a quick run does."""
        return [load_table(name, self.folder, quick=True) for name in self.names]

    @property
    def sharded(self) -> list[Sisa]:
        """The divisions into shards."""
        return [Sisa(number) for number in self.shards]

    @property
    def attacked(self) -> Sisa:
        """The division that is attacked: the middle one; without slices, which change nothing but time."""
        return Sisa(self.shards[len(self.shards) // 2], n_slices=1)

    def synthesises(self, table: Table) -> bool:
        """Tell whether a table is for the synthesiser."""
        return self.peers and table.frame.shape[1] <= _SYNTHESISER_COLUMNS

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        names = ("names", "epsilons", "shards", "parts", "seeds", "models", "targets", "pool", "synthesised")
        more = ("candidates", "removals", "batches", "timed", "releases", "quick")
        return {
            **{name: getattr(self, name) for name in (*names, *more)},
            "delta": DELTA,
            "slices": SLICES,
            "train_share": TRAIN_SHARE,
            "public_share": PUBLIC_SHARE,
            "synthesiser_epsilon": SYNTHESISER_EPSILON,
            "peers": list(SDV.requirements) if self.peers else [],
        }


def read_epsilons(text: str) -> list[float]:
    """Read positive numbers, in increasing order.

    >>> read_epsilons("3, 0.1")
    [0.1, 3.0]
    """
    try:
        return sorted({require_epsilon(float(part)) for part in text.split(",")})
    except InvalidEpsilonError as error:
        raise typer.BadParameter(str(error), param_hint="--epsilons") from error
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no list of numbers, as in 0.1,1,3,10", param_hint="--epsilons"
        ) from error


def _listed(text: str, known: list[str], option: str) -> list[str]:
    names = [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}", param_hint=option)
    return names

"""Both versions: what an attacker learns who holds the model from before and the one from after a removal.

Candidates are scored by how much their log-density fell. Among them are those that were removed, and others of the same
kind that stayed. Exact removal does not protect against this: it is meant for those who see only what there is now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from statistics import fmean
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.alternatives.attack_scores import Mask
from benchmarks.alternatives.methods import UNLEARNING, Floats, log_densities
from benchmarks.alternatives.private_network import PrivateTraining
from benchmarks.alternatives.tables import Records, Split, usual_warnings
from benchmarks.alternatives.targets import ORDINARY, Targets, choose_targets

#: How many ordinary candidates there are for each record of the largest batch.
_TIMES_LARGEST = 2


class Removal(NamedTuple):
    """One removal that is attacked: the kind of those that leave, and which they are."""

    kind: str
    ids: list[int]


@dataclass
class Found:
    """What was found over several removals: AUC, and how often one that left came first; beside what chance has."""

    aucs: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)

    def add(self, falls: Floats, left: Mask) -> None:
        """Add one removal; of several that fell most, each is as likely to be called first."""
        self.aucs.append(float(roc_auc_score(left, falls)))
        self.firsts.append(float(left[falls == falls.max()].mean()))
        self.chances.append(float(left.mean()))

    def row(self) -> dict[str, float]:
        """Return the means."""
        return {"auc": fmean(self.aucs), "first": fmean(self.firsts), "chance": fmean(self.chances)}


@dataclass(frozen=True)
class Trial:
    """The records of the model before, with the planted ones among them, and who is asked about."""

    before: Records
    targets: Targets

    @classmethod
    def of(cls, split: Split, n_each: int, largest: int, seed: int) -> Trial:
        """Choose candidates; the planted ones are trained on."""
        targets = choose_targets(split.private, n_each, seed, max(n_each, _TIMES_LARGEST * largest))
        return cls(split.public.beside(targets.records), targets)

    def removals(self, batches: list[int], n_removals: int, seed: int) -> Iterator[Removal]:
        """Draw who leaves: one of each kind, then batches of ordinary records."""
        rng = np.random.default_rng([seed, 4])
        for kind, ids in self.targets.ids.items():
            for each in rng.choice(ids, min(n_removals, len(ids)), replace=False).tolist():
                yield Removal(kind, [each])
        for size in batches:
            for _ in range(n_removals):
                yield Removal(ORDINARY, rng.choice(self.targets.ids[ORDINARY], size, replace=False).tolist())

    @property
    def rows(self) -> Records:
        """The candidates."""
        return self.before.take(self.targets.all)

    def asked(self, removal: Removal) -> Mask:
        """Tell of each candidate whether it is of the kind of those that leave: only these are compared."""
        return np.array([kind == removal.kind for kind in self.targets.kinds])

    def left(self, removal: Removal) -> Mask:
        """Tell of each candidate whether it left."""
        return np.isin(self.targets.all, removal.ids)


Results = dict[tuple[str, str, int], Found]


def compare(
    trial: Trial,
    private: list[PrivateTraining],
    batches: list[int],
    n_removals: tuple[int, int],
    seed: int,
    step: Callable[[], None],
) -> Results:
    """Attack each method; the result is by method, kind and size of the batch.

    `n_removals` are those of each kind and size, for unlearning and for what has noise.
    """
    results: Results = {}
    spn = trial.before.learn(seed)
    rows = trial.rows.frame
    before = log_densities(spn.circuit_, rows)
    for removal in trial.removals(batches, n_removals[0], seed):
        with usual_warnings():
            spn.unlearn(removal.ids)
            after = log_densities(spn.circuit_, rows)
            leaving = trial.before.take(removal.ids).frame
            spn.learn(leaving, ids=leaving.index.to_numpy())  # which is the model from before, bit by bit
        _add(results, UNLEARNING.name, removal, before - after, trial)
        step()
    for method in private:
        exact = method.count(trial.before)
        noisy_before = log_densities(method.network_of(exact + method.draw_noise()), rows)
        # Drawing noise takes most of the time, so that the removals of each kind and size get the same draws.
        noises = [method.draw_noise() for _ in range(n_removals[1])]
        for removal, noise in zip(trial.removals(batches, n_removals[1], seed), cycle(noises), strict=False):
            left = exact - method.released.count(method.structure.code(trial.before.take(removal.ids).frame))
            after = log_densities(method.network_of(left + noise), rows)
            _add(results, method.name, removal, noisy_before - after, trial)
            _add(results, then_noise(method), removal, before - after, trial)
            step()
    return results


def then_noise(method: PrivateTraining) -> str:
    """Return how a removal followed by noise is called."""
    return f"SPN, then {method.name}"


def _add(results: Results, name: str, removal: Removal, falls: Floats, trial: Trial) -> None:
    # An impossible record stays impossible.
    found = results.setdefault((name, removal.kind, len(removal.ids)), Found())
    asked = trial.asked(removal)
    found.add(np.nan_to_num(falls)[asked], trial.left(removal)[asked])

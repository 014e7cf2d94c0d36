"""Membership after removal: can a record that was removed be told from one that was never there?

LiRA in its simple form. Each of several models is trained on the public sample and a random half of a pool, in which
each target is or is not at random. Then all targets that a model has are removed in the way of the method, and the
attacker sees the log-densities of the targets. Retraining and unlearning must give the same numbers, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from benchmarks.alternatives.attack_scores import Mask, Success, success_of
from benchmarks.alternatives.methods import KEEPING, RETRAINING, UNLEARNING, Floats, Method, Trained, log_densities
from benchmarks.alternatives.synthesiser import Synthesising
from benchmarks.alternatives.tables import Records, Split
from benchmarks.alternatives.targets import Targets, choose_targets
from benchmarks.checking import Digests, NotRetrainedError, require_equal

#: What a log-density is at least: that of what a model holds impossible is no number.
_LEAST = -1e6


@dataclass(frozen=True)
class Design:
    """The targets, and for each model what it is trained on."""

    targets: Targets
    public: Records
    #: A line for each model, a column for each target.
    inside: Mask
    #: The ids of the records of the pool that each model has beside its targets.
    others: list[list[int]]

    @classmethod
    def of(cls, split: Split, n_models: int, n_each: int, n_pool: int, seed: int) -> Design:
        """Toss a coin for each model and record."""
        rng = np.random.default_rng([seed, 3])
        pool = split.private.take(split.private.ids[:n_pool])
        targets = choose_targets(pool, n_each, seed)
        rest = np.setdiff1d(pool.ids, targets.all)
        inside = rng.random((n_models, len(targets.all))) < 0.5
        others = [rest[rng.random(rest.size) < 0.5].tolist() for _ in range(n_models)]
        return cls(targets, split.public, inside, others)

    def first(self, n_models: int) -> Design:
        """Return the design of the first models alone."""
        return replace(self, inside=self.inside[:n_models], others=self.others[:n_models])

    def leaving(self, model: int) -> list[int]:
        """Return the targets that a model has, and that are to leave it."""
        return list(compress(self.targets.all, self.inside[model].tolist()))

    def records(self, model: int) -> Records:
        """Return what a model is trained on."""
        return self.public.beside(self.targets.records.take([*self.others[model], *self.leaving(model)]))

    def densities(self, trained: Trained) -> Floats:
        """Return the log-density of each target."""
        rows = self.targets.records.take(self.targets.all).frame
        return np.maximum(log_densities(trained.circuit(), rows), _LEAST)


def attack_default(design: Design, seed: int, step: Callable[[], None]) -> dict[str, Floats]:
    """Return the log-densities of targets for keeping, retraining and unlearning: of each model as it is afterwards.

    A model before the removal is the one that keeping leaves; after `unlearn` it must be the one of retraining.
    """
    found: dict[str, list[Floats]] = {method.name: [] for method in (KEEPING, RETRAINING, UNLEARNING)}
    for model in range(len(design.inside)):
        leaving = design.leaving(model)
        trained, retrained = (
            UNLEARNING.train(design.records(model), seed),
            RETRAINING.train(design.records(model), seed),
        )
        found[KEEPING.name].append(design.densities(trained))
        trained.remove(leaving)
        retrained.remove(leaving)
        require_equal(Digests.of(trained.spn), Digests.of(retrained.spn), f"model {model}, {len(leaving)} removals")
        found[UNLEARNING.name].append(design.densities(trained))
        found[RETRAINING.name].append(design.densities(retrained))
        step()
    unlearned, retrained_ones = (np.array(found[method.name]) for method in (UNLEARNING, RETRAINING))
    if not np.array_equal(unlearned, retrained_ones):
        raise NotRetrainedError("after unlearning, log-densities are not those of retraining")
    return {name: np.array(densities) for name, densities in found.items()}


def attack(design: Design, method: Method, seed: int, step: Callable[[], None]) -> Floats:
    """Return the log-densities of targets for a method: of each model after the removals."""
    found = []
    for model, trained in enumerate(_train_all(design, method, seed)):
        trained.remove(design.leaving(model))
        found.append(design.densities(trained))
        step()
    return np.array(found)


def _train_all(design: Design, method: Method, seed: int) -> Iterator[Trained]:
    several: Sequence[int] = range(len(design.inside))
    if isinstance(method, Synthesising):  # one process for all
        yield from method.train_all([design.records(model) for model in several], seed)
    else:
        for model in several:
            yield method.train(design.records(model), seed)


def successes(design: Design, densities: Floats, seed: int) -> dict[str, Success]:
    """Return what the attack achieves on each kind of targets."""
    kinds = np.array(design.targets.kinds)
    return {
        kind: success_of(densities[:, kinds == kind], design.inside[:, kinds == kind], seed)
        for kind in design.targets.ids
    }

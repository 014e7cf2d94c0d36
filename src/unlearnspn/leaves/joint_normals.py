"""Numbers that are jointly normal, in place of a tree by bins: where a line says what one number tells of another.

A normal distribution of many numbers has very thin tails. So some records are taken to lie farther away, to have a
number that strays, or to be unlike all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import OWN, Expression, Input, Normal, Unit, mixture, numeric_parameters, product
from unlearnspn.coding import FEATURE_LIMIT, FEATURE_STD, NumericCoder
from unlearnspn.leaves.incomplete import expected_moments
from unlearnspn.leaves.linear_networks import LinearNetwork, cholesky, joint_covariances, learn_network
from unlearnspn.leaves.linear_pairs import Features, LinearPairs, are_known, are_spread, relate
from unlearnspn.leaves.normal_blocks import choose_blocks, gains_from_others
from unlearnspn.leaves.stray_numbers import StrayGroup, express_strays, group_strays, scaled
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Flags, Scope
from unlearnspn.statistics.pair_tables import PairTables

Floats = npt.NDArray[np.float64]

#: The share of records that a block takes to be more unlike each other, and how many times as far they lie from the
#: mean; of those that have a number which strays; and of those whose numbers tell nothing of each other at all.
_FAR, _FARTHER, _STRAY, _UNLIKE = 1.0 / 64.0, 3.0, 1.0 / 32.0, 1.0 / 1024.0
_STANDARD = np.array(numeric_parameters(0.0, 1.0))
#: The deviation, in features, of numbers that nothing tells of: so many times the scale of their column.
_WIDTH = 8.0 * FEATURE_STD
#: Columns with another scale or centre have no joint distribution, so that nothing overflows.
_LARGEST = 2.0**300
#: Features are whole numbers: nothing finer than one of them is known.
_FINEST = 1.0


class NumberUnits(NamedTuple):
    """Of each variable of a table: what turns its features into its values, and how well it can be told."""

    centres: Floats
    #: How much a feature of one is.
    steps: Floats
    #: The least deviation, in features; infinite if the variable can have no joint distribution.
    leasts: Floats


def units_of(coder: NumericCoder, least_std: float) -> tuple[float, float, float]:
    """Return centre, step and least deviation of a column."""
    least = max(least_std / coder.scale * FEATURE_STD, _FINEST)
    fits = 1.0 / _LARGEST < coder.scale < _LARGEST and abs(coder.centre) < _LARGEST and least <= FEATURE_LIMIT
    return coder.centre, coder.scale / FEATURE_STD, least if fits else math.inf


class NormalSettings(NamedTuple):
    """The settings of a `ChowLiu` that joint normals follow, see there."""

    order: int
    beta: float
    penalty: float


class GivenCategory(NamedTuple):
    """The means of a block where they depend on a category."""

    variable: int
    #: Which outcomes of the category some record has, and the means given each of these, [category, number].
    seen: Counts
    means: Floats


class JointNormal(NamedTuple):
    """Some numbers that are jointly normal."""

    #: The variables in the order in which they joined, and what each depends on.
    joined: Scope
    network: LinearNetwork
    #: In increasing order: variables, means and deviations of each by itself.
    variables: Scope
    mean: Floats
    std: Floats
    #: The factor of the covariances, and those that are left where a number strays.
    factor: Floats
    strays: tuple[StrayGroup, ...]
    #: If the means depend on a category, network and factors say what holds within each.
    given: GivenCategory | None = None


class Candidates(NamedTuple):
    """Numbers that may be jointly normal."""

    #: Places among the variables of the leaf.
    positions: Counts
    #: [number, record]
    features: Features
    leasts: Floats
    related: LinearPairs

    @property
    def are_complete(self) -> bool:
        """Tell whether all records have all of them."""
        return bool((self.related.counts.diagonal() == self.features.shape[1]).all())


def find_candidates(scope: Scope, features: Features, is_numeric: Flags, units: NumberUnits) -> Candidates | None:
    """Return which variables of a leaf may be jointly normal; None if fewer than two.

    `features` are those of the numbers in the scope, [number, record]; `is_numeric` says which of the scope these are.
    """
    (numbers,) = is_numeric.nonzero()
    leasts = units.leasts[scope[numbers]]
    fits = np.isfinite(leasts)
    if np.count_nonzero(fits) < 2:
        return None
    fits &= are_spread(features)
    if np.count_nonzero(fits) < 2:
        return None
    own_features = np.ascontiguousarray(features[fits])
    return Candidates(numbers[fits], own_features, leasts[fits], relate(own_features, leasts[fits]))


def find_normals(
    scope: Scope,
    candidates: Candidates,
    rivals: Counts,
    tables: PairTables,
    units: NumberUnits,
    settings: NormalSettings,
) -> list[JointNormal]:
    """Return the blocks of jointly normal numbers; `rivals` are the places of variables that may tell more of them."""
    from_rivals = gains_from_others(tables, candidates.positions, rivals, settings.penalty)
    blocks = choose_blocks(candidates.related.gains, from_rivals, settings.penalty)
    variables = scope[candidates.positions]
    found = [_join(block, variables, _completed(candidates, block, settings.beta), units, settings) for block in blocks]
    return [normal for normal in found if normal is not None]


def _completed(candidates: Candidates, block: Counts, beta: float) -> LinearPairs:
    """Return moments of candidates that fit together in a block, also where records lack some of its numbers."""
    related, features, leasts = candidates.related, candidates.features[block], candidates.leasts[block]
    if (related.counts.diagonal()[block] == features.shape[1]).all():
        return related
    here = np.ix_(block, block)
    means, covariances, counts = related.means.copy(), related.covariances.copy(), related.counts.copy()
    means[block], covariances[here] = expected_moments(features, leasts, beta)
    # All covariances are of the same records now: drawn towards none by different shares they might not fit together.
    counts[here] = np.count_nonzero(are_known(features).any(axis=0))
    np.fill_diagonal(counts, related.counts.diagonal())
    return related._replace(means=means, covariances=covariances, counts=counts)


def _join(
    block: Counts, variables: Scope, related: LinearPairs, units: NumberUnits, settings: NormalSettings
) -> JointNormal | None:
    """Return the joint distribution of a block of candidates; none if rounding spoils it."""
    joined = variables[block]
    network = learn_network(related, block, units.leasts[variables], *settings)
    deviations = deviations_of(joined, network, units)
    if deviations is None:
        return None
    in_order = np.argsort(joined)
    own = joined[in_order]
    mean = units.centres[own] + units.steps[own] * related.means[block[in_order]]
    return JointNormal(joined, network, own, mean, *deviations)


class Deviations(NamedTuple):
    """How far the numbers of a block lie from their means, see `JointNormal`."""

    std: Floats
    factor: Floats
    strays: tuple[StrayGroup, ...]


def deviations_of(joined: Scope, network: LinearNetwork, units: NumberUnits) -> Deviations | None:
    """Return what follows from a network, by increasing variables; none if rounding spoils it."""
    in_order = np.argsort(joined)
    covariances = joint_covariances(network)[np.ix_(in_order, in_order)]
    steps = units.steps[joined[in_order]]
    factor, strays = cholesky(covariances), group_strays(np.argsort(in_order), covariances)
    if factor is None or strays is None:
        return None
    return Deviations(steps * np.sqrt(covariances.diagonal()), steps[:, np.newaxis] * factor, scaled(strays, steps))


def express_normal(normal: JointNormal, units: NumberUnits) -> Expression:
    """Return a block as part of a circuit."""
    return express_around(normal, normal.mean, numbers_apart(normal, units))


def express_around(normal: JointNormal, mean: Floats, apart: list[Input]) -> Expression:
    """Return a block around some mean, given what its numbers are like where nothing tells of them."""
    variables = normal.variables.astype(np.int32)
    together = [Normal(variables, mean, times * normal.factor) for times in (1.0, _FARTHER)]
    straying = [express_strays(group, normal.variables, mean, apart) for group in normal.strays]
    shares = [_STRAY * (group.members.size / variables.size) for group in normal.strays]
    log_weights = map(log, [1.0 - _FAR - _STRAY - _UNLIKE, _FAR, *shares, _UNLIKE])
    return mixture([*together, *straying, product(apart)], list(log_weights))


def numbers_apart(normal: JointNormal, units: NumberUnits) -> list[Input]:
    """Return the numbers of a block where nothing tells of them: each by itself, as wide as its column and more."""
    lines, wide = np.tile(_STANDARD, (normal.variables.size, 1)), _WIDTH * units.steps[normal.variables]
    lines[:, OWN], lines[:, OWN + 1] = normal.mean, np.sqrt(normal.std * normal.std + wide * wide)
    return [Input(Unit.GAUSSIAN, v, line) for v, line in zip(normal.variables.tolist(), lines, strict=True)]


def readable_normal(normal: JointNormal, units: NumberUnits, names: Sequence[str]) -> dict[str, Any]:
    """Return what each number of a block depends on, and by how much; its mean; and the deviation that remains."""
    joined, network = normal.joined.tolist(), normal.network
    steps = dict(zip(joined, units.steps[normal.joined].tolist(), strict=True))
    means = dict(zip(normal.variables.tolist(), normal.mean.tolist(), strict=True))
    depends_on = {}
    for v, parents, slopes in zip(joined, network.parents.tolist(), network.slopes.tolist(), strict=True):
        own = [(joined[p], slope) for p, slope in zip(parents, slopes, strict=True) if p >= 0]
        depends_on[names[v]] = {names[u]: slope * (steps[v] / steps[u]) for u, slope in own}
    residuals = zip(joined, np.sqrt(network.residuals).tolist(), strict=True)
    return {
        "depends_on": depends_on,
        "mean": {names[v]: means[v] for v in joined},
        "std": {names[v]: steps[v] * std for v, std in residuals},
    }

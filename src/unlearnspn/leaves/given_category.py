"""Jointly normal numbers whose means depend on a category, as in linear discriminant analysis.

Where all records have all numbers, and one category is all there is beside them, no tree could tell how numbers follow
it. So each category has means of its own, while slopes and remaining deviations are common to all, if the likelihood
grows enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, mixture, product
from unlearnspn.leaves.joint_normals import (
    GivenCategory,
    JointNormal,
    NormalSettings,
    NumberUnits,
    deviations_of,
    express_around,
    numbers_apart,
)
from unlearnspn.leaves.linear_networks import LinearNetwork, learn_network
from unlearnspn.leaves.linear_pairs import LEAST_COMMON, Features, relate_within
from unlearnspn.leaves.tree import TreeData
from unlearnspn.leaves.tree_units import states_of
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts
from unlearnspn.tables import Category

Floats = npt.NDArray[np.float64]

#: With more categories means would be of few records each.
_MOST_CATEGORIES = 16


def depend_on_category(
    normal: JointNormal, features: Features, category: TreeData, units: NumberUnits, settings: NormalSettings
) -> JointNormal:
    """Return a block with means by category if that pays, else as it is.

    `features` are those of the block's numbers in the order in which they joined, [number, record], all of them known;
    `category` is what the tree of the category alone follows from.
    """
    (variable,), (codes,) = category.scope, category.codes
    own = slice(*category.alphabets.starts[variable : variable + 2].tolist())
    # 0 is the code of an outcome that nobody has, and of what is missing.
    groups = [features[:, (codes == code) & (code > 0)] for code in category.alphabets.codes[own].tolist()]
    seen = np.flatnonzero([group.shape[1] for group in groups])
    if not 2 <= seen.size <= _MOST_CATEGORIES:
        return normal
    groups = [groups[k] for k in seen.tolist()]
    within = relate_within(groups)
    if within.counts.diagonal().min() < LEAST_COMMON:
        return normal
    leasts = units.leasts[normal.joined]
    network = learn_network(within, np.arange(leasts.size), leasts, *settings)
    growth = _growth(within.counts.diagonal(), normal.network, network)
    deviations = deviations_of(normal.joined, network, units)
    if deviations is None or not growth > settings.penalty * ((len(groups) - 1) * leasts.size):
        return normal
    in_order = np.argsort(normal.joined)
    means = _means(features[in_order], [group[in_order] for group in groups], settings.beta)
    means = units.centres[normal.variables] + units.steps[normal.variables] * means
    given = GivenCategory(int(variable), seen, means)
    return normal._replace(network=network, factor=deviations.factor, strays=deviations.strays, given=given)


def _growth(counts: Counts, without: LinearNetwork, within: LinearNetwork) -> float:
    """Return by how much the log-likelihood grows."""
    growth = 0.0
    for n, before, after in zip(counts.tolist(), without.residuals.tolist(), within.residuals.tolist(), strict=True):
        growth += 0.5 * n * log(before / after)
    return growth


def _means(features: Features, groups: Sequence[Features], beta: float) -> Floats:
    """Return means by group, [group, number], drawn towards those of all records."""
    drawn = beta * (_sums(features) / features.shape[1])
    return np.array([(_sums(group) + drawn) / (group.shape[1] + beta) for group in groups])


def _sums(features: Features) -> Floats:
    """Return the sum of each number, which is exact."""
    sums: Floats = features.sum(axis=1, dtype=np.float64)
    return sums


def express_given(normal: JointNormal, given: GivenCategory, category: TreeData, units: NumberUnits) -> Expression:
    """Return a block with means by category, and the category, as part of a circuit."""
    certainties, log_weights = states_of(category)
    apart = numbers_apart(normal, units)
    # What no record has comes last, if there is such a thing.
    means = [*given.means, normal.mean][: len(certainties)]
    blocks = [express_around(normal, mean, apart) for mean in means]
    return mixture([product([one, block]) for one, block in zip(certainties, blocks, strict=True)], log_weights)


def readable_given(
    normal: JointNormal, given: GivenCategory, names: Sequence[str], outcomes: Sequence[Category]
) -> dict[str, Any]:
    """Return which category a block depends on, and the means by category; `outcomes` are all of the column."""
    numbers = [names[v] for v in normal.variables.tolist()]
    lines = zip(given.seen.tolist(), given.means.tolist(), strict=True)
    means = {outcomes[k]: dict(zip(numbers, line, strict=True)) for k, line in lines}
    return {"given": names[given.variable], "mean_given": means}

"""Records in which one number of a block strays: nothing tells of it, while the others follow each other as ever.

A part of the mixture for each number would make blocks of many numbers slow. So numbers that joined a block one after
another form groups, if there are many. Where a number strays, the others of its group follow each other, and so do the
numbers outside of the group; but neither tell of the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Input, Normal, Unit, mixture, numeric, product
from unlearnspn.leaves.linear_networks import cholesky
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Scope

Floats = npt.NDArray[np.float64]

_MOST_GROUPS = 8


class Part(NamedTuple):
    """Some numbers of a block: their positions among its variables, and the factor of their covariances."""

    positions: Counts
    factor: Floats


class StrayGroup(NamedTuple):
    """A group of numbers, one of which may stray."""

    #: Positions among the block's variables, in the order in which they joined.
    members: Counts
    outside: Part
    #: What is left of the group if a member strays, for each of them.
    without: tuple[Part, ...]


def group_strays(order: Counts, covariances: Floats) -> tuple[StrayGroup, ...] | None:
    """Return the groups of a block, given its positions in the order of joining; None if rounding spoils a factor."""
    n_groups = min(order.size, _MOST_GROUPS)
    groups = [_group(members, covariances) for members in np.array_split(order, n_groups)]
    found = tuple(group for group in groups if group is not None)
    return found if len(found) == n_groups else None


def _group(members: Counts, covariances: Floats) -> StrayGroup | None:
    outside = _part(np.setdiff1d(np.arange(len(covariances)), members), covariances)
    without = [_part(np.sort(members[members != position]), covariances) for position in members.tolist()]
    known = tuple(part for part in without if part is not None)
    return None if outside is None or len(known) < members.size else StrayGroup(members, outside, known)


def _part(positions: Counts, covariances: Floats) -> Part | None:
    factor = cholesky(np.ascontiguousarray(covariances[np.ix_(positions, positions)]))
    return None if factor is None else Part(positions, factor)


def scaled(groups: tuple[StrayGroup, ...], steps: Floats) -> tuple[StrayGroup, ...]:
    """Return groups with factors in units of the values, `steps` of which are one of each number's features."""
    return tuple(
        group._replace(outside=_scaled(group.outside, steps), without=tuple(_scaled(p, steps) for p in group.without))
        for group in groups
    )


def _scaled(part: Part, steps: Floats) -> Part:
    return part._replace(factor=steps[part.positions, np.newaxis] * part.factor)


def express_strays(group: StrayGroup, variables: Scope, mean: Floats, strays: list[Input]) -> Expression:
    """Return a block in which one member of the group strays; `strays` say how, by position."""
    share = log(1.0 / group.members.size)
    members = zip(group.members.tolist(), group.without, strict=True)
    alternatives = [product([strays[position], *_express(part, variables, mean)]) for position, part in members]
    inside = mixture(alternatives, [share] * len(alternatives))
    return product([inside, *_express(group.outside, variables, mean)])


def _express(part: Part, variables: Scope, mean: Floats) -> list[Expression]:
    """Return what some numbers are like, if there are any."""
    own = variables[part.positions]
    if own.size > 1:
        return [Normal(own.astype(np.int32), mean[part.positions], part.factor)]
    numbers = zip(own.tolist(), mean[part.positions].tolist(), strict=True)
    return [numeric(Unit.GAUSSIAN, v, own_mean, float(part.factor[0, 0])) for v, own_mean in numbers]

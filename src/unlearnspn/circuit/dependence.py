"""How much two columns tell about each other.

In the circuit of two columns alone every product has a factor for each of them. So the table of their joint
probabilities is a product of two matrices: what the first factors give to each value of one column, and what the second
give to each value of the other, by the weight that each product has in the whole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.conditioning import marginal, stacks
from unlearnspn.circuit.distributions import NUMERIC, Distribution, log_mass
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.layout import Layout, unrolled
from unlearnspn.circuit.normal_boxes import cell_probabilities
from unlearnspn.circuit.passes import unit_shares

#: Enough for edges of parts: the range is divided by more than a billion.
_BISECTIONS = 32
#: More multiplications than this take more than some seconds; a logarithm takes as long as many of them.
_MOST_STEPS = 1 << 36
_STEPS_OF_LOGARITHM = 1 << 8
#: About how many cells of the joint table are held at a time.
_CELLS = 1 << 22


def mutual_information(layout: Layout, domains: Domains, first: int, second: int, n_parts: int) -> float:
    """Return the mutual information of two columns in nats; numbers are divided into parts of equal probability."""
    pair, columns = unrolled(marginal(layout, [first, second])), domains.restricted([first, second])
    if pair.units[-1] == Unit.PRODUCT:  # they are independent
        return 0.0
    products = _Products.of(pair)
    sizes = [n_parts if columns.is_numeric[side] else len(columns.columns[side].categories) for side in (0, 1)]
    _require_feasible(pair, products, columns.names, sizes)
    of_first, of_second = (_factors(pair, columns, side, n_parts, products) for side in (0, 1))
    return _information(products.weights, of_first, of_second, _of_normals(pair, columns, n_parts))


class _Products(NamedTuple):
    """The products of a circuit of two columns."""

    #: The factors over each of the columns, by number.
    factors: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    #: What each product weighs in the whole.
    weights: Floats

    @classmethod
    def of(cls, pair: Layout) -> _Products:
        numbers = np.flatnonzero(pair.units == Unit.PRODUCT)
        factors = pair.children[pair.child_starts[numbers][:, None] + np.arange(2)].astype(np.int64)
        # Sums over one column end in inputs of that column.
        swapped = _columns(pair)[factors[:, 0]] == 1
        factors[swapped] = factors[swapped, ::-1]
        return cls((factors[:, 0], factors[:, 1]), unit_shares(pair)[numbers])


def _columns(pair: Layout) -> npt.NDArray[np.int64]:
    """Return the column that each unit is over, in a circuit of two; the last of both for those over both."""
    columns = pair.variables.astype(np.int64)
    for unit in np.flatnonzero(pair.units <= Unit.PRODUCT).tolist():
        columns[unit] = columns[pair.children[pair.child_starts[unit]]]
    return columns


def _sums_below(pair: Layout, factors: npt.NDArray[np.int64]) -> dict[bytes, list[int]]:
    """Return the sums that some factors are or are made of, those of the same parts together, parts before sums."""
    wanted = np.zeros(len(pair), np.bool_)
    wanted[factors] = True
    sums = np.flatnonzero(pair.units == Unit.SUM)
    for unit in sums[::-1].tolist():
        if wanted[unit]:
            wanted[pair.children_of(unit)] = True
    groups: dict[bytes, list[int]] = {}
    for unit in sums[wanted[sums]].tolist():
        groups.setdefault(pair.children_of(unit).tobytes(), []).append(unit)
    return groups


def _require_feasible(pair: Layout, products: _Products, names: list[str], sizes: list[int]) -> None:
    """Raise if the joint table is too large to be calculated within seconds."""
    steps = sizes[0] * sizes[1] * (len(products.weights) + _STEPS_OF_LOGARITHM)
    for factors, size in zip(products.factors, sizes, strict=True):
        for group in _sums_below(pair, factors).values():
            steps += len(group) * len(pair.children_of(group[0])) * size
    if steps > _MOST_STEPS:
        raise ValueError(
            f"the mutual information of {names[0]!r} and {names[1]!r} would take too long: they have {sizes[0]:,} and "
            f"{sizes[1]:,} values, so {sizes[0] * sizes[1]:,} pairs in {len(products.weights):,} parts of the circuit; "
            "group rare categories before fitting, or ask a smaller model"
        )


def _factors(pair: Layout, columns: Domains, side: int, n_parts: int, products: _Products) -> Floats:
    """Return the probability of each value or part of a column under its factor of each product, [product, value]."""
    members = pair.inputs_of(side)
    if columns.is_numeric[side]:
        of_inputs = _of_parts(pair, members, columns.columns[side], side, n_parts)
    else:
        of_inputs = _of_categories(pair, side)
    groups = _sums_below(pair, products.factors[side])
    lines = np.zeros(len(pair), np.int64)
    units = np.concatenate([members, *(np.array(group) for group in groups.values())])
    lines[units] = np.arange(len(units))
    values = np.concatenate([of_inputs, np.empty((len(units) - len(members), of_inputs.shape[1]))])
    for group in groups.values():
        starts = pair.child_starts[np.array(group)]
        weights = pair.log_weights[starts[:, None] + np.arange(len(pair.children_of(group[0])))]
        values[lines[group]] = np.exp(weights) @ values[lines[pair.children_of(group[0])]]
    return values[lines[products.factors[side]]]


def _of_categories(pair: Layout, side: int) -> Floats:
    return np.exp(pair.categories_of(side)[:, :-1])


def _of_parts(pair: Layout, members: npt.NDArray[np.int64], domain: Domain, side: int, n_parts: int) -> Floats:
    """Return the probability of parts that are as probable as each other in the whole, [input, part].

    Values on a grid are not divided, so that parts may be fewer, and not quite as probable as each other.
    """
    edges = _edges(pair, domain, side, n_parts)
    n_parts = len(edges) + 1
    low = np.append(-math.inf, np.nextafter(edges, math.inf))
    high = np.append(edges, math.inf)
    result = np.empty((len(members), n_parts))
    for unit, positions, parameters in stacks(pair, members):
        n = len(parameters)
        repeated = np.repeat(parameters, n_parts, axis=0)
        mass = log_mass(NUMERIC[unit], repeated, np.tile(low, n), np.tile(high, n))
        result[positions] = np.exp(mass).reshape(n, n_parts)
    return result


def _edges(pair: Layout, domain: Domain, side: int, n_parts: int) -> Floats:
    """Return the largest number of each part of a column but the last."""
    edges = quantiles(pair, side, np.arange(1, n_parts) / n_parts)
    return edges if domain.grid is None else domain.grid.edges(edges)


def _of_normals(pair: Layout, columns: Domains, n_parts: int) -> Floats:
    """Return what joint normals contribute to the joint table; 0 if there are none."""
    total = np.zeros((1, 1))
    if len(pair.normals):
        edges = [_edges(pair, columns.columns[side], side, n_parts) for side in (0, 1)]
        for number, share in enumerate(unit_shares(pair)[pair.normals].tolist()):
            total = total + share * cell_probabilities(pair.normal_at(number), *edges)
    return total


def _information(weights: Floats, first: Floats, second: Floats, more: Floats) -> float:
    """Return the mutual information of the joint table, some lines of it at a time; `more` is added to the table."""
    second = weights[:, None] * second
    more = np.broadcast_to(more, (first.shape[1], second.shape[1]))
    # What is left out, such as categories that cannot be, leaves less than the whole.
    total = float(first.sum(axis=1) @ second.sum(axis=1) + more.sum())
    if total == 0.0:  # a column that is known to be none of its categories tells nothing
        return 0.0
    of_first = (second.sum(axis=1) @ first + more.sum(axis=1)) / total
    of_second = (first.sum(axis=1) @ second + more.sum(axis=0)) / total
    height, results = max(1, _CELLS // second.shape[1]), []
    for start in range(0, first.shape[1], height):
        joint = (first[:, start : start + height].T @ second + more[start : start + height]) / total
        expected = of_first[start : start + height, None] * of_second
        possible = (joint > 0.0) & (expected > 0.0)
        results.append(float((joint[possible] * np.log(joint[possible] / expected[possible])).sum()))
    # Rounding may leave independent columns a hair below zero.
    return max(0.0, math.fsum(results))


def input_shares(layout: Layout, variable: int) -> tuple[Layout, npt.NDArray[np.int64], Floats]:
    """Return the circuit of one variable alone, its inputs, and the weight of each."""
    alone = marginal(layout, [variable])
    members = alone.inputs_of(0)
    return alone, members, unit_shares(alone)[members]


def quantiles(layout: Layout, variable: int, shares: Floats) -> Floats:
    """Return where a numeric variable reaches some shares of its probability, by bisection."""
    alone, members, weights = input_shares(layout, variable)
    groups = list(stacks(alone, members))
    extremes = np.concatenate(
        [
            NUMERIC[unit].quantile(parameters, np.full(len(parameters), share))
            for unit, _, parameters in groups
            for share in (shares.min(), shares.max())
        ]
    )
    low, high = np.full(shares.shape, extremes.min()), np.full(shares.shape, extremes.max())
    for _ in range(_BISECTIONS):
        middle = 0.5 * low + 0.5 * high
        reached = sum(
            weights[positions] @ _below(NUMERIC[unit], parameters, middle) for unit, positions, parameters in groups
        )
        enough = reached >= shares
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _below(distribution: Distribution, parameters: Floats, bounds: Floats) -> Floats:
    """Return the probability of at most each bound, [input, bound]."""
    n, m = len(parameters), len(bounds)
    repeated = np.repeat(parameters, m, axis=0)
    mass = log_mass(distribution, repeated, np.full(n * m, -math.inf), np.tile(bounds, n))
    return np.exp(mass).reshape(n, m)

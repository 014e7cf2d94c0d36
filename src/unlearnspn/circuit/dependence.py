"""How much two columns tell about each other."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.conditioning import log_probabilities, stacks
from unlearnspn.circuit.distributions import NUMERIC, Distribution, log_mass
from unlearnspn.circuit.domains import Domains
from unlearnspn.circuit.evidence import Between, Constraint, OneOf
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.layout import Indices, Layout, Starts, Units
from unlearnspn.compiling import kernel

_SUM = int(Unit.SUM)
#: Enough for edges of parts: the range is divided by more than a billion.
_BISECTIONS = 32


def mutual_information(layout: Layout, domains: Domains, first: int, second: int, n_parts: int) -> float:
    """Return the mutual information of two columns in nats; numbers are divided into parts of equal probability."""
    sides = [_parts(layout, domains, variable, n_parts) for variable in (first, second)]
    cases = [{first: a, second: b} for a, b in product(*sides)]
    joint = np.exp(log_probabilities(layout, cases)).reshape(len(sides[0]), len(sides[1]))
    if not joint.any():  # a column that is known to be none of its categories tells nothing
        return 0.0
    joint /= joint.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    possible = joint > 0
    # Rounding may leave independent columns a hair below zero.
    return max(0.0, math.fsum(joint[possible] * np.log(joint[possible] / expected[possible])))


def _parts(layout: Layout, domains: Domains, variable: int, n_parts: int) -> list[Constraint]:
    if not domains.is_numeric[variable]:
        return [OneOf(np.array([place])) for place in range(len(domains.columns[variable].categories))]
    edges = quantiles(layout, variable, np.arange(1, n_parts) / n_parts)
    bounds = [-math.inf, *edges.tolist(), math.inf]
    starts = [bounds[0], *(math.nextafter(edge, math.inf) for edge in bounds[1:-1])]
    return [Between(low, high) for low, high in zip(starts, bounds[1:], strict=True) if low <= high]


def input_shares(layout: Layout, variable: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the inputs of a variable, and the weight of each in the distribution of that variable alone."""
    shares = _shares(layout.units, layout.child_starts, layout.children, np.exp(layout.log_weights))
    members = layout.inputs_of(variable)
    return members, shares[members]


@kernel
def _shares(units: Units, child_starts: Starts, children: Indices, weights: Floats) -> Floats:
    """Hand the whole from the root down to every unit."""
    shares = np.zeros(units.size)
    shares[-1] = 1.0
    for u in range(units.size - 1, -1, -1):
        for edge in range(child_starts[u], child_starts[u + 1]):
            shares[children[edge]] += shares[u] * (weights[edge] if units[u] == _SUM else 1.0)
    return shares


def quantiles(layout: Layout, variable: int, shares: Floats) -> Floats:
    """Return where a numeric variable reaches some shares of its probability, by bisection."""
    members, weights = input_shares(layout, variable)
    groups = list(stacks(layout, members))
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

"""Validation: whether flat arrays are a circuit at all, for those that come from outside.

Compiled code indexes without bounds checks, so this is complete: what passes can be walked, and is a distribution.
Three properties make it one: sums mix distributions of the same variables (smooth), products multiply distributions of
different ones (decomposable), and weights and inputs are normalised.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import OWN, Unit
from unlearnspn.circuit.input_rules import TOLERANCE, Mask, own_parameters, rules
from unlearnspn.circuit.layout import Layout
from unlearnspn.circuit.passes import gather_scopes

#: So many variables fit into a set of bits.
_BITS = 64

Numbers = npt.NDArray[np.int64]


class InvalidCircuitError(ValueError):
    """The arrays are no circuit; the message names the property that fails, and the unit."""


def validate(layout: Layout, n_categories: Sequence[int | None]) -> None:
    """Raise unless the arrays are a circuit over these variables: the number of categories of each, None for numbers.

    >>> from unlearnspn.circuit.expressions import numeric
    >>> from unlearnspn.circuit.layout import lower
    >>> validate(lower(numeric(Unit.GAUSSIAN, 0, 0.0, 1.0)), [None])
    >>> validate(lower(numeric(Unit.GAUSSIAN, 0, 0.0, -1.0)), [None])
    Traceback (most recent call last):
      ...
    unlearnspn.circuit.validation.InvalidCircuitError: unit 0 (GAUSSIAN): its standard deviation is not positive
    """
    _check_arrays(layout)
    _check_order(layout)
    _check_weights(layout)
    _check_variables(layout, n_categories)
    _check_scopes(layout, len(n_categories))
    _check_inputs(layout)


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise InvalidCircuitError(fault)


def _require_of(layout: Layout, units: Numbers, holds: Mask, fault: str) -> None:
    """Raise for the first of some units that something does not hold of."""
    if not holds.all():
        unit = int(units[np.argmin(holds)])
        raise InvalidCircuitError(f"unit {unit} ({Unit(int(layout.units[unit])).name}): {fault}")


def _check_arrays(layout: Layout) -> None:
    """Lengths that fit, starts that divide, kinds that exist."""
    n_units = len(layout)
    _require(0 < n_units < 1 << 31, f"there are {n_units} units")
    _require(len(layout.variables) == n_units, "there is not one variable for each unit")
    _require(len(layout.log_weights) == len(layout.children), "there is not one weight for each child")
    _check_starts("children", layout.child_starts, n_units, len(layout.children))
    _check_starts("parameters", layout.parameter_starts, n_units, len(layout.parameters))
    known = layout.units <= max(Unit)
    _require(bool(known.all()), f"unit {np.argmin(known)} is of an unknown kind")


def _check_starts(name: str, starts: Numbers, n_units: int, n_items: int) -> None:
    fits = len(starts) == n_units + 1 and starts[0] == 0 and starts[-1] == n_items
    _require(fits and bool((starts[1:] >= starts[:-1]).all()), f"the {name} are not divided among the units")


def _check_order(layout: Layout) -> None:
    """Children before parents, all in use, and the root last."""
    every, counts = np.arange(len(layout)), np.diff(layout.child_starts)
    parents, children = np.repeat(every, counts), layout.children
    _require_of(layout, parents, (children >= 0) & (children < parents), "a child does not come before it")
    used = np.bincount(children, minlength=len(layout)) > 0
    used[-1] = True
    _require_of(layout, every, used, "it is no part of the circuit")
    is_input = layout.units > Unit.PRODUCT
    _require_of(layout, every, ~is_input | (counts == 0), "an input has children")
    _require_of(layout, every, is_input | (np.diff(layout.parameter_starts) == 0), "only inputs have parameters")
    _require_of(layout, every, (layout.units != Unit.SUM) | (counts > 0), "a sum has no parts")


def _check_weights(layout: Layout) -> None:
    """Logarithms of probabilities that sum to 1 below a sum, zeros below a product."""
    weights, every = layout.log_weights, np.arange(len(layout))
    parents = np.repeat(every, np.diff(layout.child_starts))
    below_sum = layout.units[parents] == Unit.SUM
    _require_of(layout, parents, below_sum | (weights == 0.0), "a product has weights")
    _require_of(layout, parents, weights <= TOLERANCE, "a weight is no logarithm of a probability")
    totals = np.bincount(parents, np.exp(weights), len(layout))
    normalised = (layout.units != Unit.SUM) | (np.abs(totals - 1.0) <= TOLERANCE)
    _require_of(layout, every, normalised, "its weights do not sum to 1 (not normalised)")


def _check_variables(layout: Layout, n_categories: Sequence[int | None]) -> None:
    """Inputs of variables that exist, of their kind, with as many parameters as they need."""
    inner, inputs = np.flatnonzero(layout.units <= Unit.PRODUCT), layout.inputs
    units, variables = layout.units[inputs], layout.variables[inputs]
    _require_of(layout, inner, layout.variables[inner] == -1, "only inputs have a variable")
    exists = (variables >= 0) & (variables < len(n_categories))
    _require_of(layout, inputs, exists, "its variable does not exist")
    sizes = np.array([-1 if size is None else size for size in n_categories], np.int64)[variables]
    categorical = units == Unit.CATEGORICAL
    _require_of(layout, inputs, categorical == (sizes >= 0), "it is not of its variable's kind")
    lengths = np.diff(layout.parameter_starts)[inputs]
    needed = np.where(categorical, sizes + 1, OWN + np.array([own_parameters(unit) for unit in Unit])[units])
    fits = np.where(units == Unit.HISTOGRAM, lengths >= needed, lengths == needed)
    _require_of(layout, inputs, fits, "it does not have the parameters that it needs")


def _check_scopes(layout: Layout, n_variables: int) -> None:
    """Smooth, decomposable, and over all variables: some variables at a time, so that memory stays bounded."""
    for first in range(0, n_variables, _BITS):
        width = min(n_variables - first, _BITS)
        unit, scope = gather_scopes(layout, first, width)
        is_product = unit >= 0 and layout.units[unit] == Unit.PRODUCT
        fault = "its parts have different variables (not smooth)"
        if is_product:
            fault = "its factors share a variable (not decomposable)"
        _require_of(layout, np.array([unit]), np.array([unit < 0]), fault)
        missing = [first + v for v in range(width) if not scope >> v & 1]
        _require(not missing, f"the circuit leaves out variable {missing[:1]}")


def _check_inputs(layout: Layout) -> None:
    """Parameters that make a distribution."""
    lengths = np.diff(layout.parameter_starts)
    for unit in np.unique(layout.units[layout.inputs]).tolist():
        members = np.flatnonzero(layout.units == unit)
        # Inputs of one length at a time, a line each.
        for length in np.unique(lengths[members]).tolist():
            alike = members[lengths[members] == length]
            lines = layout.parameters[layout.parameter_starts[alike][:, None] + np.arange(length)]
            for rule in rules(Unit(unit)):
                with np.errstate(all="ignore"):
                    holds = rule.holds(lines)
                _require_of(layout, alike, holds, rule.fault)

"""Validation: whether flat arrays are a circuit at all, for those that come from outside.

Compiled code indexes without bounds checks, so this is complete: what passes can be walked, and is a distribution.
Three properties make it one: sums mix distributions of the same variables (smooth), products multiply distributions of
different ones (decomposable), and weights and inputs are normalised. A tree is a mixture of products that share parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import OWN, Unit
from unlearnspn.circuit.input_rules import TOLERANCE, Mask, own_parameters, rules
from unlearnspn.circuit.layout import Layout, is_input
from unlearnspn.circuit.passes import gather_scopes
from unlearnspn.circuit.tree_nodes import table_sizes

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
    _check_trees(layout)
    _check_normals(layout, n_categories)
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
    inputs, with_parameters = is_input(layout.units), layout.units > Unit.PRODUCT
    inputs |= layout.units == Unit.NORMAL
    _require_of(layout, every, ~inputs | (counts == 0), "an input has children")
    has_none = np.diff(layout.parameter_starts) == 0
    _require_of(layout, every, with_parameters | has_none, "only inputs, trees and joint normals have parameters")
    _require_of(layout, every, (layout.units != Unit.SUM) | (counts > 0), "a sum has no parts")


def _check_trees(layout: Layout) -> None:
    """Nodes after their parents, with a distribution for each state, and probabilities that sum to 1."""
    units, nodes = layout.trees, layout.tree_nodes
    starts_fit = len(layout.tree_starts) == len(units) + 1 and layout.tree_starts[0] == 0
    counts = np.diff(layout.tree_starts)
    fits = starts_fit and layout.tree_starts[-1] == len(nodes) and bool((counts > 0).all())
    _require(fits, "the nodes are not divided among the trees")
    if not len(units):
        return
    owners, firsts = np.repeat(units, counts), np.repeat(layout.tree_starts[:-1], counts)
    parents, n_states, n_inputs = nodes.astype(np.int64).T
    places, is_first = np.arange(len(nodes)) - firsts, np.arange(len(nodes)) == firsts
    _require_of(layout, owners, (n_states >= 0) & (n_inputs >= 0), "a node has less than no states or inputs")
    fits = np.where(is_first, parents == -1, (parents >= 0) & (parents < places))
    _require_of(layout, owners, fits, "a node does not come after its parent")
    of_parents = np.where(is_first, 1, n_states[firsts + np.maximum(parents, 0)])
    _require_of(layout, owners, of_parents > 0, "a node without states has children")
    needed = np.where(n_states > 0, n_states, of_parents)
    fits = (n_inputs == needed) | ((n_inputs == 0) & (n_states > 0))
    _require_of(layout, owners, fits & (~is_first | (n_states > 0)), "a node does not have an input for each state")
    totals = np.add.reduceat(n_inputs, layout.tree_starts[:-1])
    _require_of(
        layout, units, totals == np.diff(layout.child_starts)[units], "its inputs are not divided among its nodes"
    )
    children = np.repeat(np.arange(len(layout)), np.diff(layout.child_starts))
    below = layout.units[children] == Unit.TREE
    _require_of(layout, children[below], is_input(layout.units[layout.children[below]]), "a tree has only inputs")
    # Before they are added up, which must not overflow.
    most = len(layout.parameters)
    _require_of(layout, owners, (n_states <= most) & (of_parents * n_states <= most), "a table is too large")
    sizes = table_sizes(nodes)
    totals = np.add.reduceat(sizes, layout.tree_starts[:-1])
    _require_of(
        layout,
        units,
        totals == np.diff(layout.parameter_starts)[units],
        "its tables do not have the size that they need",
    )
    _check_tables(layout, owners, sizes, np.repeat(n_states, sizes))


def _check_tables(layout: Layout, owners: Numbers, sizes: Numbers, widths: Numbers) -> None:
    """Logarithms of probabilities that sum to 1 in each line."""
    probabilities = layout.parameters[np.repeat(layout.units == Unit.TREE, np.diff(layout.parameter_starts))]
    owners = np.repeat(owners, sizes)
    _require_of(layout, owners, probabilities <= TOLERANCE, "a probability in a table is no logarithm of one")
    offsets = np.arange(len(widths)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    lines = np.flatnonzero(offsets % widths == 0)
    totals = np.add.reduceat(np.exp(probabilities), lines)
    fits = np.abs(totals - 1.0) <= TOLERANCE
    _require_of(layout, owners[lines], fits, "the probabilities in its tables do not sum to 1 (not normalised)")


def _check_normals(layout: Layout, n_categories: Sequence[int | None]) -> None:
    """Numbers in order, finite means, and factors with positive diagonals."""
    units, starts, variables = layout.normals, layout.normal_starts, layout.normal_variables
    counts = np.diff(starts)
    fits = len(starts) == len(units) + 1 and starts[0] == 0 and starts[-1] == len(variables) and (counts > 0).all()
    _require(bool(fits), "the variables are not divided among the joint normals")
    if not len(units):
        return
    owners = np.repeat(units, counts)
    exists = (variables >= 0) & (variables < len(n_categories))
    _require_of(layout, owners, exists, "its variable does not exist")
    is_number = np.array([size is None for size in n_categories], np.bool_)
    _require_of(layout, owners, is_number[variables], "one of its variables is no number")
    in_order = np.append(True, (variables[1:] > variables[:-1]) | (owners[1:] != owners[:-1]))
    _require_of(layout, owners, in_order, "its variables are not in order")
    needed = counts + counts * (counts + 1) // 2
    lengths = np.diff(layout.parameter_starts)[units]
    _require_of(layout, units, lengths == needed, "it does not have the parameters that it needs")
    for number, unit in enumerate(units.tolist()):
        normal = layout.normal_at(number)
        finite = bool(np.isfinite(normal.mean).all() and np.isfinite(normal.factor).all())
        holds = np.array([finite and bool((np.diag(normal.factor) > 0.0).all())])
        _require_of(layout, np.array([unit]), holds, "its means and deviations are not those of a joint normal")


def _check_weights(layout: Layout) -> None:
    """Logarithms of probabilities that sum to 1 below a sum, zeros below a product or a tree."""
    weights, every = layout.log_weights, np.arange(len(layout))
    parents = np.repeat(every, np.diff(layout.child_starts))
    below_sum = layout.units[parents] == Unit.SUM
    _require_of(layout, parents, below_sum | (weights == 0.0), "a product or a tree has weights")
    _require_of(layout, parents, weights <= TOLERANCE, "a weight is no logarithm of a probability")
    totals = np.bincount(parents, np.exp(weights), len(layout))
    normalised = (layout.units != Unit.SUM) | (np.abs(totals - 1.0) <= TOLERANCE)
    _require_of(layout, every, normalised, "its weights do not sum to 1 (not normalised)")


def _check_variables(layout: Layout, n_categories: Sequence[int | None]) -> None:
    """Inputs of variables that exist, of their kind, with as many parameters as they need."""
    inner, inputs = np.flatnonzero(~is_input(layout.units)), layout.inputs
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
        fault = {
            Unit.PRODUCT: "its factors share a variable (not decomposable)",
            Unit.TREE: "a node is over several variables (not smooth), or over that of another (not decomposable)",
        }.get(Unit(layout.units[unit]), "its parts have different variables (not smooth)")
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

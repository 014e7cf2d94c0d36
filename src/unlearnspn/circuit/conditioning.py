"""Evidence in a circuit: its probability, and the circuit that is left when it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.density import combine, n_value_lines
from unlearnspn.circuit.distributions import NUMERIC, cut_off, log_mass
from unlearnspn.circuit.evidence import Between, Constraint, Constraints, Equals, OneOf
from unlearnspn.circuit.expressions import N_STATES, ONE, Expression, Input, Normal, Unit, numeric_point
from unlearnspn.circuit.inputs import add_input
from unlearnspn.circuit.layout import Floats, Layout, lift, lower
from unlearnspn.circuit.normal_evidence import given, log_value, restricted
from unlearnspn.circuit.tree_nodes import table_sizes
from unlearnspn.errors import ImpossibleEvidenceError
from unlearnspn.portable_math import add_up

Members = npt.NDArray[np.int64]


def log_probabilities(layout: Layout, cases: Iterable[Constraints], *, events: bool = True) -> Floats:
    """Return the log-probability of each case: for events that of a single number is its mass, else its density."""
    cases = list(cases)
    values = np.zeros((n_value_lines(layout), len(cases)))
    # Many cases may be made of few constraints: each is evaluated once.
    evaluated: dict[tuple[int, int], tuple[Members, Floats]] = {}
    for number, constraints in enumerate(cases):
        for variable, constraint in constraints.items():
            key = variable, id(constraint)
            if key not in evaluated:
                members = layout.inputs_of(variable)
                evaluated[key] = members, _log_values(layout, members, constraint, events)
            members, own = evaluated[key]
            values[members, number] = own
    for unit, normal in _normals(layout):
        for number, constraints in enumerate(cases):
            known = _of_normal(normal, constraints)
            values[unit, number] = log_value(normal, known, events) if known else 0.0
    combine(layout, values)
    return np.asarray(values[len(layout) - 1])


def condition(layout: Layout, constraints: Constraints, *, events: bool = False) -> Layout:
    """Return the circuit given the evidence; it still has all its columns."""
    if not constraints:
        return layout
    values = np.zeros((n_value_lines(layout), 1))
    changed: dict[int, Input] = {}
    changed_normals: dict[int, Expression] = {}
    measures: dict[int, float] = {}
    for variable, constraint in constraints.items():
        members = layout.inputs_of(variable)
        own = _log_values(layout, members, constraint, events)
        possible = own > -np.inf
        changed.update(_given(layout, members[possible], constraint, own[possible]))
        # Far from the data log-densities are so large that all else gets lost beside them. Only differences count here:
        # the likeliest input is the measure, as every part of a sum has one input of the variable.
        measures[variable] = float(own.max()) if possible.any() else 0.0
        values[members, 0] = own - measures[variable]
    for unit, normal in _normals(layout):
        known = _of_normal(normal, constraints)
        own_value = log_value(normal, known, events) if known else 0.0
        values[unit, 0] = own_value - add_up(measures[variable] for variable in known)
        if known and own_value > -np.inf:
            changed_normals[unit] = given(normal, known)
    combine(layout, values)
    if values[len(layout) - 1, 0] == -np.inf:
        raise ImpossibleEvidenceError("the evidence has probability 0 under the model: nothing can be said given it")
    return lower(lift(_reweighed(layout, values[:, 0]), changed.get, normal=changed_normals.get))


def impossible(layout: Layout, constraints: Constraints) -> list[int]:
    """Return the variables whose constraint has probability 0 by itself."""
    values = log_probabilities(layout, [{variable: each} for variable, each in constraints.items()], events=False)
    return [variable for variable, value in zip(constraints, values, strict=True) if value == -np.inf]


def marginal(layout: Layout, variables: list[int]) -> Layout:
    """Return the circuit of some columns, numbered as they are listed."""
    places = {variable: place for place, variable in enumerate(variables)}

    def change(unit: int, part: Input) -> Expression:
        place = places.get(part.variable)
        return ONE if place is None else Input(part.unit, place, part.parameters)

    return lower(lift(layout, change, normal=lambda unit, part: restricted(part, places)))


def _normals(layout: Layout) -> Iterator[tuple[int, Normal]]:
    """Yield each joint normal with its unit."""
    for number, unit in enumerate(layout.normals.tolist()):
        yield unit, layout.normal_at(number)


def _of_normal(normal: Normal, constraints: Constraints) -> Constraints:
    """Return the constraints on the variables of a joint normal."""
    return {v: constraints[v] for v in normal.variables.tolist() if v in constraints}


def stacks(layout: Layout, members: Members) -> Iterator[tuple[Unit, npt.NDArray[np.int64], Floats]]:
    """Group inputs by kind and number of parameters: yield the kind, their positions, and a line for each."""
    lengths = layout.parameter_starts[members + 1] - layout.parameter_starts[members]
    units = layout.units[members]
    for unit, length in sorted(set(zip(units.tolist(), lengths.tolist(), strict=True))):
        positions = np.flatnonzero((units == unit) & (lengths == length))
        starts = layout.parameter_starts[members[positions]]
        yield Unit(unit), positions, layout.parameters[starts[:, None] + np.arange(length)]


def _log_values(layout: Layout, members: Members, constraint: Constraint, events: bool) -> Floats:
    """Return the log-probability of a constraint under each input of its variable."""
    result = np.empty(len(members))
    for unit, positions, parameters in stacks(layout, members):
        result[positions] = _log_value(unit, parameters, constraint, events)
    return result


def _log_value(unit: Unit, parameters: Floats, constraint: Constraint, events: bool) -> Floats:
    if isinstance(constraint, OneOf):
        if constraint.places.size == 0:
            return np.full(len(parameters), -np.inf)
        return np.asarray(np.logaddexp.reduce(parameters[:, constraint.places], axis=1))
    if isinstance(constraint, Equals) and not events:
        return _log_densities(unit, parameters, constraint.value)
    low, high = _bounds(constraint)
    n = len(parameters)
    return log_mass(NUMERIC[unit], parameters, np.full(n, low), np.full(n, high))


def _bounds(constraint: Between | Equals) -> tuple[float, float]:
    if isinstance(constraint, Equals):
        return constraint.value, constraint.value
    return constraint.low, constraint.high


def _log_densities(unit: Unit, parameters: Floats, value: float) -> Floats:
    densities, place = np.zeros((len(parameters), 1)), np.zeros(1, np.int32)
    for line, density in zip(parameters, densities, strict=True):
        add_input(int(unit), line, np.array([value]), place, density)
    return densities[:, 0]


def _given(layout: Layout, members: Members, constraint: Constraint, log_values: Floats) -> dict[int, Input]:
    """Return what is left of each input once the constraint is known."""
    changed: dict[int, Input] = {}
    for unit, positions, parameters in stacks(layout, members):
        for position, part in zip(positions, _left(unit, parameters, constraint, log_values[positions]), strict=True):
            member = int(members[position])
            changed[member] = Input(part[0], int(layout.variables[member]), part[1])
    return changed


def _left(unit: Unit, parameters: Floats, constraint: Constraint, log_values: Floats) -> list[tuple[Unit, Floats]]:
    if isinstance(constraint, OneOf):
        left = np.full_like(parameters, -np.inf)
        left[:, constraint.places] = parameters[:, constraint.places] - log_values[:, None]
        return [(unit, line) for line in left]
    if isinstance(constraint, Equals):
        point = numeric_point(constraint.value)
        return [(Unit.POINT, point)] * len(parameters)
    n = len(parameters)
    cut = cut_off(NUMERIC[unit], parameters, np.full(n, constraint.low), np.full(n, constraint.high))
    return [(unit, line) for line in cut]


def _reweighed(layout: Layout, values: Floats) -> Layout:
    """Reweigh the parts of each sum and the states of each node of a tree by how well they explain the evidence."""
    owners = np.repeat(np.arange(len(layout)), np.diff(layout.child_starts))
    own = np.flatnonzero(layout.units[owners] == Unit.SUM)
    weights = layout.log_weights.copy()
    weights[own] = _posterior(weights[own], values[layout.children[own]], owners[own], len(layout))
    if not len(layout.trees):
        return layout.with_weights(weights)
    lines, states, entries = _table_entries(layout)
    parameters = layout.parameters.copy()
    parameters[entries] = _posterior(parameters[entries], values[states], lines, int(lines[-1]) + 1)
    return layout.with_weights(weights).with_parameters(layout.parameter_starts, parameters)


def _table_entries(layout: Layout) -> tuple[Members, Members, Members]:
    """Return of each probability in the tables of trees its line, the line of its state's value, and where it is."""
    n_states = layout.tree_nodes[:, N_STATES].astype(np.int64)
    sizes = table_sizes(layout.tree_nodes)
    widths = np.repeat(n_states, sizes)
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    firsts = np.repeat(len(layout) + np.cumsum(n_states) - n_states, sizes)
    is_first = offsets % widths == 0
    is_table = np.repeat(layout.units == Unit.TREE, np.diff(layout.parameter_starts))
    return np.cumsum(is_first) - 1, firsts + offsets % widths, np.flatnonzero(is_table)


def _posterior(log_weights: Floats, values: Floats, owners: Members, n_owners: int) -> Floats:
    """Return the weights of alternatives, given their values; those of one owner exclude each other.

    Log-densities far from the data are so large that weights get lost beside them, and that their sum is off by more
    than a probability. So alternatives are compared with the best one, and the weights are normalised anew.
    """
    weights = log_weights.copy()
    # Where all are impossible, weights stay as they are: nothing comes down to there.
    possible = (weights > -np.inf) & (
        _largest(np.where(weights > -np.inf, values, -np.inf), owners, n_owners) > -np.inf
    )
    owners, own = owners[possible], values[possible]
    terms = weights[possible] + (own - _largest(own, owners, n_owners))
    terms -= _largest(terms, owners, n_owners)
    totals = np.bincount(owners, np.exp(terms), n_owners)
    weights[possible] = terms - np.log(totals[owners])
    return weights


def _largest(numbers: Floats, owners: npt.NDArray[np.int64], n_owners: int) -> Floats:
    """Return for each number the largest among those of the same owner."""
    largest = np.full(n_owners, -np.inf)
    np.maximum.at(largest, owners, numbers)
    return largest[owners]

"""Expectations of powers, exactly: one pass over the circuit, with the moments of the inputs in place of densities."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from unlearnspn.circuit.conditioning import Members, stacks
from unlearnspn.circuit.distributions import NUMERIC
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import HIGH, LOW, Unit, numeric_parameters
from unlearnspn.circuit.grid_moments import grid_moments
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.layout import Layout
from unlearnspn.circuit.normal_algebra import marginal, mixed_moment
from unlearnspn.circuit.passes import combine_expectations
from unlearnspn.errors import InvalidEvidenceError


def means(layout: Layout, domains: Domains, variables: list[int]) -> Floats:
    """Return the expectation of each variable."""
    values = np.ones((len(layout), len(variables)))
    for number, variable in enumerate(variables):
        members = layout.inputs_of(variable)
        values[members, number] = input_moments(layout, members, domains.columns[variable], 1, 0.0)
        _add_normals(layout, domains, {variable: 1}, {variable: 0.0}, values[:, number])
    combine_expectations(layout, values)
    return np.asarray(values[-1])


def moment(layout: Layout, domains: Domains, powers: Mapping[int, int], centres: Mapping[int, float]) -> float:
    """Return the expectation of the product of (x - centre)**power over some variables."""
    values = np.ones((len(layout), 1))
    for variable, power in powers.items():
        members = layout.inputs_of(variable)
        values[members, 0] = input_moments(layout, members, domains.columns[variable], power, centres[variable])
    _add_normals(layout, domains, powers, centres, values[:, 0])
    combine_expectations(layout, values)
    return float(values[-1, 0])


def _add_normals(
    layout: Layout, domains: Domains, powers: Mapping[int, int], centres: Mapping[int, float], values: Floats
) -> None:
    """Write the moments of joint normals.

    Of several variables of one normal they are those of the numbers before they are moved to a grid.
    """
    alone: dict[int, tuple[list[int], list[list[float]]]] = {}
    for number, unit in enumerate(layout.normals.tolist()):
        normal = layout.normal_at(number)
        asked = [place for place, v in enumerate(normal.variables.tolist()) if powers.get(v)]
        if len(asked) == 1:
            (place,) = asked
            units, lines = alone.setdefault(int(normal.variables[place]), ([], []))
            units.append(unit)
            lines.append(numeric_parameters(float(normal.mean[place]), math.hypot(*normal.factor[place].tolist())))
        elif asked:
            own = marginal(normal, asked)
            variables = own.variables.tolist()
            values[unit] = mixed_moment(own, [powers[v] for v in variables], [centres[v] for v in variables])
    for variable, (units, lines) in alone.items():
        domain, power, centre = domains.columns[variable], powers[variable], centres[variable]
        values[units] = _moments_of(Unit.GAUSSIAN, np.array(lines), domain, power, centre)


def input_moments(layout: Layout, members: Members, domain: Domain, power: int, centre: float) -> Floats:
    """Return the moment of each of some inputs of one variable."""
    result = np.empty(len(members))
    for unit, positions, parameters in stacks(layout, members):
        if unit is Unit.CATEGORICAL:
            powers = (category_numbers(domain) - centre) ** power
            if not (parameters[:, :-1] > -np.inf).any():
                raise InvalidEvidenceError(
                    f"no category of column {domain.name!r} is known, so there is no mean of them"
                )
            # What was never seen has no number: moments are those of the categories that are known.
            result[positions] = np.exp(parameters[:, :-1]) @ powers
        else:
            result[positions] = _moments_of(unit, parameters, domain, power, centre)
    return result


def _moments_of(unit: Unit, parameters: Floats, domain: Domain, power: int, centre: float) -> Floats:
    """Return the moments of inputs over numbers, of the values on the grid if there is one."""
    if domain.grid is not None:
        return grid_moments(unit, parameters, domain.grid, power, centre)
    return _numeric_moments(unit, parameters, power, centre)


def _numeric_moments(unit: Unit, parameters: Floats, power: int, centre: float) -> Floats:
    """Return the moments of inputs over numbers; a mean is within the bounds, also if these are a rounding apart."""
    moments = NUMERIC[unit].moment(parameters, power, np.full(len(parameters), centre))
    if power == 1:
        moments = np.clip(moments, parameters[:, LOW] - centre, parameters[:, HIGH] - centre)
    return moments


def category_numbers(domain: Domain) -> Floats:
    """Return the categories as numbers, True as 1, or raise if they are none."""
    words = [category for category in domain.categories if isinstance(category, str)]
    if words:
        raise InvalidEvidenceError(
            f"column {domain.name!r} has categories such as {words[0]!r}, which have no mean: ask for the probability "
            "of its categories instead"
        )
    try:
        return np.array([float(category) for category in domain.categories])
    except OverflowError as error:
        raise InvalidEvidenceError(f"column {domain.name!r} has categories that are too large for a mean") from error

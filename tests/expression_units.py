"""Expressions of the library as units of the reference, so that both can be compared."""

import math

from unlearnspn.circuit.expressions import Input, Normal, Product, Sum, Unit
from unlearnspn.circuit.tree_nodes import unpack


def units_of(expression, units, known=None):
    """Return the number that an expression has among the reference's units."""
    known = {} if known is None else known
    if id(expression) not in known:
        known[id(expression)] = _unit_of(expression, units, known)
    return known[id(expression)]


def _unit_of(expression, units, known):
    if isinstance(expression, Input):
        return _input(expression, units)
    if isinstance(expression, Sum):
        parts = [units_of(part, units, known) for part in expression.parts]
        return units.unit("sum", parts, list(expression.log_weights))
    if isinstance(expression, Normal):
        parts = expression.variables, expression.mean, expression.factor
        return units.unit("normal", *[part.tolist() for part in parts])
    inputs = [_input(part, units) for part in expression.inputs.unpack()]
    if isinstance(expression, Product):
        return units.unit("product", inputs + [units_of(part, units, known) for part in expression.inner])
    nodes = unpack(expression.nodes, expression.log_tables, inputs)
    return units.tree([(p, None if t is None else t.tolist(), list(i)) for p, t, i in nodes])


def _input(part, units):
    parameters = part.parameters.tolist()
    if part.unit is Unit.CATEGORICAL:
        return units.unit("categorical", part.variable, parameters)
    assert part.unit is Unit.GAUSSIAN
    assert parameters[:3] == [-math.inf, math.inf, 0.0]
    return units.unit("gaussian", part.variable, *parameters[3:])

"""The library against LearnSPN written a second time: the same decisions, and the same circuit to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference import Reference, Settings
from reference_circuit import Units, derive_circuit
from unlearnspn import SPN
from unlearnspn.circuit.expressions import Unit

def units_of(circuit, units):
    """Return the number of the library's circuit among the reference's units."""
    layout, numbers = circuit.layout, []
    for u in range(len(layout)):
        kind, parameters = Unit(layout.units[u]), layout.parameters_of(u).tolist()
        children = [numbers[child] for child in layout.children_of(u).tolist()]
        if kind is Unit.SUM:
            weights = layout.log_weights[layout.child_starts[u] : layout.child_starts[u + 1]].tolist()
            numbers.append(units.unit("sum", children, weights))
        elif kind is Unit.PRODUCT:
            numbers.append(units.unit("product", children))
        elif kind is Unit.GAUSSIAN:
            assert parameters[:3] == [-math.inf, math.inf, 0.0]
            numbers.append(units.unit("gaussian", int(layout.variables[u]), *parameters[3:]))
        else:
            assert kind is Unit.CATEGORICAL
            numbers.append(units.unit("categorical", int(layout.variables[u]), parameters))
    return numbers[-1]

"""Flat arrays: what a circuit is stored as and executed from.

Units stand in topological order, children before parents, the root last.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import (
    Expression,
    Fragment,
    Input,
    Inputs,
    Product,
    Sum,
    Unit,
    Within,
    mixture,
    product,
)

Units = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int32]
Starts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layout:
    """All units of a circuit."""

    #: What each unit is, a `Unit`.
    units: npt.NDArray[np.uint8]
    #: The variable of each input; -1 for sums and products.
    variables: Indices
    #: Unit u has the children `children[child_starts[u]:child_starts[u + 1]]`, with weights in `log_weights` (0 below
    #: a product).
    child_starts: npt.NDArray[np.int64]
    children: Indices
    log_weights: Floats
    #: Unit u has the parameters `parameters[parameter_starts[u]:parameter_starts[u + 1]]`.
    parameter_starts: npt.NDArray[np.int64]
    parameters: Floats

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays come out of a pickle writeable.
        return type(self), tuple(self.arrays().values())

    def __len__(self) -> int:
        return len(self.units)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def same(self, other: Layout) -> bool:
        """Tell whether both hold the same bits."""
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)

    def children_of(self, unit: int) -> Indices:
        """Return the children of a unit."""
        return self.children[self.child_starts[unit] : self.child_starts[unit + 1]]

    def parameters_of(self, unit: int) -> Floats:
        """Return the parameters of a unit."""
        return self.parameters[self.parameter_starts[unit] : self.parameter_starts[unit + 1]]

    def with_weights(self, log_weights: Floats) -> Layout:
        """Return the same circuit with other weights."""
        return replace(self, log_weights=log_weights)

    def with_parameters(self, parameter_starts: npt.NDArray[np.int64], parameters: Floats) -> Layout:
        """Return the same circuit with other parameters."""
        return replace(self, parameter_starts=parameter_starts, parameters=parameters)

    @cached_property
    def inputs(self) -> npt.NDArray[np.int64]:
        """The units that are inputs."""
        return np.flatnonzero(self.units > Unit.PRODUCT)

    def inputs_of(self, variable: int) -> npt.NDArray[np.int64]:
        """Return the inputs of one variable."""
        return np.flatnonzero(self.variables == variable)

    def categories_of(self, variable: int) -> Floats:
        """Return the log-probabilities that the inputs of a categorical variable have, a line for each."""
        starts = self.parameter_starts[self.inputs_of(variable)]
        length = self.parameter_starts[self.inputs_of(variable)[0] + 1] - starts[0]
        return self.parameters[starts[:, None] + np.arange(length)]


def lower(root: Expression) -> Layout:
    """Write an expression into arrays: every sum and product once, each product right after its inputs."""
    places: dict[int, int] = {}
    units: list[Inputs] = []
    children, child_counts, log_weights = array("i"), array("q"), array("d")
    n_units = 0
    for part in _children_first(root):
        if isinstance(part, Fragment):
            units.append(part.units)
            children.frombytes((part.children + np.int32(n_units)).tobytes())
            child_counts.frombytes(part.child_counts.tobytes())
            log_weights.frombytes(part.log_weights.tobytes())
            places[id(part)] = n_units
            n_units += len(part.units.units)
            continue
        if isinstance(part, Input):
            units.append(Inputs.pack([part]))
        elif isinstance(part, Sum):
            units.append(_SUM)
            children.extend([_place(child, places) for child in part.parts])
            child_counts.append(len(part.parts))
            log_weights.extend(part.log_weights)
        else:
            n_inputs = part.inputs.number
            units += (part.inputs, _PRODUCT)
            children.extend(range(n_units, n_units + n_inputs))
            children.extend([_place(child, places) for child in part.inner])
            child_counts.append(part.n_factors)
            log_weights.frombytes(bytes(8 * part.n_factors))
            n_units += n_inputs
        places[id(part)] = n_units
        n_units += 1
    return _layout(units, child_counts, children, log_weights)


def _place(part: Expression, places: dict[int, int]) -> int:
    return places[id(part.fragment)] + part.unit if isinstance(part, Within) else places[id(part)]


def _layout(lines: list[Inputs], child_counts: array[int], children: array[int], log_weights: array[float]) -> Layout:
    units, variables, parameter_counts, parameters = (np.concatenate(arrays) for arrays in zip(*lines, strict=True))
    counts = np.zeros(len(units), np.int64)
    counts[units <= Unit.PRODUCT] = child_counts
    return Layout(
        units,
        variables,
        starts_of(counts),
        np.array(children, np.int32),
        np.array(log_weights, np.float64),
        starts_of(parameter_counts),
        parameters,
    )


def _inner(unit: Unit) -> Inputs:
    """Return the line of a unit that is no input."""
    return Inputs(np.array([unit], np.uint8), np.array([-1], np.int32), np.zeros(1, np.int64), np.zeros(0))


_SUM, _PRODUCT = _inner(Unit.SUM), _inner(Unit.PRODUCT)


def starts_of(counts: npt.NDArray[np.int64]) -> Starts:
    """Return where each of several runs starts that have so many elements, and at the end where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _children_first(root: Expression) -> list[Input | Product | Sum | Fragment]:
    """List every part once but for the inputs of products, children before parents; circuits may be deep."""
    order: list[Input | Product | Sum | Fragment] = []
    seen: set[int] = set()
    pending: list[tuple[Expression, bool]] = [(root, False)]
    while pending:
        part, ready = pending.pop()
        if isinstance(part, Within):
            if id(part.fragment) not in seen:
                seen.add(id(part.fragment))
                order.append(part.fragment)
        elif ready:
            order.append(part)
        elif id(part) not in seen:
            seen.add(id(part))
            pending.append((part, True))
            if not isinstance(part, Input):
                below = part.parts if isinstance(part, Sum) else part.inner
                pending.extend((child, False) for child in reversed(below))
    return order


def lift(layout: Layout, change: Callable[[int, Input], Expression] = lambda unit, part: part) -> Expression:
    """Read an expression out of arrays, pruning anew, with every input exchanged for what `change` makes of it."""
    uses = np.bincount(layout.children, minlength=len(layout))
    made: list[Expression] = []
    for unit, kind in enumerate(layout.units.tolist()):
        if kind > Unit.PRODUCT:
            part = change(unit, Input(Unit(kind), int(layout.variables[unit]), layout.parameters_of(unit)))
        else:
            start, end = layout.child_starts[unit], layout.child_starts[unit + 1]
            parts = [made[child] for child in layout.children[start:end].tolist()]
            part = mixture(parts, layout.log_weights[start:end].tolist()) if kind == Unit.SUM else product(parts)
        if isinstance(part, Sum) and uses[unit] > 1 and not part.shared:
            part = Sum(part.parts, part.log_weights, shared=True)
        made.append(part)
    return made[-1]

"""Mixtures of circuits over the same columns, as one circuit.

The circuits may know different categories of a column; the mixture knows those of all. What a circuit has for all
categories that it never saw is divided among those that it learns of from the others and those that still nobody has
seen. So every circuit gives what it gave before, only told more finely.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.circuit import Circuit
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.exponentials import logarithms
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import Floats, Layout, starts_of
from unlearnspn.tables import Category, token
from unlearnspn.tables.cells import rank
from unlearnspn.tables.origins import Origin


def mix(circuits: Sequence[Circuit], log_weights: Sequence[float], unseen: float, origin: Origin | None) -> Circuit:
    """Return the mixture of circuits over the same columns.

    Where the probability of what a circuit never saw is divided, categories that others know get one share each, and
    all that nobody knows `unseen` of one; nothing, if the others leave nothing to categories never seen.
    """
    if len(circuits) == 1:
        return Circuit(circuits[0].layout, circuits[0].domains, origin)
    columns = [_joined(circuits, variable) for variable in range(len(circuits[0].domains))]
    domains = Domains(tuple(columns), circuits[0].domains.id_column)
    layouts = [circuit.layout for circuit in circuits]
    for variable, column in enumerate(columns):
        narrow = [len(circuit.domains.columns[variable].categories) < len(column.categories) for circuit in circuits]
        if any(narrow):
            share = unseen if _is_open(circuits, variable) else 0.0
            for number in np.flatnonzero(narrow).tolist():
                own = circuits[number].domains.columns[variable]
                layouts[number] = _widened(layouts[number], variable, own, column, share)
    return Circuit(_sum(layouts, log_weights), domains, origin)


def _joined(circuits: Sequence[Circuit], variable: int) -> Domain:
    """Return the column with the categories that it has in any of the circuits, in canonical order."""
    known: dict[bytes, Category] = {}
    for circuit in circuits:
        known.update((token(category), category) for category in circuit.domains.columns[variable].categories)
    columns = [circuit.domains.columns[variable] for circuit in circuits]
    return Domain(
        columns[0].name,
        columns[0].kind,
        columns[0].family,
        tuple(sorted(known.values(), key=rank)),
        all(column.identifies for column in columns),
        any(column.has_negative for column in columns),
        any(column.has_fraction for column in columns),
        any(column.has_time for column in columns),
        (min(column.span[0] for column in columns), max(column.span[1] for column in columns)),
    )


def _is_open(circuits: Sequence[Circuit], variable: int) -> bool:
    """Tell whether categories never seen are possible, by the circuits that know any category at all."""
    return any(
        bool((circuit.layout.categories_of(variable)[:, -1] > -np.inf).any())
        for circuit in circuits
        if circuit.domains.columns[variable].categories
    )


def _widened(layout: Layout, variable: int, own: Domain, wide: Domain, share: float) -> Layout:
    """Return the layout with the inputs of a variable over more categories."""
    places = np.array([*map(own.place, wide.categories), len(own.categories)])
    absent = places[:-1] == len(own.categories)
    shares = np.append(np.ones(len(absent)), share)
    shares[:-1][absent], shares[-1] = 1.0 / (absent.sum() + share), share / (absent.sum() + share)
    logs = np.where(shares > 0.0, logarithms(shares), -np.inf)
    lines = layout.categories_of(variable)[:, places] + logs
    return _with_parameters(layout, layout.inputs_of(variable), lines)


def _with_parameters(layout: Layout, inputs: npt.NDArray[np.int64], lines: Floats) -> Layout:
    """Return the layout with other parameters for some inputs, a line for each."""
    counts = np.diff(layout.parameter_starts)
    kept = np.ones(len(layout), np.bool_)
    kept[inputs] = False
    new_counts = counts.copy()
    new_counts[inputs] = lines.shape[1]
    starts = np.append(0, np.cumsum(new_counts))
    parameters = np.empty(starts[-1])
    moved = np.arange(len(layout.parameters)) + np.repeat(starts[:-1] - layout.parameter_starts[:-1], counts)
    remaining = np.repeat(kept, counts)
    parameters[moved[remaining]] = layout.parameters[remaining]
    parameters[starts[inputs][:, None] + np.arange(lines.shape[1])] = lines
    return layout.with_parameters(starts, parameters)


class _Part(NamedTuple):
    """A layout as a part of a sum: without its root if that is a sum itself, whose parts then take its place."""

    layout: Layout
    n_units: int
    n_children: int
    roots: npt.NDArray[np.int32]
    log_weights: Floats

    @classmethod
    def of(cls, layout: Layout, log_weight: float) -> _Part:
        last = len(layout) - 1
        if layout.units[last] != Unit.SUM:
            return cls(layout, last + 1, len(layout.children), np.array([last], np.int32), np.array([log_weight]))
        start = int(layout.child_starts[last])
        return cls(layout, last, start, layout.children[start:], layout.log_weights[start:] + log_weight)


def _sum(layouts: Sequence[Layout], log_weights: Sequence[float]) -> Layout:
    """Put layouts side by side, and a sum of their roots on top."""
    parts = [_Part.of(layout, weight) for layout, weight in zip(layouts, log_weights, strict=True)]
    units = [0, *accumulate(part.n_units for part in parts)]
    children = [0, *accumulate(part.n_children for part in parts)]
    parameters = [0, *accumulate(len(layout.parameters) for layout in layouts)]
    below = [part.layout.children[: part.n_children] + np.int32(n) for part, n in zip(parts, units, strict=False)]
    roots = [part.roots + np.int32(n) for part, n in zip(parts, units, strict=False)]
    child_starts = [part.layout.child_starts[: part.n_units] + n for part, n in zip(parts, children, strict=False)]
    starts = [part.layout.parameter_starts[: part.n_units] + n for part, n in zip(parts, parameters, strict=False)]
    n_children = children[-1] + sum(len(part.roots) for part in parts)
    return Layout(
        np.concatenate([*(part.layout.units[: part.n_units] for part in parts), [np.uint8(Unit.SUM)]]),
        np.concatenate([*(part.layout.variables[: part.n_units] for part in parts), [np.int32(-1)]]),
        np.concatenate([*child_starts, [children[-1], n_children]]),
        np.concatenate([*below, *roots]),
        np.concatenate(
            [*(part.layout.log_weights[: part.n_children] for part in parts), *(part.log_weights for part in parts)]
        ),
        np.concatenate([*starts, [parameters[-1], parameters[-1]]]),
        np.concatenate([layout.parameters for layout in layouts]),
        starts_of(np.concatenate([np.diff(layout.tree_starts) for layout in layouts])),
        np.concatenate([layout.tree_nodes for layout in layouts]),
        starts_of(np.concatenate([np.diff(layout.normal_starts) for layout in layouts])),
        np.concatenate([layout.normal_variables for layout in layouts]),
    )

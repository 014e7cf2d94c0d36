"""Circuits for other tools: plain units by name, JSON, networkx graphs, and Graphviz source.

Other tools know nothing of trees: they get the sums and products that a tree stands for.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN, Normal, Unit
from unlearnspn.circuit.layout import Layout, unrolled
from unlearnspn.circuit.normal_algebra import covariances
from unlearnspn.schema import Kind
from unlearnspn.tables import Category

if TYPE_CHECKING:
    from unlearnspn.circuit.circuit import Circuit

_VERSION = 1
_OWN_NAMES = {
    Unit.GAUSSIAN: ("mean", "std"),
    Unit.EXPONENTIAL: ("mean",),
    Unit.LOG_NORMAL: ("mean", "std"),
    Unit.POISSON: ("rate",),
    Unit.HISTOGRAM: ("start", "width"),
    Unit.POINT: (),
}
_SHOWN_CATEGORIES = 4


def plain_units(circuit: Circuit) -> list[dict[str, Any]]:
    """Return every unit as a dictionary, children before parents; sums and products in place of trees."""
    layout, names = unrolled(circuit.layout), circuit.domains.names
    units = [_plain(layout, number, Unit(unit), names) for number, unit in enumerate(layout.units.tolist())]
    for number, unit in enumerate(layout.normals.tolist()):
        units[unit] = _plain_normal(layout.normal_at(number), names)
    return units


def to_json(circuit: Circuit) -> str:
    """Write a circuit as JSON; weights, probabilities and densities are no logarithms there."""
    columns = [
        {"name": domain.name, "kind": str(domain.kind)}
        | ({"categories": list(domain.categories)} if domain.kind is Kind.CATEGORICAL else {})
        for domain in circuit.domains.columns
    ]
    units = plain_units(circuit)
    document = {
        "format": "unlearnspn circuit",
        "version": _VERSION,
        "columns": columns,
        "units": units,
        "root": len(units) - 1,
    }
    return json.dumps(document, allow_nan=False)


def to_networkx(circuit: Circuit) -> Any:
    """Return a directed graph from parents to children, with what each unit is as attributes of its node."""
    try:
        import networkx  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise ImportError("to_networkx needs networkx: run pip install 'unlearnspn[networkx]'") from error
    graph = networkx.DiGraph(name="unlearnspn circuit")
    for number, unit in enumerate(plain_units(circuit)):
        children, weights = unit.pop("children", []), unit.pop("weights", None)
        graph.add_node(number, **unit)
        for place, child in enumerate(children):
            graph.add_edge(number, child, **({} if weights is None else {"weight": weights[place]}))
    return graph


def to_graphviz(circuit: Circuit) -> str:
    """Write the source of a picture for Graphviz's `dot`."""
    lines = ["digraph circuit {", "  node [fontname=Helvetica, fontsize=10]", "  edge [fontname=Helvetica, fontsize=9]"]
    for number, unit in enumerate(plain_units(circuit)):
        lines.append(f"  {number} [{_style(circuit, unit)}]")
        weights = unit.get("weights")
        for place, child in enumerate(unit.get("children", [])):
            label = "" if weights is None else f' [label="{weights[place]:.3g}"]'
            lines.append(f"  {number} -> {child}{label}")
    return "\n".join([*lines, "}"]) + "\n"


def _plain(layout: Layout, number: int, unit: Unit, names: list[str]) -> dict[str, Any]:
    kind = {"kind": unit.name.lower()}
    if unit in (Unit.SUM, Unit.PRODUCT):
        start, end = layout.child_starts[number], layout.child_starts[number + 1]
        weights = {"weights": np.exp(layout.log_weights[start:end]).tolist()} if unit is Unit.SUM else {}
        return kind | {"children": layout.children_of(number).tolist()} | weights
    if unit is Unit.NORMAL:
        return kind
    column = {"column": names[layout.variables[number]]}
    parameters = layout.parameters_of(number).tolist()
    if unit is Unit.CATEGORICAL:
        *probabilities, unseen = np.exp(parameters).tolist()
        return kind | column | {"probabilities": probabilities, "unseen": unseen}
    bounds = {"low": _finite(parameters[LOW]), "high": _finite(parameters[HIGH]), "log_mass": parameters[LOG_MASS]}
    own = dict(zip(_OWN_NAMES[unit], parameters[OWN:], strict=False))
    if unit is Unit.HISTOGRAM:
        own["densities"] = np.exp(parameters[OWN + 2 :]).tolist()
    return kind | column | bounds | own


def _plain_normal(normal: Normal, names: list[str]) -> dict[str, Any]:
    columns = [names[variable] for variable in normal.variables.tolist()]
    return {
        "kind": "normal",
        "columns": columns,
        "mean": normal.mean.tolist(),
        "covariance": covariances(normal).tolist(),
    }


def _finite(bound: float) -> float | None:
    return None if math.isinf(bound) else bound


def _style(circuit: Circuit, unit: dict[str, Any]) -> str:
    if unit["kind"] == "sum":
        return 'label="+", shape=circle'
    if unit["kind"] == "product":
        return 'label="*", shape=circle'
    if unit["kind"] == "normal":
        pairs = zip(unit["columns"], unit["mean"], strict=True)
        return f"label={_quoted(chr(10).join(f'{name} (normal) mean {mean:.4g}' for name, mean in pairs))}, shape=box"
    return f"label={_quoted(_label(circuit, unit))}, shape=box"


def _label(circuit: Circuit, unit: dict[str, Any]) -> str:
    if unit["kind"] == "categorical":
        shares = sorted(zip(unit["probabilities"], _categories(circuit, unit), strict=True), key=lambda s: -s[0])
        texts = [f"{category}: {share:.3g}" for share, category in shares[:_SHOWN_CATEGORIES]]
        texts += ["…"] if len(shares) > _SHOWN_CATEGORIES else []
    else:
        hidden = ("kind", "column", "densities", "log_mass")
        texts = [f"{name} {value:.4g}" for name, value in unit.items() if name not in hidden and value is not None]
    return "\n".join([f"{unit['column']} ({unit['kind'].replace('_', '-')})", *texts])


def _categories(circuit: Circuit, unit: dict[str, Any]) -> tuple[Category, ...]:
    return circuit.domains.columns[circuit.domains.names.index(unit["column"])].categories


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

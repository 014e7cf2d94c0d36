"""Circuits for other tools: JSON, networkx, Graphviz."""

import json
import math
import shutil
import subprocess

import networkx
import numpy as np
import pandas as pd
import pytest

from unlearnspn import SPN, Range

RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 2, 200)
FRAME = pd.DataFrame(
    {
        'size "x"\n': GROUP * 5.0 + RNG.standard_normal(200),
        "colour": np.array(["r\\ed", 'gr"een'])[GROUP],
        "count": RNG.poisson(3 + 5 * GROUP).astype(float),
    }
)
SIZE = FRAME.columns[0]


@pytest.fixture(scope="module")
def circuit():
    return SPN(min_rows=20, leaves={"count": "poisson"}).fit(FRAME).circuit_


def by_hand(document, row):
    """The density of a row, from the JSON alone."""
    columns = {column["name"]: column for column in document["columns"]}
    values = []
    for unit in document["units"]:
        match unit["kind"]:
            case "sum":
                pairs = zip(unit["weights"], unit["children"], strict=True)
                values.append(math.fsum(weight * values[child] for weight, child in pairs))
            case "product":
                values.append(math.prod(values[child] for child in unit["children"]))
            case "categorical":
                place = columns[unit["column"]]["categories"].index(row[unit["column"]])
                values.append(unit["probabilities"][place])
            case "gaussian":
                z = (row[unit["column"]] - unit["mean"]) / unit["std"]
                inside = (unit["low"] is None or row[unit["column"]] >= unit["low"]) and unit["high"] is None
                density = math.exp(-z * z / 2 - unit["log_mass"]) / (unit["std"] * math.sqrt(2 * math.pi))
                values.append(density if inside else 0.0)
            case "poisson":
                k = row[unit["column"]]
                values.append(math.exp(k * math.log(unit["rate"]) - unit["rate"] - math.lgamma(k + 1)))
    return values[document["root"]]


@pytest.mark.parametrize("given", [{}, {SIZE: Range(above=2.5)}], ids=["whole", "cut off"])
def test_json_says_everything(circuit, given):
    served = circuit.condition(given)
    document = json.loads(served.to_json())
    assert document["format"] == "unlearnspn circuit"
    densities = np.exp(served.score_samples(FRAME.iloc[:50]))
    expected = [by_hand(document, row) for row in FRAME.iloc[:50].to_dict("records")]
    assert densities == pytest.approx(expected, rel=1e-11)


def test_networkx_has_every_unit_and_edge(circuit):
    graph = circuit.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert len(graph) == len(circuit.layout)
    assert graph.number_of_edges() == len(circuit.layout.children)
    for node, attributes in graph.nodes(data=True):
        if attributes["kind"] == "sum":
            weights = [data["weight"] for *_, data in graph.out_edges(node, data=True)]
            assert math.fsum(weights) == pytest.approx(1.0)
    leaves = {attributes["column"] for _, attributes in graph.nodes(data=True) if "column" in attributes}
    assert leaves == set(FRAME.columns)


def test_graphviz_source_is_well_formed(circuit):
    source = circuit.to_graphviz()
    assert source.count("->") == len(circuit.layout.children)
    quotes = source.replace("\\\\", "").replace('\\"', "").count('"')
    assert quotes % 2 == 0
    assert all(line.startswith(("  ", "digraph", "}")) for line in source.splitlines())
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=source.encode(), check=True, capture_output=True)

"""SPFlow 0.0.48, for the worker in its environment: learn, score, and build its nodes from the JSON of a circuit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from spn.algorithms.Inference import add_node_likelihood, log_likelihood  # type: ignore[import-not-found]
from spn.algorithms.LearningWrappers import learn_parametric  # type: ignore[import-not-found]
from spn.algorithms.Validity import is_valid  # type: ignore[import-not-found]
from spn.structure.Base import (  # type: ignore[import-not-found]
    Context,
    Leaf,
    Product,
    Sum,
    assign_ids,
    get_nodes_by_type,
)
from spn.structure.leaves.histogram.Histograms import Histogram  # type: ignore[import-not-found]
from spn.structure.leaves.histogram.Inference import add_histogram_inference_support  # type: ignore[import-not-found]
from spn.structure.leaves.parametric.Inference import add_parametric_inference_support  # type: ignore[import-not-found]
from spn.structure.leaves.parametric.Parametric import (  # type: ignore[import-not-found]
    Bernoulli,
    Categorical,
    Exponential,
    Gaussian,
    LogNormal,
    Poisson,
)
from spn.structure.StatisticalTypes import MetaType  # type: ignore[import-not-found]

Rows = npt.NDArray[np.float64]


class JointNormal(Leaf):  # type: ignore[misc]
    """Several numbers that are jointly normal: SPFlow has no such leaf, but takes one that says how likely rows are."""

    def __init__(self, mean: list[float], covariance: list[list[float]], scope: list[int]) -> None:
        super().__init__(scope=scope)
        self.mean, self.covariance = np.array(mean), np.array(covariance)


def _joint_log_density(node: Any, data: Rows, dtype: Any = np.float64, **_: Any) -> Rows:
    """Return the log-density of what is known of each row."""
    std = np.sqrt(node.covariance.diagonal())
    scores, correlation = (data[:, node.scope] - node.mean) / std, node.covariance / np.outer(std, std)
    densities = np.zeros((len(data), 1), dtype)
    patterns, owners = np.unique(~np.isnan(scores), axis=0, return_inverse=True)
    for number, known in enumerate(patterns):
        if known.any():
            rows, factor = owners.ravel() == number, np.linalg.cholesky(correlation[np.ix_(known, known)])
            independent = np.linalg.solve(factor, scores[np.ix_(rows, known)].T)
            constant = np.log(std[known] * factor.diagonal() * np.sqrt(2.0 * np.pi)).sum()
            densities[rows, 0] = -0.5 * np.square(independent).sum(axis=0) - constant
    return densities


add_node_likelihood(JointNormal, log_lambda_func=_joint_log_density)
add_parametric_inference_support()
add_histogram_inference_support()


def learn(rows: Rows, n_categories: list[int], options: dict[str, Any]) -> Any:
    """Learn as `learn_parametric` does by default; `binary` says which leaf columns of two categories get."""
    options = dict(options)
    binary = {"bernoulli": Bernoulli, "categorical": Categorical}[options.pop("binary")]
    types = [Gaussian if n == 0 else binary if n == 2 else Categorical for n in n_categories]
    context = Context(parametric_types=types)
    # It takes the domains from a table: one that has every category, also those not learned from.
    least = np.where(n_categories, 0.0, rows.min(axis=0))
    greatest = np.where(n_categories, np.array(n_categories) - 1.0, rows.max(axis=0))
    context.add_domains(np.vstack([least, greatest]))
    return learn_parametric(rows, context, **options)


def widen(model: Any, least: list[float]) -> None:
    """Give Gaussian leaves at least these standard deviations, by column."""
    for leaf in get_nodes_by_type(model, Gaussian):
        leaf.stdev = max(leaf.stdev, least[leaf.scope[0]])


def size(model: Any) -> dict[str, int]:
    """Count the sums, products and leaves."""
    kinds = {"sums": Sum, "products": Product, "leaves": Leaf}
    return {name: len(get_nodes_by_type(model, kind)) for name, kind in kinds.items()}


def score(model: Any, rows: Rows) -> npt.NDArray[np.float64]:
    """Return the log-density of each row."""
    densities: npt.NDArray[np.float64] = log_likelihood(model, rows)[:, 0]
    return densities


def convert(circuit: dict[str, Any]) -> Any:
    """Build SPFlow's nodes from the JSON of a circuit; a category never seen has the code after the last."""
    if (circuit["format"], circuit["version"]) != ("unlearnspn circuit", 1):
        raise ValueError(f"cannot read {circuit['format']!r}, version {circuit['version']!r}")
    variables = {column["name"]: number for number, column in enumerate(circuit["columns"])}
    nodes: list[Any] = []
    for unit in circuit["units"]:
        if "children" in unit:
            nodes.append(_inner(unit, nodes))
        elif unit["kind"] == "normal":
            nodes.append(JointNormal(unit["mean"], unit["covariance"], [variables[name] for name in unit["columns"]]))
        else:
            nodes.append(_leaf(unit, variables[unit["column"]]))
    root = assign_ids(nodes[circuit["root"]])
    valid, reason = is_valid(root)
    if not valid:
        raise ValueError(f"SPFlow finds the network invalid: {reason}")
    return root


def _inner(unit: dict[str, Any], nodes: list[Any]) -> Any:
    children = [nodes[child] for child in unit["children"]]
    node = Sum(list(unit["weights"]), children) if unit["kind"] == "sum" else Product(children)
    node.scope = sorted({variable for child in children for variable in child.scope})
    return node


def _leaf(unit: dict[str, Any], variable: int) -> Any:
    if unit["kind"] == "categorical":
        return _categorical(unit, variable)
    if unit["low"] is not None or unit["high"] is not None:
        raise ValueError(f"SPFlow has no leaf for a distribution that is cut off: {unit}")
    match unit["kind"]:
        case "gaussian":
            return Gaussian(unit["mean"], unit["std"], scope=variable)
        case "poisson":
            return Poisson(unit["rate"], scope=variable)
        case "exponential":
            return Exponential(1.0 / unit["mean"], scope=variable)
        case "log_normal":
            return LogNormal(unit["mean"], unit["std"], scope=variable)
        case "histogram":
            return _histogram(unit, variable)
    raise ValueError(f"SPFlow has no leaf for {unit}")


def _categorical(unit: dict[str, Any], variable: int) -> Any:
    probabilities = unit["probabilities"]
    if len(probabilities) == 2 and unit["unseen"] == 0.0:
        return Bernoulli(probabilities[1], scope=variable)
    return Categorical([*probabilities, unit["unseen"]], scope=variable)


def _histogram(unit: dict[str, Any], variable: int) -> Any:
    breaks = unit["start"] + unit["width"] * np.arange(len(unit["densities"]) + 1)
    middles = (breaks[:-1] + breaks[1:]) / 2.0
    densities = list(unit["densities"])
    return Histogram(breaks.tolist(), densities, middles.tolist(), scope=variable, meta_type=MetaType.REAL)

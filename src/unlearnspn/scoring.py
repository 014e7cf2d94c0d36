"""Log-densities: one pass over the network, all rows of a table at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Encoding, NumericCoder
from unlearnspn.learning import Learner
from unlearnspn.network import Node, Operation
from unlearnspn.slices import Slice
from unlearnspn.tables import Table

LogDensity = npt.NDArray[np.float64]

#: Level of a missing category, and of one that the model has never seen.
MISSING, UNSEEN = -1, -2


def encode(table: Table, encoding: Encoding) -> list[npt.NDArray[Any]]:
    """Return each column as leaves read it: numbers, or levels."""
    columns: list[npt.NDArray[Any]] = []
    for column, coder in zip(table.columns, encoding.coders, strict=True):
        if isinstance(coder, NumericCoder):
            columns.append(column.numbers())
        else:
            factor = column.factor()
            levels = np.append(coder.levels(factor.categories, UNSEEN), np.int32(MISSING))
            columns.append(levels[factor.places])
    return columns


def log_density(learner: Learner, node: Node, columns: list[npt.NDArray[Any]]) -> LogDensity:
    """Return the log-density of each row under a sub-network; missing values are marginalised."""
    if node.operation is Operation.CREATE_LEAF:
        data = Slice(learner.records, learner.encoding, node.scope, node.key)
        return learner.leaves[data.variable].log_density(node.statistics, data, columns[data.variable])
    parts = [log_density(learner, child, columns) for child in node.children]
    if node.operation is Operation.SPLIT_DATA:
        weights = [child.n_records / node.n_records for child in node.children]
        return _log_mixture(parts, weights)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _log_mixture(parts: list[LogDensity], weights: list[float]) -> LogDensity:
    weighted = np.stack([part + np.log(weight) for part, weight in zip(parts, weights, strict=True)])
    largest = weighted.max(axis=0)
    # Rows that no part can explain stay at -inf instead of becoming NaN.
    finite = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(finite + np.log(np.exp(weighted - finite).sum(axis=0)))

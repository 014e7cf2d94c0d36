"""Our own library, for a worker: learn and score, as a user does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn import SPN
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.layout import unrolled

Rows = npt.NDArray[np.float64]


def learn(rows: Rows, n_categories: list[int], options: dict[str, Any]) -> SPN:
    """Fit an estimator with these options."""
    return SPN(categorical_features=[n > 0 for n in n_categories], **options).fit(rows)


def size(model: SPN) -> dict[str, int]:
    """Count the sums, products and leaves of the circuit; those that a tree stands for, as peers have no trees."""
    units = unrolled(model.circuit_.layout).units
    sums, products = int((units == Unit.SUM).sum()), int((units == Unit.PRODUCT).sum())
    return {"sums": sums, "products": products, "leaves": len(units) - sums - products}


def score(model: SPN, rows: Rows) -> npt.NDArray[np.floating]:
    """Return the log-density of each row."""
    return model.score_samples(rows)

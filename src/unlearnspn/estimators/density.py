"""What estimators of densities offer: learning from a table without a target, and scoring."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from unlearnspn.estimators.base import BaseUnlearner, refuse_others
from unlearnspn.estimators.estimator import available_if
from unlearnspn.progress import Progress
from unlearnspn.schema import Kind
from unlearnspn.spn.report import Report


def _has_categories(estimator: DensityEstimator) -> bool:
    """Tell whether there is a column whose categories can be predicted; raises if nothing was learned yet."""
    return any(variable.kind is Kind.CATEGORICAL for variable in estimator._fitted().settings.schema.variables)


class DensityEstimator(BaseUnlearner):
    """A joint distribution of all columns of a table."""

    def fit(
        self, X: Any, y: Any = None, *, ids: Any = None, progress: Progress | bool = False, **unsupported: Any
    ) -> Self:
        """Learn from a table; `ids` is a column's name or the records' ids, 0…n-1 by default.

        The records of a table of Dask stay on the cluster's workers. There, `progress` shows a bar, or is told what is
        being done, how many cells are settled, and how many there are.
        """
        refuse_others(unsupported)
        with self._turn():
            self._fit(X, ids, progress=progress)
        return self

    def learn(self, X: Any, ids: Any = None, *, dry_run: bool = False, **unsupported: Any) -> Report:
        """Add records; without ids they are numbered on from the largest id there is."""
        refuse_others(unsupported)
        return self._learn(X, ids, dry_run)

    def partial_fit(self, X: Any, y: Any = None, *, ids: Any = None, **unsupported: Any) -> Self:
        """Add records, or fit if this is the first call."""
        refuse_others(unsupported)
        with self._turn():
            if not self.__sklearn_is_fitted__():
                return self.fit(X, ids=ids)
            self.learn(X, ids)
        return self

    def rectify(self, X: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Replace the values of existing records; columns that a table with names lacks stay as they are."""
        return self._rectify(X, ids, dry_run)

    @available_if(_has_categories)
    def predict_proba(self, X: Any, *, target: str) -> npt.NDArray[np.float64]:
        """Return the probabilities of a column's categories given the other columns, in the order of its categories.

        X may have the column, whose values are then ignored, or not. A model without any column of categories has
        nothing to predict, and lacks this method.
        """
        return super().predict_proba(X, target=target)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return super().score(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        return tags

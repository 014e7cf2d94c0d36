"""`SPN`: the density estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin
from sklearn.utils.metaestimators import available_if

from unlearnspn.estimators.base import BaseSPN
from unlearnspn.report import Report
from unlearnspn.schema import Kind


def _has_categories(spn: SPN) -> bool:
    """Tell whether there is a column whose categories can be predicted; raises if nothing was learned yet."""
    return any(variable.kind is Kind.CATEGORICAL for variable in spn._fitted().settings.schema.variables)


class SPN(DensityMixin, BaseSPN):
    """A sum-product network that can forget: removing a record equals training without it, bit for bit.

    Parameters
    ----------
    min_rows : int, default=200
        A node with at most so many records is not split any further (the paper's t).
    independence : {"gtest", "rdc"} or an independence test, default="gtest"
        How variables are found independent: the G-test, or the paper's randomized dependence coefficient; both on
        integer tables that are revised in place.
    threshold : float, default=None
        When two variables count as dependent; None for the test's own default (3.0 for "gtest", 0.3 for "rdc").
    clustering : {"qkmeans"} or a clustering, default="qkmeans"
        How the records of a node are clustered.
    n_clusters : int, default=2
        Into how many clusters; 1 to leave records together.
    epsilon : float, default=None
        The spacing of the lattice on which Q-k-means rounds its centroids, in standard deviations; None for one, and
        more with more than 16 variables. The coarser it is, the more rarely one record moves a centroid.
    max_rounds : int, default=1
        How many rounds Q-k-means runs at most.
    categorical_features : {"from_dtype", "all"}, array-like or None, default="from_dtype"
        Which columns are categorical: those with strings, categories or booleans; all; or the ones listed, by mask,
        index or name. None for no column.
    factorization : {"naive", "chow-liu"} or a ChowLiu, default="naive"
        What a node that is not split any further becomes: independent leaves, or a Chow-Liu tree of its categorical
        variables.
    leaves : mapping, default=None
        Distributions for some columns, by column name: "gaussian", "exponential", "log-normal", "poisson" or
        "histogram" for numbers, "categorical" or "bernoulli" for categories, or a leaf. By default "gaussian" and
        "categorical".
    alpha : float, default=0.3
        The smoothing of categorical leaves.
    min_std : float, default=0.05
        The least standard deviation of Gaussian leaves, as a share of their column's.
    n_bins : int, default=6
        Into how many bins numeric columns are coded for the G-test, at most.
    random_state : int, default=0
        The seed. It is part of the model: the same seed and records always give the same network.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> spn = SPN(min_rows=30).fit(X)
    >>> spn.unlearn([0, 17]).records_removed
    2
    >>> rest = np.delete(np.arange(150), [0, 17])
    >>> spn.digest() == SPN(min_rows=30).fit(X[rest], ids=rest).digest()
    True
    """

    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Learn from a table; `ids` is a column's name or the records' ids, 0…n-1 by default."""
        self._fit(X, ids)
        return self

    def learn(self, X: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Add records; without ids they are numbered on from the largest id there is."""
        return self._learn(X, ids, dry_run)

    def partial_fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Add records, or fit if this is the first call."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, ids=ids)
        self.learn(X, ids)
        return self

    def rectify(self, X: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Replace the values of existing records."""
        return self._rectify(X, ids, dry_run)

    @available_if(_has_categories)
    def predict_proba(self, X: Any, *, target: str) -> npt.NDArray[np.float64]:
        """Return the probabilities of a column's categories given the other columns, in the order of its categories.

        X may have the column, whose values are then ignored, or not. A model without any column of categories has
        nothing to predict, and lacks this method.
        """
        return BaseSPN.predict_proba(self, X, target=target)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return BaseSPN.score(self, X)

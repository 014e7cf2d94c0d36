"""`SPNImputer`: fills in what is missing, in front of any other estimator, and can unlearn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config

from unlearnspn.circuit.queries import How
from unlearnspn.clustering import Clustering
from unlearnspn.estimators.spn import SPN
from unlearnspn.hashing import derive_key
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf


class SPNImputer(OneToOneFeatureMixin, TransformerMixin, SPN, BaseEstimator):
    """An `SPN` that fills in what is missing in a table, given the rest of each row.

    Parameters
    ----------
    how : {"mean", "mpe", "sample"}, default="mean"
        What is filled in: the expectation of each number and the most probable category; one consistent explanation of
        the whole row; or a sample. Samples are drawn by a seed that follows from `random_state`, so that the same
        table is always filled in alike.

    min_rows : int or "auto", default=1000
        As that of `SPN`, where it is smaller: large leaves know better how numbers follow from each other.

    All other parameters are those of `SPN`. Tables come back as the kind that went in, unless `set_output` says
    otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::3, 2] = np.nan
    >>> classifier = make_pipeline(SPNImputer(min_rows=30), LogisticRegression(max_iter=1000)).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        how: How = "mean",
        min_rows: int | str = 1000,
        independence: str | IndependenceTest[Any] = "gtest",
        threshold: float | None = None,
        clustering: str | Clustering[Any] = "qkmeans",
        n_clusters: int | str = "auto",
        epsilon: float | None = None,
        max_rounds: int = 0,
        categorical_features: Any = "from_dtype",
        factorization: str | ChowLiu = "chow-liu",
        leaves: Mapping[Any, str | Leaf[Any]] | None = None,
        min_category_count: int = 1,
        alpha: float = 0.3,
        min_std: float = 0.05,
        n_bins: int | str = "auto",
        random_state: int = 0,
    ) -> None:
        super().__init__(
            min_rows=min_rows,
            independence=independence,
            threshold=threshold,
            clustering=clustering,
            n_clusters=n_clusters,
            epsilon=epsilon,
            max_rounds=max_rounds,
            categorical_features=categorical_features,
            factorization=factorization,
            leaves=leaves,
            min_category_count=min_category_count,
            alpha=alpha,
            min_std=min_std,
            n_bins=n_bins,
            random_state=random_state,
        )
        self.how = how

    def fit(self, X: Any, y: Any = None, *, ids: Any = None, **unsupported: Any) -> Self:
        """Learn from a table, gaps and all; `ids` is a column's name or the records' ids, 0…n-1 by default."""
        if self.how not in ("mpe", "mean", "sample"):
            raise ValueError(f"how={self.how!r} is none of 'mean', 'mpe', 'sample'")
        return super().fit(X, ids=ids, **unsupported)

    def transform(self, X: Any) -> Any:
        """Return the table with what is missing filled in, and without a column of ids."""
        model = self._fitted()
        rng = np.random.default_rng(derive_key(model.settings.seed, "impute"))
        filled = model.circuit.impute(X, self.how, rng)
        frame = nw.from_native(filled, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return filled
        features = frame.drop([name for name in frame.columns if name == model.settings.schema.id_column])
        # scikit-learn can make frames of arrays, but not one library's of another's.
        output = _get_output_config("transform", self)["dense"]
        if output == "pandas":
            return features.to_pandas()
        return features.to_polars() if output == "polars" else features.to_native()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

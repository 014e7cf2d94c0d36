"""`SPNClassifier`: a classifier that can unlearn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from unlearnspn.base import BaseSPN
from unlearnspn.circuit import Circuit
from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.report import Report
from unlearnspn.tables import Column, open_table, read_table

_TARGET = "target"


class SPNClassifier(ClassifierMixin, BaseSPN):
    """A sum-product network of features and class together; it predicts the class from the features it is given.

    The parameters are those of `SPN`. Missing features are marginalised. The class is one more column of the model,
    named as `y` is, or "target"; so all questions can be asked about it, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = SPNClassifier(min_rows=30).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    >>> classifier.unlearn([0, 17]).records_removed
    2
    """

    def fit(self, X: Any, y: Any, *, ids: Any = None) -> Self:
        """Learn from a table and the class of each row; `ids` as in `SPN.fit`."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self._target = _target_name(X, y)
        self._label_dtype = labels.dtype
        self._fit(X, ids, self._target_column(labels))
        return self

    def learn(self, X: Any, y: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Add records; without ids they are numbered on from the largest id there is."""
        self._fitted()
        return self._learn(X, ids, dry_run, self._target_column(column_or_1d(y, warn=True)))

    def rectify(self, X: Any, y: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Replace the values and classes of existing records."""
        self._fitted()
        return self._rectify(X, ids, dry_run, self._target_column(column_or_1d(y, warn=True)))

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes of the records held, in order."""
        return np.array(self.circuit_.categories(self._target), self._label_dtype)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any, *, target: str | None = None) -> npt.NDArray[np.float64]:
        """Return the probabilities of the classes, in the order of `classes_`, or those of another column."""
        return super().predict_proba(X, target=self._target if target is None else target)

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-density of the features of each row; missing values are marginalised."""
        return self._features.score_samples(X)

    @property
    def _features(self) -> Circuit:
        """The circuit of the features alone."""
        circuit = self.circuit_
        return circuit.marginal([name for name in circuit.columns if name != self._target])

    def _target_column(self, labels: npt.NDArray[Any]) -> Column:
        column = read_table(np.asarray(labels, object).reshape(-1, 1)).columns[0]
        if column.missing().any():
            rows = np.flatnonzero(column.missing()).tolist()
            raise InvalidTableError(f"the classes of rows {listing(rows)} are missing (Input y contains NaN)")
        return replace(column, name=self._target)


def _target_name(X: Any, y: Any) -> str:
    """Return the name of the classes' column: that of `y` if it has one, else one that no feature has."""
    taken = open_table(X).names
    name = getattr(y, "name", None)
    if not isinstance(name, str):
        name = _TARGET
    while name in taken:
        name += "_"
    return name

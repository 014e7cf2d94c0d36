"""`SPNClassifier`: a classifier that can unlearn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from unlearnspn.circuit import Circuit
from unlearnspn.errors import InvalidTableError
from unlearnspn.estimators.base import BaseSPN
from unlearnspn.estimators.engine import Engine
from unlearnspn.estimators.targets import Target, as_labels, read_target, target_name
from unlearnspn.report import Report
from unlearnspn.tables import open_table
from unlearnspn.tables.origins import Library


class SPNClassifier(ClassifierMixin, BaseSPN):
    """A sum-product network of features and class together; it predicts the class from the features it is given.

    The parameters are those of `SPN`. Where that takes the variables of a node for independent, a classifier splits its
    records by class first: with no more than `min_rows` records it is a tree of the features for each class (naive
    Bayes with `factorization="naive"`), with more of them a mixture of such, one for each neighbourhood. Missing
    features are marginalised.

    The class is one more column of the model, named as `y` is, or "target"; so all questions can be asked about it,
    too. Classes come and go with their records.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = SPNClassifier().fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    >>> classifier.unlearn([0, 17]).records_removed
    2
    """

    def fit(self, X: Any, y: Any, *, ids: Any = None) -> Self:
        """Learn from a table and the class of each row; `ids` as in `SPN.fit`."""
        features = open_table(X)
        target = read_target(y, target_name(y, features), features.library)
        self._fit(X, ids, target)
        self._label_dtype = target.dtype
        return self

    def learn(self, X: Any, y: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Add records, of known classes or new ones; without ids they are numbered on from the largest id there is."""
        return self._learn(X, ids, dry_run, self._read_target(y))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, ids: Any = None) -> Self:
        """Add records, or fit if this is the first call; `classes` need not be known beforehand, and is ignored."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, ids=ids)
        self.learn(X, y, ids)
        return self

    def rectify(self, X: Any, y: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Replace the values and classes of existing records."""
        return self._rectify(X, ids, dry_run, self._read_target(y))

    @property
    def target_(self) -> str:
        """The name of the classes' column."""
        return self._fitted().settings.schema.names[-1]

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes of the records held, in order."""
        return as_labels(self.circuit_.categories(self.target_), self._label_dtype)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any, *, target: str | None = None) -> npt.NDArray[np.float64]:
        """Return the probabilities of the classes, in the order of `classes_`, or those of another column."""
        if target is None:
            self._check_features(X)
        return super().predict_proba(X, target=self.target_ if target is None else target)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithms of `predict_proba`."""
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities))

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-density of the features of each row; missing values are marginalised."""
        return self._features.score_samples(X)

    @property
    def _features(self) -> Circuit:
        """The circuit of the features alone."""
        circuit = self.circuit_
        return circuit.marginal([name for name in circuit.columns if name != self.target_])

    def _check_features(self, X: Any) -> None:
        """Refuse arrays that have the classes' column, which only a name can tell from one more feature."""
        self._fitted()
        table = open_table(X)
        if not table.named(table.positions(None)) and len(table.names) != self.n_features_in_:
            raise InvalidTableError(
                f"X has {len(table.names)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )

    def _read_target(self, y: Any) -> Target:
        """Read the classes of more records."""
        origin = self._fitted().origin
        return read_target(y, self.target_, Library.LISTS if origin is None else origin.library)

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "labels": self._label_dtype}

    def _restore(self, model: Engine, document: Mapping[str, Any]) -> None:
        super()._restore(model, document)
        labels = document["labels"]
        np.dtype(labels or None)  # raises if it is none
        self._label_dtype = labels

"""`SPNClassifier`: a classifier that can unlearn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from unlearnspn.circuit import Circuit
from unlearnspn.errors import InvalidTableError
from unlearnspn.estimators.base import BaseSPN, refuse_others
from unlearnspn.estimators.engine import Engine
from unlearnspn.estimators.targets import Target, as_labels, read_target, target_name
from unlearnspn.progress import Progress
from unlearnspn.spn.report import Report
from unlearnspn.tables import open_table
from unlearnspn.tables.dask_frames import at_hand, is_dask, lazy_labels
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import Library


class SPNClassifier(ClassifierMixin, BaseSPN, BaseEstimator):
    """A sum-product network of features and class together; it predicts the class from the features it is given.

    The parameters are those of `SPN`. By default the features have a tree for each class (naive Bayes with
    `factorization="naive"`). If `min_rows` is a number and there are more records, the model is a mixture of such, one
    for each neighbourhood of at most `min_rows` records. Missing features are marginalised.

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

    def fit(self, X: Any, y: Any, *, ids: Any = None, progress: Progress | bool = False, **unsupported: Any) -> Self:
        """Learn from a table and the class of each row; `ids` and `progress` as in `SPN.fit`."""
        refuse_others(unsupported)
        if is_dask(X):
            with self._turn():
                self._fit_dask(X, ids, y, progress)
            return self
        features = open_table(X)
        target = read_target(y, target_name(y, features), features.library)
        with self._turn():
            self._fit(X, ids, target)
        return self

    def learn(self, X: Any, y: Any, ids: Any = None, *, dry_run: bool = False, **unsupported: Any) -> Report:
        """Add records, of known classes or new ones; without ids they are numbered on from the largest id there is."""
        refuse_others(unsupported)
        with self._turn():
            return self._learn(X, ids, dry_run, self._read_target(y))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, ids: Any = None, **unsupported: Any) -> Self:
        """Add records, or fit if this is the first call; `classes` need not be known beforehand, and is ignored."""
        refuse_others(unsupported)
        with self._turn():
            if not self.__sklearn_is_fitted__():
                return self.fit(X, y, ids=ids)
            self.learn(X, y, ids)
        return self

    def rectify(self, X: Any, y: Any = None, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Replace values and classes of existing records; columns that X lacks stay as they are, and so do classes.

        Without X nothing but the classes is replaced.
        """
        with self._turn():
            return self._rectify(X, ids, dry_run, None if y is None else self._read_target(y))

    @property
    def target_(self) -> str:
        """The name of the classes' column."""
        return _target_of(self._fitted())

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes of the records held, in order."""
        model = self._fitted()
        return _labels(model, model.circuit)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        model = self._fitted()
        circuit = model.circuit
        labels = _labels(model, circuit)
        if is_dask(X):
            predicted: npt.NDArray[Any] = lazy_labels(_Predicting(circuit, labels), X, self.target_, labels)
            return predicted
        return np.asarray(labels[self._probabilities(model, circuit, X).argmax(axis=1)])

    def predict_proba(self, X: Any, *, target: Label = None) -> npt.NDArray[np.float64]:
        """Return the probabilities of the classes, in the order of `classes_`, or those of another column.

        Those of another column are given the other features, and the class if X has it: in an array as one more column.
        """
        model = self._fitted()
        circuit = model.circuit
        if target is not None:
            return _able_to_read(X, model, circuit, target).predict_proba(X, target=target)
        if is_dask(X):
            return circuit.predict_proba(X, target=_target_of(model))
        return self._probabilities(model, circuit, X)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithms of `predict_proba`."""
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities))

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-density of the features of each row; missing values are marginalised."""
        model = self._fitted()
        return _of_features(model, model.circuit).score_samples(X)

    def _probabilities(self, model: Engine, circuit: Circuit, X: Any) -> npt.NDArray[np.float64]:
        """Return those of the classes."""
        # Only a name can tell the classes' column from one more feature.
        table, n_features = open_table(X), len(model.settings.schema.names) - 1
        if not table.named(table.positions(None)) and len(table.names) != n_features:
            raise InvalidTableError(
                f"X has {len(table.names)} features, but {type(self).__name__} is expecting {n_features} "
                "features as input"
            )
        return circuit.predict_proba(X, target=_target_of(model))

    def _read_target(self, y: Any) -> Target:
        """Read the classes of more records."""
        model = self._fitted()
        origin = model.origin
        return read_target(at_hand(y), _target_of(model), Library.LISTS if origin is None else origin.library)

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "labels": self._fitted().label_dtype}

    def _restore(self, model: Engine, document: Mapping[str, Any]) -> None:
        labels = document["labels"]
        np.dtype(labels or None)  # raises if it is none
        model.label_dtype = labels
        super()._restore(model, document)


@dataclass(frozen=True, eq=False)
class _Predicting:
    """Predicts the classes of a partition's rows."""

    circuit: Circuit
    labels: npt.NDArray[Any]

    def __call__(self, part: Any) -> npt.NDArray[Any]:
        probabilities = self.circuit.predict_proba(part, target=self.circuit.columns[-1])
        return np.asarray(self.labels[probabilities.argmax(axis=1)])


def _target_of(model: Engine) -> str:
    """Return the name of the classes' column."""
    return model.settings.schema.names[-1]


def _of_features(model: Engine, circuit: Circuit) -> Circuit:
    """Return a circuit of a model without the classes."""
    return circuit.marginal([name for name in circuit.columns if name != _target_of(model)])


def _able_to_read(X: Any, model: Engine, circuit: Circuit, target: Label) -> Circuit:
    """Return a circuit that has the classes only if they are asked for, or if X has them."""
    classes = _target_of(model)
    if circuit.domains.names[circuit.domains.variable(target)] == classes:
        return circuit
    table = open_table(X._meta if is_dask(X) else X)
    named = table.named(table.positions(None))
    has_classes = classes in table.names if named else len(table.names) == len(circuit.columns)
    return circuit if has_classes else _of_features(model, circuit)


def _labels(model: Engine, circuit: Circuit) -> npt.NDArray[Any]:
    """Return the classes that a circuit of a model knows, in order."""
    return as_labels(circuit.categories(_target_of(model)), model.label_dtype)

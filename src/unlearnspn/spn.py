"""`SPN`: the scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import NotFittedError

from unlearnspn.clustering import Clustering, QKMeans
from unlearnspn.errors import InvalidTableError, RecordIdError, listing
from unlearnspn.hashing import derive_key, integer_bytes
from unlearnspn.ids import RecordId, read_ids, require_unique
from unlearnspn.independence import RDC, GTest, IndependenceTest
from unlearnspn.leaves import Categorical, Gaussian, Leaf
from unlearnspn.model import Model, Settings
from unlearnspn.report import Report
from unlearnspn.schema import Kind, Schema
from unlearnspn.scoring import encode, log_density
from unlearnspn.tables import Table, read_column, read_table
from unlearnspn.views import NodeView

_MOST_BINS = 254  # a code is a byte, and one of them is for missing values


@dataclass(frozen=True)
class Verification:
    """The digests of the model held and of one learned from scratch on its records; true if they agree."""

    digest: str
    fresh_digest: str
    state_digest: str
    fresh_state_digest: str

    def __bool__(self) -> bool:
        return self.digest == self.fresh_digest and self.state_digest == self.fresh_state_digest


class SPN(DensityMixin, BaseEstimator):
    """A sum-product network that can forget: removing a record equals training without it, bit for bit.

    Parameters
    ----------
    min_rows : int, default=200
        A node with at most so many records is not split any further (the paper's t).
    independence : {"gtest", "rdc"} or an independence test, default="gtest"
        How variables are found independent: the G-test on integer tables, which is revised in place, or the paper's
        randomized dependence coefficient, which is computed anew.
    threshold : float, default=None
        When two variables count as dependent; None for the test's own default (3.0 for "gtest", 0.3 for "rdc").
    clustering : {"qkmeans"} or a clustering, default="qkmeans"
        How the records of a node are clustered.
    n_clusters : int, default=2
        Into how many clusters.
    epsilon : float, default=None
        The spacing of the lattice on which Q-k-means rounds its centroids, in standard deviations; None for one, and
        more with more than 16 variables. The coarser it is, the more rarely one record moves a centroid.
    max_rounds : int, default=1
        How many rounds Q-k-means runs at most.
    categorical_features : {"from_dtype", "all"}, array-like or None, default="from_dtype"
        Which columns are categorical: those with strings, categories or booleans; all; or the ones listed, by mask,
        index or name. None for no column.
    leaves : mapping, default=None
        Distributions for some columns by name, in place of `Gaussian` and `Categorical`.
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

    def __init__(
        self,
        min_rows: int = 200,
        independence: str | IndependenceTest[Any] = "gtest",
        threshold: float | None = None,
        clustering: str | Clustering[Any] = "qkmeans",
        n_clusters: int = 2,
        epsilon: float | None = None,
        max_rounds: int = 1,
        categorical_features: Any = "from_dtype",
        leaves: Mapping[str, Leaf[Any]] | None = None,
        alpha: float = 0.3,
        min_std: float = 0.05,
        n_bins: int = 6,
        random_state: int = 0,
    ) -> None:
        self.min_rows = min_rows
        self.independence = independence
        self.threshold = threshold
        self.clustering = clustering
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.max_rounds = max_rounds
        self.categorical_features = categorical_features
        self.leaves = leaves
        self.alpha = alpha
        self.min_std = min_std
        self.n_bins = n_bins
        self.random_state = random_state

    @classmethod
    def from_paper(cls, **overrides: Any) -> Self:
        """Return an SPN in the paper's setting: RDC at 0.3, Q-k-means with k = 2 and ε = 0.01, t = 200.

        >>> SPN.from_paper().epsilon, SPN.from_paper(min_rows=50).min_rows
        (0.01, 50)
        """
        setting: dict[str, Any] = {
            "independence": "rdc",
            "threshold": 0.3,
            "n_clusters": 2,
            "epsilon": 0.01,
            "max_rounds": 10,
            "min_rows": 200,
        }
        return cls(**{**setting, **overrides})

    # -- learning and unlearning -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Learn from a table; `ids` is a column's name or the records' ids, 0…n-1 by default."""
        table, names, id_column = self._read_records(X, ids)
        _require_rows(table)
        require_unique(names)
        schema = Schema.of(table, self.categorical_features, id_column)
        self._model = Model.learn(self._settings(schema), names, table)
        self.n_features_in_ = len(schema.variables)
        if table.named:
            self.feature_names_in_ = np.array(schema.names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def unlearn(self, ids: Any, *, missing: Literal["error", "ignore"] = "error", dry_run: bool = False) -> Report:
        """Remove records; the model is then the one that training without them gives."""
        model = self._fitted()
        names = read_ids(ids)
        require_unique(names)
        if missing not in ("error", "ignore"):
            raise ValueError(f"missing={missing!r} is neither 'error' nor 'ignore'")
        if missing == "ignore":
            names = [name for name in names if name in model.records.index]
        self._require_known(names)
        return model.revise(names, [], None, dry_run)

    def learn(self, X: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Add records; without ids they are numbered on from the largest id there is."""
        model = self._fitted()
        table, names = self._read_more(X, ids)
        existing = [name for name in names if name in model.records.index]
        if existing:
            raise RecordIdError(f"these ids exist already: {listing(existing)}; use rectify to replace their values")
        return model.revise([], names, table, dry_run)

    def partial_fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Add records, or fit if this is the first call."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, ids=ids)
        self.learn(X, ids)
        return self

    def rectify(self, X: Any, ids: Any = None, *, dry_run: bool = False) -> Report:
        """Replace the values of existing records."""
        model = self._fitted()
        if ids is None and model.settings.schema.id_column is None:
            raise RecordIdError("rectify needs the ids of the records to replace")
        table, names = self._read_more(X, ids)
        self._require_known(names)
        return model.revise(names, names, table, dry_run)

    # -- checking --------------------------------------------------------------------------------------------------

    def digest(self) -> str:
        """Return the digest of the released model."""
        return self._fitted().digest()

    def state_digest(self) -> str:
        """Return the digest of everything kept."""
        return self._fitted().state_digest()

    def verify(self) -> Verification:
        """Learn from scratch on the records now held, and compare both digests."""
        model = self._fitted()
        fresh = model.relearn()
        return Verification(model.digest(), fresh.digest(), model.state_digest(), fresh.state_digest())

    # -- reading ---------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-density of each row; missing values are marginalised."""
        model = self._fitted()
        schema = model.settings.schema
        table = read_table(X, without=schema.id_column)
        _require_rows(table)
        schema.check(table)
        learner = model.learner
        return log_density(learner, model.root, encode(table, learner.encoding))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return float(self.score_samples(X).mean())

    @property
    def root_(self) -> NodeView:
        """The network, for reading."""
        model = self._fitted()
        return NodeView(model.learner, model.root)

    @property
    def n_records_(self) -> int:
        """The number of records held."""
        return len(self._fitted().records)

    @property
    def ids_(self) -> list[RecordId]:
        """The ids of the records held, in order."""
        return sorted(self._fitted().records.index)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # -- inside ----------------------------------------------------------------------------------------------------

    def _fitted(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
            )
        return self._model

    def _read_records(self, X: Any, ids: Any, id_column: str | None = None) -> tuple[Table, list[RecordId], str | None]:
        """Read a table and its ids; a column of that name is no variable, whether or not the ids come from it."""
        if isinstance(ids, str):
            names = read_ids(read_column(X, ids))
            return read_table(X, without=ids), names, ids
        table = read_table(X, without=id_column)
        names = list(range(table.n_rows)) if ids is None else read_ids(ids)
        if len(names) != table.n_rows:
            raise RecordIdError(f"there are {len(names)} ids for {table.n_rows} rows")
        return table, names, id_column

    def _read_more(self, X: Any, ids: Any) -> tuple[Table, list[RecordId]]:
        """Read records for a model that exists: its columns, its kinds, its kind of ids."""
        model = self._fitted()
        schema, index = model.settings.schema, model.records.index
        strings = isinstance(next(iter(index)), str)
        if ids is None:
            ids = schema.id_column
        if ids is None:
            if strings:
                raise RecordIdError("the records have strings as ids: pass the ids of the new ones")
            first = 1 + max(item for item in index if isinstance(item, int))
            ids = range(first, first + read_table(X).n_rows)
        table, names, _ = self._read_records(X, ids, schema.id_column)
        _require_rows(table)
        schema.check(table)
        require_unique(names)
        if isinstance(names[0], str) != strings:
            kind = "strings" if strings else "integers"
            raise RecordIdError(f"the records have {kind} as ids, but {names[0]!r} is another kind")
        return table, names

    def _require_known(self, names: Iterable[RecordId]) -> None:
        index = self._fitted().records.index
        unknown = [name for name in names if name not in index]
        if unknown:
            raise RecordIdError(f"there are no records with these ids: {listing(unknown)}")

    def _settings(self, schema: Schema) -> Settings:
        return Settings(
            schema=schema,
            seed=_seed(self.random_state),
            min_rows=_at_least("min_rows", self.min_rows, 1),
            n_bins=_at_least("n_bins", self.n_bins, 2, _MOST_BINS),
            independence=self._independence(),
            clustering=self._clustering(),
            leaves=self._leaves(schema),
        )

    def _independence(self) -> IndependenceTest[Any]:
        tests: dict[str, type[GTest] | type[RDC]] = {"gtest": GTest, "rdc": RDC}
        if not isinstance(self.independence, str):
            if self.threshold is not None:
                raise ValueError("threshold goes with a test given by name: set it in your own test instead")
            test: IndependenceTest[Any] = _component("independence", self.independence, IndependenceTest)
            return test
        if self.independence not in tests:
            raise ValueError(f"independence={self.independence!r} is none of {listing(tests)}, nor a test")
        named = tests[self.independence]
        return named() if self.threshold is None else named(_positive("threshold", self.threshold))

    def _clustering(self) -> Clustering[Any]:
        if not isinstance(self.clustering, str):
            return _component("clustering", self.clustering, Clustering)  # type: ignore[no-any-return]
        if self.clustering != "qkmeans":
            raise ValueError(f"clustering={self.clustering!r} is not 'qkmeans', nor a clustering")
        return QKMeans(
            _at_least("n_clusters", self.n_clusters, 2),
            None if self.epsilon is None else _positive("epsilon", self.epsilon),
            _at_least("max_rounds", self.max_rounds, 0),
        )

    def _leaves(self, schema: Schema) -> tuple[Leaf[Any], ...]:
        chosen = dict(self.leaves or {})
        unknown = [name for name in chosen if name not in schema.names]
        if unknown:
            raise ValueError(f"leaves names unknown columns: {listing(unknown)}")
        defaults = {
            Kind.NUMERIC: Gaussian(_positive("min_std", self.min_std)),
            Kind.CATEGORICAL: Categorical(_positive("alpha", self.alpha)),
        }
        leaves = []
        for variable in schema.variables:
            leaf = _component("leaves", chosen.get(variable.name, defaults[variable.kind]), Leaf)
            if leaf.kind is not variable.kind:
                raise ValueError(
                    f"leaves gives column {variable.name!r} a {leaf.name} leaf, which models {leaf.kind} variables, "
                    f"but the column is {variable.kind}"
                )
            leaves.append(leaf)
        return tuple(leaves)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(
            f"random_state={random_state!r} must be an integer: the seed is part of the model, so that anyone can "
            "learn it again"
        )
    return derive_key(0, "random_state", integer_bytes(int(random_state)))


def _at_least(name: str, value: Any, least: int, most: int | None = None) -> int:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}={value!r} must be an integer of {bounds}")
    return int(value)


def _positive(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r} must be a positive number")
    return float(value)


def _component(name: str, component: Any, protocol: type) -> Any:
    if not isinstance(component, protocol):
        raise TypeError(f"{name}={component!r} does not offer what a {protocol.__name__} must")
    return component


def _require_rows(table: Table) -> None:
    if table.n_rows == 0:
        raise InvalidTableError("the table is empty: 0 sample(s), while a minimum of 1 is required")

"""What all estimators share: their parameters, and the requests to remove, add and correct records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.queries import Queries
from unlearnspn.clustering import Clustering
from unlearnspn.errors import InvalidTableError, RecordIdError, listing, not_fitted
from unlearnspn.estimators.engine import Engine
from unlearnspn.estimators.estimator import Estimator
from unlearnspn.estimators.targets import Target, beside
from unlearnspn.identifying import warn_of
from unlearnspn.ids import RecordId, read_ids, require_found, require_unique
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf, check_support
from unlearnspn.model import Model
from unlearnspn.parameters import Parameters, read_settings
from unlearnspn.progress import Progress, shown, tell
from unlearnspn.schema import Schema
from unlearnspn.settings import Settings
from unlearnspn.spn.report import Report
from unlearnspn.spn.views import NodeView
from unlearnspn.storage import StorageError
from unlearnspn.storage.files import PathLike
from unlearnspn.storage.models import read_model, write_model
from unlearnspn.tables import Table, column_meant, is_column, read_column, read_table
from unlearnspn.tables.dask_frames import at_hand, is_dask
from unlearnspn.tables.names import Label

if TYPE_CHECKING:
    from unlearnspn.cluster.asking import Shards
    from unlearnspn.cluster.fitting import Opened
    from unlearnspn.cluster.folder import Stored
    from unlearnspn.cluster.model import SharedModel
    from unlearnspn.cluster.reading import Reading


@dataclass(frozen=True)
class Verification:
    """The digests of the model held and of one learned from scratch on its records; true if they agree."""

    digest: str
    fresh_digest: str
    state_digest: str
    fresh_state_digest: str

    def __bool__(self) -> bool:
        return self.digest == self.fresh_digest and self.state_digest == self.fresh_state_digest


class BaseUnlearner(Queries, Estimator, ABC):
    """What was learned, with its records; the estimators differ in what they learn, and from what.

    Many threads may use one estimator. Whoever changes it, or reads the records and the network themselves, waits for
    the turn; all others read `_model` once, and get their answers from what that has published.
    """

    _model: Engine

    def __init__(
        self,
        min_rows: int | str = "auto",
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
        self.min_rows = min_rows
        self.independence = independence
        self.threshold = threshold
        self.clustering = clustering
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.max_rounds = max_rounds
        self.categorical_features = categorical_features
        self.factorization = factorization
        self.leaves = leaves
        self.min_category_count = min_category_count
        self.alpha = alpha
        self.min_std = min_std
        self.n_bins = n_bins
        self.random_state = random_state

    @classmethod
    def from_paper(cls, **overrides: Any) -> Self:
        """Return an estimator in the paper's setting: RDC at 0.3, Q-k-means with k = 2 and ε = 0.01, t = 200.

        >>> from unlearnspn import SPN
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
            "factorization": "naive",
            "n_bins": 6,
        }
        return cls(**{**setting, **overrides})

    # -- learning and unlearning -----------------------------------------------------------------------------------

    def _fit(self, X: Any, ids: Any, target: Target | None = None, progress: Progress | bool = False) -> None:
        """Learn from a table, with the column of a target beside it or not."""
        if is_dask(X):
            self._fit_dask(X, ids, None, progress)
            return
        table, names, id_column = self._read_records(X, ids)
        _require_rows(table)
        require_unique(names)
        schema = Schema.of(table, self.categorical_features, id_column)
        feature_names, named = schema.names, table.has_text_names
        if target is not None:
            table, schema = beside(table, target), schema.with_target(target.column.name, target.column.family)
        settings = self._settings(schema, table, None if target is None else target.column.name)
        check_support(settings.leaves, table)
        model = self._learn_engine(settings, names, table)
        if target is not None:
            model.label_dtype = target.dtype
        self._adopt(model)
        self._set_features(feature_names, named)

    def _fit_dask(self, X: Any, ids: Any, y: Any, progress: Progress | bool) -> None:
        """Learn from a table of Dask, where its partitions are."""
        from unlearnspn.cluster.asking import Steps  # noqa: PLC0415  # only who has a cluster needs it

        spread = _dask_tables().spread
        with shown(progress) as told:
            tell(told, "loading partitions", 0)
            shards, reading = spread(X, ids, y, self.categorical_features)
            shards.steps = Steps(told)
            try:
                self._fit_shards(shards, reading)
            except BaseException:
                shards.close()
                raise
            shards.steps = Steps()

    def _fit_shards(self, shards: Shards, reading: Reading) -> None:
        """Learn from partitions that lie in shards."""
        from unlearnspn.cluster.fitting import open_shards  # noqa: PLC0415

        opened = open_shards(shards, reading, lambda schema, like: self._settings(schema, like, reading.target))
        model = self._gather_engine(opened)
        model.origin, model.label_dtype = opened.like.origin, opened.label_dtype
        self._adopt(model)
        self._set_features(opened.like.names[: opened.n_features], opened.like.has_text_names)

    def _adopt(self, model: Engine) -> None:
        """Have a model that was learned answer from now on."""
        before: Engine | None = getattr(self, "_model", None)
        if before is not None:
            model.follow(before)
        self._model = model

    @abstractmethod
    def _learn_engine(self, settings: Settings, ids: Sequence[RecordId], table: Table) -> Engine:
        """Learn from scratch."""

    @abstractmethod
    def _gather_engine(self, opened: Opened) -> Engine:
        """Learn from scratch from records that lie in shards."""

    def _settings(self, schema: Schema, table: Table, target: str | None) -> Settings:
        """Return what the parameters mean for a table, the last column of which may be a target."""
        settings = read_settings(self._parameters(target), schema, table.column_names)
        return settings if target is None else replace(settings, target=len(schema.variables) - 1)

    def _parameters(self, target: str | None) -> Parameters:
        """Return the parameters; classes are categories even if they are booleans, so that they can come and go."""
        parameters = Parameters(**{name: getattr(self, name) for name in Parameters.names()})
        if target is not None and isinstance(self.leaves, Mapping | None):
            return replace(parameters, leaves={target: "categorical", **(self.leaves or {})})
        return parameters

    def _set_features(self, names: list[str], named: bool) -> None:
        self.n_features_in_ = len(names)
        if named:
            self.feature_names_in_ = np.array(names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def unlearn(self, ids: Any, *, missing: Literal["error", "ignore"] = "error", dry_run: bool = False) -> Report:
        """Remove records; the model is then the one that training without them gives."""
        with self._turn():
            model = self._fitted()
            names = read_ids(at_hand(ids))
            require_unique(names)
            if missing not in ("error", "ignore"):
                raise ValueError(f"missing={missing!r} is neither 'error' nor 'ignore'")
            if missing == "ignore":
                names = list(compress(names, model.holds(names)))
            return model.revise(names, [], None, dry_run)

    def _learn(self, X: Any, ids: Any, dry_run: bool, target: Target | None = None) -> Report:
        """Add records; without ids they are numbered on from the largest id there is."""
        with self._turn():
            model = self._fitted()
            table, names = self._read_more(at_hand(X), at_hand(ids), target)
            existing = list(compress(names, model.holds(names)))
            if existing:
                raise RecordIdError(
                    f"these ids exist already: {listing(existing)}; use rectify to replace their values"
                )
            return model.revise([], names, table, dry_run)

    def _rectify(self, X: Any, ids: Any, dry_run: bool, target: Target | None = None) -> Report:
        """Replace the values of existing records; columns that a table with names lacks stay as they are."""
        with self._turn():
            model = self._fitted()
            schema, X, ids = model.settings.schema, at_hand(X), at_hand(ids)
            if ids is None and schema.id_column is None:
                raise RecordIdError("rectify needs the ids of the records to replace")
            if X is None and target is not None:
                table, names = Table([target.column], len(target.column), named=True), read_ids(ids)
                if len(names) != table.n_rows:
                    raise RecordIdError(f"there are {len(names)} ids for {table.n_rows} rows")
            else:
                table, names, _ = self._read_records(X, schema.id_column if ids is None else ids, schema.id_column)
                table = table if target is None else beside(table, target)
            self._check_more(table, names)
            require_found(names, model.holds(names).tolist())
            return model.revise(names, names, self._completed(table, names), dry_run)

    # -- checking and reading --------------------------------------------------------------------------------------

    def digest(self) -> str:
        """Return the digest of the released model."""
        return self._fitted().digests[0]

    def state_digest(self) -> str:
        """Return the digest of everything kept."""
        return self._fitted().digests[1]

    def verify(self) -> Verification:
        """Learn from scratch on the records now held, and compare both digests."""
        with self._turn():
            model = self._fitted()
            (digest, state_digest), relearn = model.digests, model.relearning()
        fresh_digest, fresh_state_digest = relearn()
        return Verification(digest, fresh_digest, state_digest, fresh_state_digest)

    @property
    def circuit_(self) -> Circuit:
        """The circuit that serves the model: compact, immutable, and free of records and state."""
        return self._fitted().circuit

    def to_circuit(self) -> Circuit:
        """Return `circuit_`."""
        return self.circuit_

    @property
    def n_records_(self) -> int:
        """The number of records held."""
        return self._fitted().n_records

    @property
    def ids_(self) -> list[RecordId]:
        """The ids of the records held, in order."""
        with self._turn():
            return self._fitted().ids

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the model's settings and records into one file, from which `load` makes the same again.

        A model on a cluster is written into a folder, one file a partition, and is kept there from then on: a request
        is done when it is durable in the folder.
        """
        with self._turn():
            document = {"estimator": type(self).__name__, "parameters": self.get_params(deep=False), **self._extra()}
            self._write_engine(path, document)

    @classmethod
    def load(cls, path: PathLike, components: Iterable[type] = (), *, client: Any = None) -> Self:
        """Read what `save` wrote; nothing that the file says is run.

        If the model has building blocks of your own, pass their classes as `components`. A folder is loaded by the
        workers of a cluster, to which `client` is connected, or the client that was made last.
        """
        # The empty name is that of no file; a Path of it would be the folder that one is in.
        is_folder = path != "" and Path(path).is_dir()
        model, document = (
            cls._gather_folder(path, components, client) if is_folder else cls._read_engine(path, components)
        )
        cls._require_own(path, document)
        try:
            estimator = cls(**document["parameters"])
            estimator._restore(model, document)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{path} does not describe a {cls.__name__}: {error}") from error
        return estimator

    @classmethod
    def _require_own(cls, path: PathLike, document: Mapping[str, Any]) -> None:
        """Raise unless what was saved is an estimator of this class."""
        if document.get("estimator") != cls.__name__:
            raise StorageError(f"{path} holds a {document.get('estimator')}, not a {cls.__name__}")

    @abstractmethod
    def _write_engine(self, path: PathLike, document: Mapping[str, Any]) -> None:
        """Write what was learned, and a document beside it."""

    @staticmethod
    @abstractmethod
    def _read_engine(path: PathLike, components: Iterable[type]) -> tuple[Engine, dict[str, Any]]:
        """Read what was written."""

    @classmethod
    def _gather_folder(cls, path: PathLike, components: Iterable[type], client: Any) -> tuple[Engine, dict[str, Any]]:
        """Read what was written into a folder."""
        from unlearnspn.cluster.folder import open_folder  # noqa: PLC0415

        stored = open_folder(path, components)
        cls._require_own(path, stored.extra)
        tables = _dask_tables()
        client = tables.find_client() if client is None else client
        return cls._load_engine(stored, tables.shards_on(client, len(stored.folder.parts))), stored.extra

    @staticmethod
    @abstractmethod
    def _load_engine(stored: Stored, shards: Shards) -> Engine:
        """Learn from the records of a folder, which shards are to load."""

    def _extra(self) -> dict[str, Any]:
        """Return what a file must hold beside model and parameters."""
        names = getattr(self, "feature_names_in_", None)
        return {"n_features": self.n_features_in_, "named": names is not None}

    def _restore(self, model: Engine, document: Mapping[str, Any]) -> None:
        """Take over what was read from a file."""
        n_features, named = document["n_features"], document["named"]
        if type(n_features) is not int or type(named) is not bool:
            raise TypeError("it does not say what the features are")
        self._model = model
        self._set_features(model.settings.schema.names[:n_features], named)

    def __getstate__(self) -> dict[str, Any]:
        with self._turn():
            # A copy, for it may be what the estimator itself looks its attributes up in.
            state = {name: value for name, value in self.__dict__.items() if name != "_turns"}
            if "_model" in state:
                state["_model"] = self._model.snapshot()
            return state

    # -- inside ----------------------------------------------------------------------------------------------------

    def _turn(self) -> RLock:
        """Return what is held by the one whose turn it is; made when it is first asked for, as no parameter is."""
        attributes = self.__dict__
        turns: RLock = attributes.get("_turns") or attributes.setdefault("_turns", RLock())
        return turns

    def _fitted(self) -> Engine:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
            )
        return self._model

    def _read_records(self, X: Any, ids: Any, id_column: Label = None) -> tuple[Table, list[RecordId], Label]:
        """Read a table and its ids; a column of that name is no variable, whether or not the ids come from it."""
        # A number is one id, once it is known which column holds them.
        meant = column_meant(X, ids) if id_column is None or is_column(ids, id_column) else None
        if meant is not None:
            names = read_ids(read_column(X, meant))
            return read_table(X, without=meant), names, meant
        table = read_table(X, without=id_column)
        names = list(range(table.n_rows)) if ids is None else read_ids(ids)
        if len(names) != table.n_rows:
            raise RecordIdError(f"there are {len(names)} ids for {table.n_rows} rows")
        return table, names, id_column

    def _read_more(self, X: Any, ids: Any, target: Target | None) -> tuple[Table, list[RecordId]]:
        """Read records for a model that exists: its columns, its kinds, its kind of ids."""
        model = self._fitted()
        schema, strings = model.settings.schema, model.string_ids
        if ids is None:
            ids = schema.id_column
        if ids is None:
            if strings:
                raise RecordIdError("the records have strings as ids: pass the ids of the new ones")
            first = 1 + cast(int, model.last_id)
            ids = range(first, first + read_table(X).n_rows)
        table, names, _ = self._read_records(X, ids, schema.id_column)
        if target is not None:
            _require_rows(table)
            table = beside(schema.without_target().arranged(table), target)
        self._check_more(table, names)
        table = schema.arranged(table)
        model.check_support(table)
        return table, names

    def _check_more(self, table: Table, names: list[RecordId]) -> None:
        """Raise unless there are rows, with ids of the kind that the records have."""
        _require_rows(table)
        require_unique(names)
        strings = self._fitted().string_ids
        if isinstance(names[0], str) != strings:
            kind = "strings" if strings else "integers"
            raise RecordIdError(f"the records have {kind} as ids, but {names[0]!r} is another kind")

    def _completed(self, table: Table, names: list[RecordId]) -> Table:
        """Return corrected values of records that are held, beside those of the columns that stay as they are."""
        model = self._fitted()
        schema = model.settings.schema
        if not table.named or not set(table.names) < set(schema.names):
            table = schema.arranged(table)
            model.check_support(table)
            return table
        given = schema.only(table.names).arranged(table)
        by_name = {column.name: column for column in given.columns}
        held = model.held(names)
        columns = [by_name.get(column.name, column) for column in held.columns]
        table = Table(columns, table.n_rows, named=True)
        model.check_support(table)
        return table


class BaseSPN(BaseUnlearner):
    """A sum-product network with its records; the estimators differ in what they learn it from."""

    _model: Model

    @property
    def root_(self) -> NodeView:
        """The network, for reading."""
        with self._turn():
            return self._fitted().view()

    @property
    def min_rows_(self) -> int:
        """Up to how many records a node is not split now: `min_rows`, or what "auto" means for so many records."""
        return self._fitted().learner.min_rows

    @property
    def n_bins_(self) -> int:
        """Into how many bins, at most, numeric columns are coded now: `n_bins`, or what "auto" means for so many."""
        model = self._fitted()
        return model.settings.n_bins_among(model.n_records)

    def _fitted(self) -> Model:
        super()._fitted()
        return self._model

    def _learn_engine(self, settings: Settings, ids: Sequence[RecordId], table: Table) -> Model:
        model = Model.learn(settings, ids, table)
        warn_of(model.identifying, "samples and exported circuits of this model show")
        return model

    def _gather_engine(self, opened: Opened) -> Model:
        from unlearnspn.cluster.model import SharedModel  # noqa: PLC0415

        model = SharedModel.gather(opened.settings, opened.shards, opened.string_ids, opened.n_records)
        warn_of(model.identifying, "samples and exported circuits of this model show")
        return model

    def _write_engine(self, path: PathLike, document: Mapping[str, Any]) -> None:
        model = self._fitted()
        if type(model) is Model:
            write_model(path, model, document)
        else:
            cast("SharedModel", model).save(path, document)

    @staticmethod
    def _read_engine(path: PathLike, components: Iterable[type]) -> tuple[Model, dict[str, Any]]:
        return read_model(path, components)

    @staticmethod
    def _load_engine(stored: Stored, shards: Shards) -> Model:
        from unlearnspn.cluster.model import SharedModel  # noqa: PLC0415

        return SharedModel.load(stored, shards)


def _dask_tables() -> Any:
    """Return the module that knows Dask, or say which extra is missing."""
    try:
        from unlearnspn.cluster import dask_tables  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError(f"tables and models on a cluster need pip install 'unlearnspn[dask]' ({error})") from error
    return dask_tables


def refuse_others(unsupported: Mapping[str, Any]) -> None:
    """Raise if something is passed that is not supported; say why, where people expect it to be."""
    unsupported = {name: value for name, value in unsupported.items() if name != "sample_weight" or value is not None}
    if "sample_weight" in unsupported:
        raise TypeError(
            "sample_weight is not supported: statistics are exact counts in which every record counts once, so that "
            "removing it equals training without it. To have a record count twice, pass it twice, with an id each"
        )
    if unsupported:
        raise TypeError(f"got an unexpected keyword argument {next(iter(unsupported))!r}")


def _require_rows(table: Table) -> None:
    if table.n_rows == 0:
        raise InvalidTableError("the table is empty: 0 sample(s), while a minimum of 1 is required")

"""The parameters that a user gives, checked and turned into the settings of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from unlearnspn.clustering import Clustering, QKMeans
from unlearnspn.coding import MOST_BINS
from unlearnspn.errors import ParameterTypeError, listing
from unlearnspn.hashing import derive_key, integer_bytes
from unlearnspn.independence import RDC, GTest, IndependenceTest
from unlearnspn.leaves import (
    Bernoulli,
    Categorical,
    ChowLiu,
    Exponential,
    Gaussian,
    Histogram,
    Leaf,
    LogNormal,
    Poisson,
)
from unlearnspn.schema import Kind, Schema, Variable
from unlearnspn.settings import Settings
from unlearnspn.subsampling import MOST_MEMBERS, Subsampling
from unlearnspn.tables.names import ColumnNames

#: No number of records is larger.
_MOST = 1 << 62
_FACTORIZATIONS = ("naive", "chow-liu")


@dataclass(frozen=True, eq=False)
class Parameters:
    """What a user may choose, as it was given; `SPN` says what each of them means, and has the same defaults."""

    min_rows: int | str = "auto"
    independence: str | IndependenceTest[Any] = "gtest"
    threshold: float | None = None
    clustering: str | Clustering[Any] = "qkmeans"
    n_clusters: int | str = "auto"
    epsilon: float | None = None
    max_rounds: int = 0
    categorical_features: Any = "from_dtype"
    factorization: str | ChowLiu = "chow-liu"
    leaves: Mapping[Any, str | Leaf[Any]] | None = None
    min_category_count: int = 1
    alpha: float = 0.3
    min_std: float = 0.05
    n_bins: int | str = "auto"
    random_state: int = 0

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all parameters, in order.

        >>> Parameters.names()[:3]
        ['alpha', 'categorical_features', 'clustering']
        """
        return sorted(field.name for field in fields(cls))

    def by_name(self) -> dict[str, Any]:
        """Return all parameters by their names, in order."""
        return {name: getattr(self, name) for name in self.names()}


def read_settings(parameters: Parameters, schema: Schema, names: ColumnNames) -> Settings:
    """Return the settings that parameters ask for, or raise."""
    alpha, min_std = _positive("alpha", parameters.alpha), _positive("min_std", parameters.min_std)
    return Settings(
        schema=schema,
        seed=_seed(parameters.random_state),
        min_rows=_at_least_or_auto("min_rows", parameters.min_rows, 1, _MOST),
        n_bins=_at_least_or_auto("n_bins", parameters.n_bins, 2, MOST_BINS),
        independence=_independence(parameters.independence, parameters.threshold),
        clustering=_clustering(parameters),
        leaves=_leaves(parameters.leaves, schema, names, alpha, min_std),
        tree=_tree(parameters.factorization, alpha),
        min_category_count=_at_least("min_category_count", parameters.min_category_count, 1, _MOST),
    )


def read_subsampling(n_members: Any, subsample: Any, seed: int) -> Subsampling:
    """Return the subsampling that an ensemble's parameters ask for, or raise."""
    share = _positive("subsample", subsample)
    if share > 1.0:
        raise ValueError(f"subsample={share!r} must be a share of the records, at most 1")
    return Subsampling(seed, _at_least("n_members", n_members, 1, MOST_MEMBERS), share)


def _independence(independence: Any, threshold: Any) -> IndependenceTest[Any]:
    tests: dict[str, type[GTest] | type[RDC]] = {"gtest": GTest, "rdc": RDC}
    if not isinstance(independence, str):
        if threshold is not None:
            raise ValueError("threshold goes with a test given by name: set it in your own test instead")
        test: IndependenceTest[Any] = _component("independence", independence, IndependenceTest)
        return test
    if independence not in tests:
        raise ValueError(f"independence={independence!r} is none of {listing(tests)}, nor a test")
    named = tests[independence]
    return named() if threshold is None else named(_positive("threshold", threshold))


def _clustering(parameters: Parameters) -> Clustering[Any]:
    clustering, epsilon = parameters.clustering, parameters.epsilon
    if not isinstance(clustering, str):
        return _component("clustering", clustering, Clustering)  # type: ignore[no-any-return]
    if clustering != "qkmeans":
        raise ValueError(f"clustering={clustering!r} is not 'qkmeans', nor a clustering")
    return QKMeans(
        _at_least_or_auto("n_clusters", parameters.n_clusters, 1),
        None if epsilon is None else _positive("epsilon", epsilon),
        _at_least("max_rounds", parameters.max_rounds, 0),
    )


def _tree(factorization: Any, alpha: float) -> ChowLiu | None:
    if isinstance(factorization, ChowLiu):
        return factorization
    if factorization not in _FACTORIZATIONS:
        raise ValueError(f"factorization={factorization!r} is none of {listing(_FACTORIZATIONS)}, nor a ChowLiu")
    return ChowLiu(alpha) if factorization == "chow-liu" else None


def _leaves(chosen: Any, schema: Schema, names: ColumnNames, alpha: float, min_std: float) -> tuple[Leaf[Any], ...]:
    if not isinstance(chosen, Mapping | None):
        raise ParameterTypeError(f"leaves={chosen!r} must give leaves by column name, as in {{'children': 'poisson'}}")
    unknown = [name for name in chosen or () if names.find(name) is None]
    if unknown:
        raise ValueError(f"leaves names unknown columns: {listing(unknown)}; the columns are {listing(names.shown)}")
    by_place = {names.find(name): leaf for name, leaf in (chosen or {}).items()}
    named = _named_leaves(alpha, min_std)
    # Chosen by kind alone: types and values of a column may look otherwise when the same records are learned anew.
    default = {Kind.NUMERIC: "gaussian", Kind.CATEGORICAL: "categorical"}
    wanted = [by_place.get(place, default[v.kind]) for place, v in enumerate(schema.variables)]
    return tuple(_leaf(v, leaf, named) for v, leaf in zip(schema.variables, wanted, strict=True))


def _named_leaves(alpha: float, min_std: float) -> dict[str, Leaf[Any]]:
    leaves: list[Leaf[Any]] = [
        Gaussian(min_std),
        Exponential(),
        LogNormal(),
        Poisson(),
        Histogram(),
        Categorical(alpha),
        Bernoulli(alpha),
    ]
    return {leaf.name: leaf for leaf in leaves}


def _leaf(variable: Variable, wanted: Any, named: Mapping[str, Leaf[Any]]) -> Leaf[Any]:
    if isinstance(wanted, str) and wanted not in named:
        raise ValueError(f"leaves gives column {variable.name!r} a {wanted!r} leaf, which is none of {listing(named)}")
    leaf: Leaf[Any] = named[wanted] if isinstance(wanted, str) else _component("leaves", wanted, Leaf)
    if leaf.kind is not variable.kind:
        raise ValueError(
            f"leaves gives column {variable.name!r} a {leaf.name} leaf, which models {leaf.kind} variables, "
            f"but the column is {variable.kind}"
        )
    return leaf


def _seed(random_state: Any) -> int:
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise ParameterTypeError(
            f"random_state={random_state!r} must be an integer: the seed is part of the model, so that anyone can "
            "learn it again"
        )
    return derive_key(0, "random_state", integer_bytes(int(random_state)))


def _at_least_or_auto(name: str, value: Any, least: int, most: int | None = None) -> int | None:
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name}={value!r} is neither 'auto' nor a number")
        return None
    return _at_least(name, value, least, most)


def _at_least(name: str, value: Any, least: int, most: int | None = None) -> int:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}={value!r} must be an integer of {bounds}")
    return int(value)


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:
        number = np.inf
    if not 0.0 < number < np.inf:
        raise ValueError(f"{name}={value!r} must be a positive number")
    return number


def _component(name: str, component: Any, protocol: type) -> Any:
    # A class has the methods of its instances, so it would pass as one.
    if isinstance(component, type):
        called = component.__name__
        raise ParameterTypeError(f"{name}={called} is a class: pass an instance, such as {called}()")
    if not isinstance(component, protocol):
        raise ParameterTypeError(f"{name}={component!r} does not offer what a {protocol.__name__} must")
    return component

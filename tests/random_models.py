"""Random models for tests of queries: small mixed tables with dependence, all kinds of leaves, circuits that get deep.

`UNLEARNSPN_MODELS=1000` tries so many random models for each law, other ones each time.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from unlearnspn import SPN, ChowLiu, Range
from unlearnspn.tables import Family

N_MODELS = int(os.environ.get("UNLEARNSPN_MODELS", "0"))


def laws(examples):
    """Return settings that try so many random models, the same each time unless more are asked for."""
    return settings(
        max_examples=N_MODELS or examples,
        derandomize=not N_MODELS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@dataclass(frozen=True)
class Recipe:
    """How a column is made from the group that each row belongs to, and the leaf it gets."""

    make: Callable[[np.random.Generator, np.ndarray], Any]
    leaf: str | None = None
    categorical: bool = False
    #: Numbers that a leaf of this kind finds impossible.
    impossible: tuple[float, ...] = ()


def _pick(*categories):
    """Prefer one category in each group, to different degrees."""

    def make(rng, group):
        noise = rng.integers(0, len(categories), group.size)
        places = np.where(rng.random(group.size) < rng.choice([0.5, 0.9]), group % len(categories), noise)
        return np.array([*categories, None], object)[places]

    return make


def _related(rng, group):
    """Return numbers that are linearly related to those of all other columns of this kind, more or less."""
    common = np.random.default_rng(group.size).standard_normal(group.size)
    return 3.0 * group + rng.choice([-2.0, 1.0]) * common + rng.choice([0.1, 0.5]) * rng.standard_normal(group.size)


RECIPES = {
    "normal": Recipe(lambda rng, group: 3.0 * group + rng.standard_normal(group.size)),
    "related": Recipe(_related),
    "related, too": Recipe(_related),
    "ties": Recipe(lambda rng, group: np.round(group + rng.standard_normal(group.size))),
    "constant": Recipe(lambda rng, group: np.full(group.size, 7.0)),
    "nothing": Recipe(lambda rng, group: np.full(group.size, np.nan)),
    "waiting": Recipe(lambda rng, group: rng.exponential(1.0 + group), "exponential", impossible=(-1.0,)),
    "factors": Recipe(
        lambda rng, group: np.exp(0.7 * group + 0.5 * rng.standard_normal(group.size)),
        "log-normal",
        impossible=(0.0, -1.0),
    ),
    "counts": Recipe(
        lambda rng, group: rng.poisson(1.0 + 4.0 * group).astype(float), "poisson", impossible=(-1.0, 0.5)
    ),
    "bins": Recipe(lambda rng, group: group + rng.beta(0.5, 0.5, group.size), "histogram"),
    "words": Recipe(_pick("a", "b", "c"), categorical=True),
    "pairs": Recipe(_pick("left", "right"), categorical=True),
    "digits": Recipe(_pick(0, 1, 2, 5), categorical=True),
    "flags": Recipe(_pick(False, True), "bernoulli", categorical=True),
    "plain flags": Recipe(_pick(False, True), categorical=True),
    "binary": Recipe(_pick(0, 1), "bernoulli", categorical=True),
    "mixed": Recipe(_pick("1", 1, True), categorical=True),
    "one word": Recipe(_pick("always"), categorical=True),
    "always true": Recipe(_pick(True), "bernoulli", categorical=True),
    "no word": Recipe(_pick(None), categorical=True),
}
NUMERIC = [name for name, recipe in RECIPES.items() if not recipe.categorical]
CATEGORICAL = [name for name, recipe in RECIPES.items() if recipe.categorical]


#: A category that no table has, by what its column holds; there is no third boolean.
_UNSEEN = {Family.TEXT: "never seen", Family.MIXED: "never seen", Family.NUMBER: 99, Family.BOOLEAN: None}


@dataclass(frozen=True, eq=False)
class RandomModel:
    """A table, and the estimator learned from it; columns are called x0, x1 and so on."""

    kinds: tuple[str, ...]
    n_rows: int
    missing: float
    parameters: dict
    seed: int

    @cached_property
    def recipes(self):
        return tuple(RECIPES[kind] for kind in self.kinds)

    @cached_property
    def table(self):
        rng = np.random.default_rng(self.seed)
        group = rng.integers(0, 3, self.n_rows)
        table = np.empty((self.n_rows, len(self.kinds)), object)
        for v, recipe in enumerate(self.recipes):
            table[:, v] = recipe.make(rng, group)
        table[rng.random(table.shape) < self.missing] = None
        return table

    def estimator(self):
        leaves = {f"x{v}": recipe.leaf for v, recipe in enumerate(self.recipes) if recipe.leaf}
        categorical = [recipe.categorical for recipe in self.recipes]
        return SPN(categorical_features=categorical, leaves=leaves, **self.parameters)

    @cached_property
    def spn(self):
        return self.estimator().fit(self.table)

    @property
    def circuit(self):
        return self.spn.circuit_

    @property
    def names(self):
        return [f"x{v}" for v in range(len(self.recipes))]

    def unseen(self, v):
        """Return a category that the column never had, or None if there is none."""
        return _UNSEEN[self.circuit.domains.columns[v].family] if self.recipes[v].categorical else None

    def rng(self):
        """Return a generator for choices about this model."""
        return np.random.default_rng(self.seed)

    def rows(self, rng, n_rows=12):
        """Return rows to ask about: some of the table, mixed, blanked, and with values never seen or impossible."""
        width = len(self.recipes)
        picks = rng.integers(0, len(self.table), (n_rows, width))
        picks[::2] = picks[::2, :1]
        rows = self.table[picks, np.arange(width)]
        rows[rng.random(rows.shape) < 0.2] = None
        for v, recipe in enumerate(self.recipes):
            if self.unseen(v) is not None:
                rows[rng.random(n_rows) < 0.1, v] = self.unseen(v)
            if recipe.impossible:
                rows[rng.random(n_rows) < 0.05, v] = rng.choice(recipe.impossible)
        return rows

    @property
    def related(self):
        """The columns that are jointly normal with others: ranges of them are cut into pieces, which lose a little."""
        return set(self.circuit.layout.normal_variables.tolist())

    def evidence(self, rng, columns, ranges=1, but=()):
        """Return evidence on some columns that some row fulfils: values, sets, and so many ranges at most.

        There are no ranges of some columns, `but`.
        """
        row = self.table[rng.integers(len(self.table))]
        evidence = {}
        for v in columns:
            categorical, value = self.recipes[v].categorical, row[v]
            if value is None or value != value:
                evidence[f"x{v}"] = None
            elif categorical and rng.random() < 0.5:
                evidence[f"x{v}"] = value
            elif categorical:
                others = [c for c in self.table[:, v].tolist() if c is not None and rng.random() < 0.2]
                evidence[f"x{v}"] = [value, *others, *([] if self.unseen(v) is None else [self.unseen(v)])]
            elif ranges and v not in but and rng.random() < 0.6:
                ranges -= 1
                evidence[f"x{v}"] = random_range(rng, value)
            else:
                evidence[f"x{v}"] = value
        return evidence

    def some_columns(self, rng, least=0, most=None):
        """Return some columns by number, in order."""
        size = int(rng.integers(least, 1 + min(most or len(self.recipes), len(self.recipes))))
        return sorted(rng.choice(len(self.recipes), size, replace=False).tolist())


def random_range(rng, value):
    """Return a range around a value."""
    low, high = value - rng.exponential(2.0), value + rng.exponential(2.0)
    kinds = [
        Range(at_least=low),
        Range(above=low),
        Range(at_most=high),
        Range(below=high),
        Range(at_least=value),
        Range(at_least=low, below=high),
        Range(above=low, at_most=high),
    ]
    return kinds[rng.integers(len(kinds))]


# What is drawn for each model is made once: making a strategy costs Hypothesis more than drawing from it.
PARAMETERS = {
    "min_rows": st.sampled_from([3, 6, 12]),
    "threshold": st.sampled_from([0.05, 0.2, 1.0]),
    "n_clusters": st.sampled_from([2, 3]),
    "alpha": st.sampled_from([0.01, 0.3, 1.0]),
    # With hardly a penalty variables depend on several ancestors.
    "factorization": st.sampled_from(["naive", "chow-liu", ChowLiu(penalty=0.02)]),
}
N_ROWS, MISSING, SEEDS = st.sampled_from([60, 90, 30, 8, 2]), st.sampled_from([0.0, 0.15]), st.integers(0, 2**20)


def random_models(columns=tuple(RECIPES), least=1, most=5):
    """Return a strategy for models with columns of these kinds."""
    widths, kind = [*range(least, most + 1), most, most], st.sampled_from(columns)
    n_columns, kinds_of = st.sampled_from(widths), {n: st.lists(kind, min_size=n, max_size=n) for n in widths}

    @st.composite
    def models(draw):
        kinds = tuple(draw(kinds_of[draw(n_columns)]))
        parameters = {name: draw(values) for name, values in PARAMETERS.items()}
        return RandomModel(kinds, draw(N_ROWS), draw(MISSING), parameters, draw(SEEDS))

    return models()

"""The contract, as checks that anyone can run against an estimator or a building block, their own included.

Each check raises an `AssertionError` that names the property that failed.

>>> from unlearnspn import SPN, Categorical, GTest, QKMeans
>>> check_spn(SPN(min_rows=5))
>>> check_independence(GTest())
>>> check_clustering(QKMeans())
>>> check_leaf(Categorical())
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from unlearnspn.circuit.layout import lower
from unlearnspn.clustering import Clustering
from unlearnspn.errors import InvalidTableError
from unlearnspn.estimators.density import DensityEstimator
from unlearnspn.hashing import derive_key
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import Bernoulli, Categorical, ChowLiu, Gaussian, Leaf, LearnedDistribution, check_support
from unlearnspn.records import Records
from unlearnspn.schema import Kind, Schema
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import Table as ReadTable
from unlearnspn.tables import is_missing, read_table

Table = npt.NDArray[np.object_]
S = TypeVar("S")

#: Which columns of `example_table` are categorical.
CATEGORICAL = (False, False, False, True, True, True)


def example_table(n_rows: int = 60, seed: int = 0) -> Table:
    """Return a table with dependence, ties, outliers, missing values, rare categories and a nearly constant column."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    table = np.empty((n_rows, len(CATEGORICAL)), object)
    table[:, 0] = group * 4.0 + rng.standard_normal(n_rows)
    table[:, 1] = np.round(group + rng.standard_normal(n_rows), 1)
    table[:, 2] = np.where(rng.random(n_rows) < 0.9, 7.0, 10.0 ** rng.integers(-200, 200, n_rows))
    table[:, 3] = np.array(["a", "b", "c"], object)[group]
    table[:, 4] = [f"rare {i}" if rng.random() < 0.1 else "usual" for i in range(n_rows)]
    table[:, 5] = rng.random(n_rows) < 0.3 + 0.2 * group
    table[rng.random(table.shape) < 0.05] = None
    return table


ExampleColumn = tuple[Kind, list[Any]]


def example_columns(n_rows: int = 60, seed: int = 0) -> dict[str, ExampleColumn]:
    """Return columns of many kinds to try leaves on: those of `example_table`, and others that are special in some way.

    >>> [name for name, (kind, _) in example_columns().items() if kind is Kind.CATEGORICAL]
    ['x3', 'x4', 'x5', 'booleans', 'digits', 'always true', 'unknown category']
    """
    rng = np.random.default_rng(seed)
    table = example_table(n_rows, seed)
    kinds = [Kind.CATEGORICAL if categorical else Kind.NUMERIC for categorical in CATEGORICAL]
    columns = {f"x{v}": (kind, table[:, v].tolist()) for v, kind in enumerate(kinds)}
    sizes = rng.standard_normal(n_rows)
    special: dict[str, tuple[Kind, Any]] = {
        "counts": (Kind.NUMERIC, rng.poisson(3.0, n_rows).astype(float)),
        "zeros": (Kind.NUMERIC, np.zeros(n_rows)),
        "skewed": (Kind.NUMERIC, np.exp(3.0 * sizes)),
        "huge": (Kind.NUMERIC, np.copysign(1.7e308, sizes)),
        "tiny": (Kind.NUMERIC, 5e-324 * rng.integers(1, 9, n_rows)),
        "unknown number": (Kind.NUMERIC, np.full(n_rows, np.nan)),
        "booleans": (Kind.CATEGORICAL, sizes > 0.0),
        "digits": (Kind.CATEGORICAL, (sizes > 0.5).astype(int)),
        "always true": (Kind.CATEGORICAL, np.full(n_rows, True)),
        "unknown category": (Kind.CATEGORICAL, np.full(n_rows, None)),
    }
    for name, (kind, values) in special.items():
        column = values.tolist()
        columns[name] = kind, [None, *column[1:-1], None]
    return columns


# -- estimators --------------------------------------------------------------------------------------------------------


def check_spn(spn: DensityEstimator, n_rows: int = 60, seed: int = 0) -> None:
    """Run every check of an estimator on an example table; its `categorical_features` are set to fit the table."""
    spn = clone(spn).set_params(categorical_features=list(CATEGORICAL))
    table = example_table(n_rows, seed)
    for check in SPN_CHECKS:
        check(spn, table)


def check_unlearn_equals_retrain(spn: DensityEstimator, X: Table, n_removals: int = 20, seed: int = 0) -> None:
    """Removing records one by one, then some at once, gives what training without them gives."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_removals = min(n_removals, len(X) - 1)
    singles, batch = order[: n_removals // 2], order[n_removals // 2 : n_removals]
    fitted = clone(spn).fit(X)
    for done, row in enumerate(singles, start=1):
        fitted.unlearn(int(row))
        _assert_like_fresh(fitted, spn, X, np.setdiff1d(order, singles[:done]), "unlearn one record")
    fitted.unlearn(batch.tolist())
    _assert_like_fresh(fitted, spn, X, order[n_removals:], "unlearn a batch")


def check_learn_equals_retrain(spn: DensityEstimator, X: Table) -> None:
    """Adding records gives what training on all of them gives."""
    half = (len(X) + 1) // 2
    fitted = clone(spn).fit(X[:half])
    for row in range(half, len(X)):
        fitted.learn(X[row : row + 1], ids=[row])
        _assert_like_fresh(fitted, spn, X, np.arange(row + 1), "learn")


def check_rectify_equals_retrain(spn: DensityEstimator, X: Table) -> None:
    """Replacing values gives what training on the new values gives."""
    fitted = clone(spn).fit(X)
    corrected = X.copy()
    for row in range(min(10, len(X))):
        corrected[row] = X[len(X) - 1 - row]
        fitted.rectify(corrected[row : row + 1], ids=[row])
        _assert_like_fresh(fitted, spn, corrected, np.arange(len(X)), "rectify")


def check_order_does_not_matter(spn: DensityEstimator, X: Table, seed: int = 0) -> None:
    """The order of the rows leaves no trace, nor does the order of requests."""
    order = np.random.default_rng(seed).permutation(len(X))
    fitted = clone(spn).fit(X)
    _assert_like_fresh(fitted, spn, X, order, "order of rows")
    gone = order[: len(X) // 3].tolist()
    one, other = clone(spn).fit(X), clone(spn).fit(X)
    for row in gone:
        one.unlearn(row)
    for row in reversed(gone):
        other.unlearn(row)
    _assert_same(one, other, X, "order of requests")


def check_dry_run_changes_nothing(spn: DensityEstimator, X: Table) -> None:
    """A dry run reports what the request then does, and changes nothing."""
    fitted = clone(spn).fit(X)
    rows = list(range(min(5, len(X) - 1)))
    planned = fitted.unlearn(rows, dry_run=True)
    _assert_like_fresh(fitted, spn, X, np.arange(len(X)), "dry run")
    done = fitted.unlearn(rows)
    assert replace(planned, dry_run=False, seconds=done.seconds) == done, "dry run: another report than the request's"


def check_nothing_remains(spn: DensityEstimator, X: Table) -> None:
    """After removal nothing that only the removed record had is in the pickled estimator."""
    marks = ("only in the record removed", 0.123456789012345e57)
    table = np.concatenate([X, X[:1]])
    for column, categorical in enumerate(CATEGORICAL[: X.shape[1]]):
        table[-1, column] = marks[0] if categorical else marks[1]
    names = [f"record {row}" for row in range(len(table))]
    fitted = clone(spn).fit(table, ids=names)
    traces = [marks[0].encode(), np.float64(marks[1]).tobytes(), names[-1].encode()]
    held = pickle.dumps(fitted)
    assert all(trace in held for trace in traces), "nothing remains: the check itself finds nothing"
    fitted.unlearn(names[-1])
    left = pickle.dumps(fitted)
    assert not any(trace in left for trace in traces), "nothing remains: the state still holds the record"


SPN_CHECKS: tuple[Callable[[DensityEstimator, Table], None], ...] = (
    check_unlearn_equals_retrain,
    check_learn_equals_retrain,
    check_rectify_equals_retrain,
    check_order_does_not_matter,
    check_dry_run_changes_nothing,
    check_nothing_remains,
)


def _assert_like_fresh(fitted: DensityEstimator, spn: DensityEstimator, X: Table, rows: Rows, what: str) -> None:
    fresh = clone(spn).fit(X[rows], ids=rows.tolist())
    _assert_same(fitted, fresh, X, what)


def _assert_same(one: DensityEstimator, other: DensityEstimator, X: Table, what: str) -> None:
    assert one.digest() == other.digest(), f"{what}: the model's digest differs from retraining's"
    assert one.state_digest() == other.state_digest(), f"{what}: the state's digest differs from retraining's"
    same = one.score_samples(X).tobytes() == other.score_samples(X).tobytes()
    assert same, f"{what}: log-densities differ from retraining's"


# -- building blocks ---------------------------------------------------------------------------------------------------


def check_leaf(leaf: Leaf[Any] | ChowLiu) -> None:
    """Revised statistics are those learned afresh, give the same part of a circuit, and know nothing of codes.

    A leaf is tried on every column of `example_columns` that it can model, a tree on all of them together.
    """
    columns = example_columns()
    if isinstance(leaf, ChowLiu):
        together, others = list(columns.values()), (Categorical(), Gaussian())
        for alone in (Categorical(), Bernoulli()):
            leaves = [next(each for each in (alone, *others) if _can_model(each, column)) for column in together]
            _check_distribution(leaf.over(leaves), *_tell_twice(together))
        return
    fitting = [column for column in columns.values() if _can_model(leaf, column)]
    tried = any(not all(map(is_missing, values)) for _, values in fitting)
    assert tried, f"leaf: it can model none of the example columns (it is {leaf.kind}: {leaf.support.words})"
    for column in fitting:
        data, elsewhere = _tell_twice([column])
        _check_distribution(leaf, data, elsewhere)
        same = leaf.categories(data) == leaf.categories(elsewhere)
        assert same, "leaf: its categories depend on their codes"


def _check_distribution(distribution: LearnedDistribution[Any], data: Slice, elsewhere: Slice) -> None:
    """Compare revised statistics with fresh ones, and with those of the same records elsewhere, coded otherwise."""
    n_records = len(data.records)
    slots, other_slots = (each.records.find(range(n_records)) for each in (data, elsewhere))
    for before, minus, plus, after in _parts(n_records):
        old = distribution.learn(data, slots[before])
        kept = distribution.revise(old, data, slots[minus], slots[plus])
        fresh = distribution.learn(data, slots[after])
        other = distribution.learn(elsewhere, other_slots[after])
        name, shown = distribution.fingerprint(kept, data), lower(distribution.express(kept, data))
        assert name == distribution.fingerprint(fresh, data), "leaf: revise differs from learn"
        same = shown.same(lower(distribution.express(fresh, data)))
        assert same, "leaf: another part of a circuit after revise than after learn"
        assert name == distribution.fingerprint(other, elsewhere), "leaf: the fingerprint depends on codes"
        same = shown.same(lower(distribution.express(other, elsewhere)))
        assert same, "leaf: the part of a circuit depends on codes"
        assert not np.isnan(np.append(shown.parameters, shown.log_weights)).any(), "leaf: NaN in the part of a circuit"


def check_independence(test: IndependenceTest[Any]) -> None:
    """Revised statistics are those learned afresh; a pair's verdict depends on the pair and the records alone."""
    data, parts = _slice_and_parts(np.arange(len(CATEGORICAL)))
    for before, minus, plus, after in parts:
        old = test.learn(data, before)
        name = test.fingerprint(old, data)
        kept = test.revise(old, data, minus, plus, _giving(after))
        fresh = test.learn(data, after)
        assert test.fingerprint(kept, data) == test.fingerprint(fresh, data), "independence: revise differs from learn"
        groups = test.groups(kept, data)
        assert np.array_equal(groups, test.groups(fresh, data)), "independence: groups differ after revise"
        for group in np.unique(groups):
            part = data.of(data.scope[groups == group], derive_key(data.key, "elsewhere"))
            again = test.groups(test.learn(part, after), part)
            assert not again.any(), "independence: a group falls apart when it is asked alone, or elsewhere"
        back = test.revise(old, data, plus, minus, _giving(before)) if kept is old else old
        assert test.fingerprint(back, data) == name, "independence: what was revised cannot be taken back"


def check_clustering(clustering: Clustering[Any]) -> None:
    """Revised statistics are those learned afresh, with the same clusters, and sizes that count them."""
    data, parts = _slice_and_parts(np.arange(len(CATEGORICAL)))
    for before, minus, plus, after in parts:
        old = clustering.learn(data, before)
        name = clustering.fingerprint(old, data)
        kept = clustering.revise(old, data, minus, plus, _giving(after))
        fresh = clustering.learn(data, after)
        same = clustering.fingerprint(kept, data) == clustering.fingerprint(fresh, data)
        assert same, "clustering: revise differs from learn"
        labels = clustering.assign(kept, data, after)
        assert np.array_equal(labels, clustering.assign(fresh, data, after)), "clustering: labels differ after revise"
        backwards = clustering.assign(kept, data, after[::-1].copy())[::-1]
        assert np.array_equal(labels, backwards), "clustering: a label depends on the other rows"
        sizes = clustering.sizes(kept)
        assert np.array_equal(sizes, np.bincount(labels, minlength=sizes.size)), "clustering: sizes do not count labels"
        if clustering.assigns_like(old, kept):
            unmoved = clustering.assign(old, data, after)
            assert np.array_equal(labels, unmoved), "clustering: assigns_like, but labels differ"
        back = clustering.revise(old, data, plus, minus, _giving(before)) if kept is old else old
        assert clustering.fingerprint(back, data) == name, "clustering: what was revised cannot be taken back"


def check_merging(
    learn: Callable[[Rows], S],
    merge: Callable[[S, S], S],
    describe: Callable[[S], object],
    rows: Rows,
    shift: Callable[[S, Rows, int], S] | None = None,
    seed: int = 0,
) -> None:
    """Statistics of disjoint rows merge into those of all, in any order; rows are taken out as they were put in.

    `describe` returns what is to be equal. `shift` puts rows in (1) or takes them out (-1), in place or not. Rows are
    given in increasing order.

    >>> check_merging(lambda rows: int(rows.sum()), lambda one, other: one + other, int, np.arange(9))
    """
    rng = np.random.default_rng(seed)
    for n_parts in (2, 3, 5):
        labels = rng.integers(n_parts, size=rows.size)
        parts = [learn(rows[labels == k]) for k in rng.permutation(n_parts)]
        before, whole = [describe(part) for part in parts], describe(learn(rows))
        assert describe(reduce(merge, parts)) == whole, "merging: the parts do not give the whole"
        assert [describe(part) for part in parts] == before, "merging: it changes what is merged"
        backwards = reduce(lambda done, part: merge(part, done), parts)
        assert describe(backwards) == whole, "merging: the order of the parts matters"
        if shift is None:
            continue
        gone, most = rows[labels == 0], rows[labels > 0]
        statistics = shift(learn(rows), gone, -1)
        assert describe(statistics) == describe(learn(most)), "merging: subtracted rows leave a trace"
        for some in np.array_split(rng.permutation(gone), 3):
            statistics = shift(statistics, np.sort(some), 1)
        assert describe(statistics) == whole, "merging: adding is not the inverse of subtracting"


def _slice_and_parts(scope: Rows) -> tuple[Slice, Iterator[tuple[Rows, Rows, Rows, Rows]]]:
    """Return a slice of the example table, and changes to try: (rows before, minus, plus, rows after)."""
    table = read_table(example_table())
    schema = Schema.of(table, list(CATEGORICAL), None)
    records = Records.learn(schema, derive_key(0, "checks"), 6, list(range(table.n_rows)), table)
    return _whole(records, scope), _parts(table.n_rows)


def _whole(records: Records, scope: Rows) -> Slice:
    return Slice(records, records.encoding, scope, derive_key(0, "node"))


def _parts(n_rows: int) -> Iterator[tuple[Rows, Rows, Rows, Rows]]:
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows = rng.permutation(n_rows)
        a, b, c = np.sort(rng.integers(1, n_rows, 3))
        kept, minus, plus = rows[:a], rows[a:b], rows[b:c]
        yield np.append(kept, minus), minus, plus, np.append(kept, plus)


def _giving(rows: Rows) -> Callable[[], Rows]:
    return lambda: rows


def _can_model(leaf: Leaf[Any], column: ExampleColumn) -> bool:
    kind, values = column
    if leaf.kind is not kind:
        return False
    try:
        check_support([leaf], _read([values]))
    except InvalidTableError:
        return False
    return True


def _tell_twice(columns: Sequence[ExampleColumn]) -> tuple[Slice, Slice]:
    """Return the same records twice: learned at once, and come by in a way that gave categories other codes."""
    table = _read([values for _, values in columns])
    schema = Schema.of(table, [kind is Kind.CATEGORICAL for kind, _ in columns], None)
    ids, key = list(range(table.n_rows)), derive_key(0, "checks")
    at_once = Records.learn(schema, key, 6, ids, table)
    # The last category of all comes first, then one that nobody else has; then they leave and all others come.
    first: list[list[Any]] = []
    for v, (kind, _) in enumerate(columns):
        last = at_once.encoding.categorical(v).canonical_categories[-1:] if kind is Kind.CATEGORICAL else ()
        first.append([last[0], "nobody else"] if last else [None, None])
    in_steps = Records.learn(schema, key, 6, [-1, -2], _read(first))
    in_steps.commit(in_steps.stage(in_steps.find([-1, -2]), list(ids), table))
    scope = np.arange(len(columns))
    return _whole(at_once, scope), _whole(in_steps, scope)


def _read(columns: Sequence[list[Any]]) -> ReadTable:
    table = np.empty((len(columns[0]), len(columns)), object)
    for j, values in enumerate(columns):
        table[:, j] = values
    return read_table(table)

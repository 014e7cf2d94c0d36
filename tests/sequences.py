"""Random tables and random sequences of requests, for tests that compare a revised model with a fresh one."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from unlearnspn import (
    SPN,
    Bernoulli,
    Categorical,
    ChowLiu,
    Exponential,
    Gaussian,
    Histogram,
    LogNormal,
    Poisson,
)
from unlearnspn.independence import GTest

LEAVES = {
    False: [Gaussian(), Exponential(), LogNormal(), Poisson(), Histogram(), Histogram(n_bins=3, alpha=0.5)],
    True: [Categorical(), Bernoulli()],
}

NUMERIC_POOLS = [
    [0.0, 1.0, 2.0, 3.0],
    [0.0, -0.0, 1.0, None],
    [5.0, 5.0, 5.0, 5.0000000001],
    [7.0, 7.0, None],
    [1e300, -1e300, 1.7e308, -1.7e308, 0.0],
    [5e-324, -5e-324, 1e-300, 0.0],
    [1e-300, 1.0, 1e300, None],
    [0.1, 0.2, 0.30000000000000004, 0.3, 1 / 3],
    [float(i) for i in range(50)],
    [i * abs(i) ** 0.5 for i in range(-20, 20)],
    # Some of these lie so close together that bins are laid there, until a few leave or come.
    [i / 16 for i in range(9)] + [1e4, -3e4],
    [0.0] * 12 + [100.0 + i / 64 for i in range(9)] + [1e6],
    # Most have nothing, and few a fraction.
    [0.0] * 12 + [100.0, 250.0, -999.0] * 2 + [0.5, None],
    [2.0 ** (i / 2) for i in range(50)],
]
CATEGORY_POOLS = [
    ["a", "b"],
    ["a", "a", "a", "a", "a", "b"],
    ["x"],
    ["x", None],
    [True, False],
    [True, None],
    [0, 1, None],
    ["", "é", "a b", "1", "True"],
    [f"c{i}" for i in range(12)],
    [f"k{i}" for i in range(60)],  # more than get a code of their own
]


@dataclass
class Sequence:
    """A pool of rows to draw records from, the parameters, the first records, and the requests."""

    categorical: list[bool]
    pool: np.ndarray
    parameters: dict
    n_first: int
    requests: list[tuple[str, list[int]]]
    string_ids: bool = False
    shuffle: int = 0

    def name(self, number):
        return f"id-{number}" if self.string_ids else number * 3 - 20

    def estimator(self):
        return SPN(categorical_features=self.categorical, **self.parameters)


@dataclass
class Held:
    """The records that should be held after some requests: id number to row of the pool."""

    rows: dict[int, int] = field(default_factory=dict)

    def table(self, sequence, rng):
        numbers = list(self.rows)
        rng.shuffle(numbers)
        return sequence.pool[[self.rows[n] for n in numbers]], [sequence.name(n) for n in numbers]


#: The parameters of an estimator.
PARAMETERS = st.tuples(
    st.fixed_dictionaries(
        {
            "min_rows": st.sampled_from([1, 1, 2, 3, 5, 8]),
            "n_clusters": st.sampled_from([2, 2, 3]),
            "epsilon": st.sampled_from([0.01, None]),
            "max_rounds": st.sampled_from([0, 1, 10]),
            "n_bins": st.sampled_from([2, 4, 12]),
            "random_state": st.integers(0, 50),
        },
        optional={
            "alpha": st.sampled_from([0.01, 1.0]),
            "min_category_count": st.sampled_from([2, 3, 6]),
            "factorization": st.sampled_from(["naive", "naive", ChowLiu(alpha=0.1, beta=0.1, penalty=0.02)]),
        },
    ),
    st.sampled_from(
        [
            {"independence": "gtest", "threshold": 0.2},
            {"independence": "gtest", "threshold": 1.0},
            {"independence": "gtest"},
            {"independence": GTest(0.2, tables_above=10)},
            {"independence": GTest(1.0, tables_above=25)},
            {"independence": "rdc"},
            {"independence": "rdc", "threshold": 0.7},
        ]
    ),
).map(lambda parts: {**parts[0], **parts[1]})


def fitting_leaves(pool, is_categorical):
    """Return the leaves that can model every value of a pool."""
    values = [value for value in pool if value is not None]
    tests = [leaf.support.test for leaf in LEAVES[is_categorical]]
    values = values if is_categorical else np.array(values, float)
    fits = [test is None or bool(test(values).all()) for test in tests]
    return [leaf for leaf, fit in zip(LEAVES[is_categorical], fits, strict=True) if fit]


def pools(is_categorical):
    """Return a strategy for pools, each with a strategy for a leaf that can model it, or None."""
    found = CATEGORY_POOLS if is_categorical else NUMERIC_POOLS
    return st.sampled_from([(pool, st.sampled_from([None, *fitting_leaves(pool, is_categorical)])) for pool in found])


# What is drawn for each sequence is made once: making a strategy costs Hypothesis more than drawing from it.
POOLS = {False: pools(False), True: pools(True)}
N_COLUMNS, N_FIRST, N_MORE = (
    st.integers(1, 5),
    st.one_of(st.integers(1, 12), st.integers(1, 40), st.integers(41, 70)),
    st.integers(0, 8),
)
BOOLEANS, SEEDS = st.booleans(), st.integers(0, 2**32 - 1)
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["remove", "remove", "batch", "add", "rectify"]),
        st.lists(st.integers(0, 10**6), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def sequences(draw):
    n_columns = draw(N_COLUMNS)
    categorical = [draw(BOOLEANS) for _ in range(n_columns)]
    n_first = draw(N_FIRST)
    n_pool = n_first + draw(N_MORE)
    columns, leaves = [], {}
    for number, is_categorical in enumerate(categorical):
        pool, fitting = draw(POOLS[is_categorical])
        leaf = draw(fitting)
        if leaf is not None:
            leaves[f"x{number}"] = leaf
        # One draw for the whole column: Hypothesis pays for each draw, and shrinks a byte string well.
        picks = draw(st.binary(min_size=n_pool, max_size=n_pool))
        columns.append([pool[pick % len(pool)] for pick in picks])
    table = np.empty((n_pool, n_columns), object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return Sequence(
        categorical,
        table,
        {**draw(PARAMETERS), "leaves": leaves or None},
        n_first,
        draw(REQUESTS),
        draw(BOOLEANS),
        draw(SEEDS),
    )


def large_table(n_rows, categorical, seed):
    """Return many rows with clusters in them, numbers that bins tell apart, and what is missing here and there."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 12, n_rows)
    table = np.empty((n_rows, len(categorical)), object)
    for j, is_categorical in enumerate(categorical):
        noise = rng.integers(0, 40, n_rows)
        if is_categorical:
            table[:, j] = [f"k{value}" for value in (group * (j + 1) + (noise > 30)) % (3 + 5 * j)]
        else:
            table[:, j] = np.round(group * (j + 1) % 7 + noise / 16 + 1e3 * (noise == 39), 3).tolist()
        table[rng.integers(0, 50, n_rows) == 0, j] = None
    return table


@st.composite
def large_sequences(draw):
    """Tables of thousands of rows, eight or 64 clusters, sizes that follow from the table: as users have them."""
    categorical = draw(st.lists(st.booleans(), min_size=2, max_size=6))
    # 8,192 records is where the automatic sizes change.
    n_first = draw(st.one_of(st.integers(1000, 4000), st.integers(8185, 8200)))
    chosen = {
        "n_clusters": st.sampled_from(["auto", 8, 64]),
        "min_rows": st.sampled_from(["auto", 20, 100]),
        "factorization": st.sampled_from(["chow-liu", "naive"]),
        "random_state": st.integers(0, 50),
    }
    requests = st.tuples(
        st.sampled_from(["remove", "batch", "batch", "add", "rectify"]),
        st.lists(st.integers(0, 10**6), min_size=1, max_size=60),
    )
    return Sequence(
        categorical,
        large_table(n_first + 20, categorical, draw(st.integers(0, 2**32 - 1))),
        draw(st.fixed_dictionaries(chosen)),
        n_first,
        draw(st.lists(requests, min_size=1, max_size=3)),
        draw(st.booleans()),
        draw(st.integers(0, 2**32 - 1)),
    )


def apply_request(spn, sequence, held, kind, numbers):
    """Send one request to the estimator and keep book of it; returns the report, or None if nothing fits it."""
    present = sorted(held.rows)
    if kind in ("remove", "batch"):
        count = 1 if kind == "remove" else len(numbers)
        chosen = list(dict.fromkeys(present[number % len(present)] for number in numbers[:count]))
        if len(chosen) == len(present):
            return None
        for number in chosen:
            del held.rows[number]
        return spn.unlearn([sequence.name(number) for number in chosen])
    sources = [number % len(sequence.pool) for number in numbers]
    if kind == "add":
        absent = [number for number in range(len(sequence.pool) + 10) if number not in held.rows]
        chosen = absent[: len(sources)]
        if not chosen:
            return None
        send = spn.learn
    else:
        chosen = list(dict.fromkeys(present[number % len(present)] for number in numbers))
        send = spn.rectify
    sources = sources[: len(chosen)]
    held.rows.update(zip(chosen, sources, strict=True))
    return send(sequence.pool[sources], ids=[sequence.name(number) for number in chosen])


def assert_like_retraining(sequence):
    """Make all requests, and compare the model after each with one learned afresh: digests, report, densities."""
    rng = np.random.default_rng(sequence.shuffle)
    held = Held({number: number for number in range(sequence.n_first)})
    X, ids = held.table(sequence, rng)
    spn = sequence.estimator().fit(X, ids=ids)
    for kind, numbers in sequence.requests:
        before = spn.digest(), spn.state_digest()
        report = apply_request(spn, sequence, held, kind, numbers)
        if report is None:
            continue
        X, ids = held.table(sequence, rng)
        fresh = sequence.estimator().fit(X, ids=ids)
        assert spn.digest() == fresh.digest()
        assert spn.state_digest() == fresh.state_digest()
        assert (report.digest_before, report.state_digest_before) == before
        assert (report.digest_after, report.state_digest_after) == (fresh.digest(), fresh.state_digest())
        assert spn.score_samples(sequence.pool).tobytes() == fresh.score_samples(sequence.pool).tobytes()
    assert spn.ids_ == sorted(sequence.name(number) for number in held.rows)

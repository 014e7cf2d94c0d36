"""Records as compiled statistics read them, for tests: random tables of categories and numbers, some values missing."""

import numpy as np

from unlearnspn.records import Records
from unlearnspn.rows.coded import CodedRows
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.tables import read_table


def only_codes(codes):
    """Return rows of which nothing but codes is known."""
    n_rows, n_variables = codes.shape
    zeros = np.zeros(n_rows, np.uint64)
    return CodedRows(
        codes,
        codes.astype(np.int16),
        np.zeros((n_rows, 0)),
        np.zeros((n_rows, n_variables), np.int16),
        zeros,
        zeros.astype(np.bool_),
        np.zeros(n_variables, np.bool_),
        np.arange(n_variables),
        np.full(n_variables, 256),
        np.arange(256 * n_variables, dtype=np.uint64).reshape(n_variables, 256),
        np.zeros(n_variables, np.bool_),
    )


def coded_slice(X, categorical, scope=None, n_bins=6):
    table = read_table(X)
    records = Records.learn(Schema.of(table, categorical, None), 7, n_bins, list(range(len(X))), table)
    scope = np.arange(len(table.columns)) if scope is None else np.asarray(scope, np.int64)
    return Slice(records, records.encoding, scope, 5)


def random_slice(seed, n_rows=150, n_variables=9, n_values=4, missing=0.05, n_bins=6):
    """Return variables of which every other one is categorical, some depend on one another, and some hardly vary."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n_rows, n_variables)).astype(float)
    for v in range(1, n_variables):
        kind = rng.integers(4)
        if kind == 0:
            X[:, v] = np.where(rng.random(n_rows) < 0.5, X[:, rng.integers(v)], X[:, v])
        elif kind == 1:
            X[:, v] = np.where(rng.random(n_rows) < 0.98, 1.0, 1.0 + rng.random(n_rows) * rng.choice([1e-9, 1.0]))
    X[rng.random(X.shape) < missing] = np.nan
    X[0] = 0.0  # every variable has a value
    scope = np.sort(rng.permutation(n_variables)[: rng.integers(2, n_variables + 1)])
    rng.shuffle(scope)
    return coded_slice(X, [bool(v % 2) for v in range(n_variables)], scope, n_bins)

"""Slices and fitted estimators of one column or a few, for tests of leaves."""

import numpy as np

from unlearnspn import SPN
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.tables import read_table


def object_table(*columns):
    table = np.empty((len(columns[0]), len(columns)), object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def slice_of(*columns, categorical=False):
    """Return a slice of all the records of a table of the given columns, all or some of them categorical."""
    table = read_table(object_table(*columns))
    schema = Schema.of(table, categorical if isinstance(categorical, list) else [categorical] * len(columns), None)
    records = Records.learn(schema, 7, 6, list(range(table.n_rows)), table)
    return Slice(records, records.encoding, np.arange(len(columns)), 5)


def learned(leaf, data, rows=None):
    """Return a leaf's statistics of some rows, by default of all."""
    return leaf.learn(data, data.records.rows if rows is None else np.asarray(rows))


def fitted(leaf, values, categorical=False):
    """Return an estimator that is nothing but one leaf."""
    return SPN(leaves={"x0": leaf}, categorical_features=[categorical]).fit(object_table(values))


def log_density(leaf, values, queries, categorical=False):
    """Learn a leaf from some values, and return its log-density at others."""
    return fitted(leaf, values, categorical).score_samples(object_table(queries))

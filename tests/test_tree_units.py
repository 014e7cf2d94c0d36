"""Trees as units: looked up and summed out as the slow evaluator does, pruned, taken apart, and derived only once."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brute_force import BruteForce, assert_same_logs
from unlearnspn import SPN, ChowLiu
from unlearnspn.circuit.circuit import Circuit
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import ONE, Input, Sum, Tree, Unit, categorical, numeric
from unlearnspn.circuit.layout import lift, lower, unrolled
from unlearnspn.circuit.tree_nodes import TreeNode, pack, prune
from unlearnspn.circuit.validation import validate
from unlearnspn.leaves import chow_liu
from unlearnspn.schema import Kind
from unlearnspn.tables import Family

CATEGORIES = ("a", "b", "c")
#: With a penalty that no line pays, numbers are in the tree.
BY_BINS = ChowLiu(penalty=1e6)
SORTS = ("partition", "overlapping", "number", "simple", "simple number", "hidden")


class RandomTree:
    """Nodes of all sorts, whose probabilities reach from likely to next to nothing, in a random tree."""

    def __init__(self, seed, n_nodes, sharpness):
        self.rng, self.sharpness = np.random.default_rng(seed), sharpness
        self.nodes, self.kinds = [], []
        for number in range(n_nodes):
            parents = [p for p, node in enumerate(self.nodes) if node.log_table is not None]
            self._add(parents[self.rng.integers(len(parents))] if number else -1)

    def _add(self, parent):
        sort = SORTS[self.rng.integers(len(SORTS))]
        n_given = 1 if parent < 0 else self.nodes[parent].log_table.shape[1]
        if sort.startswith("simple") and parent >= 0:
            inputs, table = [self._input("number" in sort) for _ in range(n_given)], None
        else:
            n_states = 2 if sort == "partition" else int(self.rng.integers(1, 5))
            table = np.array([self._shares(n_states) for _ in range(n_given)])
            inputs = self._inputs(sort, n_states)
        self.nodes.append(TreeNode(parent, table, tuple(inputs)))
        if inputs:
            self.kinds.append(inputs[0].unit)

    def _inputs(self, sort, n_states):
        if sort == "hidden":
            return []
        if sort == "partition":
            # One category, then all others; a place of the two is the same as its state or not.
            order = self.rng.permutation(4)
            lines = np.full((2, 4), -np.inf)
            lines[0, order[0]], lines[1, order[1:]] = 0.0, self._shares(3)
            return [categorical(len(self.kinds), line) for line in lines]
        return [self._input("number" in sort) for _ in range(n_states)]

    def _input(self, is_number):
        variable = len(self.kinds)
        if is_number:
            return numeric(Unit.GAUSSIAN, variable, float(self.rng.normal(0.0, 3.0)), float(self.rng.exponential(2.0)))
        return categorical(variable, self._shares(4))

    def _shares(self, n):
        """Return log-probabilities; the sharper, the further apart."""
        logs = self.sharpness * self.rng.normal(size=n)
        logs[self.rng.random(n) < 0.1] = -np.inf
        if logs.max() == -np.inf:
            logs[0] = 0.0
        return logs - np.logaddexp.reduce(logs)

    def circuit(self):
        """Return the tree as a circuit, unless it is over nothing."""
        columns = [
            Domain(f"x{v}", Kind.CATEGORICAL, Family.TEXT, CATEGORIES)
            if kind is Unit.CATEGORICAL
            else Domain(f"x{v}", Kind.NUMERIC, Family.NUMBER)
            for v, kind in enumerate(self.kinds)
        ]
        return Circuit(lower(pack(self.nodes)), Domains(tuple(columns)))

    def rows(self, n_rows, missing):
        """Return random rows, some of them far from everything."""
        table = np.empty((n_rows, len(self.kinds)), object)
        for v, kind in enumerate(self.kinds):
            if kind is Unit.CATEGORICAL:
                table[:, v] = np.array([*CATEGORIES, "never seen"], object)[self.rng.integers(0, 4, n_rows)]
            else:
                table[:, v] = self.rng.normal(0.0, 4.0, n_rows) * self.rng.choice([1.0, 1.0, 1e3], n_rows)
        table[self.rng.random(table.shape) < missing] = None
        return table


trees = st.builds(RandomTree, st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([0.5, 3.0, 60.0, 900.0]))


@settings(max_examples=120, deadline=None)
@given(tree=trees, missing=st.sampled_from([0.0, 0.2, 0.5, 0.9]), n_rows=st.integers(1, 40))
def test_rows_are_scored_as_by_the_slow_evaluator(tree, missing, n_rows):
    if not tree.kinds:
        return
    circuit, rows = tree.circuit(), tree.rows(n_rows, missing)
    scores = circuit.score_samples(rows)
    assert_same_logs(scores, BruteForce(circuit).score_rows(rows.tolist()), 1e-11)
    # Whatever stands beside them.
    assert scores.tolist() == [circuit.score_samples(row[None])[0] for row in rows]


@settings(max_examples=60, deadline=None)
@given(tree=trees)
def test_pruned_and_taken_apart_it_stays_the_same_distribution(tree):
    if not tree.kinds:
        return
    circuit = tree.circuit()
    validate(circuit.layout, n_categories(circuit))
    rows = tree.rows(20, 0.3)
    expected = circuit.score_samples(rows)
    for layout in (lower(prune(tree.nodes)), unrolled(circuit.layout)):
        validate(layout, n_categories(circuit))
        assert_same_logs(Circuit(layout, circuit.domains).score_samples(rows), expected, 1e-11)
    assert Unit.TREE not in unrolled(circuit.layout).units
    pruned = lower(prune(tree.nodes))
    assert lower(lift(pruned)).same(pruned)


@pytest.mark.parametrize("shape", ["star", "chain"])
@pytest.mark.parametrize("known", [0.0, 0.4, 1.0])
def test_thousands_of_nodes_do_not_underflow(shape, known):
    rng = np.random.default_rng(0)
    lines = np.log(rng.dirichlet([0.3, 0.3], size=(2000, 2)))
    certain = [[0.0, -np.inf, -np.inf], [-np.inf, 0.0, -np.inf]]
    nodes = [TreeNode(-1, lines[0][:1], tuple(categorical(0, line) for line in certain))]
    for v in range(1, 2000):
        own = tuple(categorical(v, line) for line in certain)
        nodes.append(TreeNode(0 if shape == "star" else v - 1, lines[v], own))
    columns = tuple(Domain(f"x{v}", Kind.CATEGORICAL, Family.TEXT, ("a", "b")) for v in range(2000))
    circuit, rows = Circuit(lower(pack(nodes)), Domains(columns)), rng.choice(["a", "b"], (3, 2000)).astype(object)
    rows[rng.random(rows.shape) >= known] = None
    rows[0, 0] = None
    expected = [_forward(shape, lines, row) for row in rows.tolist()]
    assert circuit.score_samples(rows) == pytest.approx(expected, rel=1e-12, abs=1e-11)
    assert known == 0.0 or min(expected) < -1000.0


def _forward(shape, lines, row):
    """Return the log-density of a row of two categories, from the last node to the first."""
    messages = np.zeros(2)
    for v in reversed(range(len(row))):
        own = np.array([0.0 if value in (row[v], None) or row[v] is None else -np.inf for value in "ab"])
        if shape == "chain" or v == 0:
            own = own + messages
        told = np.logaddexp.reduce(lines[v] + own, axis=1)
        messages = told if shape == "chain" else messages + told
        if v == 0:
            return float(np.logaddexp.reduce(lines[0][0] + own))
    return 0.0


def test_hidden_nodes_go_that_say_nothing():
    half = np.log([[0.5, 0.5]])
    inputs = tuple(numeric(Unit.GAUSSIAN, 0, mean, 1.0) for mean in (0.0, 5.0))
    nothing, table = (ONE, ONE), np.log([[0.9, 0.1], [0.2, 0.8]])
    chain = [TreeNode(-1, half, nothing), TreeNode(0, table, nothing), TreeNode(1, None, inputs)]
    pruned = prune(chain)
    assert isinstance(pruned, Sum)
    assert np.exp(pruned.log_weights) == pytest.approx([0.55, 0.45])
    assert prune(chain[:2]) is ONE
    others = tuple(numeric(Unit.GAUSSIAN, 1, mean, 1.0) for mean in (0.0, 5.0))
    fork = prune([*chain, TreeNode(1, None, others)])
    assert isinstance(fork, Tree)
    assert fork.nodes.tolist() == [[-1, 2, 0], [0, 0, 2], [0, 0, 2]]


def test_impossible_states_go_with_their_inputs():
    inputs = tuple(numeric(Unit.GAUSSIAN, 0, mean, 1.0) for mean in (0.0, 5.0))
    others = tuple(numeric(Unit.GAUSSIAN, 1, mean, 1.0) for mean in (0.0, 5.0))
    tree = prune([TreeNode(-1, np.array([[0.0, -math.inf]]), inputs), TreeNode(0, None, others)])
    assert isinstance(tree, Tree)
    assert tree.nodes.tolist() == [[-1, 1, 1], [0, 0, 1]]
    assert tree.inputs.variables.tolist() == [0, 1]
    assert all(isinstance(part, Input) for part in tree.inputs.unpack())


@st.composite
def tables(draw):
    """Draw a table of numbers, categories and truth values that depend on the column before, with gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, hidden, columns = draw(st.integers(4, 60)), rng.normal(size=60), {}
    for number in range(draw(st.integers(2, 7))):
        own = hidden[:n_rows] * rng.normal() + rng.normal(size=n_rows) * draw(st.sampled_from([0.1, 1.0]))
        kind = draw(st.sampled_from(["number", "category", "truth", "constant"]))
        column = own if kind == "number" else np.array([f"c{value}" for value in np.round(own).astype(int)], object)
        if kind == "truth":
            column = (own > 0).astype(object)
        if kind == "constant":
            column = np.full(n_rows, "c", object)
        columns[f"{kind}{number}"] = pd.Series(column).mask(rng.random(n_rows) < draw(st.sampled_from([0.0, 0.2])))
    return pd.DataFrame(columns)


def n_categories(circuit):
    """Return how many categories each column has; none are in one without a value. None for numbers."""
    columns = circuit.domains.columns
    return [None if column.kind is Kind.NUMERIC else len(column.categories) for column in columns]


def fitted(table, **parameters):
    truths = {name: "bernoulli" for name in table if name.startswith("truth")}
    categories = [name for name in table if not name.startswith("number")]
    return SPN(leaves=truths, categorical_features=categories, **parameters).fit(table)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example(table=pd.DataFrame({"number": [1.0, 2.0, 3.0], "text": [None, None, None]}), min_rows=5, alpha=0.3)
@given(table=tables(), min_rows=st.sampled_from([5, 1000]), alpha=st.sampled_from([0.3, 1e-300]))
def test_learned_trees_are_circuits_in_good_order(table, min_rows, alpha):
    circuit = fitted(table, min_rows=min_rows, factorization=ChowLiu(alpha, beta=alpha)).circuit_
    validate(circuit.layout, n_categories(circuit))
    assert lower(lift(circuit.layout)).same(circuit.layout)
    plain = unrolled(circuit.layout)
    validate(plain, n_categories(circuit))
    assert_same_logs(Circuit(plain, circuit.domains).score_samples(table), circuit.score_samples(table), 1e-11)


def test_what_has_no_probability_is_pruned():
    table = pd.DataFrame({"a": ["x", "x", "y", "y"] * 5, "b": ["u", "u", "v", "v"] * 5, "c": ["p", "q"] * 10})
    likely, unlikely = (fitted(table, factorization=ChowLiu(alpha, beta=alpha)).circuit_ for alpha in (0.3, 5e-324))
    for layout in (likely.layout, unlikely.layout):
        tree = int(layout.trees[0])
        nodes = layout.nodes_of(0)
        assert (layout.parameters_of(tree)[: nodes[0, 1]] > -np.inf).all()
    assert len(unlikely.layout) < len(likely.layout)


def test_after_a_removal_only_trees_that_changed_are_derived(monkeypatch):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(600, 1)) + 0.3 * rng.normal(size=(600, 5))
    spn, derived = SPN(min_rows=30, n_bins=6, factorization=BY_BINS).fit(numbers), []
    express = chow_liu.express_tree
    monkeypatch.setattr(chow_liu, "express_tree", lambda tree: derived.append(tree) or express(tree))
    spn.score_samples(numbers[:1])
    n_trees = len(derived)
    report = spn.unlearn([8])
    spn.score_samples(numbers[:1])
    assert not report.recoded
    assert n_trees > 10
    assert 0 < len(derived) - n_trees < n_trees / 2
    assert (
        spn.circuit_
        == SPN(min_rows=30, n_bins=6, factorization=BY_BINS)
        .fit(np.delete(numbers, 8, 0), ids=np.delete(np.arange(600), 8))
        .circuit_
    )


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_tree_of_numbers_alone(missing):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(80, 1)) + rng.normal(size=(80, 3))
    numbers[rng.random((80, 3)) < missing] = np.nan
    layout = SPN(min_rows=1000, factorization=BY_BINS).fit(numbers).circuit_.layout
    assert set(layout.units.tolist()) == {Unit.GAUSSIAN, Unit.TREE}
    assert lower(lift(layout)).same(layout)

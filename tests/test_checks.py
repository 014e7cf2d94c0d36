"""The public contract suite: it passes for what we ship, and catches what breaks the contract."""

from dataclasses import dataclass

import numpy as np
import pytest

from unlearnspn import RDC, SPN, Categorical, Gaussian, GTest, Operation, QKMeans, checks
from unlearnspn.circuit.expressions import Unit, numeric
from unlearnspn.leaves import Bernoulli, ChowLiu, Exponential, Histogram, LogNormal, Poisson, Support
from unlearnspn.leaves.level_counts import LevelCounts
from unlearnspn.schema import Kind
from unlearnspn.statistics.moments import Moments


@pytest.mark.parametrize("independence", ["gtest", "rdc"])
@pytest.mark.parametrize("epsilon", [0.01, None])
@pytest.mark.parametrize("min_rows", [3, 20])
def test_our_estimators_pass(independence, epsilon, min_rows):
    checks.check_spn(SPN(min_rows=min_rows, independence=independence, epsilon=epsilon, max_rounds=3))


@pytest.mark.parametrize("test", [GTest(), GTest(0.5), RDC(), RDC(0.6)])
def test_our_independence_tests_pass(test):
    checks.check_independence(test)


@pytest.mark.parametrize("clustering", [QKMeans(), QKMeans(3, 0.01, 10), QKMeans(2, 0.5, 0)])
def test_our_clusterings_pass(clustering):
    checks.check_clustering(clustering)


@pytest.mark.parametrize(
    "leaf",
    [
        Gaussian(),
        Categorical(),
        Bernoulli(),
        Poisson(),
        Exponential(),
        LogNormal(),
        Histogram(),
        Histogram(n_bins=3, alpha=0.1),
        ChowLiu(),
        ChowLiu(alpha=2.0, beta=0.1),
    ],
)
def test_our_leaves_pass(leaf):
    checks.check_leaf(leaf)


@dataclass(frozen=True)
class Sticky(GTest):
    """Forgets to take records out."""

    def revise(self, statistics, data, minus, plus, rows):
        return super().revise(statistics, data, minus[:0], plus, rows)


@dataclass(frozen=True)
class Wandering(GTest):
    """Its verdict depends on which other variables there are."""

    def groups(self, statistics, data):
        groups = super().groups(statistics, data)
        return groups if groups.size == len(checks.CATEGORICAL) else np.arange(groups.size)


@dataclass(frozen=True)
class Stale(QKMeans):
    """Keeps its centroids for ever."""

    def revise(self, statistics, data, minus, plus, rows):
        return statistics


class Rounded(Gaussian):
    """Sums floats as floats."""

    def revise(self, statistics, data, minus, plus):
        exact = super().revise(statistics, data, minus, plus)
        return Moments(exact.n, exact.first + 1, exact.second)


class NamedByCode(Categorical):
    """Its fingerprint goes by codes."""

    def fingerprint(self, statistics, data):
        return repr(sorted(zip(*map(np.ndarray.tolist, statistics), strict=True))).encode()


class ShownByCode(Categorical):
    """It shows its categories in the order of their codes."""

    def outcomes(self, data, variable):
        coder = data.encoding.categorical(variable)
        return super().outcomes(data, variable)._replace(levels=np.arange(len(coder.categories)))


class Timid(Histogram):
    """What it becomes in a circuit depends on what its statistics were made of."""

    def revise(self, statistics, data, minus, plus):
        revised = super().revise(statistics, data, minus, plus)
        return LevelCounts(revised.levels[::-1], revised.counts[::-1])

    def express(self, statistics, data):
        return numeric(Unit.GAUSSIAN, data.variable, float(statistics.levels[:1].sum()), 1.0)


class Undefined(Exponential):
    """It has no answer to missing values."""

    def parameters(self, statistics, data):
        return {"mean": statistics.mean() if statistics.n else np.nan}


class Choosy(Gaussian):
    """It can model nothing."""

    @property
    def support(self):
        return Support("nothing", lambda values: np.zeros(len(values), bool))


@pytest.mark.parametrize(
    ("leaf", "complaint"),
    [
        (NamedByCode(), "fingerprint depends on codes"),
        (ShownByCode(), "part of a circuit depends on codes"),
        (Timid(), "another part of a circuit"),
        (Undefined(), "NaN"),
        (Choosy(), "can model none of the example columns"),
    ],
)
def test_the_checks_catch_broken_leaves(leaf, complaint):
    with pytest.raises(AssertionError, match=complaint):
        checks.check_leaf(leaf)


def test_the_checks_catch_broken_building_blocks():
    with pytest.raises(AssertionError, match="revise differs from learn"):
        checks.check_independence(Sticky())
    with pytest.raises(AssertionError, match="alone, or elsewhere"):
        checks.check_independence(Wandering())
    with pytest.raises(AssertionError, match="revise differs from learn"):
        checks.check_clustering(Stale())
    with pytest.raises(AssertionError, match="revise differs from learn"):
        checks.check_leaf(Rounded())


def test_the_checks_catch_broken_estimators():
    with pytest.raises(AssertionError, match="digest differs"):
        checks.check_spn(SPN(min_rows=5, independence=Sticky()))
    with pytest.raises(AssertionError, match="digest differs"):
        checks.check_spn(SPN(min_rows=5, clustering=Stale()))


@dataclass(frozen=True)
class AroundMedian:
    """A user's own leaf: everything a protocol asks, nothing of ours."""

    name: str = "median"
    kind: Kind = Kind.NUMERIC

    def learn(self, data, rows):
        values = data.records.values[rows, data.records.place[data.variable]]
        return tuple(sorted(values[~np.isnan(values)].tolist()))

    def revise(self, statistics, data, minus, plus):
        values = list(statistics)
        for value in self.learn(data, minus):
            values.remove(value)
        return tuple(sorted([*values, *self.learn(data, plus)]))

    def fingerprint(self, statistics, data):
        return repr(statistics).encode()

    def parameters(self, statistics, data):
        return {"median": statistics[len(statistics) // 2] if statistics else 0.0}

    def express(self, statistics, data):
        return numeric(Unit.GAUSSIAN, data.variable, self.parameters(statistics, data)["median"], 1.0)

    @property
    def support(self):
        return Support("numbers")

    def categories(self, data):
        return ()


def test_a_users_own_leaf_works():
    checks.check_leaf(AroundMedian())
    spn = SPN(min_rows=5, leaves={"x0": AroundMedian()})
    checks.check_spn(spn)
    fitted = spn.set_params(categorical_features=list(checks.CATEGORICAL)).fit(checks.example_table())
    leaves = [node for node in fitted.root_.walk() if node.operation is Operation.CREATE_LEAF]
    assert {node.distribution for node in leaves if node.scope == ("x0",)} == {"median"}
    assert {node.distribution for node in leaves if node.scope == ("x1",)} == {"gaussian"}

"""LearnSPN compiled and LearnSPN as written come to the same network, at a fit and after requests."""

import numpy as np
import pytest
from hypothesis import given, settings

from sequences import Held, apply_request, sequences
from unlearnspn import SPN, ChowLiu, GTest, Histogram
from unlearnspn.checks import CATEGORICAL, example_table


class AsWritten(GTest):
    """A test that compiled code does not know, so that Python asks all questions."""


def everything(node):
    """Return all that a node and those below it know, in any order of the rows."""
    arrays = [node.scope, node.marginals, node.informative, node.independence, node.clustering]
    leaves = [(factor.scope.tolist(), np.asarray(factor.statistics, object).tolist()) for factor in node.factors]
    return (
        (node.operation, node.key, node.n_records, node.clusters, node.members, node.connected),
        [None if array is None else array.tolist() for array in arrays],
        None if node.rows is None else sorted(node.rows.tolist()),
        repr(leaves),
        [everything(part) for part in node.parts],
    )


@pytest.mark.parametrize("tables_above", [40, 1000])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"factorization": "naive"},
        {"factorization": ChowLiu()},
        {"leaves": {"x0": Histogram()}},
        {"max_rounds": 10, "epsilon": 0.1, "n_clusters": 3},
        {"max_rounds": 0, "min_rows": 1},
    ],
)
def test_both_learn_the_same_network(parameters, seed, tables_above):
    made = [
        SPN(**{"min_rows": 5, **parameters}, independence=test, categorical_features=list(CATEGORICAL))
        for test in (GTest(0.7, tables_above), AsWritten(0.7, tables_above))
    ]
    compiled, as_written = (spn.set_params(random_state=seed).fit(example_table(150, seed)) for spn in made)
    assert compiled._model.network.inside.independence
    assert not as_written._model.network.inside.independence
    assert everything(compiled._model.root) == everything(as_written._model.root)
    assert compiled.digest() == as_written.digest()


@settings(max_examples=60, deadline=None)
@given(sequences())
def test_both_revise_to_the_same_network(sequence):
    def run(test):
        parameters = {name: value for name, value in sequence.parameters.items() if name != "threshold"}
        held = Held({number: number for number in range(sequence.n_first)})
        spn = SPN(categorical_features=sequence.categorical, **{**parameters, "independence": test})
        table, ids = held.table(sequence, np.random.default_rng(sequence.shuffle))
        spn.fit(table, ids=ids)
        digests = [spn.digest()]
        for kind, numbers in sequence.requests:
            apply_request(spn, sequence, held, kind, numbers)
            digests.append(spn.digest())
        return digests

    assert run(GTest(0.5, 15)) == run(AsWritten(0.5, 15))

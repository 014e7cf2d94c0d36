"""The network in words: a request that is taken back leaves every bit, and room that nobody needs is given back."""

import pickle

import numpy as np
import pytest

from unlearnspn import SPN, Histogram
from unlearnspn.blocks import ROWS, rows_at
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.flat_network import _FEW_WASTED, FlatNetwork

LEAVES = {"x0": Histogram()}


def fitted(**parameters):
    spn = SPN(min_rows=5, threshold=0.7, categorical_features=list(CATEGORICAL), **parameters)
    return spn.fit(example_table(150))


def shown(network: FlatNetwork):
    """Return all that a network knows, without digests."""

    def read(at):
        node = network.shallow(at)
        parts = [getattr(node, name) for name in ("key", "n_records", "clusters", "members", "connected", "operation")]
        arrays = [node.scope, node.marginals, node.informative, node.independence, node.clustering]
        rows = None if node.rows is None else node.rows.tolist()
        return repr((parts, [None if a is None else a.tolist() for a in arrays], rows, node.factors)), list(
            map(read, node.parts)
        )

    return read(network.root)


@pytest.mark.parametrize("parameters", [{}, {"leaves": LEAVES}, {"independence": "rdc", "threshold": 0.3}])
def test_a_dry_run_leaves_every_bit(parameters):
    spn = fitted(**parameters) if "threshold" not in parameters else SPN(**parameters).fit(example_table(150)[:, :3])
    network = spn._model.network
    before, digests, used = shown(network), (spn.digest(), spn.state_digest()), network.used
    wasted, outside = network.wasted, set(network.outside)
    for ids in ([3], [3, 4, 5, 6, 7, 8], list(range(60)), list(range(100))):
        report = spn.unlearn(ids, dry_run=True)
        assert report.digest_before == digests[0]
        assert shown(network) == before
        assert (network.used, network.wasted, set(network.outside)) == (used, wasted, outside)
        assert not network.words[network.used :].any()
        assert (spn.digest(), spn.state_digest()) == digests


def nodes_with_rows(network: FlatNetwork):
    return [node for node in network.below(network.root) if network.words[node + ROWS] >= 0]


@pytest.mark.parametrize(
    "parameters", [{}, {"independence": "rdc", "threshold": 0.3, "max_rounds": 5, "epsilon": 0.01}]
)
def test_rows_are_kept_in_order_whatever_comes_and_goes(parameters):
    X = example_table(150)
    spn = SPN(min_rows=5, categorical_features=list(CATEGORICAL), **parameters).fit(X[:100])
    for change in (
        lambda: [spn.unlearn([row]) for row in (3, 50, 98, 7)],
        lambda: spn.learn(X[120:121], ids=[3]),
        lambda: spn.unlearn(list(range(20, 40))),
        lambda: spn.learn(X[125:], ids=range(200, 225)),
    ):
        change()
        network = spn._model.network
        for node in nodes_with_rows(network):
            assert (np.diff(rows_at(network.words, node)) > 0).all()
    assert spn.verify()


def test_rows_of_an_earlier_version_are_put_in_order():
    X = example_table(150)
    spn = fitted()
    network, model = spn._model.network, spn._model
    before = network.words.copy()
    for node in nodes_with_rows(network):
        rows_at(network.words, node)[:] = rows_at(network.words, node)[::-1]
    assert not np.array_equal(network.words, before)
    place = (network.words, network.used, network.wasted, network.root)
    model.network = FlatNetwork.restore(model.learner, *place, model.records.rows)
    spn.unlearn([3, 70])
    spn.unlearn([4])
    rest = np.delete(np.arange(150), [3, 4, 70])
    fresh = SPN(min_rows=5, threshold=0.7, categorical_features=list(CATEGORICAL)).fit(X[rest], ids=rest)
    assert spn.state_digest() == fresh.state_digest()


def test_words_of_removed_nodes_are_wiped_and_can_be_given_back():
    spn = fitted(leaves=LEAVES)
    network = spn._model.network
    row = next(row for row in range(100) if spn.unlearn([row]) and network.wasted > 0)
    assert row < 99
    packed = network.compacted()
    assert packed.used < network.used
    assert packed.wasted == 0
    assert shown(packed) == shown(network)
    alive = np.zeros(network.used, bool)
    for node in network.below(network.root):
        words = network.words
        alive[node : node + words[node + 5]] = True
        start, room = words[node + 12], words[node + 14]
        if start >= 0:
            alive[start : start + room] = True
    assert not network.words[: network.used][~alive].any()


def test_a_pickle_is_compact_and_goes_on():
    spn = fitted()
    spn.unlearn(list(range(50)))
    again = pickle.loads(pickle.dumps(spn))
    assert again._model.network.used == len(again._model.network.words)
    assert (again.digest(), again.state_digest()) == (spn.digest(), spn.state_digest())
    for estimator in (spn, again):
        estimator.unlearn(list(range(50, 90)))
        assert estimator.verify()
    assert again.state_digest() == spn.state_digest()


def test_memory_stays_flat_over_many_requests():
    spn = fitted()
    table = example_table(150)
    sizes = []
    for round_ in range(120):
        spn.unlearn([round_])
        spn.learn(table[round_ : round_ + 1], ids=[round_])
        sizes.append(len(spn._model.network.words))
    assert max(sizes) <= 2 * (max(sizes[:5]) + _FEW_WASTED)
    assert min(sizes[60:]) <= 2 * max(sizes[:5])
    assert spn.verify()

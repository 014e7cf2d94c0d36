"""Networks as bytes: whatever they consist of, they are read as they were written."""

from contextlib import suppress

import numpy as np
import pytest

from unlearnspn import RDC, SPN, Exponential, Gaussian, GTest, Histogram, QKMeans, SPNClassifier
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.spn.digest import digest_network
from unlearnspn.spn.dump import dump_node, load_network
from unlearnspn.statistics.pairs import AskedPairs

TABLE = example_table(120)


class OwnTest(GTest):
    """A user's own test, whose statistics nobody knows how to write."""

    n_learned = 0

    def learn(self, data, rows):
        OwnTest.n_learned += 1
        return (super().learn(data, rows),)

    def revise(self, statistics, data, minus, plus, rows):
        return (super().revise(statistics[0].copy(), data, minus, plus, rows),)

    def groups(self, statistics, data):
        return super().groups(statistics[0], data)

    def fingerprint(self, statistics, data):
        return super().fingerprint(statistics[0], data)


SETTINGS = {
    "default": {},
    "dependent": {"threshold": 0.7, "n_bins": 6},
    "independent": {"factorization": "naive", "threshold": 0.7},
    "trees": {"factorization": "chow-liu", "threshold": 0.7},
    "rdc": {"independence": RDC()},
    "rounds": {"clustering": QKMeans(3, 0.1, 5)},
    "a test of one's own": {"independence": OwnTest(0.5)},
    "leaves": {"leaves": {"x0": Histogram(), "x1": Gaussian(0.1), "x2": Exponential()}},
    "one leaf": {"min_rows": 1000},
    "small": {"min_rows": 1},
}


def fitted(parameters):
    table = TABLE.copy()
    table[:, 2] = [None if value is None else abs(value) for value in table[:, 2]]
    settings = {"min_rows": 8, "categorical_features": list(CATEGORICAL), **parameters}
    return SPN(**settings).fit(table)._model


def classifier():
    return SPNClassifier(min_rows=8).fit(TABLE[:, :3], [str(value) for value in TABLE[:, 3]])._model


MODELS = {**{name: lambda own=own: fitted(own) for name, own in SETTINGS.items()}, "classes": classifier}


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def model(request):
    return request.param()


def written(root):
    """Return all nodes of a network as bytes, by the numbers that they are given."""
    nodes = list(root.walk())
    for number, node in enumerate(nodes):
        node.number = number
    return [dump_node(node) for node in nodes]


def loaded(model, stored):
    return load_network(model.learner, stored.__getitem__, 0, model.records.rows)


def test_a_network_is_read_as_it_was_written(model):
    stored = written(model.root)
    root = loaded(model, stored)
    assert digest_network(model.learner, root) == digest_network(model.learner, model.root)
    assert [node.place.keeps_rows for node in root.walk()] == [node.place.keeps_rows for node in model.root.walk()]
    assert [node.place.connected for node in root.walk()] == [node.place.connected for node in model.root.walk()]
    assert [node.number for node in root.walk()] == list(range(len(stored)))
    assert all(node.is_stored for node in root.walk())
    assert written(root) == stored


def test_a_network_that_was_read_takes_requests_like_any_other(model):
    root = loaded(model, written(model.root))
    twin = model.snapshot()
    twin.root = root
    for ids in ([5], [17, 18, 40], [70]):
        for each in (model, twin):
            each.revise(ids, [], None)
        assert twin.digests == model.digests
    assert twin.relearn().digests == twin.digests


def test_what_nobody_knows_how_to_write_is_learned_again():
    model = fitted(SETTINGS["a test of one's own"])
    asked = [node for node in model.root.walk() if node.independence is not None]
    stored, before = written(model.root), OwnTest.n_learned
    root = loaded(model, stored)
    assert OwnTest.n_learned - before == len(asked) > 0
    assert digest_network(model.learner, root) == digest_network(model.learner, model.root)


def test_what_is_written_is_not_learned_again(monkeypatch):
    model = fitted(SETTINGS["dependent"])
    stored = written(model.root)
    monkeypatch.setattr(GTest, "learn", None)
    monkeypatch.setattr(QKMeans, "learn", None)
    root = loaded(model, stored)
    assert any(type(node.independence) is AskedPairs for node in root.walk())
    assert digest_network(model.learner, root) == digest_network(model.learner, model.root)


def test_arrays_of_a_network_that_was_read_are_its_own(model):
    root = loaded(model, written(model.root))
    for node in root.walk():
        for array in (node.scope, node.informative, *(factor.scope for factor in node.factors)):
            assert array.flags.writeable
            assert array.flags.c_contiguous
        assert node.scope.dtype == np.int64


def changed(stored, rng):
    """Return nodes one of which has some bytes changed, is cut off, or is another one."""
    stored, number = list(stored), int(rng.integers(len(stored)))
    data = bytearray(stored[number])
    kind = rng.integers(4)
    if kind == 0:
        stored[number] = bytes(data[: rng.integers(len(data))])
    elif kind == 1:
        stored[number] = stored[rng.integers(len(stored))]
    else:
        at = int(rng.integers(len(data) // 8)) * 8
        word = rng.choice([0, 1, -1, 2, 7, 40, 1 << 20, 1 << 40, -(1 << 62)])
        data[at : at + 8] = int(word).to_bytes(8, "little", signed=True)
        stored[number] = bytes(data)
    return stored


@pytest.mark.parametrize("name", ["dependent", "rounds", "trees", "small"])
def test_bytes_that_are_not_a_network_harm_nothing(name):
    model, rng, refused = fitted(SETTINGS[name]), np.random.default_rng(0), 0
    stored = written(model.root)
    for _ in range(150):
        twin = model.snapshot()
        try:
            twin.root = loaded(twin, changed(stored, rng))
        except ValueError:
            refused += 1
            continue
        # What cannot be told from a network may go wrong, but never reaches beyond an array.
        with suppress(ValueError, LookupError, AssertionError, TypeError, ZeroDivisionError, OverflowError):
            for ids in ([5], [17, 18, 40], [70], list(range(80, 110))):
                twin.revise(ids, [], None)
    assert refused > 20


def test_a_network_that_contains_itself_is_refused():
    model = fitted(SETTINGS["small"])
    stored = written(model.root)
    inner = next(node for node in model.root.walk() if node.children)
    inner.children[0].number = inner.number
    stored[inner.number] = dump_node(inner)
    with pytest.raises(ValueError, match="two places"):
        loaded(model, stored)

"""Nodes: copies that are their own, rows gathered from below, and the order of a walk."""

import pickle

import numpy as np
import pytest

from unlearnspn import SPN, Operation
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.spn.change import Change
from unlearnspn.spn.digest import digest_network
from unlearnspn.spn.node import copy_network
from unlearnspn.spn.unlearn_spn import Revision

TABLE = example_table(120)
SETTINGS = {
    "gtest": {"threshold": 0.7, "n_bins": 6},
    "rdc": {"independence": "rdc", "n_bins": 6},
    "rounds": {"epsilon": 0.1, "max_rounds": 5, "n_clusters": 3},
    "independent": {"factorization": "naive"},
}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS)
def model(request):
    return SPN(min_rows=8, categorical_features=list(CATEGORICAL), **request.param).fit(TABLE)._model


def digested(model, root):
    """Return the digests of a network, all of it hashed anew."""
    for node in root.walk():
        node.digests = None
    return digest_network(model.learner, root)


def change_of(model, rows):
    minus = np.array(rows)
    return Change(minus, minus[:0], lambda: np.setdiff1d(model.records.rows, minus))


def test_a_walk_goes_down_before_it_goes_on(model):
    def preorder(node):
        return [node, *(below for child in node.children for below in preorder(child))]

    walked = list(model.root.walk())
    assert walked == preorder(model.root)
    assert len(set(map(id, walked))) == len(walked) > 1


def test_rows_are_gathered_from_below(model):
    splits = [node for node in model.root.walk() if node.operation is Operation.SPLIT_DATA]
    assert splits
    for split in splits:
        for child in split.children:
            rows = child.gather_rows()
            assert len(rows) == len(set(rows.tolist())) == child.n_records
        gathered = split.gather_rows()
        assert gathered.tolist() == [row for child in split.children for row in child.gather_rows().tolist()]
        assert split.n_records == gathered.size
    (top,) = splits[:1]
    assert sorted(top.gather_rows().tolist()) == model.records.rows.tolist()


def test_rows_are_kept_once_on_each_way_down(model):
    def count(node, n_above):
        n_kept = n_above + (node.rows is not None)
        assert n_kept <= 1
        for child in node.children:
            count(child, 0 if node.operation is Operation.SPLIT_DATA else n_kept)

    count(model.root, 0)
    assert model.root.rows is None


def test_a_copy_is_the_same(model):
    copied = copy_network(model.root)
    assert [(node.operation, node.key) for node in copied.walk()] == [
        (node.operation, node.key) for node in model.root.walk()
    ]
    assert not {id(node) for node in copied.walk()} & {id(node) for node in model.root.walk()}
    assert copied.digests == model.root.digests
    assert digested(model, copied) == digested(model, model.root)


def test_a_copy_does_not_change_with_the_original_nor_the_original_with_it(model):
    before, copied = digested(model, model.root), copy_network(model.root)
    revision = Revision(model.learner)
    revised = revision.unlearn_spn(copied, change_of(model, [4, 5, 70]))
    assert digested(model, revised) != before
    assert digested(model, model.root) == before
    revision.take_back()
    assert digested(model, copied) == before


def test_a_copy_of_one_node_has_statistics_of_its_own(model):
    root = model.root
    before, copied = digested(model, root), root.copy()
    assert copied.children == root.children
    copied.marginals.shift(model.learner.coded, copied.scope, np.array([3]), -1)
    assert digested(model, root) == before


def test_what_a_node_was_is_kept(model):
    root = model.root
    digests = digest_network(model.learner, root)
    restore = root.keep()
    root.touch()
    assert root.digests is None
    root.n_records, root.children, root.factors, root.clusters = 0, [], (), ()
    restore()
    assert root.digests == digests
    assert digested(model, root) == digests


def test_a_pickled_network_is_hashed_anew(model):
    before = digest_network(model.learner, model.root)
    root = pickle.loads(pickle.dumps(model.root))
    assert {node.digests for node in root.walk()} == {None}
    assert digest_network(model.learner, root) == before
    assert all(node.number == -1 and not node.is_stored for node in root.walk())

"""Room in the array of words: what is wiped leaves zeros and nothing else changes; what is moved stays what it was."""

import numpy as np
import pytest

from unlearnspn import SPN
from unlearnspn.blocks import HEAD, LENGTH, N_ROWS, PARENT, ROOM, ROWS, parts_at, room_for, rows_at
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.packing import pack, relocate, wipe
from unlearnspn.traversal import all_below

MOVED = [PARENT, ROWS, ROOM]


@pytest.fixture
def network():
    spn = SPN(min_rows=10, threshold=0.3, categorical_features=list(CATEGORICAL)).fit(example_table(150))
    spn.unlearn(list(range(0, 60, 5)))
    return spn._model.network


def block(words, node):
    """Return the words of a node that do not say where something is."""
    n_parts = parts_at(words, node).size
    found = words[node : node + words[node + LENGTH]].copy()
    found[MOVED] = 0
    start = parts_at(words, node).__array_interface__["data"][0] - words.__array_interface__["data"][0]
    found[start // 8 - node : start // 8 - node + n_parts] = 0
    return found.tolist()


def test_nodes_that_are_moved_together_stay_what_they_were(network):
    words, nodes = network.words, all_below(network.words, network.root)
    before = words.copy()
    packed, n_used, moved = pack(words, nodes)
    assert np.array_equal(words, before)
    assert len(nodes) > 20
    assert packed[moved[0] + PARENT] == -1
    places = dict(zip(nodes.tolist(), moved.tolist(), strict=True))
    used = 0
    for old, new in places.items():
        assert block(words, old) == block(packed, new)
        assert [places[part] for part in parts_at(words, old).tolist()] == parts_at(packed, new).tolist()
        assert all(packed[part + PARENT] == new for part in parts_at(packed, new))
        used += int(packed[new + LENGTH])
        if words[old + ROWS] < 0:
            assert packed[new + ROWS] == -1
        else:
            assert rows_at(packed, new).tolist() == rows_at(words, old).tolist()
            assert packed[new + ROOM] == room_for(packed[new + N_ROWS])
            used += int(packed[new + ROOM])
    assert used == n_used
    assert not packed[n_used:].any()


def test_a_node_that_is_wiped_leaves_zeros(network):
    words, nodes = network.words, all_below(network.words, network.root)
    gone = np.array([node for node in nodes.tolist() if words[node + ROWS] >= 0 and not parts_at(words, node).size][:2])
    stretches = [(node, node + words[node + LENGTH]) for node in gone.tolist()]
    stretches += [(words[node + ROWS], words[node + ROWS] + words[node + ROOM]) for node in gone.tolist()]
    expected = words.copy()
    for start, end in stretches:
        assert end - start >= min(HEAD, 4)
        expected[start:end] = 0
    assert len(gone) == 2
    assert wipe(words, gone) == sum(end - start for start, end in stretches)
    assert np.array_equal(words, expected)


def test_a_network_that_was_copied_is_where_it_was_copied_to(network):
    packed, n_used, moved = pack(network.words, all_below(network.words, network.root))
    distance = 1000
    copied = np.concatenate([np.zeros(distance, np.int64), packed[:n_used]])
    relocate(copied, int(moved[0]) + distance, distance)
    nodes = all_below(copied, int(moved[0]) + distance)
    assert sorted(nodes.tolist()) == sorted((moved + distance).tolist())
    for node in nodes.tolist():
        assert block(copied, node) == block(packed, node - distance)
        for part in parts_at(copied, node).tolist():
            assert copied[part + PARENT] == node
        if copied[node + ROWS] >= 0:
            assert np.array_equal(rows_at(copied, node), rows_at(packed, node - distance))

"""Nodes in a vault: they shrink, grow and go, and nothing of what they were remains among the bytes."""

import random

import numpy as np
import pytest

from unlearnspn.vault import nodes as nodes_module
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError
from unlearnspn.vault.nodes import StoredNodes
from unlearnspn.vault.pages import PageStore
from unlearnspn.vault.series import Series


class FakeNode:
    """Stands for a node, whose bytes are as they are said to be."""

    def __init__(self, data, children=()):
        self.data, self.children = data, list(children)
        self.number, self.is_stored = -1, False


@pytest.fixture(autouse=True)
def dumped(monkeypatch):
    """Have nodes be what they are said to be, and list which are written."""
    written = []

    def dump(node):
        written.append(node)
        return node.data

    monkeypatch.setattr(nodes_module, "dump_node", dump)
    return written


@pytest.fixture
def database(tmp_path):
    with Database.create(tmp_path / "nodes") as database:
        with database.writing():
            database.lay_out()
            database.execute("INSERT INTO seal VALUES (1, ?, ?)", (bytes(300), bytes(64)))
            PageStore(database).finish()
            Series(database, "ledger").append(0, (b"first",))
        yield database


def heap_of(nodes):
    return nodes._heap.used.tobytes()


def require(nodes, live):
    """Expect the bytes of some nodes, each in a place of its own, and zeros everywhere else."""
    free = np.ones(nodes._heap.used.size, bool)
    assert len({node.number for node in live}) == len(live)
    for node in live:
        assert nodes.read(node.number) == node.data
        start, length, room = nodes._table[node.number].tolist()
        assert length == len(node.data) <= room
        assert free[start : start + room].all()
        free[start : start + length] = False
    assert not nodes._heap.used[free].any()
    assert (nodes._table[:, 1] >= 0).sum() == len(live)


def test_only_nodes_that_changed_are_written(dumped):
    low, other = FakeNode(b"low"), FakeNode(b"other")
    root = FakeNode(b"root", [low, other])
    nodes = StoredNodes()
    nodes.put(root)
    assert dumped == [low, other, root]  # a node names its children by their numbers
    nodes.put(root)
    assert len(dumped) == 3
    low.data, low.is_stored, root.is_stored = b"low, changed", False, False
    nodes.put(root)
    assert dumped[3:] == [low, root]
    require(nodes, [root, low, other])


def test_a_node_that_shrinks_leaves_zeros():
    node, other = FakeNode(b"secret" * 20), FakeNode(b"other")
    nodes = StoredNodes()
    nodes.put(node)
    nodes.put(other)
    start = nodes._table[node.number, 0]
    node.data, node.is_stored = b"short", False
    nodes.put(node)
    assert nodes._table[node.number, 0] == start
    assert b"secret" not in heap_of(nodes)
    require(nodes, [node, other])


def test_a_node_that_grows_beyond_its_room_leaves_zeros():
    node, other = FakeNode(b"secret"), FakeNode(b"other")
    nodes = StoredNodes()
    nodes.put(node)
    nodes.put(other)
    number = node.number
    node.data, node.is_stored = b"longer than before" * 10, False
    nodes.put(node)
    assert node.number == number
    assert b"secret" not in heap_of(nodes)
    require(nodes, [node, other])


def test_a_node_that_goes_leaves_zeros_and_its_number():
    node, other = FakeNode(b"secret"), FakeNode(b"other")
    nodes = StoredNodes()
    nodes.put(node)
    nodes.put(other)
    number = node.number
    nodes.drop([node])
    assert b"secret" not in heap_of(nodes)
    assert (node.number, node.is_stored) == (-1, False)
    with pytest.raises(DamagedVaultError, match="not there"):
        nodes.read(number)
    nodes.drop([node])  # nobody knows it any more
    new = FakeNode(b"new")
    nodes.put(new)
    assert new.number == number
    require(nodes, [new, other])


@pytest.mark.parametrize("number", [-1, 0, 10**6])
def test_a_number_that_nobody_has_is_refused(number):
    with pytest.raises(DamagedVaultError, match="not there"):
        StoredNodes().read(number)


def store_of(database):
    with database.reading():
        return PageStore.read(database)


def save(nodes, store, database):
    with database.writing():
        nodes.save(store)
        store.finish()
        store.confirm()


@pytest.mark.parametrize("seed", range(4))
def test_nodes_of_all_sizes_come_change_and_go(database, seed, monkeypatch):
    monkeypatch.setattr(nodes_module, "_LEAST_WASTE", 1 << 12)
    rng = random.Random(seed)
    nodes, store, live, moved = StoredNodes(), store_of(database), [], 0
    for step in range(60):
        for _ in range(rng.randrange(1, 12)):
            chance = rng.random()
            if not live or chance < 0.4:
                live.append(FakeNode(rng.randbytes(rng.choice([0, 1, 100, 3000, 20_000]))))
            elif chance < 0.7:
                changed = rng.choice(live)
                size = max(0, len(changed.data) + rng.choice([-900, -1, 0, 1, 5, 4000]))
                changed.data, changed.is_stored = rng.randbytes(size), False
            else:
                nodes.drop([live.pop(rng.randrange(len(live)))])
        for node in live:
            nodes.put(node)
        require(nodes, live)
        used = nodes._heap.used.size
        save(nodes, store, database)
        moved += nodes._heap.used.size < used
        require(nodes, live)
        read = store_of(database)
        assert read.load("network.nodes").tobytes() == heap_of(nodes)
        assert read.load("network.table").tobytes() == nodes._table.tobytes()
        if step % 7 == 0:
            nodes, store = StoredNodes.load(store_of(database)), store_of(database)
            require(nodes, live)
    assert moved
    assert nodes._heap.n_wasted <= max(nodes._heap.used.size // 2, 1 << 12)
    assert len(nodes._table) < 3 * max(len(live), 60)


def test_only_pages_that_changed_are_written(database, monkeypatch):
    nodes, store = StoredNodes(), store_of(database)
    live = [FakeNode(bytes([number]) * 5000) for number in range(1, 60)]
    for node in live:
        nodes.put(node)
    save(nodes, store, database)
    stretches = []
    original = PageStore.save

    def watch(store, name, array, touched=None):
        if name == "network.nodes":
            stretches.extend(touched.tolist())
        original(store, name, array, touched)

    monkeypatch.setattr(PageStore, "save", watch)
    live[7].data, live[7].is_stored = b"\xff" * 4990, False
    nodes.put(live[7])
    save(nodes, store, database)
    start, _, room = nodes._table[live[7].number].tolist()
    assert stretches == [[start, start + room]]
    assert store_of(database).load("network.nodes").tobytes() == heap_of(nodes)


@pytest.mark.parametrize("entry", [(-5, 3, 3), (0, 10, 3), (10**6, 3, 3)])
def test_a_table_that_cannot_be_right_is_refused(database, entry):
    nodes, store = StoredNodes(), store_of(database)
    nodes.put(FakeNode(b"a node"))
    nodes._table[0] = entry
    save(nodes, store, database)
    with pytest.raises(DamagedVaultError, match="nodes where there are none"):
        StoredNodes.load(store_of(database))

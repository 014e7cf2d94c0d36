"""A heap of bytes: what is written is there, what is wiped is zeros, and what changed is stored."""

import random

import numpy as np
import pytest

from unlearnspn.vault.heap import Heap


class Store:
    """Stands for a store of pages: writes the stretches it is told of, and nothing else."""

    def __init__(self):
        self.data, self.stretches = np.zeros(0, np.uint8), None

    def save(self, name, array, touched=None):
        self.stretches = [(0, array.size)] if touched is None else touched.tolist()
        self.data = np.resize(self.data, array.size) if self.data.size else np.zeros(array.size, np.uint8)
        for start, end in self.stretches:
            self.data[start:end] = array[start:end]

    def load(self, name):
        return self.data.copy()


@pytest.mark.parametrize("seed", range(4))
def test_bytes_come_change_and_go(seed):
    rng = random.Random(seed)
    heap, store, things, wasted = Heap(), Store(), {}, 0
    for step in range(200):
        chance = rng.random()
        data = rng.randbytes(rng.randrange(40))
        if chance < 0.5 or not things:
            spare = rng.randrange(5)
            things[heap.append(data, spare), len(data) + spare] = data
        elif chance < 0.8:
            start, room = rng.choice(list(things))
            things[start, room] = data[:room]
            heap.write(start, room, data[:room])
        else:
            start, room = rng.choice(list(things))
            del things[start, room]
            heap.wipe(start, room)
            wasted += room
        expected = bytearray(heap.used.size)
        for (start, _), content in things.items():
            expected[start : start + len(content)] = content
        assert heap.used.tobytes() == expected
        assert heap.n_wasted == wasted
        heap.save(store, "things", whole=step % 50 == 49)
        assert store.data.tobytes() == expected
        if step % 20 == 0:
            heap = Heap.load(store, "things")
            heap.n_wasted = wasted


def test_only_what_changed_is_saved():
    heap, store = Heap(), Store()
    start = heap.append(b"a text", 2)
    heap.append(b"another")
    heap.save(store, "texts")
    assert store.stretches == [(0, 15)]
    heap.write(start, 8, b"short")
    heap.save(store, "texts")
    assert store.stretches == [[0, 8]]
    heap.save(store, "texts")
    assert store.stretches == []
    heap.save(store, "texts", whole=True)
    assert store.stretches == [(0, 15)]


def test_bytes_should_be_moved_when_half_of_them_are_wasted_and_enough():
    heap = Heap()
    heap.append(bytes(100))
    heap.wipe(0, 50)
    assert not heap.wastes_more_than(10)
    heap.wipe(50, 1)
    assert heap.wastes_more_than(50)
    assert not heap.wastes_more_than(51)

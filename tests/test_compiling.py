"""Kernels: parts of each other to the compiler, functions to Python, and cached only as long as nothing has changed."""

import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.compiler import Flags

from unlearnspn import blocks
from unlearnspn.compiling import inlined, kernel, kernels
from unlearnspn.compiling.cache import PartCache, fingerprint

FACTOR = 3


@kernel
def scaled(value, factor):
    return value * factor


@kernel
def sum_scaled(values):
    total = 0
    for value in values:
        total += scaled(value, FACTOR) + blocks.HEAD
    return total


def test_a_kernel_that_only_kernels_call_is_not_compiled_for_python():
    values = np.arange(5)
    assert sum_scaled(values) == 3 * values.sum() + 5 * blocks.HEAD
    assert not scaled.overloads


@kernel
def add_some(value):
    return scaled(value, 2) + scaled(value, 3) + scaled(4, value)


def test_there_is_one_part_for_all_numbers_of_a_type(monkeypatch):
    monkeypatch.setattr(kernels, "open_cache", lambda *_: NullCache())
    monkeypatch.setattr(scaled._part, "overloads", type(scaled._part.overloads)())
    assert add_some(10) == 90
    assert len(scaled._part.overloads) == 1


def test_options_are_told_apart_as_the_compiler_does():
    options = [Flags(), Flags(), Flags()]
    options[2].nrt = True
    quick = [kernels._Options(each) for each in options]
    for left, right in ((0, 1), (0, 2), (2, 2)):
        equal = options[left] == options[right]
        assert (quick[left] == quick[right]) == (quick[left] == options[right]) == equal
        assert not equal or hash(quick[left]) == hash(options[right])


@inlined
def halved(value):
    return value / 2


@kernel
def quartered(value):
    return halved(halved(value))


def test_an_inlined_kernel_is_a_kernel_that_is_not_called(monkeypatch):
    monkeypatch.setattr(kernels, "open_cache", lambda *_: NullCache())  # of code from a cache nothing can be read
    monkeypatch.setattr(quartered, "overloads", type(quartered.overloads)())
    assert quartered(12.0) == halved(6.0) == 3.0
    (code,) = quartered.inspect_llvm().values()
    assert not [line for line in code.splitlines() if "call" in line and "halved" in line]


def test_whether_a_kernel_is_inlined_is_part_of_the_fingerprint(monkeypatch):
    before = fingerprint(quartered.py_func)
    monkeypatch.setattr(halved, "inline", False)
    assert fingerprint(quartered.py_func) != before


def test_a_kernel_can_be_called_by_kernels_and_by_python():
    assert ask(5) == refuse(5) == 5


@kernel
def hand_back(values):
    return values


@kernel
def with_room(values, number):
    while values.size < number:
        grown = np.zeros(2 * values.size)
        grown[: values.size] = values
        values = grown
    return values


@kernel
def in_turn(one, other, number):
    for _ in range(number):
        one, other = other, one
    return one


@kernel
def ends(pair):
    first, second = pair
    kept = [hand_back(first)[:k] for k in range(3)]
    kept.append(second[2:])
    return kept[2], hand_back(kept[3])


#: A function of two arrays, and what is to become of [0, 1, 2, 3] and [4, 5, 6, 7].
HANDED_ON = [
    (lambda one, other: hand_back(one), [0, 1, 2, 3]),
    (lambda one, other: with_room(one, 4), [0, 1, 2, 3]),
    (lambda one, other: with_room(one, 7), [0, 1, 2, 3, 0, 0, 0, 0]),
    (lambda one, other: in_turn(one, other, 2), [0, 1, 2, 3]),
    (lambda one, other: in_turn(one, other, 3), [4, 5, 6, 7]),
    (lambda one, other: np.concatenate(ends((one, other))), [0, 1, 6, 7]),
]


@pytest.mark.parametrize(("function", "expected"), HANDED_ON)
def test_arrays_that_kernels_hand_on_and_do_not_count_are_neither_lost_nor_kept(function, expected):
    one, other = np.arange(4.0), np.arange(4.0, 8.0)
    before = sys.getrefcount(one), sys.getrefcount(other)
    for _ in range(100):
        function(one, other)
    assert (sys.getrefcount(one), sys.getrefcount(other)) == before
    result = function(one, other)
    del one, other
    others = [np.full(4, -1.0) for _ in range(100)]  # which would take the place of what is lost
    assert (result.tolist(), len(others)) == (expected, 100)


def test_division_by_zero_gives_what_numpy_gives():
    @kernel
    def divide(one, other):
        return one / other

    assert divide(1.0, 0.0) == np.inf


@kernel
def refuse(value):
    if value < 0:
        raise ValueError("below zero")
    return value


@kernel
def ask(value):
    return refuse(value)


def test_errors_of_kernels_reach_python_through_others():
    assert ask(1) == 1
    with pytest.raises(ValueError, match="below zero"):
        ask(-1)


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        (lambda patch: patch.setitem(globals(), "FACTOR", 4), True),
        (lambda patch: patch.setattr(blocks, "HEAD", 1000), True),
        (lambda patch: patch.setattr(scaled, "py_func", lambda value, factor: value + factor), True),
        (lambda patch: patch.setattr(blocks, "KEY", 1000), False),
    ],
    ids=["constant", "constant of a module", "kernel that is called", "something else"],
)
def test_the_fingerprint_covers_what_a_kernel_is_made_of_and_nothing_else(monkeypatch, change, matters):
    before = fingerprint(sum_scaled.py_func)
    change(monkeypatch)
    assert (fingerprint(sum_scaled.py_func) != before) == matters


def test_the_cache_is_not_used_when_a_kernel_of_another_file_has_changed(tmp_path):
    inner, outer = tmp_path / "inner.py", tmp_path / "outer.py"
    start = "from unlearnspn.compiling import inlined, kernel\n"
    outer.write_text(f"{start}from inner import f\n@kernel\ndef g(x):\n    return f(x)\n")
    ask = "from outer import g; print(g(3), sum(g.stats.cache_hits.values()))"

    def answer():
        run = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True)
        return run.stdout.split()

    inner.write_text(f"{start}@kernel\ndef f(x):\n    return x + 1\n")
    assert answer() == ["4", "0"]
    assert answer() == ["4", "1"]
    inner.write_text(f"{start}@kernel\ndef f(x):\n    return x * 5\n")
    assert answer() == ["15", "0"]


@pytest.mark.parametrize("enabled", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(enabled):
    @kernel
    def halved(value):
        return value / 2

    try:
        (gc.enable if enabled else gc.disable)()
        halved(3.0)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(sum_scaled)) is sum_scaled


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(PartCache._impl_class, "_locator_classes", [])
    monkeypatch.setattr("numba.core.caching.CompileResultCacheImpl._locator_classes", [])

    @kernel
    def twice(value):
        return scaled(value, 2.5)

    assert twice(3.0) == 7.5
    assert twice.stats.cache_path is None

"""Small things that kernels do with arrays, in plain loops: NumPy's functions take the compiler many times as long."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import START, kernel

Array = npt.NDArray[Any]
Words = npt.NDArray[np.int64]


@kernel
def put(target: Array, at: int, values: Array) -> None:
    """Copy values to somewhere in an array."""
    for i in range(values.size):
        target[at + i] = values[i]


@kernel
def with_room(words: Words, used: int, number: int) -> Words:
    """Return the words in use with room for some more: the same array, or else one that is at least twice as large."""
    if used + number <= words.size:
        return words
    grown = np.empty(max(2 * words.size, used + number), np.int64)
    put(grown, START, words[:used])
    return grown


@kernel
def joined(one: Words, other: Words) -> Words:
    """Return the words of two arrays one after another."""
    words = np.empty(one.size + other.size, np.int64)
    put(words, START, one)
    put(words, one.size, other)
    return words


@kernel
def merged(one: Words, other: Words) -> Words:
    """Return the words of two sorted arrays, sorted."""
    words = np.empty(one.size + other.size, np.int64)
    i, j = 0, 0
    for k in range(words.size):
        if j == other.size or (i < one.size and one[i] <= other[j]):
            words[k] = one[i]
            i += 1
        else:
            words[k] = other[j]
            j += 1
    return words


@kernel
def first_reaching(values: Array, value: Any) -> int:
    """Return the place of the first of sorted values that is not below another."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def equal(one: Array, other: Array) -> bool:
    """Tell whether two arrays have the same values."""
    if one.size != other.size:
        return False
    for i in range(one.size):
        if one[i] != other[i]:
            return False
    return True


@kernel
def count_of(values: Array, value: Any) -> int:
    """Count how often a value occurs."""
    count = 0
    for i in range(values.size):
        count += values[i] == value
    return count


@kernel
def places_of(values: Array, value: Any) -> Words:
    """Return where a value occurs."""
    places, number = np.empty(count_of(values, value), np.int64), 0
    for i in range(values.size):
        if values[i] == value:
            places[number] = i
            number += 1
    return places

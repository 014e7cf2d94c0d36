"""Small things that kernels do with arrays, in plain loops: NumPy's functions take the compiler many times as long."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import inner_kernel, kernel, per_element, per_row
from unlearnspn.exact_sum import Words

Array = npt.NDArray[Any]

#: So many times as many numbers are looked through sooner than some of them are sorted.
_NARROW = 8


@inner_kernel(per_row(1))
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
    put(grown, 0, words[:used])
    return grown


@kernel
def extended(words: Words, used: int, more: Words) -> Words:
    """Return the words in use and some more behind them: in the same array, if it has room."""
    words = with_room(words, used, more.size)
    put(words, used, more)
    return words


@kernel
def joined(one: Words, other: Words) -> Words:
    """Return the words of two arrays one after another."""
    words = np.empty(one.size + other.size, np.int64)
    put(words, 0, one)
    put(words, one.size, other)
    return words


def _steps_of_merging(one: Words, other: Words) -> int:
    return 4 * int(one.size + other.size)


@kernel
def _merge(one: Words, other: Words, target: Words) -> None:
    i, j = 0, 0
    for k in range(one.size + other.size):
        if j == other.size or (i < one.size and one[i] <= other[j]):
            target[k] = one[i]
            i += 1
        else:
            target[k] = other[j]
            j += 1


@inner_kernel(_steps_of_merging)
def merged(one: Words, other: Words) -> Words:
    """Return the words of two sorted arrays, sorted."""
    words = np.empty(one.size + other.size, np.int64)
    _merge(one, other, words)
    return words


@kernel
def _end_of_run(words: Words, start: int) -> int:
    end = start + 1
    while end < words.size and words[end - 1] <= words[end]:
        end += 1
    return min(end, words.size)


@kernel
def _marked(words: Words, lowest: int, width: int) -> Words:
    """Return words sorted, each once, by marking them among all that there are from the lowest on."""
    marks = np.zeros(width, np.bool_)
    for word in words:
        marks[word - lowest] = True
    found, number = np.empty(words.size + 1, np.int64), 0
    for place in range(width):
        found[number] = lowest + place  # the next one writes over it, unless it is marked
        number += marks[place]
    return found[:number]


@kernel
def _merged_runs(words: Words) -> Words:
    words, other, n_runs = words.copy(), np.empty(words.size, np.int64), 2
    while n_runs > 1:
        at, n_runs = 0, 0
        while at < words.size:
            middle = _end_of_run(words, at)
            end = _end_of_run(words, middle)
            _merge(words[at:middle], words[middle:end], other[at:end])
            at = end
            n_runs += 1
        words, other = other, words
    return words


@inner_kernel(per_row(10))
def in_order(words: Words) -> Words:
    """Return words sorted: by marking, or, where there are few of a large range, or some twice, by merging runs.

    Rows of a node are those of its parts, most of them in order already.
    """
    if _end_of_run(words, 0) == words.size:
        return words.copy()
    lowest, highest = words[0], words[0]
    for word in words:
        lowest, highest = min(lowest, word), max(highest, word)
    width = highest - lowest + 1  # below 1 if that is too much for a word
    if 0 < width <= _NARROW * words.size:
        marked = _marked(words, lowest, width)
        if marked.size == words.size:
            return marked
    return _merged_runs(words)


@kernel
def first_reaching(values: Array, value: Any) -> int:
    """Return the place of the first of sorted values that is not below another."""
    place, number = 0, values.size
    while number > 0:
        half = (number + 1) // 2
        place += half if values[place + half - 1] < value else 0  # no branch: either is as likely as the other
        number -= half
    return place


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
def largest(values: Words) -> int:
    """Return the largest of some numbers, or 0."""
    most = 0
    for value in values:
        most = max(most, value)
    return most


@inner_kernel(per_row(1))
def tally(values: Words, number: int) -> Words:
    """Count how often each number below another occurs."""
    counts = np.zeros(number, np.int64)
    for value in values:
        counts[value] += 1
    return counts


@inner_kernel(per_element(3, 0))
def places_of(values: Array, value: Any) -> Words:
    """Return where a value occurs."""
    places, number = np.empty(count_of(values, value), np.int64), 0
    for i in range(values.size):
        if values[i] == value:
            places[number] = i
            number += 1
    return places

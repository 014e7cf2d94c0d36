"""Sets of rows as sorted arrays of row numbers: what is put together, what is left, what goes where."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int64]

#: Among so many times as many, rows are marked sooner than sorted.
_NARROW = cython.declare(cython.longlong, 8)


def in_order(rows: cython.longlong[::1]) -> Rows:
    """Return rows sorted.

    Rows of a node are those of its children, most of them in order already.
    """
    n_rows: cython.Py_ssize_t = rows.shape[0]
    lowest: cython.longlong
    highest: cython.longlong
    i: cython.Py_ssize_t = 1
    while i < n_rows and rows[i - 1] <= rows[i]:
        i += 1
    if i >= n_rows:
        return np.array(rows)
    lowest = highest = rows[0]
    with cython.nogil:
        for i in range(1, n_rows):
            lowest = min(lowest, rows[i])
            highest = max(highest, rows[i])
    if highest - lowest < _NARROW * n_rows:
        marked: Rows = _marked(rows, lowest, np.zeros(highest - lowest + 1, np.uint8))
        if len(marked) == n_rows:  # no row was there twice
            return marked
    # Rows are runs that are sorted each, and a stable sort merges these.
    return np.sort(rows, kind="stable")


@cython.cfunc
def _marked(rows: cython.longlong[::1], lowest: cython.longlong, marks: cython.uchar[::1]) -> Rows:
    """Return rows sorted, each once, by marking them among all that there are from the lowest on."""
    found = np.empty(rows.shape[0] + 1, np.int64)
    target: cython.longlong[::1] = found
    number: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            marks[rows[i] - lowest] = 1
        for i in range(marks.shape[0]):
            target[number] = lowest + i  # the next one writes over it, unless it is marked
            number += marks[i]
    return found[:number]


def merged(one: cython.longlong[::1], other: cython.longlong[::1]) -> Rows:
    """Return the rows of two sorted arrays, sorted."""
    rows = np.empty(one.shape[0] + other.shape[0], np.int64)
    target: cython.longlong[::1] = rows
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(target.shape[0]):
            if j == other.shape[0] or (i < one.shape[0] and one[i] <= other[j]):
                target[k] = one[i]
                i += 1
            else:
                target[k] = other[j]
                j += 1
    return rows


def difference(rows: cython.longlong[::1], others: cython.longlong[::1]) -> Rows:
    """Return the rows that are not among the others; both are sorted."""
    missing = np.empty(rows.shape[0] + 1, np.int64)
    target: cython.longlong[::1] = missing
    number: cython.Py_ssize_t = 0
    other: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            while other < others.shape[0] and others[other] < rows[i]:
                other += 1
            target[number] = rows[i]  # the next one writes over it, unless it is missing
            number += other == others.shape[0] or others[other] != rows[i]
    return missing[:number]


def split_by_label(rows: cython.longlong[::1], labels: cython.longlong[::1], n_labels: cython.Py_ssize_t) -> list[Rows]:
    """Return the rows that have each label, in the order in which they are."""
    sorted_rows = np.empty(rows.shape[0], np.int64)
    ends = np.zeros(n_labels + 1, np.int64)
    target: cython.longlong[::1] = sorted_rows
    places: cython.longlong[::1] = ends
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(labels.shape[0]):
            places[labels[i] + 1] += 1
        for i in range(n_labels):
            places[i + 1] += places[i]
        for i in range(rows.shape[0]):
            target[places[labels[i]]] = rows[i]
            places[labels[i]] += 1
    # Each place has moved on to the end of its label, where the next one started.
    limits = [0, *ends.tolist()]
    return [sorted_rows[limits[k] : limits[k + 1]] for k in range(n_labels)]

"""How a change of some rows shifts the totals of all columns, and whether the coding that follows from them stays.

Almost always it does, and that can be told without exact arithmetic: only columns about which doubles leave a doubt are
named.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import fabs, floor, ldexp
from cython.cimports.libc.string import memcpy
from cython.cimports.unlearnspn.const_types import const_int16, const_int32, const_level
from cython.cimports.unlearnspn.exact_sums import Limbs, add_value, carry, exponent_part

from unlearnspn.coding import (
    CENTRE,
    CENTRE_SPACING,
    IS_NUMERIC,
    LEVELS_START,
    PLACE,
    SCALE,
    SMALLEST_SCALE,
    Columns,
    Levels,
)
from unlearnspn.statistics.moments import FIRST_LIMBS, N_PARTS
from unlearnspn.totals import OTHER_WINDOW, SURE, UNSURE, Bits, Flags, Rows, Totals

#: So few rows are read where they are, column by column; more are first brought together.
_FEW_ROWS = 64

_IS_NUMERIC = cython.declare(cython.Py_ssize_t, IS_NUMERIC)
_PLACE = cython.declare(cython.Py_ssize_t, PLACE)
_LEVELS_START = cython.declare(cython.Py_ssize_t, LEVELS_START)
_SCALE = cython.declare(cython.Py_ssize_t, SCALE)
_CENTRE = cython.declare(cython.Py_ssize_t, CENTRE)
_SPACING = cython.declare(cython.double, CENTRE_SPACING)
_SMALLEST_SCALE = cython.declare(cython.double, SMALLEST_SCALE)
_N_PARTS = cython.declare(cython.Py_ssize_t, N_PARTS)
_FIRST_LIMBS = cython.declare(cython.Py_ssize_t, FIRST_LIMBS)
_SURE = cython.declare(cython.uchar, SURE)
_UNSURE = cython.declare(cython.uchar, UNSURE)
_OTHER_WINDOW = cython.declare(cython.uchar, OTHER_WINDOW)
# Far above what a few dozen roundings of doubles can add up to.
_ROUNDING = cython.declare(cython.double, 2.0**-48)


def shift_totals(
    columns: Columns, bits: Bits, levels: Levels, minus: Rows, plus: Rows, totals: Totals, found: Flags
) -> bool:
    """Take rows out of totals and put others in; tell whether the coding is sure to stay.

    Write of each variable whether it is, where there are zeros. Sums whose window does not fit any more are left alone.
    """
    lines: cython.longlong[:, ::1] = columns
    flags: cython.uchar[::1] = found
    minus_bits, minus_levels, minus_rows = _bring_together(bits, levels, minus)
    plus_bits, plus_levels, plus_rows = _bring_together(bits, levels, plus)
    leaving: cython.longlong[::1] = minus_rows
    coming: cython.longlong[::1] = leaving[:0]
    if len(plus):
        coming = plus_rows
    v: cython.Py_ssize_t
    if levels.shape[1]:
        level_counts: cython.longlong[::1] = totals.level_counts
        _count_levels(lines, plus_levels, coming, level_counts, flags, 1)
        _count_levels(lines, minus_levels, leaving, level_counts, flags, -1)
    if bits.shape[1]:
        _shift_numbers(lines, minus_bits, leaving, plus_bits, coming, totals, flags)
    for v in range(flags.shape[0]):
        if flags[v] != _SURE:
            return False
    return True


def _bring_together(bits: Bits, levels: Levels, rows: Rows) -> tuple[Bits, Levels, Rows]:
    """Return tables and rows of them with the same cells: for many of them copies, in which they follow each other."""
    if len(rows) < _FEW_ROWS:
        return bits, levels, rows
    return bits.take(rows, axis=0), levels.take(rows, axis=0), np.arange(len(rows))


# -- categories --------------------------------------------------------------------------------------------------------


@cython.cfunc
def _count_levels(
    columns: cython.longlong[:, ::1],
    levels: Levels,
    rows: cython.longlong[::1],
    level_counts: cython.longlong[::1],
    found: cython.uchar[::1],
    sign: cython.longlong,
) -> cython.void:
    """Count rows in, or out: a level that nobody has any more may change the coding."""
    short_levels: const_int16[:, ::1]
    long_levels: const_int32[:, ::1]
    if rows.shape[0] == 0:
        return
    if levels.itemsize == 2:
        short_levels = levels
        with cython.nogil:
            _count_each(columns, short_levels, rows, level_counts, found, sign)
    else:
        long_levels = levels
        with cython.nogil:
            _count_each(columns, long_levels, rows, level_counts, found, sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_each(
    columns: cython.longlong[:, ::1],
    levels: const_level[:, ::1],
    rows: cython.longlong[::1],
    level_counts: cython.longlong[::1],
    found: cython.uchar[::1],
    sign: cython.longlong,
) -> cython.void:
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    level: cython.Py_ssize_t
    at: cython.Py_ssize_t
    for v in range(columns.shape[0]):
        if columns[v, _IS_NUMERIC]:
            continue
        for i in range(rows.shape[0]):
            level = levels[rows[i], columns[v, _PLACE]]
            if level >= 0:
                at = columns[v, _LEVELS_START] + level
                level_counts[at] += sign
                if level_counts[at] == 0:
                    found[v] = _UNSURE


# -- numbers -----------------------------------------------------------------------------------------------------------


@cython.cfunc
def _shift_numbers(
    columns: cython.longlong[:, ::1],
    leaving: Bits,
    minus: cython.longlong[::1],
    coming: Bits,
    plus: cython.longlong[::1],
    totals: Totals,
    found: cython.uchar[::1],
) -> cython.void:
    parts: cython.longlong[:, ::1] = totals.parts
    windows: cython.longlong[:, ::1] = totals.windows
    starts: cython.longlong[::1] = totals.starts
    sums: cython.longlong[::1] = totals.sums
    slack: cython.longlong[::1] = totals.slack
    minus_bits: cython.longlong[:, ::1] = leaving
    plus_bits: cython.longlong[:, ::1] = minus_bits
    if coming is not leaving:
        plus_bits = coming
    window: Limbs
    moments: cython.p_longlong
    place: cython.Py_ssize_t
    v: cython.Py_ssize_t
    with cython.nogil:
        for v in range(columns.shape[0]):
            if not columns[v, _IS_NUMERIC]:
                continue
            place = columns[v, _PLACE]
            window = Limbs(windows[v, 0], windows[v, 1], windows[v, 2])
            slack[v] -= _count_parts(minus_bits, minus, place, cython.address(parts[v, 0]), -1)
            slack[v] -= _count_parts(plus_bits, plus, place, cython.address(parts[v, 0]), 1)
            if not _fits(cython.address(parts[v, 0]), window):
                found[v] = _OTHER_WINDOW
                continue
            moments = cython.address(sums[starts[v]])
            _add_rows(moments, minus_bits, minus, place, window, -1)
            _add_rows(moments, plus_bits, plus, place, window, 1)
            carry(moments, window)
            if slack[v] < 0 or not _surely_coded_alike(
                moments, window, _as_double(columns[v, _SCALE]), _as_double(columns[v, _CENTRE])
            ):
                found[v] = _UNSURE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_parts(
    bits: cython.longlong[:, ::1],
    rows: cython.longlong[::1],
    place: cython.Py_ssize_t,
    parts: cython.p_longlong,
    sign: cython.longlong,
) -> cython.longlong:
    """Count into which parts the exponents of some rows fall; return how many values are not missing."""
    n_observed: cython.longlong = 0
    pattern: cython.longlong
    part: cython.longlong
    i: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        pattern = bits[rows[i], place]
        n_observed += (pattern >> 52) & 0x7FF != 0x7FF
        part = exponent_part(pattern)
        if part >= 0:
            parts[part] += sign
    return n_observed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_rows(
    moments: cython.p_longlong,
    bits: cython.longlong[:, ::1],
    rows: cython.longlong[::1],
    place: cython.Py_ssize_t,
    window: Limbs,
    sign: cython.longlong,
) -> cython.void:
    i: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        add_value(moments, bits[rows[i], place], window, sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fits(parts: cython.p_longlong, window: Limbs) -> cython.bint:
    """Tell whether parts still reach from the window's first to its last, as far as they reach at all."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = _N_PARTS - 1
    while high > 0 and parts[high] == 0:
        high -= 1
    while low < high and parts[low] == 0:
        low += 1
    return low == window.low and high - low + _FIRST_LIMBS == window.n_first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _as_double(pattern: cython.longlong) -> cython.double:
    """Return the double that has these bits."""
    value: cython.double = 0.0
    memcpy(cython.address(value), cython.address(pattern), cython.sizeof(cython.double))
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _surely_coded_alike(
    moments: cython.p_longlong, window: Limbs, scale: cython.double, centre: cython.double
) -> cython.bint:
    """Tell whether scale and centre are sure to be what they were."""
    n: cython.longlong = moments[0]
    first: cython.double = 0.0
    second: cython.double = 0.0
    limb: cython.Py_ssize_t
    if n == 0 or scale <= _SMALLEST_SCALE or not (scale > 1e-100 and scale < 1e100):
        return False
    for limb in range(window.n_first, 0, -1):
        first = first * 4294967296.0 + moments[limb]
    for limb in range(window.n_first + window.n_second, window.n_first, -1):
        second = second * 4294967296.0 + moments[limb]
    mean: cython.double = ldexp(first / n, cython.cast(cython.int, 32 * window.low - 1074))
    square: cython.double = ldexp(second / n, cython.cast(cython.int, 64 * window.low - 2148))
    variance: cython.double = square - mean * mean
    doubt: cython.double = _ROUNDING * square
    if not (variance - doubt > scale * scale and variance + doubt < 4.0 * scale * scale):
        return False
    place: cython.double = mean / (_SPACING * scale) + 0.5
    expected: cython.double = centre / (_SPACING * scale)
    doubt = _ROUNDING * (fabs(mean) / scale + 1.0)
    return floor(place - doubt) == expected and floor(place + doubt) == expected

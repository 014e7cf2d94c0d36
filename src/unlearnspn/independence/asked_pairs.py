"""Which variables depend on each other, asking for no more pairs than the answer needs; plain words that a walk shifts.

The search is breadth-first: the first variable asks all others, those that depend on it join its group and ask the
ones that are left, and so on; then the next group starts. So a group of many variables takes little more than one
question for each, and the pairs that one variable asks follow each other.

Words of an answer: the number of pairs; two words of hash; the number of cells; for each pair its names (see `name`),
G/2, and how many rows have both; then the tables of all pairs, one after another, if they are kept. G/2 is a sum of
integers, so what one row changes in it can be added or taken out exactly, given how many other rows have the same
codes. That is read off a table; or, among few rows, counted: then no table is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unlearnspn.arrays import count_of, extended, joined, places_of, put, with_room
from unlearnspn.coding import Codes
from unlearnspn.compiling import IN, OUT, inner_kernel, kernel, per_element
from unlearnspn.exact_sum import Words
from unlearnspn.hashing import Keys, mix64, unsigned
from unlearnspn.independence.agreement import compare_rows, count_all, count_common
from unlearnspn.independence.components import find, join
from unlearnspn.pair_tables import cell_hash, g_statistic
from unlearnspn.portable_math import X_LOG_X_BITS, x_log_x
from unlearnspn.slices import Counts, Rows, Scope

#: Where things are among the words of an answer, and among those of a pair.
N_PAIRS, HASH, N_CELLS, HEAD = 0, 1, 3, 4
NAMES, HALF_G, TOTAL, PER_PAIR = 0, 1, 2, 3

#: With so many rows for each pair of variables, tables take no more room than rows do.
_ROWS_FOR_TABLES = 3
#: A row in a table takes as long as so many cells, when G is computed from all of them.
_CELLS_FOR_A_ROW = 16
_FREEDOM_BITS, _PLACE_BITS = 20, 20
_FREEDOM_FACTOR, _TOTAL_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@kernel
def name(hub: int, other: int, freedom: int, depends: bool) -> int:
    """Put in one word: two variables' places in the scope, the degrees of freedom, and whether they depend."""
    return int((((hub << _PLACE_BITS) | other) << (_FREEDOM_BITS + 1)) | (freedom << 1) | depends)


@kernel
def read_name(word: int) -> tuple[int, int, int, bool]:
    """Return what `name` has put in a word."""
    places = word >> (_FREEDOM_BITS + 1)
    freedom = (word >> 1) & ((1 << _FREEDOM_BITS) - 1)
    return places >> _PLACE_BITS, places & ((1 << _PLACE_BITS) - 1), freedom, (word & 1) == 1


@kernel
def _depend(half_g: int, freedom: int, cut: float) -> bool:
    """Tell whether G exceeds 2·cut·degrees of freedom."""
    return freedom > 0 and half_g > cut * freedom * (1 << X_LOG_X_BITS)


@kernel
def _value(words: Words, pair: int) -> np.uint64:
    """Put what is known of a pair in one number, for the hash."""
    freedom = read_name(words[pair + NAMES])[2]
    value = np.uint64(words[pair + HALF_G]) + _FREEDOM_FACTOR * np.uint64(freedom)
    return value + _TOTAL_FACTOR * np.uint64(words[pair + TOTAL])


@kernel
def _add_to_hash(words: Words, start: int, first: np.uint64, second: np.uint64, value: np.uint64) -> None:
    """Add what has changed at a pair of variables, which have these fingerprints."""
    pair = cell_hash(first, second)
    words[start + HASH] += np.int64(value * pair)
    words[start + HASH + 1] += np.int64(value * mix64(pair))


@kernel
def length_of_answer(words: Words, start: int) -> int:
    """Return how many words an answer takes that starts somewhere."""
    return int(HEAD + PER_PAIR * words[start + N_PAIRS] + words[start + N_CELLS])


@kernel
def keeps_tables(words: Words, start: int) -> bool:
    """Tell whether an answer that starts somewhere has tables."""
    return bool(words[start + N_CELLS] > 0)


@kernel
def wants_tables(n_records: int, width: int, tables_above: int) -> bool:
    """Tell whether tables are to be kept: if there are many records, be it for the number of variables."""
    return bool(n_records > min(tables_above, _ROWS_FOR_TABLES * width * width))


# -- asking ------------------------------------------------------------------------------------------------------------


@inner_kernel(per_element(1, 1, 3))
def _count_against(codes: Codes, rows: Rows, hub: int, others: Scope, sizes: Counts) -> Counts:
    """Count the tables of one variable with some others, one table after another."""
    starts = np.zeros(others.size + 1, np.int64)
    for k in range(others.size):
        starts[k + 1] = starts[k] + sizes[hub] * sizes[others[k]]
    cells = np.zeros(starts[-1], np.int64)
    widths = sizes[others]
    for row in rows:
        code = np.int64(codes[row, hub])
        for k in range(others.size):
            cells[starts[k] + code * widths[k] + np.int64(codes[row, others[k]])] += 1
    return cells


@inner_kernel(per_element(2, 0))
def _g_statistics(cells: Counts, n_rows: int, widths: Counts, logs: Counts) -> Counts:
    """Return what `g_statistic` says of tables that lie one after another, given how many columns each has."""
    found, at = np.empty((widths.size, 3), np.int64), 0
    for k in range(widths.size):
        table = cells[at : at + n_rows * widths[k]]
        found[k, 0], found[k, 1], found[k, 2] = g_statistic(table, n_rows, widths[k], logs)
        at += table.size
    return found


@kernel
def _places_of_known(known: Words, scope: Scope, sizes: Counts) -> Counts:
    """Return for each pair where its words are in an earlier answer, and where its table is; -1 if it was not asked."""
    places = np.full((scope.size, scope.size, 2), -1)
    at = HEAD + PER_PAIR * known[N_PAIRS]
    for k in range(known[N_PAIRS]):
        pair = HEAD + PER_PAIR * k
        hub, other, _, _ = read_name(known[pair + NAMES])
        places[hub, other, 0], places[hub, other, 1] = pair, at
        at += sizes[scope[hub]] * sizes[scope[other]]
    return places


@kernel
def _not_asked(places: Counts, others: Counts, scope: Scope) -> Scope:
    """Return those of some variables that a hub has not asked, given what is known of its pairs."""
    unknown, n_unknown = np.empty(others.size, np.int64), 0
    for other in others:
        if places[other, 0] < 0:
            unknown[n_unknown] = scope[other]
            n_unknown += 1
    return unknown[:n_unknown]


@kernel
def ask_pairs(
    codes: Codes,
    rows: Rows,
    scope: Scope,
    sizes: Counts,
    prints: Keys,
    cut: float,
    logs: Counts,
    known: Words,
    with_tables: bool,
) -> Words:
    """Search for the groups of some variables, and return the words of the answer.

    `known` are the words of an earlier answer, brought up to date, or nothing.
    """
    width = scope.size
    places = np.full((width, width, 2), -1)
    if known.size and (keeps_tables(known, 0) or not with_tables):
        places = _places_of_known(known, scope, sizes)
    waiting = np.ones(width, np.bool_)
    pairs, n_pairs = np.empty(PER_PAIR * width, np.int64), 0
    tables, n_cells = np.empty(0, np.int64), 0
    queue = np.empty(width, np.int64)
    for first in range(width):
        if not waiting[first]:
            continue
        waiting[first] = False
        queue[0] = first
        head, tail = 0, 1
        while head < tail:
            hub = queue[head]
            head += 1
            others = places_of(waiting, True)
            if others.size == 0:
                break
            unknown, n_rows = _not_asked(places[hub], others, scope), sizes[scope[hub]]
            counted = _count_against(codes, rows, scope[hub], unknown, sizes)
            found = _g_statistics(counted, n_rows, sizes[unknown], logs)
            pairs, at, n_found = with_room(pairs, PER_PAIR * n_pairs, PER_PAIR * others.size), 0, 0
            for other in others:
                n_columns = sizes[scope[other]]
                pair, place = PER_PAIR * n_pairs, places[hub, other, 0]
                if place >= 0:
                    freedom = read_name(known[place + NAMES])[2]
                    pairs[pair + HALF_G], pairs[pair + TOTAL] = known[place + HALF_G], known[place + TOTAL]
                    start = places[hub, other, 1]
                    table = known[start : start + n_rows * n_columns]
                else:
                    table = counted[at : at + n_rows * n_columns]
                    pairs[pair + HALF_G], freedom, pairs[pair + TOTAL] = found[n_found]
                    at, n_found = at + table.size, n_found + 1
                depends = _depend(pairs[pair + HALF_G], freedom, cut)
                pairs[pair + NAMES] = name(hub, int(other), freedom, depends)
                n_pairs += 1
                if with_tables:
                    tables = extended(tables, n_cells, table)
                    n_cells += table.size
                if depends:
                    waiting[other] = False
                    queue[tail] = other
                    tail += 1
    words = np.empty(HEAD + PER_PAIR * n_pairs + n_cells, np.int64)
    words[N_PAIRS], words[N_CELLS] = n_pairs, n_cells
    put(words, HEAD, pairs[: PER_PAIR * n_pairs])
    put(words, HEAD + PER_PAIR * n_pairs, tables[:n_cells])
    _hash_pairs(words, scope, prints)
    return words


@kernel
def _hash_pairs(words: Words, scope: Scope, prints: Keys) -> None:
    words[HASH], words[HASH + 1] = 0, 0
    for k in range(words[N_PAIRS]):
        pair = HEAD + PER_PAIR * k
        hub, other, _, _ = read_name(words[pair + NAMES])
        _add_to_hash(words, 0, prints[scope[hub], 0], prints[scope[other], 0], _value(words, pair))


# -- shifting ----------------------------------------------------------------------------------------------------------


@kernel
def _gain(count: int) -> int:
    """Return by how much count·log(count) grows if one more comes."""
    return x_log_x(count + 1) - x_log_x(count)


@kernel
def _gain_of_many(in_cell: int, in_row: int, in_column: int, others: int) -> int:
    return _gain(in_cell) - _gain(in_row) - _gain(in_column) + _gain(others)


@kernel
def _gain_of_g(in_cell: int, in_row: int, in_column: int, others: int, logs: Counts) -> int:
    """Return by how much G/2 grows by a row, given how many have both its codes, one of them, and both variables."""
    # Logarithms beyond the table are apart, so that this is small enough to be put where it is called.
    if others + 1 >= logs.size:
        return _gain_of_many(in_cell, in_row, in_column, others)
    gain = logs[in_cell + 1] - logs[in_cell] + logs[others + 1] - logs[others]
    return int(gain - (logs[in_row + 1] - logs[in_row]) - (logs[in_column + 1] - logs[in_column]))


@kernel
def _shift_table(
    words: Words,
    pair: int,
    cells: Counts,
    hub: int,
    other: int,
    n_columns: int,
    a: int,
    b: int,
    logs: Counts,
    alike: Counts,
    sign: int,
) -> None:
    """Count one row in, or out, in the table of a pair, whose words start somewhere."""
    cell, gone = a * n_columns + b, sign < 0
    cells[cell] -= gone
    if a > 0 and b > 0:
        in_row, in_column = 0, 0
        if alike.size:
            in_row, in_column = alike[hub] - cells[a * n_columns], alike[other] - cells[b]
        else:
            for c in range(1, n_columns):
                in_row += cells[a * n_columns + c]
            for c in range(1, cells.size // n_columns):
                in_column += cells[c * n_columns + b]
        others = words[pair + TOTAL] - gone
        words[pair + HALF_G] += sign * _gain_of_g(cells[cell], in_row, in_column, others, logs)
        words[pair + TOTAL] += sign
        cells[cell] += not gone
        if in_row == 0 or in_column == 0:
            freedom = g_statistic(cells, cells.size // n_columns, n_columns, logs)[1]
            words[pair + NAMES] = name(hub, other, freedom, read_name(words[pair + NAMES])[3])
    else:
        cells[cell] += not gone


def _steps_of_tables(words: Words, start: int, codes: Codes, rows: Rows, *others: Any) -> int:
    return int(words[start + N_PAIRS]) * (30 + 10 * rows.size) + int(words[start + N_CELLS])


@inner_kernel(_steps_of_tables)
def _shift_tables(
    words: Words,
    start: int,
    codes: Codes,
    rows: Rows,
    scope: Scope,
    sizes: Counts,
    prints: Keys,
    logs: Counts,
    alike: Counts,
    sign: int,
) -> None:
    """Count rows in, or out, in an answer that has tables; see `shift_pairs`."""
    at = start + HEAD + PER_PAIR * words[start + N_PAIRS]
    for k in range(words[start + N_PAIRS]):
        pair = start + HEAD + PER_PAIR * k
        hub, other, _, depends = read_name(words[pair + NAMES])
        u, v = scope[hub], scope[other]
        n_rows, n_columns = sizes[u], sizes[v]
        cells, before = words[at : at + n_rows * n_columns], _value(words, pair)
        if alike.size or _CELLS_FOR_A_ROW * rows.size < cells.size:
            for row in rows:
                a, b = int(codes[row, u]), int(codes[row, v])
                _shift_table(words, pair, cells, hub, other, n_columns, a, b, logs, alike, sign)
        else:
            for row in rows:
                cells[int(codes[row, u]) * n_columns + int(codes[row, v])] += sign
            words[pair + HALF_G], freedom, words[pair + TOTAL] = g_statistic(cells, n_rows, n_columns, logs)
            words[pair + NAMES] = name(hub, other, freedom, depends)
        _add_to_hash(words, start, prints[u, 0], prints[v, 0], _value(words, pair) - before)
        at += n_rows * n_columns


@kernel
def _count_freedom(codes: Codes, rows: Rows, more: int, u: int, v: int, sizes: Counts) -> int:
    """Count the degrees of freedom of two variables' table, without the table; of one more row too, unless it is -1."""
    in_rows, in_columns = np.zeros(sizes[u], np.bool_), np.zeros(sizes[v], np.bool_)
    for i in range(rows.size + (more >= 0)):
        row = rows[i] if i < rows.size else more
        a, b = codes[row, u], codes[row, v]
        if a > 0 and b > 0:
            in_rows[a] = in_columns[b] = True
    return max(count_of(in_rows, True) - 1, 0) * max(count_of(in_columns, True) - 1, 0)


def _steps_of_row(words: Words, start: int, codes: Codes, rows: Rows, *others: Any) -> int:
    return 3 * int(rows.size * codes.shape[1]) + int(words[start + N_PAIRS]) * (30 + rows.size // 16)


@inner_kernel(_steps_of_row)
def _shift_row(
    words: Words,
    start: int,
    codes: Codes,
    rows: Rows,
    row: int,
    scope: Scope,
    sizes: Counts,
    prints: Keys,
    logs: Counts,
    sign: int,
) -> None:
    """Count a row in, or out, in an answer without tables: `rows` are all the others."""
    agrees, absent, lines = compare_rows(codes, rows, row)
    like = count_all(agrees)
    low, high = np.uint64(words[start + HASH]), np.uint64(words[start + HASH + 1])
    for k in range(words[start + N_PAIRS]):
        pair = start + HEAD + PER_PAIR * k
        hub, other, freedom, depends = read_name(words[pair + NAMES])
        u, v = scope[hub], scope[other]
        if codes[row, u] == 0 or codes[row, v] == 0:
            continue
        in_cell, in_row, in_column = count_common(agrees[u], agrees[v]), like[u], like[v]
        if lines[v] >= 0:
            in_row -= count_common(agrees[u], absent[lines[v]])
        if lines[u] >= 0:
            in_column -= count_common(agrees[v], absent[lines[u]])
        gain = sign * _gain_of_g(in_cell, in_row, in_column, words[pair + TOTAL] - (sign < 0), logs)
        words[pair + HALF_G] += gain
        words[pair + TOTAL] += sign
        value = unsigned(gain) + _TOTAL_FACTOR * unsigned(sign)
        if in_row == 0 or in_column == 0:
            freedom_after = _count_freedom(codes, rows, row if sign > 0 else -1, u, v, sizes)
            words[pair + NAMES] = name(hub, other, freedom_after, depends)
            value += _FREEDOM_FACTOR * unsigned(freedom_after - freedom)
        first = cell_hash(prints[u, 0], prints[v, 0])
        low += value * first
        high += value * mix64(first)
    words[start + HASH], words[start + HASH + 1] = np.int64(low), np.int64(high)


@kernel
def _count_anew(
    words: Words, start: int, codes: Codes, rows: Rows, scope: Scope, sizes: Counts, prints: Keys, logs: Counts
) -> None:
    """Ask the same pairs of other rows; the answers are left as they were."""
    k, n_pairs = 0, words[start + N_PAIRS]
    others = np.empty(scope.size, np.int64)
    while k < n_pairs:
        hub, n_others = read_name(words[start + HEAD + PER_PAIR * k + NAMES])[0], 0
        while k + n_others < n_pairs:
            asking, other, _, _ = read_name(words[start + HEAD + PER_PAIR * (k + n_others) + NAMES])
            if asking != hub:
                break
            others[n_others] = other
            n_others += 1
        asked = scope[others[:n_others]]
        cells = _count_against(codes, rows, scope[hub], asked, sizes)
        found = _g_statistics(cells, sizes[scope[hub]], sizes[asked], logs)
        for i in range(n_others):
            pair, other = start + HEAD + PER_PAIR * k, others[i]
            before, depends = _value(words, pair), read_name(words[pair + NAMES])[3]
            words[pair + HALF_G], freedom, words[pair + TOTAL] = found[i]
            words[pair + NAMES] = name(hub, other, freedom, depends)
            _add_to_hash(words, start, prints[scope[hub], 0], prints[scope[other], 0], _value(words, pair) - before)
            k += 1


@kernel
def _effort(n_pairs: int, width: int, n_columns: int) -> int:
    """Estimate what `_shift_row` takes for each row, where `_count_anew` takes the number of pairs.

    Its loops go over all columns, many at once; the second one only if a row agrees.
    """
    n_hubs = 1 + 2 * n_pairs // width
    return 1 + n_columns // 8 + n_hubs * n_columns // 32


@kernel
def shift_pairs(
    words: Words,
    start: int,
    codes: Codes,
    staying: Rows,
    minus: Rows,
    plus: Rows,
    scope: Scope,
    sizes: Counts,
    prints: Keys,
    logs: Counts,
    alike: Counts,
) -> None:
    """Take rows out of an answer that starts somewhere, and put others in.

    `staying` are all other rows that the answer is of; they do not matter if it has tables. If it is but one row that
    comes or goes, `alike` may tell how many others have its code of each variable of the scope: that saves adding up
    rows and columns of tables.
    """
    if keeps_tables(words, start):
        # A loop, so that the compiler has one call to work on.
        for sign in (OUT, IN):
            _shift_tables(words, start, codes, minus if sign == OUT else plus, scope, sizes, prints, logs, alike, sign)
        return
    if (minus.size + plus.size) * _effort(words[start + N_PAIRS], scope.size, codes.shape[1]) > words[start + N_PAIRS]:
        _count_anew(words, start, codes, joined(staying, plus), scope, sizes, prints, logs)
        return
    rows, n_rows = joined(joined(staying, minus), plus), staying.size + minus.size
    for k in range(minus.size + plus.size):
        sign = OUT if k < minus.size else IN
        n_rows -= sign == OUT
        row = rows[n_rows] if sign == OUT else plus[k - minus.size]
        _shift_row(words, start, codes, rows[:n_rows], row, scope, sizes, prints, logs, sign)
        if sign == IN:
            rows[n_rows] = row
            n_rows += 1


# -- reading -----------------------------------------------------------------------------------------------------------


@kernel
def answers_hold(words: Words, start: int, cut: float) -> bool:
    """Tell whether every pair that was asked still gives the same answer: then the same pairs would be asked."""
    for k in range(words[start + N_PAIRS]):
        pair = start + HEAD + PER_PAIR * k
        _, _, freedom, depends = read_name(words[pair + NAMES])
        if _depend(words[pair + HALF_G], freedom, cut) != depends:
            return False
    return True


@kernel
def answered_groups(words: Words, width: int) -> Counts:
    """Return for each variable the first of its group."""
    parents = np.arange(width)
    for k in range(words[N_PAIRS]):
        hub, other, _, depends = read_name(words[HEAD + PER_PAIR * k + NAMES])
        if depends:
            join(parents, hub, other)
    for i in range(width):
        parents[i] = find(parents, i)
    return parents

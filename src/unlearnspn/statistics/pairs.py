"""The pairs of variables that a test of independence has asked, and what is known of each.

G/2 is a sum of integers, so what one record changes in it can be added or taken out exactly, given how many others
have the same codes. That is read off a table; or, among few records, counted: then no table is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.unlearnspn.mixing import cell_hash, mix64
from cython.cimports.unlearnspn.rows.array_data import data_of
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.statistics.agreement import Agreement
from cython.cimports.unlearnspn.statistics.asked_pair import (
    WORDS_OF_PAIR,
    PairPointer,
    is_dependent,
    pair_at,
    set_association,
    value_of,
)
from cython.cimports.unlearnspn.statistics.g_test import (
    MOST_CODES,
    Logs,
    degrees_of_freedom,
    g_statistic,
    gain_of_g,
)
from cython.cimports.unlearnspn.statistics.logs import tabulated_logs
from cython.cimports.unlearnspn.statistics.pair_search import Hub

from unlearnspn.statistics.pair_search import search

Counts = npt.NDArray[np.int64]
Pairs = npt.NDArray[np.void]
Rows = npt.NDArray[np.int64]
Words = npt.NDArray[np.int64]

#: What is known of a pair, as in `asked_pair.pxd`: the places in the scope of the variable that asked and of the
#: other one, degrees of freedom, whether they depend on each other, G/2 with 24 fractional bits, and how many records
#: have both.
PAIR = np.dtype(
    [
        ("hub", np.int32),
        ("other", np.int32),
        ("freedom", np.int32),
        ("depends", np.int32),
        ("half_g", np.int64),
        ("total", np.int64),
    ]
)

_NOBODY = np.zeros(0, np.int64)
#: With so many records for each pair of variables, tables take no more room than records do.
_RECORDS_FOR_TABLES = 3
#: A row in a table takes as long as so many cells, when G is computed from all of them.
_CELLS_FOR_A_ROW = cython.declare(cython.Py_ssize_t, 16)
_FINGERPRINT = struct.Struct("<qQQ")
_HEAD = struct.Struct("<qQQq")


def wants_tables(n_records: int, width: int, tables_above: int) -> bool:
    """Tell whether tables are to be kept: if there are many records, be it for the number of variables."""
    return n_records > min(tables_above, _RECORDS_FOR_TABLES * width * width)


@cython.no_gc
@cython.final
@cython.cclass
class AskedPairs:
    """Pairs in the order in which they were asked, as words, their tables one after another if kept, and a hash.

    `low` and `high` sum up what is known of each pair times a hash of its variables. Rows are taken out as they were
    put in. Tables of parts add up; which pairs are asked next depends on the answers of all rows together.
    """

    def __init__(
        self,
        words: Words,
        cells: Counts,
        n_records: cython.longlong,
        low: cython.ulonglong = 0,
        high: cython.ulonglong = 0,
    ) -> None:
        self.n_pairs = words.size // WORDS_OF_PAIR
        self.words = words
        self._words = data_of(words)
        self.cells = cells
        self._cells = data_of(cells)
        self._n_cells = cells.size
        self.n_records = n_records
        self.low = low
        self.high = high

    @staticmethod
    def associated(
        coded: CodedRows, scope: cython.longlong[::1], cut: cython.double, pairs: Pairs, cells: Counts
    ) -> Pairs:
        """Return pairs with what their tables say; of the given ones only which variables they are of is read."""
        k: cython.Py_ssize_t
        start: cython.Py_ssize_t = 0
        pair: PairPointer
        known: AskedPairs = AskedPairs(pairs.view(np.int64).copy(), cells, 0)
        logs: Logs = tabulated_logs()
        for k in range(known.n_pairs):
            pair = pair_at(known._words, k)
            n_rows: cython.Py_ssize_t = coded.sizes[scope[pair.hub]]
            n_columns: cython.Py_ssize_t = coded.sizes[scope[pair.other]]
            set_association(pair, g_statistic(known._cells + start, n_rows, n_columns, logs))
            pair.depends = is_dependent(pair.half_g, pair.freedom, cut)
            start += n_rows * n_columns
        return known.pairs

    @staticmethod
    def of_tables(
        coded: CodedRows,
        scope: cython.longlong[::1],
        cut: cython.double,
        n_records: cython.longlong,
        pairs: Pairs,
        cells: Counts,
    ) -> AskedPairs:
        """Return what the search finds that asks these pairs, in this order, if their tables say what is known."""
        known: AskedPairs = AskedPairs(pairs.view(np.int64), cells, n_records)
        asked: AskedPairs = AskedPairs.ask(coded, _NOBODY, scope, cut, True, known)
        asked.n_records = n_records
        return asked

    @staticmethod
    def ask(
        coded: CodedRows,
        rows: cython.longlong[::1],
        scope: cython.longlong[::1],
        cut: cython.double,
        with_tables: cython.bint,
        known: AskedPairs | None = None,
    ) -> AskedPairs:
        """Search for the groups of some variables: two depend on each other if G exceeds 2·cut·degrees of freedom.

        `known` is an earlier answer, brought up to date.
        """
        k: cython.Py_ssize_t
        pair: PairPointer
        before = None if known is None else (known.words, known.cells)
        words, cells = search(coded, rows, scope, cut, with_tables, before)
        asked: AskedPairs = AskedPairs(words, cells, rows.shape[0])
        for k in range(asked.n_pairs):
            pair = pair_at(asked._words, k)
            asked._add_to_hash(coded, scope[pair.hub], scope[pair.other], value_of(pair))
        return asked

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> Pairs:
        """What is known of each pair; nothing is copied."""
        return self.words.view(PAIR)

    @property
    def keeps_tables(self) -> bool:
        """Whether there are tables."""
        return bool(self._n_cells)

    @cython.ccall
    def answers_hold(self, cut: cython.double) -> cython.bint:
        """Tell whether every pair still gives the same answer: then the same pairs would be asked."""
        k: cython.Py_ssize_t
        pair: PairPointer
        for k in range(self.n_pairs):
            pair = pair_at(self._words, k)
            if is_dependent(pair.half_g, pair.freedom, cut) != pair.depends:
                return False
        return True

    def groups(self, width: cython.Py_ssize_t) -> Counts:
        """Return for each of so many variables the first of its group."""
        k: cython.Py_ssize_t
        one: cython.Py_ssize_t
        other: cython.Py_ssize_t
        pair: PairPointer
        groups = np.arange(width)
        parents: cython.longlong[::1] = groups
        for k in range(self.n_pairs):
            pair = pair_at(self._words, k)
            if pair.depends:
                one = _first_of_group(parents, pair.hub)
                other = _first_of_group(parents, pair.other)
                parents[max(one, other)] = min(one, other)
        for k in range(width):
            parents[k] = _first_of_group(parents, k)
        return groups

    def fingerprint(self) -> bytes:
        """Return how many pairs were asked, and the hash."""
        return _FINGERPRINT.pack(self.n_pairs, self.low, self.high)

    def copy(self) -> AskedPairs:
        """Return pairs that no change to these reaches."""
        return AskedPairs(self.words.copy(), self.cells.copy(), self.n_records, self.low, self.high)

    def dump(self) -> bytes:
        """Return everything as bytes."""
        pairs, cells = self.pairs.astype(PAIR.newbyteorder("<"), copy=False), self.cells.astype("<i8", copy=False)
        head = _HEAD.pack(self.n_pairs, self.low, self.high, self.n_records)
        return head + bytes(pairs.tobytes()) + bytes(cells.tobytes())

    @staticmethod
    def load(data: bytes) -> AskedPairs:
        """Return what was dumped; see `fits` for bytes that somebody else may have written."""
        n_pairs, low, high, n_records = _HEAD.unpack_from(data)
        pairs = np.frombuffer(data, PAIR.newbyteorder("<"), n_pairs, _HEAD.size).astype(PAIR)
        cells = np.frombuffer(data, "<i8", offset=_HEAD.size + pairs.nbytes).astype(np.int64)
        return AskedPairs(pairs.view(np.int64), cells, n_records, low, high)

    def __reduce__(self) -> tuple[Callable[[bytes], AskedPairs], tuple[bytes]]:
        return AskedPairs.load, (self.dump(),)

    def fits(self, coded: CodedRows, scope: cython.longlong[::1]) -> bool:
        """Tell whether pairs are of some variables, in an order in which they are asked, and tables of their sizes.

        Only then it is safe to shift.
        """
        k: cython.Py_ssize_t
        pair: PairPointer
        n_cells: cython.longlong = 0
        last: cython.longlong[::1] = np.full(scope.shape[0], -1)
        for k in range(self.n_pairs):
            pair = pair_at(self._words, k)
            if not (0 <= pair.hub < scope.shape[0] and 0 <= pair.other < scope.shape[0]):
                return False
            is_first: cython.bint = k == 0 or pair_at(self._words, k - 1).hub != pair.hub
            if pair.other <= last[pair.hub] or (is_first and last[pair.hub] >= 0):
                return False
            last[pair.hub] = pair.other
            n_cells += coded.sizes[scope[pair.hub]] * coded.sizes[scope[pair.other]]
        return self._n_cells in (0, n_cells)

    # -- shifting --------------------------------------------------------------------------------------------------

    def shift(
        self,
        coded: CodedRows,
        staying: Callable[[], Rows] | Rows | None,
        minus: cython.longlong[::1],
        plus: cython.longlong[::1],
        scope: cython.longlong[::1],
    ) -> None:
        """Take rows out, and put others in; the opposite change takes that back. Answers are left as they were.

        `staying` are all other rows, or what returns them; nobody asks for them if there are tables.
        """
        n_shifted: cython.Py_ssize_t = minus.shape[0] + plus.shape[0]
        others: cython.longlong[::1]
        logs: Logs
        if n_shifted == 0:
            return
        if self._n_cells:
            logs = tabulated_logs()
            with cython.nogil:
                self._shift_tables(coded, minus, scope, logs, -1)
                self._shift_tables(coded, plus, scope, logs, 1)
        else:
            others = staying() if callable(staying) else staying
            if n_shifted * _effort(self.n_pairs, scope.shape[0], coded.codes.shape[1]) > self.n_pairs:
                self._count_anew(coded, _joined(others, plus, 0), scope)
            else:
                self._shift_row_by_row(coded, others, minus, plus, scope)
        self.n_records += plus.shape[0] - minus.shape[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add_to_hash(
        self, coded: CodedRows, u: cython.Py_ssize_t, v: cython.Py_ssize_t, value: cython.ulonglong
    ) -> cython.void:
        """Add what has changed at a pair of variables."""
        name: cython.ulonglong
        if value:
            name = cell_hash(coded.prints[u, 0], coded.prints[v, 0])
            self.low += value * name
            self.high += value * mix64(name)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _shift_tables(
        self,
        coded: CodedRows,
        rows: cython.longlong[::1],
        scope: cython.longlong[::1],
        logs: Logs,
        sign: cython.longlong,
    ) -> cython.void:
        """Count rows in, or out, where there are tables."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        u: cython.Py_ssize_t
        v: cython.Py_ssize_t
        n_rows: cython.Py_ssize_t
        n_columns: cython.Py_ssize_t
        before: cython.ulonglong
        pair: PairPointer
        table: cython.p_longlong = self._cells
        if rows.shape[0] == 0:
            return
        for k in range(self.n_pairs):
            pair = pair_at(self._words, k)
            u, v = scope[pair.hub], scope[pair.other]
            n_rows, n_columns = coded.sizes[u], coded.sizes[v]
            before = value_of(pair)
            if _CELLS_FOR_A_ROW * rows.shape[0] < n_rows * n_columns:
                for i in range(rows.shape[0]):
                    _shift_cell(
                        pair,
                        table,
                        n_rows,
                        n_columns,
                        coded.codes[rows[i], u],
                        coded.codes[rows[i], v],
                        logs,
                        sign,
                    )
            else:
                for i in range(rows.shape[0]):
                    table[coded.codes[rows[i], u] * n_columns + coded.codes[rows[i], v]] += sign
                set_association(pair, g_statistic(table, n_rows, n_columns, logs))
            self._add_to_hash(coded, u, v, value_of(pair) - before)
            table += n_rows * n_columns

    @cython.cfunc
    def _shift_row_by_row(
        self,
        coded: CodedRows,
        staying: cython.longlong[::1],
        minus: cython.longlong[::1],
        plus: cython.longlong[::1],
        scope: cython.longlong[::1],
    ) -> cython.void:
        """Count rows out and others in, one after another, where there are no tables."""
        k: cython.Py_ssize_t
        rows: cython.longlong[::1] = _joined(staying, minus, plus.shape[0])
        first: cython.p_longlong = cython.address(rows[0])
        n_rows: cython.Py_ssize_t = rows.shape[0] - plus.shape[0]
        agreement: Agreement = Agreement(rows.shape[0], coded.codes.shape[1])
        logs: Logs = tabulated_logs()
        with cython.nogil:
            while n_rows > staying.shape[0]:
                n_rows -= 1
                self._shift_row(coded, first, n_rows, rows[n_rows], scope, logs, agreement, -1)
            for k in range(plus.shape[0]):
                self._shift_row(coded, first, n_rows, plus[k], scope, logs, agreement, 1)
                rows[n_rows] = plus[k]
                n_rows += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _shift_row(
        self,
        coded: CodedRows,
        rows: cython.p_const_longlong,
        n_rows: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        scope: cython.longlong[::1],
        logs: Logs,
        agreement: Agreement,
        sign: cython.longlong,
    ) -> cython.void:
        """Count a row in, or out, where there are no tables: the first `n_rows` of `rows` are all the others."""
        k: cython.Py_ssize_t
        u: cython.Py_ssize_t
        v: cython.Py_ssize_t
        in_row: cython.longlong
        in_column: cython.longlong
        before: cython.ulonglong
        pair: PairPointer
        agreement.compare_first(coded, rows, n_rows, row)
        for k in range(self.n_pairs):
            pair = pair_at(self._words, k)
            u, v = scope[pair.hub], scope[pair.other]
            if coded.codes[row, u] == 0 or coded.codes[row, v] == 0:
                continue
            before = value_of(pair)
            in_row = agreement.alike[u] - agreement.count_absent(u, v)
            in_column = agreement.alike[v] - agreement.count_absent(v, u)
            _gain(pair, agreement.count_both(u, v), in_row, in_column, logs, sign)
            if in_row == 0 or in_column == 0:
                pair.freedom = _count_freedom(coded, rows, n_rows, row if sign > 0 else -1, u, v)
            self._add_to_hash(coded, u, v, value_of(pair) - before)

    @cython.cfunc
    def _count_anew(self, coded: CodedRows, rows: cython.longlong[::1], scope: cython.longlong[::1]) -> cython.void:
        """Ask the same pairs of other rows."""
        i: cython.Py_ssize_t
        end: cython.Py_ssize_t
        asking: cython.Py_ssize_t
        before: cython.ulonglong
        pair: PairPointer
        start: cython.Py_ssize_t = 0
        n_pairs: cython.Py_ssize_t = self.n_pairs
        hub: Hub = Hub(coded, rows, scope.shape[0])
        logs: Logs = tabulated_logs()
        while start < n_pairs:
            asking = pair_at(self._words, start).hub
            hub.begin(scope[asking])
            end = start
            while end < n_pairs and pair_at(self._words, end).hub == asking:
                hub.add(scope[pair_at(self._words, end).other])
                end += 1
            hub.count()
            with cython.nogil:
                for i in range(end - start):
                    pair = pair_at(self._words, start + i)
                    before = value_of(pair)
                    set_association(pair, hub.associate(i, logs))
                    self._add_to_hash(coded, hub.variable, hub.others[i], value_of(pair) - before)
            start = end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _gain(
    pair: PairPointer,
    in_cell: cython.longlong,
    in_row: cython.longlong,
    in_column: cython.longlong,
    logs: Logs,
    sign: cython.longlong,
) -> cython.void:
    """Count a row in, or out, that has both variables, given how many others have its codes."""
    others: cython.longlong = pair.total if sign > 0 else pair.total - 1
    pair.half_g += sign * gain_of_g(in_cell, in_row, in_column, others, logs)
    pair.total += sign


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift_cell(
    pair: PairPointer,
    cells: cython.p_longlong,
    n_rows: cython.Py_ssize_t,
    n_columns: cython.Py_ssize_t,
    a: cython.Py_ssize_t,
    b: cython.Py_ssize_t,
    logs: Logs,
    sign: cython.longlong,
) -> cython.void:
    """Count one row in, or out, in the table of a pair."""
    c: cython.Py_ssize_t
    in_row: cython.longlong = 0
    in_column: cython.longlong = 0
    in_cell: cython.longlong
    cells[a * n_columns + b] += sign
    if a == 0 or b == 0:
        return
    in_cell = cells[a * n_columns + b]
    for c in range(1, n_columns):
        in_row += cells[a * n_columns + c]
    for c in range(1, n_rows):
        in_column += cells[c * n_columns + b]
    if sign > 0:  # the row itself is not one of the others
        in_cell, in_row, in_column = in_cell - 1, in_row - 1, in_column - 1
    _gain(pair, in_cell, in_row, in_column, logs, sign)
    if in_row == 0 or in_column == 0:
        pair.freedom = g_statistic(cells, n_rows, n_columns, logs).freedom


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_freedom(
    coded: CodedRows,
    rows: cython.p_const_longlong,
    n_rows: cython.Py_ssize_t,
    more: cython.Py_ssize_t,
    u: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
) -> cython.longlong:
    """Count the degrees of freedom of two variables' table, without the table; of one more row too, unless it is -1."""
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    a: cython.uchar
    b: cython.uchar
    n_rows_filled: cython.longlong = 0
    n_columns_filled: cython.longlong = 0
    fills_row = cython.declare(cython.uchar[MOST_CODES])
    fills_column = cython.declare(cython.uchar[MOST_CODES])
    memset(fills_row, 0, MOST_CODES)
    memset(fills_column, 0, MOST_CODES)
    for i in range(n_rows + 1):
        row = rows[i] if i < n_rows else more
        if row < 0:
            continue
        a, b = coded.codes[row, u], coded.codes[row, v]
        if a and b:
            n_rows_filled += not fills_row[a]
            n_columns_filled += not fills_column[b]
            fills_row[a] = fills_column[b] = 1
    return degrees_of_freedom(n_rows_filled, n_columns_filled)


@cython.cfunc
def _joined(rows: cython.longlong[::1], more: cython.longlong[::1], room: cython.Py_ssize_t) -> cython.longlong[::1]:
    """Return some rows and more behind them, with room for others."""
    i: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t = rows.shape[0]
    joined: cython.longlong[::1] = np.empty(n_rows + more.shape[0] + room, np.int64)
    if n_rows:
        memcpy(cython.address(joined[0]), cython.address(rows[0]), n_rows * cython.sizeof(cython.longlong))
    for i in range(more.shape[0]):
        joined[n_rows + i] = more[i]
    return joined


@cython.cfunc
@cython.cdivision(True)
def _effort(n_pairs: cython.Py_ssize_t, width: cython.Py_ssize_t, n_columns: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Estimate what it takes to shift a row, for each other row, where to count anew takes the number of pairs.

    Rows are compared in all columns, many at once; bits are then counted for each pair.
    """
    n_hubs: cython.Py_ssize_t = 1 + 2 * n_pairs // width
    return 1 + n_columns // 8 + n_hubs * n_columns // 32


@cython.cfunc
@cython.exceptval(check=False)
def _first_of_group(parents: cython.longlong[::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i

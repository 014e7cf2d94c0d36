"""Nodes as bytes, one by one, and back: for whoever stores a network.

Statistics of building blocks of users' own, and those of leaves, are learned again from the rows on reading.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.clustering import QKMeans
from unlearnspn.rows.row_set import RowSet
from unlearnspn.slices import Rows, Scope
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Factor, Node, Place
from unlearnspn.spn.operations import Operation
from unlearnspn.statistics.clusters import Clusters
from unlearnspn.statistics.marginals import Marginals
from unlearnspn.statistics.pairs import AskedPairs
from unlearnspn.statistics.trees import TreeHashes

_OPERATIONS = tuple(Operation)
_NUMBERS = {operation: number for number, operation in enumerate(_OPERATIONS)}
#: Operation, number of records, whether the variables are connected, whether the node is a cluster; and its key.
_HEAD, _KEY, _LENGTH, _MEMBERS = Struct("<4q"), Struct("<Q"), Struct("<q"), Struct("<2Q")
#: In place of a length: there are no statistics, or they are to be learned again.
_NONE, _LEARNED_AGAIN = -1, -2


def dump_node(node: Node) -> bytes:
    """Return a node as bytes; its children are named by the numbers under which they are stored."""
    place = node.place
    head = _HEAD.pack(_NUMBERS[node.operation], node.n_records, place.connected, place.keeps_rows)
    parts = [head, _KEY.pack(place.key)]
    parts += _with_length(_words(place.scope))
    parts += _with_length(node.informative.tobytes())
    parts += _with_length(node.marginals.dump())
    parts += _dump_statistics(node.independence, AskedPairs)
    parts += _dump_statistics(node.clustering, Clusters)
    parts += [_LENGTH.pack(_NONE)] if node.rows is None else _dump_rows(node.rows)
    parts += _with_length(_words([child.number for child in node.children]))
    parts += _with_length(_words(node.clusters))
    parts += [_LENGTH.pack(len(node.factors))]
    for factor in node.factors:
        parts += _with_length(_words(factor.scope))
        parts += _dump_statistics(factor.statistics, TreeHashes)
    return b"".join(parts)


def load_network(learner: Learner, read: Callable[[int], bytes], number: int, rows: Rows) -> Node:
    """Return a node and all below it, given how their bytes are read by number; `rows` are those of all records.

    Raise a `ValueError` if the bytes cannot be those of a network: compiled statistics trust in what they are given.
    """
    try:
        root = _load(read, number, set())
    except (StructError, LookupError, TypeError, OverflowError) as error:
        raise ValueError(f"a node is not written as nodes are: {error}") from error
    _check_network(learner, root, rows)
    return _learn_again(learner, root, rows)


class _Again(NamedTuple):
    """Stands for statistics that are to be learned again."""


def _load(read: Callable[[int], bytes], number: int, known: set[int]) -> Node:
    _require(number not in known, "stands in two places")
    known.add(number)
    reader = _Reader(read(number))
    operation, n_records, connected, keeps_rows = reader.take(_HEAD)
    (key,) = reader.take(_KEY)
    place = Place(reader.words(), key, bool(keeps_rows), bool(connected))
    informative = np.frombuffer(reader.part(), np.uint8).copy()
    marginals = Marginals.load(reader.part())
    independence, clustering = reader.statistics(AskedPairs), reader.statistics(Clusters)
    kept = _load_rows(reader.part())
    children = [_load(read, child, known) for child in reader.words().tolist()]
    clusters = tuple(reader.words().tolist())
    (n_factors,) = reader.take(_LENGTH)
    factors = tuple([Factor(reader.words(), reader.statistics(TreeHashes)) for _ in range(n_factors)])
    fields = (marginals, informative, independence, clustering, kept, children, clusters, factors)
    node = Node(_OPERATIONS[operation], place, n_records, *fields)
    node.number, node.is_stored = number, True
    return node


def _check_network(learner: Learner, root: Node, rows: Rows) -> None:
    """Raise unless the nodes of a network have the sizes that they must have, and only rows that there are."""
    everything = np.arange(len(learner.leaves))
    _require(np.array_equal(root.scope, everything) and not root.place.keeps_rows, "is not that of all variables")
    pending = [(root, everything)]
    while pending:
        node, around = pending.pop()
        _require(_is_part(node.scope, around) and node.n_records > 0, "has variables or records that there are not")
        _check_statistics(learner, node, rows)
        is_split = node.operation is Operation.SPLIT_DATA
        _require(len(node.clusters) == (len(node.children) if is_split else 0), "has other clusters than children")
        _require(not is_split or len(node.children) > 0, "splits nothing")
        for factor in node.factors:
            _require(_is_part(factor.scope, node.scope), "has leaves of variables that it has not")
        for child in node.children:
            _require(child.place.keeps_rows == is_split, "does not hand its rows on")
            pending.append((child, node.scope))


def _check_statistics(learner: Learner, node: Node, rows: Rows) -> None:
    coded, scope = learner.coded, node.scope
    _require(node.informative.size == scope.size and int(node.informative.max()) < 2, "tells of other variables")
    _require(node.marginals.fits(coded, scope), "counts other codes than there are")
    keeps_rows = node.place.keeps_rows and node.operation is not Operation.SPLIT_DATA
    _require((node.rows is not None) == keeps_rows, "does not keep the rows that it should")
    _require(node.rows is None or _is_part(node.rows.rows, rows), "has rows that there are not")
    if isinstance(node.independence, AskedPairs):
        _require(node.independence.fits(coded, scope), "has asked pairs that there are not")
    if isinstance(node.clustering, Clusters):
        clustering = learner.clustering
        _require(isinstance(clustering, QKMeans), "has clusters of another kind")
        space = clustering.space(learner.slice(scope, node.key))  # type: ignore[attr-defined]
        _require(node.clustering.fits(space, rows), "has clusters that there cannot be")


def _is_part(numbers: Scope, others: Scope) -> bool:
    """Tell whether numbers are in increasing order, at least one, and all of them among others."""
    return numbers.size > 0 and bool((np.diff(numbers) > 0).all()) and bool(np.isin(numbers, others).all())


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"a node {what}")


def _learn_again(learner: Learner, node: Node, rows: Rows) -> Node:
    """Learn the statistics of a node and of all below it that were not stored."""
    if node.rows is not None:
        rows = node.rows.rows
    data = learner.slice(node.scope, node.key)
    if isinstance(node.independence, _Again):
        node.independence = learner.independence.learn(data, rows)
    if isinstance(node.clustering, _Again):
        node.clustering = learner.clustering.learn(data, rows)
    is_split = node.operation is Operation.SPLIT_DATA
    for child in node.children:
        _learn_again(learner, child, np.sort(child.gather_rows()) if is_split else rows)
    node.factors = tuple([_factor_again(learner, factor, rows) for factor in node.factors])
    return node


def _factor_again(learner: Learner, factor: Factor, rows: Rows) -> Factor:
    return learner.learn_factor(factor.scope, rows) if isinstance(factor.statistics, _Again) else factor


class _Reader:
    """Reads bytes from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: Struct) -> tuple[Any, ...]:
        """Return the next numbers."""
        found = form.unpack_from(self._data, self._at)
        self._at += form.size
        return found

    def part(self) -> bytes:
        """Return the next bytes, whose length comes first; nothing if there are none."""
        (length,) = self.take(_LENGTH)
        return b"" if length == _NONE else self._next(length)

    def words(self) -> Scope:
        """Return the next whole numbers."""
        return np.frombuffer(self.part(), "<i8").astype(np.int64)

    def statistics(self, kind: Any) -> Any:
        """Return the next statistics, which are of some kind, none, or to be learned again."""
        (length,) = self.take(_LENGTH)
        if length == _LEARNED_AGAIN:
            return _Again()
        return None if length == _NONE else kind.load(self._next(length))

    def _next(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]


def _words(numbers: Any) -> bytes:
    return np.asarray(numbers, "<i8").tobytes()


def _with_length(data: bytes) -> list[bytes]:
    return [_LENGTH.pack(len(data)), data]


def _dump_statistics(statistics: Any, kind: Any) -> list[bytes]:
    if statistics is None:
        return [_LENGTH.pack(_NONE)]
    return _with_length(statistics.dump()) if type(statistics) is kind else [_LENGTH.pack(_LEARNED_AGAIN)]


def _dump_rows(rows: RowSet) -> list[bytes]:
    return _with_length(_MEMBERS.pack(*rows.members) + _words(rows.rows))


def _load_rows(data: bytes) -> RowSet | None:
    if not data:
        return None
    rows = np.frombuffer(data, "<i8", offset=_MEMBERS.size).astype(np.int64)
    return RowSet(rows, _MEMBERS.unpack_from(data))

"""Nodes as Python knows them, written as blocks of words and read from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from unlearnspn.blocks import (
    CLUSTERING,
    CONNECTED,
    HEAD,
    INDEPENDENCE,
    KEY,
    LENGTH,
    MARGINALS,
    MARGINALS_HASH,
    MEMBERS,
    N_LEAVES,
    N_PARTS,
    N_RECORDS,
    N_ROWS,
    OPERATION,
    PARENT,
    ROOM,
    ROWS,
    TREE,
    TREE_WORDS,
    WIDTH,
    Inside,
    rows_at,
)
from unlearnspn.compiling import as_written
from unlearnspn.exact_sum import Words
from unlearnspn.network import Factor, Node, Operation
from unlearnspn.slices import Flags

_read_rows = as_written(rows_at)
#: Operations by number.
OPERATIONS = tuple(Operation)
_NUMBERS = {operation: number for number, operation in enumerate(OPERATIONS)}
#: A word as a number without a sign.
MASK = (1 << 64) - 1


def block_of(
    node: Node,
    parts: Sequence[int],
    marginals_hash: Words,
    rows: tuple[int, int, int],
    inside: Inside,
    put_outside: Callable[[Any], int],
) -> Words:
    """Return the block of a node that stands nowhere yet.

    Its parts and its rows lie in the array already: of the rows is given where, how many, and with room for how many.
    """
    assert node.marginals is not None
    assert node.informative is not None
    statistics: list[Words] = []
    end = HEAD + 2 * node.scope.size + 2 * len(parts) + 2 * len(node.factors)

    def place(found: Any, is_inside: bool) -> int:
        nonlocal end
        if found is None:
            return 0
        if not is_inside:
            return put_outside(found)
        statistics.append(found)
        end += found.size
        return int(end - found.size)

    places = [
        place(node.marginals, True),
        place(node.independence, inside.independence),
        place(node.clustering, inside.clustering),
    ]
    leaves = []
    for factor in node.factors:
        is_inside = inside.has(factor.scope)
        variable = int(factor.scope[0]) if factor.scope.size == 1 else TREE
        leaves += [variable, place(factor.statistics if is_inside else factor, is_inside)]
    head = np.zeros(HEAD, np.int64)
    head[OPERATION], head[KEY], head[N_RECORDS] = _NUMBERS[node.operation], _signed(node.key), node.n_records
    head[PARENT], head[CONNECTED], head[LENGTH] = -1, node.connected, end
    head[WIDTH], head[N_PARTS], head[N_LEAVES] = node.scope.size, len(parts), len(node.factors)
    head[MARGINALS], head[INDEPENDENCE], head[CLUSTERING] = places
    head[MARGINALS_HASH : MARGINALS_HASH + 2] = marginals_hash
    head[MEMBERS : MEMBERS + 2] = [_signed(number) for number in node.members]
    head[ROWS], head[N_ROWS], head[ROOM] = rows
    tail = [*parts, *(node.clusters or (0,) * len(parts)), *leaves]
    return np.concatenate([head, node.scope, node.informative, np.array(tail, np.int64), *statistics])


class _Block:
    """A block that is being read."""

    def __init__(self, words: Words, at: int, outside: Mapping[int, Any]) -> None:
        self.head: list[int] = words[at : at + HEAD].tolist()
        self._words = words[at : at + self.head[LENGTH]]
        self._outside = outside
        first, self._n_parts = HEAD + 2 * self.head[WIDTH], self.head[N_PARTS]
        self._tail: list[int] = self._words[first : first + 2 * self._n_parts + 2 * self.head[N_LEAVES]].tolist()

    @cached_property
    def _ends(self) -> dict[int, int]:
        """Where statistics end: they lie one after another, so each does where the next one starts."""
        places = (*self.head[MARGINALS : CLUSTERING + 1], *self._leaves[1::2], self.head[LENGTH])
        return dict(pairwise(sorted([place for place in places if place > 0])))

    @property
    def scope(self) -> Words:
        return self._words[HEAD : HEAD + self.head[WIDTH]].copy()

    @property
    def informative(self) -> Flags:
        width = self.head[WIDTH]
        return np.asarray(self._words[HEAD + width : HEAD + 2 * width] == 1)

    @property
    def parts(self) -> list[int]:
        return self._tail[: self._n_parts]

    @property
    def numbers(self) -> list[int]:
        return self._tail[self._n_parts : 2 * self._n_parts]

    @property
    def _leaves(self) -> list[int]:
        return self._tail[2 * self._n_parts :]

    def found(self, place: int) -> Any:
        """Return a copy of statistics, or those that lie outside; None if there are none."""
        if place == 0:
            return None
        return self._outside[-place - 1] if place < 0 else self._words[place : self._ends[place]].copy()

    def factors(self, scope: Words) -> list[Factor]:
        """Return the leaves, given the node's variables."""
        leaves = self._leaves
        factors, alone = [], leaves[::2]
        for variable, place in zip(alone, leaves[1::2], strict=True):
            if place < 0:
                factors.append(self.found(place))
            elif variable != TREE:
                factors.append(Factor(np.array([variable], np.int64), self.found(place)))
            else:
                together = scope if len(leaves) == 2 else scope[~np.isin(scope, alone)]
                factors.append(Factor(together, self._words[place : place + TREE_WORDS].copy()))
        return factors


def read_leaves(words: Words, at: int, outside: Mapping[int, Any]) -> list[Factor]:
    """Return the leaves of a node; their statistics are copies."""
    block = _Block(words, at, outside)
    return block.factors(block.scope)


def read_block(words: Words, at: int, outside: Mapping[int, Any]) -> Node:
    """Return a node whose parts are numbers; its statistics are copies."""
    block = _Block(words, at, outside)
    head, scope, operation = block.head, block.scope, OPERATIONS[block.head[OPERATION]]
    factors = block.factors(scope)
    return Node(
        operation,
        head[KEY] & MASK,
        scope,
        head[N_RECORDS],
        parts=tuple(block.parts),  # type: ignore[arg-type]
        clusters=tuple(block.numbers) if operation is Operation.SPLIT_DATA else (),
        factors=tuple(factors),
        marginals=block.found(head[MARGINALS]),
        informative=block.informative,
        independence=block.found(head[INDEPENDENCE]),
        clustering=block.found(head[CLUSTERING]),
        statistics=factors[0].statistics if operation is Operation.CREATE_LEAF else None,
        rows=None if head[ROWS] < 0 else _read_rows(words, at).copy(),
        members=(head[MEMBERS] & MASK, head[MEMBERS + 1] & MASK),
        connected=bool(head[CONNECTED]),
    )


def _signed(number: int) -> int:
    """Return a number of 64 bits as a word."""
    return number - (1 << 64) if number >> 63 else number

"""Nodes as Python knows them, written as blocks of words and read from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    WIDTH,
    Inside,
    rows_at,
)
from unlearnspn.compiling import as_written
from unlearnspn.exact_sum import Words
from unlearnspn.network import Factor, Node, Operation

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


def read_block(words: Words, at: int, outside: Mapping[int, Any]) -> Node:
    """Return a node whose parts are numbers; its statistics are copies."""
    head = words[at : at + HEAD].tolist()
    block = words[at : at + head[LENGTH]]
    width, n_parts = head[WIDTH], head[N_PARTS]
    scope, informative = block[HEAD : HEAD + width].copy(), block[HEAD + width : HEAD + 2 * width] == 1
    first = HEAD + 2 * width
    tail = block[first : first + 2 * n_parts + 2 * head[N_LEAVES]].tolist()
    parts, numbers, leaves = tail[:n_parts], tail[n_parts : 2 * n_parts], tail[2 * n_parts :]
    # Statistics lie one after another: each ends where the next one starts.
    starts = sorted(p for p in (*head[MARGINALS : CLUSTERING + 1], *leaves[1::2], head[LENGTH]) if p > 0)
    ends = dict(pairwise(starts))

    def found(place: int) -> Any:
        if place == 0:
            return None
        return outside[-place - 1] if place < 0 else block[place : ends[place]].copy()

    factors, alone = [], set(leaves[::2])
    for variable, place in zip(leaves[::2], leaves[1::2], strict=True):
        if place < 0:
            factors.append(found(place))
        else:
            own = [variable] if variable != TREE else [v for v in scope.tolist() if v not in alone]
            factors.append(Factor(np.array(own, np.int64), found(place)))
    operation = OPERATIONS[head[OPERATION]]
    return Node(
        operation,
        head[KEY] & MASK,
        scope,
        head[N_RECORDS],
        parts=tuple(parts),
        clusters=tuple(numbers) if operation is Operation.SPLIT_DATA else (),
        factors=tuple(factors),
        marginals=found(head[MARGINALS]),
        informative=informative,
        independence=found(head[INDEPENDENCE]),
        clustering=found(head[CLUSTERING]),
        statistics=factors[0].statistics if operation is Operation.CREATE_LEAF else None,
        rows=None if head[ROWS] < 0 else _read_rows(words, at).copy(),
        members=(head[MEMBERS] & MASK, head[MEMBERS + 1] & MASK),
        connected=bool(head[CONNECTED]),
    )


def _signed(number: int) -> int:
    """Return a number of 64 bits as a word."""
    return number - (1 << 64) if number >> 63 else number

"""Trees node by node: how they are read, pruned, packed, and taken apart into sums and products.

For whatever makes one tree of another; questions about rows are answered by `tree_messages` and `tree_lookup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import (
    N_INPUTS,
    N_STATES,
    ONE,
    PARENT,
    Expression,
    Input,
    Inputs,
    Parameters,
    Product,
    Sum,
    Tree,
    mixture,
)

#: Below this a sum of probabilities has lost bits.
_LEAST = 1e-250


class TreeNode(NamedTuple):
    """A node of a tree."""

    #: Its number among the nodes, smaller than the node's own; -1 for the first.
    parent: int
    #: The log-probability of each of its states, a line for each state of its parent; None if it has no states.
    log_table: Parameters | None
    #: For each of its states the distribution of its variable, or for each of its parent's states if it has none; none
    #: if the node is hidden.
    inputs: tuple[Expression, ...]


def table_sizes(nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return how many log-probabilities each node has, given the lines of `Tree.nodes` of one or several trees."""
    firsts = np.maximum.accumulate(np.where(nodes[:, PARENT] < 0, np.arange(len(nodes)), 0))
    states = nodes[:, N_STATES].astype(np.int64)
    of_parents = np.where(nodes[:, PARENT] < 0, 1, states[firsts + nodes[:, PARENT]])
    return of_parents * states


def unpack(nodes: npt.NDArray[np.int32], log_tables: Parameters, inputs: Sequence[Expression]) -> list[TreeNode]:
    """Return the nodes of a tree."""
    tables = np.split(log_tables, np.cumsum(table_sizes(nodes))[:-1])
    input_starts = pairwise([0, *np.cumsum(nodes[:, N_INPUTS]).tolist()])
    lines = zip(nodes.tolist(), tables, input_starts, strict=True)
    return [
        TreeNode(parent, table.reshape(-1, n_states) if n_states else None, tuple(inputs[start:end]))
        for (parent, n_states, _), table, (start, end) in lines
    ]


def pack(nodes: Sequence[TreeNode]) -> Tree:
    """Return the tree of some nodes, whose distributions are inputs."""
    lines = [(parent, 0 if table is None else table.shape[1], len(inputs)) for parent, table, inputs in nodes]
    tables = [node.log_table.ravel() for node in nodes if node.log_table is not None]
    inputs = [part for node in nodes for part in node.inputs if isinstance(part, Input)]
    return Tree(np.array(lines, np.int32), np.concatenate(tables), Inputs.pack(inputs))


def prune(nodes: Sequence[TreeNode]) -> Expression:
    """Return a tree as an expression, without states that are impossible and without hidden nodes that say nothing."""
    left = _without_hidden(_without_impossible(nodes))
    if not left:
        return ONE
    first = left[0]
    if len(left) == 1 and first.log_table is not None:
        return mixture(first.inputs, first.log_table[0].tolist())
    return pack(left)


def _without_impossible(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """Leave out the states that no possible state of the parent leads to."""
    left: list[TreeNode] = []
    possible: list[npt.NDArray[np.bool_]] = []
    for parent, table, inputs in nodes:
        lines = possible[parent] if parent >= 0 else np.ones(1, np.bool_)
        own = lines if table is None else np.asarray((table[lines] > -np.inf).any(axis=0))
        kept = tuple([part for part, keep in zip(inputs, own, strict=False) if keep])
        left.append(TreeNode(parent, None if table is None else table[lines][:, own], kept))
        possible.append(own)
    return left


def _without_hidden(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """Leave out hidden nodes but those that several others depend on; a distribution of nothing is none."""
    left: dict[int, TreeNode] = {}
    children: list[list[int]] = [[] for _ in nodes]
    for number in reversed(range(len(nodes))):
        node = nodes[number]
        if all(part is ONE for part in node.inputs):
            node = node._replace(inputs=())
        if not node.inputs and len(children[number]) == 1:
            (only,) = children[number]
            node, children[number] = _joined(node, left.pop(only)), children[only]
            for child in children[number]:
                left[child] = left[child]._replace(parent=number)
        if node.inputs or children[number]:
            left[number] = node
            if node.parent >= 0:
                children[node.parent].append(number)
    numbers = {number: place for place, number in enumerate(sorted(left))}
    numbers[-1] = -1
    return [left[number]._replace(parent=numbers[left[number].parent]) for number in sorted(left)]


def _joined(hidden: TreeNode, child: TreeNode) -> TreeNode:
    """Return a node that is like the only child of a hidden one, in the place of both."""
    if child.log_table is None:
        return hidden._replace(inputs=child.inputs)
    assert hidden.log_table is not None
    return TreeNode(hidden.parent, _log_product(hidden.log_table, child.log_table), child.inputs)


def _log_product(left: Parameters, right: Parameters) -> Parameters:
    """Return the logarithm of a product of matrices of probabilities, given theirs."""
    tops = left.max(axis=1, keepdims=True), right.max(axis=0, keepdims=True)
    # A column without any probability has no top.
    tops[1][tops[1] == -np.inf] = 0.0
    totals = np.exp(left - tops[0]) @ np.exp(right - tops[1])
    with np.errstate(divide="ignore"):
        result = np.log(totals) + tops[0] + tops[1]
    for line, column in np.argwhere(totals < _LEAST).tolist():
        result[line, column] = np.logaddexp.reduce(left[line] + right[:, column])
    return np.asarray(result)


def unroll(nodes: Sequence[TreeNode]) -> Expression:
    """Return a tree as sums and products.

    A node's states are the parts of a sum for each state of its parent. Each part is a product: of what its variable is
    in this state, of the children that have no states, and of a sum for each of the others. What follows from a state
    is the same whatever led to it, and one part of the circuit.
    """
    children: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes[1:], 1):
        children[node.parent].append(number)
    parts: dict[int, tuple[Expression, ...]] = {}
    for number in reversed(range(len(nodes))):
        if nodes[number].log_table is not None:
            parts[number] = _parts(nodes, number, children[number], parts)
    return _sum(nodes[0], 0, parts[0])


def _parts(
    nodes: Sequence[TreeNode], number: int, children: Sequence[int], parts: dict[int, tuple[Expression, ...]]
) -> tuple[Expression, ...]:
    """Return what a node and all below it are given each of its states."""
    node, made = nodes[number], []
    assert node.log_table is not None
    for state in range(node.log_table.shape[1]):
        inputs = [nodes[child].inputs[state] for child in children if nodes[child].log_table is None]
        inner = [_sum(nodes[child], state, parts[child]) for child in children if child in parts]
        made.append(_product([*node.inputs[state : state + 1], *inputs], inner))
    return tuple(made)


def _product(inputs: Sequence[Expression], inner: Sequence[Expression]) -> Expression:
    if len(inputs) + len(inner) == 1:
        return [*inputs, *inner][0]
    return Product(Inputs.pack([part for part in inputs if isinstance(part, Input)]), tuple(inner))


def _sum(node: TreeNode, state: int, parts: tuple[Expression, ...]) -> Expression:
    """Mix the parts of a node given a state of its parent."""
    assert node.log_table is not None
    return Sum(parts, tuple(node.log_table[state].tolist()))

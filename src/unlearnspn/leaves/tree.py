"""From pair tables to a Chow-Liu tree: which variable follows which, and how likely it is to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.leaves.edge_tables import Alphabets, EdgeTables, alphabets_of, edge_tables, find_pairs
from unlearnspn.leaves.spanning_tree import maximum_spanning_tree, pair_gains
from unlearnspn.slices import Counts, Flags, Scope

Floats = npt.NDArray[np.float64]


class TreeData(NamedTuple):
    """What a tree follows from."""

    scope: Scope
    #: The tables of all pairs of the scope's variables, one after another.
    cells: Counts
    #: The parameters of a number's parts, a line for each, variable after variable; and where each variable's start.
    in_bins: Floats
    first_bins: Counts
    #: Of all variables of the table: how many codes they have, what they can be, and which are numbers.
    sizes: Counts
    alphabets: Alphabets
    is_numeric: Flags
    alpha: float
    beta: float


class Tree(NamedTuple):
    """A tree of the variables of a scope, by position, with its probabilities."""

    scope: Scope
    parents: Counts
    #: Parents before children.
    order: Counts
    alphabets: Alphabets
    tables: EdgeTables
    is_numeric: Flags
    in_bins: Floats
    first_bins: Counts


def learn_tree(data: TreeData) -> Tree:
    """Find the tree."""
    alphabets, pairs = alphabets_of(data.scope, data.alphabets), find_pairs(data.cells, data.scope, data.sizes)
    parents, order = maximum_spanning_tree(pair_gains(pairs))
    tables = edge_tables(pairs, alphabets, parents, data.alpha, data.beta)
    is_numeric = data.is_numeric[data.scope]
    return Tree(data.scope, parents, order, alphabets, tables, is_numeric, data.in_bins, data.first_bins)

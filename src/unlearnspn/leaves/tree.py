"""From counts to a tree: which variable depends on which others, and how likely it is given these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.leaves.contexts import Codes, Contexts, find_contexts
from unlearnspn.leaves.edge_tables import Alphabets, EdgeTables, alphabets_of, edge_tables
from unlearnspn.leaves.spanning_tree import maximum_spanning_tree, pair_gains
from unlearnspn.slices import Counts, Flags, Scope
from unlearnspn.statistics.pair_tables import PairTables

Floats = npt.NDArray[np.float64]


class TreeData(NamedTuple):
    """What a tree follows from."""

    scope: Scope
    #: The codes of all records, [variable, record]; the tables of pairs, and which of their variables these are.
    codes: Codes
    tables: PairTables
    positions: Counts
    #: The parameters of a number's parts, a line for each, variable after variable; and where each variable's start.
    in_bins: Floats
    first_bins: Counts
    #: Of all variables of the table: what they can be, and which are numbers.
    alphabets: Alphabets
    is_numeric: Flags
    alpha: float
    beta: float
    order: int
    penalty: float


class Tree(NamedTuple):
    """A tree of the variables of a scope, by position, with its probabilities."""

    scope: Scope
    #: Parents, ancestors that variables depend on, and their values.
    contexts: Contexts
    #: The variables in the order in which they joined the tree: parents before children.
    joined: Counts
    alphabets: Alphabets
    tables: EdgeTables
    is_numeric: Flags
    in_bins: Floats
    first_bins: Counts


def learn_tree(data: TreeData) -> Tree:
    """Find the tree."""
    alphabets = alphabets_of(data.scope, data.alphabets)
    gains, is_numeric = pair_gains(data.tables, data.positions), data.is_numeric[data.scope]
    parents, joined = maximum_spanning_tree(gains)
    contexts = find_contexts(
        data.codes,
        alphabets.starts,
        alphabets.codes,
        is_numeric,
        parents,
        joined,
        gains,
        data.order,
        data.penalty,
    )
    tables = edge_tables(contexts, alphabets, data.alpha, data.beta)
    return Tree(data.scope, contexts, joined, alphabets, tables, is_numeric, data.in_bins, data.first_bins)

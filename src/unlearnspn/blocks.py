"""How a node lies in memory: a block of words, so that compiled code can walk the network and shift its statistics.

A block has a head, then its scope, which of its variables are informative, its sub-networks (where their blocks start)
with their cluster numbers, its leaves (two words each: the variable, or -1 for a tree of all others, and where the
statistics are), and then the statistics themselves: marginals, independence, clustering, and of leaves: moments, or the
hashes of a tree's pairs and values. Rows lie in a stretch of their own.

A statistic that only Python can revise lies outside; a negative number in place of where it starts names it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import kernel
from unlearnspn.exact_sum import Words

#: Operations by number.
CREATE_LEAF, NAIVE_FACTORIZATION, SPLIT_UNINFORMATIVE, SPLIT_DATA, SPLIT_VARIABLES = range(5)

OPERATION = 0
KEY = 1
N_RECORDS = 2
#: Where the parent's block starts; -1 for the root.
PARENT = 3
#: Whether the parent split variables, so that these belong together.
CONNECTED = 4
#: The length of the whole block.
LENGTH = 5
WIDTH = 6
N_PARTS = 7
N_LEAVES = 8
#: Where statistics start in the block; 0 if there are none.
MARGINALS = 9
INDEPENDENCE = 10
CLUSTERING = 11
#: Where the rows start; -1 if the node keeps none.
ROWS = 12
N_ROWS = 13
ROOM = 14
#: Two words each: fingerprints of the rows kept, and of the marginals.
MEMBERS = 15
MARGINALS_HASH = 17
#: Whether the digests that are known of the node still hold.
DIGESTED = 19
HEAD = 20

#: A node that keeps rows has room for so many more, at least, and for this share more.
_SPARE_ROWS, _SPARE_SHARE = 4, 8

#: Kinds of leaves: moments and counts are shifted by compiled code, counts are among the marginals.
OUTSIDE, MOMENTS, COUNTS = 0, 1, 2

#: In place of the variable of a leaf: it is a tree. So many words are kept of it: hashes of its pairs and values.
TREE, TREE_WORDS = -1, 4


class Inside(NamedTuple):
    """Which statistics lie in the blocks."""

    independence: bool
    clustering: bool
    #: The kind of each variable's leaves.
    leaves: npt.NDArray[np.uint8]

    def has(self, scope: Words) -> bool:
        """Tell whether the statistics of a leaf of some variables lie in the blocks."""
        return bool(scope.size > 1 or self.leaves[scope[0]] != OUTSIDE)


@kernel
def room_for(n_rows: int) -> int:
    """Return for how many rows a node has room that keeps some."""
    return n_rows + max(_SPARE_ROWS, n_rows // _SPARE_SHARE)


@kernel
def scope_at(words: Words, node: int) -> Words:
    """Return a node's variables."""
    return words[node + HEAD : node + HEAD + words[node + WIDTH]]


@kernel
def informative_at(words: Words, node: int) -> Words:
    """Return whether each of a node's variables is informative, as zeros and ones."""
    start = node + HEAD + words[node + WIDTH]
    return words[start : start + words[node + WIDTH]]


@kernel
def parts_at(words: Words, node: int) -> Words:
    """Return where a node's sub-networks start."""
    start = node + HEAD + 2 * words[node + WIDTH]
    return words[start : start + words[node + N_PARTS]]


@kernel
def numbers_at(words: Words, node: int) -> Words:
    """Return the cluster numbers of a node's sub-networks."""
    start = node + HEAD + 2 * words[node + WIDTH] + words[node + N_PARTS]
    return words[start : start + words[node + N_PARTS]]


@kernel
def leaves_at(words: Words, node: int) -> Words:
    """Return a node's leaves: for each its variable, and where its statistics are."""
    start = node + HEAD + 2 * words[node + WIDTH] + 2 * words[node + N_PARTS]
    return words[start : start + 2 * words[node + N_LEAVES]]


@kernel
def rows_at(words: Words, node: int) -> Words:
    """Return the rows that a node keeps, in increasing order."""
    start = words[node + ROWS]
    return words[start : start + words[node + N_ROWS]]

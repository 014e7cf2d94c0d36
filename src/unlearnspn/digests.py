"""Digests: a Merkle tree over the network, so that a revision re-hashes only what it touched.

The digest of the released model covers what a recipient gets: structure, weights, exact statistics of the leaves, and
what the columns show. The state digest also covers everything kept: records, decisions, rows, coding, parameters.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from unlearnspn.arrays import extended, with_room
from unlearnspn.blocks import (
    CLUSTERING,
    DIGESTED,
    INDEPENDENCE,
    KEY,
    MARGINALS,
    MEMBERS,
    N_RECORDS,
    OPERATION,
    TREE,
    TREE_WORDS,
    informative_at,
    leaves_at,
    numbers_at,
    parts_at,
    scope_at,
)
from unlearnspn.clustering import Clustering
from unlearnspn.clustering.rounds import describe_rounds
from unlearnspn.compiling import kernel, late_kernel
from unlearnspn.exact_sum import Words
from unlearnspn.flat_network import FlatNetwork
from unlearnspn.ground import Ground, space_of
from unlearnspn.hashing import fingerprint, mix64
from unlearnspn.independence import IndependenceTest, asked_pairs
from unlearnspn.learning import Learner
from unlearnspn.shifting import rounds_of
from unlearnspn.slices import Counts, Slice
from unlearnspn.totals import Totals
from unlearnspn.traversal import has_leaves_outside, undigested

FORMAT = b"unlearnspn 3"
_SIZE = 32
_MASK = (1 << 64) - 1


@kernel
def _hash_counts(words: Words, ground: Ground, at: int, v: int) -> tuple[np.uint64, np.uint64]:
    """Hash how many records have each category, whatever their codes; missing values are left out."""
    low, high = np.uint64(0), np.uint64(0)
    for code in range(1, ground.sizes[v]):
        count = np.uint64(words[at + code])
        if count:
            name = mix64(ground.prints[v, code])
            low += count * name
            high += count * mix64(name)
    return low, high


@kernel
def _length_of_leaf(ground: Ground, v: int, place: int) -> int:
    """Return how many words describe a leaf: those of its statistics, or two of hash."""
    if v == TREE:
        return TREE_WORDS
    return 2 if place == 0 else int(1 + ground.windows[v, 1] + ground.windows[v, 2])


@kernel
def _describe_leaves(words: Words, ground: Ground, node: int, buffer: Words, used: int) -> tuple[Words, int]:
    leaves, scope = leaves_at(words, node), scope_at(words, node)
    starts = np.zeros(ground.sizes.size, np.int64)
    at = node + words[node + MARGINALS]
    for v in scope:
        starts[v] = at
        at += ground.sizes[v]
    for i in range(0, leaves.size, 2):
        v, place = leaves[i], leaves[i + 1]
        if place < 0:
            continue
        length = _length_of_leaf(ground, v, place)
        buffer = with_room(buffer, used, 2 + length)
        buffer[used], buffer[used + 1] = v, length
        used += 2
        if place == 0:
            low, high = _hash_counts(words, ground, starts[v], v)
            buffer[used], buffer[used + 1] = np.int64(low), np.int64(high)
        else:
            for k in range(length):
                buffer[used + k] = words[node + place + k]
        used += length
    return buffer, used


@kernel
def _describe_kept(words: Words, ground: Ground, node: int, buffer: Words, used: int) -> tuple[Words, int]:
    head = words[node + MEMBERS : node + MEMBERS + 4]  # and the hash of the marginals
    for more in (words[node + KEY : node + KEY + 1], head, informative_at(words, node), numbers_at(words, node)):
        buffer = extended(buffer, used, more)
        used += more.size
    if words[node + INDEPENDENCE] > 0:
        start = node + words[node + INDEPENDENCE]
        asked = words[start : start + asked_pairs.N_CELLS]  # how many pairs, and the hash of what is known of them
        buffer = extended(buffer, used, asked)
        used += asked.size
    if words[node + CLUSTERING] > 0:
        space = space_of(ground, scope_at(words, node), np.uint64(words[node + KEY]))
        found = describe_rounds(space, rounds_of(words, node, space))
        buffer = extended(buffer, used, found)
        used += found.size
    return buffer, used


def _steps_of_describing(words: Words, ground: Ground, root: int) -> int:
    # Most words are rows and tables, of which hashes are kept.
    return words.size // 8


@late_kernel(_steps_of_describing)
def _describe(words: Words, ground: Ground, root: int) -> tuple[Words, Counts]:
    """Write what nodes whose digests are not known are as words: what is released, what is kept, and where parts are.

    Return the words, and for each node, children before their parents: where it is; where its words start, and those
    of what is kept, and the parts; where they end; and what Python has to add: where statistics of independence and
    clustering are, and whether some of leaves lie outside.
    """
    nodes = undigested(words, root)
    buffer, used = np.empty(1024, np.int64), 0
    lines = np.empty((nodes.size, 8), np.int64)
    for i in range(nodes.size):
        node = nodes[i]
        lines[i, 0], lines[i, 1] = node, used
        scope, parts = scope_at(words, node), parts_at(words, node)
        head = np.empty(4, np.int64)
        head[0], head[1], head[2], head[3] = words[node + OPERATION], words[node + N_RECORDS], scope.size, parts.size
        buffer = extended(buffer, used, head)
        buffer = extended(buffer, used + head.size, scope)
        buffer, used = _describe_leaves(words, ground, node, buffer, used + head.size + scope.size)
        lines[i, 2] = used
        buffer, used = _describe_kept(words, ground, node, buffer, used)
        lines[i, 3] = used
        buffer = extended(buffer, used, parts)
        used += parts.size
        lines[i, 4], lines[i, 5], lines[i, 6] = used, words[node + INDEPENDENCE], words[node + CLUSTERING]
        lines[i, 7] = has_leaves_outside(words, node)
    return buffer[:used], lines


def digest_network(learner: Learner, network: FlatNetwork) -> tuple[bytes, bytes]:
    """Return the digests of a network: of the released model, and of the state; only what changed is hashed again."""
    digests, outdated, words = network.digests, network.outdated, network.words
    buffer, lines = _describe(words, learner.ground, network.root)
    described, described_nodes = buffer.tobytes(), lines.tolist()
    for node, start, middle, end, last, independence, clustering, has_leaves in described_nodes:
        known = digests.get(node)
        if known is not None:
            outdated.append(known[0])
        shown, hidden = described[8 * start : 8 * middle], described[8 * middle : 8 * end]
        if has_leaves:
            shown += _describe_leaves_outside(learner, network, node)
        if independence < 0:
            hidden += _describe_outside(learner, network, node, b"independence", learner.independence, independence)
        if clustering < 0:
            hidden += _describe_outside(learner, network, node, b"clustering", learner.clustering, clustering)
        if end < last:
            below = [digests[part] for part in buffer[end:last].tolist()]
            shown += b"".join([each for each, _ in below])
            hidden += b"".join([each for _, each in below])
        released = blake2b(shown, digest_size=_SIZE).digest()
        digests[node] = released, blake2b(hidden + released, digest_size=_SIZE).digest()
    # Not before: until all are known, an interruption or an error has all of them hashed again.
    for node, *_ in described_nodes:
        words[node + DIGESTED] = 1
    return digests[network.root]


def _describe_leaves_outside(learner: Learner, network: FlatNetwork, at: int) -> bytes:
    """Return what Python knows of a node's leaves."""
    described, key = b"", int(network.words[at + KEY]) & _MASK
    for number in network.leaves_outside(at):
        scope, statistics = network.outside[number]
        own = Slice(learner.records, learner.encoding, scope, key)
        found = learner.leaves[int(scope[0])].fingerprint(statistics, own)
        described += fingerprint([scope.tobytes(), found])
    return described


def _describe_outside(
    learner: Learner,
    network: FlatNetwork,
    at: int,
    name: bytes,
    block: IndependenceTest[Any] | Clustering[Any],
    place: int,
) -> bytes:
    """Return what Python knows of a question that was asked of a node, and what stands for it in the node's block."""
    statistics = network.outside[-place - 1]
    return fingerprint([name, block.fingerprint(statistics, network.slice(learner, at))])


def model_digest(learner: Learner, root: bytes, settings: bytes) -> str:
    """Digest the released model; `settings` describes schema and leaves."""
    return fingerprint([FORMAT, b"model", settings, learner.encoding.released, root]).hex()


def state_digest(learner: Learner, root: bytes, settings: bytes, totals: Totals, multiset: bytes) -> str:
    """Digest everything kept; `settings` describes all parameters, `multiset` the records themselves."""
    encoding = learner.encoding
    return fingerprint([FORMAT, b"state", settings, encoding.kept, totals.digest(encoding), multiset, root]).hex()


def describe(component: Any) -> bytes:
    """Name a building block and its settings."""
    kind = type(component)
    settings = sorted(vars(component).items()) if hasattr(component, "__dict__") else repr(component)
    return f"{kind.__module__}.{kind.__qualname__} {settings!r}".encode()

"""Digests: a Merkle tree over the network, so that a revision re-hashes only what it touched.

The digest of the released model covers what a recipient gets: structure, weights, exact statistics of the leaves, and
what the columns show. The state digest also covers everything kept: records, decisions, rows, coding, parameters.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Any

import numpy as np

from unlearnspn.arrays import extended, put, with_room
from unlearnspn.blake2 import BLOCK_WORDS, DIGEST_WORDS, digest_message
from unlearnspn.blocks import (
    CLUSTERING,
    DIGESTED,
    HEAD,
    INDEPENDENCE,
    KEY,
    MARGINALS,
    MEMBERS,
    N_PARTS,
    N_RECORDS,
    OPERATION,
    OUTSIDE,
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
from unlearnspn.compiling import as_written, kernel, late_kernel
from unlearnspn.exact_sum import Words
from unlearnspn.flat_network import SHORT_DIGEST, FlatNetwork
from unlearnspn.ground import Ground, space_of
from unlearnspn.hashing import Keys, fingerprint, mix64
from unlearnspn.independence import IndependenceTest, asked_pairs
from unlearnspn.learning import Learner
from unlearnspn.shifting import rounds_of
from unlearnspn.slices import Counts, Slice
from unlearnspn.totals import Totals
from unlearnspn.traversal import has_outside, undigested

FORMAT = b"unlearnspn 3"
_SIZE = 32
_MASK = (1 << 64) - 1
_NOTHING = np.zeros(0, np.int64)
_LENGTHS = Struct("<qq")
_read_parts, _has_outside = as_written(parts_at), as_written(has_outside)


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


@kernel
def _describe_node(words: Words, ground: Ground, node: int, buffer: Words, used: int) -> tuple[Words, int, int]:
    """Write what a node is behind other words; return all, and where that ends which is released, and what is kept."""
    scope, head = scope_at(words, node), np.empty(4, np.int64)
    head[0], head[1] = words[node + OPERATION], words[node + N_RECORDS]
    head[2], head[3] = scope.size, words[node + N_PARTS]
    buffer = extended(buffer, used, head)
    buffer = extended(buffer, used + head.size, scope)
    buffer, middle = _describe_leaves(words, ground, node, buffer, used + head.size + scope.size)
    buffer, end = _describe_kept(words, ground, node, buffer, middle)
    return buffer, middle, end


def _steps_of_describing(words: Words, ground: Ground, nodes: Words) -> int:
    return 200 * nodes.size


@late_kernel(_steps_of_describing)
def _describe(words: Words, ground: Ground, nodes: Words) -> tuple[Words, Counts]:
    """Write what nodes are as words, and for each where those start that are released, those that are kept, and end."""
    buffer, used = np.empty(1024, np.int64), 0
    lines = np.empty((nodes.size, 3), np.int64)
    for i in range(nodes.size):
        lines[i, 0] = used
        buffer, lines[i, 1], used = _describe_node(words, ground, nodes[i], buffer, used)
        lines[i, 2] = used
    return buffer[:used], lines


def _digest_by_library(words: Words, digests: Words, ground: Ground, root: int, outside: Words) -> Words:
    """Digest one node after another."""
    nodes = undigested(words, root)
    buffer, lines = _describe(words, ground, nodes)
    places, at = nodes // HEAD, 0
    before = digests[places, :SHORT_DIGEST]
    for node, place, (start, middle, end) in zip(nodes.tolist(), places.tolist(), lines.tolist(), strict=True):
        shown, hidden = [buffer[start:middle]], [buffer[middle:end]]
        if _has_outside(words, node):
            first, second = at + 2, at + 2 + int(outside[at])
            at = second + int(outside[at + 1])
            shown.append(outside[first:second])
            hidden.append(outside[second:at])
        below = digests[_read_parts(words, node) // HEAD]
        released = _digest([*shown, below[:, :SHORT_DIGEST]])
        digests[place, :SHORT_DIGEST] = released
        digests[place, SHORT_DIGEST:] = _digest([*hidden, below[:, SHORT_DIGEST:], released])
    words[nodes + DIGESTED] = 1
    return before.ravel()


def _digest(parts: list[Words]) -> Words:
    message = np.concatenate([part.ravel() for part in parts]).tobytes()
    return np.frombuffer(blake2b(message, digest_size=_SIZE).digest(), "<i8")


def _steps_of_digesting(words: Words, digests: Words, ground: Ground, root: int, outside: Words) -> int:
    # Most words are rows and tables, of which hashes are kept.
    return words.size // 8


@kernel
def _digest_message(buffer: Words, n_words: int, state: Keys, block: Keys, digests: Words, place: int, at: int) -> None:
    """Write the digest of a message to somewhere in a line of digests."""
    digest_message(buffer, n_words, state, block)
    for k in range(SHORT_DIGEST):
        digests[place, at + k] = np.int64(state[k])


@late_kernel(_steps_of_digesting, meanwhile=_digest_by_library)
def digest_nodes(words: Words, digests: Words, ground: Ground, root: int, outside: Words) -> Words:
    """Digest the nodes whose digests are not known; return what had been known of those that are released.

    `outside` are the digests of statistics that lie outside, for each such node in the order of `undigested`: how many
    words of what is released and of what is kept follow, and these.
    """
    nodes, at = undigested(words, root), 0
    before = np.empty(SHORT_DIGEST * nodes.size, np.int64)
    state, block = np.empty(DIGEST_WORDS, np.uint64), np.empty(BLOCK_WORDS, np.uint64)
    shown, hidden = np.empty(256, np.int64), np.empty(256, np.int64)
    for i in range(nodes.size):
        node, place = nodes[i], nodes[i] // HEAD
        put(before, SHORT_DIGEST * i, digests[place, :SHORT_DIGEST])
        shown, middle, end = _describe_node(words, ground, node, shown, 0)
        hidden, n_hidden, n_shown = extended(hidden, 0, shown[middle:end]), end - middle, middle
        if has_outside(words, node):
            first, second = at + 2, at + 2 + outside[at]
            at = second + outside[at + 1]
            shown = extended(shown, n_shown, outside[first:second])
            hidden = extended(hidden, n_hidden, outside[second:at])
            n_shown, n_hidden = n_shown + second - first, n_hidden + at - second
        for part in parts_at(words, node):
            below = digests[part // HEAD]
            shown = extended(shown, n_shown, below[:SHORT_DIGEST])
            hidden = extended(hidden, n_hidden, below[SHORT_DIGEST:])
            n_shown, n_hidden = n_shown + SHORT_DIGEST, n_hidden + SHORT_DIGEST
        _digest_message(shown, n_shown, state, block, digests, place, 0)
        hidden = extended(hidden, n_hidden, digests[place, :SHORT_DIGEST])
        _digest_message(hidden, n_hidden + SHORT_DIGEST, state, block, digests, place, SHORT_DIGEST)
        words[node + DIGESTED] = 1
    return before


def digest_network(learner: Learner, network: FlatNetwork) -> tuple[bytes, bytes]:
    """Return the digests of a network: of the released model, and of the state; only what changed is hashed again."""
    words, root, digests = network.words, network.root, network.room_for_digests()
    outside = _digest_outside(learner, network) if network.outside else _NOTHING
    network.outdated.append(digest_nodes(words, digests, learner.ground, root, outside))
    found = digests[root // HEAD].tobytes()
    return found[:_SIZE], found[_SIZE:]


def _digest_outside(learner: Learner, network: FlatNetwork) -> Words:
    """Return the digests of statistics that lie outside, of all nodes whose own are not known: see `digest_nodes`."""
    words, nodes, found = network.words, undigested(network.words, network.root), []
    has_leaves = bool((network.inside.leaves == OUTSIDE).any())
    asked = zip(nodes.tolist(), words[nodes + INDEPENDENCE].tolist(), words[nodes + CLUSTERING].tolist(), strict=True)
    for node, independence, clustering in asked:
        shown, hidden = _describe_leaves_outside(learner, network, node) if has_leaves else b"", b""
        if independence < 0:
            hidden += _describe_outside(learner, network, node, b"independence", learner.independence, independence)
        if clustering < 0:
            hidden += _describe_outside(learner, network, node, b"clustering", learner.clustering, clustering)
        if shown or hidden:
            found += [_LENGTHS.pack(len(shown) // 8, len(hidden) // 8), shown, hidden]
    return np.frombuffer(b"".join(found), "<i8")


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

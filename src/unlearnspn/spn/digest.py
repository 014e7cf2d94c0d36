"""Digests: a Merkle tree over the network, so that a revision re-hashes only what it touched.

The digest of the released model covers what a recipient gets: structure, weights, exact statistics of the leaves, and
what the columns show. The state digest also covers everything kept: records, decisions, rows, coding, parameters.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from struct import Struct
from typing import Any

import cython

from unlearnspn.hashing import fingerprint
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Digests, Factor, Node
from unlearnspn.spn.operations import Operation
from unlearnspn.totals import Totals

FORMAT = b"unlearnspn 6"
_SIZE = 32
_NUMBERS = {operation: number for number, operation in enumerate(Operation)}
_RELEASED, _LEAF, _KEPT, _MEMBERS = Struct("<6q"), Struct("<2q"), Struct("<Q3q"), Struct("<2Q")


def digest_network(learner: Learner, root: Node) -> Digests:
    """Return the digests of a network; only nodes whose own are not known are hashed."""
    if root.digests is None:
        below = [child.digests or digest_network(learner, child) for child in root.children]
        released = _digest([_describe_released(learner, root), *[each.released for each in below]])
        kept = _digest([_describe_kept(learner, root), *[each.kept for each in below], released])
        root.digests = Digests(released, kept)
    return root.digests


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


@cython.cfunc
def _describe_released(learner: Learner, node: Node) -> bytes:
    """Return what a recipient gets of a node: its operation, how many records it has, and its leaves."""
    scope, key, counted, others = node.scope, node.key, [], []
    factor: Factor
    for factor in node.factors:
        leaf, statistics = factor.scope, factor.statistics
        if statistics is None:
            counted.append(factor.variable)
        elif factor.is_tree:
            others.append(leaf.tobytes() + statistics.fingerprint())
        else:
            found = learner.leaves[factor.variable].fingerprint(statistics, learner.slice(leaf, key))
            others.append(_LEAF.pack(factor.variable, len(found)) + found)
    number, n_children = _NUMBERS[node.operation], len(node.children)
    head = _RELEASED.pack(number, node.n_records, scope.size, n_children, len(counted), len(others))
    counts = node.marginals.fingerprint_of(learner.coded, scope, counted) if counted else b""
    return b"".join([head, scope.tobytes(), counts, *others])


@cython.cfunc
def _describe_kept(learner: Learner, node: Node) -> bytes:
    """Return what is kept at a node beside what is released."""
    independence = clustering = b""
    if node.independence is not None or node.clustering is not None:
        data = learner.slice(node.scope, node.key)
        if node.independence is not None:
            independence = learner.independence.fingerprint(node.independence, data)
        if node.clustering is not None:
            clustering = learner.clustering.fingerprint(node.clustering, data)
    members = b"" if node.rows is None else _MEMBERS.pack(*node.rows.members)
    head = _KEPT.pack(node.key, len(independence), len(clustering), len(members))
    clusters, informative = array("q", node.clusters).tobytes(), node.informative.tobytes()
    parts = (head, members, node.marginals.fingerprint(), informative, clusters, independence, clustering)
    return b"".join(parts)


@cython.cfunc
def _digest(parts: list[bytes]) -> bytes:
    return blake2b(b"".join(parts), digest_size=_SIZE).digest()

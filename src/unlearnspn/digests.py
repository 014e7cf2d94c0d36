"""Digests: a Merkle tree over the network, so that a revision re-hashes only what it touched.

The digest of the released model covers what a recipient gets: structure, weights, exact statistics of the leaves, and
what the columns show. The state digest also covers everything kept: records, decisions, rows, coding, parameters.
"""

from __future__ import annotations

import struct
from typing import Any

from unlearnspn.hashing import fingerprint
from unlearnspn.learning import Learner
from unlearnspn.marginals import hash_marginals
from unlearnspn.network import Node, Operation
from unlearnspn.slices import Slice

FORMAT = b"unlearnspn 1"


def node_digests(learner: Learner, node: Node) -> tuple[bytes, bytes]:
    """Return the digests of a sub-network: of the released model, and of the state."""
    if node.digests is None:
        data = Slice(learner.records, learner.encoding, node.scope, node.key)
        models, states = [], []
        for child in node.children:
            if child.operation is Operation.CREATE_LEAF and child.rows is None:
                models.append(_leaf(learner, child))
            else:
                model, state = node_digests(learner, child)
                models.append(model)
                states.append(state)
        if node.operation is Operation.CREATE_LEAF:
            models.append(_leaf(learner, node))
        head = node.operation.encode() + struct.pack("<q", node.n_records)
        released = fingerprint([head, node.scope.tobytes(), *models])
        node.digests = released, fingerprint([released, *_kept(learner, node, data), *states])
    return node.digests


def _leaf(learner: Learner, node: Node) -> bytes:
    """Return what a leaf contributes to its parent's digests: it keeps nothing that is not released."""
    data = Slice(learner.records, learner.encoding, node.scope, node.key)
    head = struct.pack("<qq", node.scope.size, node.n_records) + node.scope.tobytes()
    return head + learner.leaf(node.scope).fingerprint(node.statistics, data)


def _kept(learner: Learner, node: Node, data: Slice) -> list[bytes]:
    clusters = struct.pack(f"<{len(node.clusters)}q", *node.clusters)
    parts = [struct.pack("<QQQ", node.key, *node.members), clusters]
    if node.marginals is not None:
        encoding = learner.encoding
        hashes = hash_marginals(node.marginals, node.scope, encoding.sizes, encoding.prints)
        parts.append(b"marginals" + hashes.tobytes())
    if node.independence is not None:
        parts.append(b"independence" + learner.independence.fingerprint(node.independence, data))
    if node.clustering is not None:
        parts.append(b"clustering" + learner.clustering.fingerprint(node.clustering, data))
    return parts


def model_digest(learner: Learner, root: Node, settings: bytes) -> str:
    """Digest the released model; `settings` describes schema and leaves."""
    columns = [coder.released for coder in learner.encoding.coders]
    return fingerprint([FORMAT, b"model", settings, *columns, node_digests(learner, root)[0]]).hex()


def state_digest(learner: Learner, root: Node, settings: bytes, multiset: bytes) -> str:
    """Digest everything kept; `settings` describes all parameters, `multiset` the records themselves."""
    columns = [coder.released for coder in learner.encoding.coders]
    kept = [*columns, *learner.encoding.kept(), multiset]
    return fingerprint([FORMAT, b"state", settings, *kept, node_digests(learner, root)[1]]).hex()


def describe(component: Any) -> bytes:
    """Name a building block and its settings."""
    kind = type(component)
    settings = sorted(vars(component).items()) if hasattr(component, "__dict__") else repr(component)
    return f"{kind.__module__}.{kind.__qualname__} {settings!r}".encode()

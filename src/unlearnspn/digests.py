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
        children = [node_digests(learner, child) for child in node.children]
        data = Slice(learner.records, learner.encoding, node.scope, node.key)
        released = [node.operation.encode(), node.scope.tobytes(), struct.pack("<q", node.n_records)]
        if node.operation is Operation.CREATE_LEAF:
            released.append(learner.leaves[data.variable].fingerprint(node.statistics, data))
        model = fingerprint([*released, *(model for model, _ in children)])
        kept = [model, struct.pack("<QQQ", node.key, *node.members), *_decision(learner, node, data)]
        node.digests = model, fingerprint([*kept, *(state for _, state in children)])
    return node.digests


def _decision(learner: Learner, node: Node, data: Slice) -> list[bytes]:
    parts = [struct.pack(f"<{len(node.clusters)}q", *node.clusters)]
    if node.marginals is not None:
        encoding = learner.encoding
        sums = hash_marginals(node.marginals, node.scope, encoding.sizes, encoding.prints)
        parts.append(b"marginals" + struct.pack("<QQ", *map(int, sums)))
    if node.independence is not None:
        parts.append(b"independence" + learner.independence.fingerprint(node.independence, data))
    if node.clustering is not None:
        parts.append(b"clustering" + learner.clustering.fingerprint(node.clustering, data))
    return parts


def model_digest(learner: Learner, root: Node) -> str:
    """Digest the released model."""
    columns = [coder.released() for coder in learner.encoding.coders]
    leaves = [describe(leaf) for leaf in learner.leaves]
    schema = learner.records.schema.digest()
    return fingerprint([FORMAT, b"model", schema, *leaves, *columns, node_digests(learner, root)[0]]).hex()


def state_digest(learner: Learner, root: Node, multiset: bytes) -> str:
    """Digest everything kept; `multiset` is the digest of the records themselves."""
    records = learner.records
    parameters = [
        struct.pack("<QqQ", records.seed, learner.min_rows, records.n_bins),
        describe(learner.independence),
        describe(learner.clustering),
    ]
    kept = [coder.kept() for coder in learner.encoding.coders]
    model = model_digest(learner, root).encode()
    return fingerprint(
        [FORMAT, b"state", model, *parameters, *kept, multiset, node_digests(learner, root)[1]]
    ).hex()


def describe(component: Any) -> bytes:
    """Name a building block and its settings."""
    kind = type(component)
    settings = sorted(vars(component).items())
    return f"{kind.__module__}.{kind.__qualname__} {settings!r}".encode()


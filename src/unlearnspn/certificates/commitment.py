"""A commitment to what was removed, that only those who got a receipt can open, each for themselves.

Each removed id has a salt of its own; its leaf is HMAC-SHA256 with that salt. The leaves, in the order of these hashes
and filled up with random ones to a power of two, make a Merkle tree, whose root is the commitment. A receipt holds one
salt and the hashes on the way to the root: these tell nothing of other ids, nor who came in which order.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from unlearnspn.certificates.canonical import encode_json

_SALT_BYTES = 32


class Kind(StrEnum):
    """What an id names: a record, or a person who owns records."""

    RECORD = "record"
    SUBJECT = "subject"


@dataclass(frozen=True)
class Item:
    """Something that was removed: a record or a subject."""

    kind: Kind
    id: int | str

    def leaf(self, salt: bytes) -> bytes:
        """Return the salted hash."""
        return hmac.digest(salt, encode_json([self.kind.value, self.id]), "sha256")


@dataclass(frozen=True)
class Opening:
    """What it takes to show that an item is among the removed: its salt, its place, and the hashes beside its way."""

    item: Item
    salt: bytes
    place: int
    path: tuple[bytes, ...]

    def root(self) -> str:
        """Return the commitment that this opens."""
        node, place = self.item.leaf(self.salt), self.place
        for sibling in self.path:
            node = _parent(sibling, node) if place & 1 else _parent(node, sibling)
            place >>= 1
        return node.hex() if place == 0 else ""


def commit(items: Sequence[Item]) -> tuple[str, list[Opening]]:
    """Commit to items; return the commitment, and for each item what opens it. Nothing else knows the salts.

    >>> root, openings = commit([Item(Kind.RECORD, "c-1042"), Item(Kind.RECORD, "c-7"), Item(Kind.SUBJECT, "anna")])
    >>> [opening.root() == root for opening in openings], [len(opening.path) for opening in openings]
    ([True, True, True], [2, 2, 2])
    """
    salts = [secrets.token_bytes(_SALT_BYTES) for _ in items]
    leaves = [item.leaf(salt) for item, salt in zip(items, salts, strict=True)]
    levels = _tree(leaves)
    places = {leaf: place for place, leaf in enumerate(levels[0])}
    openings = []
    for item, salt, leaf in zip(items, salts, leaves, strict=True):
        place = places[leaf]
        path = tuple(level[(place >> height) ^ 1] for height, level in enumerate(levels[:-1]))
        openings.append(Opening(item, salt, place, path))
    return levels[-1][0].hex(), openings


def _tree(leaves: list[bytes]) -> list[list[bytes]]:
    size = 1 << max(len(leaves) - 1, 0).bit_length()
    filled = leaves + [secrets.token_bytes(_SALT_BYTES) for _ in range(size - len(leaves))]
    levels = [sorted(filled)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([_parent(below[i], below[i + 1]) for i in range(0, len(below), 2)])
    return levels


def _parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def describe_opening(opening: Opening) -> dict[str, Any]:
    """Return an opening as JSON values."""
    return {
        "kind": opening.item.kind.value,
        "id": opening.item.id,
        "salt": opening.salt.hex(),
        "place": opening.place,
        "path": [sibling.hex() for sibling in opening.path],
    }

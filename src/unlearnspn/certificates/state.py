"""What an entry says of model and state: commitments, which only the vault that holds them can open.

A digest is a function of the records, so whoever knows all of them but one could try candidates for that one out. A
commitment is HMAC-SHA256 of the digest under a random nonce. The vault keeps the nonce of the present state only, and
erases it with the next change: the present state can be checked by whoever has the vault, past ones by nobody.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from unlearnspn.certificates.canonical import encode_json

_NONCE_BYTES = 32


def new_nonce() -> bytes:
    """Return a nonce for one state, which must be forgotten together with it."""
    return secrets.token_bytes(_NONCE_BYTES)


@dataclass(frozen=True)
class Commitments:
    """Commitments to the digests of the released model and of all kept state."""

    model: str
    state: str


@dataclass(frozen=True)
class Digests:
    """The digests of the released model and of all kept state.

    >>> digests, nonce = Digests("0" * 64, "1" * 64), new_nonce()
    >>> digests.commit(nonce) == digests.commit(nonce), digests.commit(nonce) == digests.commit(new_nonce())
    (True, False)
    """

    model: str
    state: str

    def commit(self, nonce: bytes) -> Commitments:
        """Return what the ledger says of them."""
        return Commitments(*(_commitment(nonce, name, value) for name, value in vars(self).items()))


def _commitment(nonce: bytes, name: str, digest: str) -> str:
    return hmac.digest(nonce, encode_json([name, digest]), "sha256").hex()

"""Ed25519 keys: a signing key that the owner of a vault keeps, and the public key that everybody may have."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from unlearnspn.certificates.errors import KeyFileError

#: What comes before the 32 bytes of an Ed25519 key in PKCS #8.
_PKCS8 = bytes.fromhex("302e020100300506032b657004220420")


@dataclass(frozen=True)
class PublicKey:
    """A public key, known by its fingerprint.

    >>> key = SigningKey.generate()
    >>> PublicKey.from_pem(key.public.pem()) == key.public
    True
    >>> key.public.verifies(b"message", key.sign(b"message")), key.public.verifies(b"massage", key.sign(b"message"))
    (True, False)
    """

    raw: bytes

    @classmethod
    def from_pem(cls, pem: str | bytes) -> PublicKey:
        """Read a public key from PEM."""
        content = pem.encode() if isinstance(pem, str) else pem
        if b"PRIVATE KEY" in content:
            raise KeyFileError(
                "this is a private key, which nobody but the owner of the vault should have: "
                "export the public one with `unlearnspn keys show VAULT --export FILE`"
            )
        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm, InternalError) as error:
            raise KeyFileError("this is no public key in PEM format") from error
        if not isinstance(key, Ed25519PublicKey):
            raise KeyFileError(f"this is no Ed25519 key but an {type(key).__name__.lstrip('_')}")
        return cls(key.public_bytes_raw())

    @property
    def id(self) -> str:
        """The fingerprint: SHA-256 of the key, in hexadecimal."""
        return hashlib.sha256(self.raw).hexdigest()

    def pem(self) -> str:
        """Write the key in PEM format."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Tell whether the signature is of this key and this message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class SigningKey:
    """A private key. It shows itself by its fingerprint only."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> SigningKey:
        """Make a new key from the system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> SigningKey:
        """Read a private key from PEM (PKCS #8), exactly as `pem` writes it."""
        # Not by the library's reader of all kinds of keys: what is damaged may look like a key of another kind.
        try:
            der = base64.b64decode(b"".join(pem.split(b"\n")[1:-2]), validate=True)
            key = cls(Ed25519PrivateKey.from_private_bytes(der.removeprefix(_PKCS8)))
        except ValueError as error:
            raise KeyFileError("this is no Ed25519 key in PEM format") from error
        if key.pem() != pem:
            raise KeyFileError("this is no Ed25519 key in PEM format as written here")
        return key

    def pem(self) -> bytes:
        """Write the key in PEM format, not encrypted."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, message: bytes) -> bytes:
        """Sign a message."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"SigningKey({self.public.id[:16]}…)"

"""A ledger as a file to hand out: an in-toto bundle, that is, one certificate on each line."""

from __future__ import annotations

from collections.abc import Iterable

from unlearnspn.certificates.errors import CertificateError


def write_bundle(entries: Iterable[bytes]) -> bytes:
    r"""Write certificates as lines, in the order of the ledger.

    >>> write_bundle([b"{}", b"[]"])
    b'{}\n[]\n'
    """
    return b"".join(entry + b"\n" for entry in entries)


def read_bundle(content: bytes) -> list[bytes]:
    r"""Return the certificates of a file; whether they are any is for the chain to tell.

    >>> read_bundle(b'{}\n[]\n')
    [b'{}', b'[]']
    """
    if not content.endswith(b"\n"):
        raise CertificateError("the ledger's last line has no end: the file was cut off, or is no ledger")
    return content[:-1].split(b"\n")

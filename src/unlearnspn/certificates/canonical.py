"""Canonical JSON and Base64: each value has one encoding, so that no byte can change without a value changing.

Objects have their keys sorted, nothing is indented, all is ASCII, and numbers are integers. What is read is written
again and compared: whitespace, repeated keys, other escapes and loose bits of padding are refused.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Never

from unlearnspn.certificates.errors import CertificateError


def encode_json(value: Any) -> bytes:
    """Write a value in its one canonical form.

    >>> encode_json({"b": [1, None], "a": "ü"})
    b'{"a":"\\\\u00fc","b":[1,null]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def decode_json(encoded: bytes, what: str) -> Any:
    """Read a value, or raise unless these bytes are its canonical form; `what` names it in the message.

    >>> decode_json(b'{"a":1}', "the note")
    {'a': 1}
    >>> decode_json(b'{"a": 1}', "the note")
    Traceback (most recent call last):
    ...
    unlearnspn.certificates.errors.CertificateError: the note is not canonical JSON: it was changed at byte 5
    """
    try:
        value = json.loads(encoded.decode("ascii"), parse_float=_refuse_number, parse_constant=_refuse_number)
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{what} is not canonical JSON: {_reason(error)}") from error
    written = encode_json(value)
    if written != encoded:
        raise CertificateError(f"{what} is not canonical JSON: it was changed at byte {_difference(written, encoded)}")
    return value


def encode_base64(content: bytes) -> str:
    """Write bytes as standard Base64 with padding."""
    return base64.b64encode(content).decode("ascii")


def decode_base64(text: str, what: str) -> bytes:
    """Read Base64, or raise unless this text is the one that encodes its bytes.

    >>> decode_base64("aGk=", "the payload")
    b'hi'
    >>> decode_base64("aGl=", "the payload")
    Traceback (most recent call last):
    ...
    unlearnspn.certificates.errors.CertificateError: the payload is not canonical Base64
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CertificateError(f"{what} is not Base64") from error
    if encode_base64(content) != text:
        raise CertificateError(f"{what} is not canonical Base64")
    return content


def _refuse_number(text: str) -> Never:
    raise ValueError(f"{text[:20]} is no integer")


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not ASCII"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _difference(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))

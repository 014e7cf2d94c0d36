"""Certificates: what is in them, that others can read them, and that no byte can be changed."""

from __future__ import annotations

import base64
import dataclasses
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import EFFORT, MadeLedger, make_ledger, request
from unlearnspn.certificates import (
    Action,
    CertificateError,
    Envelope,
    Link,
    PublicKey,
    SigningKey,
    Statement,
    audit_certificate,
)
from unlearnspn.certificates.canonical import decode_json, encode_json

LEDGER = make_ledger(1, rotated=False)
REMOVAL = LEDGER.envelopes[-1]
KEY = LEDGER.key.public


def resigned(document: object, key: SigningKey = LEDGER.key) -> bytes:
    """Sign any payload as a certificate is signed, without our code for it."""
    payload = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    kind = b"application/vnd.in-toto+json"
    signature = key.sign(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    signed = {"keyid": key.public.id, "sig": base64.b64encode(signature).decode()}
    envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": kind.decode(), "signatures": [signed]}
    return encode_json(envelope)


def test_anyone_can_read_and_check_it_by_the_standards_alone() -> None:
    document = json.loads(REMOVAL.encoded)
    payload, kind = base64.b64decode(document["payload"]), document["payloadType"].encode()
    [signature] = document["signatures"]
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    Ed25519PublicKey.from_public_bytes(KEY.raw).verify(base64.b64decode(signature["sig"]), message)
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:unlearnspn:removal:v2"
    assert [subject["name"] for subject in statement["subject"]] == ["model", "state"]
    assert statement["subject"][0]["digest"] == {"unlearnspnCommitment": statement["predicate"]["after"]["model"]}
    predicate = statement["predicate"]
    assert predicate["records"] == {"removed": 1, "added": 0, "remaining": 99}
    assert not {"changedOperations", "recoded"} & set(predicate)  # with these, guesses could be tested
    assert "0-certified" in predicate["guarantee"]
    for limit in ("backups", "Earlier versions", "Samples"):
        assert limit in " ".join(predicate["limits"])
    for name in ("request", "software", "before", "settings", "commitment"):
        assert predicate[name]


def test_it_holds_no_id() -> None:
    certificate, _ = make_ledger(0).remove("person-zanzibar-77", 7712345)
    for readable in (certificate.encoded, certificate.payload):
        assert b"zanzibar" not in readable
        assert b"7712345" not in readable


def test_every_statement_of_a_ledger_survives_writing_and_reading() -> None:
    for envelope in make_ledger().envelopes:
        assert Statement.decode(envelope.payload) == envelope.statement
        assert Envelope.decode(envelope.encoded).statement == envelope.statement


def test_every_byte_counts() -> None:
    assert audit_certificate(REMOVAL.encoded, KEY)
    for place, byte in enumerate(REMOVAL.encoded):
        for changed in {byte ^ 1, byte ^ 0x20, 0x20} - {byte}:
            mutated = REMOVAL.encoded[:place] + bytes([changed]) + REMOVAL.encoded[place + 1 :]
            assert not audit_certificate(mutated, KEY), (place, chr(byte), chr(changed))


@settings(max_examples=120 * EFFORT, deadline=None)
@given(data=st.data())
def test_nothing_can_be_inserted_deleted_or_exchanged(data: st.DataObject) -> None:
    encoded = REMOVAL.encoded
    start = data.draw(st.integers(0, len(encoded)))
    end = data.draw(st.integers(start, min(len(encoded), start + 40)))
    other = data.draw(
        st.one_of(st.binary(max_size=8), st.sampled_from([b" ", b"\n", b"=", b"==", b"\\u0061", b"{}", b"0"]))
    )
    mutated = encoded[:start] + other + encoded[end:]
    assert bool(audit_certificate(mutated, KEY)) == (mutated == encoded)


def test_the_same_json_written_otherwise_is_refused() -> None:
    document = json.loads(REMOVAL.encoded)
    [signature] = document["signatures"]
    text = REMOVAL.encoded.decode()
    variants = {
        "whitespace": json.dumps(document, sort_keys=True),
        "order": json.dumps(dict(reversed(document.items())), separators=(",", ":")),
        "repeated key": text.replace('"payloadType"', '"payload":"","payloadType"'),
        "escape": text.replace('"payloadType"', '"payload\\u0054ype"'),
        "line end": text + "\n",
        "second signature": encode_json(document | {"signatures": [signature, signature]}).decode(),
        "no signature": encode_json(document | {"signatures": []}).decode(),
        "url-safe": text.replace("+json", "\0").replace("+", "-").replace("/", "_").replace("\0", "+json"),
        "other type": text.replace("vnd.in-toto", "vnd.in-todo"),
        "no padding": text.replace("==", ""),
        "more": encode_json(document | {"more": 1}).decode(),
    }
    for name, variant in variants.items():
        assert variant != text, name
        audit = audit_certificate(variant.encode(), KEY)
        assert not audit, name
        assert audit.failures[0].message


def test_loose_bits_of_base64_are_refused() -> None:
    document = json.loads(REMOVAL.encoded)
    signature = document["signatures"][0]["sig"]
    assert signature.endswith("==")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    sibling = signature[:-3] + alphabet[alphabet.index(signature[-3]) ^ 1] + "=="
    assert base64.b64decode(sibling) == base64.b64decode(signature)
    document["signatures"][0]["sig"] = sibling
    [failure] = audit_certificate(encode_json(document), KEY).failures
    assert "canonical Base64" in failure.message


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["_type"], "https://in-toto.io/Statement/v0.1", "is of type"),
        (["predicateType"], "https://slsa.dev/provenance/v1", "a newer unlearnspn"),
        (["subject"], [], "its subject is not what its predicate says"),
        (["predicate", "records", "removed"], -1, "must be a count"),
        (["predicate", "records", "removed"], True, "must be a count"),
        (["predicate", "commitment"], None, "must have a commitment"),
        (["predicate", "commitment"], "AB" * 32, "64 hexadecimal digits"),
        (["predicate", "request", "received"], "yesterday", "is no date"),
        (["predicate", "request", "received"], "2026-01-31T09:30:00+00:00", "is no date"),
        (["predicate", "request", "operator"], "a\nb", "must be a line"),
        (["predicate", "request", "operator"], "", "must be a line"),
        (["predicate", "request"], None, "is no JSON object"),
        (["predicate", "limits"], [1], "must be a list of strings"),
        (["predicate", "limits"], {}, "must be a list"),
        (["predicate", "software"], None, "must be a string"),
        (["predicate", "publicKey"], "AAAA", "has 3 bytes, not 32"),
        (["predicate", "ledger", "previous"], None, "must have a previous entry"),
        (["predicate", "name"], "Anna", "it differs in name"),
    ],
)
def test_statements_that_make_no_sense_are_refused_even_if_signed(path: list[str], value: object, message: str) -> None:
    document = json.loads(REMOVAL.payload)
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    [failure] = audit_certificate(resigned(document), KEY).failures
    assert failure.check == "encoding"
    assert message in failure.message


def test_resigning_without_change_gives_the_certificate() -> None:
    assert resigned(json.loads(REMOVAL.payload)) == REMOVAL.encoded


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"1.5",
        b"NaN",
        b"[" * 100_000,
        b"1" * 5000,
        b'{"payload":1e9}',
        b'"\\ud800"',
    ],
)
def test_foreign_bytes_are_refused_with_a_message(encoded: bytes) -> None:
    with pytest.raises(CertificateError, match="the certificate"):
        Envelope.decode(encoded)


@settings(max_examples=50 * EFFORT, deadline=None)
@given(encoded=st.one_of(st.binary(), st.text().map(str.encode)))
def test_random_bytes_are_canonical_or_refused(encoded: bytes) -> None:
    try:
        value = decode_json(encoded, "it")
    except CertificateError:
        return
    assert encode_json(value) == encoded


def test_another_key_is_named_not_blamed() -> None:
    [failure] = audit_certificate(REMOVAL.encoded, SigningKey.generate().public).failures
    assert "give the key that was in use then" in failure.message
    assert KEY.id[:16] in failure.message


def test_a_changed_signature_is_blamed() -> None:
    document = json.loads(REMOVAL.encoded)
    other = LEDGER.envelopes[0].signatures[0].value
    document["signatures"][0]["sig"] = base64.b64encode(other).decode()
    [failure] = audit_certificate(encode_json(document), KEY).failures
    assert failure.check == "signature"
    assert "statement or signature were changed" in failure.message


def test_a_rotation_is_checked_by_the_key_before_it() -> None:
    ledger = make_ledger(1)
    rotation = ledger.envelopes[-1]
    old = ledger.envelopes[0].statement.introduced
    assert old is not None
    assert audit_certificate(rotation.encoded, old)
    assert not audit_certificate(rotation.encoded, ledger.key.public)


def test_operators_and_request_ids_are_short_lines() -> None:
    first = LEDGER.envelopes[0].statement
    for text in ("", "x" * 201, "two\nlines", "\x1b[31mred"):
        with pytest.raises(CertificateError, match="must be a line of 1 to 200 characters"):
            dataclasses.replace(first, request=request(text))
        with pytest.raises(CertificateError, match="must be a line"):
            dataclasses.replace(first, request=request(operator=text))


def test_keys_are_introduced_by_init_and_rotation_only() -> None:
    for action, key in [(Action.INIT, None), (Action.INGEST, KEY)]:
        with pytest.raises(CertificateError, match="a key that is introduced"):
            Statement(action, Link("v", 1, "0" * 64), request(), "unlearnspn", introduced=key)


def test_public_keys_are_told_from_private_ones_and_others() -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    foreign = (
        generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    for pem, message in [
        (LEDGER.key.pem(), "this is a private key"),
        (b"", "no public key"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "no public key"),
        (foreign, "no Ed25519 key"),
    ]:
        with pytest.raises(ValueError, match=message):
            PublicKey.from_pem(pem)
    assert repr(LEDGER.key) == f"SigningKey({KEY.id[:16]}…)"


def test_a_ledger_of_one_entry_is_one() -> None:
    ledger = MadeLedger()
    ledger.init()
    assert audit_certificate(ledger.entries[0], ledger.key.public)

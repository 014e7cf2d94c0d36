"""Commitments and receipts: each requester can show their own removal, and learns nothing of others."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import EFFORT, make_ledger, make_receipt
from unlearnspn.certificates import CertificateError, Item, Kind, Receipt, audit_receipt, commit

IDS = st.one_of(st.text(max_size=20), st.integers(-(2**63), 2**63 - 1))


@settings(max_examples=30 * EFFORT, deadline=None)
@given(ids=st.lists(IDS, min_size=1, max_size=40, unique_by=lambda item: (type(item), item)))
def test_everybody_can_open_it(ids: list[int | str]) -> None:
    items = [Item(Kind.RECORD, each) for each in ids]
    root, openings = commit(items)
    assert [opening.item for opening in openings] == items
    assert {opening.root() for opening in openings} == {root}
    assert len({len(opening.path) for opening in openings}) == 1
    assert len({opening.salt for opening in openings}) == len(ids)


def test_thousands_are_committed_to_at_once() -> None:
    root, openings = commit([Item(Kind.RECORD, number) for number in range(5000)])
    assert all(opening.root() == root for opening in openings)
    places = [opening.place for opening in openings]
    assert places != sorted(places)  # the order of a batch is not told


def test_the_same_removal_never_has_the_same_commitment() -> None:
    item = Item(Kind.RECORD, "c-1")
    assert commit([item])[0] != commit([item])[0]


def test_kinds_and_types_are_told_apart() -> None:
    _, [opening] = commit([Item(Kind.RECORD, 5)])
    for other in (Item(Kind.RECORD, "5"), Item(Kind.SUBJECT, 5), Item(Kind.RECORD, 6)):
        assert dataclasses.replace(opening, item=other).root() != opening.root()


def test_a_receipt_opens_its_certificate_and_no_other() -> None:
    ledger = make_ledger(0)
    receipt, certificate = make_receipt(ledger, "c-1", "c-2", "c-3")
    again = Receipt.decode(receipt.encode())
    assert again == receipt
    audit = audit_receipt(again, certificate)
    assert audit
    assert "the record 'c-1' was among the removed" in str(audit)
    other, other_certificate = make_receipt(ledger, "c-4")
    assert not audit_receipt(receipt, other_certificate)
    assert not audit_receipt(other, certificate)
    assert not audit_receipt(receipt, ledger.envelopes[2])


def test_a_receipt_is_about_whom_the_requester_says() -> None:
    receipt, certificate = make_receipt(make_ledger(0), "c-1", "c-2")
    assert audit_receipt(receipt, certificate, Item(Kind.RECORD, "c-1"))
    [failure] = audit_receipt(receipt, certificate, Item(Kind.RECORD, "c-2")).failures
    assert "not about the record 'c-2'" in failure.message


def test_a_receipt_tells_nothing_of_others() -> None:
    ledger = make_ledger(0)
    certificate, openings = ledger.remove("c-1", "c-other", "c-another")
    mine = Receipt.of(certificate, openings[:1]).encode()
    for opening in openings[1:]:
        assert str(opening.item.id).encode() not in mine
        assert opening.salt.hex().encode() not in mine


def test_a_subject_has_one_receipt_for_all_of_its_records() -> None:
    ledger = make_ledger(0)
    certificate, _ = ledger.remove("c-1")
    root, openings = commit([Item(Kind.SUBJECT, "anna"), Item(Kind.RECORD, "c-1"), Item(Kind.RECORD, "c-2")])
    certificate = ledger.add(dataclasses.replace(certificate.statement, commitment=root))
    receipt = Receipt.of(certificate, openings)
    assert audit_receipt(Receipt.decode(receipt.encode()), certificate, Item(Kind.SUBJECT, "anna"))


def test_every_byte_of_a_receipt_counts() -> None:
    receipt, certificate = make_receipt(make_ledger(0), "c-1", "c-2", "c-3")
    encoded = receipt.encode().rstrip(b"\n")
    for place, byte in enumerate(encoded):
        for changed in {byte ^ 1, byte ^ 0x20, 0x20} - {byte}:
            mutated = encoded[:place] + bytes([changed]) + encoded[place + 1 :]
            try:
                read = Receipt.decode(mutated)
            except CertificateError:
                continue
            assert not audit_receipt(read, certificate), (place, mutated)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kind", "animal", "neither a record nor a subject"),
        ("id", None, "must be a string or an integer"),
        ("id", True, "must be a string or an integer"),
        ("salt", "00", "64 hexadecimal digits"),
        ("place", -1, "must be a count"),
        ("path", ["x"], "64 hexadecimal digits"),
        ("path", ["0" * 64] * 65, "more than any tree"),
    ],
)
def test_receipts_that_make_no_sense_are_refused(name: str, value: object, message: str) -> None:
    import json

    receipt, _ = make_receipt(make_ledger(0), "c-1")
    document = json.loads(receipt.encode())
    document["removed"][0][name] = value
    with pytest.raises(CertificateError, match=message):
        Receipt.decode(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def test_a_receipt_about_nobody_is_refused() -> None:
    receipt, certificate = make_receipt(make_ledger(0), "c-1")
    with pytest.raises(CertificateError, match="about nobody"):
        Receipt.decode(Receipt.of(certificate, []).encode())
    with pytest.raises(CertificateError, match="is of type"):
        Receipt.decode(receipt.encode().replace(b"receipt:v1", b"receipt:v9"))

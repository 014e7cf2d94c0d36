"""The ledger: what is wrong is found, and the finding says where."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import EFFORT, SETTINGS, SOFTWARE, MadeLedger, commitments, make_ledger, request
from unlearnspn.certificates import Action, Counts, Envelope, Request, SigningKey, Statement, audit_ledger
from unlearnspn.certificates.findings import Finding

LEDGER = make_ledger(3)
FIRST_KEY = LEDGER.envelopes[0].statement.introduced
LAST_KEY = LEDGER.key.public


def failures(entries: list[bytes]) -> list[tuple[int | None, str]]:
    return [(finding.entry, finding.check) for finding in audit_ledger(entries).failures]


@pytest.mark.parametrize("key", [None, FIRST_KEY, LAST_KEY])
def test_a_sound_ledger_passes_with_each_of_its_keys(key: object) -> None:
    audit = audit_ledger(LEDGER.entries, key)  # type: ignore[arg-type]
    assert audit
    assert {finding.check for finding in audit.findings} >= {"encoding", "signature", "link", "continuity"}
    assert "7 entries" in str(audit)


def test_a_key_that_signed_nothing_does_not_vouch() -> None:
    audit = audit_ledger(LEDGER.entries, SigningKey.generate().public)
    [failure] = audit.failures
    assert failure.check == "public key"
    assert "signed nothing in this ledger" in failure.message


def test_an_empty_ledger_is_no_ledger() -> None:
    assert not audit_ledger([])


@settings(max_examples=80 * EFFORT, deadline=None)
@given(data=st.data())
def test_a_changed_byte_is_found_in_the_entry_where_it_is(data: st.DataObject) -> None:
    entries = LEDGER.entries
    number = data.draw(st.integers(0, len(entries) - 1))
    place = data.draw(st.integers(0, len(entries[number]) - 1))
    changed = data.draw(st.integers(0, 255).filter(lambda byte: byte != entries[number][place]))
    entries[number] = entries[number][:place] + bytes([changed]) + entries[number][place + 1 :]
    audit = audit_ledger(entries, FIRST_KEY)
    assert not audit
    assert min(finding.entry for finding in audit.failures if finding.entry is not None) == number


def test_entries_that_are_missing_repeated_or_exchanged_are_found() -> None:
    entries = LEDGER.entries
    for number in range(1, len(entries) - 1):
        assert failures(entries[:number] + entries[number + 1 :])[0][0] == number
        assert failures([*entries[:number], entries[number - 1], *entries[number:]])[0][0] == number
        swapped = [*entries[:number], entries[number + 1], entries[number], *entries[number + 2 :]]
        assert failures(swapped)[0][0] == number
    assert failures(entries[1:])[0][0] == 0


def test_the_end_cannot_be_cut_off_unnoticed_by_who_has_seen_it() -> None:
    head = LEDGER.envelopes[-1].digest
    assert audit_ledger(LEDGER.entries, head=head)
    assert audit_ledger(LEDGER.entries, head=LEDGER.envelopes[3].digest)
    [failure] = audit_ledger(LEDGER.entries[:-1], head=head).failures
    assert "the end was cut off" in failure.message


def test_an_entry_of_another_vault_does_not_fit_in() -> None:
    ledger = make_ledger(0)
    ledger.vault = "another"
    ledger.remove("c-1")
    assert failures(ledger.entries) == [(3, "link")]


def test_a_second_beginning_is_refused() -> None:
    ledger = make_ledger(0)
    counts, same, key = Counts(0, 0, 100), ledger.last.after, ledger.key.public
    init = Statement(Action.INIT, ledger.link(), request(), SOFTWARE, counts, same, same, introduced=key)
    ledger.add(init, ledger.key, ledger.key)
    assert (3, "link") in failures(ledger.entries)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"before": commitments(77)}, "its state before is not the one that entry 2 left"),
        ({"counts": Counts(1, 0, 98)}, "100 - 1 + 0 records do not leave 98"),
        ({"settings": SETTINGS[::-1]}, "must not change schema, parameters or seed"),
    ],
)
def test_signed_entries_must_continue_what_was_before(changes: dict[str, object], message: str) -> None:
    ledger = make_ledger(0)
    ledger.remove("c-1", **changes)
    [failure] = audit_ledger(ledger.entries).failures
    assert failure.check == "continuity"
    assert failure.entry == 3
    assert message in failure.message


@pytest.mark.parametrize(
    ("received", "completed", "message"),
    [
        ("2026-03-01T00:00:01Z", "2026-03-01T00:00:00Z", "before it was received on 2026-03-01T00:00:01Z"),
        ("2026-01-01T00:00:00Z", "2026-01-31T09:30:00Z", "before entry 2 on 2026-01-31T09:30:01Z"),
    ],
)
def test_dates_that_cannot_be_are_found(received: str, completed: str, message: str) -> None:
    ledger = make_ledger(0)
    counts, same = Counts(0, 5, 105), ledger.last.after
    asked = Request("r-9", received, completed, "registry")
    ledger.add(Statement(Action.ADDITION, ledger.link(), asked, SOFTWARE, counts, same, commitments(9), SETTINGS))
    [failure] = audit_ledger(ledger.entries).failures
    assert (failure.check, failure.entry) == ("dates", 3)
    assert message in failure.message


def test_an_export_changes_nothing() -> None:
    ledger = make_ledger(0)
    counts, same = Counts(0, 0, 100), ledger.last.after
    taken = Statement(Action.EXPORT, ledger.link(), request(), SOFTWARE, counts, same, same, SETTINGS)
    ledger.add(taken)
    assert audit_ledger(ledger.entries)
    other = Statement(Action.EXPORT, ledger.link(), request(), SOFTWARE, counts, same, commitments(9), SETTINGS)
    ledger.add(other)
    assert failures(ledger.entries) == [(4, "continuity")]


def test_a_rotation_changes_nothing_but_the_key() -> None:
    ledger, new = make_ledger(0), SigningKey.generate()
    counts, before = Counts(1, 0, 99), ledger.last.after
    link = ledger.link()
    statement = Statement(
        Action.KEY_ROTATION, link, request(), SOFTWARE, counts, before, commitments(9), SETTINGS, introduced=new.public
    )
    ledger.add(statement, ledger.key, new)
    assert failures(ledger.entries) == [(3, "continuity")]


@pytest.mark.parametrize("signers", ["old", "new", "stranger", "reversed"])
def test_a_rotation_needs_the_old_key_and_the_new_one(signers: str) -> None:
    ledger = make_ledger(1, rotated=True)
    rotation, old, new, stranger = ledger.envelopes[-1], make_ledger(0).key, ledger.key, SigningKey.generate()
    keys = {"old": [old], "new": [new], "stranger": [stranger, new], "reversed": [new, old]}[signers]
    forged = Envelope.sign(rotation.statement, keys)
    assert failures([*ledger.entries[:-1], forged.encoded])[0] == (4, "signature")


def test_the_retired_key_cannot_sign_any_more() -> None:
    ledger = make_ledger(0)
    retired = ledger.key
    ledger.rotate()
    ledger.key = retired
    ledger.remove("c-1")
    assert failures(ledger.entries) == [(4, "signature")]


def test_a_stolen_old_key_cannot_forge_a_ledger_for_who_knows_the_new_one() -> None:
    genuine = make_ledger(0)
    stolen = genuine.key
    genuine.rotate()
    forged = MadeLedger(key=stolen)
    forged.init()
    forged.ingest(100)
    forged.fit()
    assert audit_ledger(forged.entries, stolen.public)
    forged.add(genuine.envelopes[-1].statement, stolen, stolen)
    assert not audit_ledger(forged.entries, genuine.key.public)


def test_findings_say_where() -> None:
    finding = Finding(False, "link", "broken", 7)
    assert str(finding) == "FAILED: link (entry 7): broken"

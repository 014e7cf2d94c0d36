"""The inbox of a vault: requests, deadlines, holds, one transaction with the records, and nobody named once erased."""

import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from unlearnspn import Vault
from unlearnspn.errors import UnknownRecordError
from unlearnspn.vault import InboxError, State, VaultError
from unlearnspn.vault.deadlines import due_after, latest_extension
from unlearnspn.vault.home import Home
from unlearnspn.vault.texts import TextColumn
from vault_states import digests_of, fresh_digests, people

TABLE = people(90)


@pytest.fixture
def vault(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(TABLE, "customer", "person")
        vault.fit(min_rows=20)
        yield vault


def filed(vault, wish="erase", request_id="q-1", **person):
    request = vault.desk.file(wish, who="anna", request_id=request_id, **(person or {"subject": "p-7"}))
    return vault.desk.verify_identity(request.id, who="anna")


def written_in(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_an_erasure_from_inbox_to_certificate(vault):
    request = filed(vault)
    assert vault.desk.try_out(request.id).removed == 3
    outcome = vault.desk.erase(request.id, ground="Art. 17(1)(b)", who="berta")
    statement = outcome.certificate.statement
    assert outcome.removed == 3
    assert (statement.request.id, statement.request.operator) == ("q-1", "berta")
    assert statement.request.received == request.received
    assert len(outcome.receipts()) == 1
    done = vault.desk.get("q-1")
    assert (done.state, done.subject, done.ids) == (State.DONE, None, ())
    assert (done.entry, done.ground) == (statement.link.entry, "Art. 17(1)(b)")
    assert done.commitment == statement.commitment
    assert [step.what for step in done.steps] == ["filed", "identity verified", "approved", "done"]
    assert digests_of(vault) == fresh_digests(TABLE[TABLE["person"] != "p-7"], min_rows=20)
    assert vault.verify()


def test_repeating_an_erasure_gives_the_same_certificate(vault):
    filed(vault)
    first = vault.desk.erase("q-1", ground="Art. 17", who="anna")
    again = vault.desk.erase("q-1", ground="Art. 17", who="anna")
    assert again.certificate == first.certificate
    assert (again.removed, again.remaining) == (first.removed, first.remaining)
    assert len(vault.log()) == first.certificate.statement.link.entry + 1
    assert vault.desk.file("erase", subject="p-7", who="anna", request_id="q-1") == vault.desk.get("q-1")


def test_filing_twice_under_one_id_is_one_request(vault):
    first = vault.desk.file("access", subject="p-3", who="anna", request_id="q-9")
    assert vault.desk.file("access", subject="p-3", who="web", request_id="q-9") == first
    with pytest.raises(InboxError, match="another request 'q-9'"):
        vault.desk.file("access", subject="p-4", who="anna", request_id="q-9")
    assert len(vault.desk.requests()) == 1


def test_access_and_correction(vault):
    filed(vault, "access", "q-2", subject="p-3")
    held = vault.desk.access("q-2", who="anna")
    assert [row["customer"] for row in held.as_dicts()] == ["c-10", "c-11", "c-9"]
    assert vault.desk.get("q-2").state is State.DONE
    filed(vault, "correct", "q-3", subject="p-3")
    corrected = TABLE.loc[[9], ["customer", "age"]].assign(age=33.0)
    with pytest.raises(InboxError, match=r"records of others, .*'c-30'"):
        vault.desk.correct("q-3", TABLE.loc[[9, 30], ["customer", "age"]], who="anna")
    outcome = vault.desk.correct("q-3", corrected, who="anna")
    assert vault.desk.get("q-3").entry == outcome.certificate.statement.link.entry
    assert vault.access("c-9").as_dicts()[0]["age"] == 33.0


def test_what_is_not_ready_is_refused(vault):
    vault.desk.file("erase", subject="p-7", who="anna", request_id="q-1")
    for act, words in (
        (lambda: vault.desk.erase("q-1", ground="Art. 17", who="anna"), "nobody has verified"),
        (lambda: vault.desk.access("q-1", who="anna"), "asks to erase, not to access"),
        (lambda: vault.desk.get("q-2"), "there is no request 'q-2'"),
        (lambda: vault.desk.file("erase", who="anna"), "names a person"),
        (lambda: vault.desk.file("sell", who="anna", subject="p-1"), "'sell' is none of"),
        (lambda: vault.desk.file("erase", who="a", subject="p-1", received="2999-01-01T00:00:00Z"), "in the future"),
        (lambda: vault.desk.file("erase", who="a", subject="p-1", received="yesterday"), "is no date"),
        (lambda: vault.desk.deny("q-1", ground="", who="anna", reason="no"), "needs a ground"),
        (lambda: vault.desk.deny("q-1", ground="Art. 12(5)", who="anna", reason=" "), "needs a reason"),
        (lambda: vault.desk.hold("p-7", who="anna", reason=""), "needs a reason"),
        (lambda: vault.desk.lift("p-7"), "there is no legal hold"),
    ):
        with pytest.raises(InboxError, match=words):
            act()
    vault.desk.deny("q-1", ground="Art. 12(5)", who="anna", reason="manifestly unfounded")
    with pytest.raises(InboxError, match="is denied already"):
        vault.desk.withdraw("q-1", who="anna")
    assert len(vault) == 90


@pytest.mark.parametrize(
    ("received", "due", "latest"),
    [
        ("2024-01-31T10:00:00Z", "2024-02-29T10:00:00Z", "2024-04-30T10:00:00Z"),
        ("2025-01-31T10:00:00Z", "2025-02-28T10:00:00Z", "2025-04-30T10:00:00Z"),
        ("2025-11-30T23:59:59Z", "2025-12-30T23:59:59Z", "2026-02-28T23:59:59Z"),
        ("2025-12-15T00:00:00Z", "2026-01-15T00:00:00Z", "2026-03-15T00:00:00Z"),
    ],
)
def test_deadlines(received, due, latest):
    assert (due_after(received), latest_extension(received)) == (due, latest)


def test_one_extension_within_the_law(vault):
    received = (datetime.now(UTC) - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    request = vault.desk.file("erase", subject="p-7", who="anna", received=received)
    latest = latest_extension(received)
    for until in (request.due, "2999-01-01T00:00:00Z"):
        with pytest.raises(InboxError, match="can be extended beyond"):
            vault.desk.extend(request.id, until, who="anna", reason="many records")
    assert vault.desk.extend(request.id, latest, who="anna", reason="many records").due == latest
    with pytest.raises(InboxError, match="allows one extension"):
        vault.desk.extend(request.id, latest, who="anna", reason="again")


def test_what_is_due_first_comes_first(vault):
    for number, (days, state) in enumerate([(3, "open"), (9, "open"), (20, "denied"), (1, "open")]):
        received = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        vault.desk.file("access", subject=f"p-{number}", who="anna", received=received, request_id=f"q-{number}")
        if state == "denied":
            vault.desk.deny(f"q-{number}", ground="Art. 12(5)", who="anna", reason="unfounded")
    assert [request.id for request in vault.desk.requests()] == ["q-1", "q-0", "q-3", "q-2"]


def test_a_legal_hold_blocks_erasure_in_any_way(vault):
    vault.desk.hold("p-7", who="anna", reason="a lawsuit")
    filed(vault)
    for act in (
        lambda: vault.desk.erase("q-1", ground="Art. 17", who="anna"),
        lambda: vault.unlearn(subject="p-7"),
        lambda: vault.unlearn(["c-21", "c-50"]),
    ):
        with pytest.raises(InboxError, match="there is a legal hold on 'p-7'"):
            act()
    assert len(vault) == 90
    assert [hold.subject for hold in vault.desk.holds()] == ["p-7"]
    vault.desk.lift("p-7")
    assert vault.desk.erase("q-1", ground="Art. 17", who="anna").removed == 3


def test_requests_of_one_person_are_related_and_done_together(vault):
    filed(vault)
    filed(vault, "access", "q-2", subject="p-7")
    filed(vault, "erase", "q-3", ids=["c-21", "c-22"])
    filed(vault, "erase", "q-4", ids=["c-23", "c-60"])
    filed(vault, "access", "q-5", subject="p-8")
    assert [request.id for request in vault.desk.related("q-1")] == ["q-2"]
    vault.desk.erase("q-1", ground="Art. 17", who="anna")
    assert {request.id: request.state for request in vault.desk.requests()} == {
        "q-1": State.DONE,
        "q-2": State.DONE,
        "q-3": State.DONE,
        "q-4": State.OPEN,
        "q-5": State.OPEN,
    }
    assert vault.desk.get("q-4").ids == ("c-60",)
    assert vault.desk.get("q-5").subject == "p-8"


@pytest.mark.parametrize("how", ["subject", "ids", "past the desk"])
def test_the_desk_forgets(tmp_path, how):
    subject, record, remark = "Viktor Unvergessen", "id-7c6f3a09-unique", "lives at Elfenweg 81920"
    table = TABLE.copy()
    table.loc[40, ["customer", "person"]] = record, subject
    needles = [
        text.encode(code) for text in (subject, record, remark) for code in ("utf-8", "utf-16-le", "unicode_escape")
    ]
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        vault.fit(min_rows=20)
        person = {"ids": [record]} if how == "ids" else {"subject": subject}
        filed(vault, "access", "q-1", **person)
        vault.desk.note("q-1", remark, who="anna")
        vault.desk.access("q-1", who="anna")
        filed(vault, "erase", "q-2", **person)
        vault.desk.file("erase", who="anna", request_id="q-3", note=remark, **person)
        vault.desk.deny("q-3", ground="Art. 12(5)", who="anna", reason=remark)
        vault.desk.hold(subject, who="anna", reason=remark)
        vault.desk.lift(subject)
        found = {needle for needle in needles if needle in written_in(tmp_path)}
        assert {subject.encode(), record.encode(), remark.encode()} <= found
        if how == "past the desk":
            vault.unlearn(subject=subject)
        else:
            vault.desk.erase("q-2", ground="Art. 17", who="anna")
        left = {needle for needle in needles if needle in written_in(tmp_path)}
        assert not left
        requests = vault.desk.requests()
        assert [request.state for request in requests] == [State.DONE, State.DONE, State.DENIED]
        assert all(request.subject is None and not request.ids for request in requests)
        with pytest.raises(InboxError, match="somebody who was erased"):
            vault.desk.note("q-1", "it was Viktor", who="anna")
        assert vault.verify()


@pytest.mark.parametrize("is_fitted", [True, False])
@pytest.mark.parametrize("how", ["past the desk", "asked for"])
def test_the_desk_forgets_whom_a_correction_leaves_without_records(tmp_path, is_fitted, how):
    subject, remark = "Viktor Unvergessen", "lives at Elfenweg 81920"
    table = TABLE.copy()
    table.loc[[40, 41], "person"] = subject
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        if is_fitted:
            vault.fit(min_rows=20)
        filed(vault, "access", "q-1", subject=subject)
        vault.desk.note("q-1", remark, who="anna")
        vault.desk.access("q-1", who="anna")
        vault.desk.file("access", subject=subject, who="anna", request_id="q-2", note=remark)
        filed(vault, "correct", "q-3", subject=subject)
        filed(vault, "access", "q-4", subject="p-14")
        filed(vault, "erase", "q-5", ids=["c-40"])
        others = vault.desk.get("q-4"), vault.desk.get("q-5")
        vault.rectify(table.loc[[40], ["customer", "person"]].assign(person="p-14"))
        assert [vault.desk.get(f"q-{number}").subject for number in (1, 2, 3)] == [subject] * 3
        last = table.loc[[41], ["customer", "person"]].assign(person="p-900")
        outcome = vault.rectify(last) if how == "past the desk" else vault.desk.correct("q-3", last, who="anna")
        assert not [text for text in (subject, remark) if text.encode() in written_in(tmp_path)]
        requests = [vault.desk.get(f"q-{number}") for number in (1, 2, 3)]
        assert all(request.is_nameless and request.state is State.DONE for request in requests)
        entry = outcome.certificate.statement.link.entry
        assert [request.entry for request in requests] == [None, entry, entry]
        assert [step.what for step in requests[2].steps] == ["filed", "identity verified", "done"]
        assert vault.desk.correct("q-3", last, who="anna").certificate == outcome.certificate
        assert (vault.desk.get("q-4"), vault.desk.get("q-5")) == others
        assert vault.verify()


def test_those_who_are_left_after_a_batch_are_looked_for_together(tmp_path, monkeypatch):
    looked, find = [], TextColumn.find
    monkeypatch.setattr(TextColumn, "find", lambda column, text: looked.append(text) or find(column, text))
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(TABLE, "customer", "person")
        vault.fit(min_rows=20)
        filed(vault, "access", "q-1", subject="p-0")
        filed(vault, "access", "q-2", subject="p-1")
        looked.clear()
        vault.unlearn(TABLE["customer"][TABLE["person"] != "p-1"].tolist())
        assert looked == []
        assert vault.desk.get("q-1").is_nameless
        assert vault.desk.get("q-2").subject == "p-1"


@pytest.mark.parametrize("is_fitted", [True, False])
def test_a_correction_does_not_answer_an_open_request_to_erase(tmp_path, is_fitted):
    table = TABLE.copy()
    table.loc[[40, 41], "person"] = "p-99"
    moved = table.loc[[40, 41], ["customer", "person"]].assign(person="p-14")
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        if is_fitted:
            vault.fit(min_rows=20)
        filed(vault, "erase", "q-1", subject="p-99")
        with pytest.raises(InboxError, match="request 'q-1' to erase the records of 'p-99' is open"):
            vault.rectify(moved)
        assert vault.holds_any(subject="p-99")
        vault.rectify(moved.iloc[:1])  # one record is left, which the request is about
        assert vault.desk.get("q-1").is_open
        vault.desk.deny("q-1", ground="Art. 17(3)(b)", who="anna", reason="is kept")
        vault.rectify(moved)
        assert vault.desk.get("q-1").is_nameless
        assert vault.verify()


@pytest.mark.parametrize("is_fitted", [True, False])
def test_ids_that_nobody_holds_keep_no_request(tmp_path, is_fitted):
    remark = "Viktor lives at Elfenweg 81920"
    table = TABLE.copy()
    table.loc[40, "customer"] = "id-7c6f3a09-unique"
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        if is_fitted:
            vault.fit(min_rows=20)
        vault.unlearn("id-7c6f3a09-unique")
        for name, ids in (("q-1", ["c-41"]), ("q-2", ["c-41", "c-42"])):
            vault.desk.file("erase", ids=["id-7c6f3a09-unique", *ids], who="anna", request_id=name, note=remark)
            vault.desk.deny(name, ground="Art. 17(3)(b)", who="anna", reason=remark)
        vault.unlearn("c-41")
        assert vault.desk.get("q-1").is_nameless
        assert vault.desk.get("q-2").ids == ("c-42",)
        assert b"id-7c6f3a09-unique" not in written_in(tmp_path)
        vault.unlearn("c-42")
        assert vault.desk.get("q-2").is_nameless
        assert remark.encode() not in written_in(tmp_path)


def test_inbox_and_records_change_together_or_not_at_all(vault, tmp_path, monkeypatch):
    filed(vault)
    before = digests_of(vault), vault.desk.requests()

    def failing(*arguments, **named):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr("unlearnspn.vault.home.write_seal", failing)
        with pytest.raises((VaultError, sqlite3.Error)):
            vault.unlearn(subject="p-7", request_id="q-1")
    assert (digests_of(vault), vault.desk.requests()) == before
    with Vault.open(tmp_path / "people.uspn") as reader:
        assert (digests_of(reader), reader.desk.requests()) == before
    assert vault.desk.erase("q-1", ground="Art. 17", who="anna").removed == 3


@pytest.mark.parametrize("wish", ["erase", "access", "correct"])
def test_what_is_done_under_the_id_of_a_request_is_what_was_asked(vault, wish):
    """Nobody counts as erased whose request has the id of something else that was done."""
    filed(vault, wish, "q-1", subject="p-7")
    others = [
        lambda: vault.learn(people(3, first=900), request_id="q-1"),
        lambda: vault.rectify(TABLE.loc[[30], ["customer", "age"]].assign(age=9.0), request_id="q-1"),
        lambda: vault.unlearn(subject="p-8", request_id="q-1"),
        lambda: vault.unlearn(["c-21"], request_id="q-1"),
    ]
    for act in others:
        with pytest.raises(InboxError, match=r"request 'q-1' in the inbox .* another id"):
            act()
    assert vault.desk.get("q-1").is_open
    assert len(vault) == 90


def test_an_id_of_an_erased_person_is_nobody_elses(vault):
    filed(vault)
    vault.desk.erase("q-1", ground="Art. 17", who="anna")
    for wish, person in (("erase", {"subject": "p-8"}), ("erase", {"ids": ["c-30"]}), ("access", {"subject": "p-7"})):
        with pytest.raises(InboxError, match="another request 'q-1'"):
            vault.desk.file(wish, who="anna", request_id="q-1", **person)
    assert vault.desk.file("erase", ids=["c-21"], who="anna", request_id="q-1").entry is not None


@pytest.mark.parametrize("how", ["deny", "withdraw"])
def test_a_request_that_comes_after_the_erasure_is_forgotten_once_it_is_closed(vault, tmp_path, how):
    subject, remark = "Viktor Unvergessen", "lives at Elfenweg 81920"
    vault.desk.file("access", subject=subject, who="anna", request_id="q-1", note=remark)
    assert all(text.encode() in written_in(tmp_path) for text in (subject, remark))
    if how == "deny":
        vault.desk.deny("q-1", ground="Art. 12(5)", who="anna", reason="nothing is held on Viktor")
    else:
        vault.desk.withdraw("q-1", who="anna")
    assert not any(text in written_in(tmp_path) for text in (subject.encode(), remark.encode(), b"Viktor"))
    assert vault.desk.get("q-1").is_nameless
    with pytest.raises(InboxError, match="no remark may name them"):
        vault.desk.note("q-1", "it was Viktor", who="anna")


def test_what_stays_for_good_names_nobody(vault):
    for person in ({"subject": "p-7"}, {"ids": ["c-21"]}):
        name = next(iter(person.values()))
        name = name if isinstance(name, str) else name[0]
        with pytest.raises(InboxError, match="the id of a request stays for good"):
            vault.desk.file("erase", who="anna", request_id=f"erase:{name.upper()}", **person)
    filed(vault)
    for ground in ("Art. 17, p-7 asked", "P-7"):
        with pytest.raises(InboxError, match="a ground stays for good"):
            vault.desk.erase("q-1", ground=ground, who="anna")
        with pytest.raises(InboxError, match="a ground stays for good"):
            vault.desk.deny("q-1", ground=ground, who="anna", reason="no")
    assert vault.desk.erase("q-1", ground="Art. 17(1)(b), see file p-77", who="anna").removed == 3


def test_records_of_somebody_on_hold_are_not_given_to_others(vault):
    vault.desk.hold("p-7", who="anna", reason="a lawsuit")
    given = TABLE.loc[[21, 30], ["customer", "person"]].assign(person="p-8")
    with pytest.raises(InboxError, match="there is a legal hold on 'p-7'"):
        vault.rectify(given)
    assert vault.records_of(subject="p-7") == ["c-21", "c-22", "c-23"]
    vault.rectify(TABLE.loc[[21], ["customer", "age"]].assign(age=33.0))
    vault.desk.lift("p-7")
    vault.rectify(given)
    assert vault.records_of(subject="p-7") == ["c-22", "c-23"]


def test_who_is_not_there_is_not_held(vault):
    with pytest.raises(UnknownRecordError):
        vault.desk.hold("p-700", who="anna", reason="a lawsuit")


def test_steps_may_be_repeated(vault):
    assert filed(vault) == vault.desk.verify_identity("q-1", who="berta")
    filed(vault, "access", "q-2", subject="p-3")
    first = vault.desk.access("q-2", who="anna")
    assert vault.desk.access("q-2", who="anna") == first
    assert [step.what for step in vault.desk.get("q-2").steps] == ["filed", "identity verified", "done"]


def test_whoever_opens_the_vault_sees_the_same(vault, tmp_path):
    filed(vault)
    vault.desk.hold("p-9", who="anna", reason="a lawsuit")
    with Vault.open(tmp_path / "people.uspn") as reader:
        assert reader.desk.requests() == vault.desk.requests()
        vault.desk.withdraw("q-1", who="anna")
        assert reader.desk.requests() == vault.desk.requests()
        assert reader.desk.holds() == vault.desk.holds()
        with pytest.raises(VaultError, match="opened for reading"):
            reader.desk.withdraw("q-1", who="anna")
    assert vault.verify()


def test_many_requests_are_stored_page_by_page(vault, monkeypatch):
    vault.change_inbox(
        lambda inbox: [inbox.file("access", f"p-{number}", (), "web", None, f"q-{number}") for number in range(3000)]
    )
    written, commit = [], Home.commit

    def counting(home, *arguments):
        overwrite = home._store._rows.overwrite
        home._store._rows.overwrite = lambda rows: written.extend(kept := list(rows)) or overwrite(kept)
        try:
            return commit(home, *arguments)
        finally:
            home._store._rows.overwrite = overwrite

    monkeypatch.setattr(Home, "commit", counting)
    vault.desk.withdraw("q-1500", who="web")
    assert 0 < len(written) < 12
    assert len(vault.desk.requests()) == 3000


class Requests(RuleBasedStateMachine):
    """Any order of steps: the inbox is what a plain dictionary says, and survives being written and read."""

    @initialize()
    def start(self):
        from tempfile import TemporaryDirectory

        self.folder = TemporaryDirectory()
        self.path = f"{self.folder.name}/people.uspn"
        self.vault = Vault.create(self.path)
        self.vault.ingest(people(30), "customer", "person")
        self.known, self.gone, self.held = {}, set(), set()

    @rule(number=st.integers(0, 9), wish=st.sampled_from(["erase", "access"]), key=st.integers(0, 12))
    def file(self, number, wish, key):
        subject, key = f"p-{number}", f"q-{key}"
        known = self.known.get(key)
        if known is not None and not self.is_same(known, subject, wish):
            with pytest.raises(InboxError):
                self.vault.desk.file(wish, subject=subject, who="a", request_id=key)
            return
        self.vault.desk.file(wish, subject=subject, who="a", request_id=key)
        if known is None:
            self.known[key] = {"subject": subject, "wish": wish, "state": "open"}

    def is_same(self, known, subject, wish):
        """Whose request it was that has no name any more nobody can tell; but it was not of somebody who is there."""
        was_for = known["subject"] == subject or (known["subject"] is None and subject in self.gone)
        return was_for and known["wish"] == wish

    @precondition(lambda self: self.known)
    @rule(place=st.integers(0, 100), what=st.sampled_from(["erase", "deny", "withdraw"]))
    def close(self, place, what):
        key = sorted(self.known)[place % len(self.known)]
        known, desk = self.known[key], self.vault.desk
        if known["state"] != "open":
            return
        if what == "deny":
            desk.deny(key, ground="Art. 12(5)", who="a", reason="unfounded")
            known |= {"subject": self.left(known["subject"]), "state": "denied"}
        elif what == "withdraw":
            desk.withdraw(key, who="a")
            known |= {"subject": self.left(known["subject"]), "state": "withdrawn"}
        elif known["wish"] == "erase":
            self.erase(key, known)

    def left(self, subject):
        return None if subject in self.gone else subject

    def erase(self, key, known):
        subject = known["subject"]
        self.vault.desk.verify_identity(key, who="a")
        if subject in self.held or subject in self.gone:
            with pytest.raises((InboxError, UnknownRecordError)):
                self.vault.desk.erase(key, ground="Art. 17", who="a")
            return
        self.vault.desk.erase(key, ground="Art. 17", who="a")
        self.gone.add(subject)
        for each in self.known.values():
            if each["subject"] == subject:
                each |= {"subject": None, "state": "done" if each["state"] == "open" else each["state"]}

    @rule(number=st.integers(0, 9))
    def hold_or_lift(self, number):
        subject = f"p-{number}"
        if subject in self.gone:
            with pytest.raises(UnknownRecordError):
                self.vault.desk.hold(subject, who="a", reason="a lawsuit")
            return
        if subject in self.held:
            self.vault.desk.lift(subject)
        else:
            self.vault.desk.hold(subject, who="a", reason="a lawsuit")
        self.held ^= {subject}

    @rule()
    def open_again(self):
        self.vault.close()
        self.vault = Vault.open(self.path, write=True)

    @invariant()
    def is_what_it_should_be(self):
        if not hasattr(self, "vault"):
            return
        found = {
            each.id: {"subject": each.subject, "wish": str(each.wish), "state": str(each.state)}
            for each in self.vault.desk.requests()
        }
        assert found == self.known
        assert {hold.subject for hold in self.vault.desk.holds()} == self.held

    def teardown(self):
        if hasattr(self, "vault"):
            self.vault.close()
            self.folder.cleanup()


TestRequests = Requests.TestCase
TestRequests.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)

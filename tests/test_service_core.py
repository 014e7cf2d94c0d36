"""What the service is made of, piece by piece: people, tokens, sessions, jobs, figures, its own file, once by an id."""

import contextlib
import os
import sqlite3
import threading
import time

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from many_threads import halfway
from services import GROUND, PASSWORD, QUICK, TABLE, full, make_vault, opened
from unlearnspn.certificates import Action, utc_now
from unlearnspn.service import attempts, sessions, tokens
from unlearnspn.service.accounts import Accounts
from unlearnspn.service.attempts import MOST_BY_ADDRESS, MOST_BY_NAME, WINDOW, Attempts
from unlearnspn.service.audit_log import AuditLog
from unlearnspn.service.database import Database
from unlearnspn.service.desk_service import DeskService, Person
from unlearnspn.service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotSignedInError,
    NotThereError,
    ServiceFileError,
    TooManyAttemptsError,
)
from unlearnspn.service.jobs import Jobs, JobState
from unlearnspn.service.metrics import Metrics
from unlearnspn.service.problems import explain
from unlearnspn.service.roles import Role, Scope
from unlearnspn.service.sessions import Sessions
from unlearnspn.service.tokens import Tokens
from unlearnspn.vault import NewRequest, Wish
from unlearnspn.vault.home import Home
from vault_states import people

ANOTHER = "another horse battery"


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "own.service")
    yield database
    database.close()


@pytest.fixture
def accounts(database):
    return accounts_of(database)


@pytest.fixture
def anna(accounts):
    return accounts.add("anna", Role.OFFICER, PASSWORD)


@pytest.fixture
def service(tmp_path):
    with opened(make_vault(tmp_path)) as service:
        yield service


def accounts_of(database):
    accounts = Accounts(database)
    accounts._hasher = QUICK()
    return accounts


@contextlib.contextmanager
def at(monkeypatch, module, clock, value):
    """Have a module's clock show something for a while."""
    with monkeypatch.context() as changed:
        changed.setattr(getattr(module, "time", module), clock, lambda: value)
        yield


# -- users -----------------------------------------------------------------------------------------------------------


def test_the_last_officer_stays(accounts, anna):
    accounts.add("audrey", Role.AUDITOR, PASSWORD)
    with pytest.raises(ConflictError, match="last officer"):
        accounts.remove("anna")
    accounts.add("berta", Role.OFFICER, PASSWORD)
    accounts.remove("anna")
    assert [user.name for user in accounts.all()] == ["audrey", "berta"]
    with pytest.raises(NotThereError):
        accounts.remove("anna")


def test_two_first_users_at_the_same_time_are_one(accounts):
    key, ready, outcomes = accounts.first_key, threading.Barrier(2), []

    def add(name):
        ready.wait()
        try:
            outcomes.append(accounts.add_first(key, name, PASSWORD).name)
        except ForbiddenError:
            outcomes.append(None)

    threads = [threading.Thread(target=add, args=(name,)) for name in ("anna", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (first,) = accounts.all()
    assert sorted(outcomes, key=str) == sorted([None, first.name], key=str)
    assert (first.role, accounts.first_key) == (Role.OFFICER, None)


def test_the_key_of_the_first_link_is_another_one_after_each_start(database):
    keys = {accounts_of(database).first_key for _ in range(3)}
    assert len(keys) == 3
    with pytest.raises(ForbiddenError):
        accounts_of(database).add_first(keys.pop(), "anna", PASSWORD)


def test_a_name_is_one_line_and_nobody_elses(accounts, anna):
    assert accounts.add("  berta ", Role.AUDITOR, PASSWORD).name == "berta"
    with pytest.raises(ConflictError):
        accounts.add(" anna", Role.AUDITOR, PASSWORD)
    for name in ("", " ", "a\nb", "a\x1b[2J", "x" * 201):
        with pytest.raises(InvalidInputError):
            accounts.add(name, Role.AUDITOR, PASSWORD)


def test_a_password_is_long_enough_and_not_endless(accounts):
    for number, password in enumerate(["x" * 12, "x" * 1024, " " * 12, "\u00fc\U0001f600" * 6]):
        accounts.add(f"user-{number}", Role.AUDITOR, password)
        assert accounts.check(f"user-{number}", password).name == f"user-{number}"
    for password in ("", "x" * 11, "x" * 1025, "x" * 12 + "\ud800"):
        with pytest.raises(InvalidInputError):
            accounts.add("berta", Role.AUDITOR, password)


def test_a_wrong_password_and_a_wrong_name_are_told_alike(accounts, anna):
    messages = set()
    for name, password in (
        ("anna", ANOTHER),
        ("anna", ""),
        ("anna", PASSWORD + " "),
        ("Anna", PASSWORD),
        ("nobody", PASSWORD),
        ("anna", "\ud800" * 12),
        ("anna", PASSWORD * 100),
    ):
        with pytest.raises(NotSignedInError) as refused:
            accounts.check(name, password)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_a_password_whose_beginning_alone_is_kept_is_no_password(accounts):
    accounts.add("berta", Role.AUDITOR, "x" * 1024)
    with pytest.raises(NotSignedInError):
        accounts.check("berta", "x" * 1025)


def test_a_hash_is_made_anew_once_hashes_cost_more(accounts, anna, database):
    def stored():
        return database.row("select password from users where name = 'anna'")[0]

    first = stored()
    accounts.check("anna", PASSWORD)
    assert stored() == first
    accounts._hasher = QUICK(time_cost=2)
    with pytest.raises(NotSignedInError):
        accounts.check("anna", ANOTHER)
    assert stored() == first
    accounts.check("anna", PASSWORD)
    assert (stored() != first, ",t=2," in stored()) == (True, True)


def test_sessions_end_with_their_user_and_with_another_password(accounts, anna, database):
    made = Sessions(database, accounts)
    accounts.add("berta", Role.OFFICER, PASSWORD)
    cookies = {name: made.start(accounts.get(name)) for name in ("anna", "berta")}
    accounts.set_password("anna", ANOTHER)
    with pytest.raises(NotSignedInError):
        made.check(cookies["anna"])
    assert accounts.check("anna", ANOTHER) == anna
    accounts.remove("berta")
    with pytest.raises(NotSignedInError):
        made.check(cookies["berta"])
    assert database.rows("select * from sessions") == []
    with pytest.raises(NotThereError):
        accounts.set_password("berta", ANOTHER)


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_a_token_is_known_by_its_text_alone(database):
    made = Tokens(database)
    token, text = made.add(" crm ", ["ledger:read", "metrics:read"], 30, "anna")
    assert (token.name, token.scopes) == ("crm", {Scope.READ_LEDGER, Scope.METRICS})
    assert made.check(text) == token == made.all()[0]
    secret = text.rpartition("_")[2]
    for wrong in (
        text[:-1],
        text + "A",
        text.upper(),
        f"uspn_{token.id}_",
        token.id,
        f"x_{token.id}_{secret}",
        "",
        "_",
    ):
        with pytest.raises(NotSignedInError, match="not known"):
            made.check(wrong)


def test_a_token_ends_on_its_day(database, monkeypatch):
    made = Tokens(database)
    token, text = made.add("crm", ["ledger:read"], 1, "anna")
    with at(monkeypatch, tokens, "utc_now", token.expires):
        assert made.all()[0].has_expired
        with pytest.raises(NotSignedInError, match="expired"):
            made.check(text)
    assert not made.check(text).has_expired


def test_a_revoked_token_is_not_known(database):
    made = Tokens(database)
    (kept, kept_text), (revoked, text) = (made.add(name, ["ledger:read"], 1, "anna") for name in ("a", "b"))
    made.remove(revoked.id)
    with pytest.raises(NotSignedInError, match="not known"):
        made.check(text)
    assert (made.check(kept_text), made.all()) == (kept, [kept])
    with pytest.raises(NotThereError):
        made.remove(revoked.id)


@pytest.mark.parametrize(
    ("name", "scopes", "days"),
    [
        ("", ["ledger:read"], 1),
        ("a\nb", ["ledger:read"], 1),
        ("x" * 101, ["ledger:read"], 1),
        ("crm", [], 1),
        ("crm", ["ledger:write"], 1),
        ("crm", ["ledger:read", "people:write"], 1),
        ("crm", ["audit:read"], 1),
        ("crm", ["ledger:read"], 0),
        ("crm", ["ledger:read"], -1),
        ("crm", ["ledger:read"], 367),
    ],
)
def test_a_token_that_cannot_be_is_not_made(database, name, scopes, days):
    with pytest.raises(InvalidInputError):
        Tokens(database).add(name, scopes, days, "anna")
    assert Tokens(database).all() == []


# -- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_goes_on_after_a_restart(tmp_path):
    cookies = []
    for _ in range(2):
        database = Database(tmp_path / "own.service")
        accounts = accounts_of(database)
        made = Sessions(database, accounts)
        if not cookies:
            cookies.append(made.start(accounts.add("anna", Role.OFFICER, PASSWORD)))
        assert made.check(cookies[0]).user.name == "anna"
        database.close()


def test_a_cookie_of_another_service_is_not_signed_in(tmp_path, database, accounts, anna):
    other = Database(tmp_path / "other.service")
    others = accounts_of(other)
    cookie = Sessions(other, others).start(others.add("anna", Role.OFFICER, PASSWORD))
    other.close()
    with pytest.raises(NotSignedInError):
        Sessions(database, accounts).check(cookie)


def test_a_session_that_is_used_goes_on_and_ends_some_day(database, accounts, anna, monkeypatch):
    made, now = Sessions(database, accounts), time.time()
    cookie, idle = made.start(anna), made.start(anna)
    for step in range(1, int(sessions.LONGEST / sessions.IDLE) + 1):
        with at(monkeypatch, sessions, "time", now + step * (sessions.IDLE - 61)):
            assert made.check(cookie).user == anna
    with at(monkeypatch, sessions, "time", now + 2 * sessions.IDLE), pytest.raises(NotSignedInError):
        made.check(idle)
    with at(monkeypatch, sessions, "time", now + sessions.LONGEST + 60), pytest.raises(NotSignedInError):
        made.check(cookie)


def test_sessions_that_are_over_are_not_kept(database, accounts, anna, monkeypatch):
    made = Sessions(database, accounts)
    made.start(anna)
    with at(monkeypatch, sessions, "time", time.time() + sessions.IDLE + 60):
        made.start(anna)
    assert len(database.rows("select * from sessions")) == 1


def test_a_session_that_was_ended_leaves_others_alone(database, accounts, anna):
    made = Sessions(database, accounts)
    first, second = made.start(anna), made.start(anna)
    made.end(made.check(first))
    with pytest.raises(NotSignedInError):
        made.check(first)
    assert made.check(second).user == anna


def test_forms_are_of_one_session(database, accounts, anna):
    made = Sessions(database, accounts)
    first, second = (made.check(made.start(anna)) for _ in range(2))
    first.require_own_form(first.csrf)
    for csrf in (None, "", second.csrf, first.csrf[:-1], "\u00fc"):
        with pytest.raises(ForbiddenError):
            first.require_own_form(csrf)


# -- audit log -------------------------------------------------------------------------------------------------------


def test_the_audit_log_has_pages_and_the_last_entry_is_first(database):
    log = AuditLog(database)
    for number in range(7):
        log.write("anna", "filed", f"q-{number}")
    first = log.entries(limit=3)
    assert [(entry.about, entry.number) for entry in first] == [("q-6", 7), ("q-5", 6), ("q-4", 5)]
    assert [entry.about for entry in log.entries(before=first[-1].number, limit=3)] == ["q-3", "q-2", "q-1"]
    assert [entry.about for entry in log.entries(before=2)] == ["q-0"]
    assert log.entries(before=1) == []


def test_the_audit_log_says_who_did_what_when_and_for_which_request(service):
    service.file(Wish.ERASE, Person("p-7"), who="anna", request_id="q-1", note="p-7 called")
    service.verify_identity("q-1", who="anna")
    service.hold("p-9", who="berta", reason="p-9 is in court")
    service.look_up(Person("p-8"), who="anna")
    service.erase("q-1", ground=GROUND, who="anna")
    entries = service.audit.entries()[::-1]
    assert [(entry.who, entry.what, entry.about) for entry in entries] == [
        ("anna", "filed", "q-1"),
        ("anna", "identity verified", "q-1"),
        ("berta", "hold placed", ""),
        ("anna", "records seen", ""),
        ("anna", "erased", "q-1"),
    ]
    assert all(entry.at.endswith("Z") for entry in entries)
    assert not [entry for entry in entries for person in ("p-7", "p-8", "p-9") if person in str(entry)]


def test_what_was_refused_is_not_in_the_audit_log_as_done(service):
    for act in (
        lambda: service.remove(Person("p-700"), who="crm", ground=GROUND, request_id="r-1"),
        lambda: service.add(table_of(TABLE.head(1)), who="crm", request_id="r-2"),
        lambda: service.erase("q-404", ground=GROUND, who="anna"),
    ):
        with pytest.raises(Exception, match=r"no records|held|no request|already|twice"):
            act()
    assert service.audit.entries() == []


def test_what_is_done_is_answered_and_told_later_while_the_audit_log_cannot_be_written(service, caplog):
    for request_id, wish, person in (
        ("q-1", Wish.ERASE, "p-8"),
        ("q-2", Wish.CORRECT, "p-10"),
        ("q-3", "access", "p-9"),
    ):
        service.file(wish, Person(person), who="anna", request_id=request_id)
        service.verify_identity(request_id, who="anna")
    with full(service):
        removed, added, replaced = (CHANGES[name](service, name) for name in ("remove", "add", "replace"))
        erased = service.erase("q-1", ground=GROUND, who="anna")
        corrected = service.correct("q-2", CORRECTED, who="anna")
        assert len(service.answer_access("q-3", who="anna")) == 3
        service.hold("p-9", who="anna", reason="p-9 is in court")
        new = [NewRequest(Wish.ERASE, subject, request_id=name) for subject, name in (("p-11", "q-4"), ("p-12", "q-5"))]
        service.file_all(new, who="anna")
        service.deny("q-4", ground="Art. 12(5)", who="anna", reason="p-11 asks each day")
        assert service.audit.entries()[0].what == "signed in"
    assert [len(outcome.receipts()) for outcome in (removed, erased, added)] == [1, 1, 0]
    assert (added.added, replaced.added, corrected.added) == (3, 2, 2)
    told_at = utc_now()
    service.look_up(Person("p-12"), who="berta")
    assert [(entry.what, entry.about) for entry in service.audit.entries(limit=11)[::-1]] == [
        ("erased", "remove"),
        ("records added", "add"),
        ("records corrected", "replace"),
        ("erased", "q-1"),
        ("corrected", "q-2"),
        ("access given", "q-3"),
        ("hold placed", ""),
        ("filed", "q-4"),
        ("filed", "q-5"),
        ("denied", "q-4"),
        ("records seen", ""),
    ]
    assert all(entry.at <= told_at for entry in service.audit.entries(limit=11)[1:])
    assert "OperationalError" in caplog.text
    assert not [name for name in ("p-7", "p-8", "p-9", "p-10", "p-11", "q-1", "anna") if name in caplog.text]


def test_what_the_audit_log_owes_is_told_to_whoever_reads_it(service):
    with full(service):
        service.hold("p-9", who="anna", reason="p-9 is in court")
    assert [service.audit.entries()[0].what for _ in range(2)] == ["hold placed"] * 2
    assert service.audit.entries()[1].what == "signed in"


def test_what_the_audit_log_owes_is_written_at_the_end(tmp_path):
    path = make_vault(tmp_path)
    with opened(path) as service, full(service):
        service.hold("p-9", who="anna", reason="p-9 is in court")
    with opened(path) as service:
        assert service.audit.entries()[0].what == "hold placed"


def test_nothing_is_shown_of_which_the_audit_log_cannot_tell(service):
    with full(service):
        for show in (
            lambda: service.look_up(Person("p-7"), who="anna"),
            lambda: service.find_like({"town": "Ulm"}, who="anna"),
            lambda: service.take_circuit(who="crm"),
        ):
            with pytest.raises(sqlite3.OperationalError):
                show()
    assert service.audit.entries()[0].what == "signed in"


def test_the_audit_log_tells_of_the_circuit_that_was_taken_and_not_of_one_before(service, monkeypatch):
    original, before = type(service.vault).served, service.vault.circuit_

    def and_somebody_leaves(vault):
        served = original(vault)
        if len(vault) == 90:
            vault.unlearn(["c-1"])
        return served

    monkeypatch.setattr(type(service.vault), "served", and_somebody_leaves)
    assert service.take_circuit(who="crm") == before != service.vault.circuit_
    assert service.audit.entries()[0].about == "2"
    assert service.take_circuit(who="crm") == service.vault.circuit_
    assert next((entry.what, entry.about) for entry in service.audit.entries()) == ("circuit taken", "3")


def test_an_error_that_nobody_expected_does_not_say_that_nothing_was_done():
    detail = explain(RuntimeError("p-7")).detail
    assert "nothing" not in detail
    assert "as a whole or not at all" in detail


# -- attempts --------------------------------------------------------------------------------------------------------


def try_often(counted, number, name="anna", address="192.0.2.1"):
    """Try until it is refused; return how often it was not."""
    for done in range(number):
        try:
            counted.begin(name.format(done), address.format(done))
        except TooManyAttemptsError:
            return done
    return number


def test_attempts_are_counted_by_name_and_by_address():
    assert try_often(Attempts(), 100, address="192.0.2.{}") == MOST_BY_NAME
    assert try_often(Attempts(), 100, name="user-{}") == MOST_BY_ADDRESS


def test_whoever_waits_may_try_again(monkeypatch):
    counted = Attempts()
    with at(monkeypatch, attempts, "monotonic", 1000.0):
        assert try_often(counted, 100) == MOST_BY_NAME
    with at(monkeypatch, attempts, "monotonic", 1000.0 + WINDOW - 5), pytest.raises(TooManyAttemptsError) as refused:
        counted.begin("anna", "192.0.2.1")
    assert refused.value.seconds == 6
    with at(monkeypatch, attempts, "monotonic", 1000.0 + WINDOW):
        assert try_often(counted, 100) == MOST_BY_NAME


def test_success_is_forgotten():
    counted = Attempts()
    for _ in range(10 * MOST_BY_ADDRESS):
        counted.begin("anna", "192.0.2.1")
        counted.succeeded("anna", "192.0.2.1")
    assert try_often(counted, 100) == MOST_BY_NAME


@pytest.mark.parametrize(
    ("address", "most"),
    [
        ("2001:db8::{}", MOST_BY_ADDRESS),
        ("2001:db8:0:{}::1", 100),
        ("::ffff:192.0.2.{}", 100),
        ("192.0.2.{}", 100),
        ("", MOST_BY_ADDRESS),
    ],
)
def test_who_has_a_network_of_addresses_is_one(address, most):
    assert try_often(Attempts(), 100, name="user-{}", address=address) == most


def test_an_address_is_the_same_however_a_proxy_writes_it():
    counted = Attempts()
    assert try_often(counted, MOST_BY_ADDRESS, name="user-{}", address="192.0.2.1") == MOST_BY_ADDRESS
    assert try_often(counted, 1, address="::ffff:192.0.2.1") == 0


def test_attempts_take_no_more_and_more_memory(monkeypatch):
    monkeypatch.setattr(attempts, "_MOST_KEYS", 50)
    counted = Attempts()
    with at(monkeypatch, attempts, "monotonic", 1000.0):
        try_often(counted, 100, name="user-{}", address="192.0.2.{}")
    with at(monkeypatch, attempts, "monotonic", 1000.0 + WINDOW):
        counted.begin("anna", "192.0.2.1")
    assert len(counted._attempts) == 2
    assert "anna" not in str(counted._attempts)


# -- jobs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def jobs():
    jobs = Jobs(lambda error: f"explained: {error}")
    yield jobs
    jobs.close()


class Work:
    """Work that begins, goes on when it is told to, and ends in some way."""

    def __init__(self, error=None):
        self.began, self.go_on, self.error = threading.Event(), threading.Event(), error

    def __call__(self, progress):
        progress("reading", 1, 4)
        self.began.set()
        assert self.go_on.wait(20)
        progress("writing", 1, 0)
        if self.error is not None:
            raise self.error
        return {"found": 7}


def finished(jobs, job):
    """Return a job once it is over."""
    end = time.monotonic() + 20
    while not jobs.get(job.id).is_over:
        assert time.monotonic() < end
        time.sleep(0.005)
    return jobs.get(job.id)


def test_a_job_tells_how_far_it_is(jobs):
    work = Work()
    started = jobs.start("verification", "anna", work)
    assert (started.state, started.share, started.is_over) == (JobState.WAITING, None, False)
    assert work.began.wait(20)
    job = jobs.get(started.id)
    assert (job.state, job.step, job.share, job.who, job.kind) == ("running", "reading", 0.25, "anna", "verification")
    work.go_on.set()
    done = finished(jobs, started)
    assert (done.state, done.step, done.share, done.result, done.error) == ("done", "writing", 1.0, {"found": 7}, None)


def test_a_job_that_failed_says_why_and_the_next_one_is_done(jobs):
    failing, next_one = Work(ValueError("too few rows")), Work()
    failing.go_on.set(), next_one.go_on.set()
    failed, done = jobs.start("fit", "anna", failing), jobs.start("fit", "anna", next_one)
    assert finished(jobs, done).state is JobState.DONE
    job = jobs.get(failed.id)
    assert (job.state, job.error, job.result) == ("failed", "explained: too few rows", None)
    assert [each.id for each in jobs.all()] == [done.id, failed.id]


def test_after_an_erasure_nobody_keeps_why_a_job_failed(jobs):
    earlier, done, later = Work(ValueError("c-7 is damaged")), Work(), Work(ValueError("c-7 is damaged"))
    earlier.go_on.set(), done.go_on.set()
    first, second, third = (jobs.start("fit", "anna", work) for work in (earlier, done, later))
    assert later.began.wait(20)
    assert "c-7" in jobs.get(first.id).error
    jobs.forget()
    with pytest.raises(NotThereError):
        jobs.get(first.id)
    assert jobs.get(second.id).result == {"found": 7}
    later.go_on.set()
    failed = finished(jobs, third)
    assert (failed.state, "c-7" in failed.error) == ("failed", False)


def test_closing_ends_what_runs_at_its_next_step_and_begins_nothing():
    jobs, running, waiting = Jobs(str), Work(), Work()
    first, second = jobs.start("verification", "anna", running), jobs.start("fit", "anna", waiting)
    assert running.began.wait(20)
    closing = threading.Thread(target=jobs.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive(), "it waits for what is running"
    running.go_on.set()
    closing.join(20)
    assert (jobs.get(first.id).state, jobs.get(first.id).error) == (JobState.FAILED, "the service ends")
    assert (jobs.get(second.id).state, waiting.began.is_set()) == (JobState.WAITING, False)


def test_not_too_many_jobs_wait(jobs, monkeypatch):
    monkeypatch.setattr("unlearnspn.service.jobs._MOST_WAITING", 3)
    works = [Work() for _ in range(3)]
    for work in works:
        jobs.start("verification", "anna", work)
    with pytest.raises(ConflictError, match="too many"):
        jobs.start("verification", "anna", Work())
    for work in works:
        work.go_on.set()
    assert finished(jobs, jobs.all()[0]).state is JobState.DONE


def test_old_jobs_are_not_kept_for_ever(jobs, monkeypatch):
    monkeypatch.setattr("unlearnspn.service.jobs._MOST_KEPT", 3)
    started = [finished(jobs, jobs.start("fit", "anna", lambda progress: {})) for _ in range(8)]
    kept = [job.id for job in jobs.all()]
    assert len(kept) <= 5
    assert kept == [job.id for job in reversed(started)][: len(kept)]


# -- ledger ----------------------------------------------------------------------------------------------------------


def test_entries_are_found_by_request_and_kind(service):
    vault = service.vault
    vault.learn(people(3, seed=1, first=900), request_id="r-1")
    vault.unlearn(["c-1"], request_id="r-1")
    vault.unlearn(["c-2"], request_id="r-2")
    added, removed = (service.ledger.of_request("r-1", action) for action in (Action.ADDITION, Action.REMOVAL))
    assert (added.statement.link.entry, removed.statement.link.entry) == (3, 4)
    assert service.ledger.of_request("r-2", Action.REMOVAL).statement.counts.removed == 1
    for request_id, action in (("r-2", Action.ADDITION), ("r", Action.REMOVAL), ("", Action.REMOVAL)):
        assert service.ledger.of_request(request_id, action) is None


def test_the_ledger_index_follows_what_is_changed(service):
    assert len(service.ledger.entries()) == 3
    for number in range(3):
        assert service.ledger.of_request(f"r-{number}", Action.REMOVAL) is None
        done = service.vault.unlearn([f"c-{number}"], request_id=f"r-{number}")
        assert service.ledger.of_request(f"r-{number}", Action.REMOVAL).encoded == done.certificate.encoded
    assert [entry.encoded for entry in service.ledger.entries()] == [entry.encoded for entry in service.vault.log()]


def test_many_read_the_ledger_while_it_grows(service):
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append([entry.statement.link.entry for entry in service.ledger.entries()])

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(5):
        service.vault.unlearn([f"c-{number}"])
    done.set()
    for thread in threads:
        thread.join()
    assert all(numbers == list(range(len(numbers))) for numbers in seen)
    assert len(service.ledger.entries()) == 8


class Between:
    """A lock; the first time that it was let go of, something is done before whoever had it goes on."""

    def __init__(self, act):
        self._acts, self._lock = [act], threading.Lock()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *error):
        self._lock.release()
        if self._acts:
            self._acts.pop()()


def test_an_entry_is_found_also_if_another_one_is_read_meanwhile(service):
    def grow():
        service.vault.unlearn(["c-2"], request_id="r-1")
        service.ledger.entries()

    service.vault.unlearn(["c-1"], request_id="r-1")
    service.ledger._lock = Between(grow)
    assert service.ledger.of_request("r-1", Action.REMOVAL).statement.link.entry in (3, 4)
    assert service.ledger.of_request("r-1", Action.REMOVAL).statement.link.entry == 4


# -- figures ---------------------------------------------------------------------------------------------------------


def figures_of(service):
    """Return all samples that Prometheus reads, by name and labels."""
    families = list(text_string_to_metric_families(service.metrics.render(service).decode()))
    assert all(family.documentation and family.type in ("counter", "gauge", "histogram") for family in families)
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def test_figures_of_the_vault_and_its_requests(service):
    service.file(Wish.ERASE, Person("p-7"), who="anna", received="2020-01-01T00:00:00Z")
    service.file(Wish.ERASE, Person("p-8"), who="anna")
    service.withdraw(service.file(Wish.ACCESS, Person("p-9"), who="anna").id, who="anna")
    figures = figures_of(service)
    names = ("records", "ledger_entries", "requests_open", "requests_late")
    assert [figures[f"unlearnspn_{name}",] for name in names] == [90, 3, 2, 1]
    service.vault.unlearn(subject="p-11")
    assert [figures_of(service)[f"unlearnspn_{name}",] for name in names] == [87, 4, 2, 1]


def test_answers_are_counted_by_path_and_status(service):
    service.metrics = Metrics()
    for status, seconds in ((200, 0.001), (200, 0.3), (404, 20.0)):
        service.metrics.answered('/re"quests/{x}\n', status, seconds)
    figures = figures_of(service)
    path = ("path", '/re"quests/{x}\n')
    assert figures["unlearnspn_answers_total", path, ("status", "200")] == 2
    assert figures["unlearnspn_answers_total", path, ("status", "404")] == 1
    assert figures["unlearnspn_answer_seconds_count", path] == 3
    assert figures["unlearnspn_answer_seconds_sum", path] == pytest.approx(20.301)
    buckets = [
        (float(dict(key[1:])["le"]), value) for key, value in figures.items() if key[0].endswith("_seconds_bucket")
    ]
    assert [value for _, value in sorted(buckets)] == sorted(value for _, value in buckets)
    assert sorted(buckets)[-1] == (float("inf"), 3)


# -- the service's own file ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, 0o644, 0o666, 0o400])
def test_nobody_else_reads_the_file(tmp_path, before):
    path = tmp_path / "own.service"
    if before is not None:
        path.touch(before)
        path.chmod(before)
    umask = os.umask(0)
    try:
        Database(path).close()
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_a_later_version_is_not_touched(tmp_path):
    path = tmp_path / "own.service"
    Database(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma user_version = 2")
    before = path.read_bytes()
    with pytest.raises(ServiceFileError, match=r"own\.service was made by another version of unlearnspn"):
        Database(path)
    assert path.read_bytes() == before


def overwrite(path, place, content):
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(content)


def drop_a_table(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("drop table secrets")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"no database at all" * 100),
        lambda path: os.truncate(path, 1000),
        lambda path: os.truncate(path, path.stat().st_size // 2),
        lambda path: overwrite(path, 0, b"\xff" * 16),
        lambda path: overwrite(path, 100, b"\xff" * 8),
        lambda path: overwrite(path, 4096, b"\xff" * 4096),
        drop_a_table,
    ],
)
def test_a_damaged_file_is_told(tmp_path, damage):
    path = tmp_path / "own.service"
    database = Database(path)
    Sessions(database, accounts_of(database)).start(accounts_of(database).add("anna", Role.OFFICER, PASSWORD))
    database.close()
    damage(path)
    with pytest.raises(ServiceFileError, match=r"own\.service"):
        Database(path)


def test_what_is_no_file_is_told(tmp_path):
    with pytest.raises(ServiceFileError):
        Database(tmp_path)
    with pytest.raises(ServiceFileError):
        Database(tmp_path / "nowhere" / "own.service")


def test_an_empty_file_is_begun_anew(tmp_path):
    path = tmp_path / "own.service"
    path.touch()
    database = Database(path)
    assert accounts_of(database).is_empty
    database.close()


def keep(database, *values):
    """Keep values, all of them or none."""
    with database.together():
        for number, value in enumerate(values):
            database.change("insert into secrets(name, value) values (?, ?)", f"secret {number}", value)


def test_changes_count_together_or_not_at_all(database):
    with pytest.raises(sqlite3.IntegrityError):
        keep(database, b"first", None)
    assert database.rows("select * from secrets") == []
    keep(database, b"first")
    assert len(database.rows("select * from secrets")) == 1


def test_what_could_not_be_completed_is_taken_back(database):
    database.row("pragma busy_timeout = 0")
    with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select * from secrets").fetchall()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            keep(database, b"first")
    assert database.rows("select * from secrets") == []
    keep(database, b"second")
    assert database.rows("select value from secrets") == [(b"second",)]


def test_a_service_whose_file_cannot_be_used_lets_go_of_the_vault(tmp_path):
    path = make_vault(tmp_path)
    own = tmp_path / "people.uspn.service"
    own.write_bytes(b"junk" * 1000)
    with pytest.raises(ServiceFileError), opened(path):
        pass
    own.unlink()
    with opened(path) as service:
        assert len(service.vault) == 90


# -- once by its id --------------------------------------------------------------------------------------------------


def table_of(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


NEW = table_of(people(3, seed=1, first=900))
CORRECTED = table_of(TABLE.loc[30:31, ["customer", "age"]].assign(age=[33.0, 34.0]))
CHANGES = {
    "add": lambda service, name="r-1": service.add(NEW, who="crm", request_id=name),
    "replace": lambda service, name="r-1": service.replace(CORRECTED, who="crm", request_id=name),
    "remove": lambda service, name="r-1": service.remove(Person("p-7"), who="crm", ground=GROUND, request_id=name),
}
FIT = {"min_rows": 30}


def fit(service):
    job = service.start_fit(who="crm", request_id="r-1", parameters=FIT)
    return finished(service.jobs, job).result


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_made_once_also_if_the_service_starts_anew(tmp_path, change):
    path, outcomes = make_vault(tmp_path), []
    for _ in range(2):
        with opened(path) as service:
            outcomes += [change(service), change(service)]
            assert len(service.vault.log()) == 4
    assert len({outcome.certificate.encoded for outcome in outcomes}) == 1
    assert len({(outcome.removed, outcome.added, outcome.remaining) for outcome in outcomes}) == 1


def test_a_model_is_learned_once_also_if_the_service_starts_anew(tmp_path):
    path, results = make_vault(tmp_path), []
    for _ in range(2):
        with opened(path) as service:
            results += [fit(service), fit(service)]
            assert len(service.vault.log()) == 4
    assert results[0]["entry"] == 3
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("first", [*CHANGES, "fit"])
def test_an_id_is_for_one_kind_of_change_also_if_the_service_starts_anew(tmp_path, first):
    path = make_vault(tmp_path)
    with opened(path) as service:
        CHANGES.get(first, fit)(service)
    with opened(path) as service:
        for kind, change in CHANGES.items():
            if kind != first:
                with pytest.raises(ConflictError, match="was for something else"):
                    change(service)
        if first != "fit":
            with pytest.raises(ConflictError, match="was for something else"):
                fit(service)
        assert len(service.vault.log()) == 4


def test_an_id_is_for_one_person_also_if_the_service_starts_anew(tmp_path):
    path = make_vault(tmp_path)
    with opened(path) as service:
        CHANGES["remove"](service)
    with opened(path) as service:
        for person in (Person("p-8"), Person(ids=("c-30",)), Person(ids=("c-21", "c-30"))):
            with pytest.raises(ConflictError, match="was for somebody else"):
                service.remove(person, who="crm", ground=GROUND, request_id="r-1")
        assert len(service.vault) == 87


# -- the end ---------------------------------------------------------------------------------------------------------

DEEDS = {
    **{
        name: (change, told)
        for (name, change), told in zip(CHANGES.items(), ("records added", "records corrected", "erased"), strict=True)
    },
    "erase": (lambda service: service.erase("q-1", ground=GROUND, who="anna"), "erased"),
    "correct": (lambda service: service.correct("q-2", CORRECTED, who="anna"), "corrected"),
    "answer_access": (lambda service: service.answer_access("q-3", who="anna"), "access given"),
    "deny": (lambda service: service.deny("q-1", ground="Art. 12(5)", who="anna", reason="each day"), "denied"),
    "hold": (lambda service: service.hold("p-9", who="anna", reason="p-9 is in court"), "hold placed"),
}


@pytest.mark.parametrize(("deed", "told"), DEEDS.values(), ids=DEEDS)
def test_what_is_being_done_at_the_end_is_finished_and_told(tmp_path, monkeypatch, deed, told):
    path, answers = make_vault(tmp_path), []
    with opened(path) as service:
        for request_id, wish, person in (("q-1", "erase", "p-8"), ("q-2", "correct", "p-10"), ("q-3", "access", "p-9")):
            service.file(wish, Person(person), who="anna", request_id=request_id)
            service.verify_identity(request_id, who="anna")
    service = DeskService.open(path)
    closing = threading.Thread(target=service.close)
    with halfway(monkeypatch, Home, "commit", lambda: answers.append(deed(service))):
        closing.start()
        closing.join(0.1)
        assert closing.is_alive(), "it waits for what is being done"
    closing.join(20)
    assert len(answers) == 1, "whoever asked is answered"
    if told == "erased":
        assert len(answers[0].receipts()) == 1
    with opened(path) as service:
        assert service.audit.entries()[0].what == told

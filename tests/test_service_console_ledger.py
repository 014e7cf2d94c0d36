"""The console's ledger: entries and certificates, files to take away, verification with its verdict."""

import time

import pytest

from consoles import Visitor, words
from services import GROUND, make_vault, opened
from unlearnspn.certificates import Action, Audit, Finding
from unlearnspn.service.console import entries
from unlearnspn.service.desk_service import Person
from unlearnspn.service.jobs import JobState
from unlearnspn.service.roles import Role
from unlearnspn.vault import Vault, Wish

NASTY = '"><script>alert(1)</script>'


@pytest.fixture
def service(tmp_path):
    with opened(make_vault(tmp_path)) as service:
        service.file(Wish.ERASE, Person("p-7"), who="anna", request_id="q-1")
        service.verify_identity("q-1", who="anna")
        service.erase("q-1", ground=GROUND, who="anna")
        yield service


@pytest.fixture
def anna(service):
    return Visitor(service)


def finished(visitor, answer):
    """Return the page of a job once it is over."""
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/jobs/j-")
    for _ in range(600):
        page = visitor.get(answer.headers["location"])
        assert page.status_code == 200
        if 'http-equiv="refresh"' not in page.text:
            return page
        assert "<progress" in page.text
        time.sleep(0.05)
    raise AssertionError("the job did not end")


# -- entries -----------------------------------------------------------------------------------------------------------


def test_entries_are_listed_the_newest_first(service, anna):
    text = words(anna.get("/ledger"))
    order = [
        text.rindex(title) for title in ("Removal 3 removed", "Model learned learned", "Records taken in 90 added")
    ]
    assert order == sorted(order)
    assert service.ledger.entries()[-1].digest in text
    assert "anna" in text


def test_words_are_german_for_germans(service):
    text = words(Visitor(service, language="de").get("/ledger"))
    assert "Löschung 3 gelöscht, 87 im Bestand" in text
    assert "Prüfsumme zum Aufbewahren" in text


def test_entries_are_found_by_kind_request_and_operator(service, anna):
    assert "Entries found: 1," in words(anna.get("/ledger?action=removal"))
    assert "Entries found: 1," in words(anna.post("/ledger", text="Q-1"))
    assert "Entries found: 1," in words(anna.post("/ledger", text="anna", action="removal"))
    assert "There is no such entry" in words(anna.post("/ledger", text="q-1", action="fit"))
    assert anna.get("/ledger?action=nothing").status_code == 422


def test_what_is_looked_for_is_escaped_and_not_in_the_address(anna):
    page = anna.post("/ledger", text=NASTY)
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text
    assert 'method="get"' not in page.text


def test_pages(service, anna, monkeypatch):
    monkeypatch.setattr("unlearnspn.service.console.ledger.PAGE", 3)
    first, second, beyond = (anna.get(f"/ledger?page={number}") for number in (1, 2, 99))
    assert "Page 1 of 2" in words(first)
    assert "page=2" in first.text
    assert "Ledger begun" in words(second).partition("Entries found")[2]
    assert words(beyond) == words(second)
    found = anna.post("/ledger", text="-", page="2")
    assert "Page 2 of 2" in words(found)
    assert 'name="text" value="-"' in found.text
    for wrong in ("0", "-1", "x", "²", "9" * 30, "9" * 12 + "x"):
        assert anna.post("/ledger", text="-", page=wrong).status_code == 200


def test_an_entry_has_words_for_every_action():
    from unlearnspn.service.console.texts import names

    for action in Action:
        assert {f"action.{action.value}", f"did.{action.value}"} <= names("de")
    assert entries.PAGE > 0


# -- certificates ------------------------------------------------------------------------------------------------------


def test_a_certificate_is_a_page(service, anna):
    envelope = service.ledger.entries()[3]
    page = anna.get("/ledger/3")
    text = words(page)
    for part in (
        envelope.digest,
        envelope.statement.guarantee,
        *envelope.statement.limits,
        envelope.statement.commitment,
    ):
        assert part in text
    assert 'href="/requests/q-1"' in page.text
    assert 'href="/requests/' not in anna.get("/ledger/2").text
    german = Visitor(service, language="de").get("/ledger/3").text
    assert '<article class="card certificate" lang="en">' in german


@pytest.mark.parametrize(
    "path", ["/ledger/4", "/ledger/-1", "/ledger/x", "/ledger/99999999999999999999", "/ledger/..%2f3"]
)
def test_there_is_no_other_entry(anna, path):
    assert anna.get(path).status_code == 404


def test_files_are_those_of_the_api(service, anna):
    files = {
        path: anna.get(path)
        for path in ("/ledger/3/certificate.json", "/ledger/3/page.html", "/ledger/export.jsonl", "/key.pem")
    }
    for file in files.values():
        assert file.status_code == 200
        assert file.headers["content-disposition"].startswith("attachment; filename=")
    assert len(files["/ledger/export.jsonl"].content.splitlines()) == 4
    assert files["/ledger/3/certificate.json"].content.strip() == service.ledger.entries()[3].encoded.strip()
    assert files["/key.pem"].text == service.vault.public_key.pem()


# -- verification ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
def test_everything_is_verified(service, role):
    visitor = Visitor(service, role)
    page = finished(visitor, visitor.post("/verifications"))
    text = words(page)
    assert "VERIFIED" in text
    assert "NOT VERIFIED" not in text
    assert "retraining" in text
    assert service.ledger.entries()[-1].digest in text
    assert "VERIFIED" in words(visitor.get("/ledger"))
    assert service.audit.entries()[0].what == "verification started"


def test_a_failure_is_said_plainly(service, anna, monkeypatch):
    findings = (Finding(True, "signature", "made by the key"), Finding(False, "link", f"cut off {NASTY}"))
    monkeypatch.setattr(Vault, "verify", lambda vault, **named: Audit(findings))
    page = finished(anna, anna.post("/verifications"))
    text = words(page)
    assert "NOT VERIFIED" in text
    assert text.index("cut off") < text.index("made by the key")
    assert "<script>alert" not in page.text


def test_work_that_fails_says_why(service, anna, monkeypatch):
    def fail(vault, **named):
        raise ValueError("out of luck")

    monkeypatch.setattr(Vault, "verify", fail)
    text = words(finished(anna, anna.post("/verifications")))
    assert "FAILED out of luck" in text
    assert "NOT VERIFIED" in words(anna.get("/ledger"))


def test_steps_are_shown_while_work_goes_on(service, anna):
    job = service.jobs.start("verification", "anna", lambda progress: {"verified": True, "head": None, "findings": []})
    while service.jobs.get(job.id).state is not JobState.DONE:
        time.sleep(0.01)
    service.jobs._change(job.id, state=JobState.RUNNING, step="ledger", share=0.0)
    page = anna.get(f"/jobs/{job.id}")
    assert page.text.count('<li class="done"') == 1
    assert '<li class="now" aria-current="step">Check the ledger' in page.text
    service.jobs._change(job.id, state=JobState.WAITING, step="")
    assert "Waiting for other work" in words(anna.get(f"/jobs/{job.id}"))


def test_work_of_another_kind_has_a_page(service, anna):
    job = service.jobs.start("something", "anna", lambda progress: {})
    while not service.jobs.get(job.id).is_over:
        time.sleep(0.01)
    assert "Work in the background" in words(anna.get(f"/jobs/{job.id}"))
    assert anna.get("/jobs/j-0").status_code == 404


def test_a_verification_needs_a_form_of_the_session(service, anna):
    assert anna.client.post("/verifications").status_code == 403
    assert anna.post("/verifications", csrf="x").status_code == 403
    assert service.jobs.all() == []

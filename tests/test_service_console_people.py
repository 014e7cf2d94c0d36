"""The console's people: users, tokens, everybody's own password, the audit log."""

import html
import re

import pytest

from consoles import Visitor, words
from services import PASSWORD, add_user, client_of, make_vault, opened
from unlearnspn.service.attempts import MOST_BY_NAME
from unlearnspn.service.console import audit
from unlearnspn.service.errors import NotSignedInError
from unlearnspn.service.roles import SCOPES_OF_TOKENS, Role

NASTY = '"><script>alert(1)</script>'
ANOTHER = " another horse battery "


@pytest.fixture
def service(tmp_path):
    with opened(make_vault(tmp_path)) as service:
        yield service


@pytest.fixture
def anna(service):
    return Visitor(service)


def last(service):
    """Return what was last written into the audit log."""
    entry = service.audit.entries(limit=1)[0]
    return entry.who, entry.what, entry.about


# -- users -------------------------------------------------------------------------------------------------------------


def test_a_user_is_added_and_signs_in(service, anna):
    answer = anna.post("/people", name=" bert ", role="auditor", password=ANOTHER)
    assert (answer.status_code, answer.headers["location"]) == (303, "/people")
    assert last(service) == ("anna", "user added", "bert")
    assert service.accounts.check("bert", ANOTHER).role is Role.AUDITOR
    assert "bert auditor" in words(anna.get("/people"))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"name": "", "role": "auditor", "password": PASSWORD}, 422),
        ({"name": "anna", "role": "auditor", "password": PASSWORD}, 409),
        ({"name": "x" * 201, "role": "auditor", "password": PASSWORD}, 422),
        ({"name": "bert", "role": "king", "password": PASSWORD}, 422),
        ({"name": "bert", "role": "auditor", "password": "short"}, 422),
        ({"name": NASTY, "role": NASTY, "password": PASSWORD}, 422),
    ],
)
def test_a_user_who_cannot_be_is_refused(service, anna, fields, status):
    page = anna.post("/people", **fields)
    assert page.status_code == status
    assert 'role="alert"' in page.text
    assert "<script>alert" not in page.text
    assert fields["password"] not in page.text
    assert [user.name for user in service.accounts.all()] == ["anna"]


def test_names_are_escaped(service, anna):
    anna.post("/people", name=NASTY, role="auditor", password=PASSWORD)
    for path in ("/people", "/audit"):
        assert "<script>alert" not in anna.get(path).text
        assert html.escape(NASTY, quote=False).replace('"', "&#34;") in anna.get(path).text


def test_who_is_removed_is_signed_out(service, anna):
    rolf = Visitor(service, Role.AUDITOR)
    assert rolf.get("/people").status_code == 200
    assert anna.post("/people/remove", name="rolf").status_code == 303
    assert last(service) == ("anna", "user removed", "rolf")
    assert rolf.get("/people").headers["location"] == "/sign-in"
    assert anna.post("/people/remove", name="rolf").status_code == 404


def test_the_last_officer_stays(service, anna):
    Visitor(service, Role.AUDITOR)
    page = anna.post("/people/remove", name="anna")
    assert page.status_code == 409
    assert "last officer" in words(page)
    add_user(service, "berta", Role.OFFICER)
    assert anna.post("/people/remove", name="anna").status_code == 303
    assert anna.get("/people").headers["location"] == "/sign-in"


def test_another_password_ends_the_sessions(service, anna):
    rolf = Visitor(service, Role.AUDITOR)
    assert anna.post("/people/password", name="rolf", password="short").status_code == 422
    assert rolf.get("/people").status_code == 200
    assert anna.post("/people/password", name="rolf", password=ANOTHER).status_code == 303
    assert last(service) == ("anna", "password set", "rolf")
    assert rolf.get("/people").status_code == 303
    assert service.accounts.check("rolf", ANOTHER).name == "rolf"
    assert anna.post("/people/password", name="nobody", password=ANOTHER).status_code == 404


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_a_token_is_shown_once_and_opens_what_it_is_for(service, anna):
    page = anna.post("/people/tokens", token="web form", scope=["requests:read", "ledger:read"], days="30")
    assert page.status_code == 200
    secret = re.search(r'value="(uspn_[^"]+)"', page.text)[1]
    token = service.tokens.check(secret)
    assert {scope.value for scope in token.scopes} == {"requests:read", "ledger:read"}
    assert last(service) == ("anna", "token made", f"web form ({token.id})")
    assert secret not in anna.get("/people").text
    assert "web form" in words(anna.get("/people"))
    assert secret not in anna.get("/audit").text
    client = client_of(service, authorization=f"Bearer {secret}")
    assert client.get("/api/v1/requests").status_code == 200
    assert client.get("/api/v1/holds").status_code == 200
    assert client.post("/api/v1/verifications").status_code == 403
    assert anna.post("/people/tokens/revoke", token=token.id).status_code == 303
    assert last(service) == ("anna", "token revoked", token.id)
    assert client.get("/api/v1/requests").status_code == 401
    assert anna.post("/people/tokens/revoke", token=token.id).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"token": "", "scope": "ledger:read", "days": "30"},
        {"token": "crm", "days": "30"},
        {"token": "crm", "scope": "people:write", "days": "30"},
        {"token": "crm", "scope": NASTY, "days": "30"},
        {"token": NASTY + "x" * 100, "scope": "ledger:read", "days": "30"},
        {"token": "crm", "scope": "ledger:read", "days": "0"},
        {"token": "crm", "scope": "ledger:read", "days": "367"},
        {"token": "crm", "scope": "ledger:read", "days": "²"},
        {"token": "crm", "scope": "ledger:read", "days": ""},
    ],
)
def test_a_token_that_cannot_be_is_refused(service, anna, fields):
    page = anna.post("/people/tokens", **fields)
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert "<script>alert" not in page.text
    assert service.tokens.all() == []


def test_all_scopes_of_tokens_are_offered_and_no_other(anna):
    offered = re.findall(r'name="scope" value="([^"]+)"', anna.get("/people").text)
    assert set(offered) == set(SCOPES_OF_TOKENS)


# -- roles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/people", "/people/remove", "/people/password", "/people/tokens", "/people/tokens/revoke"]
)
def test_an_auditor_reads_and_changes_nothing(service, path):
    rolf = Visitor(service, Role.AUDITOR)
    before = service.audit.entries()
    assert rolf.post(path, name="rolf", token="x", password=ANOTHER).status_code == 403
    assert service.audit.entries() == before
    page = rolf.get("/people")
    assert page.status_code == 200
    assert "/people/" not in page.text
    assert rolf.get("/audit").status_code == 200


@pytest.mark.parametrize(
    "path", ["/people", "/people/remove", "/people/password", "/people/tokens", "/people/tokens/revoke", "/account"]
)
def test_forms_are_of_the_session(service, anna, path):
    assert anna.post(path, csrf="x", name="anna").status_code == 403
    assert anna.client.post(path).status_code == 403
    assert client_of(service).post(path).headers["location"] == "/sign-in"


# -- the own password --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
def test_everybody_changes_the_own_password(service, role):
    visitor = Visitor(service, role)
    assert visitor.name in words(visitor.get("/account"))
    answer = visitor.post("/account", old=PASSWORD, new=ANOTHER, repeated=ANOTHER)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert last(service) == (visitor.name, "own password changed", visitor.name)
    assert visitor.get("/account").headers["location"] == "/sign-in"
    assert service.accounts.check(visitor.name, ANOTHER).role is role
    with pytest.raises(NotSignedInError):
        service.accounts.check(visitor.name, PASSWORD)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"old": "wrong horse battery", "new": ANOTHER, "repeated": ANOTHER}, 403),
        ({"old": PASSWORD, "new": ANOTHER, "repeated": ANOTHER.strip()}, 422),
        ({"old": PASSWORD, "new": "short", "repeated": "short"}, 422),
        ({"old": PASSWORD, "new": "x" * 1025, "repeated": "x" * 1025}, 422),
        ({}, 422),
    ],
)
def test_the_own_password_stays(service, anna, fields, status):
    page = anna.post("/account", **fields)
    assert page.status_code == status
    assert 'role="alert"' in page.text
    assert "horse" not in page.text
    assert service.accounts.check("anna", PASSWORD).name == "anna"


def test_nobody_guesses_at_a_browser_that_was_left_open(service, anna):
    wrong = {"old": "wrong horse battery", "new": ANOTHER, "repeated": ANOTHER}
    statuses = [anna.post("/account", **wrong).status_code for _ in range(MOST_BY_NAME + 1)]
    assert statuses == [403] * MOST_BY_NAME + [429]
    assert anna.post("/account", **(wrong | {"old": PASSWORD})).status_code == 429
    assert last(service) == ("anna", "password change refused", "anna")


# -- the audit log -----------------------------------------------------------------------------------------------------


def test_the_audit_log_has_pages(service, anna, monkeypatch):
    monkeypatch.setattr(audit, "PAGE", 3)
    for number in range(7):
        service.audit.write("anna", "filed", f"q-{number}")
    shown, path = [], "/audit"
    while path:
        page = anna.get(path)
        shown.append(re.findall(r"q-\d", words(page)))
        older = re.search(r'href="(/audit\?before=\d+)"', page.text)
        path = older and older[1]
    assert [name for names in shown for name in names] == [f"q-{number}" for number in reversed(range(7))]
    assert [len(page) for page in shown] == [3, 3, 1]
    assert anna.get("/audit?before=0").status_code == 404
    assert anna.get(f"/audit?before={1 << 70}").status_code == 404


def test_what_was_done_is_said_in_the_language(service):
    service.audit.write("anna", "identity verified", "q-1")
    service.audit.write("anna", "something new", "q-2")
    text = words(Visitor(service, language="de").get("/audit"))
    assert "Identität geprüft q-1" in text
    assert "something new q-2" in text

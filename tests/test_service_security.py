"""Who may do what: each token and each role against each route; forms of others; cookies; passwords; headers."""

import re
import threading
import time
from urllib.parse import quote

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from services import (
    API,
    BASE,
    PASSWORD,
    add_user,
    another,
    api_of,
    client_of,
    csrf_of,
    make_vault,
    opened,
    removal,
    routes_of,
    sign_in,
    token,
)
from unlearnspn.service import sessions, tokens
from unlearnspn.service.app import AppOptions, create_app
from unlearnspn.service.attempts import MOST_BY_ADDRESS, MOST_BY_NAME
from unlearnspn.service.guards import HEADERS
from unlearnspn.service.roles import SCOPES_OF_TOKENS, Role, Scope

ANYBODY = frozenset()
#: What each path of the API takes: any of these scopes.
WANTED = {
    ("GET", "/openapi.json"): ANYBODY,
    ("GET", "/health"): ANYBODY,
    ("GET", "/metrics"): {Scope.METRICS},
    ("GET", "/requests"): {Scope.READ_REQUESTS},
    ("POST", "/requests"): {Scope.WRITE_REQUESTS},
    ("POST", "/requests/search"): {Scope.READ_REQUESTS},
    ("GET", "/requests/{request_id}"): {Scope.READ_REQUESTS},
    ("GET", "/requests/{request_id}/related"): {Scope.READ_REQUESTS},
    ("POST", "/requests/{request_id}/verify-identity"): {Scope.WRITE_REQUESTS},
    ("POST", "/requests/{request_id}/extend"): {Scope.WRITE_REQUESTS},
    ("POST", "/requests/{request_id}/deny"): {Scope.WRITE_REQUESTS},
    ("POST", "/requests/{request_id}/withdraw"): {Scope.WRITE_REQUESTS},
    ("POST", "/requests/{request_id}/notes"): {Scope.WRITE_REQUESTS},
    ("POST", "/requests/{request_id}/try-out"): {Scope.ERASE},
    ("POST", "/requests/{request_id}/erase"): {Scope.ERASE},
    ("POST", "/requests/{request_id}/access"): {Scope.READ_RECORDS},
    ("POST", "/requests/{request_id}/correct"): {Scope.WRITE_RECORDS},
    ("GET", "/holds"): {Scope.READ_REQUESTS},
    ("POST", "/holds"): {Scope.WRITE_REQUESTS},
    ("POST", "/holds/lift"): {Scope.WRITE_REQUESTS},
    ("POST", "/removals"): {Scope.ERASE},
    ("POST", "/removals/try-out"): {Scope.ERASE},
    ("POST", "/access"): {Scope.READ_RECORDS},
    ("POST", "/additions"): {Scope.WRITE_RECORDS},
    ("POST", "/corrections"): {Scope.WRITE_RECORDS},
    ("POST", "/fits"): {Scope.WRITE_RECORDS},
    ("GET", "/jobs/{job_id}"): {Scope.VERIFY, Scope.WRITE_RECORDS},
    ("POST", "/verifications"): {Scope.VERIFY},
    ("GET", "/ledger"): {Scope.READ_LEDGER},
    ("GET", "/ledger/head"): {Scope.READ_LEDGER},
    ("GET", "/ledger/export"): {Scope.READ_LEDGER},
    ("GET", "/ledger/{entry}"): {Scope.READ_LEDGER},
    ("GET", "/ledger/{entry}/certificate"): {Scope.READ_LEDGER},
    ("GET", "/ledger/{entry}/page"): {Scope.READ_LEDGER},
    ("GET", "/key"): {Scope.READ_LEDGER},
    ("GET", "/model"): {Scope.QUERY},
    ("POST", "/model/score"): {Scope.QUERY},
    ("POST", "/model/impute"): {Scope.QUERY},
    ("POST", "/model/probability"): {Scope.QUERY},
    ("POST", "/model/expectation"): {Scope.QUERY},
    ("POST", "/model/sample"): {Scope.QUERY},
    ("GET", "/model/circuit"): {Scope.QUERY},
}
#: Forms that need no session; and those that an auditor may send, since they change nothing that the desk keeps.
WITHOUT_SESSION = {"/first", "/sign-in", "/language"}
OF_AUDITORS = WITHOUT_SESSION | {
    "/sign-out",
    "/account",
    "/search",
    "/verifications",
    "/ledger",
    "/model/questions",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service that nothing changes."""
    with opened(make_vault(tmp_path_factory.mktemp("service"))) as service:
        add_user(service)
        add_user(service, "audrey", Role.AUDITOR)
        yield service


@pytest.fixture
def own(tmp_path):
    """A service for one test."""
    with opened(make_vault(tmp_path)) as service:
        yield service


def filled(path):
    """Return a path with something in its places."""
    values = {"entry": "0", "job_id": "j-404"}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda place: values.get(place[1], "q-404"), path)


def asked(client, method, path, **more):
    body = {"json": {}} if method == "POST" and path.startswith(API) else {}
    return client.request(method, filled(path), **body, **more)


def assert_safe(answer):
    """An answer tells nothing of what is inside, and has the headers that browsers heed, once each."""
    assert answer.status_code < 500, answer.text
    for name, value in HEADERS.items():
        assert answer.headers.get_list(name) == [value]
    (caching,) = answer.headers.get_list("cache-control")
    assert "no-store" in caching or answer.request.url.path.startswith("/static/")
    assert "server" not in answer.headers
    assert "Traceback" not in answer.text


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_the_table_names_every_path_of_the_api(service):
    routes = {(method, path) for method, path in routes_of(create_app(service)) if path.startswith(API)}
    assert routes == {(method, API + path) for method, path in WANTED}


def test_each_token_opens_what_it_is_for_and_nothing_else(service):
    client = client_of(service)
    of_scope = {scope: token(service, scope) for scope in SCOPES_OF_TOKENS}
    wrong = [None, "", "Bearer", "Bearer x", "Bearer uspn_", f"Bearer {token(service)[:-1]}", f"Basic {token(service)}"]
    wrong += [f"Bearer uspn_{'0' * 16}_{'A' * 43}", "Bearer \xff\x00", "Bearer " + "x" * 5000]
    for (method, path), scopes in WANTED.items():
        for text in wrong:
            headers = {} if text is None else {"authorization": text.encode("latin-1")}
            answer = asked(client, method, API + path, headers=headers)
            assert answer.status_code == (200 if scopes is ANYBODY else 401), (method, path, text)
            assert_safe(answer)
            if scopes is not ANYBODY:
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.headers["content-type"] == "application/problem+json"
        for scope, own in of_scope.items():
            answer = asked(client, method, API + path, headers={"authorization": f"Bearer {own}"})
            is_open = scopes is ANYBODY or scope in scopes
            assert (answer.status_code != 403) == is_open, (method, path, scope)
            assert answer.status_code != 401
            assert_safe(answer)


def test_who_calls_is_asked_before_what_they_sent_is_read(service):
    for path in ("/additions?request_id=a", "/model/score", "/requests/q/correct"):
        for kind in ("application/json", "application/vnd.apache.arrow.stream"):
            answer = client_of(service).post(API + path, content=b'{"records": [', headers={"content-type": kind})
            assert answer.status_code in (401, 422)
            if "correct" not in path:
                assert answer.status_code == 401


def test_a_token_that_is_too_old_or_revoked_opens_nothing(own, monkeypatch):
    text = token(own, Scope.READ_LEDGER, days=1)
    client = client_of(own, authorization=f"Bearer {text}")
    assert client.get(f"{API}/ledger").status_code == 200
    with monkeypatch.context() as later:
        later.setattr(tokens, "utc_now", lambda: "2999-01-01T00:00:00Z")
        answer = client.get(f"{API}/ledger")
        assert (answer.status_code, answer.json()["detail"]) == (401, "this token has expired")
    assert client.get(f"{API}/ledger").status_code == 200
    own.tokens.remove(own.tokens.all()[0].id)
    assert client.get(f"{API}/ledger").status_code == 401


def test_tokens_are_not_sessions_and_sessions_are_no_tokens(service):
    browser = sign_in(service)
    assert browser.get(f"{API}/ledger").status_code == 401
    assert api_of(service).get("/ledger").status_code == 303
    cookie = browser.cookies["session"]
    assert browser.get(f"{API}/ledger", headers={"authorization": f"Bearer {cookie}"}).status_code == 401


# -- roles -----------------------------------------------------------------------------------------------------------


def console_routes(service, method):
    routes = [path for each, path in routes_of(create_app(service)) if each == method and not path.startswith(API)]
    assert len(routes) >= 4
    return routes


def state_of(service):
    """Return all that must not change: the vault's files, and users and tokens."""
    files = {path.name: path.read_bytes() for path in service.path.parent.glob("people.uspn") if path.is_file()}
    return files, service.accounts.all(), service.tokens.all()


def test_nobody_sees_a_page_without_signing_in(service):
    client = client_of(service)
    for path in console_routes(service, "GET"):
        answer = asked(client, "GET", path)
        assert_safe(answer)
        if path == "/sign-in":
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in"), path
    for path in console_routes(service, "POST"):
        if path not in WITHOUT_SESSION:
            answer = asked(client, "POST", path, data={"csrf": "x"})
            assert answer.status_code in (303, 403), path
            assert answer.headers.get("location", "/sign-in") == "/sign-in"


def test_an_auditor_changes_nothing(service):
    before = state_of(service)
    client = sign_in(service, "audrey")
    csrf = csrf_of(service, client)
    for path in console_routes(service, "POST"):
        if path in WITHOUT_SESSION | {"/sign-out"}:
            continue
        for fields in ({}, {"request": "q-1", "subject": "p-7", "reason": "r", "ground": "g", "name": "anna"}):
            answer = asked(client, "POST", path, data={"csrf": csrf, **fields})
            assert_safe(answer)
            if path not in OF_AUDITORS:
                assert answer.status_code == 403, path
    assert state_of(service) == before
    for path in console_routes(service, "GET"):
        answer = asked(client, "GET", path)
        assert answer.status_code in (200, 303, 403, 404, 422), path
        assert_safe(answer)
    assert state_of(service) == before


def test_a_page_that_is_looked_at_changes_nothing(service):
    before = state_of(service)
    client = sign_in(service)
    for path in console_routes(service, "GET"):
        assert_safe(asked(client, "GET", path))
    assert state_of(service) == before


# -- forms of others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anna", "audrey"])
def test_a_form_that_is_not_of_the_session_is_refused(service, name):
    client, other = sign_in(service, name), sign_in(service, name)
    before = state_of(service)
    for path in console_routes(service, "POST"):
        if path in WITHOUT_SESSION:
            continue
        for fields in ({}, {"csrf": ""}, {"csrf": "x"}, {"csrf": csrf_of(service, other)}, {"csrf": "\U0001f600"}):
            answer = asked(client, "POST", path, data=fields)
            assert answer.status_code == 403, (path, fields)
            assert_safe(answer)
        file = asked(client, "POST", path, files={"csrf": ("csrf", csrf_of(service, client).encode())})
        assert file.status_code == 403, path
        as_json = client.post(filled(path), json={"csrf": csrf_of(service, client)})
        assert as_json.status_code == 403, path
    assert state_of(service) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:81"},
        {"origin": "http://127.0.0.1.evil.example"},
        {"origin": "http://evil.example/127.0.0.1"},
        {"origin": "http://127.0.0.1@evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_from_a_page_of_somebody_else_is_refused(service, headers):
    client = sign_in(service)
    before, csrf = state_of(service), csrf_of(service, client)
    for path in console_routes(service, "POST"):
        answer = asked(client, "POST", path, data={"csrf": csrf, "name": "anna", "password": PASSWORD}, headers=headers)
        assert answer.status_code == 403, path
        assert_safe(answer)
    assert state_of(service) == before
    assert client.get("/").status_code == 200


def test_a_form_from_a_page_of_this_service_is_taken(service):
    for headers in ({}, {"origin": BASE}, {"origin": BASE, "sec-fetch-site": "same-origin"}):
        answer = client_of(service).post("/language", data={"language": "de"}, headers=headers)
        assert (answer.status_code, answer.cookies["language"]) == (303, "de")
    secure = client_of(service, base="https://127.0.0.1", options=AppOptions(with_tls=True))
    assert secure.post("/language", data={"language": "de"}, headers={"origin": BASE}).status_code == 403
    answer = secure.post("/language", data={"language": "de"}, headers={"origin": "https://127.0.0.1"})
    assert answer.status_code == 303


# -- cookies ---------------------------------------------------------------------------------------------------------


def attributes(answer, name):
    (cookie,) = [each for each in answer.headers.get_list("set-cookie") if each.startswith(f"{name}=")]
    return {part.strip().lower() for part in cookie.split(";")[1:]}


@pytest.mark.parametrize("with_tls", [False, True])
def test_cookies_are_for_this_service_alone(service, with_tls):
    base = "https://127.0.0.1" if with_tls else BASE
    client = client_of(service, base=base, options=AppOptions(with_tls=with_tls))
    name = "__Host-session" if with_tls else "session"
    answer = client.post("/sign-in", data={"name": "anna", "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    wanted = {"httponly", "samesite=strict", "path=/"} | ({"secure"} if with_tls else set())
    assert attributes(answer, name) == wanted
    assert ("strict-transport-security" in answer.headers) == with_tls
    assert attributes(client.post("/language", data={"language": "de"}), "language") >= wanted
    csrf = service.sessions.check(client.cookies[name]).csrf
    assert attributes(client.post("/sign-out", data={"csrf": csrf}), name) >= wanted | {"max-age=0"}


def test_cookies_that_are_not_good_any_more(service, monkeypatch):
    client = sign_in(service)
    good = client.cookies["session"]

    def status(cookie):
        client.cookies.set("session", cookie)
        return client.get("/account").status_code

    assert status(good) == 200
    value, _, signature = good.rpartition(".")
    for wrong in (
        value,
        f"{value}.",
        f"{value}x.{signature}",
        f"{value}.{signature[::-1]}",
        "",
        ".",
        "x.y",
        "%00",
        good * 50,
    ):
        assert status(wrong) == 303, wrong
    now = time.time()
    for seconds, expected in ((sessions.IDLE - 60, 200), (2 * sessions.IDLE, 303), (sessions.LONGEST + 60, 303)):
        monkeypatch.setattr(sessions.time, "time", lambda seconds=seconds: now + seconds)
        assert status(good) == expected
    monkeypatch.undo()
    assert status(good) == 200
    csrf = service.sessions.check(good).csrf
    assert client.post("/sign-out", data={"csrf": csrf}).status_code == 303
    assert status(good) == 303


def test_a_session_ends_with_its_user_or_their_password(own):
    for change in (
        lambda: own.accounts.set_password("berta", PASSWORD + "!"),
        lambda: own.accounts.remove("berta"),
    ):
        if "berta" not in {user.name for user in own.accounts.all()}:
            add_user(own)
            add_user(own, "berta", Role.AUDITOR)
        client = sign_in(own, "berta")
        assert client.get("/account").status_code == 200
        change()
        assert client.get("/account").status_code == 303


def test_signing_in_makes_a_session_of_its_own(service):
    client = sign_in(service)
    first = client.cookies["session"]
    client.post("/sign-in", data={"name": "anna", "password": PASSWORD})
    assert len({first, *[cookie.value for cookie in client.cookies.jar]}) == 2


# -- passwords -------------------------------------------------------------------------------------------------------


class Counting:
    """Checks passwords in no time, and counts how many; all are wrong."""

    def __init__(self, seconds=0.0):
        self.n, self.seconds, self.hashes = 0, seconds, []

    def verify(self, hashed, password):
        self.n += 1
        self.hashes.append(hashed)
        time.sleep(self.seconds)
        raise VerifyMismatchError

    def check_needs_rehash(self, hashed):
        return False


def test_a_thousand_wrong_passwords(own, monkeypatch):
    add_user(own)
    counting = Counting()
    monkeypatch.setattr(own.accounts, "_hasher", counting)
    client, statuses = client_of(own), []
    for number in range(1000):
        name = "anna" if number < 10 else f"user-{number}"
        headers = {"x-forwarded-for": f"10.0.{number // 256}.{number % 256}", "forwarded": f"for=10.1.1.{number % 256}"}
        answer = client.post("/sign-in", data={"name": name, "password": f"wrong {number}"}, headers=headers)
        statuses.append(answer.status_code)
        if answer.status_code == 429:
            assert 0 < int(answer.headers["retry-after"]) <= 301
    assert statuses[:MOST_BY_NAME] == [401] * MOST_BY_NAME
    assert statuses[MOST_BY_NAME:10] == [429] * (10 - MOST_BY_NAME)
    assert (statuses.count(401), set(statuses[-950:])) == (MOST_BY_ADDRESS, {429})
    assert counting.n == MOST_BY_ADDRESS
    monkeypatch.undo()
    answer = client.post("/sign-in", data={"name": "anna", "password": PASSWORD})
    assert answer.status_code == 429, "the right one must wait, too, or it could be found out"


def test_attempts_at_the_same_time_are_all_counted(own, monkeypatch):
    counting, statuses = Counting(seconds=0.02), []
    monkeypatch.setattr(own.accounts, "_hasher", counting)
    ready = threading.Barrier(12)

    client = client_of(own)
    client.get("/sign-in")

    def attempt():
        own_client = another(client)
        ready.wait()
        statuses.append(own_client.post("/sign-in", data={"name": "anna", "password": "wrong"}).status_code)

    threads = [threading.Thread(target=attempt) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counting.n == MOST_BY_NAME
    assert sorted(statuses) == [401] * MOST_BY_NAME + [429] * (12 - MOST_BY_NAME)


def test_who_does_not_exist_takes_as_long_as_who_does(own, monkeypatch):
    own.accounts._hasher = PasswordHasher()
    add_user(own)
    counting = Counting()
    monkeypatch.setattr(own.accounts, "_hasher", counting)
    pages = [client_of(own).post("/sign-in", data={"name": name, "password": "wrong"}) for name in ("anna", "nobody")]
    assert counting.n == 2
    assert all(hashed.startswith("$argon2id$") for hashed in counting.hashes)
    parameters = {hashed.rsplit("$", 2)[0] for hashed in counting.hashes}
    assert len(parameters) == 1
    assert pages[0].text == pages[1].text
    assert [page.status_code for page in pages] == [401, 401]


def test_the_first_password_is_set_once_and_by_whoever_has_the_link(own):
    client = client_of(own)
    fields = {"name": "anna", "password": PASSWORD, "repeated": PASSWORD}
    for key in ("", "x", own.accounts.first_key[:-1], "\u00fc"):
        assert client.post("/first", data={"key": key, **fields}).status_code == 403
    key = own.accounts.first_key
    for wrong in (
        {"password": "short", "repeated": "short"},
        {"repeated": PASSWORD + "x"},
        {"name": " "},
        {"name": "a\nb"},
    ):
        assert client.post("/first", data={"key": key, **fields, **wrong}).status_code == 422
    assert client.post("/first", data={"key": key, **fields}).status_code == 303
    assert client.get("/account").status_code == 200
    assert own.accounts.first_key is None
    again = client_of(own)
    assert again.post("/first", data={"key": key, **fields, "name": "eve"}).status_code == 403
    assert again.get(f"/first?key={key}").headers["location"] == "/sign-in"
    assert [user.name for user in own.accounts.all()] == ["anna"]


def test_secrets_are_in_no_file(own):
    add_user(own)
    secret = token(own)
    client = client_of(own)
    assert client.post("/sign-in", data={"name": "anna", "password": PASSWORD}).status_code == 303
    content = own.path.with_name("people.uspn.service").read_bytes()
    needles = [PASSWORD, secret, secret.split("_", 2)[2], client.cookies["session"].split(".")[0]]
    assert not [needle for needle in needles if needle.encode() in content or needle.encode("utf-16-le") in content]
    assert b"$argon2id$" in content
    for path in own.path.parent.iterdir():
        assert path.stat().st_mode & 0o077 == 0 or path.name in ("people.uspn", "people.uspn.lock"), path


# -- headers and names -----------------------------------------------------------------------------------------------


def test_every_answer_has_the_headers(service):
    client = client_of(service)
    for path in (
        "/",
        "/sign-in",
        "/nowhere",
        "/static/console.css",
        "/static/nowhere",
        f"{API}/nowhere",
        f"{API}/health",
    ):
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"):
            assert_safe(client.request(method, path))
    assert client.get("/static/console.css").status_code == 200
    policy = client.get("/sign-in").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example:80",
        "",
        "[::1",
        "127.0.0.1:x",
        "*",
        "127.0.0.1, a",
    ],
)
def test_another_name_is_not_answered(service, host):
    for path in ("/sign-in", f"{API}/health", "/static/console.css"):
        answer = client_of(service).get(path, headers={"host": host})
        assert answer.status_code == 400
        assert_safe(answer)
        assert "evil" not in answer.text
        if path.startswith(API):
            assert answer.headers["content-type"] == "application/problem+json"


def test_names_by_which_it_is_reached(service):
    options = AppOptions(hosts=("127.0.0.1", "[::1]", "Desk.example"))
    for host in ("127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "desk.example", "DESK.example:443"):
        answer = client_of(service, options=options).get(f"{API}/health", headers={"host": host})
        assert answer.status_code == 200, host


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/app.py",
        "/static/..%5c..%5capp.py",
        "/static/%252e%252e/app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/console.css%00.html",
        "/static/" + "a" * 5000,
        "/static/%ff%fe",
        "/static/",
        f"{API}/ledger/..%2f..%2fpeople.uspn/certificate",
        f"{API}/ledger/0%00/certificate",
        f"{API}/ledger/0.json/certificate",
        f"{API}/ledger/{'9' * 5000}/certificate",
        f"{API}/requests/%2e%2e%2fhealth",
        "/ledger/..%2f..%2fpeople.uspn.key",
        "/ledger/0/..%2f..%2fkey.pem",
        "/people.uspn",
        "/../people.uspn.key",
    ],
)
def test_paths_lead_to_nothing_else(service, path):
    for client in (client_of(service), sign_in(service), api_of(service)):
        answer = client.get(path)
        assert answer.status_code in (303, 401, 404, 405, 422), answer.text
        assert_safe(answer)
        assert "PRIVATE KEY" not in answer.text
        assert "import " not in answer.text


def test_nothing_that_was_asked_gets_into_headers(own):
    api = api_of(own)
    for request_id in ("r\r\nset-cookie: evil=1", "r\nx: y", "r%0d%0ax: y", "r\u2028x"):
        in_path = quote(request_id, safe="")
        answers = [
            api.post(f"{API}/removals", json=removal(request_id=request_id)),
            api.get(f"{API}/requests/{in_path}"),
            api.post(f"{API}/additions", params={"request_id": request_id}, json={"records": [{"a": 1}]}),
        ]
        for answer in answers:
            assert_safe(answer)
            assert answer.status_code in (404, 422)
            assert "x" not in answer.headers
            assert "set-cookie" not in answer.headers
    add_user(own)
    location = sign_in(own).get("/sign-in?next=https://evil.example").headers.get("location", "")
    assert "evil" not in location

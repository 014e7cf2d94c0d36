"""The process that users start: who may work beside it, how it ends, how it is reached, and what it prints."""

import datetime as dt
import http.client
import ipaddress
import itertools
import json
import logging
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from command_line import run
from services import API, PASSWORD, add_user, make_vault, opened, removal, token
from serving import serving, token_for
from unlearnspn import Vault
from unlearnspn.service import serving as product
from unlearnspn.service.app import AppOptions, create_app
from unlearnspn.service.audit_log import AuditLog
from unlearnspn.service.connections import ImpatientProtocol
from unlearnspn.service.database import Database
from vault_states import people

#: How long clients may take in the tests of those who take their time.
PATIENCE = 0.4
WRONG = "wrong horse battery"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service as it is started first; nothing changes its vault."""
    with serving(make_vault(tmp_path_factory.mktemp("served"))) as served:
        served.first_link = served.process.stdout.readline()
        yield served


@pytest.fixture(scope="module")
def path(served):
    """Return where the vault is that is served."""
    return vault_of(served)


@pytest.fixture
def own(tmp_path):
    """Return where a vault is that nobody serves."""
    return make_vault(tmp_path)


@pytest.fixture
def as_before():
    """Leave what is logged, and where to, as it was."""
    loggers = [logging.getLogger(name) for name in ("unlearnspn.service", "uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(logger, list(logger.handlers), logger.propagate, logger.level) for logger in loggers]
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def vault_of(served):
    return served.process.args[4]


def port_of(served):
    return int(served.url.rpartition(":")[2])


def ended(served, how=signal.SIGINT):
    """End a service; return its exit code, what it printed since its first line, and how many seconds that took."""
    began = time.monotonic()
    with served.process as process:
        process.send_signal(how)
        code = process.wait(30)
        return code, process.stdout.read(), process.stderr.read(), time.monotonic() - began


# -- one process -----------------------------------------------------------------------------------------------------


def test_a_second_service_is_refused(path):
    assert "is being changed by somebody else" in run("serve", path, "--port", "0", code=6).stderr


def test_nobody_else_changes_the_vault_and_everybody_may_read_it(served, path):
    refused = run("unlearn", path, "--id", "c-1", "--yes", code=6)
    assert "is being changed by somebody else" in refused.stderr
    assert "VERIFIED" in run("verify", path).stdout
    assert is_answered(port_of(served))


def test_the_first_start_prints_the_link_for_the_first_password(served):
    url = re.fullmatch(r"nobody can sign in yet; set the first password here: (\S+)\n", served.first_link)[1]
    assert url.startswith(f"{served.url}/first?key=")
    assert httpx2.get(url).status_code == 200


def test_addresses_that_somebody_claims_count_only_behind_a_proxy(served, path):
    claims = {"x-forwarded-for": "203.0.113.9", "x-real-ip": "203.0.113.9", "forwarded": "for=203.0.113.9"}
    refuse_sign_in(port_of(served), claims)
    assert audited(path) == "127.0.0.1"


def refuse_sign_in(port, headers, source="127.0.0.1"):
    transport = httpx2.HTTPTransport(local_address=source, verify=False)
    with httpx2.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
        answer = client.post("/sign-in", data={"name": "nobody", "password": WRONG}, headers=headers)
    assert answer.status_code == 401
    return answer


def audited(path):
    """Return from which address the last sign-in was refused."""
    with closing(Database(Path(f"{path}.service"))) as database:
        entry = AuditLog(database).entries(limit=1)[0]
    assert entry.what == "sign-in refused"
    return entry.about


# -- the end ---------------------------------------------------------------------------------------------------------


def test_a_session_of_requests_ends_with_ctrl_c_amid_a_verification_and_nobody_was_named(tmp_path):
    path = make_vault(tmp_path, people(4000), min_rows=2)
    secret = token_for(path)
    with serving(path) as served:
        link = served.process.stdout.readline()
        with httpx2.Client(base_url=served.url) as browser, served.api(secret) as api:
            fields = {"name": "anna", "password": PASSWORD, "repeated": PASSWORD}
            assert browser.post("/first", data={"key": link.rpartition("key=")[2].strip(), **fields}).status_code == 303
            statuses = [answer.status_code for answer in ask_about_people(browser, api)]
            assert set(statuses) >= {200, 201, 400, 401, 403, 404, 409, 415, 422}
            assert max(statuses) < 500
            api.post("/verifications").raise_for_status()
        code, printed, errors, seconds = ended(served)
    assert (code, printed) == (0, "")
    assert_nothing_personal(errors, secret)
    assert [line for line in errors.splitlines() if line != "WARNING:  Invalid HTTP request received."] == []
    assert seconds < 10
    with Vault.open(path, write=True) as vault:
        assert vault.verify()


def ask_about_people(browser, api):
    """Yield answers to requests that name people, good ones and bad ones."""
    yield api.post("/removals", json=removal())
    yield api.post("/removals", json=removal())
    yield api.post("/removals", json=removal("p-8"))
    yield api.post("/removals", json=removal("p-7000", "r-2"))
    yield api.post("/removals", json={"subject": "p-7", "ids": ["c-21"]})
    yield api.post("/removals", content=b'{"subject": "p-7"')
    yield api.post("/removals", content=json.dumps(removal("p-7\ud800")))
    yield api.post("/requests", json={"wish": "erase", "subject": "p-9", "request_id": "q-1", "note": "p-9 called"})
    yield api.post("/holds", json={"subject": "p-10", "reason": "p-10 is in court"})
    yield api.post("/access", json={"subject": "p-10"})
    yield api.post("/access?person=p-7", json={"subject": "p-7"})
    yield api.post("/additions?request_id=a-1", json={"records": [{"customer": "c-21", "age": "p-7 is old"}]})
    yield api.post("/additions?request_id=a-1", content=b"p-7", headers={"content-type": "text/plain"})
    yield api.post("/additions?request_id=a-1", content=b"p-7", headers=ARROW)
    yield api.post("/model/score", json={"records": [{"town": "p-7 lives here"}]})
    yield api.post("/model/probability", json={"event": {"town": "p-7 lives here"}})
    yield api.post("/model/probability", json={"event": {"p-7": 1}})
    yield api.get("/requests/p-7")
    yield api.get("/requests", headers={"authorization": f"Bearer p-7 {WRONG}"})
    yield api.get("/requests", headers={"host": "p-7.example"})
    yield browser.get("/requests/p-7?subject=p-7")
    yield browser.post("/sign-in", data={"name": "p-7", "password": WRONG})
    yield browser.post("/requests", data={"subject": "p-7", "csrf": "p-7"})
    with socket.create_connection((api.base_url.host, api.base_url.port)) as broken:
        broken.sendall(b"GET /p-7 p-7 p-7\r\np-7\r\n\r\n")
        assert broken.recv(1000).startswith(b"HTTP/1.1 400")


ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


def assert_nothing_personal(printed, *secrets):
    assert "Traceback" not in printed
    names = ["p-7", "p-8", "p-9", "p-10", "c-21", PASSWORD, WRONG, "anna", "q-1", *secrets]
    assert [name for name in names if name in printed] == []


def test_what_nobody_expected_is_logged_without_what_was_asked(own, monkeypatch, caplog):
    def fail(*arguments, **named):
        raise RuntimeError("p-7 is not as it should be")

    with in_thread(own) as (service, port):
        monkeypatch.setattr(service.vault, "access", fail)
        headers = {"authorization": f"Bearer {token(service)}"}
        answer = httpx2.post(f"http://127.0.0.1:{port}{API}/access", json={"subject": "p-7"}, headers=headers)
    assert (answer.status_code, "p-7" in answer.text) == (500, False)
    logged = "".join(caplog.messages)
    assert re.search(r"RuntimeError at \S+test_service_process\.py:\d+", logged)
    assert_nothing_personal(caplog.text)


# -- how it is reached -----------------------------------------------------------------------------------------------


def write_certificate(folder):
    """Write a certificate of this machine and its key; return where."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "desk")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(days=1)
    ).add_extension(names, critical=False)
    files = folder / "tls.pem", folder / "tls.key"
    files[0].write_bytes(made.sign(key, SHA256()).public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def test_tls_and_no_link_where_somebody_can_sign_in(own, tmp_path):
    with opened(own) as service:
        add_user(service)
    certificate, key = write_certificate(tmp_path)
    with serving(own, "--cert", str(certificate), "--key", str(key)) as served:
        assert served.url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=certificate)
        with httpx2.Client(base_url=served.url, verify=trusting) as client:
            answer = client.post("/sign-in", data={"name": "anna", "password": PASSWORD})
            assert (answer.status_code, client.get("/account").status_code) == (303, 200)
            assert_secure(answer)
            with pytest.raises(httpx2.TransportError):
                httpx2.get(served.url.replace("https", "http"))
            code, printed, errors, seconds = ended(served, signal.SIGTERM)
    assert (code, printed) == (0, "")
    assert_nothing_personal(errors)
    assert seconds < 10


def assert_secure(answer):
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-session=")
    assert {part.strip().lower() for part in cookie.split(";")} >= {"secure", "httponly", "samesite=strict", "path=/"}
    assert "max-age" in answer.headers["strict-transport-security"]


@contextmanager
def behind_proxy(path, monkeypatch):
    """Serve a vault behind a proxy, as the command does, but in a thread; yield the server and its port."""
    servers, told = [], []
    monkeypatch.setattr(product._Server, "run", lambda server: servers.append(server) or uvicorn.Server.run(server))
    address = product.Address(port=0, behind_proxy=True)
    thread = threading.Thread(target=product.serve, args=(Path(path), None, address, told.append))
    thread.start()
    while not told:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield servers[0], servers[0].servers[0].sockets[0].getsockname()[1]
    finally:
        servers[0].should_exit = True
        thread.join()


def test_a_proxy_on_this_machine_says_who_calls(own, monkeypatch, as_before):
    with opened(own) as service:
        add_user(service)
    with behind_proxy(own, monkeypatch) as (server, port):
        for told in ("198.51.100.1, 203.0.113.9", "2001:db8::1"):
            refuse_sign_in(port, {"x-forwarded-for": told})
            assert audited(own) == told.rpartition(" ")[2]
        refuse_sign_in(port, {"x-forwarded-for": "203.0.113.9"}, source="127.0.0.2")
        assert audited(own) == "127.0.0.2"
        answer = httpx2.post(f"http://127.0.0.1:{port}/sign-in", data={"name": "anna", "password": PASSWORD})
        assert_secure(answer)
        assert set(server.config.forwarded_allow_ips) == {"127.0.0.1", "::1"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "desk.example.org"])
def test_no_passwords_in_clear_over_the_network(own, host):
    refused = " ".join(re.sub("[│╭╮╰╯─]", " ", run("serve", str(own), "--host", host, code=2).output).split())
    assert f"on {host}, passwords would go over the network in clear: give --cert and --key, or" in refused
    assert not Path(f"{own}.service").exists()


@pytest.mark.parametrize("options", [("--cert", "tls.pem"), ("--key", "tls.key")])
def test_tls_needs_both_files(own, options):
    assert "--cert FILE --key FILE" in run("serve", str(own), *options, code=2).output
    assert not Path(f"{own}.service").exists()


# -- what cannot be served -------------------------------------------------------------------------------------------


def test_a_port_that_is_taken(served, own, as_before):
    port = port_of(served)
    refused = run("serve", str(own), "--port", str(port), code=2).stderr
    assert f"nobody can listen at 127.0.0.1, port {port}: " in refused
    assert "choose another one with --port" in refused


def test_an_address_that_is_not_of_this_machine(own, as_before):
    refused = run("serve", str(own), "--host", "192.0.2.1", "--port", "0", "--behind-proxy", code=2)
    assert "nobody can listen at 192.0.2.1" in refused.stderr


def remove_key(path):
    Path(f"{path}.key").unlink()


def damage(path):
    with open(path, "r+b") as file:
        file.truncate(3000)


@pytest.mark.parametrize(
    ("spoil", "code", "message"),
    [
        (lambda path: path.unlink(), 3, "there is no "),
        (damage, 5, "is damaged"),
        (lambda path: path.write_bytes(b"id,age\n"), 5, "is no vault"),
        (remove_key, 5, "people.uspn.key is missing"),
        (lambda path: Path(f"{path}.service").write_bytes(b"junk" * 100), 5, "the service's own file"),
    ],
)
def test_a_vault_that_cannot_be_served(own, spoil, code, message):
    spoil(own)
    assert message in run("serve", str(own), "--port", "0", code=code).stderr


def test_what_is_no_certificate_is_told_before_anything_is_opened(own, tmp_path):
    certificate, key = write_certificate(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    _, key_of_another = write_certificate(other)
    junk = tmp_path / "junk.pem"
    junk.write_text("no certificate")
    for files in ((junk, key), (certificate, junk), (certificate, key_of_another), (key, certificate)):
        refused = run("serve", str(own), "--cert", str(files[0]), "--key", str(files[1]), code=5).stderr
        assert f"{files[0]} and {files[1]} are no certificate and its private key, as PEM" in refused
    run("serve", str(own), "--cert", str(certificate), "--key", str(tmp_path / "nowhere"), code=3)
    assert not Path(f"{own}.service").exists()


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_what_is_not_installed_is_named_by_its_extra(own, missing):
    program = f"import sys; sys.modules[{missing!r}] = None; from unlearnspn.cli import app; app()"
    command = [sys.executable, "-c", program, "serve", str(own)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("unlearnspn: serve needs pip install 'unlearnspn[serve]'")
    assert missing in result.stderr
    assert result.stderr.count("\n") == 1


# -- those who take their time ---------------------------------------------------------------------------------------


class QuicklyImpatient(ImpatientProtocol):
    """The service's own protocol, in a hurry."""

    head_seconds = PATIENCE


@contextmanager
def in_thread(path, body_seconds=PATIENCE):
    """Serve a vault in a thread, in a hurry; yield the service and its port."""
    with opened(path) as service:
        app = create_app(service, AppOptions(body_seconds=body_seconds, most_bytes=1 << 20))
        config = uvicorn.Config(
            app, port=0, http=QuicklyImpatient, access_log=False, log_config=None, timeout_graceful_shutdown=PATIENCE
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield service, server.servers[0].sockets[0].getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def test_the_command_serves_by_the_same_protocol(own, monkeypatch, as_before):
    configured = []
    monkeypatch.setattr(product._Server, "run", lambda server: configured.append(server.config))
    run("serve", str(own))
    assert (configured[0].http, ImpatientProtocol.head_seconds, configured[0].access_log) == (
        ImpatientProtocol,
        10.0,
        False,
    )


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """Return where a service listens that is in a hurry."""
    with in_thread(make_vault(tmp_path_factory.mktemp("hurried"))) as (_, port):
        yield port


HEAD = f"POST {API}/requests HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()


def is_answered(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        connection.request("GET", f"{API}/health")
        return connection.getresponse().status == 200


def drip(connection, content, seconds=10.0):
    """Send content byte by byte, over and over, until nobody takes it; return what was answered, and after how long."""
    began, answer, coming = time.monotonic(), b"", itertools.cycle(content)
    connection.settimeout(PATIENCE / 20)
    while (passed := time.monotonic() - began) < seconds:
        try:
            connection.sendall(next(coming).to_bytes())
            part = connection.recv(10_000)
        except TimeoutError:
            continue
        except ConnectionError:
            return answer, passed
        if not part:
            return answer, passed
        answer += part
    raise AssertionError(f"the connection is still open: {answer}")


@pytest.mark.parametrize("begun", [b"", b"G", HEAD])
def test_who_sends_a_head_byte_by_byte_is_cut_off_and_others_are_answered(port, begun):
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(begun)
        dripping = Dripping(slow, b"x")
        while dripping.is_alive():
            assert is_answered(port)
            time.sleep(PATIENCE / 8)
    assert dripping.answer == b""
    assert PATIENCE / 2 < dripping.seconds < PATIENCE + 5


class Dripping(threading.Thread):
    """Sends something byte by byte."""

    def __init__(self, connection, content):
        super().__init__()
        self._connection, self._content = connection, content
        self.start()

    def run(self):
        self.answer, self.seconds = drip(self._connection, self._content)


def test_who_sends_nothing_is_cut_off(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as silent:
        assert is_cut_off(silent)


def is_cut_off(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_many_who_take_their_time_keep_nobody_out(port):
    slow = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(100)]
    for number, connection in enumerate(slow):
        connection.sendall(HEAD[: number % len(HEAD)])
    assert is_answered(port)
    for connection in slow:
        with closing(connection):
            assert is_cut_off(connection)
    assert is_answered(port)


def test_a_body_that_comes_too_slowly_is_refused_and_nobody_waits_for_the_rest(port):
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(HEAD + b"Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
        answer, seconds = drip(slow, b"{")
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the body did not come within" in answer
    assert 2 * PATIENCE * 0.9 < seconds < 2 * PATIENCE + 5


def test_chunks_that_come_too_slowly_are_refused(port):
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        answer, _ = drip(slow, b"1\r\n{\r\n")
    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(("n_bytes", "status"), [(10**6, b"401"), (10**9, b"413"), (10**14, b"413"), (10**18, b"422")])
def test_a_body_that_is_said_to_be_huge_is_refused_before_it_comes(port, n_bytes, status):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as huge:
        huge.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % n_bytes)
        assert huge.recv(10_000).startswith(b"HTTP/1.1 " + status)
        assert time.monotonic() - began < PATIENCE
        drip(huge, b"{")


def test_chunks_without_end_are_refused(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as huge:
        huge.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(5):
            huge.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
        assert huge.recv(10_000).startswith(b"HTTP/1.1 401")
        drip(huge, b"8000\r\n" + b"x" * 0x8000 + b"\r\n")


def test_a_connection_serves_one_request_after_another(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with closing(connection):
        for pause in (0.0, 2 * PATIENCE, 0.0):
            time.sleep(pause)
            connection.request("POST", f"{API}/requests", json.dumps({"wish": "erase"}))
            answer = connection.getresponse()
            assert (answer.status, answer.read()[:1]) == (401, b"{")
            kept = connection.sock
        assert connection.sock is kept


def test_who_is_not_answered_at_the_end_is_told_and_nothing_is_logged_of_it(own, caplog):
    with in_thread(own, body_seconds=30.0) as (_, port):
        waiting = socket.create_connection(("127.0.0.1", port), timeout=10)
        waiting.sendall(HEAD + b"Content-Length: 5\r\n\r\n{")
        assert is_answered(port)
    with closing(waiting):
        assert waiting.recv(10_000).startswith(b"HTTP/1.1 503")
    assert "Traceback" not in caplog.text

"""What tests of the service share: a small vault that is served, and clients of its API and its console."""

import sqlite3
import time
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from argon2 import PasswordHasher
from fastapi import routing
from starlette.testclient import TestClient

from unlearnspn import Vault
from unlearnspn.service.app import AppOptions, create_app
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.roles import SCOPES_OF_TOKENS, Role
from vault_states import people

N_PEOPLE, MIN_ROWS = 90, 20
BASE = "http://127.0.0.1"
API = "/api/v1"
PASSWORD = "correct horse battery"
TABLE = people(N_PEOPLE)
GROUND = "Art. 17(1)(b)"


def make_vault(folder, table=None, **parameters):
    """Make a vault with a model, and return its path."""
    path = folder / "people.uspn"
    if table is None and not parameters:
        for name, content in _usual_vault().items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        return path
    with Vault.create(path) as vault:
        vault.ingest(TABLE if table is None else table, "customer", "person")
        vault.fit(**{"min_rows": MIN_ROWS} | parameters)
    return path


@cache
def _usual_vault():
    """Return the files of a vault that is made once."""
    with TemporaryDirectory() as folder:
        make_vault(Path(folder), TABLE)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


#: A hash that takes no time.
QUICK = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)


@contextmanager
def opened(path):
    """Open a service for a while, in which new passwords take no time."""
    service = DeskService.open(path)
    service.accounts._hasher = QUICK()
    try:
        yield service
    finally:
        service.close()


@contextmanager
def full(service):
    """Have the disk be full for a while, as far as the service's own file is concerned: not one entry more has room."""
    database = service._database
    (pages,) = database.row("pragma page_count")
    database.row(f"pragma max_page_count = {pages}")
    try:
        with pytest.raises(sqlite3.OperationalError, match="full"):
            _fill(service)
        yield
    finally:
        database.row("pragma max_page_count = 1073741823")


def _fill(service):
    for _ in range(1000):
        service.audit.write("anna", "signed in")


def token(service, *scopes, days=30, name="crm"):
    """Make a token with some scopes; without any it has all."""
    wanted = [scope.value for scope in scopes or SCOPES_OF_TOKENS]
    return service.tokens.add(name, wanted, days, "anna")[1]


def client_of(service, *, base=BASE, raises=True, options=None, **headers):
    """Return a client that has neither signed in nor a token."""
    app = create_app(service, options or AppOptions())
    return TestClient(
        app, base_url=base, follow_redirects=False, raise_server_exceptions=raises, headers=headers or None
    )


def another(client):
    """Return one more client of the same application, for another thread."""
    return TestClient(client.app, base_url=str(client.base_url), follow_redirects=False, headers=client.headers)


def api_of(service, *scopes, **more):
    """Return a client of the API with a token."""
    return client_of(service, authorization=f"Bearer {token(service, *scopes)}", **more)


def add_user(service, name="anna", role=Role.OFFICER):
    """Make a user whose password is the one of all tests."""
    return service.accounts.add(name, role, PASSWORD)


def sign_in(service, name="anna", **more):
    """Return a client that has signed in, without the time that a hash takes."""
    client = client_of(service, **more)
    cookie = "__Host-session" if client.app.state.with_tls else "session"
    client.cookies.set(cookie, service.sessions.start(service.accounts.get(name)))
    return client


def csrf_of(service, client):
    """Return what forms of a client's session must send along."""
    cookie = next(iter(client.cookies.values()))
    return service.sessions.check(cookie).csrf


def removal(subject="p-7", request_id="r-1", **more):
    """Return the body of a removal."""
    return {"subject": subject, "request_id": request_id, "ground": GROUND} | more


def wait_for(client, job, seconds=60.0):
    """Return a job once it is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = client.get(f"{API}/jobs/{job['id']}").json()
        if found["state"] in ("done", "failed"):
            return found
        time.sleep(0.02)
    raise AssertionError(f"the job did not end: {found}")


def routes_of(app):
    """Return all routes of an application but files: method and path."""
    contexts = getattr(routing, "iter_route_contexts", lambda routes: routes)(app.routes)
    return sorted(
        (method, route.path)
        for route in contexts
        for method in getattr(route, "methods", None) or ()
        if method != "HEAD"
    )

"""Servers as sources: PostgreSQL and MariaDB are started on the loopback, and are afterwards what they were before.

`pytest -m servers` runs these; a server that is not installed (Debian: postgresql, mariadb-server) is left out.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy

from command_line import run
from test_sources import column
from unlearnspn import InvalidTableError
from unlearnspn.sources import Options, read_source

pytestmark = pytest.mark.servers

SET_UP = [
    "CREATE TABLE p (a INTEGER, b VARCHAR(9))",
    "INSERT INTO p VALUES (1, 'x'), (2, 'y%:z')",
    'CREATE TABLE "Odd; name" (a INTEGER)',
    'INSERT INTO "Odd; name" VALUES (7)',
]
POSTGRESQL = [
    "CREATE FUNCTION sneak() RETURNS integer LANGUAGE plpgsql AS "
    "$$ BEGIN INSERT INTO p VALUES (3, 'z'); RETURN 1; END $$",
    "CREATE FUNCTION unlock() RETURNS integer LANGUAGE plpgsql AS "
    "$$ BEGIN SET TRANSACTION READ WRITE; INSERT INTO p VALUES (3, 'z'); RETURN 1; END $$",
    "CREATE PROCEDURE commit_and_drop() LANGUAGE plpgsql AS $$ BEGIN COMMIT; DROP TABLE p; END $$",
    "CREATE SEQUENCE s",
]
#: What must not be carried out, and how it is refused.
WRITING = [
    "DROP TABLE p",
    "DELETE FROM p",
    "UPDATE p SET a = 7",
    "INSERT INTO p VALUES (3, 'z')",
    "CREATE TABLE q AS SELECT * FROM p",
    "TRUNCATE TABLE p",
    "SELECT a FROM p; DROP TABLE p",
    "COMMIT; DROP TABLE p",
    "COMMIT",
    "SELECT 1; COMMIT; DROP TABLE p; SELECT 1",
]


class Server(NamedTuple):
    """A server that runs, by the URL of its database."""

    url: str


def tool(name: str) -> str:
    """Return the path of a program of a server, or skip."""
    found = [
        shutil.which(name),
        shutil.which(name, path="/usr/sbin"),
        *map(str, Path("/usr/lib").glob(f"postgresql/*/bin/{name}")),
    ]
    path = next((each for each in reversed(found) if each), None)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that belongs to who runs the servers, which must not be root."""
    made = Path(tempfile.mkdtemp(prefix="servers-"))
    if os.geteuid() == 0:
        os.chown(made, *account()[1:])
    yield made
    shutil.rmtree(made)


def account() -> tuple[str, int, int]:
    found = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    return found.pw_name, found.pw_uid, found.pw_gid


def as_nobody() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    _, user, group = account()
    return {"user": user, "group": group, "extra_groups": []}


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def engine_of(url: str) -> sqlalchemy.Engine:
    return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            with engine_of(url).connect():
                return
        except sqlalchemy.exc.OperationalError:
            assert process.poll() is None, "the server has stopped"
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def served(command: list[str], folder: Path, url: str) -> Iterator[Server]:
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **as_nobody()) as process,
    ):
        try:
            wait_for(url, process)
            yield Server(url)
        finally:
            # PostgreSQL waits for nobody then; MariaDB would not stop.
            process.send_signal(signal.SIGINT if "postgresql" in url else signal.SIGTERM)
            process.wait(60)


@pytest.fixture(scope="module")
def postgresql_server(folder: Path) -> Iterator[Server]:
    pytest.importorskip("psycopg")
    password, port, data = secrets.token_hex(16), free_port(), folder / "postgresql"
    written = folder / "password"
    written.write_text(password)
    written.chmod(0o644)
    make = [tool("initdb"), "-D", str(data), "-U", "owner", "-A", "scram-sha-256", f"--pwfile={written}", "-N"]
    subprocess.run(make, check=True, cwd=folder, stdout=subprocess.DEVNULL, **as_nobody())
    serve = [tool("postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-F"]
    yield from served(serve, folder, f"postgresql+psycopg://owner:{password}@127.0.0.1:{port}/postgres")


@pytest.fixture(scope="module")
def mariadb_server(folder: Path) -> Iterator[Server]:
    pytest.importorskip("pymysql")
    password, port, data = secrets.token_hex(16), free_port(), folder / "mariadb"
    begin = folder / "begin.sql"
    owner = f"owner@127.0.0.1 IDENTIFIED BY '{password}'"
    begin.write_text(f"CREATE DATABASE d;\nCREATE USER {owner};\nGRANT ALL ON *.* TO owner@127.0.0.1;\n")
    begin.chmod(0o644)
    make = [
        tool("mariadb-install-db"),
        "--no-defaults",
        f"--datadir={data}",
        "--auth-root-authentication-method=normal",
    ]
    subprocess.run(make, check=True, cwd=folder, stdout=subprocess.DEVNULL, **as_nobody())
    serve = [
        tool("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={folder}/mariadb.sock", f"--port={port}",
        "--bind-address=127.0.0.1", "--skip-name-resolve", f"--init-file={begin}", f"--pid-file={folder}/mariadb.pid",
        "--sql-mode=ANSI_QUOTES",
    ]  # fmt: skip
    yield from served(serve, folder, f"mysql+pymysql://owner:{password}@127.0.0.1:{port}/d")


def write(url: str, statements: list[str]) -> None:
    with engine_of(url).begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


@pytest.fixture
def postgresql(postgresql_server: Server) -> str:
    write(postgresql_server.url, ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public", *SET_UP, *POSTGRESQL])
    return postgresql_server.url


@pytest.fixture
def mariadb(mariadb_server: Server) -> str:
    write(mariadb_server.url, ["DROP DATABASE d", "CREATE DATABASE d", "USE d", *SET_UP])
    return mariadb_server.url


def contents(url: str) -> Any:
    """Return all that there is, by another connection."""
    with engine_of(url).connect() as connection:
        tables = sorted(sqlalchemy.inspect(connection).get_table_names())
        return tables, sorted(map(tuple, connection.exec_driver_sql("SELECT a, b FROM p").fetchall()))


def driven(url: str, driver: str) -> str:
    """Return the URL with another driver, or skip if that is not installed."""
    pytest.importorskip(driver)
    return url.replace("+psycopg:", f"+{driver}:")


def refuse(url: str, query: str) -> None:
    before = contents(url)
    with pytest.raises(InvalidTableError, match=r"refused|semicolon|must be one SELECT"):
        read_source(url, Options(query=query))
    assert contents(url) == before
    assert column(read_source(url, Options(table="p")), "a") == [1, 2]


# -- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
@pytest.mark.parametrize(
    "query",
    [
        *WRITING,
        "DELETE FROM p RETURNING a, b",
        "WITH gone AS (DELETE FROM p RETURNING a) SELECT a FROM gone",
        "SELECT sneak()",
        "SELECT unlock()",
        "SELECT set_config('transaction_read_only', 'off', true), sneak()",
        "SELECT nextval('s')",
        "SELECT a INTO q FROM p",
        "SET TRANSACTION READ WRITE",
        "SET TRANSACTION READ WRITE; DROP TABLE p",
        "SET default_transaction_read_only = off",
        "CALL commit_and_drop()",
        "DO 'BEGIN DROP TABLE p; END'",
        "COPY p TO PROGRAM 'true'",
        "EXPLAIN ANALYZE DELETE FROM p",
        "LOCK TABLE p",
        "PREPARE x AS DELETE FROM p",
    ],
)
def test_postgresql_cannot_be_written(postgresql: str, driver: str, query: str) -> None:
    refuse(driven(postgresql, driver), query)


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM p",
        " select b, a from p where b like '%' and b <> ':q' ; \n",
        "WITH q AS (SELECT * FROM p) SELECT a, b FROM q -- all",
        "SELECT (a::text)::integer AS a, b FROM p ORDER BY a",
        "TABLE p",
    ],
)
def test_postgresql_answers_what_only_reads(postgresql: str, driver: str, query: str) -> None:
    table = read_source(driven(postgresql, driver), Options(query=query))
    assert column(table, "a") == [1, 2]
    assert column(table, "b") == ["x", "y%:z"]


def test_tables_of_postgresql(postgresql: str) -> None:
    assert column(read_source(postgresql, Options(table="Odd; name")), "a") == [7]
    assert column(read_source(postgresql, Options(table="public.p")), "b") == ["x", "y%:z"]
    with pytest.raises(InvalidTableError, match='refused: relation "absent" does not exist'):
        read_source(postgresql, Options(table="absent"))


def test_a_query_that_ends_the_transaction_would_have_dropped_the_table(postgresql: str) -> None:
    """What the tests above rely on: the server does carry these out when it may."""
    write(postgresql, ["SELECT sneak()"])
    assert len(contents(postgresql)[1]) == 3


def test_ingest_leaves_postgresql_alone(postgresql: str, tmp_path: Path) -> None:
    vault = str(tmp_path / "people.uspn")
    run("init", vault)
    before = contents(postgresql)
    for query in ("DROP TABLE p", "DELETE FROM p RETURNING a, b", "COMMIT; DROP TABLE p"):
        refused = run("ingest", vault, postgresql, "--id", "a", "--query", query, code=4)
        assert "must be one SELECT" in refused.stderr
    assert contents(postgresql) == before
    assert "2 added" in run("ingest", vault, postgresql, "--id", "a", "--query", "SELECT * FROM p").stdout


# -- MariaDB ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        *WRITING,
        "DELETE FROM p RETURNING a, b",
        "SET TRANSACTION READ WRITE",
        "SET autocommit = 1",
        "RENAME TABLE p TO q",
    ],
)
def test_mariadb_cannot_be_written(mariadb: str, query: str) -> None:
    refuse(mariadb, query)


def test_mariadb_answers_what_only_reads(mariadb: str) -> None:
    table = read_source(mariadb, Options(query="SELECT * FROM p WHERE b LIKE '%' AND b <> ':q';"))
    assert column(table, "b") == ["x", "y%:z"]
    assert column(read_source(mariadb, Options(table="Odd; name")), "a") == [7]

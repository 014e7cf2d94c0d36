"""Sources are only read: whatever a query says, the database is afterwards what it was before."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from command_line import run
from test_sources import column
from unlearnspn import InvalidTableError
from unlearnspn.sources import Options, read_source

#: What would write, or reach beyond the source.
WRITING = [
    "DROP TABLE p",
    "DELETE FROM p",
    "DELETE FROM p RETURNING a",
    "UPDATE p SET a = 7 RETURNING a",
    "INSERT INTO p VALUES (3, 'z') RETURNING a",
    "CREATE TABLE q AS SELECT * FROM p",
    "SELECT a FROM p; DROP TABLE p",
    "COMMIT; DROP TABLE p",
    "/* SELECT */ DROP TABLE p",
]
ROWS = [(1, "x"), (2, "y")]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def lite(tmp_path: Path) -> Path:
    path = tmp_path / "people.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE p (a INTEGER, b TEXT)")
    connection.executemany("INSERT INTO p VALUES (?, ?)", ROWS)
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE p (a INTEGER, b VARCHAR)")
        connection.executemany("INSERT INTO p VALUES (?, ?)", ROWS)
    return path


# -- SQLite ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        *WRITING,
        "WITH q AS (SELECT 1) DELETE FROM p RETURNING a",
        "PRAGMA query_only = OFF",
        "PRAGMA user_version = 7",
        "ATTACH DATABASE 'other.db' AS other",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "BEGIN IMMEDIATE",
        "UPDATE sqlite_master SET sql = NULL",
    ],
)
def test_sqlite_cannot_be_written(lite: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.chdir(lite.parent)
    before = contents(lite.parent)
    with pytest.raises(InvalidTableError, match=r"only read, so the query must be one SELECT"):
        read_source("sqlite:///people.db", Options(query=query))
    assert contents(lite.parent) == before


def test_sqlite_is_opened_so_that_it_cannot_write(lite: Path) -> None:
    from unlearnspn.sources.sqlite_files import open_sqlite

    with open_sqlite(str(lite)) as connection:
        assert connection.execute("PRAGMA query_only").fetchall() == [(1,)]
        connection.execute("PRAGMA query_only = OFF")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DROP TABLE p")


@pytest.mark.parametrize("scheme", ["sqlite:///", "sqlite+pysqlite:///", "sqlite:///file:"])
def test_a_database_that_is_not_there_is_not_made(tmp_path: Path, scheme: str) -> None:
    for path in (tmp_path / "absent.db", tmp_path / "no" / "absent.db"):
        with pytest.raises(FileNotFoundError):
            read_source(f"{scheme}{path}", Options(table="p"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidTableError, match="name the file of the database"):
        read_source("sqlite://", Options(table="p"))


@pytest.mark.parametrize("name", ["people.db", "peo ple%20#ü.db"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM p",
        "SELECT * FROM p;",
        "-- all of them\nWITH q AS (SELECT * FROM p) SELECT upper(b) AS b, a FROM q -- all",
        "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 2) SELECT a, ';' AS b FROM n",
        "VALUES (1, 'x'), (2, 'y')",
    ],
)
def test_sqlite_answers_what_only_reads(lite: Path, name: str, query: str) -> None:
    lite.rename(lite.with_name(name))
    table = read_source(f"sqlite:///{lite.with_name(name)}?timeout=3", Options(query=query))
    assert table.n_rows == 2


def test_sqlite_can_be_read_where_nothing_can_be_written_and_while_somebody_writes(lite: Path) -> None:
    with sqlite3.connect(lite) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO p VALUES (3, 'z')")
        assert column(read_source(f"sqlite:///{lite}", Options(table="p")), "a") == [1, 2]
    writer.close()
    assert column(read_source(f"sqlite:///{lite}", Options(table="p")), "a") == [1, 2, 3]


def test_full_text_tables_can_be_read(lite: Path) -> None:
    with sqlite3.connect(lite) as writer:
        writer.execute("CREATE VIRTUAL TABLE words USING fts5(word)")
        writer.execute("INSERT INTO words VALUES ('Ulm')")
    writer.close()
    assert column(read_source(f"sqlite:///{lite}", Options(query="SELECT * FROM words('ulm')")), "word") == ["Ulm"]


# -- DuckDB ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        *WRITING,
        "COPY p TO 'copy.csv'",
        "EXPORT DATABASE 'copy'",
        "ATTACH 'other.duckdb' AS other",
        "ATTACH 'other.duckdb' AS other; CREATE TABLE other.q (a INTEGER)",
        "WITH q AS (DELETE FROM p RETURNING a) SELECT a FROM q",
        "SET memory_limit = '1GB'",
        "BEGIN",
        "",
    ],
)
def test_duckdb_cannot_be_written(duck: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.chdir(duck.parent)
    with duckdb.connect("other.duckdb"):
        pass
    before = contents(duck.parent)
    with pytest.raises(InvalidTableError, match=r"only read, so the query must be one SELECT|read-only mode"):
        read_source("people.duckdb", Options(query=query))
    assert contents(duck.parent) == before


@pytest.mark.parametrize("location", ["{}", "duckdb:///{}"])
def test_a_duckdb_file_that_is_not_there_is_not_made(tmp_path: Path, location: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_source(location.format(tmp_path / "absent.duckdb"), Options(table="p"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    ["FROM p", "SELECT * FROM p;", "WITH q AS (SELECT * FROM p) SELECT b, a FROM q", "SELECT a, ';' AS b FROM p -- x"],
)
def test_duckdb_answers_what_only_reads(duck: Path, query: str) -> None:
    assert column(read_source(str(duck), Options(query=query)), "a") == [1, 2]


# -- other databases -------------------------------------------------------------------------------------------------


def test_queries_go_only_where_reading_can_be_insisted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = SimpleNamespace(version="5.0", paramstyle="qmark", Error=Exception, Cursor=object)
    monkeypatch.setitem(sys.modules, "pyodbc", driver)
    with pytest.raises(InvalidTableError, match="make a view there, and name it with --table"):
        read_source("mssql+pyodbc://host/name?driver=x", Options(query="SELECT 1"))


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", WRITING)
def test_ingest_leaves_its_source_alone(lite: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.chdir(lite.parent)
    before = lite.read_bytes()
    run("init", "people.uspn")
    refused = run("ingest", "people.uspn", "sqlite:///people.db", "--id", "a", "--query", query, code=4)
    assert "only read, so the query must be one SELECT" in refused.stderr
    assert lite.read_bytes() == before
    run("ingest", "people.uspn", "sqlite:///people.db", "--id", "a", "--table", "p")

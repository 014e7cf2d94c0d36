"""Tables from files and databases: what is read, what is refused, and that nothing is run or guessed."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgers import EFFORT
from unlearnspn import InvalidTableError, RecordIdError
from unlearnspn.sources import Format, Options, decoding, read_ids_file, read_source
from unlearnspn.tables import Family, Table

QUICK = settings(max_examples=50 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
#: Texts that mean something to shells, databases, spreadsheets, paths or terminals.
NASTY = [
    "=cmd|'/c calc'!A1",
    "+1+1",
    "@SUM(1)",
    "'; DROP TABLE records; --",
    '" OR 1=1',
    "$(touch owned)",
    "`touch owned`",
    "../../etc/passwd",
    "/dev/null",
    "%s%n{0}",
    "\x1b[2J",
    "[red]",
    "<b>",
    "a\u2028b\x85c\x0bd",
    "ü€𝄞",
    "NULL",
    "nan",
    "-",
]


def column(table: Table, name: str) -> list[Any]:
    return table.columns[table.names.index(name)].objects().tolist()


def families(table: Table) -> list[str]:
    return [each.family.value for each in table.columns]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_file(content: str | bytes, name: str = "t.csv") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file


# -- CSV: what is read -----------------------------------------------------------------------------------------------


def test_types_are_those_of_all_cells_together(write: Any) -> None:
    path = write("a,b,c,d,e,f\n1,true,x,01067,,1\n-2.5e3,FALSE,2,1,,nan\n , ,,2,, \n")
    table = read_source(path)
    assert families(table) == ["number", "boolean", "text", "text", "missing", "number"]
    assert column(table, "a")[:2] == [1.0, -2500.0]
    assert np.isnan(column(table, "a")[2])
    assert column(table, "b") == [True, False, None]
    assert column(table, "c") == ["x", "2", None]
    assert column(table, "d") == ["01067", "1", "2"]


def test_types_can_be_said(write: Any) -> None:
    path = write("zip,n\n1067,NA\n80331,3\n")
    said = Options(texts=frozenset({"zip"}), numbers=frozenset({"n"}), missing=frozenset({"NA"}))
    table = read_source(path, said)
    assert families(table) == ["text", "number"]
    assert column(table, "zip") == ["1067", "80331"]
    assert np.isnan(column(table, "n")[0])
    with pytest.raises(InvalidTableError, match="'n' holds 'NA' in row 1, which is no number"):
        read_source(path, Options(numbers=frozenset({"n"})))
    with pytest.raises(InvalidTableError, match="there is no column 'nip'; the table has 'zip', 'n'"):
        read_source(path, Options(texts=frozenset({"nip"})))


def test_types_that_are_known_are_demanded(write: Any) -> None:
    known = {"age": Family.NUMBER, "member": Family.BOOLEAN, "city": Family.TEXT}
    table = read_source(write("age,member,city\n17,true,1\n"), Options(known=known))
    assert families(table) == ["number", "boolean", "text"]
    for content, message in [
        ("age\nold\n", "'age' holds 'old' in row 1, which is no number"),
        ("member\ntrue\nyes\n", "'member' holds 'yes' in row 2, which is neither true nor false"),
    ]:
        with pytest.raises(InvalidTableError, match=message):
            read_source(write(content), Options(known=known))


def test_whole_numbers_stay_whole(write: Any) -> None:
    table = read_source(write("id,a\n9007199254740993,1\n-5,2\n"), Options(integers=frozenset({"id"})))
    assert column(table, "id") == [9007199254740993, -5]
    for cell, message in [("1.5", "no whole number"), ("", "no whole number"), ("9" * 19, "too large a number")]:
        with pytest.raises(InvalidTableError, match=message):
            read_source(write(f"id,a\n{cell},1\n"), Options(integers=frozenset({"id"})))


@pytest.mark.parametrize("nasty", NASTY)
def test_texts_stay_as_they_are_and_nothing_is_run(write: Any, tmp_path: Path, nasty: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([[nasty, "other"], [nasty, "x"], ["second", "y"]])
    table = read_source(write(buffer.getvalue()))
    assert table.names == [nasty, "other"]
    assert column(table, nasty) == [nasty, "second"]
    assert os.listdir(tmp_path) == ["t.csv"]


@QUICK
@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6))
def test_what_csv_writes_is_what_is_read(tmp_path: Path, rows: list[list[str]]) -> None:
    names = frozenset({"a", "b", "c"})
    path = tmp_path / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([sorted(names), *rows])
    if not rows:
        with pytest.raises(InvalidTableError, match="no rows"):
            read_source(str(path), Options(texts=names))
        return
    table = read_source(str(path), Options(texts=names))
    for place, name in enumerate(sorted(names)):
        assert column(table, name) == [row[place] if row[place].strip() else None for row in rows]


@QUICK
@given(content=st.one_of(st.binary(max_size=80), st.text('a,"\n\r;0\0 ü=', max_size=60).map(str.encode)))
@pytest.mark.parametrize("form", [Format.CSV, Format.JSON_LINES, Format.PARQUET, Format.DUCKDB])
def test_any_bytes_are_a_table_or_refused(tmp_path: Path, form: Format, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    try:
        table = read_source(str(path), Options(format=form, table="t"))
    except InvalidTableError:
        return
    assert len(set(table.names)) == len(table.names)
    assert {len(each) for each in table.columns} == {table.n_rows}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_tell_the_encoding(write: Any, encoding: str) -> None:
    table = read_source(write("stadt,größe\r\nKöln,3\r\nŁódź,4\r\n".encode(encoding)))
    assert column(table, "stadt") == ["Köln", "Łódź"]
    assert table.names == ["stadt", "größe"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_files_are_read_in_pieces_of_any_size(
    write: Any, monkeypatch: pytest.MonkeyPatch, encoding: str, size: int
) -> None:
    monkeypatch.setattr("unlearnspn.sources.decoding._CHUNK", size)
    table = read_source(write('a,b\r\n"x\ny",Łódź𝄞\n\nü,"q""q"'.encode(encoding)))
    assert column(table, "a") == ["x\ny", "ü"]
    assert column(table, "b") == ["Łódź𝄞", 'q"q']


def test_other_encodings_are_asked_for_and_then_read(write: Any) -> None:
    path = write(b"a,b\n1,x\n2,K\xf6ln\n")
    with pytest.raises(InvalidTableError, match=r"line 3 is not utf-8: it holds the byte 0xf6; .* latin-1"):
        read_source(path)
    assert column(read_source(path, Options(encoding="latin-1")), "b") == ["x", "Köln"]
    with pytest.raises(InvalidTableError, match="there is no encoding 'klingon'"):
        read_source(path, Options(encoding="klingon"))


def test_encodings_without_a_mark_are_not_guessed(write: Any) -> None:
    with pytest.raises(InvalidTableError, match="line 1 holds a NUL character"):
        read_source(write("a,b\n1,2\n".encode("utf-16-le")))


# -- CSV: what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,b\n", "the table has no rows"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but the first line names 2 columns"),
        ("a,b\n1\n", "line 2 has 1 cells"),
        ('a,b\n"1",2\n"x"y,3\n', "line 3: something follows a closing quote"),
        ('a,b\n"1,2\n3,4\n', "a quote is opened and never closed"),
        ("a,a\n1,2\n", "column names must be unique, but 'a'"),
        ("a,\n1,2\n", "these have no name: 2"),
        ("a,b\n1,\0\n", "line 2 holds a NUL character"),
        ("a;b\n1;2\n", "names one column only, 'a;b': is ';' the delimiter"),
        ("a\tb\n1\t2\n", "is '\\\\t' the delimiter"),
        ("a,b\r1,2\r", "carriage return"),
        ("a,b\n1," + "x" * 1_000_000 + "\n", "line 2: a cell has more than 131,072 characters"),
    ],
)
def test_bad_files_are_named_by_line(write: Any, content: str, message: str) -> None:
    with pytest.raises(InvalidTableError, match=message):
        read_source(write(content))


def test_a_file_without_line_ends_is_not_read_forever(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "LONGEST_LINE", 1 << 20)
    with pytest.raises(InvalidTableError, match="line 1 has no end"):
        read_source(write(b"x" * (decoding.LONGEST_LINE + 2)))


def test_infinite_numbers_are_refused(write: Any) -> None:
    with pytest.raises(InvalidTableError, match="infinite values in rows 2"):
        read_source(write("a\n1\ninf\n"))


def test_delimiters_and_formats_can_be_said(write: Any) -> None:
    assert read_source(write("a;b\n1;2\n"), Options(delimiter=";")).names == ["a", "b"]
    assert read_source(write("a\tb\n1\t2\n", "t.tsv")).names == ["a", "b"]
    assert read_source(write("a,b\n1,2\n", "t.data"), Options(format=Format.CSV)).names == ["a", "b"]
    with pytest.raises(InvalidTableError, match="say which format it has"):
        read_source(write("a,b\n1,2\n", "t.data"))
    with pytest.raises(InvalidTableError, match="the delimiter must be one character"):
        read_source(write("a,b\n1,2\n"), Options(delimiter=";;"))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("pipe.csv", "."):
        with pytest.raises((InvalidTableError, IsADirectoryError)):
            read_source(str(tmp_path / name), Options(format=Format.CSV))
    with pytest.raises(FileNotFoundError):
        read_source(str(tmp_path / "absent.csv"))


# -- other files -----------------------------------------------------------------------------------------------------


def test_json_lines(write: Any) -> None:
    lines = [{"a": 1, "b": "x", "c": True}, {"a": 2.5, "b": "=1+1"}, {"b": None, "d": "late"}]
    table = read_source(write("\n\n".join(map(json.dumps, lines)) + "\r\n", "t.jsonl"))
    assert table.names == ["a", "b", "c", "d"]
    assert families(table) == ["number", "text", "boolean", "text"]
    assert column(table, "b") == ["x", "=1+1", None]
    assert column(table, "d") == [None, None, "late"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no JSON objects"),
        ("[1]\n", "line 1 is no JSON object"),
        ('{"a":1}\n{"a":\n', "line 2 is no JSON"),
        ('{"a":1,"a":2}\n', "line 1 has 'a' more than once"),
        ('{"a":[1]}\n', "line 1 holds a list or an object in 'a'"),
        ('{"a":{"b":1}}\n', "line 1 holds a list or an object in 'a'"),
        ("[" * 100_000, "line 1 is no JSON: it is nested too deeply"),
        ('{"a":1e999}\n{"a":' + "9" * 400 + "}\n", "number too large"),
    ],
)
def test_bad_json_lines_are_named(write: Any, content: str, message: str) -> None:
    with pytest.raises(InvalidTableError, match=message):
        read_source(write(content, "t.jsonl"))


def test_parquet(tmp_path: Path, write: Any) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [7, 8], "a": [1.5, None], "b": ["x", "../y"], "c": [True, None]}), path)
    table = read_source(str(path), Options(texts=frozenset({"id"})))
    assert column(table, "id") == ["7", "8"]
    assert families(table) == ["text", "number", "text", "boolean"]
    whole = path.read_bytes()
    for broken in (b"", whole[:-9], whole[:40] + whole[60:], b"PAR1" * 20):
        with pytest.raises(InvalidTableError, match="no readable Parquet file"):
            read_source(write(broken, "broken.parquet"))


# -- databases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["people", "drop", "a b", 'q"uote', "x; DROP TABLE people", "ü"])
def test_tables_of_databases_by_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.db"
    quoted = name.replace('"', '""')
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (x)") if name != "people" else None
        connection.execute(f'CREATE TABLE "{quoted}" (id TEXT, age REAL, city TEXT)')
        connection.executemany(f'INSERT INTO "{quoted}" VALUES (?, ?, ?)', [("1", 17.5, "Ulm"), ("2", None, "'; --")])
    connection.close()
    table = read_source(f"sqlite:///{path}", Options(table=name))
    assert table.names == ["id", "age", "city"]
    assert column(table, "city") == ["Ulm", "'; --"]
    table = read_source(f"sqlite:///{path}", Options(query=f'SELECT age FROM "{quoted}" WHERE age > 3'))
    assert column(table, "age") == [17.5]


def test_databases_that_refuse_say_why(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 't.db'}"
    sqlite3.connect(tmp_path / "t.db").close()
    for location, said, message in [
        (url, Options(table="absent"), "the database refused: no such table"),
        (url, Options(query="SELEC"), "the database refused"),
        (url, Options(), "either a table or a query"),
        (url, Options(table="a", query="b"), "either a table or a query"),
        (url, Options(query="CREATE TABLE t (a)"), "must be one SELECT"),
        (url, Options(query="SELECT 1 AS a, 2 AS a"), "'a' occur more than once"),
        ("nonsense://x", Options(table="t"), "no URL of a database"),
        ("postgresql+absent://x", Options(table="t"), "no URL of a database"),
    ]:
        with pytest.raises(InvalidTableError, match=message):
            read_source(location, said)


def test_a_query_cannot_leave_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (1)")
    connection.close()
    with pytest.raises(InvalidTableError):
        read_source(f"sqlite:///{path}", Options(query="DELETE FROM t"))
    assert column(read_source(f"sqlite:///{path}", Options(table="t")), "a") == [1]


@pytest.mark.parametrize("name", ["people", 'q"uote; DROP TABLE people'])
def test_duckdb(tmp_path: Path, name: str) -> None:
    import duckdb

    path = tmp_path / "t.duckdb"
    quoted = name.replace('"', '""')
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE \"{quoted}\" AS SELECT 17 AS age, 'Ulm' AS city")
    assert column(read_source(str(path), Options(table=name)), "city") == ["Ulm"]
    assert column(read_source(f"duckdb:///{path}", Options(query=f'SELECT age FROM "{quoted}"')), "age") == [17]
    for said in (Options(table="absent"), Options(query="SELEC"), Options(query=f'DROP TABLE "{quoted}"')):
        with pytest.raises(InvalidTableError, match="DuckDB refused"):
            read_source(str(path), said)


# -- ids -------------------------------------------------------------------------------------------------------------


@QUICK
@given(ids=st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1))
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n\t\n"])
def test_files_of_ids(tmp_path: Path, end: str, ids: list[str]) -> None:
    path = tmp_path / "ids.txt"
    path.write_bytes(end.join(ids).encode())
    assert (
        read_ids_file(path) == [each.removeprefix("\ufeff") if number == 0 else each for number, each in enumerate(ids)]
        or ids[0] == "\ufeff"
    )


@pytest.mark.parametrize("content", [b"", b"\n \r\n\t\n"])
def test_files_without_ids_are_refused(write: Any, content: bytes) -> None:
    with pytest.raises(RecordIdError, match="holds no ids"):
        read_ids_file(write(content, "ids.txt"))

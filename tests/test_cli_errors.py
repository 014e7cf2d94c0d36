"""Errors of commands: their codes, their form for machines, and files that cannot be written."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import run, run_json, runner
from test_cli_vault import made, rows, vault, write_csv  # noqa: F401
from unlearnspn import InvalidTableError
from unlearnspn.cli import app
from unlearnspn.sources import Options, read_source
from unlearnspn.vault import Vault

# -- codes -----------------------------------------------------------------------------------------------------------


def test_correcting_who_is_not_there_is_not_found(vault: str) -> None:  # noqa: F811
    write_csv(Path("unknown.csv"), rows(900, 901))
    assert "no records with these ids: 'c-900'" in run("rectify", vault, "unknown.csv", code=3).stderr
    write_csv(Path("twice.csv"), rows(1, 2) * 2)
    run("rectify", vault, "twice.csv", code=4)


@pytest.mark.parametrize(
    ("url", "module", "package"),
    [
        ("mysql://localhost/d", "MySQLdb", "mysqlclient"),
        ("mysql+mysqlconnector://localhost/d", "mysql", "mysql-connector-python"),
        ("postgresql+psycopg2://localhost/d", "psycopg2", "psycopg2-binary"),
        ("postgresql+psycopg://localhost/d", "psycopg", "psycopg[binary]"),
    ],
)
def test_a_missing_driver_is_named_by_its_package(
    vault: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    module: str,
    package: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert f"pip install '{package}'" in run("ingest", vault, url, "--table", "t", code=2).stderr


def test_a_missing_library_is_wrong_usage(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "pip install 'unlearnspn[duckdb]'" in run("ingest", vault, "t.duckdb", "--table", "t", code=2).stderr


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "zlib", "undefined", "klingon"])
def test_what_is_no_encoding_of_text_is_refused(vault: str, encoding: str) -> None:  # noqa: F811
    write_csv(Path("new.csv"), rows(500, 502))
    refused = run("learn", vault, "new.csv", "--encoding", encoding, code=4)
    assert f"there is no encoding '{encoding}'" in refused.stderr


# -- JSON ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["info", "absent.uspn"], 3, "there is no absent.uspn"),
        (["unlearn", "people.uspn", "--id", "nobody", "--yes"], 3, "no records with these ids: 'nobody'"),
        (["query", "people.uspn", "age > old"], 4, "'old' is no number"),
        (["certificate", "show", "people.uspn", "99"], 3, "there is no entry or request '99'"),
        (["init", "people.uspn"], 5, "is there already"),
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["--nonsense", "info"], 2, "No such option"),
        (["info"], 2, "Missing argument 'VAULT'"),
        (["keys", "nonsense"], 2, "No such command 'nonsense'"),
        (["sample", "people.uspn", "-n", "many"], 2, "Invalid value for '-n'"),
        (["unlearn", "people.uspn", "--yes"], 2, "say what is to be removed"),
    ],
)
def test_errors_are_json_too(vault: str, arguments: list[str], code: int, message: str) -> None:  # noqa: F811
    result = run(*arguments, "--json", code=code)
    assert result.stdout == ""
    error = json.loads(result.stderr)
    assert set(error) == {"error", "exit_code"}
    assert error["exit_code"] == code
    assert message in error["error"]


def strict_json(text: str) -> Any:
    """Read JSON as the standard has it: without Infinity and NaN, which Python reads as well."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_log_density_of_minus_infinity_is_null(vault: str) -> None:  # noqa: F811
    write_csv(Path("far.csv"), [["x-1", "p-1", "1e200", "Ulm", "true", "1e300"], *rows(500, 501)])
    printed = strict_json(run("score", vault, "far.csv", "--json").stdout)["rows"]
    run("score", vault, "far.csv", "-o", "far.jsonl")
    lines = [strict_json(line) for line in Path("far.jsonl").read_text().splitlines()]
    for answer in (printed, lines):
        assert [row["id"] for row in answer] == ["x-1", "c-500"]
        assert answer[0]["log_density"] is None
        assert answer[1]["log_density"] > -100
    assert run("score", vault, "far.csv").stdout.splitlines()[1] == "x-1,-inf"


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a.json", "a.XLSX", "a.feather", "a.arrow", "a.duckdb"])
def test_rows_are_not_written_under_the_name_of_another_format(vault: str, name: str) -> None:  # noqa: F811
    write_csv(Path("new.csv"), rows(500, 502))
    for arguments in (
        ["score", vault, "new.csv", "-o", name],
        ["sample", vault, "-o", name],
        ["impute", vault, "new.csv", "--output", name],
        ["access", vault, "--id", "c-1", "--output", name],
        ["sample", "absent.uspn", "-o", name],
    ):
        said = json.loads(run(*arguments, "--json", code=2).stderr)["error"]
        assert f"rows cannot be written as {Path(name).suffix.lower()}" in said
        assert ".jsonl" in said
    assert not Path(name).exists()


@pytest.mark.parametrize("name", ["rows", "rows.txt", "rows.csv"])
def test_rows_are_written_as_csv_unless_another_format_is_asked_for(vault: str, name: str) -> None:  # noqa: F811
    run("sample", vault, "-n", "3", "-o", name)
    assert Path(name).read_text().startswith("age,city,member,cost\n")


def test_rows_in_a_file_called_tsv_have_tabs_and_are_read_again(vault: str) -> None:  # noqa: F811
    run("sample", vault, "-n", "3", "--seed", "0", "-o", "drawn.TSV")
    assert Path("drawn.TSV").read_text().startswith("age\tcity\tmember\tcost\n")
    run("sample", vault, "-n", "3", "--seed", "0", "-o", "drawn.csv")
    for name in ("drawn.TSV", "drawn.csv"):
        run("impute", vault, name, "-o", f"filled-{name}")
        run("score", vault, f"filled-{name}", "-o", f"{name}.scores.tsv")
    run("access", vault, "--id", "c-1", "--output", "c-1.tsv")
    assert Path("drawn.TSV.scores.tsv").read_text() == Path("drawn.csv.scores.tsv").read_text()
    assert run("score", vault, "c-1.tsv").stdout.startswith("id,log_density\nc-1,")


# -- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wide.csv", "wide.jsonl"])
def test_a_very_wide_table_is_refused_quickly(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    names = [f"c{number}" for number in range(100_000)]
    if name == "wide.csv":
        path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    else:
        path.write_text(json.dumps(dict.fromkeys(names, 1)) + "\n")
    started = time.process_time()
    with pytest.raises(InvalidTableError, match="the table has 100,000 columns, and 10,000 is the most"):
        read_source(str(path))
    assert time.process_time() - started < 1


def test_a_wide_table_is_read(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(10_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    started = time.process_time()
    assert read_source(str(tmp_path / "wide.csv")).names == names
    assert time.process_time() - started < 5
    (tmp_path / "twice.csv").write_text(",".join([*names[1:], "c7"]) + "\n")
    with pytest.raises(InvalidTableError, match="'c7' occur more than once"):
        read_source(str(tmp_path / "twice.csv"))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "duckdb", "db"])
def test_rows_are_counted_from_1_in_every_source(tmp_path: Path, form: str) -> None:
    location, options = str(tmp_path / f"t.{form}"), Options(table="t")
    infinite = [1.0, float("inf")]
    if form == "csv":
        Path(location).write_text("a\n1\ninf\n")
    elif form == "jsonl":
        Path(location).write_text('{"a": 1}\n{"a": 1e999}\n')
    elif form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": infinite}), location)
    elif form == "duckdb":
        import duckdb

        with duckdb.connect(location) as connection:
            connection.execute("CREATE TABLE t AS SELECT unnest([1.0::DOUBLE, 'inf'::DOUBLE]) AS a")
    else:
        import sqlite3

        connection = sqlite3.connect(location)
        connection.execute("CREATE TABLE t AS SELECT 1.0 AS a UNION ALL SELECT 9e999")
        connection.commit()
        connection.close()
        location = f"sqlite:///{location}"
    with pytest.raises(InvalidTableError, match=r"infinite values in rows 2\b"):
        read_source(location, options)


# -- keys and links --------------------------------------------------------------------------------------------------


def test_a_key_that_is_there_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "other.uspn")
    shutil.copy("other.uspn.key", "people.uspn.key")
    before = Path("people.uspn.key").read_bytes()
    assert "may be the key of another vault" in run("init", "people.uspn", code=5).stderr
    assert not Path("people.uspn").exists()
    said = run("init", "people.uspn", "--private-key", "people.uspn.key")
    assert "signed with the private key that was in people.uspn.key already" in said.stderr
    assert Path("people.uspn.key").read_bytes() == before
    run("verify", "people.uspn")


@pytest.mark.parametrize("name", ["people.uspn", "people.uspn.key"])
def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    Path(name).symlink_to("elsewhere/target")
    run("init", "people.uspn", code=5)
    run("init", "people.uspn", "--private-key", name, code=5)
    assert list(Path("elsewhere").iterdir()) == []
    assert Path(name).is_symlink()


def test_results_do_not_follow_links_either(vault: str) -> None:  # noqa: F811
    Path("receipt.json").symlink_to("elsewhere.json")
    run("unlearn", vault, "--id", "c-7", "--receipt", "receipt.json", "--yes", code=2)
    assert run_json("info", vault)["n_records"] == 120
    assert not Path("elsewhere.json").exists()


# -- disks that are full ---------------------------------------------------------------------------------------------


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def no_space(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as context:
        context.setattr(os, "fsync", full)
        yield context


@pytest.mark.parametrize("guard", [[], ["--guard"]])
def test_init_on_a_full_disk_can_be_tried_again(tmp_path: Path, no_space: pytest.MonkeyPatch, guard: list[str]) -> None:
    path = str(tmp_path / "people.uspn")
    refused = run("init", path, *guard, code=5)
    assert "people.uspn" in refused.stderr
    assert "No space left on device" in refused.stderr
    assert {each.name for each in tmp_path.iterdir()} <= {"people.uspn.lock"}
    no_space.undo()
    run("init", path, *guard)


def test_init_that_fails_after_the_key_leaves_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "people.uspn")
    with monkeypatch.context() as context:
        context.setattr("unlearnspn.vault.home.put", full)
        assert "No space left on device" in run("init", path, code=5).stderr
    assert {each.name for each in tmp_path.iterdir()} <= {"people.uspn.lock"}
    run("init", path)


def test_what_cannot_be_written_leaves_nothing(vault: str, no_space: pytest.MonkeyPatch) -> None:  # noqa: F811
    Path("old.csv").write_text("old")
    before = set(os.listdir())
    for arguments, name in [
        (["certificate", "export", vault, "c.json"], "c.json"),
        (["certificate", "export", vault, "c.html"], "c.html"),
        (["log", vault, "--export", "ledger.jsonl"], "ledger.jsonl"),
        (["keys", "show", vault, "--export", "public.pem"], "public.pem"),
        (["export", vault, "people.circuit"], "people.circuit"),
        (["export", vault, "people.json"], "people.json"),
        (["show", vault, "--picture", "people.svg"], "people.svg"),
        (["sample", vault, "-o", "old.csv"], "old.csv"),
    ]:
        said = run(*arguments, code=5).stderr
        assert name in said
        assert "No space left on device" in said
    assert set(os.listdir()) - {f"{vault}.lock"} == before
    assert Path("old.csv").read_text() == "old"
    no_space.undo()
    run("certificate", "export", vault, "c.json")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_receipt_that_cannot_be_written_has_a_code_of_its_own(
    vault: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,
) -> None:
    arguments = ["unlearn", vault, "--id", "c-7", "--receipt", "receipt.json", "--yes"]
    with monkeypatch.context() as context:
        context.setattr("unlearnspn.storage.files.put", full)
        result = runner.invoke(app, [*arguments, *(["--json"] if as_json else [])])
    assert result.exit_code == 7
    assert "receipt.json" in result.stderr
    assert "removed all the same" in result.stderr
    assert not any(name.startswith("receipt") or name.endswith(".tmp") for name in os.listdir())
    if as_json:
        printed = json.loads(result.stdout)["receipts"][0]
        assert json.loads(result.stderr)["exit_code"] == 7
    else:
        printed = next(line for line in result.stdout.splitlines() if line.startswith("{"))
    Path("printed.json").write_text(printed + "\n")
    run("verify", vault, "--quick", "--receipt", "printed.json", "--id", "c-7")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_result_that_cannot_be_printed_does_not_hide_the_removal(vault: str) -> None:  # noqa: F811
    command = [sys.executable, "-m", "unlearnspn.cli", "unlearn", vault, "--id", "c-7", "--yes"]
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(command, stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert "removed all the same" in done.stderr
    assert run_json("info", vault)["n_records"] == 119


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte, where one can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(small_disk: Path, vault: str) -> None:  # noqa: F811
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(512)):
            pass
    said = run("init", str(small_disk / "people.uspn"), code=5).stderr
    assert "No space left on device" in said
    assert "people.uspn" in said
    assert "c.json" in run("certificate", "export", vault, str(small_disk / "c.json"), code=5).stderr
    receipt = str(small_disk / "receipt.json")
    assert receipt in run("unlearn", vault, "--id", "c-7", "--receipt", receipt, "--yes", code=7).stderr
    assert {each.name for each in small_disk.iterdir()} <= {"filler", "people.uspn.lock"}
    filler.unlink()
    run("init", str(small_disk / "people.uspn"))
    run("certificate", "export", vault, str(small_disk / "c.json"))


# -- evidence --------------------------------------------------------------------------------------------------------


def test_a_page_is_for_people(vault: str) -> None:  # noqa: F811
    run("keys", "show", vault, "--export", "public.pem")
    run("certificate", "export", vault, "page.html")
    for arguments in (["verify", "page.html"], ["verify", "page.html", "--key", "public.pem"]):
        said = run(*arguments, code=5).stderr
        assert "page.html is a page for people" in said
        assert "certificate export VAULT FILE.json" in said
    assert "page for people" in run("certificate", "show", "page.html", code=5).stderr


def test_one_of_several_entries_is_asked_for(vault: str) -> None:  # noqa: F811
    for name in ("c-1", "c-2"):
        run("unlearn", vault, "--id", name, "--request", "2026-17", "--yes")
    run("unlearn", vault, "--id", "c-3", "--request", "3", "--yes")
    for command in (["show", vault], ["export", vault, "c.json"]):
        said = run("certificate", *command, "2026-17", code=2).stderr
        assert "'2026-17' names 2 entries: entry 3 (removal" in said
        assert "entry 4 (removal" in said
        assert "'3' names 2 entries: entry 3 (" in run("certificate", *command, "3", code=2).stderr
    assert not Path("c.json").exists()
    digest = run_json("log", vault)[3]["digest"]
    assert run_json("certificate", "show", vault, digest[:12])["digest"] == digest
    assert run_json("certificate", "export", vault, "c.json", "4")["entry"] == 4


def test_the_log_tells_how_long_requests_took(vault: str) -> None:  # noqa: F811
    run("unlearn", vault, "--id", "c-1", "--request", "2026-17", "--received", "2026-01-31T23:00:00Z", "--yes")
    entry = run_json("log", vault)[-1]["request"]
    with Vault.open(vault) as opened:
        request = opened.log()[-1].statement.request
    assert (entry["id"], entry["received"]) == ("2026-17", "2026-01-31T23:00:00Z")
    assert entry["days"] == request.days > 1
    shown = [line.split() for line in run("log", vault).stdout.splitlines() if line.strip()]
    header, line = shown[0], shown[-1]
    assert header == ["entry", "what", "request", "received", "completed", "days", "operator", "summary"]
    assert line[:6] == ["3", "removal", "2026-17", "2026-01-31", request.completed[:10], f"{request.days:,}"]

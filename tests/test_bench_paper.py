"""The paper's experiment: what is timed is checked, and what is compared is comparable."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from unlearnspn import SPN
from unlearnspn.bench.checking import NotRetrainedError
from unlearnspn.bench.datasets import load
from unlearnspn.bench.generated import generate
from unlearnspn.bench.paper import large_training, likelihood, many_rows, removal, training
from unlearnspn.bench.paper.floors import deviation_floors
from unlearnspn.bench.paper.peer_trials import PeerTrials, Trial, options_of
from unlearnspn.bench.paper.plan import Plan
from unlearnspn.bench.paper.samples import Source
from unlearnspn.bench.peers.client import Learned
from unlearnspn.bench.printing import as_table


@pytest.fixture(scope="module")
def sample():
    return Source.of(generate(1300, 6)).sample(seed=0)


def test_samples_do_not_overlap_and_agree_with_their_codes(sample):
    assert sample.rows.shape == (1000, 6)
    assert sample.held_out.shape == (300, 6)
    np.testing.assert_array_equal(sample.rows[:, 0], sample.data.frame["measure_0"])
    assert not set(sample.rows[:, 0]) & set(sample.held_out[:, 0])
    assert sample.numeric == [0, 1, 4, 5]


def test_removals_are_timed_and_checked(sample):
    seconds = removal.remove_one_by_one(sample, SPN, 3)
    assert len(seconds.unlearn) == len(seconds.retrain) == 3
    assert min(*seconds.unlearn, *seconds.retrain) > 0


def test_a_removal_that_removes_nothing_is_found_out(sample, monkeypatch):
    unlearn = SPN.unlearn
    monkeypatch.setattr(SPN, "unlearn", lambda self, ids, **options: unlearn(self, ids, dry_run=True))
    with pytest.raises(NotRetrainedError, match="1 removals"):
        removal.remove_one_by_one(sample, SPN, 3)


def test_every_round_is_checked(sample, monkeypatch):
    unlearn, calls = SPN.unlearn, []

    def unlearn_but_once(self, ids, **options):
        calls.append(ids)
        return unlearn(self, ids, dry_run=len(calls) == 3 * removal._ROUNDS)

    monkeypatch.setattr(SPN, "unlearn", unlearn_but_once)
    with pytest.raises(NotRetrainedError, match="3 removals"):
        removal.remove_one_by_one(sample, SPN, 3)


def test_one_record_is_left_at_the_end():
    wine = Source.of(load("wine")).sample(seed=0)
    short = replace(wine, data=replace(wine.data, frame=wine.data.frame.iloc[:4]))
    assert len(removal.remove_one_by_one(short, SPN, 100).unlearn) == 3


@pytest.mark.parametrize(
    ("name", "setting", "bound"),
    [
        ("adult", "ours", 30.0),
        ("adult", "paper", 5.0),
        ("wine", "ours", 5.0),
        ("plants_paper", "ours", None),
        ("plants_paper", "paper", None),
    ],
)
def test_targets_of_removal(name, setting, bound):
    runs = [removal.Removals([1.0, 3.0], [40.0, 80.0]), removal.Removals([1.0, 1.0], [10.0, 10.0])]
    row = removal.as_row(name, setting, runs, spflow=[3000.0, 500.0])
    assert row["ratio"].value == 20.0
    assert (row["ratio"].target and row["ratio"].target.bound) == bound
    assert row["unlearn_ms"].value == 1500.0
    assert row["spflow_ratio"].value == 1000.0
    assert row["spflow_ratio"].reached is (True if (name, setting) == ("adult", "ours") else None)
    assert row["spflow_retrain_total_s"].value == 3500.0


def test_accumulated_times_are_printed_within_the_width_of_a_page():
    section = removal.new_section(removals=2, peer_trainings=1)
    runs = [removal.Removals([0.010, 0.014], [0.050, 0.090]), removal.Removals([0.012, 0.010], [0.070, 0.050])]
    section.rows.append(removal.as_row("plants", "paper", runs, spflow=[33.0, 35.0]))
    section.rows.append(removal.as_row("plants_paper", "ours", runs, spflow=[33.0, 35.0]))
    table, console = as_table(section), Console(width=200)
    assert console.measure(table).maximum <= 120
    with console.capture() as printed:
        console.print(table)
    for total in ("0.023 ± 0.001", "0.130 ± 0.014", "68 ± 3"):  # ours, ours, SPFlow's
        assert printed.get().count(total) == 2


@pytest.mark.parametrize("make", [SPN, SPN.from_paper])
def test_training_without_state_gives_the_same_circuit(sample, make):
    spn = sample.data.spn(make, random_state=3, min_rows=20)
    circuit = training._WithoutState(**spn.get_params(deep=False)).fit(sample.data.frame)._model
    assert circuit == spn.fit(sample.data.frame).circuit_


def test_training_is_timed_with_and_without_state(sample):
    # Of one training: the least of a few and the least of more, on a busy machine, need not be in this order.
    fit, until_circuit = training.train(sample.data.spn(SPN), sample.data.frame)
    assert 0 < fit < until_circuit
    assert all(seconds > 0 for seconds in vars(training.time_training(sample, SPN)).values())
    race = training.Race([130.0, 120.0], {"ours": [training.Seconds(2.0, 2.4), training.Seconds(3.0, 3.0)]})
    row = training.as_row("adult", "ours", [training.Training(1.0, 1.2, 1.0)], [race])
    assert row["overhead"].value == pytest.approx(1.2)
    assert row["overhead"].reached is False
    assert row["spflow_ratio"].value == pytest.approx(60.0)
    assert row["spflow_circuit_ratio"].value == pytest.approx(50.0)
    assert row["spflow_circuit_ratio"].target is None


class FakeWorker:
    """A library that takes ten seconds for each hundred rows."""

    def learn(self, table, n_categories, **options):
        return Learned({}, len(table) / 10)


def test_training_on_many_rows_is_compared_with_spflow():
    sample = Source.of(generate(1300, 6)).sample(seed=0, n_rows=1200)
    assert (len(sample.rows), len(sample.held_out)) == (1200, 100)
    row = many_rows.compare(sample, FakeWorker())
    assert (row["rows"], row["spflow_train_s"]) == (1200, 120.0)
    assert row["spflow_ratio"].value == pytest.approx(120.0 / row["train_s"])
    assert row["spflow_ratio"].target.bound == 50.0
    assert row["train_s"] < row["circuit_s"]
    assert row["spflow_circuit_ratio"] == pytest.approx(120.0 / row["circuit_s"])
    assert "spflow_ratio" not in many_rows.compare(sample, None)


def test_ours_is_trained_in_turn_with_spflow(sample, monkeypatch):
    done, train = [], training.train

    class Peer:
        def learn(self, table, n_categories, **options):
            done.append(f"SPFlow, {len(table)}")
            return Learned({}, 10.0 * len(done))

        def score(self, rows):
            return np.zeros(len(rows))

        def widen(self, floors):
            pass

    def train_ours(spn, frame):
        done.append("ours")
        return train(spn, frame)

    monkeypatch.setattr(training, "train", train_ours)
    monkeypatch.setattr(PeerTrials, "worker", lambda self, library: Peer())
    race = training.race(sample, PeerTrials(None, trainings=2))
    ours = ["ours"] * 6  # three in each setting
    assert done == [*ours, "SPFlow, 50", "SPFlow, 1000", *ours, "SPFlow, 1000", *ours]
    assert race.spflow == [80.0, 150.0]
    assert {setting: len(seconds) for setting, seconds in race.ours.items()} == {"ours": 2, "paper": 2}
    assert all(0 < each.fit < each.to_circuit for seconds in race.ours.values() for each in seconds)


def test_floors_are_those_of_our_leaves():
    # constant in one cluster, but not in the column
    groups = np.repeat([0, 1], 250)
    rows = np.column_stack([np.where(groups, np.random.default_rng(0).normal(30.0, 7.0, 500), 0.0), groups])
    floor, none = deviation_floors(rows, [0, 2])
    spn = SPN(categorical_features=[False, True]).fit(rows)
    units = json.loads(spn.circuit_.to_json())["units"]
    assert min(unit["std"] for unit in units if unit["kind"] == "gaussian") == floor
    assert none == 0.0


class FakeTrials:
    """Peers that give all rows the same density, but for one row that one of them holds impossible."""

    def of(self, library, sample):
        densities = np.full(len(sample.held_out), -500.0 if library == "SPFlow" else -600.0)
        widened = densities + 100.0
        densities[0] = np.finfo(float).min if library == "SPFlow" else densities[0]
        return Trial([1.0], densities, widened)


def test_likelihood_is_compared_with_the_peers_that_have_our_floor(sample):
    row = likelihood.as_row("generated", [sample], FakeTrials())
    assert row["spflow"] == -500.0
    assert (row["spflow_impossible"], row["deeprob_impossible"]) == (1, 0)
    assert row["spflow_widened_impossible"] == 0
    assert row["ours"].target.bound == -400.0
    assert row["ours"].value == pytest.approx(likelihood.score_ours(sample))


def test_likelihood_without_peers_has_no_target(sample):
    assert likelihood.as_row("generated", [sample], None)["ours"].target is None


def test_parameters_are_the_likeliest(monkeypatch):
    def fit(problem, params):
        return large_training.Fit(training.Seconds(1.0, 1.0), -abs(params["min_rows"] - 480.0))

    monkeypatch.setattr(large_training, "fit_ours", fit)
    assert large_training.choose(None)["min_rows"] == 500


class FakeDeeprobKit:
    """A library that takes longer and finds better models from seed to seed."""

    def learn(self, table, n_categories, random_state, **options):
        self.seed = random_state
        return Learned({}, 10.0 + random_state)

    def score(self, rows):
        return np.full(len(rows), -5.0 + self.seed)


def test_whole_splits_are_compared_by_fit_and_until_the_circuit_stands(monkeypatch):
    monkeypatch.setattr(large_training, "GRID", large_training.GRID[:1])
    bits = np.random.default_rng(0).integers(0, 2, (700, 4))
    frame = pd.DataFrame(bits, columns=list("abcd"))
    ours, theirs = large_training.compare(large_training.Problem("bits", frame[:600], frame[600:]), FakeDeeprobKit())
    assert (theirs["train_s"], theirs["circuit_s"], theirs["test"]) == (10.0, 10.0, -3.0)
    assert ours["train_s"] < ours["circuit_s"]
    assert ours["ratio"].value == pytest.approx(10.0 / ours["train_s"])
    assert ours["ratio"].target.bound == 5.0
    assert ours["circuit_ratio"] == pytest.approx(10.0 / ours["circuit_s"])
    assert ours["test"].target.bound == -3.0


def test_deeprob_kit_tests_with_what_it_has_for_the_columns():
    assert options_of("deeprob-kit", has_numbers=False)["split_cols"] == "gvs"
    assert options_of("deeprob-kit", has_numbers=True)["split_cols"] == "rdc"
    assert options_of("SPFlow", has_numbers=True)["cpus"] == 1


def test_the_plan_names_what_is_left_out():
    plan = Plan.of(None, None, None, False, None, True)
    assert (plan.seeds, plan.removals, plan.removal_data) == (1, 20, ["wine"])
    assert any("adult.data" in reason for reason in plan.left_out)
    assert "SPFlow and deeprob-kit, as asked for" in plan.left_out

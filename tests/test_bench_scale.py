"""Growth of one table, and the targets that are meant for which."""

import pytest
import typer

from unlearnspn import SPN
from unlearnspn.bench.checking import NotRetrainedError
from unlearnspn.bench.scale.growth import Growth, measure_growth
from unlearnspn.bench.scale.plan import Case, Plan, read_sizes
from unlearnspn.bench.scale.run import removal_row, training_row


def test_one_table_is_measured_and_checked():
    growth = measure_growth(Case("generated", 1500, 6), removals=4, batches=2, batch_share=0.01)
    assert (growth.n_rows, growth.n_columns, len(growth.unlearn)) == (1500, 6, 4)
    assert growth.checked == ["removal 4", "2 batches of 15"]
    assert growth.train > 0
    assert len(growth.batches) == 2
    assert min(growth.batches) > 0


def test_small_tables_are_checked_often():
    growth = measure_growth(Case("generated", 1500, 5), removals=101, batches=2, batch_share=0.01)
    assert growth.checked == ["removal 50", "removal 100", "removal 101", "2 batches of 15"]


def test_a_batch_that_is_not_removed_is_found_out(monkeypatch):
    unlearn = SPN.unlearn
    monkeypatch.setattr(SPN, "unlearn", lambda self, ids: unlearn(self, ids, dry_run=len(ids) > 1))
    with pytest.raises(NotRetrainedError, match="after 1 batches"):
        measure_growth(Case("generated", 1500, 5), removals=2, batches=1, batch_share=0.01)


def test_figures_of_a_large_table():
    growth = Growth(1_000_000, 50, 50.0, 1_200_000_000, [0.001] * 198 + [0.02, 0.5], [1.0, 40.0, 2.0], ["removal 200"])
    case = Case("generated", 1_000_000, 50)
    training, removal = training_row(case, growth), removal_row(case, growth)
    assert training["train_s"].reached
    assert training["bytes_per_record"] == 1200.0
    assert training["times_records"].value == 3.0
    assert training["times_records"].reached is False
    assert removal["median_ms"].value == pytest.approx(1.0)
    assert removal["median_percent"] == pytest.approx(0.002)
    assert removal["p99_percent"].reached
    assert removal["batch_percent"].value == pytest.approx(4.0)
    assert removal["batch_percent"].reached
    assert removal["mean_batch_percent"] == pytest.approx(86.0 / 3)
    assert removal["worst_batch_percent"] == pytest.approx(80.0)


@pytest.mark.parametrize(
    ("case", "with_targets"),
    [
        (Case("generated", 10_000, 50), set()),
        (Case("adult"), set()),
        (Case("flights"), {"median_ms", "p99_percent"}),
        (Case("generated", 1_000_000, 20), {"median_ms", "p99_percent", "batch_percent"}),
        (Case("generated", 1_000_000, 50), {"train_s", "times_records", "median_ms", "p99_percent", "batch_percent"}),
    ],
)
def test_targets_are_those_of_the_tables_they_are_meant_for(case, with_targets):
    growth = Growth(case.n_rows or 30_000, case.n_columns or 14, 5.0, 10_000_000, [0.1], [0.1], [])
    figures = {**training_row(case, growth), **removal_row(case, growth)}
    assert {name for name, figure in figures.items() if getattr(figure, "target", None)} == with_targets


def test_without_a_figure_of_memory_none_is_shown():
    growth = Growth(10_000, 50, 5.0, None, [0.1], [0.1], [])
    assert "times_records" not in training_row(Case("generated", 10_000, 50), growth)


def test_sizes():
    assert read_sizes("1e5,1e3,1000") == [1000, 100_000]
    with pytest.raises(typer.BadParameter, match="no list of sizes"):
        read_sizes("many")
    with pytest.raises(typer.BadParameter, match="at least 1,000"):
        read_sizes("10")


def test_min_rows_is_that_of_the_estimator_unless_asked_for(monkeypatch):
    fitted = []
    fit = SPN.fit
    monkeypatch.setattr(SPN, "fit", lambda self, *args, **kws: fitted.append(self.min_rows) or fit(self, *args, **kws))
    measure_growth(Case("generated", 1000, 5), removals=2, batches=1, batch_share=0.01, min_rows=700)
    assert set(fitted) == {700}
    plans = [Plan.of(None, "1e3", None, None, min_rows, quick=True) for min_rows in (None, 700)]
    assert [plan.parameters()["min_rows"] for plan in plans] == [SPN().min_rows, 700]


def test_a_quick_run_is_generated_alone():
    plan = Plan.of(None, None, None, None, None, quick=True)
    assert [str(case) for case in plan.cases] == ["1,000 rows", "10,000 rows"]
    assert any(reason.startswith("adult") for reason in plan.left_out)

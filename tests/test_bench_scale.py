"""Growth of one table, and the targets that are meant for which."""

import pytest
import typer

from unlearnspn import SPN
from unlearnspn.bench.checking import NotRetrainedError
from unlearnspn.bench.scale.growth import Growth, measure_growth
from unlearnspn.bench.scale.plan import Case, Plan, read_sizes
from unlearnspn.bench.scale.run import query_row, removal_row, training_row


def test_one_table_is_measured_and_checked():
    growth = measure_growth(Case("generated", 1500, 6), removals=4, batches=2, batch_share=0.01)
    assert (growth.n_rows, growth.n_columns, len(growth.unlearn)) == (1500, 6, 4)
    assert growth.checked == [1, 2, 3, 4]
    assert growth.train > 0
    assert growth.peak_bytes > growth.n_rows * growth.n_columns * 8
    assert len(growth.batches) == 2
    assert min(growth.batches) > 0
    assert growth.first_query > 0
    assert len(growth.next_queries) == 20


@pytest.mark.parametrize("kind", ["removal", "batch"])
@pytest.mark.parametrize("number", [1, 2])
def test_each_removal_and_each_batch_is_checked(monkeypatch, kind, number):
    unlearn, asked = SPN.unlearn, []

    def forget_one(self, ids):
        """Leave one request undone, of those that follow the warm-up."""
        if len(ids) == {"removal": 1, "batch": 15}[kind]:
            asked.append(ids)
        undone = asked and asked[-1] is ids and len(asked) == number + (20 if kind == "removal" else 0)
        return unlearn(self, ids, dry_run=undone)

    monkeypatch.setattr(SPN, "unlearn", forget_one)
    with pytest.raises(NotRetrainedError, match=f"after {kind} {number}"):
        measure_growth(Case("generated", 1500, 5), removals=2, batches=2, batch_share=0.01)


SINGLES = [0.001] * 198 + [0.02, 0.5]


def test_figures_of_a_large_table():
    growth = Growth(
        1_000_000, 50, 50.0, 1_200_000_000, 3 * 2**30, SINGLES, [1.0, 40.0, 2.0], [200], 10.0, [0.4, 0.5, 7.0]
    )
    case = Case("generated", 1_000_000, 50)
    training, removal = training_row(case, growth), removal_row(case, growth)
    assert training["train_s"].reached
    assert training["bytes_per_record"] == 1200.0
    assert training["times_records"].value == 3.0
    assert training["times_records"].reached is False
    assert training["peak_gib"].value == 3.0
    assert removal["median_ms"].value == pytest.approx(1.0)
    assert removal["median_percent"] == pytest.approx(0.002)
    assert removal["p99_percent"].reached
    assert removal["batch_percent"].value == pytest.approx(86.0 / 3)
    assert removal["batch_percent"].reached is False
    assert removal["median_batch_percent"] == pytest.approx(4.0)
    assert removal["worst_batch_percent"] == pytest.approx(80.0)
    queries = query_row(case, growth)
    assert (queries["first_s"], queries["first_percent"]) == (10.0, 20.0)
    assert (queries["next_ms"], queries["next_percent"]) == (500.0, 1.0)


@pytest.mark.parametrize(
    ("case", "with_targets"),
    [
        (Case("generated", 10_000, 50), set()),
        (Case("adult"), set()),
        (Case("flights"), {"median_ms", "p99_percent"}),
        (Case("generated", 1_000_000, 20), {"median_ms", "p99_percent", "batch_percent"}),
        (Case("generated", 1_000_000, 50), {"train_s", "times_records", "median_ms", "p99_percent", "batch_percent"}),
        (Case("generated", 10_000_000, 20), {"peak_gib"}),
        (Case("generated", 10_000_000, 50), set()),
    ],
)
def test_targets_are_those_of_the_tables_they_are_meant_for(case, with_targets):
    growth = Growth(case.n_rows or 30_000, case.n_columns or 14, 5.0, 10_000_000, 10**9, [0.1], [0.1], [], 1.0, [0.1])
    figures = {**training_row(case, growth), **removal_row(case, growth)}
    assert {name for name, figure in figures.items() if getattr(figure, "target", None)} == with_targets


def test_without_a_figure_of_memory_none_is_shown():
    growth = Growth(10_000, 50, 5.0, None, None, [0.1], [0.1], [], 1.0, [0.1])
    row = training_row(Case("generated", 10_000, 50), growth)
    assert not {"times_records", "peak_gib"} & set(row)


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
    plans = [Plan.of(None, "1e3", None, None, None, min_rows, quick=True) for min_rows in (None, 700)]
    assert [plan.parameters()["min_rows"] for plan in plans] == [SPN().min_rows, 700]


def test_a_quick_run_is_generated_alone():
    plan = Plan.of(None, None, None, None, None, None, quick=True)
    assert [str(case) for case in plan.cases] == ["1,000 rows", "10,000 rows"]
    assert any(reason.startswith("adult") for reason in plan.left_out)


def test_how_many_removals_and_batches_there_are_can_be_said():
    assert [Plan.of(None, "1e3", None, *numbers, None, quick=False).batches for numbers in ((None, None), (7, 3))] == [
        15,
        3,
    ]
    quick = Plan.of(None, "1e3", None, None, None, None, quick=True)
    assert (quick.removals, quick.batches) == (50, 5)

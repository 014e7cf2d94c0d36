"""One table after the other, each in a process of its own, and what is to hold of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from benchmarks.figures import Figure, Target, at_most
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.scale.growth import Growth, measure_growth
from benchmarks.scale.plan import Case, Plan

NAME = "scale"

TRAIN_S, TIMES_RECORDS = at_most(60.0), at_most(2.0)
MEDIAN_MS, P99_PERCENT, BATCH_PERCENT, MEDIAN_GROWTH = at_most(1.0), at_most(1.0), at_most(5.0), at_most(2.0)
#: The generated table that targets are meant for, single removals beside flights; and the one it is compared with.
LARGE, SMALL = 1_000_000, 10_000
#: The columns that the targets of training and memory are meant for.
LARGE_COLUMNS = 50
#: The generated table that has to run in so many GiB.
HUGE, HUGE_COLUMNS, PEAK_GIB = 10_000_000, 20, at_most(24.0)
_GIB = 2**30


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Measure all tables."""
    training, removal, queries = _training_section(plan), _removal_section(plan), _query_section()
    bar.begin("growing", len(plan.cases))
    medians: dict[tuple[int | None, int | None], float] = {}
    for case in plan.cases:
        growth = _in_a_new_process(case, plan)
        training.rows.append(training_row(case, growth))
        removal.rows.append(removal_row(case, growth))
        queries.rows.append(query_row(case, growth))
        removal.notes.append(f"{case}: equal to a fresh fit after {_said_of_checks(growth)}.")
        medians[case.n_rows, case.n_columns] = float(np.median(growth.unlearn))
        bar.step()
    yield training
    yield removal
    yield queries
    for n_columns in dict.fromkeys(case.n_columns for case in plan.cases):
        if {(SMALL, n_columns), (LARGE, n_columns)} <= set(medians):
            yield _median_section(medians[LARGE, n_columns] / medians[SMALL, n_columns])


def _in_a_new_process(case: Case, plan: Plan) -> Growth:
    """Measure a table where no other has left memory or threads behind."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        numbers = plan.removals, plan.batches, plan.batch_share
        return pool.submit(measure_growth, case, *numbers, min_rows=plan.min_rows).result()


def training_row(case: Case, growth: Growth) -> Row:
    """Return what a table took to train, and what is kept of it."""
    meant = case.is_generated(LARGE, LARGE_COLUMNS)
    row: Row = {
        "data": str(case),
        "rows": growth.n_rows,
        "columns": growth.n_columns,
        "train_s": Figure(growth.train, None, _only_if(meant, TRAIN_S)),
    }
    if growth.kept_bytes is not None:
        times = growth.kept_bytes / (8 * growth.n_rows * growth.n_columns)
        row["bytes_per_record"] = growth.kept_bytes / growth.n_rows
        row["times_records"] = Figure(times, None, _only_if(meant, TIMES_RECORDS))
    if growth.peak_bytes is not None:
        is_huge = case.is_generated(HUGE, HUGE_COLUMNS)
        row["peak_gib"] = Figure(growth.peak_bytes / _GIB, None, _only_if(is_huge, PEAK_GIB))
    return row


def removal_row(case: Case, growth: Growth) -> Row:
    """Return what removals took, in time and as percent of a training in the same run."""
    large = case.is_generated(LARGE)
    meant = large or case.name == "flights"
    seconds = np.array(growth.unlearn)
    median, mean, p99 = float(np.median(seconds)), float(seconds.mean()), float(np.quantile(seconds, 0.99))
    percent, batch = 100.0 / growth.train, float(np.mean(growth.batches))
    return {
        "data": str(case),
        "rows": growth.n_rows,
        "columns": growth.n_columns,
        "median_ms": Figure(1e3 * median, None, _only_if(meant, MEDIAN_MS)),
        "median_percent": percent * median,
        "mean_ms": 1e3 * mean,
        "mean_percent": percent * mean,
        "p99_ms": 1e3 * p99,
        "p99_percent": Figure(percent * p99, None, _only_if(meant, P99_PERCENT)),
        "worst_percent": percent * float(seconds.max()),
        "batch_s": batch,
        "batch_percent": Figure(percent * batch, None, _only_if(large, BATCH_PERCENT)),
        "median_batch_percent": percent * float(np.median(growth.batches)),
        "worst_batch_percent": percent * max(growth.batches),
    }


def query_row(case: Case, growth: Growth) -> Row:
    """Return what queries took that had to bring the circuit up to date."""
    after_removal = float(np.median(growth.next_queries))
    return {
        "data": str(case),
        "rows": growth.n_rows,
        "first_s": growth.first_query,
        "first_percent": 100.0 * growth.first_query / growth.train,
        "next_ms": 1e3 * after_removal,
        "next_percent": 100.0 * after_removal / growth.train,
    }


def _said_of_checks(growth: Growth) -> str:
    if len(growth.checked) == len(growth.unlearn):
        return "each removal and each batch"
    return f"removal {', '.join(map(str, growth.checked))} and each batch"


def _only_if(meant: bool, target: Target) -> Target | None:
    return target if meant else None


def _training_section(plan: Plan) -> Section:
    columns = [
        Column("data", "table"),
        Column("rows", "rows"),
        Column("columns", "columns"),
        Column("train_s", "train\ns", 2),
        Column("bytes_per_record", "bytes a\nrecord", 0),
        Column("times_records", "times\nfloat64", 2),
        Column("peak_gib", "peak\nGiB", 2),
    ]
    notes = [
        f"SPN(min_rows={plan.min_rows!r}) from a data frame. Bytes: what stays in the process when the table is gone; "
        "beside it, how many times the records as float64. Peak: the most that the process ever held, with the table, "
        "and with the second model that the first is compared with."
    ]
    return Section("training", "Training and memory", columns, notes=notes)


def _removal_section(plan: Plan) -> Section:
    columns = [
        Column("data", "table"),
        Column("median_ms", "median\nms", 2),
        Column("median_percent", "% of\ntraining", 3),
        Column("mean_ms", "mean\nms", 2),
        Column("p99_ms", "p99\nms", 2),
        Column("p99_percent", "% of\ntraining", 2),
        Column("worst_percent", "worst,\n%", 1),
        Column("batch_s", "batch\ns", 2),
        Column("batch_percent", "% of\ntraining", 1),
        Column("median_batch_percent", "median\nbatch, %", 1),
        Column("worst_batch_percent", "worst\nbatch, %", 1),
    ]
    notes = [
        f"{plan.removals} removals one by one, then {plan.batches} batches of {plan.batch_share:.0%} of the rows each, "
        "of which the mean is shown, the median and the worst. Both digests are compared with a fresh fit's after each "
        "batch, and after each single removal where a fit takes little; of large tables after the last one only."
    ]
    return Section("removal", "Removals", columns, notes=notes)


def _query_section() -> Section:
    columns = [
        Column("data", "table"),
        Column("first_s", "first\ns", 2),
        Column("first_percent", "% of\ntraining", 0),
        Column("next_ms", "after a removal\nms", 0),
        Column("next_percent", "% of\ntraining", 1),
    ]
    notes = [
        "The log-density of one row. The first query derives the whole circuit, one after a removal what has changed "
        "of it: the median of some. Further ones have nothing to derive."
    ]
    return Section("queries", "Queries", columns, notes=notes)


def _median_section(times: float) -> Section:
    columns = [Column("what", "what"), Column("times", "times", 2)]
    rows: list[Row] = [
        {"what": f"median of a removal, {LARGE:,} / {SMALL:,} rows", "times": Figure(times, None, MEDIAN_GROWTH)}
    ]
    return Section("medians", "A hundred times the rows", columns, rows)

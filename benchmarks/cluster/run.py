"""One table after the other, in one process and on clusters, and what is to hold of the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from benchmarks.checking import Digests, NotRetrainedError
from benchmarks.cluster.learning import Learning, Task, Traffic, learn_here, learn_on_workers
from benchmarks.cluster.plan import Plan, is_verified
from benchmarks.cluster.table import N_FILES, write_table
from benchmarks.extras import require_extra
from benchmarks.figures import Figure, Target, at_most
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.scale.plan import Case

NAME = "cluster"

#: As multiples of the local time; percent of the local peak; the most bytes a round over the fewest, of all sizes.
TIMES_LOCAL, PERCENT_OF_PEAK, TIMES_BYTES = at_most(1.5), at_most(60.0), at_most(2.0)
#: The table and the number of workers that time and memory have targets for.
LARGE, LARGE_COLUMNS, MANY_WORKERS = 10_000_000, 20, 2
#: From so many rows on there are as many clusters, so that rounds can be compared.
COMPARED_FROM = 8192
_GIB = 2**30
T = TypeVar("T")


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Measure all tables."""
    require_extra("dask", "dask", "distributed", "pyarrow")
    training, requests = _training_section(), _request_section(plan)
    traffic, growing = _traffic_section(), _growth_section()
    bar.begin("cluster", len(plan.cases) * (2 + len(plan.workers)))
    found: dict[tuple[Case, int], Learning] = {}
    for case in plan.cases:
        with TemporaryDirectory() as folder:
            local, by_workers = _learn(case, Path(folder), plan, bar)
        training.rows.append(local_row(case, local))
        requests.rows.append(request_row(case, None, local))
        for n_workers, shared in by_workers.items():
            training.rows.append(cluster_row(case, n_workers, shared, local))
            traffic.rows.append(traffic_row(case, n_workers, shared))
            requests.rows.append(request_row(case, n_workers, shared))
            found[case, n_workers] = shared
    yield training
    yield traffic
    growing.rows += growth_rows(found)
    if growing.rows:
        yield growing
    yield requests


def _learn(case: Case, folder: Path, plan: Plan, bar: Bar) -> tuple[Learning, dict[int, Learning]]:
    """Write a table and learn it everywhere; return what that took here, and by the number of workers."""
    n_rows = case.n_rows or 0
    leaving = np.random.default_rng(0).choice(n_rows, plan.removals, replace=False, shuffle=False)
    task = Task(folder, tuple(leaving.tolist()), is_verified(case))
    _in_a_new_process(write_table, case, folder)
    bar.step()
    local = _in_a_new_process(learn_here, task)
    bar.step()
    by_workers = {}
    for n_workers in plan.workers:
        by_workers[n_workers] = _in_a_new_process(learn_on_workers, task, n_workers)
        require_same(by_workers[n_workers], local, f"{case}, {place_of(n_workers)}")
        bar.step()
    return local, by_workers


def _in_a_new_process(function: Callable[..., T], *arguments: Any) -> T:
    """Do something where nothing else has left memory or threads behind."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def require_same(shared: Learning, local: Learning, where: str) -> None:
    """Raise unless both digests of a cluster's model are the local one's, after the fit and after the removals."""
    for when, one, other in (("the fit", shared.fitted, local.fitted), ("the removals", shared.left, local.left)):
        for name, own, wanted in zip(Digests._fields, one, other, strict=True):
            if own != wanted:
                raise NotRetrainedError(
                    f"{where}: after {when} the digest of the {name} is not that of the local model"
                )


def place_of(n_workers: int | None) -> str:
    """Return in words where a model was learned.

    >>> place_of(None), place_of(1), place_of(2)
    ('local', '1 worker', '2 workers')
    """
    return "local" if n_workers is None else f"{n_workers} worker{'s' if n_workers > 1 else ''}"


def local_row(case: Case, local: Learning) -> Row:
    """Return what it took in one process."""
    row = _heading(case, None)
    row |= {"read_s": local.read, "fit_s": local.fit, "total_s": local.seconds}
    if local.peak is not None:
        row["peak_gib"] = local.peak / _GIB
    return row


def cluster_row(case: Case, n_workers: int, shared: Learning, local: Learning) -> Row:
    """Return what it took on a cluster, beside the local figures."""
    meant = case.is_generated(LARGE, LARGE_COLUMNS) and n_workers == MANY_WORKERS
    times = Figure(shared.seconds / local.seconds, None, _only_if(meant, TIMES_LOCAL))
    row = _heading(case, n_workers) | {"total_s": shared.seconds, "times_local": times}
    if shared.peak is not None:
        row["peak_gib"] = shared.peak / _GIB
    peaks = [peak for peak in shared.worker_peaks if peak is not None]
    if peaks:
        row["worker_peaks"] = ", ".join(f"{peak / _GIB:.2f}" for peak in peaks)
        row["worker_gib"] = max(peaks) / _GIB
    if peaks and local.peak is not None:
        percent = 100.0 * max(peaks) / local.peak
        row["percent_of_peak"] = Figure(percent, None, _only_if(meant, PERCENT_OF_PEAK))
    return row


def traffic_row(case: Case, n_workers: int, shared: Learning) -> Row:
    """Return what the coordinator and the workers told each other for a fit."""
    row = _heading(case, n_workers)
    if shared.traffic is not None:
        row["rounds"] = shared.traffic.n_rounds
        row["round_kb"] = _bytes_a_round(shared.traffic) / 1e3
        row["most_kb"] = shared.traffic.most_bytes / 1e3
        row["total_mb"] = shared.traffic.n_bytes / 1e6
    return row


def request_row(case: Case, n_workers: int | None, learning: Learning) -> Row:
    """Return what came after the fit."""
    return _heading(case, n_workers) | {
        "median_ms": 1e3 * float(np.median(learning.unlearn)),
        "worst_ms": 1e3 * max(learning.unlearn),
        "derive_s": learning.derive,
        "verify_s": learning.verify,
    }


def growth_rows(found: dict[tuple[Case, int], Learning]) -> list[Row]:
    """Return how bytes a round differ between sizes, for each number of columns and of workers."""
    rows: list[Row] = []
    groups: dict[tuple[int | None, int], dict[int, float]] = {}
    for (case, n_workers), shared in found.items():
        if shared.traffic is not None and case.n_rows is not None and case.n_rows >= COMPARED_FROM:
            groups.setdefault((case.n_columns, n_workers), {})[case.n_rows] = _bytes_a_round(shared.traffic)
    for (n_columns, n_workers), by_size in groups.items():
        if len(by_size) > 1:
            sizes, sent = sorted(by_size), by_size.values()
            what = f"{sizes[0]:,} to {sizes[-1]:,} rows by {n_columns:,}"
            times = Figure(max(sent) / min(sent), None, TIMES_BYTES)
            rows.append({"what": what, "where": place_of(n_workers), "workers": n_workers, "times": times})
    return rows


def _bytes_a_round(traffic: Traffic) -> float:
    return traffic.n_bytes / traffic.n_rounds


def _heading(case: Case, n_workers: int | None) -> Row:
    """Return which line it is; 0 workers stand for the local fit."""
    place: Row = {"where": place_of(n_workers), "workers": n_workers or 0}
    return {"data": str(case), "rows": case.n_rows, "columns": case.n_columns} | place


def _only_if(meant: bool, target: Target) -> Target | None:
    return target if meant else None


def _training_section() -> Section:
    columns = [
        Column("data", "table"),
        Column("where", "where"),
        Column("read_s", "read\ns", 2),
        Column("fit_s", "fit\ns", 2),
        Column("total_s", "both\ns", 2),
        Column("times_local", "times\nlocal", 2),
        Column("peak_gib", "peak\nGiB", 2),
        Column("worker_peaks", "workers\nGiB", wrap=True),
        Column("percent_of_peak", "% of\nlocal", 0),
    ]
    notes = [
        f"SPN().fit of a folder of {N_FILES} Parquet files, in a process of its own; local: read by pandas, and that "
        "process's peak. On a cluster of processes of this machine, with one thread each, workers read as part of the "
        "fit; the peak is the coordinator's (with the scheduler), and beside it stand each worker's. The largest of "
        "these is compared with the local peak. Starting the cluster is not counted, loading modules is. Both digests "
        "are those of the local model, after the fit and after the removals.",
    ]
    return Section("training", "Reading and training", columns, notes=notes)


def _traffic_section() -> Section:
    columns = [
        Column("data", "table"),
        Column("where", "where"),
        Column("rounds", "rounds"),
        Column("round_kb", "kB a\nround", 1),
        Column("most_kb", "largest\nkB", 1),
        Column("total_mb", "all\nMB", 2),
    ]
    notes = ["Questions of the coordinator to all workers, with the answers, until the fit is done."]
    return Section("traffic", "Rounds of a fit", columns, notes=notes)


def _request_section(plan: Plan) -> Section:
    columns = [
        Column("data", "table"),
        Column("where", "where"),
        Column("median_ms", "removal, median\nms", 2),
        Column("worst_ms", "worst\nms", 1),
        Column("derive_s", "circuit\ns", 2),
        Column("verify_s", "verify\ns", 2),
    ]
    notes = [
        f"{plan.removals} removals one by one, then the whole circuit for the first time, then learning from scratch "
        "to verify (of tables up to 1,000,000 rows)."
    ]
    return Section("requests", "Removals and the circuit", columns, notes=notes)


def _growth_section() -> Section:
    columns = [Column("what", "what"), Column("where", "where"), Column("times", "times", 2)]
    notes = [f"The most bytes a round over the fewest, of all sizes from {COMPARED_FROM:,} rows on."]
    return Section("growth", "Bytes a round as tables grow", columns, notes=notes)

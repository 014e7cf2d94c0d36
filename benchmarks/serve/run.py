"""One data set after the other, and what is to hold of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.figures import Figure, at_least
from benchmarks.peers.client import Worker
from benchmarks.peers.libraries import DEEPROB_KIT, OURS, SPFLOW
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.serve.plan import Plan
from benchmarks.serve.scoring import Problem, Result, compare

NAME = "serve"

#: How many times a peer's rate ours is to be.
TARGETS = {SPFLOW: at_least(20.0), DEEPROB_KIT: at_least(10.0)}


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Score with all libraries."""
    rates = _rates_section(plan)
    bar.begin("learning and scoring", len(plan.names))
    with ExitStack() as stack:
        libraries = [OURS, *(TARGETS if plan.peers else ())]
        workers = {name: stack.enter_context(Worker(name, plan.environments)) for name in libraries}
        for name in plan.names:
            problem = Problem.pose(name, plan)
            rates.rows += rate_rows(problem, compare(workers, problem, plan))
            bar.step()
    yield rates


def rate_rows(problem: Problem, results: list[Result]) -> list[Row]:
    """Return a row for each library; ours is the first result."""
    n_rows, rows = len(problem.scored), []
    ours = results[0].rate(n_rows)
    for result in results:
        rate = result.rate(n_rows)
        row: Row = {"data": problem.name, "library": result.library, **result.learned.size}
        row |= {"units": result.learned.units, "rate": rate, "options": str(result.options)}
        if result.library in TARGETS:
            row["ratio"] = Figure(ours / rate, None, TARGETS[result.library])
        rows.append(row)
    return rows


def _rates_section(plan: Plan) -> Section:
    columns = [
        Column("data", "data set"),
        Column("library", "library"),
        Column("sums", "sums"),
        Column("products", "products"),
        Column("leaves", "leaves"),
        Column("units", "units"),
        Column("rate", "rows a\nsecond", 0),
        Column("ratio", "ours /\ntheirs", 1),
    ]
    notes = [
        f"{plan.n_scored:,} rows, the best of {plan.repeats} calls each, in turn. All learned the same 1,000 rows; "
        "ours with as many rows a node as give a network no smaller than the larger of theirs.",
    ]
    return Section("rates", "Log-densities", columns, notes=notes)

"""One data set after the other, and what is to hold of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.peers.client import Worker
from benchmarks.peers.libraries import DEEPROB_KIT, OURS, SPFLOW
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.serve.default_model import Asked, ask_default
from benchmarks.serve.plan import Plan
from benchmarks.serve.scoring import Problem, Result, compare

NAME = "serve"

#: How many times a peer's rate ours is to be.
TARGETS = {SPFLOW: at_least(20.0), DEEPROB_KIT: at_least(10.0)}
#: How many times SPFlow's rate that of the default model is to be.
DEFAULT_TARGETS = {"msnbc": at_least(10.0), "plants": at_least(10.0), "abalone": at_least(3.0), "adult": at_least(3.0)}
#: How many times as long rows may take of which half is missing.
GAPS = at_most(5.0)


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Score with all libraries."""
    rates, default = _rates_section(plan), _default_section(plan)
    bar.begin("learning and scoring", len(plan.names))
    with ExitStack() as stack:
        libraries = [OURS, *(TARGETS if plan.peers else ())]
        workers = {name: stack.enter_context(Worker(name, plan.environments)) for name in libraries}
        for name in plan.names:
            problem = Problem.pose(name, plan)
            results = compare(workers, problem, plan)
            rates.rows += rate_rows(problem, results)
            default.rows.append(default_row(problem, results, ask_default(workers[OURS], problem, plan)))
            bar.step()
    yield rates
    yield default


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


def default_row(problem: Problem, results: list[Result], asked: Asked) -> Row:
    """Return what the default model takes, beside SPFlow's rate if it was measured."""
    n_rows = len(problem.scored)
    row: Row = {
        "data": problem.name,
        "units": asked.learned.units,
        "rate": n_rows / asked.complete,
        "gaps_rate": n_rows / asked.with_gaps,
        "slower": Figure(asked.with_gaps / asked.complete, None, GAPS),
        "one_ms": 1e3 * asked.one,
    }
    for result in results:
        if result.library == SPFLOW:
            times = n_rows / asked.complete / result.rate(n_rows)
            row["ratio"] = Figure(times, None, DEFAULT_TARGETS.get(problem.name))
    return row


def _default_section(plan: Plan) -> Section:
    columns = [
        Column("data", "data set"),
        Column("units", "units,\nunrolled"),
        Column("rate", "rows a\nsecond", 0),
        Column("ratio", "times\nSPFlow's", 1),
        Column("gaps_rate", "half\nmissing", 0),
        Column("slower", "times\nas long", 1),
        Column("one_ms", "one row\nms", 2),
    ]
    notes = [
        f"SPN() on the same 1,000 rows, nothing else set; {plan.n_scored:,} complete rows, the same with half of the "
        "cells missing, and one row. Its trees count as the sums and products that they stand for.",
    ]
    return Section("default", "Log-densities of the default model", columns, notes=notes)


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

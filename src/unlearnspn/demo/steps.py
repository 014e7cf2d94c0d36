"""Requests carried out one after the other, each compared with retraining in its stead."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from unlearnspn import SPN, Report
from unlearnspn.demo.plan import Patients, Plan, Request, Rows

T = TypeVar("T")


@dataclass(frozen=True)
class Identity:
    """What must be the same in two equal models."""

    digest: str
    state_digest: str
    log_density: float | None

    @classmethod
    def of(cls, spn: SPN, held_out: Rows | None) -> Identity:
        """Read a model's digests, and score it."""
        return cls(spn.digest(), spn.state_digest(), None if held_out is None else spn.score(held_out))

    def __str__(self) -> str:
        return f"{self.digest[:7]}/{self.state_digest[:7]}"


@dataclass(frozen=True)
class Step:
    """What came of one request, and of retraining in its stead."""

    request: Request
    report: Report
    n_patients: int
    unlearned: Identity
    retrained: Identity
    verified: bool
    seconds: float
    fit_seconds: float
    verify_seconds: float

    @property
    def equal(self) -> bool:
        """Whether the model equals the retrained one in every respect."""
        return self.verified and self.unlearned == self.retrained


def take_step(plan: Plan, spn: SPN, request: Request, patients: Patients) -> Step:
    """Send a request, retrain on the patients there are then, and take the time of both."""
    report, seconds = _timed(lambda: request.send(spn))
    fresh, fit_seconds = _timed(lambda: plan.learn(patients))
    verification, verify_seconds = _timed(spn.verify)
    held_out = plan.held_out if plan.is_scored(request) else None
    return Step(
        request,
        report,
        spn.n_records_,
        Identity.of(spn, held_out),
        Identity.of(fresh, held_out),
        bool(verification),
        seconds,
        fit_seconds,
        verify_seconds,
    )


def follow(plan: Plan, spn: SPN, console: Console, progress: bool) -> list[Step]:
    """Take all steps of a plan."""
    steps: list[Step] = []
    patients = plan.start
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # the bar is drawn between requests only, lest its thread slows what is timed
    bar = Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not progress)
    with bar:
        task = bar.add_task("Unlearning and retraining", total=len(plan.requests))
        for request in plan.requests:
            patients = request.book(patients)
            steps.append(take_step(plan, spn, request, patients))
            bar.update(task, advance=1, refresh=True)
    return steps


def _timed(action: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started

"""Start the service, put load on it, remove people meanwhile, and compare every answer with what it must be.

An answer may be that of any state between those at its beginning and at its end: so a record whose removal has returned
is in none. What each state answers is found out afterwards, by the same removals from a copy of the vault.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figures import Figure, at_most
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.service.compared import Compared
from benchmarks.service.loads import Answered, Load, Removal, States, Target
from benchmarks.service.plan import Plan
from benchmarks.service.removals import expected, remove
from benchmarks.service.wrk import Wrk

NAME = "service"

#: Where `benchmarks` lies, for processes that import it.
_ROOT = Path(__file__).parents[2]
_ADDRESS = re.compile(r"http://([0-9.]+):([0-9]+) serves")
#: How much the memory may grow from the end of the phase without removals to that of the phase with them.
GROWTH = at_most(1.1)


class Phase(NamedTuple):
    """What a load was answered, the removals meanwhile, and the memory of the service at the end, in MiB."""

    answered: Answered
    removals: list[Removal]
    mib: float


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Put each load on the service twice: without removals, and with them."""
    loads: list[Load] = [Compared(), *([Wrk()] if plan.by_wrk else [])]
    bar.begin("service", 2 + 2 * len(loads))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.uspn"
        records = _make(path, plan)
        asked, leaving = records[: plan.rows_asked], [record["id"] for record in records[plan.rows_asked :]]
        body = Path(folder) / "body.json"
        body.write_text(json.dumps({"records": asked}), "utf-8")
        shutil.copytree(folder, Path(folder) / "copy", ignore=shutil.ignore_patterns("copy"))
        token = _make_token(path)
        bar.step()
        phases: list[tuple[Phase, Phase]] = []
        with _serving(path) as (host, port, process):
            service = _Service(Target(host, port, token, body, plan.clients), process.pid, plan)
            service.ask(Compared(), seconds=1.0)  # who asks first waits for imports, too
            for load in loads:
                quiet = service.ask(load)
                bar.step()
                busy = service.ask(load, leaving)
                phases.append((quiet, busy))
                leaving = leaving[len(busy.removals) :]
                bar.step()
        removals = [removal for _, busy in phases for removal in busy.removals]
        states = expected(Path(folder) / "copy" / path.name, asked, removals)
        bar.step()
    for load, (quiet, busy) in zip(loads, phases, strict=True):
        yield _section(load, quiet, busy, states, plan)
        states = states[len(busy.removals) :]


def _make(path: Path, plan: Plan) -> list[dict[str, Any]]:
    """Make a vault, and return its records as JSON values."""
    from benchmarks.generated import generate  # noqa: PLC0415  # clients, who need nothing of it, start faster
    from unlearnspn import Vault  # noqa: PLC0415

    table = generate(plan.n_rows, plan.n_columns).frame
    table.insert(0, "id", [f"c-{number}" for number in range(len(table))])
    with Vault.create(path) as vault:
        vault.ingest(table, "id")
        vault.fit()
    records: list[dict[str, Any]] = json.loads(table.head(5000).to_json(orient="records", double_precision=15))
    return records


def _make_token(path: Path) -> str:
    from unlearnspn.service.desk_service import DeskService  # noqa: PLC0415  # the extra may be missing

    service = DeskService.open(path)
    try:
        return service.tokens.add("load", ["model:query", "records:erase"], 1, "benchmark")[1]
    finally:
        service.close()


@contextmanager
def _serving(path: Path) -> Iterator[tuple[str, int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "unlearnspn.cli", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        started = _ADDRESS.match(process.stdout.readline())
        try:
            if started is None:
                raise RuntimeError("the service did not start")
            yield started[1], int(started[2]), process
        finally:
            process.terminate()


class _Service:
    """A service that runs and can be asked."""

    def __init__(self, target: Target, process_id: int, plan: Plan) -> None:
        self._target, self._process_id, self._plan = target, process_id, plan

    def ask(self, load: Load, leaving: list[str] | None = None, seconds: float | None = None) -> Phase:
        """Ask for some seconds; meanwhile remove records one by one if there are any to be removed."""
        seconds = seconds or self._plan.seconds
        with subprocess.Popen(load.command(self._target, seconds), stdout=PIPE, text=True, cwd=_ROOT) as asking:
            removals = remove(self._target, leaving, seconds, self._plan.pause) if leaving else []
            printed, _ = asking.communicate()
        return Phase(load.read(printed), removals, _resident(self._process_id))


def _section(load: Load, quiet: Phase, busy: Phase, states: States, plan: Plan) -> Section:
    columns = [
        Column("what", "what"),
        Column("number", "answers"),
        Column("rate", "a second", 0),
        Column("median_ms", "median\nms", 1),
        Column("p99_ms", "99 %\nms", 1),
        Column("failed", "failed"),
        Column("wrong", "wrong"),
        Column("mib", "memory\nMiB", 0),
        Column("growth", "growth", 2),
    ]
    asked = f"{plan.clients} clients score {plan.rows_asked} rows at a time; {plan.n_rows:,} records in the vault"
    section = Section(load.key, f"{load.title}: {asked}", columns, notes=[load.note])
    section.rows.append(_scores("scores", quiet, states[:1]))
    row = _scores("scores, with removals", busy, states[: len(busy.removals) + 1])
    section.rows.append(row | {"growth": Figure(busy.mib / quiet.mib, None, GROWTH)})
    section.rows.append(_removals(busy.removals, plan.seconds))
    return section


def _scores(what: str, phase: Phase, states: States) -> Row:
    answered, none = phase.answered, at_most(0.0)
    return {
        "what": what,
        "number": answered.number,
        "rate": answered.number / answered.span,
        "median_ms": answered.median_ms,
        "p99_ms": answered.p99_ms,
        "failed": Figure(answered.failed, None, none),
        "wrong": Figure(answered.count_wrong(phase.removals, states), None, none),
        "mib": phase.mib,
    }


def _removals(removals: list[Removal], seconds: float) -> Row:
    lasted = [removal.answered - removal.asked for removal in removals]
    median, p99 = (1e3 * np.quantile(lasted, [0.5, 0.99])).tolist()
    return {
        "what": "removals, with certificates",
        "number": len(removals),
        "rate": len(removals) / seconds,
        "median_ms": median,
        "p99_ms": p99,
    }


def _resident(process_id: int) -> float:
    """Return how many MiB a process has in memory."""
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+([0-9]+) kB", status)
    return float(found[1]) / 1024.0 if found is not None else float("nan")

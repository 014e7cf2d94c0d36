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
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx2
import numpy as np

from benchmarks.figures import Figure, at_most
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.service.answers import Answer, read_answers
from benchmarks.service.plan import Plan
from unlearnspn import Vault

NAME = "service"

#: Where `benchmarks` lies, for processes that import it.
_ROOT = Path(__file__).parents[2]
_ADDRESS = re.compile(r"http://([0-9.]+):([0-9]+) serves")
#: How much the memory may grow from the end of the first phase to that of the second.
GROWTH = at_most(1.1)


class Removal(NamedTuple):
    """A removal, and when it was asked for and answered."""

    record: str
    asked: float
    answered: float


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Put load on the service twice: without removals, and with them."""
    bar.begin("service", 4)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.uspn"
        records = _make(path, plan)
        shutil.copytree(folder, Path(folder) / "copy", ignore=shutil.ignore_patterns("copy"))
        token = _make_token(path)
        bar.step()
        with _serving(path) as (host, port, process):
            load = _Load(host, port, token, records[: plan.rows_asked], plan)
            load.run(seconds=1.0)  # who asks first waits for imports, too
            quiet, _ = load.run()
            before = _resident(process.pid)
            bar.step()
            busy, removals = load.run([record["id"] for record in records[plan.rows_asked :]])
            after = _resident(process.pid)
            bar.step()
        states = _expected(Path(folder) / "copy" / path.name, records[: plan.rows_asked], removals)
        bar.step()
    yield _section(quiet, busy, removals, states, before, after, plan)


def _make(path: Path, plan: Plan) -> list[dict[str, Any]]:
    """Make a vault, and return its records as JSON values."""
    from benchmarks.generated import generate  # noqa: PLC0415  # clients, who need nothing of it, start faster

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


class _Load:
    """Clients that score, and perhaps one that removes."""

    def __init__(self, host: str, port: int, token: str, rows: list[dict[str, Any]], plan: Plan) -> None:
        self._command = [sys.executable, "-m", "benchmarks.service.clients", host, str(port), token, str(plan.clients)]
        self._url, self._token, self._plan = f"http://{host}:{port}/api/v1", token, plan
        self._body = json.dumps({"records": rows})

    def run(self, leaving: list[str] | None = None, seconds: float | None = None) -> tuple[list[Answer], list[Removal]]:
        """Ask for some seconds; meanwhile remove records one by one if there are any to be removed."""
        command = [*self._command, str(seconds or self._plan.seconds)]
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=_ROOT) as clients:
            assert clients.stdin is not None
            clients.stdin.write(self._body)
            clients.stdin.close()
            clients.stdin = None
            removals = [] if leaving is None else self._remove(leaving)
            printed, _ = clients.communicate()
        return read_answers(printed), removals

    def _remove(self, leaving: list[str]) -> list[Removal]:
        until = time.monotonic() + self._plan.seconds
        removals: list[Removal] = []
        headers = {"authorization": f"Bearer {self._token}"}
        with httpx2.Client(base_url=self._url, headers=headers, timeout=60) as client:
            while time.monotonic() < until:
                record, asked = leaving[len(removals)], time.monotonic()
                body = {"ids": [record], "request_id": f"r-{len(removals)}", "ground": "Art. 17(1)(b)"}
                client.post("/removals", json=body).raise_for_status()
                removals.append(Removal(record, asked, time.monotonic()))
                time.sleep(self._plan.pause)
        return removals


def _expected(path: Path, rows: list[dict[str, Any]], removals: list[Removal]) -> list[list[float]]:
    """Return what the rows' log-densities are before, between and after some removals."""
    from unlearnspn.exchange.tables import options_for, rows_for  # noqa: PLC0415
    from unlearnspn.sources import Options, read_json  # noqa: PLC0415

    states = []
    with Vault.open(path, write=True) as vault:
        for removal in [None, *removals]:
            if removal is not None:
                vault.unlearn([removal.record])
            circuit = vault.circuit_
            table, _ = rows_for(circuit, read_json(rows, options_for(circuit, Options())))
            states.append(circuit.score_samples(table).tolist())
    return states


def count_wrong(answers: list[Answer], removals: list[Removal], states: list[list[float]]) -> int:
    """Return how many answers are those of no state that there was between question and answer."""
    done, begun = [each.answered for each in removals], [each.asked for each in removals]
    wrong = 0
    for answer in answers:
        if answer.densities is not None:
            first, last = bisect_left(done, answer.asked), bisect_right(begun, answer.answered)
            wrong += answer.densities not in states[first : last + 1]
    return wrong


def _section(
    quiet: list[Answer],
    busy: list[Answer],
    removals: list[Removal],
    states: list[list[float]],
    before: float,
    after: float,
    plan: Plan,
) -> Section:
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
    title = f"{plan.clients} clients score {plan.rows_asked} rows at a time; {plan.n_rows:,} records in the vault"
    section = Section("load", title, columns)
    section.rows.append(_row("scores", quiet, count_wrong(quiet, [], states), before))
    row = _row("scores, with removals", busy, count_wrong(busy, removals, states), after)
    section.rows.append(row | {"growth": Figure(after / before, None, GROWTH)})
    seconds = [removal.answered - removal.asked for removal in removals]
    section.rows.append(_times("removals, with certificates", seconds, plan.seconds))
    section.notes.append("every answer is compared, to the last bit, with the states between its question and its end")
    return section


def _row(what: str, answers: list[Answer], wrong: int, mib: float) -> Row:
    span = max(answer.answered for answer in answers) - min(answer.asked for answer in answers)
    failed = sum(answer.densities is None for answer in answers)
    none = at_most(0.0)
    return _times(what, [answer.answered - answer.asked for answer in answers], span) | {
        "failed": Figure(failed, None, none),
        "wrong": Figure(wrong, None, none),
        "mib": mib,
    }


def _times(what: str, seconds: list[float], span: float) -> Row:
    median, p99 = (1e3 * np.quantile(seconds, [0.5, 0.99])).tolist()
    return {
        "what": what,
        "number": len(seconds),
        "rate": len(seconds) / span,
        "median_ms": median,
        "p99_ms": p99,
    }


def _resident(process_id: int) -> float:
    """Return how many MiB a process has in memory."""
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+([0-9]+) kB", status)
    return float(found[1]) / 1024.0 if found is not None else float("nan")

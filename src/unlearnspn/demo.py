"""The demonstration: patients leave a model, and after each request it is compared with retraining."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, median
from subprocess import Popen
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from sklearn.datasets import load_breast_cancer

from unlearnspn import SPN, Report
from unlearnspn.compiling import compile_always, compile_for, is_new
from unlearnspn.rebuilding import rebuild
from unlearnspn.walking import walk

T = TypeVar("T")

#: So many that some patients are left in the model.
MAX_REMOVALS = 200

_MIN_ROWS = 50
_HELD_OUT = 100
_ADDED_BACK = 10
_SHOWN = 5
#: What another process does meanwhile, if nothing is compiled yet.
_BESIDE = "from unlearnspn.demo import compile_rebuilding; compile_rebuilding()"
_FEW = 100
_NOBODY = np.zeros(0, np.int64)

Rows = npt.NDArray[np.object_]
#: The patients that a model should hold, by id.
Patients = dict[str, Any]


class Verb(StrEnum):
    """What is asked of the model."""

    UNLEARN = "unlearn"
    LEARN = "learn"
    RECTIFY = "rectify"


@dataclass(frozen=True)
class Request:
    """A request to the model about some patients, with the values that they have or are to have."""

    label: str
    verb: Verb
    patients: Patients

    def send(self, spn: SPN) -> Report:
        """Let the model carry the request out."""
        ids = list(self.patients)
        match self.verb:
            case Verb.UNLEARN:
                return spn.unlearn(ids)
            case Verb.LEARN:
                return spn.learn(_rows(self.patients), ids)
            case Verb.RECTIFY:
                return spn.rectify(_rows(self.patients), ids)

    def book(self, patients: Patients) -> Patients:
        """Return the patients there are afterwards, without asking the model."""
        if self.verb is Verb.UNLEARN:
            return {name: row for name, row in patients.items() if name not in self.patients}
        return patients | self.patients


@dataclass(frozen=True)
class Plan:
    """The patients to start with, those held out, and the requests."""

    start: Patients
    held_out: Rows
    singles: list[Request]
    others: list[Request]
    seed: int

    @property
    def requests(self) -> list[Request]:
        """All requests in order."""
        return [*self.singles, *self.others]

    def is_scored(self, request: Request) -> bool:
        """Tell whether likelihoods are shown after a request: to compute them takes longer than all the rest."""
        return all(request is not single for single in self.singles[:-1])

    def learn(self, patients: Patients) -> SPN:
        """Learn a model from scratch."""
        return SPN(min_rows=_MIN_ROWS, random_state=self.seed).fit(_rows(patients), ids=list(patients))


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


def run(console: Console, removals: int = 50, seed: int = 0, progress: bool = True) -> bool:
    """Run the demonstration and tell whether every model was equal to the one retrained."""
    plan = make_plan(removals, seed)
    console.print(_introduction(plan))
    compile_everything(plan)
    spn = plan.learn(plan.start)
    before = Identity.of(spn, plan.held_out)
    steps = _follow(plan, spn, console, progress)
    singles, others = steps[:removals], steps[removals:]
    console.print(_requests_table(singles, others), "")
    console.print(_likelihood_table(len(plan.start), before, [singles[-1], *others]), "")
    console.print(_times_table(singles), _times_note(singles))
    console.print(_sample_report(singles), "")
    console.print(_verdict(steps))
    return all(step.equal for step in steps)


# -- what is done ------------------------------------------------------------------------------------------------------


def make_plan(removals: int, seed: int) -> Plan:
    """Draw who is held out, who leaves, who comes back and who is corrected."""
    everyone = load_patients()
    drawn = [str(name) for name in np.random.default_rng(seed).permutation(list(everyone))]
    held_out, members = drawn[:_HELD_OUT], drawn[_HELD_OUT:]
    # in the table's order: the model's own order will be another one after learning again
    start = {name: row for name, row in everyone.items() if name not in held_out}
    leaving, batch, wrong = members[:removals], members[removals : 2 * removals], members[2 * removals]
    back = batch[:_ADDED_BACK]
    others = [
        Request(f"{len(batch)} in one batch", Verb.UNLEARN, _pick(everyone, batch)),
        Request(f"{len(back)} added back", Verb.LEARN, _pick(everyone, back)),
        Request("1 corrected", Verb.RECTIFY, {wrong: _other_diagnosis(everyone[wrong])}),
    ]
    singles = [Request(name, Verb.UNLEARN, _pick(everyone, [name])) for name in leaving]
    return Plan(start, _rows(_pick(everyone, held_out)), singles, others, seed)


def load_patients() -> Patients:
    """Return the patients by id: 30 measurements each, and the diagnosis as a string."""
    data = load_breast_cancer()
    diagnoses = data.target_names[data.target].astype(object)
    rows = np.column_stack([data.data.astype(object), diagnoses])
    return {f"patient-{number:04d}": row for number, row in enumerate(rows)}


def compile_everything(plan: Plan) -> None:
    """Do everything once with a model that is thrown away, so that no compilation is timed."""
    beside = Popen([sys.executable, "-c", _BESIDE]) if is_new(rebuild) else None
    compile_always()
    spn = plan.learn(plan.start)
    spn.score(plan.held_out)
    spn.verify()
    if beside is not None:
        model = spn._fitted()
        compile_for(walk, model.network.words, model.learner.ground, _NOBODY, _NOBODY, 0)
        beside.wait()
    for request in plan.requests:
        request.send(spn)


def compile_rebuilding() -> None:
    """Compile what rebuilds nodes; the model of a few patients, which it takes, is learned as it is written."""
    plan = make_plan(removals=1, seed=0)
    model = plan.learn(dict(list(plan.start.items())[:_FEW]))._fitted()
    compile_for(rebuild, model.network.words, 0, model.learner.ground, 0, _NOBODY, _NOBODY, _NOBODY)


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


def _follow(plan: Plan, spn: SPN, console: Console, progress: bool) -> list[Step]:
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


def _pick(patients: Patients, names: Sequence[str]) -> Patients:
    return {name: patients[name] for name in names}


def _rows(patients: Patients) -> Rows:
    return np.array(list(patients.values()), object)


def _other_diagnosis(row: Rows) -> Rows:
    corrected = row.copy()
    corrected[-1] = "benign" if row[-1] == "malignant" else "malignant"
    return corrected


# -- what is shown -----------------------------------------------------------------------------------------------------


def _introduction(plan: Plan) -> str:
    return (
        f"[bold]A model of {len(plan.start)} patients that forgets some of them[/bold]\n"
        f"Data: scikit-learn's breast cancer data, 30 measurements and the diagnosis of each patient; "
        f"{len(plan.held_out)} patients are held out.\n"
        f"Model: SPN(min_rows={_MIN_ROWS}, random_state={plan.seed}); the default, 200 or more, is meant for "
        "larger tables.\n"
        "Warming up: the first run compiles the library, which takes up to a minute; later runs do not.\n"
    )


def _table(title: str, *columns: str, caption: str | None = None) -> Table:
    # without edges the widest table fits into 80 columns
    table = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.title_justify = table.caption_justify = "left"
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _requests_table(singles: Sequence[Step], others: Sequence[Step]) -> Table:
    table = _table(
        "Every request, beside retraining from scratch",
        *("Request", "Unlearn\n(ms)", "Retrain\n(ms)", "Unlearned\nmodel", "Retrained\nmodel", "Equal"),
        caption="Digests of the model / of everything kept. Equal: these, and the log-densities shown below.",
    )
    shown = [step for place, step in enumerate(singles) if place < _SHOWN or not step.equal]
    for step in shown:
        _add_request(table, step)
    if len(shown) < len(singles):
        table.add_row(f"… {len(singles) - len(shown)} more", "", "", "", "", "yes")
    table.add_section()
    for step in others:
        _add_request(table, step)
    return table


def _add_request(table: Table, step: Step) -> None:
    equal = "[green]yes[/green]" if step.equal else "[bold red]NO[/bold red]"
    times = _milliseconds(step.seconds), _milliseconds(step.fit_seconds)
    table.add_row(step.request.label, *times, str(step.unlearned), str(step.retrained), equal)


def _likelihood_table(n_patients: int, before: Identity, steps: Sequence[Step]) -> Table:
    table = _table("Mean log-density of the patients held out", "Model", "Patients", "Unlearned", "Retrained")
    table.add_row("before", str(n_patients), f"{before.log_density:.6f}", "")
    for step in steps:
        label = "after removals one by one" if step is steps[0] else step.request.label
        densities = f"{step.unlearned.log_density:.6f}", f"{step.retrained.log_density:.6f}"
        table.add_row(label, str(step.n_patients), *densities)
    return table


def _times_table(singles: Sequence[Step]) -> Table:
    table = _table(f"Times of the {len(singles)} single removals (ms)", "", "Mean", "Median", "Slowest")
    rows = {
        "unlearn": [step.seconds for step in singles],
        "retrain, records already read (verify)": [step.verify_seconds for step in singles],
        "retrain, reading the table too (fit)": [step.fit_seconds for step in singles],
    }
    for label, seconds in rows.items():
        table.add_row(label, *map(_milliseconds, (fmean(seconds), median(seconds), max(seconds))))
    return table


def _times_note(singles: Sequence[Step]) -> str:
    unlearn = fmean(step.seconds for step in singles)
    verify = fmean(step.verify_seconds for step in singles) / unlearn
    fit = fmean(step.fit_seconds for step in singles) / unlearn
    recoded = sum(step.report.recoded for step in singles)
    return (
        f"On average retraining takes [bold]{verify:.1f} times[/bold] as long as unlearning, "
        f"or {fit:.1f} times with the reading of the table.\n"
        f"{recoded} of the {len(singles)} removals changed how a column is coded: these learned everything anew, "
        "and are counted.\n"
    )


def _sample_report(singles: Sequence[Step]) -> Panel:
    """Show a removal that changed the network's structure, if there is one, but not by much."""
    telling = [step for step in singles if step.report.changed_operations and not step.report.recoded]
    step = min(telling or singles, key=lambda step: len(step.report.changed_operations))
    return Panel(
        Text(str(step.report)),
        title=f"The report of removing {step.request.label}",
        subtitle="an address gives cluster numbers and {columns} from the root on",
    )


def _verdict(steps: Sequence[Step]) -> str:
    unequal = sum(not step.equal for step in steps)
    if unequal:
        return f"[bold red]NOT EQUAL[/bold red]: {unequal} of {len(steps)} models differ from retraining."
    return f"[bold green]EQUAL[/bold green]: all {len(steps)} models are those of retraining, bit for bit."


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"

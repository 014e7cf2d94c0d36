"""What the demonstration shows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from unlearnspn.demo.plan import MIN_ROWS, Plan
from unlearnspn.demo.steps import Identity, Step

_SHOWN = 5


def introduction(plan: Plan) -> str:
    """Say what is learned, and from whom."""
    lines = [
        f"[bold]A model of {len(plan.start)} patients that forgets some of them[/bold]",
        "Data: scikit-learn's breast cancer data, 30 measurements and the diagnosis of each patient; "
        f"{len(plan.held_out)} patients are held out.",
        f"Model: SPN(min_rows={MIN_ROWS}, random_state={plan.seed}); the default, 200 or more, is meant for larger "
        "tables.",
    ]
    return "\n".join(lines) + "\n"


def requests(singles: Sequence[Step], others: Sequence[Step]) -> Table:
    """Show requests with the digests of both models."""
    table = _table(
        "Every request, beside retraining from scratch",
        *("Request", "Unlearn\n(ms)", "Retrain\n(ms)", "Unlearned\nmodel", "Retrained\nmodel", "Equal"),
        caption="Digests of the model / of everything kept. Equal: these, and the log-densities shown below.",
    )
    shown = [step for place, step in enumerate(singles) if place < _SHOWN or not step.equal]
    for step in shown:
        _add_request(table, step)
    if len(shown) < len(singles):
        table.add_row(f"… {len(singles) - len(shown)} more", *[""] * 4, "yes")
    table.add_section()
    for step in others:
        _add_request(table, step)
    return table


def likelihoods(n_patients: int, before: Identity, steps: Sequence[Step]) -> Table:
    """Show how likely those held out are to models before and after."""
    table = _table("Mean log-density of the patients held out", "Model", "Patients", "Unlearned", "Retrained")
    table.add_row("before", str(n_patients), f"{before.log_density:.6f}", "")
    for step in steps:
        label = "after removals one by one" if step is steps[0] else step.request.label
        densities = f"{step.unlearned.log_density:.6f}", f"{step.retrained.log_density:.6f}"
        table.add_row(label, str(step.n_patients), *densities)
    return table


def times(singles: Sequence[Step]) -> Table:
    """Show how long removals and retraining take."""
    table = _table(f"Times of the {len(singles)} single removals (ms)", "", "Mean", "Median", "Slowest")
    rows = {
        "unlearn": [step.seconds for step in singles],
        "retrain, records already read (verify)": [step.verify_seconds for step in singles],
        "retrain, reading the table too (fit)": [step.fit_seconds for step in singles],
    }
    for label, seconds in rows.items():
        table.add_row(label, *map(_milliseconds, (fmean(seconds), median(seconds), max(seconds))))
    return table


def times_note(singles: Sequence[Step]) -> str:
    """Say how many times longer retraining takes."""
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


def sample_report(singles: Sequence[Step]) -> Panel:
    """Show a removal that changed the network's structure, if there is one, but not by much."""
    telling = [step for step in singles if step.report.changed_operations and not step.report.recoded]
    step = min(telling or singles, key=lambda step: len(step.report.changed_operations))
    return Panel(
        Text(str(step.report)),
        title=f"The report of removing {step.request.label}",
        subtitle="an address gives cluster numbers and {columns} from the root on",
    )


def verdict(steps: Sequence[Step]) -> str:
    """Say whether all models were equal."""
    unequal = sum(not step.equal for step in steps)
    if unequal:
        return f"[bold red]NOT EQUAL[/bold red]: {unequal} of {len(steps)} models differ from retraining."
    return f"[bold green]EQUAL[/bold green]: all {len(steps)} models are those of retraining, bit for bit."


def _table(title: str, *columns: str, caption: str | None = None) -> Table:
    # without edges the widest table fits into 80 columns
    table = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.title_justify = table.caption_justify = "left"
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _add_request(table: Table, step: Step) -> None:
    equal = "[green]yes[/green]" if step.equal else "[bold red]NO[/bold red]"
    figures = _milliseconds(step.seconds), _milliseconds(step.fit_seconds)
    table.add_row(step.request.label, *figures, str(step.unlearned), str(step.retrained), equal)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"

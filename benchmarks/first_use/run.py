"""Imports, commands, first uses and removals, of this version and of another one beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_iris

from benchmarks.figures import Figure, Target, at_most
from benchmarks.first_use.plan import Plan
from benchmarks.first_use.python import Python
from benchmarks.generated import generate
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section

NAME = "first-use"

#: By interpreter: this one's, then the other's.
Seconds = dict[str, list[float]]
#: What is measured of a process: an action, given the interpreter and the number of the repetition.
Action = Callable[[Python, int], float]

_THIS, _OTHER = "this", "other"
_IMPORT, _IRIS, _VAULT_COLUMNS, _USED_COLUMNS = "from unlearnspn import SPN", "iris", 12, 15
_TARGETS = {
    _IMPORT: at_most(0.6),
    **dict.fromkeys(["init", "log", "certificate show", "info"], at_most(0.6)),
    "unlearn": at_most(1.2),
    "verify": at_most(2.0),
    _IRIS: at_most(1.0),
}
_USED_TARGET, _FIRST_TARGET = at_most(2.0), at_most(3.0)


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Measure all figures with each interpreter in turn."""
    pythons = {_THIS: Python(None)} | ({_OTHER: Python(plan.against)} if plan.against else {})
    with TemporaryDirectory() as folder:
        yield _measure_processes(plan, pythons, Path(folder), bar)
        yield _measure_removals(plan, pythons, Path(folder), bar)


def _measure_processes(plan: Plan, pythons: dict[str, Python], folder: Path, bar: Bar) -> Section:
    columns = [Column("what", "what"), Column(_THIS, "CPU\ns", 2), Column(_OTHER, "the other's\ns", 2)]
    notes = [
        f"The least of {plan.repeats} processes each. Commands: on a vault of {plan.vault_rows:,} x {_VAULT_COLUMNS}, "
        "the whole process. First uses: fit, one removal and score, the whole process but for reading the table."
    ]
    section = Section("processes", "Fresh processes", columns, notes=notes)
    used = f"generated, {plan.used_rows:,} x {_USED_COLUMNS}"
    tables = {_IRIS: folder / "iris.npy", used: folder / "used.csv"}
    np.save(tables[_IRIS], load_iris().data)
    generate(plan.used_rows, _USED_COLUMNS).frame.to_csv(tables[used], index=False)
    actions: dict[str, Action] = {_IMPORT: lambda python, _: python.ask("import")["seconds"]}
    actions |= _command_actions(plan, pythons, folder)
    actions |= {what: _use_action(path) for what, path in tables.items()}
    bar.begin("fresh processes", len(actions))
    for what, action in actions.items():
        seconds = _repeat(plan.repeats, pythons, action)
        target = _USED_TARGET if what == used else _TARGETS[what]
        section.rows.append({"what": what, **_cells(seconds, target)})
        bar.step()
    return section


def _use_action(table: Path) -> Action:
    return lambda python, _: python.ask("use", str(table))["seconds"]


def _command_actions(plan: Plan, pythons: dict[str, Python], folder: Path) -> dict[str, Action]:
    """Make a vault for each interpreter, and return what its commands are asked."""
    table, vaults = folder / "records.csv", {}
    generate(plan.vault_rows, _VAULT_COLUMNS).frame.to_csv(table, index_label="id")
    for name, python in pythons.items():
        vaults[python] = vault = folder / f"{name}.uspn"
        python.command("init", str(vault))
        python.command("ingest", str(vault), str(table), "--id", "id")
        python.command("fit", str(vault))

    def on_vault(*words: str) -> Action:
        return lambda python, _: python.command(*words, str(vaults[python]))

    return {
        "init": lambda python, number: python.command("init", str(vaults[python].with_suffix(f".{number}"))),
        "unlearn": lambda python, number: python.command("unlearn", str(vaults[python]), "--yes", "--id", str(number)),
        "log": on_vault("log"),
        "certificate show": on_vault("certificate", "show"),
        "info": on_vault("info"),
        "verify": on_vault("verify"),
    }


def _repeat(repeats: int, pythons: dict[str, Python], action: Action) -> Seconds:
    """Repeat an action, with one interpreter after the other: both are to find the machine alike."""
    seconds: Seconds = {name: [] for name in pythons}
    for number in range(repeats):
        for name, python in pythons.items():
            seconds[name].append(action(python, number))
    return seconds


def _cells(seconds: Seconds, target: Target) -> Row:
    """Return the least of each interpreter; the target is this version's."""
    return {name: Figure(min(each), None, target if name == _THIS else None) for name, each in seconds.items()}


def _measure_removals(plan: Plan, pythons: dict[str, Python], folder: Path, bar: Bar) -> Section:
    columns = [
        Column("data", "table"),
        Column("version", "version"),
        Column("median_ms", "median\nms", 2),
        Column("mean_ms", "mean\nms", 2),
        Column("first_ms", "first\nms", 2),
        Column("first_times", "first /\nmedian", 1),
        Column("retrain_ms", "retrain\nms", 1),
        Column("ratio", "retrain /\nmean", 1),
    ]
    notes = [
        f"{plan.removals} removals one after another from the start of a process on, then a training on what is left, "
        f"which gives the same digest. The least of {plan.repeats} processes each."
    ]
    section = Section("removals", "Removals one by one", columns, notes=notes)
    tables = plan.removal_tables()
    bar.begin("removals", len(tables))
    for data in tables:
        path = folder / "table.csv"
        data.frame.to_csv(path, index=False)
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
        for _ in range(plan.repeats):
            for name, python in pythons.items():
                runs[name].append(python.ask("remove", str(path), data.categorical_features, str(plan.removals)))
        label = f"{data.name.split(',')[0]}, {len(data.frame):,} x {data.frame.shape[1]}"
        section.rows += [{"data": label, "version": name, **removal_cells(name, each)} for name, each in runs.items()]
        bar.step()
    return section


def removal_cells(version: str, runs: list[dict[str, float]]) -> Row:
    """Return the least of some processes' figures; the target is this version's."""
    least = {key: min(run[key] for run in runs) for key in runs[0]}
    cells: Row = {f"{key}_ms": 1e3 * seconds for key, seconds in least.items()}
    first = Figure(min(run["first"] / run["median"] for run in runs), None, _FIRST_TARGET if version == _THIS else None)
    return cells | {"first_times": first, "ratio": least["retrain"] / least["mean"]}

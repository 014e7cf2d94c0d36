"""Sections as tables in the terminal."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from benchmarks.reports import Cell, Column, Report, Section

#: From here on numbers are written with an exponent.
_HUGE = 1e8


def print_section(console: Console, section: Section) -> None:
    """Print a section as a table, with its notes below."""
    console.print(f"[bold]{section.title}[/bold]")
    console.print(as_table(section))
    for note in section.notes:
        console.print(f"[dim]{note}[/dim]")
    console.print()


def print_end(console: Console, report: Report) -> None:
    """Print what was left out, how many targets were reached, and on which machine."""
    for name in report.left_out:
        console.print(f"[yellow]left out:[/yellow] {name}")
    reached, of = report.targets()
    if of:
        console.print(f"{reached} of {of} targets reached")
    console.print(f"[dim]{report.machine}[/dim]")
    if report.machine.is_busy:
        console.print(
            f"[yellow]note:[/yellow] the load average was {report.machine.load_average:.1f} at the start: "
            "these are not the figures of a quiet machine"
        )


def as_table(section: Section) -> Table:
    """Return a section as a table; a column in which no row has anything is left out."""
    shown = [column for column in section.columns if any(row.get(column.key) is not None for row in section.rows)]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in shown:
        text = all(isinstance(row.get(column.key), str | None) for row in section.rows)
        table.add_column(column.header, justify="left" if text else "right", vertical="top", no_wrap=not column.wrap)
    for row in section.rows:
        table.add_row(*(as_text(row.get(column.key), column) for column in shown))
    return table


def as_text(cell: Cell, column: Column) -> str:
    """Write a cell: a figure with its deviation, and its target in a line below."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return _number(cell, column.digits)
    text = _number(cell.value, column.digits)
    if cell.std is not None:
        text += f" ± {_number(cell.std, column.digits)}"
    return f"{text}\n{_verdict(cell)}" if cell.target is not None else text


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{value:,.{digits}f}" if abs(value) < _HUGE else f"{value:.2e}"


def _verdict(figure: Figure) -> str:
    colour, word = ("green", "reached") if figure.reached else ("bold red", "MISSED")
    return f"[dim]{figure.target}[/dim] [{colour}]{word}[/{colour}]"

"""Run a benchmark: show each section as it is there, and write the files that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from matplotlib.figure import Figure as Picture
from rich.console import Console

from unlearnspn.bench.machine import Machine
from unlearnspn.bench.printing import print_end, print_section
from unlearnspn.bench.progress import Bar
from unlearnspn.bench.reports import Report, Section
from unlearnspn.bench.timing import one_thread
from unlearnspn.compiling import compile_always

#: In a file or a pipe there is room for whole tables.
_WIDTH = 120


class Plan(Protocol):
    """What a benchmark is to do."""

    @property
    def left_out(self) -> list[str]:
        """What is not measured for want of data, with the reason."""

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on, for the file of results."""


class Benchmark(Protocol):
    """What a module that is a benchmark offers."""

    NAME: str

    def measure(self, plan: Any, bar: Bar) -> Iterator[Section]:
        """Measure, and give each section when it is there."""

    def draw(self, report: Report) -> Picture:
        """Return a picture of the results."""


def deliver(benchmark: Benchmark, plan: Plan, json: Path | None, plot: Path | None, progress: bool) -> Report:
    """Run a benchmark; sections that were there before an interruption are written all the same."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH)
    compile_always()
    report = Report(benchmark.NAME, plan.parameters(), Machine.here(), left_out=plan.left_out)
    _write(report, json)
    if plot is not None:
        Picture().savefig(plot)  # a file that cannot be written is to be known now, not after hours
    with one_thread(), Bar(progress) as bar:
        for section in benchmark.measure(plan, bar):
            report.sections.append(section)
            print_section(console, section)
            _write(report, json)
    print_end(console, report)
    if plot is not None:
        benchmark.draw(report).savefig(plot)
    return report


def _write(report: Report, path: Path | None) -> None:
    if path is not None:
        report.write(path)

"""Run a benchmark: show each section as it is there, and write the files at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from matplotlib.figure import Figure as Picture
from rich.console import Console

from benchmarks.files import Files
from benchmarks.machine import Machine
from benchmarks.printing import print_end, print_section
from benchmarks.progress import Bar
from benchmarks.reports import Report, Section

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
        """Return a picture of the results; it is not asked for where no file is meant for one."""


def deliver(benchmark: Benchmark, plan: Plan, files: Files, progress: bool) -> Report:
    """Run a benchmark; sections that were there before an interruption are written all the same."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH)
    report = Report(benchmark.NAME, plan.parameters(), Machine.here(), left_out=plan.left_out)
    files.require_writable()
    with Bar(progress) as bar:
        for section in benchmark.measure(plan, bar):
            report.sections.append(section)
            print_section(console, section)
            files.keep(report)
    print_end(console, report)
    if written := files.write(report, lambda: benchmark.draw(report)):
        console.print(f"written: {written}", markup=False, soft_wrap=True)
    return report

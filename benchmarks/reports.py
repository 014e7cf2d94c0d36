"""What a benchmark found: sections of rows, which can be shown as tables and written as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.figures import Figure
from benchmarks.machine import Machine

#: What a cell of a row can be: a figure, another number, a text, or nothing where nothing was measured.
Cell = Figure | float | int | str | None
Row = dict[str, Cell]

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Column:
    """A column of a section: the key of its cells, its header, how many digits follow the point; if text may wrap."""

    key: str
    header: str
    digits: int = 1
    wrap: bool = False


@dataclass
class Section:
    """Rows of one kind."""

    key: str
    title: str
    columns: list[Column]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def figures(self) -> Iterator[Figure]:
        """Return all figures, row by row."""
        return (cell for row in self.rows for cell in row.values() if isinstance(cell, Figure))

    def as_json(self) -> dict[str, Any]:
        """Return what a file of results says."""
        rows = [{key: _as_json(cell) for key, cell in row.items()} for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": self.notes}


@dataclass
class Report:
    """All that one run of a benchmark found, on which machine, with which parameters."""

    benchmark: str
    parameters: dict[str, Any]
    machine: Machine
    sections: list[Section] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def section(self, key: str) -> Section | None:
        """Return a section, if the run had it."""
        return next((section for section in self.sections if section.key == key), None)

    def targets(self) -> tuple[int, int]:
        """Return how many targets were reached, and how many there were."""
        reached = [figure.reached for section in self.sections for figure in section.figures() if figure.target]
        return sum(map(bool, reached)), len(reached)

    def as_json(self) -> dict[str, Any]:
        """Return the whole report as a document."""
        reached, of = self.targets()
        return {
            "format": "unlearnspn benchmark",
            "version": FORMAT_VERSION,
            "benchmark": self.benchmark,
            "parameters": self.parameters,
            "machine": self.machine.as_json(),
            "left_out": self.left_out,
            "targets": {"reached": reached, "of": of},
            "sections": {section.key: section.as_json() for section in self.sections},
        }

    def as_text(self) -> str:
        """Return the text of a file of results."""
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _as_json(cell: Cell) -> Any:
    """Return a cell as JSON, which has no word for infinity."""
    if isinstance(cell, Figure):
        return {key: _as_json(value) for key, value in cell.as_json().items()}
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    return cell

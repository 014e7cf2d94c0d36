"""Reports as JSON and as tables."""

import io
import json

import pytest
from rich.console import Console

from unlearnspn.bench.figures import Figure, at_least, at_most
from unlearnspn.bench.machine import Machine
from unlearnspn.bench.printing import print_end, print_section
from unlearnspn.bench.reports import Column, Report, Section


@pytest.fixture
def report():
    columns = [Column("data", "data set"), Column("ratio", "ratio", 1), Column("never", "never measured")]
    rows = [
        {"data": "good", "ratio": Figure(31.0, 2.0, at_least(30.0))},
        {"data": "bad", "ratio": Figure(1.5, None, at_most(1.0)), "hidden": float("-inf")},
        {"data": "free", "ratio": 1234567.0},
    ]
    section = Section("ratios", "Ratios", columns, rows, ["a note"])
    return Report("sample", {"seeds": 2}, Machine.here(), [section], ["adult: no file"])


def printed(show):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    show(console)
    return console.file.getvalue()


def test_the_document_says_what_was_measured_where_and_with_what(report):
    document = json.loads(report.as_text())
    assert list(document) == [
        *("format", "version", "benchmark", "parameters", "machine", "left_out", "targets", "sections")
    ]
    assert document["targets"] == {"reached": 1, "of": 2}
    assert document["machine"]["versions"]["numpy"]
    good, bad, free = document["sections"]["ratios"]["rows"]
    assert good["ratio"] == {"value": 31.0, "std": 2.0, "target": {"bound": 30.0, "at_least": True}, "reached": True}
    assert bad["hidden"] == "-inf"
    assert free["ratio"] == 1234567.0


def test_a_table_shows_targets_and_leaves_out_what_was_not_measured(report):
    text = printed(lambda console: print_section(console, report.sections[0]))
    assert "31.0 ± 2.0" in text
    assert "≥ 30 reached" in text
    assert "≤ 1 MISSED" in text
    assert "1,234,567.0" in text
    assert "a note" in text
    assert "never measured" not in text
    assert "hidden" not in text


def test_the_end_names_what_was_left_out(report):
    text = printed(lambda console: print_end(console, report))
    assert "left out: adult: no file" in text
    assert "1 of 2 targets reached" in text

from __future__ import annotations

import pytest

from command_line import runner
from unlearnspn import __version__
from unlearnspn.cli import app


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert (result.exit_code, result.output.strip()) == (0, f"unlearnspn {__version__}")


@pytest.mark.parametrize("name", ["demo", "init", "certificate"])
def test_help_lists_subcommands(name: str) -> None:
    assert f" {name} " in runner.invoke(app, ["--help"]).output


def test_options_of_a_subcommand_are_not_those_of_the_program() -> None:
    assert runner.invoke(app, ["--removals", "3"]).exit_code == 2

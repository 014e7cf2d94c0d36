"""Running the command line in tests: in this process, as plain text of one width."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from unlearnspn.cli import app

runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "FORCE_COLOR": None, "GITHUB_ACTIONS": None})


def run(*arguments: str, code: int = 0) -> Any:
    """Run a command, and check its exit code; an error must be one message on stderr and nothing else."""
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == code, (arguments, result.exit_code, result.output)
    assert "Traceback" not in result.output
    if code not in (0, 1, 2):
        assert result.stdout == "" or code == 7
        assert result.stderr.startswith('{"error": ' if "--json" in arguments else "unlearnspn: ")
        assert result.stderr.count("\n") == 1
    return result


def run_json(*arguments: str, code: int = 0) -> Any:
    """Run a command with --json, and return its result."""
    return json.loads(run(*arguments, "--json", code=code).stdout)

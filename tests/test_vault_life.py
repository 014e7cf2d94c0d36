"""The page about the life of a vault: its commands are run in order, and what they print is compared."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from command_line import run

PAGE = Path(__file__).parents[1] / "docs" / "vault-life.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands() -> list[tuple[str, int, str]]:
    """Return each command of the page, the exit code that it is to have, and what it is to print."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            code = re.search(r"# exit (\d+)$", command)
            found.append((command, int(code[1]) if code else 0, output))
    return found


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [program] = blocks("python")
    exec(compile(program, str(PAGE), "exec"), {})
    checker = doctest.OutputChecker()
    for command, code, wanted in commands():
        name, *arguments = shlex.split(command, comments=True)
        assert name == "unlearnspn"
        result = run(*arguments, code=code)
        if wanted:
            example = doctest.Example(command, wanted)
            assert checker.check_output(wanted, result.stdout, FLAGS), (
                command + "\n" + checker.output_difference(example, result.stdout, FLAGS)
            )
    assert "c-1042" not in (tmp_path / "removal.html").read_text("utf-8")
    assert (tmp_path / "people.uspn.key").stat().st_mode & 0o077 == 0


def test_the_page_shows_every_command_that_ends_by_itself_but_demo() -> None:
    shown = {shlex.split(command)[1] for command, _, _ in commands()}
    from unlearnspn.cli import app

    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    names |= {str(group.name) for group in app.registered_groups}
    assert names - shown == {"demo", "serve"}

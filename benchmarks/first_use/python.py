"""An interpreter with a version of the library, of which each call starts a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_PROCESS = Path(__file__).with_name("process.py")
_COMMAND_LINE = "from unlearnspn.cli import app; app()"


@dataclass(frozen=True)
class Python:
    """An interpreter; None is this one."""

    path: Path | None

    def ask(self, *arguments: str) -> dict[str, float]:
        """Return the figures of `process.py`."""
        figures: dict[str, float] = json.loads(self._run(str(_PROCESS), *arguments))
        return figures

    def command(self, *arguments: str) -> float:
        """Run a command of `unlearnspn`, and return the CPU seconds of its process."""
        before = os.times()
        self._run("-c", _COMMAND_LINE, *arguments)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def _run(self, *arguments: str) -> str:
        """Run it with the packages of its own environment only, and none of the current folder.

        Modules are kept as bytecode, as they are where the package was installed.
        """
        left_out = {"PYTHONDONTWRITEBYTECODE"} | ({"PYTHONPATH"} if self.path else set())
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        command = [str(self.path or sys.executable), "-P", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

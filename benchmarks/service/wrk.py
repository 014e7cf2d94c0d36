"""The load of wrk, a generator of HTTP loads in C that takes little of the machine from the service."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from benchmarks.service.loads import Answered, Removal, States, Target

_SCRIPT = Path(__file__).with_name("wrk.lua")
#: Before this line wrk says what it has found to people, after it the script says it to us.
_MARK = "-- for the benchmark --\n"
#: Why a machine has no figures by wrk.
MISSING = "wrk, which is not on the PATH (a package of Debian, Fedora and Homebrew)"


class Summary:
    """The figures of wrk, and the different answers that it got."""

    def __init__(self, printed: str) -> None:
        figures, *bodies = printed.split(_MARK)[1].splitlines()
        found = json.loads(figures)
        self.number = int(found["number"])
        self.span = found["span_us"] / 1e6
        self.median_ms, self.p99_ms = found["median_us"] / 1e3, found["p99_us"] / 1e3
        self.failed = int(found["failed"])
        self.answers: States = [json.loads(body)["log_densities"] for body in bodies]
        if self.number > self.failed and not self.answers:
            raise RuntimeError("wrk got answers, and its script kept none")

    def count_wrong(self, removals: list[Removal], states: States) -> int:
        """Return how many different answers are those of no state of the phase."""
        return sum(answer not in states for answer in self.answers)


class Wrk:
    """The load of wrk."""

    key = "wrk"
    title = "load by wrk"
    note = "the different answers that wrk got are compared, to the last bit, with all states of their phase"

    @staticmethod
    def is_here() -> bool:
        """Return whether wrk can be run."""
        return shutil.which("wrk") is not None

    def command(self, target: Target, seconds: float) -> list[str]:
        """Return the command that asks. One thread of wrk is far from busy with what the service answers."""
        options = ["--threads", "1", "--connections", str(target.clients), "--duration", f"{round(seconds)}s"]
        url = f"http://{target.host}:{target.port}/api/v1/model/score"
        return ["wrk", *options, "--timeout", "30s", "--script", str(_SCRIPT), url, str(target.body), target.token]

    def read(self, printed: str) -> Answered:
        """Return what wrk and its script have printed."""
        return Summary(printed)

"""What puts load on the service, and what comes of it: the same for our own clients and for wrk."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol


class Target(NamedTuple):
    """Which service is asked, with which token, for the scores of which rows, by how many clients."""

    host: str
    port: int
    token: str
    #: A file that holds the body of the request.
    body: Path
    clients: int


class Removal(NamedTuple):
    """A removal, and when it was asked for and answered, by the clock of the machine."""

    record: str
    asked: float
    answered: float


#: The rows' log-densities before, between and after some removals.
States = list[list[float | None]]


class Answered(Protocol):
    """The answers that clients got in one phase."""

    number: int
    #: From the first question to the last answer, in seconds.
    span: float
    median_ms: float
    p99_ms: float
    failed: int

    def count_wrong(self, removals: list[Removal], states: States) -> int:
        """Return how many answers no state explains that there was when they were given."""


class Load(Protocol):
    """A process that asks for some seconds and prints what it was answered."""

    key: str
    title: str
    note: str

    def command(self, target: Target, seconds: float) -> list[str]:
        """Return the command that asks."""

    def read(self, printed: str) -> Answered:
        """Return what the process has printed."""

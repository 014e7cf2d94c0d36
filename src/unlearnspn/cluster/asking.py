"""Asking all shards: questions that take several rounds, many of them together.

A question is a generator: it yields what it asks, is sent the answers of all shards, and returns what it finds. The
questions of a level are asked in step, so that a round is one message to each shard, however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from unlearnspn.progress import Progress

T = TypeVar("T")


class Ask(NamedTuple):
    """Asks each shard to call one of its methods; all get the same arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


Question = Generator[Ask, list[Any], T]


#: What it is called that shards are asked.
_WORDS = {
    "read": "reading partitions",
    "open": "taking values over",
    "split_keys": "comparing ids",
    "survey": "finding categories",
    "answer_column": "laying bins",
    "recode": "coding values",
    "tally": "counting values",
    "count_hub": "testing independence",
    "propose_seed": "picking seeds",
    "sum_around": "clustering",
    "label": "clustering",
    "learn_factors": "learning leaves",
    "of_member": "learning members",
}


class Steps:
    """Tells whoever waits what the shards are asked, and how many cells of the table are settled."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._n_settled = self._n_cells = 0

    def asked(self, method: str) -> None:
        """Tell what the shards are asked now."""
        if self._progress is not None:
            self._progress(_WORDS.get(method, "counting codes"), self._n_settled, self._n_cells)

    def settled(self, n_settled: int, n_cells: int) -> None:
        """Note how many cells are in parts of the network that are learned, and how many there are."""
        self._n_settled, self._n_cells = n_settled, n_cells


class Shards(Protocol):
    """The shards that hold the records, wherever they are."""

    #: Told of each round.
    steps: Steps

    @property
    def number(self) -> int:
        """How many there are."""

    def ask(self, asks: Sequence[Ask]) -> list[list[Any]]:
        """Return the answers to each of some asks, in the order of the shards: one round."""

    def tell(self, method: str, by_shard: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some shards, each with arguments of its own; return what they answer."""

    def exchange(self, give: Ask, take: Ask) -> list[Any]:
        """Have each shard give one piece to every shard, then have each `take` these, its last argument.

        Pieces go from worker to worker; what comes back is what `take` returns.
        """

    def new_number(self) -> int:
        """Return a number that nothing else has: for what shards are to note."""

    def release(self, number: int) -> None:
        """Have shards forget what they have noted under a number, with the next round."""

    def close(self) -> None:
        """Let the shards go."""

    def give_up(self, reason: str) -> None:
        """Ask no more: what the shards hold is not what it should be."""


def ask_together(shards: Shards, questions: Sequence[Question[T]]) -> list[T]:
    """Return what each question finds; a round asks those of all that are still open."""
    found: dict[int, T] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(questions)))
    while answers:
        asks: dict[int, Ask] = {}
        for place, answer in answers.items():
            try:
                asks[place] = questions[place].send(answer)
            except StopIteration as stop:
                found[place] = stop.value
        answers = dict(zip(asks, shards.ask(list(asks.values())), strict=True)) if asks else {}
    return [found[place] for place in range(len(questions))]


def added(parts: Sequence[Any]) -> Any:
    """Return the sum of arrays, or of numbers, that shards have counted."""
    return sum(parts[1:], parts[0])


def ask_one(shards: Shards, question: Question[T]) -> T:
    """Return what one question finds."""
    return ask_together(shards, [question])[0]


class Unanswered(Exception):  # a signal within this package, not an error
    """Something was asked that nobody knows yet: what it is called, and the question that finds it."""

    def __init__(self, name: str, question: Callable[[], Question[Any]]) -> None:
        super().__init__(name)
        self.name = name
        self.question = question


class Answers:
    """What is known so far; who asks for something else is stopped by `Unanswered`."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def get(self, name: str, question: Callable[[], Question[T]]) -> T:
        """Return what is known by some name."""
        if name not in self._known:
            raise Unanswered(name, question)
        known: T = self._known[name]
        return known

    def completing(self, decide: Callable[[], T]) -> Question[T]:
        """Return what a decision is, asking for what it turns out to need; it is made again each time."""
        while True:
            try:
                return decide()
            except Unanswered as unanswered:
                self._known[unanswered.name] = yield from unanswered.question()

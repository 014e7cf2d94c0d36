"""Shards in this very process: for tests, and to see what a round costs without a network."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from unlearnspn.cluster.asking import Ask, Steps
from unlearnspn.cluster.ensemble_shard import EnsembleShard
from unlearnspn.errors import WorkerLostError


class InProcessShards:
    """Some shards, asked one after another; what goes to them and comes back is pickled, as on its way elsewhere."""

    def __init__(self, shards: Sequence[EnsembleShard]) -> None:
        self._shards = list(shards)
        self._numbers = count()
        self._released: list[int] = []
        self._lost = ""
        self.steps = Steps()
        #: How many rounds there were, and how many bytes went to shards and came back.
        self.n_rounds = self.n_bytes = 0

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._shards)

    def ask(self, asks: Sequence[Ask]) -> list[list[Any]]:
        """Return the answers to each of some asks, in the order of the shards: one round."""
        self._begin_round()
        self.steps.asked(asks[0].method)
        released, self._released = self._released, []
        sent = self._sent(([tuple(ask) for ask in asks], released))
        by_shard = [self._sent(shard.answer(*pickle.loads(sent))) for shard in self._shards]
        return [list(answers) for answers in zip(*map(pickle.loads, by_shard), strict=True)]

    def tell(self, method: str, by_shard: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some shards, each with arguments of its own; return what they answer."""
        self._begin_round()
        return {
            number: pickle.loads(self._sent(getattr(self._shards[number], method)(*pickle.loads(self._sent(own)))))
            for number, own in by_shard.items()
        }

    def exchange(self, give: Ask, take: Ask) -> list[Any]:
        """Have each shard give one piece to every shard, then have each `take` its pieces."""
        self._begin_round()
        given = [getattr(shard, give.method)(*pickle.loads(self._sent(give.arguments))) for shard in self._shards]
        takers: list[Callable[..., Any]] = [getattr(shard, take.method) for shard in self._shards]
        own = [[pieces[number] for pieces in given] for number in range(self.number)]
        return [taker(*take.arguments, pieces) for taker, pieces in zip(takers, own, strict=True)]

    def new_number(self) -> int:
        """Return a number that nothing else has: for what shards are to note."""
        return next(self._numbers)

    def release(self, number: int) -> None:
        """Have shards forget what they have noted under a number, with the next round."""
        self._released.append(number)

    def close(self) -> None:
        """Let the shards go."""
        self._shards.clear()

    def give_up(self, reason: str) -> None:
        """Ask no more: what the shards hold is not what it should be."""
        self._lost = self._lost or reason

    def _begin_round(self) -> None:
        if self._lost:
            raise WorkerLostError(f"{self._lost}: load the model from its folder, or fit it again")
        self.n_rounds += 1

    def _sent(self, what: Any) -> bytes:
        sent = pickle.dumps(what)
        self.n_bytes += len(sent)
        return sent

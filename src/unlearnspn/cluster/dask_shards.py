"""Shards on the workers of a Dask cluster: an actor each, which calls of the coordinator reach directly.

What goes to and fro is pickled here, so that arrays can be written to where they arrive, and bytes can be counted. A
worker that is lost takes its records with it: from then on every question raises `WorkerLostError`.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count, zip_longest
from threading import Lock
from typing import Any, NamedTuple, cast

from distributed import Client, get_worker

from unlearnspn.cluster.asking import Ask, Steps
from unlearnspn.cluster.ensemble_shard import EnsembleShard
from unlearnspn.cluster.reading import Part
from unlearnspn.errors import WorkerLostError

_PROTOCOL = pickle.HIGHEST_PROTOCOL
#: After so many seconds one looks whether it still makes sense to wait.
_A_WHILE = 1.0


class _Failure(NamedTuple):
    """What a shard raised, told apart from what goes wrong on the way."""

    error: Exception


class ShardActor:
    """Holds a shard on a worker, and hands pieces to the shards of others."""

    def __init__(self, number: int) -> None:
        self._shard = EnsembleShard(number)
        self._pieces: list[bytes] = []
        self._is_closed = False

    def add(self, number: int, key: Any) -> bytes:
        """Take over the table of a partition, and its classes if there are any, which are on this worker."""
        # Were they arguments of a task, the scheduler would keep how they came about as long as there is the actor.
        self._shard.add(Part(number, *cast(tuple[Any, ...], get_worker().data[key])))
        return pickle.dumps(None, _PROTOCOL)

    def call(self, sent: bytes) -> bytes:
        """Call a method of the shard."""
        method, arguments = pickle.loads(sent)
        try:
            answer = getattr(self._shard, method)(*arguments)
        except Exception as error:
            answer = _Failure(error)
        return pickle.dumps(answer, _PROTOCOL)

    def give(self, sent: bytes) -> bytes:
        """Get pieces ready for all shards."""
        method, arguments = pickle.loads(sent)
        try:
            self._pieces = [pickle.dumps(piece, _PROTOCOL) for piece in getattr(self._shard, method)(*arguments)]
        except Exception as error:
            return pickle.dumps(_Failure(error), _PROTOCOL)
        return pickle.dumps(None, _PROTOCOL)

    async def piece(self, number: int) -> bytes:
        """Return the piece for a shard; answered while this one works, for it waits for pieces itself."""
        return self._own_piece(number)

    def take(self, sent: bytes) -> bytes:
        """Fetch the pieces of all shards, and call a method of this one with them."""
        method, arguments, givers = pickle.loads(sent)
        number = self._shard.number
        asked = [
            self._own_piece(number) if place == number else giver.piece(number) for place, giver in enumerate(givers)
        ]
        pieces = [pickle.loads(piece if isinstance(piece, bytes) else self._fetched(piece)) for piece in asked]
        return self.call(pickle.dumps((method, (*arguments, pieces)), _PROTOCOL))

    async def close(self) -> bytes:
        """Hold nothing any more, and wait for nobody; answered while this one works."""
        self._shard, self._pieces, self._is_closed = EnsembleShard(self._shard.number), [], True
        return pickle.dumps(None, _PROTOCOL)

    def _fetched(self, piece: Any) -> bytes:
        """Wait for a piece; if the worker that has it is lost, Dask may wait for ever, and whoever comes next, too."""
        while True:
            try:
                fetched: bytes = piece.result(timeout=_A_WHILE)
                return fetched
            except TimeoutError:
                if piece.done() or self._is_closed or self not in get_worker().state.actors.values():
                    raise

    def _own_piece(self, number: int) -> bytes:
        piece, self._pieces[number] = self._pieces[number], b""
        return piece


class DaskShards:
    """Shards that are asked through a client."""

    def __init__(self, client: Client, workers: Sequence[str]) -> None:
        #: Held as long as the shards are to be there.
        self._futures = [
            client.submit(ShardActor, number, actor=True, pure=False, workers=[worker], allow_other_workers=True)
            for number, worker in enumerate(workers)
        ]
        try:
            self._actors = [future.result() for future in self._futures]
        except Exception as error:
            raise WorkerLostError(
                f"a worker of the cluster was lost before it held anything: try again ({error})"
            ) from error
        self._numbers = count()
        self._released: list[int] = []
        self.steps = Steps()
        self._lock = Lock()
        self._lost = ""
        #: How many rounds there were, how many bytes went to shards and came back, and how many in the largest round.
        self.n_rounds = self.n_bytes = self.most_bytes = 0

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._actors)

    def add(self, by_shard: Sequence[Sequence[tuple[int, Any]]]) -> None:
        """Give partitions to the shards, by number and key, each one that is on its worker."""
        for parts in zip_longest(*by_shard):
            self._call_all({number: ("add", *part) for number, part in enumerate(parts) if part is not None})

    def ask(self, asks: Sequence[Ask]) -> list[list[Any]]:
        """Return the answers to each of some asks, in the order of the shards: one round."""
        self.steps.asked(asks[0].method)
        with self._lock:
            released, self._released = self._released, []
        sent = pickle.dumps(("answer", ([tuple(ask) for ask in asks], released)), _PROTOCOL)
        answers = self._call_all(dict.fromkeys(range(self.number), ("call", sent)))
        return [list(parts) for parts in zip(*answers.values(), strict=True)]

    def tell(self, method: str, by_shard: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some shards, each with arguments of its own; return what they answer."""
        sent = {number: pickle.dumps((method, own), _PROTOCOL) for number, own in by_shard.items()}
        return self._call_all({number: ("call", each) for number, each in sent.items()})

    def exchange(self, give: Ask, take: Ask) -> list[Any]:
        """Have each shard give one piece to every shard, then have each `take` its pieces."""
        self.steps.asked(give.method)
        sent, taken = (pickle.dumps(what, _PROTOCOL) for what in (tuple(give), (*take, self._actors)))
        self._call_all(dict.fromkeys(range(self.number), ("give", sent)))
        return list(self._call_all(dict.fromkeys(range(self.number), ("take", taken))).values())

    def new_number(self) -> int:
        """Return a number that nothing else has: for what shards are to note."""
        return next(self._numbers)

    def release(self, number: int) -> None:
        """Have shards forget what they have noted under a number, with the next round."""
        self._released.append(number)

    def close(self) -> None:
        """Let the shards go."""
        self.give_up("the model was closed")

    def give_up(self, reason: str) -> None:
        """Ask no more: what the shards hold is not what it should be."""
        self._lost = self._lost or reason
        actors: list[Any] = self._actors
        self._actors, self._futures = [], []
        for actor in actors:
            # An actor lives on until cycles that its calls leave behind here are collected.
            with suppress(Exception):  # it may be lost
                actor.close()

    def _awaited(self, answer: Any) -> bytes:
        """Wait for an answer; Dask may wait for ever for that of a worker that is lost."""
        while True:
            try:
                awaited: bytes = answer.result(timeout=_A_WHILE)
                return awaited
            except TimeoutError:
                if answer.done():
                    raise
                self._require_all()

    def _require_all(self) -> None:
        """Raise if a worker is known to be lost, or the shards were let go meanwhile."""
        if self._lost:
            raise ConnectionError(self._lost)
        for number, future in enumerate(self._futures):
            if future.status != "finished":
                raise ConnectionError(f"shard {number} is {future.status}")

    def _call_all(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        if self._lost:
            raise WorkerLostError(f"{self._lost}: load the model from its folder, or fit it again")
        self.n_rounds += 1
        answers: dict[int, Any] = {}
        try:
            self._require_all()
            asked = {
                number: getattr(self._actors[number], method)(*arguments)
                for number, (method, *arguments) in calls.items()
            }
            for number, future in asked.items():
                answers[number] = self._awaited(future)
        except Exception as error:
            self.give_up(f"a worker of the cluster was lost, with the records that it held ({error})")
            raise WorkerLostError(f"{self._lost}: load the model from its folder, or fit it again") from error
        sent = (argument for _, *own in calls.values() for argument in own if type(argument) is bytes)
        n_bytes = sum(map(len, answers.values())) + sum(map(len, sent))
        self.n_bytes, self.most_bytes = self.n_bytes + n_bytes, max(self.most_bytes, n_bytes)
        found = {number: pickle.loads(answer) for number, answer in answers.items()}
        for answer in found.values():
            if isinstance(answer, _Failure):
                raise answer.error
        return found

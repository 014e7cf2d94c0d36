"""One model, many threads: requests take turns, and readers are answered from what was published last.

What is published is one reference, which a request exchanges at its end: readers see the model before or after it, and
never one in between. The circuit is derived when somebody asks for it, so that requests need not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock, get_ident
from typing import Generic, NamedTuple, TypeVar

from unlearnspn.circuit import Circuit

F = TypeVar("F")
T = TypeVar("T")

_NOBODY = 0


class _Edition(NamedTuple, Generic[F]):
    facts: F
    #: None until somebody asks for it.
    circuit: Circuit | None = None


class Publication(Generic[F]):
    """What readers see of a model, and whose turn it is to change it.

    A circuit that is published is not derived again; so as long as there is one, nobody but the one whose turn it is
    looks at the model, and a request may change it while readers are answered. If there is none, whoever derives it
    and whoever changes the model exclude each other.
    """

    def __init__(self, facts: F) -> None:
        self._edition = _Edition(facts)
        #: Held by the one whose turn it is.
        self._turn = Lock()
        #: Held by the one who derives the circuit; or who changes the model while there is none.
        self.derivation = Lock()
        self._owner = _NOBODY
        #: The thread that had the last turn, and whether others have asked since a circuit was last derived for them.
        self._last_owner = get_ident()
        self._is_read = False

    @property
    def facts(self) -> F:
        """What was published beside the circuit."""
        return self._edition.facts

    @property
    def has_turn(self) -> bool:
        """Whether this thread has the turn."""
        return self._owner == get_ident()

    def publish(self, facts: F) -> None:
        """Have readers see the model as it is from now on: the last thing to do in a turn."""
        self._edition = _Edition(facts)

    def circuit(self, derive: Callable[[], Circuit]) -> Circuit:
        """Return the circuit that is published; if there is none, it is derived."""
        circuit = self._edition.circuit
        if get_ident() != self._last_owner:
            self._is_read = True
        if circuit is not None:
            return circuit
        if self.has_turn:
            raise RuntimeError("the model is being changed by the one who asks: ask again when the request is done")
        with self.derivation:
            return self._complete(derive)

    def take_turn(self, derive: Callable[[], Circuit], act: Callable[[], T]) -> T:
        """Do something when nobody else has the turn.

        Where other threads read, the circuit is derived first if there is none: so they need not wait until it is done.
        """
        with self._turn:
            try:
                self._owner = self._last_owner = get_ident()
                with self.derivation:
                    self._prepare(derive)
                    if self._edition.circuit is None:
                        return act()
                return act()
            finally:
                self._owner = _NOBODY

    def _prepare(self, derive: Callable[[], Circuit]) -> None:
        # Asked in this order, nobody can be overlooked who asks meanwhile.
        if self._edition.circuit is None and self._is_read:
            self._is_read = False
            with suppress(Exception):  # which is for those who ask
                self._complete(derive)

    def _complete(self, derive: Callable[[], Circuit]) -> Circuit:
        circuit = self._edition.circuit
        if circuit is None:
            circuit = derive()
            self._edition = _Edition(self._edition.facts, circuit)
        return circuit

"""One model, many threads: requests take turns, and readers are answered from what was published last.

What is published is one reference, which a request exchanges at its end: readers see the model before or after it, and
never one in between. As long as one thread alone uses a model, its circuit is derived when it asks for it. Once another
thread has asked, requests derive it before they publish it, so that readers need not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
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
    and whoever changes the model exclude each other: that is so until another thread asks for the first time.
    """

    def __init__(self, facts: F) -> None:
        self._edition = _Edition(facts)
        #: Held by the one whose turn it is.
        self._turn = Lock()
        #: Held by the one who derives the circuit; or who changes the model while there is none.
        self.derivation = Lock()
        self._owner = _NOBODY
        #: The threads that asked last and had the last turn; and whether these have ever been two.
        self._last_asker: int | None = None
        self._last_owner: int | None = None
        self._is_shared = False

    @property
    def facts(self) -> F:
        """What was published beside the circuit."""
        return self._edition.facts

    @property
    def has_circuit(self) -> bool:
        """Whether a circuit is published, so that nobody waits for one."""
        return self._edition.circuit is not None

    @property
    def has_turn(self) -> bool:
        """Whether this thread has the turn."""
        return self._owner == get_ident()

    def publish(self, facts: F, derive: Callable[[], Circuit]) -> None:
        """Have readers see the model as it is from now on, with its circuit if other threads ask: last in a turn."""
        circuit = None
        try:
            if self._is_shared:
                circuit = derive()
        except Exception:  # whoever asks derives it again, and is told
            pass
        finally:
            self._edition = _Edition(facts, circuit)

    def follow(self, other: Publication[F], derive: Callable[[], Circuit]) -> None:
        """Take the place of what others have asked so far, so that those who do need not wait here either."""
        self._last_asker, self._last_owner = other._last_asker, other._last_owner
        if other._is_shared:
            self._is_shared = True
            self.publish(self.facts, derive)

    def add(self, facts: F) -> None:
        """Tell more of the model that is published."""
        self._edition = self._edition._replace(facts=facts)

    def circuit(self, derive: Callable[[], Circuit]) -> Circuit:
        """Return the circuit that is published; if there is none, it is derived."""
        return self.both(derive)[1]

    def both(self, derive: Callable[[], Circuit]) -> tuple[F, Circuit]:
        """Return what was published together: the facts, and the circuit as `circuit` does."""
        self._last_asker = get_ident()
        self._is_shared |= self._last_owner not in (None, self._last_asker)
        facts, circuit = self._edition
        if circuit is not None:
            return facts, circuit
        if self.has_turn:
            raise RuntimeError("the model is being changed by the one who asks: ask again when the request is done")
        with self.derivation:
            return self._complete(derive)

    def take_turn(self, act: Callable[[], T]) -> T:
        """Do something when nobody else has the turn."""
        with self._turn:
            try:
                self._owner = self._last_owner = get_ident()
                self._is_shared |= self._last_asker not in (None, self._last_owner)
                # Whoever derives the first circuit meanwhile is waited for, or waits.
                with self.derivation if self._edition.circuit is None else nullcontext():
                    return act()
            finally:
                self._owner = _NOBODY

    def _complete(self, derive: Callable[[], Circuit]) -> tuple[F, Circuit]:
        circuit = self._edition.circuit
        if circuit is None:
            circuit = derive()
            self._edition = _Edition(self._edition.facts, circuit)
        return self._edition.facts, circuit

"""A vault that is open: whose turn it is to work on it, and which circuit readers see meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar, cast

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.queries import Queries
from unlearnspn.errors import not_fitted
from unlearnspn.interrupts import Uninterrupted
from unlearnspn.publishing import Publication
from unlearnspn.vault.errors import VaultError
from unlearnspn.vault.home import Home
from unlearnspn.vault.learned import Learned

M = TypeVar("M", bound=Callable[..., Any])
T = TypeVar("T")


def in_turn(method: M) -> M:
    """Have a method wait until no other thread is at work on the vault."""

    @wraps(method)
    def call(vault: OpenVault, *arguments: Any, **named: Any) -> Any:
        return vault.take_turn(lambda: method(vault, *arguments, **named))

    return cast(M, call)


class _Facts(NamedTuple):
    """What is published beside a circuit: which state of the file it is of, for readers, and which entry's."""

    read_at: int
    last_entry: int


class OpenVault(Queries):
    """A vault whose file is open, and which many threads may use: whoever works on it waits for the others."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._publication = Publication(self._facts())
        #: Whether the one whose turn it is has begun to change something, and has not stored it yet.
        self._is_changing = False

    @in_turn
    def close(self) -> None:
        """Close the vault; it is complete on the disk at any time."""
        self._home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take_turn(self, act: Callable[[], T]) -> T:
        """Do something, in several steps perhaps, while no other thread is at work on the vault."""

        def act_and_publish() -> T:
            with Uninterrupted() as uninterrupted:
                try:
                    with uninterrupted.except_here():
                        return act()
                finally:
                    self._publication.publish(self._facts(), self._derive)

        if not self._publication.has_turn:
            return self._publication.take_turn(act_and_publish)
        if self._is_changing:
            raise RuntimeError("the vault is being changed by the one who asks: ask again when the request is done")
        return act()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Throw away what is in memory if a change is not completed, for whatever reason: it may be half made.

        Whoever is told of progress, or gives tables one by one, must not come in between with something else.
        """
        self._is_changing = True
        try:
            yield
        except OSError as error:
            self._home.forget()
            raise VaultError(
                f"cannot write beside {self._home.path}: {error.strerror}; the vault is complete, try again"
            ) from error
        except BaseException:
            self._home.forget()
            raise
        finally:
            self._is_changing = False

    @property
    def circuit_(self) -> Circuit:
        """The circuit that serves the model as it is now; what others have removed meanwhile is not in it."""
        return self.served()[0]

    def served(self) -> tuple[Circuit, int]:
        """Return the circuit that serves, as `circuit_` does, and the number of the ledger's entry when it was made."""
        if self._publication.has_turn:
            return self.take_turn(self._derive), self._home.last_entry
        if not self._home.is_writable and self._home.changes() != self._publication.facts.read_at:
            self.take_turn(self._home.contents)
        facts, circuit = self._publication.both(self._derive)
        return circuit, facts.last_entry

    @property
    def has_circuit(self) -> bool:
        """Whether a circuit is at hand, so that no question waits for a model that is being learned."""
        return self._publication.has_circuit

    def _derive(self) -> Circuit:
        return self._learned().model.circuit

    def _facts(self) -> _Facts:
        return _Facts(self._home.read_at, self._home.last_entry)

    def _learned(self) -> Learned:
        learned = self._home.contents().learned
        if learned is None:
            raise not_fitted("the vault has no model yet: call fit first")
        return learned

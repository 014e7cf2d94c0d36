"""Which entries of the ledger there are for which request: so a change that is asked for twice is made once."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock

from unlearnspn.certificates import Action, Envelope
from unlearnspn.vault import Vault


class LedgerIndex:
    """The entries of a vault's ledger, read once; what is new is read when somebody asks."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._entries: list[Envelope] = []
        self._by_request: defaultdict[str, list[int]] = defaultdict(list)
        self._lock = Lock()

    def entries(self) -> list[Envelope]:
        """Return all entries."""
        self._catch_up()
        with self._lock:
            return list(self._entries)

    def of_request(self, request_id: str, action: Action) -> Envelope | None:
        """Return the last entry of a kind for a request, if there is one."""
        self._catch_up()
        with self._lock:
            entries = [self._entries[number] for number in self._by_request.get(request_id, [])]
        return next((entry for entry in reversed(entries) if entry.statement.action is action), None)

    def _catch_up(self) -> None:
        # Not within the lock: who has the vault's turn may wait for the lock.
        new = self._vault.log(len(self._entries))
        with self._lock:
            for envelope in new:
                statement = envelope.statement
                if statement.link.entry == len(self._entries):
                    self._by_request[statement.request.id].append(statement.link.entry)
                    self._entries.append(envelope)

"""How often somebody may try: sign-ins that fail are counted by name and by address, and soon they must wait."""

from __future__ import annotations

import time
from collections import deque
from threading import Lock

from unlearnspn.service.errors import TooManyAttemptsError

#: Failures within so many seconds: of one name, and of one address.
WINDOW, MOST_BY_NAME, MOST_BY_ADDRESS = 300.0, 5, 20
_MOST_KEYS = 10_000


class Attempts:
    """Failures of the last minutes."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, str], deque[float]] = {}
        self._lock = Lock()

    def require_few(self, name: str, address: str) -> None:
        """Raise if this name or this address has failed too often."""
        now = time.monotonic()
        with self._lock:
            for key, most in ((("name", name), MOST_BY_NAME), (("address", address), MOST_BY_ADDRESS)):
                failures = self._recent(key, now)
                if len(failures) >= most:
                    raise TooManyAttemptsError(1 + int(failures[0] + WINDOW - now))

    def failed(self, name: str, address: str) -> None:
        """Take note of a failure."""
        now = time.monotonic()
        with self._lock:
            if len(self._failures) > _MOST_KEYS:
                self._failures = {key: times for key, times in self._failures.items() if times[-1] > now - WINDOW}
            for key in (("name", name), ("address", address)):
                self._failures.setdefault(key, deque(maxlen=MOST_BY_ADDRESS)).append(now)

    def succeeded(self, name: str) -> None:
        """Forget the failures of a name."""
        with self._lock:
            self._failures.pop(("name", name), None)

    def _recent(self, key: tuple[str, str], now: float) -> deque[float]:
        failures = self._failures.get(key, deque())
        while failures and failures[0] <= now - WINDOW:
            failures.popleft()
        return failures

"""How often somebody may try: sign-ins are counted by name and by address until they succeed, and soon they must wait.

What was typed as a name is kept as a digest: it may be a password in the wrong field, or somebody else's name.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from ipaddress import IPv6Address, ip_address
from threading import Lock

from unlearnspn.service.errors import TooManyAttemptsError

#: Attempts within so many seconds: for one name, and from one address.
WINDOW, MOST_BY_NAME, MOST_BY_ADDRESS = 300.0, 5, 20
_MOST_KEYS = 10_000
#: Whoever has one address of IPv6 has as many as differ in these bits.
_HOST_BITS = 64


class Attempts:
    """Attempts of the last minutes that did not succeed, or not yet."""

    def __init__(self) -> None:
        self._attempts: dict[tuple[str, str], deque[float]] = {}
        self._lock = Lock()

    def begin(self, name: str, address: str) -> None:
        """Count an attempt before it is made, or raise if there were too many with this name or from this address."""
        now = time.monotonic()
        keys = _keys(name, address)
        with self._lock:
            self._forget_old(now)
            for key, most in zip(keys, (MOST_BY_NAME, MOST_BY_ADDRESS), strict=True):
                times = self._attempts.get(key, deque())
                while times and times[0] <= now - WINDOW:
                    times.popleft()
                if len(times) >= most:
                    raise TooManyAttemptsError(1 + int(times[0] + WINDOW - now))
            for key in keys:
                self._attempts.setdefault(key, deque()).append(now)

    def succeeded(self, name: str, address: str) -> None:
        """Forget the attempts for a name, and the last one from an address."""
        by_name, by_address = _keys(name, address)
        with self._lock:
            self._attempts.pop(by_name, None)
            times = self._attempts.get(by_address)
            if times:
                times.pop()

    def _forget_old(self, now: float) -> None:
        if len(self._attempts) > _MOST_KEYS:
            self._attempts = {key: times for key, times in self._attempts.items() if times and times[-1] > now - WINDOW}


def _keys(name: str, address: str) -> tuple[tuple[str, str], tuple[str, str]]:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return ("name", digest), ("address", _network(address))


def _network(address: str) -> str:
    try:
        read = ip_address(address)
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return address
    # Some proxies write addresses of IPv4 like those of IPv6, where all of them would be one network.
    return str(int(read) >> _HOST_BITS if read.ipv4_mapped is None else read.ipv4_mapped)

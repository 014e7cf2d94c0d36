"""Packages that only some benchmarks need."""

from __future__ import annotations

from importlib.util import find_spec


class ExtraMissingError(RuntimeError):
    """A package is not installed that a benchmark needs."""


def require_extra(extra: str, *packages: str) -> None:
    """Raise unless the packages of one of the library's extras are installed.

    >>> require_extra("plot", "json", "no_such_package")
    Traceback (most recent call last):
        ...
    benchmarks.extras.ExtraMissingError: no_such_package is not installed: pip install 'unlearnspn[plot]'
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ExtraMissingError(f"{', '.join(missing)} {verb} not installed: pip install 'unlearnspn[{extra}]'")

"""Libraries that only some sources need: loaded when they are, or named with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unlearnspn.errors import InvalidTableError


def load_library(module: str, purpose: str, extra: str) -> Any:
    """Import a module, or say what has to be installed."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise InvalidTableError(f"{purpose} need {name}: pip install 'unlearnspn[{extra}]'") from error

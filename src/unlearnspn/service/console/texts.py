"""The texts of the console: one file a language; a language is added by adding a file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

DEFAULT = "en"


@cache
def languages() -> dict[str, str]:
    """Return the languages that there are: code and name in the language itself."""
    codes = sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml"))
    return {code: _texts(code)["language"] for code in codes}


def choose_language(chosen: str | None, accepted: str) -> str:
    """Return the language that somebody has chosen, or else the first one that their browser asks for.

    >>> choose_language(None, "fr;q=0.9, de-AT;q=0.8"), choose_language("en", "de"), choose_language("xx", "")
    ('de', 'en', 'en')
    """
    known = languages()
    wanted = [] if chosen is None else [chosen]
    wanted += [part.split(";")[0].strip()[:2].lower() for part in accepted.split(",")]
    return next((code for code in wanted if code in known), DEFAULT)


def text(language: str, name: str, /, **values: Any) -> str:
    """Return a text with values in its places.

    >>> text("en", "inbox.days_left", days=3), text("de", "inbox.days_left", days=3)
    ('3 days left', 'noch 3 Tage')
    """
    return _texts(language)[name].format(**values)


def names(language: str) -> set[str]:
    """Return the names of all texts of a language."""
    return set(_texts(language))


@cache
def _texts(language: str) -> dict[str, str]:
    document = tomllib.loads((_folder() / f"{language}.toml").read_text("utf-8"))
    flat: dict[str, str] = {}
    for name, value in document.items():
        if isinstance(value, str):
            flat[name] = value
        else:
            flat.update({f"{name}.{own}": each for own, each in value.items()})
    return flat


def _folder() -> Any:
    return files("unlearnspn.service.console") / "texts"

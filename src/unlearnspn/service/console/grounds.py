"""The grounds that the law knows for granting a request and for refusing it."""

from __future__ import annotations

from unlearnspn.vault import Wish

#: Article 17(1) of the GDPR: why somebody must be erased. The texts have a sentence on each.
ERASURE = tuple(f"Art. 17(1)({letter})" for letter in "abcdef")

_ALWAYS = ("Art. 12(5)", "Art. 11(2)")
_REFUSALS = {
    Wish.ERASE: (*_ALWAYS, "Art. 17(1)", *(f"Art. 17(3)({letter})" for letter in "abcde")),
    Wish.ACCESS: (*_ALWAYS, "Art. 15(4)"),
    Wish.CORRECT: (*_ALWAYS, "Art. 16"),
}
ALL = frozenset(ERASURE).union(*_REFUSALS.values())


def refusals(wishes: frozenset[Wish]) -> list[str]:
    """Return the grounds for refusing requests of some kinds."""
    return list(dict.fromkeys(ground for wish in Wish if wish in wishes for ground in _REFUSALS[wish]))

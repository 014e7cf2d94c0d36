"""Who may do what: scopes, and the roles that stand for some of them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from unlearnspn.service.errors import InvalidInputError


class Scope(StrEnum):
    """Something that a user or a service token may do."""

    READ_REQUESTS = "requests:read"
    #: File requests, verify identities, extend, deny, hold.
    WRITE_REQUESTS = "requests:write"
    #: Erase, which nobody can undo.
    ERASE = "records:erase"
    #: See what is held on a person.
    READ_RECORDS = "records:read"
    #: Add and correct records, learn the model anew.
    WRITE_RECORDS = "records:write"
    READ_LEDGER = "ledger:read"
    VERIFY = "vault:verify"
    #: Ask the model.
    QUERY = "model:query"
    METRICS = "metrics:read"
    READ_AUDIT = "audit:read"
    #: Users and tokens.
    WRITE_PEOPLE = "people:write"


class Role(StrEnum):
    """A role of users."""

    OFFICER = "officer"
    #: Reads and verifies, and changes nothing.
    AUDITOR = "auditor"


SCOPES_OF_ROLES = {
    Role.OFFICER: frozenset(Scope),
    Role.AUDITOR: frozenset(
        {Scope.READ_REQUESTS, Scope.READ_LEDGER, Scope.VERIFY, Scope.QUERY, Scope.METRICS, Scope.READ_AUDIT}
    ),
}
#: What tokens of other systems may be given: all but what is for people.
SCOPES_OF_TOKENS = frozenset(Scope) - {Scope.WRITE_PEOPLE, Scope.READ_AUDIT}


def read_role(text: str) -> Role:
    """Return a role by its name."""
    try:
        return Role(text)
    except ValueError as error:
        raise InvalidInputError(f"{text!r} is no role: choose one of {', '.join(Role)}") from error


def read_scopes(texts: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes of a token by their names."""
    names = list(texts)
    wrong = sorted(set(names) - SCOPES_OF_TOKENS)
    if wrong or not names:
        allowed = ", ".join(sorted(SCOPES_OF_TOKENS))
        instead = f"; not {wrong[0]!r}" if wrong else ""
        raise InvalidInputError(f"a token needs scopes, of these: {allowed}{instead}")
    return frozenset(map(Scope, names))

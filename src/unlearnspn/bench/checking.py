"""No time counts before what was timed is known to be right."""

from __future__ import annotations

from unlearnspn import SPN


class NotRetrainedError(RuntimeError):
    """A removal gave another model than training without the records does."""


def require_equal(unlearned: SPN, retrained: SPN, when: str) -> None:
    """Raise unless both digests of a model are those of the one trained on the records that are left."""
    for name in ("digest", "state_digest"):
        if getattr(unlearned, name)() != getattr(retrained, name)():
            raise NotRetrainedError(f"{when}: the {name} is not that of the retrained model")

"""No time counts before what was timed is known to be right."""

from __future__ import annotations

from typing import NamedTuple

from unlearnspn import SPN


class NotRetrainedError(RuntimeError):
    """A removal gave another model than training without the records does."""


class Digests(NamedTuple):
    """What a model was at some moment."""

    model: str
    state: str

    @classmethod
    def of(cls, spn: SPN) -> Digests:
        """Return the digests of a model as it is now."""
        return cls(spn.digest(), spn.state_digest())


def require_equal(unlearned: Digests, retrained: Digests, when: str) -> None:
    """Raise unless both digests of a model are those of the one trained on the records that are left."""
    for name, one, other in zip(Digests._fields, unlearned, retrained, strict=True):
        if one != other:
            raise NotRetrainedError(f"{when}: the digest of the {name} is not that of the retrained model")

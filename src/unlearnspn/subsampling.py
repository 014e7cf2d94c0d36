"""Which members of an ensemble hold which records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unlearnspn.hashing import derive_key
from unlearnspn.ids import RecordId, record_keys
from unlearnspn.mixing import mix_keys

#: More would fit into no file's header, and help nobody.
MOST_MEMBERS = 1000


@dataclass(frozen=True)
class Subsampling:
    """A share of the records for each member, drawn by the records' ids: whatever else there is or was, and when.

    >>> Subsampling(0, 3, 0.5).holders([1, 2]).shape
    (3, 2)
    """

    seed: int
    n_members: int
    #: The probability with which a member holds a record; above 0, at most 1.
    share: float

    def member_seed(self, member: int) -> int:
        """Return the seed of a member."""
        return derive_key(self.seed, "member", member.to_bytes(4, "little"))

    def holders(self, ids: Sequence[RecordId]) -> npt.NDArray[np.bool_]:
        """Tell which members hold which records, [member, record]; each record is held by one at least.

        A record that no member draws goes to the one that came nearest.
        """
        keys = record_keys(ids)
        salts = [derive_key(self.member_seed(member), "draw") for member in range(self.n_members)]
        draws = np.stack([mix_keys(keys, np.uint64(salt)) for salt in salts])
        held = draws <= np.uint64(max(int(self.share * 2.0**64), 1) - 1)
        held[draws.argmin(axis=0), np.arange(len(keys))] = True
        return held

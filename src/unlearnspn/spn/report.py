"""What a request did: how much it touched, what it changed, and the digests before and after."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.spn.operations import Operation


@dataclass(frozen=True)
class ChangedOperation:
    """A node whose operation is another one now."""

    address: str
    before: Operation
    after: Operation

    def __str__(self) -> str:
        return f"{self.address}: {self.before} → {self.after}"


@dataclass(frozen=True)
class Report:
    """The report of a removal, an addition or a correction.

    A corrected record counts as removed and added.
    """

    records_removed: int
    records_added: int
    nodes_visited: int
    subnetworks_learned: int
    rows_moved: int
    changed_operations: tuple[ChangedOperation, ...]
    #: The coding of the values itself changed, hence everything was learned anew.
    recoded: bool
    seconds: float
    digest_before: str
    digest_after: str
    state_digest_before: str
    state_digest_after: str
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would be" if self.dry_run else "were"
        lines = [
            f"records that {verb} removed: {self.records_removed}, added: {self.records_added} "
            f"({self.seconds * 1e3:.2f} ms)",
            "the coding of the values changed, so everything was learned anew"
            if self.recoded
            else f"nodes visited: {self.nodes_visited}, sub-networks learned anew: {self.subnetworks_learned}, "
            f"rows moved between clusters: {self.rows_moved}",
            *(f"changed {change}" for change in self.changed_operations),
            f"model digest {self.digest_before[:16]}… → {self.digest_after[:16]}…",
            f"state digest {self.state_digest_before[:16]}… → {self.state_digest_after[:16]}…",
        ]
        return "\n".join(lines)

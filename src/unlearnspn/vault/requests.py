"""What is asked of a vault, read and checked before anything is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from unlearnspn.certificates import Item, Kind
from unlearnspn.errors import UnknownRecordError, listing
from unlearnspn.ids import RecordId, read_ids, require_unique
from unlearnspn.vault.contents import Contents
from unlearnspn.vault.errors import InboxError, ReturningRecordError
from unlearnspn.vault.forms import Batch, Form, read_subject
from unlearnspn.vault.inbox import Wish


def read_batch(contents: Contents, table: Any, ids: Any, subjects: Any, correction: bool = False) -> tuple[Form, Batch]:
    """Read a table for a vault; the form is another one afterwards if it tells more of a column that was empty.

    A correction has just the columns that change.
    """
    if contents.form is None:
        return Form.first(table, ids, subjects)
    form, batch = contents.form.read(table, ids, subjects, _held_by(contents) if correction else None)
    if contents.learned is not None:
        model = contents.learned.model
        model.settings.schema.check(batch.table)
        model.check_support(batch.table)
    return form, batch


def _held_by(contents: Contents) -> Callable[[list[RecordId]], Batch]:
    def held(ids: list[RecordId]) -> Batch:
        require_held(contents, ids)
        return contents.held(ids)

    return held


def records_to_remove(
    contents: Contents, ids: Any, subject: Any, missing: Literal["error", "ignore"]
) -> tuple[list[RecordId], list[Item]]:
    """Return which records are to be removed, and what the certificate commits to."""
    if (ids is None) == (subject is None):
        raise ValueError("say either which ids are to be removed, or whose records")
    if missing not in ("error", "ignore"):
        raise ValueError(f"missing={missing!r} is neither 'error' nor 'ignore'")
    if subject is not None:
        name = read_subject(subject)
        names = [] if name is None else contents.of_subject(name)
        if not names:
            raise UnknownRecordError(f"there are no records of the subject {subject!r}")
        return names, [Item(Kind.SUBJECT, str(name)), *(Item(Kind.RECORD, item) for item in names)]
    names = read_ids(ids)
    require_unique(names)
    if missing == "ignore":
        names = [item for item, there in zip(names, contents.holds(names), strict=True) if there]
    require_held(contents, names)
    if not names:
        raise UnknownRecordError("none of these records is there, so there is nothing to remove")
    return names, [Item(Kind.RECORD, item) for item in names]


def require_held(contents: Contents, ids: Sequence[RecordId]) -> None:
    """Raise if some ids are nobody's, and name them."""
    unknown = [item for item, there in zip(ids, contents.holds(ids), strict=True) if not there]
    if unknown:
        raise UnknownRecordError(f"there are no records with these ids: {listing(unknown)}")


def refuse_held_back(contents: Contents, subjects: set[str]) -> None:
    """Raise if the law has records kept that are to be removed."""
    holds = contents.inbox.held(subjects)
    if holds:
        raise InboxError(
            f"there is a legal hold on {listing(hold.subject for hold in holds)}: nothing was removed; lift it first"
        )


def refuse_taken_away(contents: Contents, batch: Batch) -> None:
    """Raise if a correction gives records to somebody else that the law has kept with whom they belong to."""
    if contents.inbox.holds():
        owners = zip(contents.held(batch.ids).subjects, batch.subjects, strict=True)
        refuse_held_back(contents, {before for before, after in owners if before is not None and before != after})


def refuse_unanswered(contents: Contents, batch: Batch) -> None:
    """Raise if a correction leaves somebody without records whose request to be erased has no answer yet."""
    corrected = set(batch.ids)
    for request in contents.inbox.requests():
        subject = request.subject
        if request.wish is not Wish.ERASE or not request.is_open or subject is None or subject in batch.subjects:
            continue
        own = contents.of_subject(subject)
        if own and corrected.issuperset(own):
            raise InboxError(
                f"request {request.id!r} to erase the records of {subject!r} is open, and after this correction there "
                "would be none: nothing was changed; answer the request first"
            )


def refuse_returning(contents: Contents, batch: Batch, allowed: bool) -> None:
    """Tell that removed ids or subjects come back, unless that is allowed."""
    if allowed:
        return
    subjects = {subject for subject in batch.subjects if subject is not None}
    items = [Item(Kind.RECORD, item) for item in batch.ids] + [Item(Kind.SUBJECT, name) for name in sorted(subjects)]
    found = contents.guard.returning(items)
    if found:
        named = listing(f"{item.kind} {item.id}" for item in found)
        raise ReturningRecordError(
            f"these were removed before and would come back: {named}; leave them out, or allow it if they may"
        )

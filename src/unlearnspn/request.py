"""One request to a model on its way: the network is changed first, then the records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from unlearnspn.coding import Encoding
from unlearnspn.rare_categories import Change
from unlearnspn.records import Records, Staged
from unlearnspn.slices import Rows
from unlearnspn.spn.change import Change as NodeChange
from unlearnspn.spn.derive import Derivation
from unlearnspn.spn.learner import Learner
from unlearnspn.table_size import sized_alike

if TYPE_CHECKING:
    from unlearnspn.model import Model


class Request:
    """One change on its way: the network is changed first, then the records; until then all can be taken back.

    Where the coding of the values itself changes, everything is learned anew: on the same records with new codes, or,
    where codes have to be given out anew, or bins are to be finer or coarser, on fresh ones. So it is where leaves are
    to be of another size.
    """

    digests: tuple[str, str]

    def __init__(self, model: Model, staged: Staged, change: Change) -> None:
        self.model = model
        self.staged = staged
        self.change = change
        self.recoded = False
        self._records: Records | None = None
        self._fresh: Model | None = None
        self._learner = model.learner
        n_records = len(model.records)
        self._n_records = n_records - staged.minus.size + staged.plus.size
        #: Whether leaves and bins are to be of the size that they have.
        self._sized_alike = sized_alike(n_records, self._n_records)
        self._root_before = model.root
        self.revision = model.learner.holder.revision(model.learner)

    def carry_out(self, interruptible: Callable[[], AbstractContextManager[None]]) -> None:
        """Bring the network to where the change leads; where that takes long Ctrl-C may come."""
        self.revision.interruptible = interruptible
        model, staged, records = self.model, self.staged, self.model.records
        encoding = staged.encoding
        afresh = self._rebinned() or (encoding is not records.encoding and encoding.crowded)
        self.recoded = afresh or not self._coded_alike()
        if afresh:
            with interruptible():
                self._learn_afresh(records.rows_after(staged.minus, staged.plus))
            return
        if self.recoded:
            self._learn_recoded(records.rows_after(staged.minus, staged.plus))
        else:
            self._revise()
        self.digests = model.digest_as(self._learner, staged.totals, staged.multiset, self.change)

    def _rebinned(self) -> bool:
        """Tell whether so many records are to have other bins than they had."""
        if self._sized_alike:
            return False
        records = self.model.records
        n_bins = self.model.settings.n_bins_among(self._n_records)
        return n_bins != records.n_bins and bool(records.is_numeric.any())

    def _coded_alike(self) -> bool:
        """Tell whether the values have the codes that they had."""
        staged, records = self.staged, self.model.records
        return staged.encoding is records.encoding or staged.encoding.codes_like(records.encoding)

    def _revise(self) -> None:
        model, staged, records = self.model, self.staged, self.model.records
        if staged.encoding is not records.encoding:
            # What is about to vanish must still be known while it is taken out.
            passing = staged.encoding.coming_from(records.encoding)
            self.revision.learner = self._learner_of(records, passing)
            self._learner = self._learner_of(records, staged.encoding)
        elif staged.plus.size:
            # Room may have been made for new records.
            self._learner = self.revision.learner = self._learner_of(records, records.encoding)
        minus, plus = (rows if rows.size < 2 else np.sort(rows) for rows in (staged.minus, staged.plus))
        change = NodeChange(minus, plus, lambda: records.rows_after(minus, plus))
        if self._sized_alike or model.settings.learns_alike(len(records), self._n_records):
            model.root = self.revision.unlearn_spn(model.root, change)
        else:
            self._learner = self.revision.learner = self._learner_of(records, staged.encoding)
            model.root = self.revision.learn_anew(model.root, change)

    def _learner_of(self, records: Records, encoding: Encoding) -> Learner:
        """Return the learner for as many records as there will be."""
        return self.model.learner_of(records, encoding, self._n_records)

    def _learn_recoded(self, rows: Rows) -> None:
        self._records = self.model.records.recoded(self.staged)
        self._learner = self.revision.learner = self._learner_of(self._records, self.staged.encoding)
        change = NodeChange(self.staged.minus, self.staged.plus, lambda: rows)
        self.model.root = self.revision.learn_anew(self.model.root, change)

    def _learn_afresh(self, rows: Rows) -> None:
        """Learn from scratch, staged records among others."""
        model, records = self.model, self.model.records
        self._fresh = model.learn_alike(records.ids_of(rows), records.export(rows, self.staged.encoding))
        # What the network sees has no rare categories, so that nothing more was left out.
        self._fresh.hidden = model.hidden
        fresh, self.revision.subnetworks_learned = self._fresh, self.revision.subnetworks_learned + 1
        self.digests = fresh.digest_as(fresh.learner, fresh.records.totals, fresh.records.multiset, self.change)

    def take_back(self) -> None:
        """Leave everything as it was."""
        self.model.root = self._root_before
        self.revision.take_back()
        self.model.records.discard(self.staged)
        if self.staged.plus.size:
            self.model.look_anew()

    def commit(self) -> None:
        """Make the change real, wipe what it removes, and publish the model as it is then."""
        self._make_real()
        self.model.publish(self._n_records, self.digests)

    def _make_real(self) -> None:
        model = self.model
        model.hidden.change(self.change.drop, self.change.add)
        n_moved = len(self.change.moved)
        model.moved = self.change.moved, self.staged.minus[self.staged.minus.size - n_moved :]
        if self.recoded:
            model.derivation = Derivation()
        if self._fresh is not None:
            model.dropped = list(model.root.walk())
            model.records, model.root, model.learner = self._fresh.records, self._fresh.root, self._fresh.learner
            return
        if self._records is not None:
            model.records.adopt_codes(self._records)
        model.records.commit(self.staged)
        model.dropped = self.revision.dropped
        if self._records is not None:
            self._learner = model.learner_of(model.records, model.records.encoding)
        model.learner = self._learner
        model.derivation.forget(self.revision.outdated)

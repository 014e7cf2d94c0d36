"""The engine behind the estimator, the command line and whatever else: records, network, and the requests to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.domains import EVERYWHERE, Domain, Domains
from unlearnspn.coding import Encoding
from unlearnspn.errors import LastRecordError
from unlearnspn.ids import RecordId, require_found
from unlearnspn.interrupts import Uninterrupted
from unlearnspn.leaves import check_support
from unlearnspn.publishing import Publication
from unlearnspn.rare_categories import Change, HiddenCells, leave_out, plan_change
from unlearnspn.records import Records, Staged
from unlearnspn.request import Request
from unlearnspn.settings import Settings
from unlearnspn.slices import Rows
from unlearnspn.spn import digest
from unlearnspn.spn.derive import Derivation
from unlearnspn.spn.learn_spn import learn_spn
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Node, copy_network
from unlearnspn.spn.report import Report
from unlearnspn.spn.views import NodeView, ShownNode, show
from unlearnspn.tables import Table
from unlearnspn.tables.origins import Origin
from unlearnspn.totals import Totals


class Facts(NamedTuple):
    """What is published of a model beside its circuit."""

    n_records: int
    #: Of the released model, and of everything kept; None until somebody asks for them.
    digests: tuple[str, str] | None = None


class Model:
    """A learned network with its records; a pure function of settings and records, whatever the way it came about.

    Requests may come in any thread, and are carried out one after another; `circuit`, `digests` and `n_records` may be
    asked for meanwhile. Whoever reads the records and the network themselves has to keep requests away.
    """

    def __init__(self, settings: Settings, records: Records, learner: Learner, root: Node) -> None:
        self.settings = settings
        self.records = records
        self.learner = learner
        self.root = root
        #: What the records' table was like, so that tables are given back alike.
        self.origin: Origin | None = None
        #: The type of the array in which classes are given back; empty for the one that suits them.
        self.label_dtype = ""
        #: The values of rare categories, which the network does not know.
        self.hidden = HiddenCells()
        #: The records that the last request did not speak of, but gave other slots; and the slots that they had.
        self.moved: tuple[list[RecordId], Rows] = ([], np.zeros(0, np.int64))
        #: The nodes that the last request has taken out of the network.
        self.dropped: list[Node] = []
        self._digests: tuple[str, str] | None = None
        self.derivation = Derivation()
        self._publication = Publication(Facts(len(records)))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "learner": None, "_digests": None, "derivation": None, "_publication": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "derivation": Derivation()})
        self._publication = Publication(Facts(len(self.records)))
        self.learner = self.settings.learner(self.records, self.records.encoding)

    @classmethod
    def learn(cls, settings: Settings, ids: Sequence[RecordId], table: Table) -> Model:
        """Learn from scratch."""
        n_bins = settings.n_bins_among(len(ids))
        seen, hidden = leave_out(table, ids, settings.without_rare, settings.min_category_count)
        model = cls.of(settings, Records.learn(settings.schema, settings.seed, n_bins, ids, seen))
        model.origin, model.hidden = table.origin, hidden
        model._digest()  # so that no request has to wait for all of it
        return model

    @classmethod
    def of(cls, settings: Settings, records: Records) -> Model:
        """Learn from records that were coded already."""
        learner = settings.learner(records, records.encoding)
        return cls(settings, records, learner, learn_spn(learner, settings.root_place, records.rows))

    def snapshot(self) -> Model:
        """Return a model of its own, which no request to this one changes."""
        records = self.records.copied()
        learner = self.settings.learner(records, records.encoding)
        taken = Model(self.settings, records, learner, copy_network(self.root))
        taken.origin, taken.label_dtype = self.origin, self.label_dtype
        taken.hidden = HiddenCells(self.hidden)
        return taken

    def export(self) -> tuple[list[RecordId], Table]:
        """Return all records, with their ids."""
        rows = self.records.rows
        return self.records.ids_of(rows), self.table(rows)

    def held(self, ids: Sequence[RecordId]) -> Table:
        """Return some records that are held, in this order."""
        return self.table(self.records.find(ids))

    def table(self, rows: Rows) -> Table:
        """Return the records of some slots as a table, with the values that are left out of the network."""
        return self.hidden.put_back(self.records.export(rows, self.records.encoding), self.records.ids_of(rows))

    def learn_alike(self, ids: Sequence[RecordId], table: Table) -> Model:
        """Learn from scratch, with the same settings."""
        return Model.learn(self.settings, ids, table)

    def relearn(self) -> Model:
        """Learn from scratch on the records now held."""
        return self.learn_alike(*self.export())

    def relearning(self) -> Callable[[], tuple[str, str]]:
        """Return what learns from scratch on the records now held and gives the digests; requests may come before."""
        ids, table = self.export()
        return lambda: self.learn_alike(ids, table).digests

    def show(self) -> ShownNode:
        """Return the network as it is now, for reading."""
        return show(self.learner, self.root, self.records.rows)

    def view(self) -> NodeView:
        """Return the network as it is now, with names instead of indices."""
        return NodeView(self.learner, self.show())

    @property
    def ids(self) -> list[RecordId]:
        """The ids of the records held, in order."""
        return sorted(self.records.ids_of(self.records.rows))

    @property
    def last_id(self) -> RecordId:
        """The largest id."""
        return self.ids[-1]

    @property
    def n_records(self) -> int:
        """How many records are held."""
        return self._publication.facts.n_records

    @property
    def string_ids(self) -> bool:
        """Whether the ids are texts."""
        return self.records.string_ids

    @property
    def identifying(self) -> list[str]:
        """The columns in which nearly every record has a category of its own."""
        return self.records.identifying

    def holds(self, ids: Sequence[RecordId]) -> npt.NDArray[np.bool_]:
        """Tell of each id whether a record that is held has it."""
        return self.records.find(ids) >= 0

    def check_support(self, table: Table) -> None:
        """Raise unless the leaves can model the values of a table beside those of the records held."""
        check_support(self.settings.leaves, table, self.records.encoding)

    @property
    def circuit(self) -> Circuit:
        """The circuit that serves the model; derived when it is first asked for after a change."""
        return self._publication.circuit(self._derive)

    def _derive(self) -> Circuit:
        self._digest()  # which names the parts that can be taken over
        derivation = self.derivation
        expression = derivation.express(self.learner, self.root)
        return Circuit(expression, domains_of(self.settings, self.learner), self.origin, derivation.prepared)

    def follow(self, before: Model) -> None:
        """Take the place of another model: where several threads have used that, the circuit is derived now."""
        self._publication.follow(before._publication, self._derive)

    def publish(self, n_records: int, digests: tuple[str, str]) -> None:
        """Have readers see the model as a request has made it."""
        self._digests = digests
        self._publication.publish(Facts(n_records, digests), self._derive)

    def inherit_circuit(self, other: Model) -> None:
        """Take over what another model's circuit was made of: what has the same digest need not be derived again."""
        if self.settings.all == other.settings.all:
            self.derivation = other.derivation

    def digest(self) -> str:
        """Digest the released model."""
        return self.digests[0]

    def state_digest(self) -> str:
        """Digest everything kept."""
        return self.digests[1]

    @property
    def digests(self) -> tuple[str, str]:
        """The digests of the released model, and everything kept; what did not change is not hashed again."""
        known = self._publication.facts.digests
        return self._settle() if known is None else known

    def _settle(self) -> tuple[str, str]:
        with self._publication.derivation:
            return self._digest()

    def _digest(self) -> tuple[str, str]:
        if self._digests is None:
            unchanged = Change([], [], None)
            self._digests = self.digest_as(self.learner, self.records.totals, self.records.multiset, unchanged)
        if self._publication.facts.digests is None:
            self._publication.add(Facts(len(self.records), self._digests))
        return self._digests

    def digest_as(self, learner: Learner, totals: Totals, multiset: Any, change: Change) -> tuple[str, str]:
        """Digest the network as it is, with what will be true of the records."""
        released, kept = digest.digest_network(learner, self.root)
        records = multiset.tobytes()
        if self.settings.without_rare:
            records += self.hidden.digest_after(change.drop, change.add)
        return (
            digest.model_digest(learner, released, self.settings.released),
            digest.state_digest(learner, kept, self.settings.all, totals, records),
        )

    def revise(
        self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool = False
    ) -> Report:
        """Remove some records and add others, all or nothing, once requests that came before are done."""
        return self._publication.take_turn(lambda: self._revise(minus, ids, table, dry_run))

    def _revise(self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool) -> Report:
        slots = self.records.find(minus)
        require_found(minus, (slots >= 0).tolist())
        if not ids and len(minus) == len(self.records):
            raise LastRecordError(
                "this would remove the last record, and there is no model of no records: delete the model instead"
            )
        started = time.perf_counter()
        before = self._digest()
        change = self._plan(minus, ids, table)
        slots = self.records.find(change.minus) if change.moved else slots
        with Uninterrupted() as uninterrupted:
            request = self._request(self._stage(slots, change), change)
            try:
                request.carry_out(uninterrupted.except_here)
            except BaseException:
                request.take_back()
                raise
            if dry_run:
                request.take_back()
            else:
                request.commit()
        revision = request.revision
        return Report(
            records_removed=len(minus),
            records_added=len(ids),
            nodes_visited=revision.nodes_visited,
            subnetworks_learned=revision.subnetworks_learned,
            rows_moved=revision.rows_moved,
            changed_operations=tuple(revision.changed_operations),
            recoded=request.recoded,
            seconds=time.perf_counter() - started,
            digest_before=before[0],
            digest_after=request.digests[0],
            state_digest_before=before[1],
            state_digest_after=request.digests[1],
            dry_run=dry_run,
        )

    def _request(self, staged: Staged, change: Change) -> Request:
        """Return what carries a staged change out."""
        return Request(self, staged, change)

    def _stage(self, slots: Rows, change: Change) -> Staged:
        """Write new records into free slots."""
        try:
            return self.records.stage(slots, change.ids, change.table)
        except BaseException:
            self.look_anew()
            raise

    def look_anew(self) -> None:
        """Look at the records anew, after room that was made for others has been given back."""
        self.learner = self.learner_of(self.records, self.records.encoding)

    def learner_of(self, records: Records, encoding: Encoding, n_records: int | None = None) -> Learner:
        """Return the learner for records under an encoding; `n_records` if there will be more of them, or fewer."""
        return self.settings.learner(records, encoding, n_records)

    def _plan(self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None) -> Change:
        """Return what a request changes of what the network sees."""
        settings = self.settings
        if not settings.without_rare:
            return Change(list(minus), list(ids), table)
        least = settings.min_category_count
        return plan_change(self.records, self.hidden, settings.without_rare, least, minus, ids, table)


def domains_of(settings: Settings, learner: Learner) -> Domains:
    """Return what a circuit shows of the columns."""
    schema = settings.schema
    scopes = np.arange(len(schema.variables)).reshape(-1, 1)
    records = learner.records
    identifying = records.identifying
    unusual, spans = records.has_unusual().T.tolist(), records.spans().T.tolist()
    columns = []
    for place, (v, leaf, scope) in enumerate(zip(schema.variables, settings.leaves, scopes, strict=True)):
        negative, fraction, time = unusual[place]
        low, high = spans[place]
        span = (low, high) if low <= high else EVERYWHERE
        categories, identifies = leaf.categories(learner.slice(scope, 0)), v.name in identifying
        columns.append(Domain(v.name, v.kind, v.family, categories, identifies, negative, fraction, time, span))
    return Domains(tuple(columns), schema.id_column)


def learn_without_state(settings: Settings, ids: Sequence[RecordId], table: Table) -> Circuit:
    """Learn the same circuit as a model's, keeping nothing that only requests need: to see what these cost."""
    n_bins = settings.n_bins_among(len(ids))
    seen, _ = leave_out(table, ids, settings.without_rare, settings.min_category_count)
    records = Records.learn(settings.schema, settings.seed, n_bins, ids, seen, digested=False)
    learner = settings.learner(records, records.encoding, keeps_answers=False)
    root = learn_spn(learner, settings.root_place, records.rows)
    digest.digest_network(learner, root)  # which names the parts that are alike
    return Circuit(Derivation().express(learner, root), domains_of(settings, learner), table.origin)

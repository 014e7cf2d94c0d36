"""The engine behind the estimator, the command line and whatever else: records, network, and the requests to them."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unlearnspn import digests
from unlearnspn.circuit import Circuit
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.layout import lower
from unlearnspn.clustering import Clustering
from unlearnspn.clustering.by_class import ByClass
from unlearnspn.coding import Encoding
from unlearnspn.derivation import Derivation
from unlearnspn.errors import LastRecordError
from unlearnspn.hashing import derive_key, fingerprint
from unlearnspn.ids import RecordId
from unlearnspn.independence import IndependenceTest
from unlearnspn.learning import Learner, Place
from unlearnspn.leaves import ChowLiu, Leaf, check_support
from unlearnspn.network import Address, Node
from unlearnspn.records import Records, Staged
from unlearnspn.report import Report
from unlearnspn.revision import Change, Revision
from unlearnspn.schema import Schema
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import Table
from unlearnspn.tables.origins import Origin


@dataclass(frozen=True)
class Settings:
    """Everything besides the records that a model is a function of."""

    schema: Schema
    seed: int
    min_rows: int
    n_bins: int
    independence: IndependenceTest[Any]
    clustering: Clustering[Any]
    leaves: tuple[Leaf[Any], ...]
    tree: ChowLiu | None = None
    #: The variable that is to be predicted, if there is one.
    target: int | None = None

    @cached_property
    def released(self) -> bytes:
        """Fingerprint of what a released model shows of the settings: schema and leaves."""
        return fingerprint([self.schema.digest(), *map(digests.describe, (*self.leaves, self.tree))])

    @cached_property
    def all(self) -> bytes:
        """Fingerprint of everything."""
        numbers = struct.pack("<QqQ", self.seed, self.min_rows, self.n_bins)
        blocks = [digests.describe(block) for block in (self.independence, self.clustering)]
        target = [] if self.target is None else [struct.pack("<q", self.target)]
        return fingerprint([self.released, numbers, *blocks, *target])

    @property
    def root_place(self) -> Place:
        """Where the root of a network stands."""
        return Place(np.arange(len(self.schema.variables)), derive_key(self.seed, "root"), keeps_rows=False)

    def learner(self, records: Records, encoding: Encoding) -> Learner:
        """Return the learner for records under an encoding."""
        clustering = self.clustering
        if self.target is not None:
            clustering = ByClass(self.target, self.min_rows, clustering)
        return Learner(records, encoding, self.min_rows, self.independence, clustering, self.leaves, self.tree)


class Model:
    """A learned network with its records; a pure function of settings and records, whatever the way it came about."""

    def __init__(self, settings: Settings, records: Records, root: Node) -> None:
        self.settings = settings
        self.records = records
        self.root = root
        #: The digests of the released model and of everything kept.
        self.digests = self._digest(self.learner, root, records.multiset.tobytes())
        #: What the records' table was like, so that tables are given back alike.
        self.origin: Origin | None = None
        self._derivation = Derivation()
        self._circuit: Circuit | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_derivation": None, "_circuit": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_derivation": Derivation()})

    @classmethod
    def learn(cls, settings: Settings, ids: Sequence[RecordId], table: Table) -> Model:
        """Learn from scratch."""
        records = Records.learn(settings.schema, settings.seed, settings.n_bins, ids, table)
        learner = settings.learner(records, records.encoding)
        model = cls(settings, records, learner.learn_spn(settings.root_place, records.rows))
        model.origin = table.origin
        return model

    def relearn(self) -> Model:
        """Learn from scratch on the records now held."""
        rows, encoding = self.records.rows, self.records.encoding
        return Model.learn(self.settings, self.records.ids_of(rows), self.records.export(rows, encoding))

    @property
    def index(self) -> Mapping[RecordId, int]:
        """The ids of the records held, and their slots."""
        return self.records.index

    def check_support(self, table: Table) -> None:
        """Raise unless the leaves can model the values of a table beside those of the records held."""
        check_support(self.settings.leaves, table, self.records.encoding)

    @property
    def learner(self) -> Learner:
        """The learner for the records as they are."""
        return self.settings.learner(self.records, self.records.encoding)

    @property
    def circuit(self) -> Circuit:
        """The circuit that serves the model; derived when it is first asked for after a change."""
        if self._circuit is None:
            layout = lower(self._derivation.express(self.learner, self.root))
            self._circuit = Circuit(layout, self._domains(), self.origin)
        return self._circuit

    def forget_circuit(self) -> None:
        """Drop the circuit, because the model has changed; what did not change is taken over into the next."""
        self._circuit = None

    def _domains(self) -> Domains:
        records, encoding = self.records, self.records.encoding
        schema, leaves = self.settings.schema, self.settings.leaves
        return Domains(
            tuple(
                Domain(v.name, v.kind, v.family, leaf.categories(Slice(records, encoding, np.array([number]), 0)))
                for number, (v, leaf) in enumerate(zip(schema.variables, leaves, strict=True))
            ),
            schema.id_column,
        )

    def digest(self) -> str:
        """Digest the released model."""
        return self.digests[0]

    def state_digest(self) -> str:
        """Digest everything kept."""
        return self.digests[1]

    def _digest(self, learner: Learner, root: Node, multiset: bytes) -> tuple[str, str]:
        return (
            digests.model_digest(learner, root, self.settings.released),
            digests.state_digest(learner, root, self.settings.all, multiset),
        )

    def revise(
        self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool = False
    ) -> Report:
        """Remove some records and add others, all or nothing."""
        if len(self.records) - len(minus) + len(ids) == 0:
            raise LastRecordError(
                "this would remove the last record, and there is no model of no records: delete the model instead"
            )
        started = time.perf_counter()
        before = self.digests
        staged = self.records.stage(self.records.slots(minus), list(ids), table)
        try:
            outcome = self._outcome(staged)
        except BaseException:
            self.records.discard(staged)
            raise
        if dry_run:
            self.records.discard(staged)
        else:
            outcome.apply(self, staged)
        revision = outcome.revision
        return Report(
            records_removed=len(minus),
            records_added=len(ids),
            nodes_visited=revision.nodes_visited,
            subnetworks_learned=revision.subnetworks_learned,
            rows_moved=revision.rows_moved,
            changed_operations=tuple(revision.changed_operations),
            recoded=outcome.recoded is not None or outcome.fresh is not None,
            seconds=time.perf_counter() - started,
            digest_before=before[0],
            digest_after=outcome.digests[0],
            state_digest_before=before[1],
            state_digest_after=outcome.digests[1],
            dry_run=dry_run,
        )

    def _outcome(self, staged: Staged) -> _Outcome:
        """Work out what a staged change leads to, changing nothing."""
        records = self.records
        change = Change(staged.minus, staged.plus, lambda: records.rows_after(staged.minus, staged.plus))
        if staged.encoding.crowded:
            fresh = self._learn_afresh(staged, change.rows())
            return _Outcome(Revision(fresh.learner, subnetworks_learned=1), fresh.root, fresh.digests, fresh=fresh)
        if not staged.encoding.codes_like(records.encoding):
            recoded = records.recoded(staged)
            learner = self.settings.learner(recoded, staged.encoding)
            root = learner.learn_spn(self.settings.root_place, change.rows())
            after = self._digest(learner, root, staged.multiset.tobytes())
            return _Outcome(Revision(learner, subnetworks_learned=1), root, after, recoded=recoded)
        passing = staged.encoding.coming_from(records.encoding)
        revision = Revision(self.settings.learner(records, passing))
        root = revision.revise(self.root, self.settings.root_place, Address(), change)
        learner = self.settings.learner(records, staged.encoding)
        return _Outcome(revision, root, self._digest(learner, root, staged.multiset.tobytes()))

    def _learn_afresh(self, staged: Staged, rows: Rows) -> Model:
        """Learn from scratch on some rows, staged ones among them."""
        return Model.learn(self.settings, self.records.ids_of(rows), self.records.export(rows, staged.encoding))


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What a change leads to: a revised network, or a new one where the coding of the values itself changed.

    New codes come with the same records, or, where they were given out anew, with a fresh model.
    """

    revision: Revision
    root: Node
    digests: tuple[str, str]
    recoded: Records | None = None
    fresh: Model | None = None

    def apply(self, model: Model, staged: Staged) -> None:
        """Put the outcome in the model's place."""
        if self.fresh is not None:
            model.records = self.fresh.records
        else:
            if self.recoded is not None:
                model.records.adopt_codes(self.recoded)
            model.records.commit(staged)
        model.root = self.root
        model.digests = self.digests
        model.forget_circuit()

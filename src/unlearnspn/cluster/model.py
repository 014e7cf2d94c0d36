"""The engine where the records lie in shards: the same model, and the same requests to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from weakref import finalize

import numpy as np
import numpy.typing as npt

from unlearnspn.cluster.asking import Ask, Shards
from unlearnspn.cluster.fitting import open_records
from unlearnspn.cluster.folder import Folder, Stored, StoredPart
from unlearnspn.cluster.holder import SharedHolder, require_mergeable, spread_evenly
from unlearnspn.cluster.revision import SharedRevision
from unlearnspn.cluster.shared_records import SharedRecords
from unlearnspn.clustering.by_class import Split
from unlearnspn.coding import Encoding
from unlearnspn.errors import NotOnAClusterError
from unlearnspn.ids import RecordId
from unlearnspn.independence.gtest import GTest
from unlearnspn.model import Model
from unlearnspn.rare_categories import Change
from unlearnspn.records import Records, Staged
from unlearnspn.request import Request
from unlearnspn.settings import Settings
from unlearnspn.slices import Rows
from unlearnspn.spn.change import Change as NodeChange
from unlearnspn.spn.derive import Derivation
from unlearnspn.spn.learn_spn import learn_spn
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Node
from unlearnspn.spn.report import Report
from unlearnspn.spn.views import ShownNode
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import PathLike
from unlearnspn.storage.models import read_origin, require_digests
from unlearnspn.tables import Table

_NOBODY = np.zeros(0, np.int64)


class SharedModel(Model):
    """A model whose records lie in shards; a pure function of settings and records, as any other."""

    records: SharedRecords
    #: Where the model is kept, if it is anywhere: requests are not done before they are durable there.
    folder: Folder | None = None

    @classmethod
    def gather(cls, settings: Settings, shards: Shards, string_ids: bool, n_records: int) -> SharedModel:
        """Learn from the records that shards have read."""
        require_supported(settings)
        model = cls._learned(settings, shards, string_ids, n_records)
        _tell_all(shards, "commit", (_NOBODY, _NOBODY, {}, True))
        model._send_guests_away()
        model._digest()
        # Workers need not keep the records until somebody collects the cycles that requests leave.
        finalize(model, shards.close).atexit = False
        return model

    @classmethod
    def _learned(cls, settings: Settings, shards: Shards, string_ids: bool, n_records: int) -> SharedModel:
        """Learn from scratch, by codes that the shards have prepared and not taken over."""
        n_bins = settings.n_bins_among(n_records)
        records = SharedRecords.gather(settings.schema, settings.seed, n_bins, shards, string_ids, n_records)
        learner = _learner(settings, SharedHolder(records), records.encoding)
        return cls(settings, records, learner, learn_spn(learner, settings.root_place, records.rows))

    def learner_of(self, records: Records, encoding: Encoding, n_records: int | None = None) -> Learner:
        """Return the learner for records under an encoding; `n_records` if there will be more of them, or fewer."""
        shared, holder = cast(SharedRecords, records), cast(SharedHolder, self.learner.holder)
        # Nodes note in their holder how their rows change: as long as the records are the same, it must be, too.
        return _learner(
            self.settings, holder if holder.records is shared else SharedHolder(shared), encoding, n_records
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def ids(self) -> list[RecordId]:
        """The ids of the records held, in order."""
        return self.records.all_ids()

    @property
    def last_id(self) -> RecordId:
        """The largest id."""
        return self.records.last_id()

    def holds(self, ids: Sequence[RecordId]) -> npt.NDArray[np.bool_]:
        """Tell of each id whether a record that is held has it."""
        held: npt.NDArray[np.bool_] = self.records.holds(ids)
        return held

    def held(self, ids: Sequence[RecordId]) -> Table:
        """Return some records that are held, in this order."""
        return self.records.table_of(ids)

    def relearning(self) -> Callable[[], tuple[str, str]]:
        """Learn from scratch on the values now held, and return what gives the digests."""
        with self._publication.derivation:  # meanwhile the shards answer by other codes
            found = self._relearn()
        return lambda: found

    def _relearn(self) -> tuple[str, str]:
        records = self.records
        try:
            return self._learned(self.settings, records.shards, records.string_ids, len(records)).digests
        finally:
            _tell_all(records.shards, "discard", (records.encoding,))

    def snapshot(self) -> Model:
        """Refuse: records stay where they are."""
        raise NotOnAClusterError("a model on a cluster cannot be copied or pickled: save it into a folder")

    def export(self) -> tuple[list[RecordId], Table]:
        """Refuse: records stay where they are."""
        raise NotOnAClusterError("the records of a model on a cluster are not brought together: ask for some by id")

    def show(self) -> ShownNode:
        """Refuse: what is shown of a node are its rows, too."""
        raise NotOnAClusterError("the nodes of a model on a cluster cannot be looked at: look at circuit_")

    # -- the folder ------------------------------------------------------------------------------------------------

    def save(self, path: PathLike, document: Mapping[str, Any]) -> None:
        """Write the model into a folder, in which it is kept from then on."""
        folder = Folder.made(path, document)
        shards = self.records.shards
        arguments = (str(folder.path.absolute()), folder.generation, _NOBODY, _NOBODY, True)
        try:
            stored = shards.tell("store", dict.fromkeys(range(shards.number), arguments))
            parts = {number: part for own in stored.values() for number, part in own.items()}
            folder.write(self, self.digests, self.n_records, parts)
        finally:
            folder.sweep()
        self.folder = folder

    @classmethod
    def load(cls, stored: Stored, shards: Shards) -> SharedModel:
        """Learn from the partitions of a folder, which are spread over the shards."""
        described = stored.described
        load_records(stored, shards)
        model = cls.gather(stored.settings, shards, described["string_ids"], described["n_records"])
        with explained("read", stored.folder.path):
            require_digests(described, *model.digests)
            model.origin = read_origin(described["origin"])
        model.folder = stored.folder
        return model

    # -- requests --------------------------------------------------------------------------------------------------

    def _revise(self, minus: Sequence[RecordId], ids: Sequence[RecordId], table: Table | None, dry_run: bool) -> Report:
        try:
            return super()._revise(minus, ids, table, dry_run)
        finally:
            self._send_guests_away()

    def _request(self, staged: Staged, change: Change) -> Request:
        return SharedRequest(self, staged, change)

    def _stage(self, slots: Rows, change: Change) -> Staged:
        try:
            return super()._stage(slots, change)
        finally:
            self._look_again()

    def _look_again(self) -> None:
        """Read the guests' arrays anew, which are others when room has been made."""
        vars(self.learner).pop("coded", None)

    def _send_guests_away(self) -> None:
        """Forget the records that a request spoke of, but for seeds."""
        cast(SharedHolder, self.learner.holder).forget()
        self.records.send_away(seeds_of(self.root))


class SharedRequest(Request):
    """One change on its way: shards are ready for it, and are told when it is made real, or not to be."""

    model: SharedModel

    def __init__(self, model: SharedModel, staged: Staged, change: Change) -> None:
        super().__init__(model, staged, change)
        self._fresh_records: SharedRecords | None = None

    def _learn_recoded(self, rows: Rows) -> None:
        encoding = self.staged.encoding
        self._recode(list(encoding.coders), self.staged.totals, self.model.records.n_bins, rows)

    def _learn_afresh(self, rows: Rows) -> None:
        model = self.model
        n_bins = model.settings.n_bins_among(self._n_records)
        coders, totals = model.records.coded_afresh(self.staged, n_bins, cast(Any, rows))
        self._recode(coders, totals, n_bins, rows)
        self.digests = model.digest_as(self._learner, totals, self.staged.multiset, self.change)

    def _recode(self, coders: list[Any], totals: Any, n_bins: int, rows: Rows) -> None:
        """Learn everything anew, under other codes, among the records as they will be."""
        records = self.model.records
        records.shards.ask([Ask("recode", (coders, n_bins, rows))])
        self._fresh_records = records.coded_by(coders, totals, n_bins, self.staged.multiset, self._n_records)
        self._learner = self.revision.learner = self._learner_of(self._fresh_records, self._fresh_records.encoding)
        cast(SharedRevision, self.revision).holder = cast(SharedHolder, self._learner.holder)
        self.model.root = self.revision.learn_anew(self.model.root, NodeChange(_NOBODY, _NOBODY, lambda: rows))

    def take_back(self) -> None:
        """Leave everything as it was."""
        self._take_back_here()
        records = self.model.records
        try:
            if self.staged.plus.size or self.recoded or self.staged.encoding is not records.encoding:
                _tell_all(records.shards, "discard", (records.encoding,))
        finally:
            self.model.look_anew()

    def _take_back_here(self) -> None:
        self.model.root = self._root_before
        self.revision.take_back()
        cast(SharedHolder, self.model.learner.holder).changes.clear()

    def commit(self) -> None:
        """Make the change real: durable where the model is kept, then in the shards, then here."""
        folder = self.model.folder
        if folder is None:
            super().commit()
            return
        try:
            self._store(folder)
        except BaseException:
            try:
                self.take_back()
            finally:
                folder.sweep()
            raise
        try:
            super().commit()
        finally:
            folder.sweep()

    def _store(self, folder: Folder) -> None:
        """Write the partitions that the change concerns, and have these files count."""
        records, staged = self.model.records, self.staged
        path, generation = str(folder.path.absolute()), folder.generation
        minus, plus = records.by_shard(staged.minus), records.by_shard(staged.plus)
        stored = records.shards.tell(
            "store",
            {
                shard: (path, generation, minus.get(shard, _NOBODY), plus.get(shard, _NOBODY), False)
                for shard in {*minus, *plus}
            },
        )
        parts = {number: part for own in stored.values() for number, part in own.items()}
        folder.write(self.model, self.digests, self._n_records, {**folder.parts, **parts})

    def _make_real(self) -> None:
        model, staged, fresh = self.model, self.staged, self._fresh_records
        records, holder = model.records, cast(SharedHolder, model.learner.holder)
        changes = {} if self.recoded else records.changes_by_shard(holder.changes)
        minus, plus = records.by_shard(staged.minus), records.by_shard(staged.plus)
        concerned = range(records.shards.number) if self.recoded else {*minus, *plus, *changes}
        told = {
            shard: (minus.get(shard, _NOBODY), plus.get(shard, _NOBODY), changes.get(shard, {}), self.recoded)
            for shard in concerned
        }
        try:
            records.shards.tell("commit", told)
        except Exception as error:
            records.shards.give_up(f"some of the shards have carried a request out, and others have not ({error})")
            # What is in the folder is carried out; whoever asks next learns that the model must be loaded.
            if model.folder is None:
                self._take_back_here()
                raise
        holder.changes.clear()
        records.commit(staged)
        if fresh is not None:
            fresh.take_numbers(records)
            model.records, model.derivation = fresh, Derivation()
        model.moved, model.dropped = ([], _NOBODY), self.revision.dropped
        model.learner = self._learner
        model.derivation.forget(self.revision.outdated)


def load_records(stored: Stored, shards: Shards) -> None:
    """Have shards take over the partitions of a folder, each about as many records."""
    parts, path = stored.folder.parts, str(stored.folder.path.absolute())
    settings, string_ids = stored.settings, stored.described["string_ids"]
    owners = spread_evenly([part.n_records for part in parts.values()], shards.number)
    own: list[dict[int, StoredPart]] = [{} for _ in range(shards.number)]
    for (number, part), owner in zip(parts.items(), owners, strict=True):
        own[owner][number] = part
    shards.tell("load", {shard: (path, some, settings.schema, string_ids) for shard, some in enumerate(own)})
    open_records(shards, settings, string_ids)


def require_supported(settings: Settings) -> None:
    """Raise unless all that is learned can be put together from parts of the records."""
    if settings.without_rare:
        raise NotOnAClusterError(
            f"min_category_count={settings.min_category_count} is not supported on a cluster: leave it at 1"
        )
    require_mergeable(settings)


def seeds_of(root: Node) -> set[int]:
    """Return the slots of the records around which the clusters of a network form."""
    found: set[int] = set()
    for node in root.walk():
        clustering = node.clustering
        clusters = clustering.clusters if isinstance(clustering, Split) else clustering
        if clusters is not None:
            found.update(clusters.seeds.tolist())
    return found


def _learner(settings: Settings, holder: SharedHolder, encoding: Encoding, n_records: int | None = None) -> Learner:
    learner = settings.learner(holder.records, encoding, n_records, holder=holder)
    # Tables of pairs are always kept: without them each removal would have to count the rows that stay.
    return replace(learner, independence=replace(cast(GTest, learner.independence), tables_above=0))


def _tell_all(shards: Shards, method: str, arguments: tuple[Any, ...]) -> None:
    shards.tell(method, dict.fromkeys(range(shards.number), arguments))

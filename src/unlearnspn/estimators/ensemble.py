"""`SPNEnsemble`: a mixture of networks, each with a seed and a subsample of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from unlearnspn.clustering import Clustering
from unlearnspn.ensemble import Ensemble
from unlearnspn.errors import SameMembersWarning, warn_outside
from unlearnspn.estimators.density import DensityEstimator
from unlearnspn.identifying import warn_of
from unlearnspn.ids import RecordId
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf
from unlearnspn.parameters import read_subsampling
from unlearnspn.settings import Settings
from unlearnspn.spn.views import NodeView
from unlearnspn.storage.ensembles import read_ensemble, write_ensemble
from unlearnspn.storage.files import PathLike
from unlearnspn.tables import Table

if TYPE_CHECKING:
    from unlearnspn.cluster.asking import Shards
    from unlearnspn.cluster.ensemble import SharedEnsemble
    from unlearnspn.cluster.fitting import Opened
    from unlearnspn.cluster.folder import Stored


class SPNEnsemble(DensityEstimator):
    """A mixture of sum-product networks, each with a seed and a subsample of its own, that forgets as exactly as one.

    It describes new rows better than a single network does, at the cost of as many. Which members hold a record
    follows from its id and the seed alone; a record is unlearned by the members that hold it, and no other is touched.
    Members count by their numbers of records; one that no record falls to does not count.

    Columns and their kinds are those of the whole table. Categories are known by the members whose subsamples have
    them; what another member has for all categories never seen is divided among them, one share each, and 0.01 of a
    share for those that nobody has seen.

    Parameters
    ----------
    n_members : int, default=10
        How many networks there are.
    subsample : float, default=1.0
        The share of the records that each member learns from, above 0 and at most 1. Every record is in one member at
        least: the one whose draw came nearest, if no other has it. With 1 members differ by their seeds alone; with
        less, fits and removals are cheaper.

    All other parameters are those of `SPN`; `random_state` gives every member a seed of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> ensemble = SPNEnsemble(n_members=3, subsample=0.5, min_rows=30).fit(X)
    >>> ensemble.unlearn([0, 17]).records_removed
    2
    >>> rest = np.delete(np.arange(150), [0, 17])
    >>> retrained = SPNEnsemble(n_members=3, subsample=0.5, min_rows=30).fit(X[rest], ids=rest)
    >>> ensemble.digest() == retrained.digest()
    True
    """

    _model: Ensemble

    def __init__(
        self,
        n_members: int = 10,
        subsample: float = 1.0,
        min_rows: int | str = "auto",
        independence: str | IndependenceTest[Any] = "gtest",
        threshold: float | None = None,
        clustering: str | Clustering[Any] = "qkmeans",
        n_clusters: int | str = "auto",
        epsilon: float | None = None,
        max_rounds: int = 0,
        categorical_features: Any = "from_dtype",
        factorization: str | ChowLiu = "chow-liu",
        leaves: Mapping[Any, str | Leaf[Any]] | None = None,
        min_category_count: int = 1,
        alpha: float = 0.3,
        min_std: float = 0.05,
        n_bins: int | str = "auto",
        random_state: int = 0,
    ) -> None:
        super().__init__(
            min_rows=min_rows,
            independence=independence,
            threshold=threshold,
            clustering=clustering,
            n_clusters=n_clusters,
            epsilon=epsilon,
            max_rounds=max_rounds,
            categorical_features=categorical_features,
            factorization=factorization,
            leaves=leaves,
            min_category_count=min_category_count,
            alpha=alpha,
            min_std=min_std,
            n_bins=n_bins,
            random_state=random_state,
        )
        self.n_members = n_members
        self.subsample = subsample

    @property
    def roots_(self) -> list[NodeView]:
        """The networks of the members that have records, for reading."""
        with self._turn():
            return [member.view() for member in self._fitted().learned]

    def _fitted(self) -> Ensemble:
        super()._fitted()
        return self._model

    def _learn_engine(self, settings: Settings, ids: Sequence[RecordId], table: Table) -> Ensemble:
        subsampling = read_subsampling(self.n_members, self.subsample, settings.seed)
        return self._warned(Ensemble.learn(settings, subsampling, ids, table))

    def _warned(self, ensemble: Ensemble) -> Ensemble:
        """Warn of an ensemble that tells who somebody is, or that is no more than one network."""
        warn_of(ensemble.identifying, "samples and exported circuits of this model show")
        if len(ensemble.learned) > 1 and len({member.digest() for member in ensemble.learned}) == 1:
            warn_outside(
                f"all {len(ensemble.learned)} members are the same network, as seeds decide nothing in so small a "
                "table: one SPN does what this ensemble does"
                + ("" if self.subsample < 1 else ", and with a subsample below 1 members would differ"),
                SameMembersWarning,
            )
        return ensemble

    def _write_engine(self, path: PathLike, document: Mapping[str, Any]) -> None:
        ensemble = self._fitted()
        if type(ensemble) is Ensemble:
            write_ensemble(path, ensemble, document)
        else:
            cast("SharedEnsemble", ensemble).save(path, document)

    @staticmethod
    def _read_engine(path: PathLike, components: Iterable[type]) -> tuple[Ensemble, dict[str, Any]]:
        return read_ensemble(path, components)

    def _gather_engine(self, opened: Opened) -> Ensemble:
        from unlearnspn.cluster.ensemble import GivenRecords, SharedEnsemble  # noqa: PLC0415

        subsampling = read_subsampling(self.n_members, self.subsample, opened.settings.seed)
        records = GivenRecords(opened.shards, opened.string_ids, opened.n_records)
        return self._warned(SharedEnsemble.gather(records, opened.settings, subsampling))

    @staticmethod
    def _load_engine(stored: Stored, shards: Shards) -> Ensemble:
        from unlearnspn.cluster.ensemble import SharedEnsemble  # noqa: PLC0415

        return SharedEnsemble.load(stored, shards)

"""Ensembles in files: all records once; who holds what follows from the ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from unlearnspn.ensemble import Ensemble, member_settings
from unlearnspn.model import Model
from unlearnspn.records import Records
from unlearnspn.settings import Settings
from unlearnspn.storage.blocks import encode_with_blocks, known_blocks
from unlearnspn.storage.container import Container, pack, unpack
from unlearnspn.storage.entries import Entries
from unlearnspn.storage.errors import StorageError, explained
from unlearnspn.storage.files import PathLike, read_file, write_file
from unlearnspn.storage.models import (
    describe_origin,
    read_description,
    read_origin,
    require_digests,
    restore_all_records,
)
from unlearnspn.storage.records import StoredRecords, canonical_rows, pack_records
from unlearnspn.storage.settings import describe_settings
from unlearnspn.subsampling import MOST_MEMBERS, Subsampling

_KIND = "ensemble"
_NAMES = {
    "settings",
    "n_members",
    "subsample",
    "n_records",
    "string_ids",
    "digest",
    "state_digest",
    "origin",
    "extra",
}


def write_ensemble(path: PathLike, ensemble: Ensemble, document: Mapping[str, Any]) -> None:
    """Write an ensemble's settings and all its records, and a document beside them, into one file.

    As with a model, the file is a function of the ensemble and the document alone.
    """
    with explained("write", path):
        write_file(path, pack(pack_ensemble(ensemble, document)))


def read_ensemble(path: PathLike, components: Iterable[type] = ()) -> tuple[Ensemble, dict[str, Any]]:
    """Read an ensemble and its document; nothing that the file says is run.

    Raises `StorageError` if anything is wrong with the file; its digests are compared with those of what was read.
    """
    with explained("read", path):
        return unpack_ensemble(unpack(read_file(path), _KIND), known_blocks(components))


def pack_ensemble(ensemble: Ensemble, document: Mapping[str, Any]) -> Container:
    """Return what a file holds of an ensemble."""
    settings, (ids, table) = ensemble.settings, ensemble.export()
    records = Records.learn(settings.schema, settings.seed, settings.n_bins_among(len(ids)), ids, table)
    arrays = pack_records(records, canonical_rows(records))
    described = {
        "settings": describe_settings(settings),
        "n_members": ensemble.subsampling.n_members,
        "subsample": ensemble.subsampling.share,
        "n_records": len(ids),
        "string_ids": isinstance(ids[0], str),
        "digest": ensemble.digest(),
        "state_digest": ensemble.state_digest(),
        "origin": describe_origin(ensemble.origin),
        "extra": encode_with_blocks(document, "document"),
    }
    return Container(_KIND, described, arrays)


def unpack_ensemble(container: Container, known: Mapping[str, type]) -> tuple[Ensemble, dict[str, Any]]:
    """Return the ensemble that a file holds, and its document, or raise."""
    described, settings, extra = read_description(container, _NAMES, known)
    ensemble = restore_ensemble(settings, described, Entries(container.arrays))
    require_digests(described, ensemble.digest(), ensemble.state_digest())
    ensemble.origin = read_origin(described["origin"])
    return ensemble, extra


def restore_ensemble(settings: Settings, described: Mapping[str, Any], entries: Entries) -> Ensemble:
    """Return the ensemble that some entries hold, or raise; digests are not compared."""
    subsampling = _read_subsampling(described, settings.seed)
    stored, _ = restore_all_records(settings, described, entries)
    entries.finish()
    members = [
        _restore_member(member_settings(settings, subsampling, number), stored, held)
        for number, held in enumerate(subsampling.holders(stored.ids))
    ]
    return Ensemble(settings, subsampling, members)


def _restore_member(settings: Settings, stored: StoredRecords, held: Any) -> Model | None:
    rows = np.flatnonzero(held)
    if rows.size == 0:
        return None
    return Model.learn(settings, [stored.ids[row] for row in rows], stored.table.take(rows))


def _read_subsampling(described: Mapping[str, Any], seed: int) -> Subsampling:
    n_members, share = described["n_members"], described["subsample"]
    if type(n_members) is not int or not 1 <= n_members <= MOST_MEMBERS:
        raise StorageError(f"n_members is {n_members!r}, and must be from 1 to {MOST_MEMBERS}")
    if type(share) is not float or not 0.0 < share <= 1.0:
        raise StorageError(f"subsample is {share!r}, and must be above 0 and at most 1")
    return Subsampling(seed, n_members, share)

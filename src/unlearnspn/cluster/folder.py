"""A model in a folder: one file a partition, written by the shard that holds it, and one file that says which count.

A request writes the partitions that it concerns as new files. Then the file of the model names these, which is the
moment when the request is carried out; then the files from before are deleted. What no file of the model names is left
over from a crash, and is deleted when the folder is opened.

No two attempts give a file the same name: a worker that was thought to be lost may still be writing. And nothing is
deleted unless it is known which files count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.cluster.reading import ReadPart
from unlearnspn.ensemble import Ensemble
from unlearnspn.errors import InvalidTableError, RecordIdError
from unlearnspn.model import Model
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.settings import Settings
from unlearnspn.slices import Rows
from unlearnspn.storage.blocks import encode_with_blocks, known_blocks
from unlearnspn.storage.container import Container, pack, unpack
from unlearnspn.storage.entries import Entries
from unlearnspn.storage.errors import StorageError, explained
from unlearnspn.storage.files import PathLike, read_file, sync_folder, write_file
from unlearnspn.storage.models import describe_origin, read_description
from unlearnspn.storage.records import pack_records, take_records
from unlearnspn.storage.settings import describe_settings
from unlearnspn.subsampling import MOST_MEMBERS, Subsampling

_KIND, _PART = "model in a folder", "partition"
_NAMES = {
    *("settings", "n_records", "string_ids", "digest", "state_digest", "origin", "extra", "partitions"),
    "subsampling",
}
MODEL, _ENDING = "model.uspn", ".uspn"
_GENERATION = re.compile(r"([1-9][0-9]*-[0-9a-f]{16})\.uspn")
#: All that is ever written into the folder beside the file of the model, and what a crash leaves of attempts to.
_FILES = ("part-*-*.uspn", ".part-*.tmp", f".{MODEL}.*.tmp")


class StoredPart(NamedTuple):
    """A partition's file, and how many records it holds; one without records has none."""

    name: str
    n_records: int


class Folder:
    """Where a model is kept, and which files count."""

    def __init__(self, path: PathLike, document: Mapping[str, Any], parts: Mapping[int, StoredPart]) -> None:
        self.path = Path(path)
        self.document = document
        self.parts = dict(parts)
        #: What the file of the model should hold: nobody else is to change it.
        self._said = self._now()
        #: Whether it would still hold that after a power cut.
        self._is_sure = True

    @classmethod
    def made(cls, path: PathLike, document: Mapping[str, Any]) -> Folder:
        """Return a folder for a model; a model that is there counts until another is written."""
        with explained("write", path):
            folder = cls(path, document, {})
            if folder.path.exists() and not folder.path.is_dir():
                raise StorageError("a model on a cluster is saved into a folder, and a file is there")
            folder.path.mkdir(parents=True, exist_ok=True)
            foreign = [item.name for item in folder.path.iterdir() if item.name != MODEL and item not in folder._ours()]
            if foreign:
                raise StorageError(f"the folder holds other things, such as {min(foreign)!r}: choose another")
            if (folder.path / MODEL).exists():
                described = _read_manifest(folder.path)
                folder.parts = _read_parts(described["partitions"])
        return folder

    @property
    def generation(self) -> str:
        """What tells the files of the next attempt from those that count, and from those of any other attempt."""
        known = [int(part.name.split("-")[2]) for part in self.parts.values() if part.name]
        return f"{1 + max(known, default=0)}-{token_hex(8)}"

    def write(
        self,
        model: Model | Ensemble,
        digests: tuple[str, str],
        n_records: int,
        parts: Mapping[int, StoredPart],
        subsampling: Subsampling | None = None,
    ) -> None:
        """Have files that were written count from now on; an ensemble has a subsampling."""
        described = {
            "settings": describe_settings(model.settings),
            "n_records": n_records,
            "string_ids": model.string_ids,
            "digest": digests[0],
            "state_digest": digests[1],
            "origin": describe_origin(model.origin),
            "extra": encode_with_blocks(self.document, "document"),
            "partitions": [[number, part.name, part.n_records] for number, part in sorted(parts.items())],
            "subsampling": None if subsampling is None else [subsampling.n_members, subsampling.share],
        }
        with explained("write", self.path):
            if self._now() != self._said:
                raise StorageError("somebody else has changed the model in it meanwhile: load it again")
            sync_folder(self.path)
            try:
                write_file(self.path / MODEL, pack(Container(_KIND, described, {})))
            except BaseException:
                self._put_back()
                raise
            self._said, self._is_sure = self._now(), True
        self.parts = dict(parts)

    def _now(self) -> bytes | None:
        """Return what the file of the model holds, if there is one."""
        file = self.path / MODEL
        return read_file(file) if file.exists() else None

    def _put_back(self) -> None:
        """Have the file of the model say again what it said, if writing it failed after it was exchanged."""
        with suppress(OSError):
            if self._now() == self._said:
                return
        # Which of them a power cut would leave is not known.
        self._is_sure = False
        with suppress(OSError):
            if self._said is None:
                (self.path / MODEL).unlink()
            else:
                write_file(self.path / MODEL, [self._said])

    def sweep(self) -> None:
        """Delete what does not count, if it is known what does."""
        if not self._is_sure or self._now() != self._said:
            return
        counting = {part.name for part in self.parts.values()}
        with explained("delete files of an earlier state in", self.path):
            for file in self._ours():
                if file.name not in counting:
                    file.unlink(missing_ok=True)
            sync_folder(self.path)

    def _ours(self) -> set[Path]:
        return {file for pattern in _FILES for file in self.path.glob(pattern)}


class Stored(NamedTuple):
    """What the file of a model says."""

    folder: Folder
    described: Mapping[str, Any]
    settings: Settings
    extra: dict[str, Any]

    @property
    def subsampling(self) -> Subsampling | None:
        """How members of an ensemble draw their records; None for a model."""
        return _read_subsampling(self.described["subsampling"], self.settings.seed)


def open_folder(path: PathLike, components: Iterable[type]) -> Stored:
    """Read the file of a model, and delete what it does not name."""
    with explained("read", path):
        described = _read_manifest(Path(path))
        container = Container(_KIND, described, {})
        _, settings, extra = read_description(container, _NAMES, known_blocks(components))
        number, string_ids = described["n_records"], described["string_ids"]
        folder = Folder(path, extra, _read_parts(described["partitions"]))
        if type(string_ids) is not bool or sum(part.n_records for part in folder.parts.values()) != number:
            raise StorageError("the document does not say how many records there are, and of what kind their ids")
        missing = [part.name for part in folder.parts.values() if part.name and not (folder.path / part.name).exists()]
        if missing:
            raise StorageError(f"the file {missing[0]!r} of a partition is missing")
    folder.sweep()
    return Stored(folder, described, settings, extra)


def _read_subsampling(described: Any, seed: int) -> Subsampling | None:
    if described is None:
        return None
    if not isinstance(described, list) or [type(item) for item in described] != [int, float]:
        raise StorageError("the document does not say how members draw their records")
    n_members, share = described
    if not (0 < n_members <= MOST_MEMBERS and 0.0 < share <= 1.0):
        raise StorageError(f"there cannot be {n_members} members with a share of {share}")
    return Subsampling(seed, n_members, share)


def _read_manifest(path: Path) -> dict[str, Any]:
    if path.is_dir() and not (path / MODEL).exists():
        raise StorageError(f"the folder holds no model, for there is no {MODEL} in it")
    container = unpack(read_file(path / MODEL), _KIND)
    described = container.document
    if not isinstance(described, dict) or container.arrays or set(described) != _NAMES:
        raise StorageError("the document does not describe a model in a folder")
    return described


def _read_parts(described: Any) -> dict[int, StoredPart]:
    parts: dict[int, StoredPart] = {}
    for entry in described if isinstance(described, list) else [None]:
        if not isinstance(entry, list) or [type(item) for item in entry] != [int, str, int] or entry[0] in parts:
            raise StorageError("the document does not say which partitions there are")
        number, name, n_records = entry
        parts[number] = StoredPart(name, n_records)
        generation = _GENERATION.fullmatch(name.removeprefix(part_name(number, "").removesuffix(_ENDING)))
        known = generation is not None and name == part_name(number, generation[1])
        if number < 0 or n_records < 0 or (known if n_records else not name) is False:
            raise StorageError(f"partition {number} cannot be in a file {name!r}")
    return parts


def part_name(number: int, generation: str) -> str:
    """Return the name of a partition's file."""
    return f"part-{number:05}-{generation}{_ENDING}"


def write_part(path: PathLike, name: str, records: Records, rows: Rows) -> None:
    """Write the records of a partition."""
    order = rows[np.argsort(records.ids[rows], kind="stable")]
    with explained("write", Path(path) / name):
        described = {"n_records": len(order), "string_ids": records.string_ids}
        write_file(Path(path) / name, pack(Container(_PART, described, pack_records(records, order))))


def read_part(path: PathLike, number: int, part: StoredPart, schema: Schema, string_ids: bool) -> ReadPart:
    """Read the records of a partition, or raise."""
    with explained("read", Path(path) / part.name):
        container = unpack(read_file(Path(path) / part.name), _PART)
        if container.document != {"n_records": part.n_records, "string_ids": string_ids}:
            raise StorageError("it is not the partition that the file of the model names")
        entries = Entries(container.arrays)
        try:
            stored = take_records(entries, schema, part.n_records, string_ids)
        except (InvalidTableError, RecordIdError) as error:
            raise StorageError(f"the records cannot be what they are said to be: {error}") from error
        entries.finish()
    return ReadPart(number, stored.ids, stored.table)

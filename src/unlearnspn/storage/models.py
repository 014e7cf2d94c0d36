"""Models in files: settings and records; everything else follows from these, and is learned again.

So whatever a file says, what is read is a model that was learned: a hostile file cannot make a broken one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unlearnspn.errors import InvalidTableError, RecordIdError
from unlearnspn.leaves import check_support
from unlearnspn.model import Model
from unlearnspn.records import Records
from unlearnspn.settings import Settings
from unlearnspn.storage.blocks import decode_with_blocks, encode_with_blocks, known_blocks
from unlearnspn.storage.container import Container, pack, unpack
from unlearnspn.storage.documents import decode, encode
from unlearnspn.storage.entries import Entries
from unlearnspn.storage.errors import StorageError, explained
from unlearnspn.storage.files import PathLike, read_file, write_file
from unlearnspn.storage.records import StoredRecords, canonical_rows, pack_records, restore_records, take_records
from unlearnspn.storage.settings import describe_settings, read_settings
from unlearnspn.tables.origins import Origin

_KIND = "model"
_NAMES = {"settings", "n_records", "string_ids", "digest", "state_digest", "origin", "extra"}


def write_model(path: PathLike, model: Model, document: Mapping[str, Any]) -> None:
    """Write a model's settings and all its records, and a document beside them, into one file.

    The file is a function of the model and the document alone: after `unlearn` it is, byte for byte, the file of a
    model that never saw the record.
    """
    with explained("write", path):
        write_file(path, pack(pack_model(model, document)))


def read_model(path: PathLike, components: Iterable[type] = ()) -> tuple[Model, dict[str, Any]]:
    """Read a model and its document; nothing that the file says is run.

    Building blocks of users' own classes are made only if these are passed in `components`. Raises `StorageError` if
    anything is wrong with the file; its digests are compared with those of the model that was read.
    """
    with explained("read", path):
        return unpack_model(unpack(read_file(path), _KIND), known_blocks(components))


def pack_model(model: Model, document: Mapping[str, Any]) -> Container:
    """Return what a file holds of a model."""
    records = model.records
    if len(model.hidden):  # a file holds records as they came
        ids, table = model.export()
        records = Records.learn(records.schema, records.seed, records.n_bins, ids, table, digested=False)
    rows = canonical_rows(records)
    described = {
        "settings": describe_settings(model.settings),
        "n_records": len(rows),
        "string_ids": records.string_ids,
        "digest": model.digest(),
        "state_digest": model.state_digest(),
        "origin": describe_origin(model.origin),
        "extra": encode_with_blocks(document, "document"),
    }
    return Container(_KIND, described, pack_records(records, rows))


def unpack_model(container: Container, known: Mapping[str, type]) -> tuple[Model, dict[str, Any]]:
    """Return the model that a file holds, and its document, or raise."""
    described, settings, extra = read_description(container, _NAMES, known)
    model = restore_model(settings, described, Entries(container.arrays))
    require_digests(described, model.digest(), model.state_digest())
    model.origin = read_origin(described["origin"])
    return model, extra


def read_description(
    container: Container, names: set[str], known: Mapping[str, type]
) -> tuple[dict[str, Any], Settings, dict[str, Any]]:
    """Return what a container says of a model, its settings, and the document beside it, or raise."""
    described = container.document
    if not isinstance(described, dict) or set(described) != names:
        raise StorageError(f"the document does not describe a model of the kind {container.kind!r}")
    settings, extra = read_settings(described["settings"], known), decode_with_blocks(described["extra"], known)
    if not isinstance(extra, dict):
        raise StorageError("the document beside the model is none")
    return described, settings, extra


def require_digests(described: Mapping[str, Any], digest: str, state_digest: str) -> None:
    """Raise unless what was read is what was written."""
    for name, found in {"digest": digest, "state_digest": state_digest}.items():
        if described[name] != found:
            raise StorageError(f"the model that was read has another {name} than the one that was written")


def describe_origin(origin: Origin | None) -> Any:
    """Return what the records' table was like in JSON's terms."""
    return None if origin is None else encode(origin.to_dict())


def read_origin(described: Any) -> Origin | None:
    """Return what the records' table was like, or raise."""
    if described is None:
        return None
    try:
        return Origin.from_dict(decode(described))
    except ValueError as error:
        raise StorageError(str(error)) from error


def restore_model(settings: Settings, described: Mapping[str, Any], entries: Entries) -> Model:
    """Return the model that some entries hold, or raise; digests are not compared."""
    stored, records = restore_all_records(settings, described, entries)
    entries.finish()
    return Model.learn(settings, stored.ids, stored.table) if settings.without_rare else Model.of(settings, records)


def restore_all_records(
    settings: Settings, described: Mapping[str, Any], entries: Entries
) -> tuple[StoredRecords, Records]:
    """Return the records that some entries hold, as they are stored and as a fit makes them, or raise."""
    number, string_ids = described["n_records"], described["string_ids"]
    if type(number) is not int or number < 1 or type(string_ids) is not bool:
        raise StorageError("the document does not say how many records there are, and of what kind their ids")
    stored = take_records(entries, settings.schema, number, string_ids)
    try:
        check_support(settings.leaves, stored.table)
        return stored, restore_records(stored, settings.schema, settings.seed, settings.n_bins_among(number))
    except (InvalidTableError, RecordIdError) as error:
        raise StorageError(f"the records cannot be what they are said to be: {error}") from error

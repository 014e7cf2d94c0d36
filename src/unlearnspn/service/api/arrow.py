"""Arrow's stream format, from whom nobody trusts: read only what cannot become more than was sent."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
from fastapi import Response

from unlearnspn.service.errors import InvalidInputError

ARROW = "application/vnd.apache.arrow.stream"
#: Where the parts of a message are, as Arrow's format describes them: the message's header; the data of a dictionary;
#: the compression of a batch.
_HEADER, _DATA, _COMPRESSION = 2, 1, 3


def read_arrow(body: bytes) -> pa.Table:
    """Return the table that a stream holds, or raise."""
    try:
        _refuse_compressed(body)
        return _read(body)
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        raise InvalidInputError(f"the body is no Arrow stream: {str(error)[:200]}") from error


def _read(body: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
        for field in reader.schema:
            _require_flat(field)
        batches, n_cells = [], 0
        for batch in reader:
            # No cell takes less than a bit, but what is nothing but missing takes nothing at all.
            n_cells += batch.num_rows * max(batch.num_columns, 1)
            if n_cells > 8 * len(body):
                raise InvalidInputError("the Arrow stream has more rows than were sent")
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
    table.validate(full=True)
    return table


def _require_flat(field: pa.Field) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    is_flat = pa.types.is_primitive(kind) or any(
        check(kind) for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_decimal, pa.types.is_null)
    )
    if not is_flat:
        raise InvalidInputError(
            f"column {field.name!r} of the Arrow stream is of type {str(field.type)[:100]}: "
            f"send numbers, texts, booleans, dates or times"
        )


def _refuse_compressed(body: bytes) -> None:
    """Raise if a part is compressed: a few bytes may become more than a machine has room for."""
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(body))
    for message in iter(reader):
        if message.type == "schema":
            continue
        metadata = message.metadata.to_pybytes()
        header = _follow(metadata, struct.unpack_from("<I", metadata)[0], _HEADER)
        if message.type == "dictionary" and header is not None:
            header = _follow(metadata, header, _DATA)
        if header is None or _follow(metadata, header, _COMPRESSION) is not None:
            raise InvalidInputError("the Arrow stream is compressed: send it without compression")


def _follow(metadata: bytes, table: int, field: int) -> int | None:
    """Return where a field of a table of FlatBuffers leads to; None if there is no such field."""
    fields = table - struct.unpack_from("<i", metadata, table)[0]
    if fields < 0 or 4 + 2 * field >= struct.unpack_from("<H", metadata, fields)[0]:
        return None
    offset = struct.unpack_from("<H", metadata, fields + 4 + 2 * field)[0]
    if not offset:
        return None
    place: int = table + offset + struct.unpack_from("<I", metadata, table + offset)[0]
    return place


def wants_arrow(accept: str) -> bool:
    """Tell whether an answer is to be an Arrow stream."""
    return ARROW in accept


def arrow_answer(columns: dict[str, Any]) -> Response:
    """Return columns as an Arrow stream."""
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW)

"""Records on their way in and out: JSON, or Arrow's stream format."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
from fastapi import Depends, Request, Response
from pydantic import TypeAdapter, ValidationError

from unlearnspn.circuit import Circuit
from unlearnspn.exchange.tables import options_for, options_of, rows_for
from unlearnspn.service.api.bodies import RecordsBody
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.sources import Options, read_json
from unlearnspn.tables import Table, read_table

ARROW = "application/vnd.apache.arrow.stream"
_BODY: TypeAdapter[RecordsBody] = TypeAdapter(RecordsBody)
_SCHEMA = RecordsBody.model_json_schema()
#: How a path says in the description of the API that it takes records in both formats.
TAKES_RECORDS: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _SCHEMA},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
#: A list of records, or a table of Arrow.
Sent = Any


async def _sent(request: Request) -> Sent:
    body, kind = await request.body(), request.headers.get("content-type", "").split(";")[0].strip()
    if kind == ARROW:
        return _read_arrow(body)
    try:
        return _BODY.validate_json(body).records
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInputError(f"the body is no list of records: {where} {first['msg']}") from None


Records = Annotated[Sent, Depends(_sent)]


def _read_arrow(body: bytes) -> Any:
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(f"the body is no Arrow stream: {str(error)[:200]}") from error
    return table


def records_for_vault(service: DeskService, sent: Sent) -> Any:
    """Return records as a vault reads them: ids, subjects and all columns."""
    return sent if isinstance(sent, pa.Table) else read_json(sent, options_of(service.vault.info(), Options()))


def rows_to_ask(circuit: Circuit, sent: Sent) -> Table:
    """Return rows that a circuit is to be asked about; columns that they lack are left open."""
    table = read_table(sent) if isinstance(sent, pa.Table) else read_json(sent, options_for(circuit, Options()))
    return rows_for(circuit, table)[0]


def wants_arrow(request: Request) -> bool:
    """Tell whether the answer is to be an Arrow stream."""
    return ARROW in request.headers.get("accept", "")


def arrow_answer(columns: dict[str, Any]) -> Response:
    """Return columns as an Arrow stream."""
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW)

"""Records on their way in and out: JSON, or Arrow's stream format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from fastapi import Depends, Request
from pydantic import ValidationError

from unlearnspn.circuit import Circuit
from unlearnspn.exchange.tables import options_for, options_of, rows_for
from unlearnspn.service.api.arrow import ARROW, read_arrow
from unlearnspn.service.api.bodies import RecordsBody
from unlearnspn.service.api.strict_json import read_strictly
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import InvalidInputError, UnsupportedTypeError
from unlearnspn.sources import Options, read_json
from unlearnspn.tables import Table, read_table

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


@dataclass(frozen=True)
class Sent:
    """A body with records, not read yet: that is for whoever may send some, and not while others wait."""

    kind: str
    body: bytes

    def read(self) -> list[dict[str, Any]] | pa.Table:
        """Return the records, or a table of Arrow."""
        if self.kind == ARROW:
            return read_arrow(self.body)
        try:
            return RecordsBody.model_validate(read_strictly(self.body)).records
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise InvalidInputError(f"the body is no list of records: {where} {first['msg']}") from None


async def _sent(request: Request) -> Sent:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in ("application/json", ARROW):
        raise UnsupportedTypeError(f"send records as application/json, or as {ARROW}")
    return Sent(kind, await request.body())


Records = Annotated[Sent, Depends(_sent)]


def records_for_vault(service: DeskService, sent: list[dict[str, Any]] | pa.Table) -> Any:
    """Return records as a vault reads them: ids, subjects and all columns."""
    return sent if isinstance(sent, pa.Table) else read_json(sent, options_of(service.vault.info(), Options()))


def rows_to_ask(circuit: Circuit, sent: list[dict[str, Any]] | pa.Table) -> Table:
    """Return rows that a circuit is to be asked about; columns that they lack are left open."""
    table = read_table(sent) if isinstance(sent, pa.Table) else read_json(sent, options_for(circuit, Options()))
    return rows_for(circuit, table)[0]

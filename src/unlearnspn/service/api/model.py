"""Questions to the model; each is answered by one circuit, whatever changes meanwhile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictInt

from unlearnspn.circuit import Circuit, Range
from unlearnspn.exchange.tables import rows_of, to_array
from unlearnspn.service.api.arrow import ARROW, arrow_answer, wants_arrow
from unlearnspn.service.api.bodies import Body, Cell
from unlearnspn.service.api.callers import Caller, Service, allowed
from unlearnspn.service.api.describing import answers, or_arrow
from unlearnspn.service.api.strict_json import StrictRoute
from unlearnspn.service.api.tables import TAKES_RECORDS, Records, rows_to_ask
from unlearnspn.service.roles import Scope
from unlearnspn.tables.times import written

router = APIRouter(prefix="/model", tags=["model"], route_class=StrictRoute)
Asker = Annotated[Caller, allowed(Scope.QUERY)]


class Bounds(Body):
    """Numbers, dates or times between bounds."""

    at_least: Cell = None
    above: Cell = None
    at_most: Cell = None
    below: Cell = None


Evidence = dict[str, Cell | Bounds | list[Cell]]


class ProbabilityBody(Body):
    """An event, and what is known: by column a value, a list of categories, or bounds."""

    event: Evidence
    given: Evidence = Field(default_factory=dict)


class ExpectationBody(Body):
    """Columns whose means are asked for, and what is known."""

    columns: Annotated[list[str], Field(min_length=1, max_length=1000)]
    given: Evidence = Field(default_factory=dict)


class SampleBody(Body):
    """How many rows are drawn, and what is known."""

    n: Annotated[StrictInt, Field(ge=1, le=100_000)] = 10
    given: Evidence = Field(default_factory=dict)
    seed: Annotated[StrictInt, Field(ge=0, lt=1 << 32)] | None = None


@router.get("")
def describe(service: Service, caller: Asker) -> dict[str, Any]:
    """Return what the model is about: its columns, their kinds and categories."""
    circuit = service.vault.circuit_
    return {
        "columns": [
            {
                "name": domain.name,
                "kind": domain.kind.value,
                "holds": domain.family.value,
                "categories": [written(category) for category in domain.categories],
            }
            for domain in circuit.domains.columns
        ]
    }


@router.post("/score", openapi_extra=TAKES_RECORDS, responses=or_arrow(ARROW))
def score(request: Request, sent: Records, service: Service, caller: Asker) -> Any:
    """Return the log-density of each row; null stands for minus infinity. What is missing is summed out."""
    circuit = service.vault.circuit_
    densities = circuit.score_samples(rows_to_ask(circuit, sent.read()))
    if wants_arrow(request.headers.get("accept", "")):
        return arrow_answer({"log_density": densities})
    return {"log_densities": [value if math.isfinite(value) else None for value in densities.tolist()]}


@router.post("/impute", openapi_extra=TAKES_RECORDS)
def impute(sent: Records, service: Service, caller: Asker, how: Literal["mean", "mpe"] = "mean") -> Any:
    """Fill in what is missing in each row."""
    circuit = service.vault.circuit_
    filled = circuit.impute(to_array(rows_to_ask(circuit, sent.read())), how=how)
    return {"records": _as_records(circuit, filled)}


@router.post("/probability")
def probability(body: ProbabilityBody, service: Service, caller: Asker) -> dict[str, float]:
    """Return the probability of an event, given what is known."""
    circuit = service.vault.circuit_
    return {"probability": circuit.probability(read_evidence(body.event), given=read_evidence(body.given) or None)}


@router.post("/expectation")
def expectation(body: ExpectationBody, service: Service, caller: Asker) -> dict[str, Any]:
    """Return the means of columns, given what is known."""
    circuit, given = service.vault.circuit_, read_evidence(body.given) or None
    return {"means": {name: written(circuit.expectation(name, given=given)) for name in body.columns}}


@router.post("/sample", responses=or_arrow(ARROW))
def sample(body: SampleBody, request: Request, service: Service, caller: Asker) -> Any:
    """Draw rows from the model, given what is known."""
    circuit = service.vault.circuit_
    drawn = circuit.sample(body.n, given=read_evidence(body.given) or None, random_state=body.seed)
    records = _as_records(circuit, drawn)
    if wants_arrow(request.headers.get("accept", "")):
        return arrow_answer({name: [record[name] for record in records] for name in circuit.columns})
    return {"records": records}


@router.get("/circuit", response_class=Response, responses=answers("application/json"))
def circuit(service: Service, caller: Asker) -> Response:
    """Return the circuit that serves, as JSON; who took it is in the audit log. It may show what is in the data."""
    return Response(service.take_circuit(who=caller.name).to_json(), media_type="application/json")


def read_evidence(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return evidence as circuits know it."""
    return {
        name: Range(**{bound: value for bound, value in vars(wanted).items() if value is not None})
        if isinstance(wanted, Bounds)
        else wanted
        for name, wanted in sent.items()
    }


def _as_records(circuit: Circuit, answer: Any) -> Sequence[dict[str, Any]]:
    return [dict(zip(circuit.columns, row, strict=True)) for row in rows_of(answer, circuit)]

"""The model: what it is, its network, and questions to it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sklearn.exceptions import NotFittedError
from starlette.concurrency import run_in_threadpool

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.expressions import Unit
from unlearnspn.exchange.tables import options_for, rows_for
from unlearnspn.service.console.asking import Form, answer, offered_values, read_form
from unlearnspn.service.console.csv_files import decode, delimiter_of
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.jobs import running_fit
from unlearnspn.service.console.network import draw, unfold, way_to
from unlearnspn.service.console.pairs import pair_of
from unlearnspn.service.console.pictures import picture_of
from unlearnspn.service.console.rendering import go_to, language_of, page
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.errors import InvalidInputError, NotThereError
from unlearnspn.service.problems import explain
from unlearnspn.service.roles import Scope
from unlearnspn.sources import Options, read_csv_content
from unlearnspn.tables import Table

router = APIRouter(include_in_schema=False)
Asker = Annotated[Visit, visitor(Scope.QUERY)]
Place = Annotated[int | None, Query(ge=0, le=1 << 31)]
#: Columns on a page.
_COLUMNS = 12


@router.get("/model")
def overview(
    request: Request, visit: Asker, first: Annotated[int, Query(alias="from", ge=0, le=1 << 31)] = 0
) -> Response:
    """Show how large the model is, and the distribution of each column."""
    return _overview(request, visit, first)


@router.post("/model/held-out")
async def measure(request: Request, visit: Annotated[Visit, sender(Scope.WRITE_RECORDS)]) -> Response:
    """Measure how likely records are that the model has not seen."""
    _, content = await visit.file("file")

    def act() -> Response:
        try:
            if not content:
                raise InvalidInputError("choose a file first")
            visit.service.measure(lambda circuit: _read_rows(circuit, decode(content)), who=visit.who)
        except (ValueError, InvalidInputError) as error:
            return _overview(request, visit, problem=error)
        return go_to("/model#held-out")

    return await run_in_threadpool(act)


def _read_rows(circuit: Circuit, text: str) -> Table:
    options = options_for(circuit, Options(delimiter=delimiter_of(text)))
    return rows_for(circuit, read_csv_content(text.encode(), options))[0]


def _overview(request: Request, visit: Visit, first: int = 0, problem: Exception | None = None) -> Response:
    circuit = _circuit(visit)
    if circuit is None:
        return _without_model(request, visit)
    formats, info = Formats(language_of(request)), visit.service.vault.info()
    n_columns = len(circuit.domains)
    if first >= n_columns:
        raise NotThereError("the model has no such column")
    return page(
        request,
        visit.session,
        "model.html",
        200 if problem is None else explain(problem).status.value,
        info=info,
        held_out=visit.service.held_out,
        problem="" if problem is None else str(problem),
        parts=_parts(circuit),
        pictures=[picture_of(circuit, place, formats) for place in range(n_columns)[first : first + _COLUMNS]],
        first=first,
        n_columns=n_columns,
        step=_COLUMNS,
        formats=formats,
    )


def _parts(circuit: Circuit) -> dict[str, int]:
    """Return how many parts of each kind the circuit has."""
    units = circuit.layout.units
    sums, products = (int((units == kind).sum()) for kind in (Unit.SUM, Unit.PRODUCT))
    return {"sums": sums, "products": products, "leaves": len(units) - sums - products}


@router.get("/model/network")
def network(request: Request, visit: Asker, node: Annotated[str, Query(max_length=20_000)] = "/") -> Response:
    """Show the network from some node on."""
    circuit = _circuit(visit)
    if circuit is None:
        return _without_model(request, visit)
    formats = Formats(language_of(request))
    way = way_to(visit.service.vault.root_, node)
    hidden = frozenset(domain.name for domain in circuit.domains.columns if domain.identifies)
    return page(
        request,
        visit.session,
        "model_network.html",
        way=way,
        picture=draw(way[-1]),
        top=unfold(way[-1], formats, hidden),
        formats=formats,
    )


@router.get("/model/pair")
def pair(request: Request, visit: Asker, a: Place = None, b: Place = None) -> Response:
    """Show two columns together; they are chosen by number, so that no name is in the address."""
    circuit = _circuit(visit)
    if circuit is None:
        return _without_model(request, visit)
    formats, shown, problem = Formats(language_of(request)), None, ""
    if a is not None and b is not None:
        if max(a, b) >= len(circuit.domains):
            raise NotThereError("the model has no such column")
        if a == b:
            problem = "pair.same"
        else:
            try:
                shown = pair_of(circuit, a, b, formats)
            except ValueError as error:
                problem = str(error)
    return page(
        request,
        visit.session,
        "model_pair.html",
        names=circuit.domains.names,
        a=0 if a is None else a,
        b=min(1, len(circuit.domains) - 1) if b is None else b,
        pair=shown,
        problem=problem,
        formats=formats,
    )


@router.get("/model/questions")
def questions(request: Request, visit: Asker) -> Response:
    """Show the form of questions."""
    return _questions(request, visit, Form())


@router.post("/model/questions")
def ask(request: Request, visit: Annotated[Visit, sender(Scope.QUERY)]) -> Response:
    """Answer a question, below the form that it was asked with."""
    return _questions(request, visit, read_form(visit))


def _questions(request: Request, visit: Visit, form: Form) -> Response:
    circuit = _circuit(visit)
    if circuit is None:
        return _without_model(request, visit)
    formats, found, problem, status = Formats(language_of(request)), None, "", 200
    if visit.fields:
        try:
            found = answer(circuit, form, formats)
        except (ValueError, InvalidInputError) as error:
            problem, status = str(error), explain(error).status.value
    return page(
        request,
        visit.session,
        "model_ask.html",
        status,
        names=circuit.domains.names,
        values=offered_values(circuit),
        form=form,
        answer=found,
        problem=problem,
        formats=formats,
    )


def _circuit(visit: Visit) -> Circuit | None:
    """Return the circuit that serves; none if there is no model, or if one is being learned, which takes the vault."""
    if running_fit(visit.service) is not None:
        return None
    try:
        return visit.service.vault.circuit_
    except NotFittedError:
        return None


def _without_model(request: Request, visit: Visit) -> Response:
    running = running_fit(visit.service)
    # While it is learned, whoever asks the vault must wait.
    n_records = 0 if running else len(visit.service.vault)
    values: dict[str, Any] = {"running": running, "n_records": n_records, "formats": Formats(language_of(request))}
    return page(request, visit.session, "model_empty.html", **values)

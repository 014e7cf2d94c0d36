"""Work in the background, health and metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from unlearnspn import __version__
from unlearnspn.service.api.bodies import JobAnswer
from unlearnspn.service.api.callers import Caller, Service, allowed
from unlearnspn.service.api.describing import answers
from unlearnspn.service.api.strict_json import StrictRoute
from unlearnspn.service.metrics import CONTENT_TYPE
from unlearnspn.service.roles import Scope

router = APIRouter(tags=["jobs"], route_class=StrictRoute)


@router.get("/jobs/{job_id}")
def job(
    job_id: Annotated[str, Path(max_length=100)],
    service: Service,
    caller: Annotated[Caller, allowed(Scope.VERIFY, Scope.WRITE_RECORDS)],
) -> JobAnswer:
    """Return a job as it is now."""
    return JobAnswer.of(service.jobs.get(job_id))


@router.get("/health", tags=["running"])
def health() -> dict[str, Any]:
    """Tell that the service answers; nobody need be signed in to ask."""
    return {"status": "ok", "version": __version__}


@router.get("/metrics", tags=["running"], response_class=Response, responses=answers("text/plain"))
def metrics(service: Service, caller: Annotated[Caller, allowed(Scope.METRICS)]) -> Response:
    """Return figures as Prometheus reads them."""
    return Response(service.metrics.render(service), media_type=CONTENT_TYPE)

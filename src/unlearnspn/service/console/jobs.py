"""Long work: begun from a page, watched on another one, with its verdict at the end."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from unlearnspn.certificates import utc_now
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.rendering import go_to, language_of, page
from unlearnspn.service.console.visitors import Visit, sender, visitor
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.jobs import Job, JobState
from unlearnspn.service.roles import Scope

router = APIRouter(include_in_schema=False)
#: What each kind of work does, one after the other.
_STEPS = {"verification": ("pages", "ledger", "learning from scratch"), "fit": ("fit", "store")}


@router.post("/verifications")
def verify(visit: Annotated[Visit, sender(Scope.VERIFY)]) -> Response:
    """Have everything verified, and show how far that has come."""
    return go_to(f"/jobs/{visit.service.start_verification(who=visit.who).id}")


@router.post("/fits")
def fit(visit: Annotated[Visit, sender(Scope.WRITE_RECORDS)]) -> Response:
    """Have a model learned, and show how far that has come."""
    running = running_fit(visit.service)
    if running is None:
        request_id = f"fit-{utc_now()[:10]}-{secrets.token_hex(4)}"
        running = visit.service.start_fit(who=visit.who, request_id=request_id, parameters={})
    return go_to(f"/jobs/{running.id}")


@router.get("/jobs/{job_id}")
def job(
    request: Request,
    job_id: Annotated[str, Path(max_length=100)],
    visit: Annotated[Visit, visitor(Scope.VERIFY)],
) -> Response:
    """Show how far some work has come; the page is loaded anew until it is over."""
    found = visit.service.jobs.get(job_id)
    steps = _STEPS.get(found.kind, ())
    return page(
        request,
        visit.session,
        "job.html",
        job=found,
        kind=found.kind if found.kind in _STEPS else "other",
        steps=[step.replace(" ", "_") for step in steps],
        n_done=_n_done(found, steps),
        formats=Formats(language_of(request)),
    )


def _n_done(job: Job, steps: tuple[str, ...]) -> int:
    if job.state is JobState.DONE:
        return len(steps)
    return steps.index(job.step) if job.step in steps else 0


def last_of(service: DeskService, kind: str) -> Job | None:
    """Return the last work of a kind that somebody asked for since the service began."""
    return next((job for job in service.jobs.all() if job.kind == kind), None)


def running_fit(service: DeskService) -> Job | None:
    """Return the learning of a model that goes on or waits, if there is any."""
    return next((job for job in service.jobs.all() if job.kind == "fit" and not job.is_over), None)

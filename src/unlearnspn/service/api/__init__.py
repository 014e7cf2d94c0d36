"""The API, version 1: what other systems call, with a token."""

from __future__ import annotations

from fastapi import APIRouter

from unlearnspn.service.api import changes, jobs, ledger, model, requests
from unlearnspn.service.api.describing import PROBLEMS

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
for part in (requests, changes, ledger, model, jobs):
    router.include_router(part.router)

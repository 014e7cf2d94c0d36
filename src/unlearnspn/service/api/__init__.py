"""The API, version 1: what other systems call, with a token."""

from __future__ import annotations

from fastapi import APIRouter

from unlearnspn.service.api import changes, jobs, ledger, model, requests

router = APIRouter(prefix="/api/v1")
for part in (requests, changes, ledger, model, jobs):
    router.include_router(part.router)

"""A request: who it is about, what is held, what an erasure would do, the decision, and what became of it."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)

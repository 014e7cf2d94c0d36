"""The model: what it is, its network, and questions to it."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)

"""The inbox: all requests, filters, search, several at once, and new ones by form and by CSV."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)

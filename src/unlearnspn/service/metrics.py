"""Figures for those who watch the service, as Prometheus reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from unlearnspn.service.desk_service import DeskService

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._answers = Counter(
            "unlearnspn_answers_total", "Answers, by path and status.", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "unlearnspn_answer_seconds", "How long answers took.", ["path"], registry=self._registry
        )
        self._records = Gauge("unlearnspn_records", "Records in the vault.", registry=self._registry)
        self._entries = Gauge("unlearnspn_ledger_entries", "Entries of the ledger.", registry=self._registry)
        self._open = Gauge("unlearnspn_requests_open", "Requests of people that are open.", registry=self._registry)
        self._late = Gauge("unlearnspn_requests_late", "Open requests that are overdue.", registry=self._registry)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Take note of an answer; `path` is that of the route, without what stands in its places."""
        self._answers.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def render(self, service: DeskService) -> bytes:
        """Return all figures as text."""
        requests = service.desk.requests()
        self._records.set(len(service.vault))
        self._entries.set(len(service.ledger.entries()))
        self._open.set(sum(request.is_open for request in requests))
        self._late.set(sum(request.is_late for request in requests))
        return generate_latest(self._registry)

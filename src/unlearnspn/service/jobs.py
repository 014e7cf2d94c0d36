"""Long work in the background, one piece at a time, with its progress."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock
from typing import Any

from unlearnspn.certificates import utc_now
from unlearnspn.progress import Progress
from unlearnspn.service.errors import ConflictError, NotThereError

#: So many are waiting or are kept to be looked at; none names a person.
_MOST_WAITING, _MOST_KEPT = 20, 200


class JobState(StrEnum):
    """How far a job has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Job:
    """Work that goes on in the background; what it found is JSON, and so is what went wrong."""

    id: str
    kind: str
    who: str
    asked: str
    state: JobState = JobState.WAITING
    #: What it is at, and how much of that is done; between 0 and 1 if anybody knows.
    step: str = ""
    share: float | None = None
    result: dict[str, Any] | None = None
    error: str | None = None

    @property
    def is_running(self) -> bool:
        """Whether somebody is at work on it."""
        return self.state is JobState.RUNNING

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.state in (JobState.DONE, JobState.FAILED)


class Jobs:
    """All jobs since the service began."""

    def __init__(self, explain: Callable[[BaseException], str]) -> None:
        self._explain = explain
        self._jobs: dict[str, Job] = {}
        #: How often was forgotten, and whether what is running is to end.
        self._n_forgotten = 0
        self._is_closing = False
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="job")

    def start(self, kind: str, who: str, work: Callable[[Progress], dict[str, Any]]) -> Job:
        """Have work done, and return at once."""
        job = Job(f"j-{secrets.token_hex(8)}", kind, who, utc_now())
        with self._lock:
            if sum(not each.is_over for each in self._jobs.values()) >= _MOST_WAITING:
                raise ConflictError("too many jobs are waiting: try again later")
            for known in list(self._jobs.values())[: max(len(self._jobs) - _MOST_KEPT, 0)]:
                if known.is_over:
                    del self._jobs[known.id]
            self._jobs[job.id] = job
            n_forgotten = self._n_forgotten
        self._pool.submit(self._run, job.id, work, n_forgotten)
        return job

    def get(self, job_id: str) -> Job:
        """Return a job as it is now."""
        with self._lock:
            if job_id not in self._jobs:
                raise NotThereError("there is no such job; jobs are forgotten when the service ends")
            return self._jobs[job_id]

    def all(self) -> list[Job]:
        """Return all jobs, the newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def forget(self) -> None:
        """Forget what is over: what went wrong may have named somebody who was erased."""
        with self._lock:
            self._jobs = {job.id: job for job in self._jobs.values() if not job.is_over or job.error is None}
            self._n_forgotten += 1

    def close(self) -> None:
        """Have what is running end at its next step, wait for that, and begin nothing any more."""
        self._is_closing = True
        self._pool.shutdown(cancel_futures=True)

    def _run(self, job_id: str, work: Callable[[Progress], dict[str, Any]], n_forgotten: int) -> None:
        def tell(step: str, done: int, total: int) -> None:
            if self._is_closing:
                raise ConflictError("the service ends")
            self._change(job_id, step=step, share=done / total if total else None)

        self._change(job_id, state=JobState.RUNNING)
        try:
            result = work(tell)
        except Exception as error:
            self._fail(job_id, self._explain(error), n_forgotten)
        else:
            self._change(job_id, state=JobState.DONE, share=1.0, result=result)

    def _fail(self, job_id: str, error: str, n_forgotten: int) -> None:
        with self._lock:
            if self._n_forgotten > n_forgotten:
                error = "it failed, and since somebody was erased meanwhile, nobody keeps why: try again"
            self._jobs[job_id] = replace(self._jobs[job_id], state=JobState.FAILED, error=error)

    def _change(self, job_id: str, **changed: Any) -> None:
        with self._lock:
            self._jobs[job_id] = replace(self._jobs[job_id], **changed)

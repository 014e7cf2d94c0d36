"""What tests of threads share: writers and readers at once, and the one order of requests that explains all answers."""

import hashlib
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

#: For how long 8 writers and 16 readers use each kind of model; `UNLEARNSPN_THREAD_SECONDS=60` for a deep run.
SECONDS = float(os.environ.get("UNLEARNSPN_THREAD_SECONDS", "1.5"))
N_WRITERS, N_READERS = 8, 16
#: However slow the machine is, each thread gets so many turns.
LEAST = 3


def at_once(*acts):
    """Do all in threads of their own that start together; return the results, or raise what one of them has raised."""
    barrier = threading.Barrier(len(acts))
    results, errors = [None] * len(acts), []

    def work(number):
        barrier.wait()
        try:
            results[number] = acts[number]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)
    return results


@contextmanager
def halfway(monkeypatch, owner, name, act):
    """Do something in a thread, and stop it at the end of a function until this is left."""
    reached, goes_on, original = threading.Event(), threading.Event(), getattr(owner, name)

    def stop(*arguments):
        result = original(*arguments)
        reached.set()
        assert goes_on.wait(60)
        return result

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, stop)
        thread = threading.Thread(target=act, daemon=True)
        thread.start()
        assert reached.wait(60)
    try:
        yield
    finally:
        goes_on.set()
        thread.join(60)


def brief(answer):
    """Return a hash of an answer, of which there may be very many."""
    return hashlib.blake2b(repr(answer).encode(), digest_size=12).digest()


@dataclass
class Read:
    """An answer, how many requests had been completed before it was asked for, and how many were begun afterwards."""

    question: int
    answer: bytes
    n_completed: int
    n_begun: int
    seconds: float


@dataclass
class Use:
    """What writers and readers have done with a model."""

    #: Requests in the order in which they were begun, and in which they were completed, by writer and number.
    begun: list = field(default_factory=list)
    completed: list = field(default_factory=list)
    #: What each request asked for, and the digests of the state before and after it.
    requests: dict = field(default_factory=dict)
    reads: list = field(default_factory=list)

    def in_order(self, first):
        """Return the names of the requests in the order in which they were carried out, from a state on."""
        by_state = {before: (name, after) for name, (_, before, after) in self.requests.items()}
        assert len(by_state) == len(self.requests), "two requests were carried out on the same state"
        names, state = [], first
        while state in by_state:
            name, state = by_state[state]
            names.append(name)
        assert len(names) == len(self.requests), "the requests do not follow each other"
        return names


def use(model, writers, questions, seconds=SECONDS):
    """Have writers change a model while readers ask it, each in a thread of its own.

    A writer is an iterator of requests: functions of a model that return a report. A question is a function of a model.
    """
    used, until = Use(), time.monotonic() + seconds

    def write(number, requests):
        for count, request in enumerate(requests):
            if count >= LEAST and time.monotonic() > until:
                return
            name = number, count
            used.begun.append(name)
            report = request(model)
            used.requests[name] = request, report.state_digest_before, report.state_digest_after
            used.completed.append(name)

    def read(number):
        count = 0
        while count < LEAST or time.monotonic() < until:
            question = (number + count) % len(questions)
            n_completed, started = len(used.completed), time.perf_counter()
            answer = questions[question](model)
            seconds_taken, n_begun = time.perf_counter() - started, len(used.begun)
            used.reads.append(Read(question, brief(answer), n_completed, n_begun, seconds_taken))
            count += 1

    acts = [lambda number=number, writer=writer: write(number, writer) for number, writer in enumerate(writers)]
    at_once(*acts, *(lambda number=number: read(number) for number in range(N_READERS)))
    return used


def assert_each_answer_is_of_a_prefix(used, twin, first, questions):
    """Carry the requests out again, one after another, and find each answer among those in between.

    It must include all requests that had been completed when it was asked for, and none that was not begun yet.
    """
    order = used.in_order(first)
    place = {name: number for number, name in enumerate(order, start=1)}
    answers = [{} for _ in questions]
    for number in range(len(order) + 1):
        if number:
            used.requests[order[number - 1]][0](twin)
        for question, known in zip(questions, answers, strict=True):
            known.setdefault(brief(question(twin)), []).append(number)
    least = _running_maximum([place[name] for name in used.completed])
    begun = {name: number for number, name in enumerate(used.begun)}
    last_begun = [-1, *_running_maximum([begun[name] for name in order])[1:]]
    for read in used.reads:
        found = answers[read.question].get(read.answer)
        assert found, f"question {read.question} was answered by no model that there ever was"
        assert found[-1] >= least[read.n_completed], "an answer lacks a request that had been completed"
        assert last_begun[found[0]] < read.n_begun, "an answer has a request that was not begun"


def _running_maximum(places):
    highest = [0]
    for place in places:
        highest.append(max(highest[-1], place))
    return highest

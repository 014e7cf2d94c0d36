"""Ctrl-C, at whatever moment: a request is carried out or not at all, and whoever pressed it gets the interruption."""

import inspect
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from unlearnspn import SPN, SPNEnsemble, interrupts
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.ensemble import Ensemble
from unlearnspn.interrupts import Uninterrupted
from unlearnspn.model import Model
from unlearnspn.records import Records
from unlearnspn.request import Request
from unlearnspn.spn import digest, unlearn_spn
from unlearnspn.spn.unlearn_spn import Revision


def interrupt():
    signal.raise_signal(signal.SIGINT)


def interruption():
    """Expect that an interruption comes through."""
    return pytest.raises(KeyboardInterrupt)


@contextmanager
def handled_by(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def as_in_the_foreground():
    """Handle Ctrl-C as Python does: processes in the background ignore it from the start."""
    with handled_by(signal.default_int_handler):
        yield


def test_an_interruption_waits_until_the_end():
    before, done = signal.getsignal(signal.SIGINT), []
    with interruption(), Uninterrupted():
        interrupt()
        interrupt()
        done.append(True)
    assert done
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interruption_comes_after_an_error():
    with interruption() as caught, Uninterrupted():
        interrupt()
        raise ValueError
    assert isinstance(caught.value.__context__, ValueError)


def test_an_interruption_waits_until_the_end_of_all():
    done = []
    with interruption(), Uninterrupted() as outer:
        with Uninterrupted() as inner, inner.except_here():
            interrupt()
            done.append(1)
        done.append(2)
        with outer.except_here():
            done.append(3)
    assert done == [1, 2]


def test_where_it_may_come_an_interruption_comes_once():
    seen = []
    with interruption(), Uninterrupted() as uninterrupted:
        try:
            with uninterrupted.except_here():
                interrupt()
                seen.append("not interrupted")
        except KeyboardInterrupt:
            interrupt()
            seen.append("seen to")
    assert seen == ["seen to"]


def test_what_was_interrupted_within_is_seen_to_in_peace():
    seen = []
    with interruption(), Uninterrupted() as outer, outer.except_here():
        with Uninterrupted():
            interrupt()
            seen.append("waited")
        seen.append("not interrupted")
    assert seen == ["waited"]


def test_an_error_where_interruptions_may_come_is_seen_to_in_peace():
    seen = []
    with interruption(), Uninterrupted() as uninterrupted:
        try:
            with uninterrupted.except_here():
                raise ValueError
        except ValueError:
            interrupt()
            seen.append("seen to")
    assert seen == ["seen to"]


def test_a_handler_that_goes_on_is_called_each_time_it_may_be():
    calls = []
    with handled_by(lambda number, frame: calls.append(number)), Uninterrupted() as uninterrupted:
        with uninterrupted.except_here():
            interrupt()
            interrupt()
            assert calls == [signal.SIGINT] * 2
        interrupt()
        assert len(calls) == 2
    assert len(calls) == 3


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_where_python_does_not_handle_interruptions_nothing_is_done(handler):
    with handled_by(handler):
        with Uninterrupted() as uninterrupted, uninterrupted.except_here():
            assert signal.getsignal(signal.SIGINT) is handler
        assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_that_python_does_not_know_stays(monkeypatch):
    monkeypatch.setattr(interrupts._signal, "getsignal", lambda number: None)
    monkeypatch.setattr(interrupts._signal, "signal", None)
    with Uninterrupted() as uninterrupted, uninterrupted.except_here():
        pass


def test_other_threads_do_nothing():
    def enter():
        with Uninterrupted() as uninterrupted, uninterrupted.except_here():
            return signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(enter).result() is before


# -- requests ----------------------------------------------------------------------------------------------------------


def _reaches_the_caller(code):
    """Tell whether Python hands an interruption on: not from generators thrown away."""
    return "/unlearnspn/" in code.co_filename and not code.co_flags & inspect.CO_GENERATOR


@contextmanager
def interrupted_at(number):
    """Interrupt at a call of a function of this package, or at its end, after so many others; yields a countdown."""
    left = [number]

    def watch(frame, event, argument):
        if event in ("call", "return") and _reaches_the_caller(frame.f_code):
            left[0] -= 1
            if left[0] == 0:
                interrupt()

    sys.setprofile(watch)
    try:
        yield left
    finally:
        sys.setprofile(None)


TABLE = example_table(90)
REQUESTS = {
    "dry run": lambda spn: spn.unlearn([15, 16, 17], dry_run=True),
    "unlearn": lambda spn: spn.unlearn([15, 16, 17]),
    "learn, dry run": lambda spn: spn.learn(TABLE[:2], ids=[1000, 1001], dry_run=True),
    "rectify": lambda spn: spn.rectify(TABLE[10:12], ids=[15, 16]),
}


def made_of(spn):
    """Return what follows from every node and record that a model holds, hashed anew."""
    anew = pickle.loads(pickle.dumps(spn))
    return anew.digest(), anew.state_digest(), tuple(anew.ids_)


def engines(spn):
    return [spn._model] if isinstance(spn, SPN) else spn._model.learned


def assert_nothing_left_lying(spn):
    for model in engines(spn):
        records = model.records
        assert len(records) + len(records.free) == records.capacity
        assert np.array_equal(np.sort(records.free), np.flatnonzero(~records.live))
        for name in ("keys", "values", "levels", "codes", "features"):
            assert not getattr(records, name)[~records.live].any()
        for array, name in zip(model.learner.coded.arrays, ("codes", "features", "values", "levels"), strict=False):
            assert array is getattr(records, name)


def interrupt_everywhere(original, request, n_moments):
    """Interrupt a request at some moments from its beginning to its end, each time anew."""
    before = made_of(pickle.loads(original))
    for _ in range(2):  # what is known from then on is not asked the second time
        twin = pickle.loads(original)
        with interrupted_at(-1) as left:
            request(twin)
    n_calls = -1 - left[0]
    states, found = {before, made_of(twin)}, set()
    for moment in np.unique(np.linspace(1, n_calls, n_moments).astype(int)).tolist():
        spn = pickle.loads(original)
        with interruption(), interrupted_at(moment):
            request(spn)
        state = made_of(spn)
        assert state in states, moment
        assert (spn.digest(), spn.state_digest(), tuple(spn.ids_)) == state, moment
        assert_nothing_left_lying(spn)
        found.add(state)
    assert found == states


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_carried_out_or_not_at_all(name):
    spn = SPN(min_rows=8, threshold=0.7, n_bins=6, categorical_features=list(CATEGORICAL)).fit(TABLE)
    interrupt_everywhere(pickle.dumps(spn), REQUESTS[name], 80)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_to_an_ensemble_is_carried_out_or_not_at_all(name):
    spn = SPNEnsemble(3, min_rows=8, n_bins=6, categorical_features=list(CATEGORICAL)).fit(TABLE)
    interrupt_everywhere(pickle.dumps(spn), REQUESTS[name], 20)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("kind", "owner", "name", "carried_out"),
    [
        (SPN, Records, "stage", False),
        (SPN, unlearn_spn, "learn_spn", False),
        (SPN, Revision, "_open", False),
        (SPN, digest, "digest_network", True),
        (SPN, Records, "commit", True),
        (SPN, Records, "_release", True),
        (SPN, Request, "commit", True),
        (SPNEnsemble, Model, "revise", False),
        (SPNEnsemble, Ensemble, "_revise_members", True),
        (SPNEnsemble, Ensemble, "_adopt", True),
    ],
)
def test_an_interruption_after_a_step_and_others_meanwhile(kind, owner, name, carried_out, fails, monkeypatch):
    spn = kind(min_rows=8, threshold=0.7, n_bins=6, categorical_features=list(CATEGORICAL)).fit(TABLE)
    ids = [15, 16, 17]
    assert spn.unlearn(ids, dry_run=True).subnetworks_learned
    expected = made_of(kind(**spn.get_params()).fit(np.delete(TABLE, ids, axis=0), ids=sorted({*range(90)} - {*ids})))
    before = made_of(spn)
    original, taking_back = getattr(owner, name), Revision.take_back

    def call(*arguments):
        result = original(*arguments)
        interrupt()
        return result

    def take_back(*arguments):
        interrupt()
        taking_back(*arguments)
        interrupt()

    spn.digest()
    monkeypatch.setattr(owner, name, call)
    if fails:
        monkeypatch.setattr(Revision, "take_back", take_back)
    with interruption():
        spn.unlearn(ids)
    monkeypatch.undo()
    assert made_of(spn) == (expected if carried_out else before)
    assert_nothing_left_lying(spn)


@pytest.fixture
def touched():
    """Return a model, and a record without which nothing of it is learned anew."""
    spn = SPN(min_rows=30, n_bins=6, categorical_features=list(CATEGORICAL)).fit(TABLE)
    reports = {row: spn.unlearn(row, dry_run=True) for row in range(90)}
    row = next(row for row, report in reports.items() if not (report.recoded or report.subnetworks_learned))
    return spn, row


@pytest.mark.parametrize("name", ["_open", "revise_statistics", "unlearn_spn"])
def test_an_interruption_waits_for_a_request_that_learns_nothing_anew(touched, name, monkeypatch):
    spn, row = touched
    expected = made_of(SPN(**spn.get_params()).fit(np.delete(TABLE, row, axis=0), ids=sorted({*range(90)} - {row})))
    original = getattr(Revision, name)

    def call(*arguments):
        interrupt()
        return original(*arguments)

    monkeypatch.setattr(Revision, name, call)
    with interruption():
        spn.unlearn(row)
    assert made_of(spn) == expected


def test_digests_are_right_after_an_interruption(touched):
    spn, row = touched
    expected = spn.digest(), spn.state_digest()
    for moment in range(1, 30):
        spn.unlearn(row, dry_run=True)
        with suppress(KeyboardInterrupt), interrupted_at(moment):
            spn.digest()
        assert (spn.digest(), spn.state_digest()) == expected
        anew = pickle.loads(pickle.dumps(spn))
        with suppress(KeyboardInterrupt), interrupted_at(20 * moment):
            anew.digest()
        assert (anew.digest(), anew.state_digest()) == expected

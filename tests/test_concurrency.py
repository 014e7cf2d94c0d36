"""One model, many threads: requests are carried out one after another, and every answer is that of one model."""

import copy
import pickle
import signal
import threading
import time
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from sklearn.base import clone

from many_threads import N_WRITERS, assert_each_answer_is_of_a_prefix, at_once, halfway, use
from unlearnspn import SPN, Circuit, RecordIdError, SPNClassifier, SPNEnsemble, SPNImputer
from unlearnspn.ensemble import Ensemble
from unlearnspn.model import Model
from unlearnspn.request import Request
from vault_states import features, people

N_RECORDS = 500
TABLE, PROBE = features(people(N_RECORDS)), features(people(12, seed=7))
GAPS = PROBE.mask(np.arange(PROBE.size).reshape(PROBE.shape) % 3 == 0)


class Kind:
    """An estimator, how it is given records, and what it is asked."""

    def __init__(self, estimator, target=None):
        self.estimator = estimator
        self.target = target

    def columns(self, table):
        """Return a table as `fit` and its like take it."""
        return (table,) if self.target is None else (table.drop(columns=self.target), table[self.target])

    def fit(self, table=TABLE, ids=None):
        return clone(self.estimator).fit(*self.columns(table), ids=ids)

    @property
    def questions(self):
        asked = [
            lambda model: model.score_samples(*self.columns(PROBE)[:1]).tobytes(),
            lambda model: (model.digest(), model.state_digest()),
            lambda model: model.n_records_,
            lambda model: model.circuit_.sample(4, random_state=3).to_csv(),
            lambda model: model.expectation("age", given={"town": "Ulm"}),
        ]
        if self.target is not None:
            rows = PROBE.drop(columns=self.target)
            asked += [lambda model: model.predict(rows).tolist(), lambda model: model.predict_proba(rows).tobytes()]
        if isinstance(self.estimator, SPNImputer):
            asked.append(lambda model: model.transform(GAPS).to_csv())
        return asked

    def writer(self, number):
        """Yield requests of one writer for ever; no two writers are concerned with the same record."""
        own, fresh = list(range(number, N_RECORDS, N_WRITERS)), count(10_000 + number, N_WRITERS)
        for step in count():
            new = features(people(3, seed=1000 * number + step))
            if step % 4 == 0:
                ids = [next(fresh) for _ in range(3)]
                own += ids
                yield lambda model, new=new, ids=ids: model.learn(*self.columns(new), ids)
            elif step % 4 == 1:
                name = own.pop(0)
                yield lambda model, name=name: model.unlearn(name)
            elif step % 4 == 2:
                yield lambda model, new=new, ids=own[:3]: model.rectify(*self.columns(new), ids)
            else:
                ids = [own.pop(0), own.pop(-1)]
                yield lambda model, ids=ids: model.unlearn(ids, dry_run=True) and model.unlearn(ids)


KINDS = {
    "SPN": Kind(SPN(min_rows=30)),
    "SPNClassifier": Kind(SPNClassifier(min_rows=30), "pays"),
    "SPNImputer": Kind(SPNImputer("mpe", min_rows=30)),
    "SPNEnsemble": Kind(SPNEnsemble(3, 0.6, min_rows=30)),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def roots(model):
    return model.roots_ if isinstance(model, SPNEnsemble) else [model.root_]


def assert_whole(kind, model, without):
    """Expect the model that never saw some of the records, down to its roots."""
    fresh = kind.fit(TABLE.drop(index=without), TABLE.index.drop(without).tolist())
    assert (model.digest(), model.state_digest()) == (fresh.digest(), fresh.state_digest())
    assert model.n_records_ == N_RECORDS - len(without) == len(model.ids_)
    assert isinstance(model, SPNEnsemble) or model.root_.n_records == model.n_records_
    assert model.circuit_ == fresh.circuit_
    assert model.verify()


# -- requests ----------------------------------------------------------------------------------------------------------


def test_thirty_threads_unlearn_at_once(kind):
    model = kind.fit()
    at_once(*(lambda name=name: model.unlearn(name) for name in range(30)))
    assert_whole(kind, model, range(30))


def test_writers_and_readers_at_once(kind, capsys):
    model, questions = kind.fit(), kind.questions
    twin, first = kind.fit(), model.state_digest()
    used = use(model, [kind.writer(number) for number in range(N_WRITERS)], questions)
    assert_each_answer_is_of_a_prefix(used, twin, first, questions)
    assert (model.digest(), model.state_digest()) == (twin.digest(), twin.state_digest())
    assert model.verify()
    longest = 1e3 * max(read.seconds for read in used.reads)
    with capsys.disabled():
        print(
            f"\n{len(used.requests)} requests, {len(used.reads)} answers, the longest after {longest:.0f} ms", end=" "
        )


def test_one_of_many_who_remove_the_same_record_does_it():
    spn = KINDS["SPN"].fit()
    reports = at_once(*(lambda: spn.unlearn([1, 2], missing="ignore") for _ in range(16)))
    assert sorted(report.records_removed for report in reports) == [0] * 15 + [2]

    def remove():
        try:
            return spn.unlearn(3)
        except RecordIdError:
            return None

    assert sum(report is not None for report in at_once(*[remove] * 16)) == 1
    assert_whole(KINDS["SPN"], spn, [1, 2, 3])


def test_records_without_ids_are_numbered_on_in_all_threads(kind):
    model = kind.fit()
    at_once(*(lambda seed=seed: model.learn(*kind.columns(features(people(2, seed=seed)))) for seed in range(12)))
    assert model.ids_ == list(range(N_RECORDS + 24))
    assert model.verify()


def test_many_first_calls_of_partial_fit_fit_once(kind):
    model = clone(kind.estimator)
    at_once(*(lambda: model.partial_fit(*kind.columns(TABLE[:40])) for _ in range(5)))
    assert model.ids_ == list(range(200))
    assert model.verify()


def test_dry_runs_in_all_threads_leave_nothing(kind):
    model = kind.fit()
    reports = at_once(*(lambda name=name: model.unlearn(name, dry_run=True) for name in range(12)))
    assert {report.state_digest_before for report in reports} == {model.state_digest()}
    assert len({report.state_digest_after for report in reports}) == 12
    assert_whole(kind, model, [])


def test_a_request_that_fails_in_one_thread_fails_alone(monkeypatch):
    spn, carry_out, failing = KINDS["SPN"].fit(), Request.carry_out, iter(range(100))

    def carry_out_mostly(request, *arguments):
        carry_out(request, *arguments)
        if next(failing) % 3 == 0:
            raise MemoryError

    monkeypatch.setattr(Request, "carry_out", carry_out_mostly)
    gone = []

    def remove(name):
        try:
            spn.unlearn(name)
            gone.append(name)
        except MemoryError:
            pass

    at_once(*(lambda name=name: remove(name) for name in range(30)))
    assert len(gone) == 20
    monkeypatch.undo()
    assert_whole(KINDS["SPN"], spn, gone)


# -- readers -----------------------------------------------------------------------------------------------------------


def test_many_first_readers(kind):
    fresh = kind.fit(TABLE.drop(index=5), TABLE.index.drop(5).tolist())
    for model in [kind.fit() for _ in range(3)]:
        circuits = at_once(*(lambda model=model: model.circuit_ for _ in range(16)))
        assert len(set(map(id, circuits))) == 1
        model.unlearn(5)
        found = at_once(*(lambda model=model: [repr(ask(model)) for ask in kind.questions] for _ in range(16)))
        assert {tuple(answers) for answers in found} == {tuple(repr(ask(fresh)) for ask in kind.questions)}


def test_many_first_questions_to_a_circuit():
    blob = pickle.dumps(KINDS["SPN"].fit().circuit_)
    questions = [
        lambda circuit: circuit.score_samples(PROBE).tolist(),
        lambda circuit: circuit.impute(GAPS).to_csv(),
        lambda circuit: circuit.impute(GAPS, "sample", random_state=1).to_csv(),
        lambda circuit: circuit.mpe(GAPS).to_csv(),
        lambda circuit: circuit.sample(5, random_state=1).to_csv(),
        lambda circuit: circuit.predict_proba(PROBE, target="town").tolist(),
        lambda circuit: circuit.probability({"town": "Bonn"}, given={"pays": "late"}),
        lambda circuit: circuit.mutual_information("age", "pays"),
        Circuit.digest,
    ]
    alone = [ask(pickle.loads(blob)) for ask in questions]
    for circuit in [pickle.loads(blob) for _ in range(3)]:
        assert at_once(*(lambda ask=ask, circuit=circuit: ask(circuit) for ask in 2 * questions)) == 2 * alone


def answers(kind, model):
    """Return all answers, got in a thread of its own; fail if that has to wait."""
    found = []
    thread = threading.Thread(target=lambda: found.extend(repr(ask(model)) for ask in kind.questions), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "a reader has to wait"
    return found


REQUESTS = {
    "unlearn": lambda kind, model: model.unlearn([1, 2]),
    "dry run": lambda kind, model: model.unlearn([1, 2], dry_run=True),
    "learn": lambda kind, model: model.learn(*kind.columns(features(people(3, seed=5))), [900, 901, 902]),
    "rectify": lambda kind, model: model.rectify(*kind.columns(features(people(3, seed=5))), [3, 4, 5]),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_readers_do_not_wait_for_a_request(kind, name, monkeypatch):
    model = kind.fit()
    before = answers(kind, model)
    with halfway(monkeypatch, Request, "carry_out", lambda: REQUESTS[name](kind, model)):
        assert answers(kind, model) == before
    twin = kind.fit()
    REQUESTS[name](kind, twin)
    assert answers(kind, model) == answers(kind, twin)


def test_once_another_thread_has_read_nobody_waits_however_many_requests_came_unread(kind, monkeypatch):
    model, twin = kind.fit(), kind.fit()
    answers(kind, model)
    for first in (10, 20):
        for name in range(first, first + 4):
            model.unlearn(name)
            twin.unlearn(name)
        with halfway(monkeypatch, Request, "carry_out", lambda first=first: model.unlearn(first + 4)):
            assert answers(kind, model) == answers(kind, twin)
        twin.unlearn(first + 4)
        assert answers(kind, model) == answers(kind, twin)


def test_nor_do_readers_wait_after_another_fit(kind, monkeypatch):
    model, twin = kind.fit(), kind.fit(TABLE[100:], TABLE.index[100:].tolist())
    answers(kind, model)
    model.unlearn(1)
    model.fit(*kind.columns(TABLE[100:]), ids=TABLE.index[100:].tolist())
    with halfway(monkeypatch, Request, "carry_out", lambda: model.unlearn(200)):
        assert answers(kind, model) == answers(kind, twin)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_circuit_that_cannot_be_derived_in_a_request_does_not_keep_the_old_one(error, monkeypatch):
    spn = KINDS["SPN"].fit()
    before = answers(KINDS["SPN"], spn)

    def fail(model):
        raise error

    monkeypatch.setattr(Model, "_derive", fail)
    with suppress(KeyboardInterrupt):
        spn.unlearn(1)
    monkeypatch.undo()
    assert answers(KINDS["SPN"], spn) != before
    assert_whole(KINDS["SPN"], spn, [1])


def test_one_thread_alone_has_no_circuit_derived_by_requests(monkeypatch):
    """Which of a program's threads it is does not matter."""
    spn, found = KINDS["SPN"].fit(), []

    def use_alone():
        found.append(spn.circuit_)
        with monkeypatch.context() as patched:
            patched.setattr(Model, "_derive", None)
            for name in range(3):
                spn.unlearn(name)
        found.append(spn.circuit_)

    at_once(use_alone)
    assert found[0] != found[1]


def test_who_comes_first_while_a_request_is_carried_out_waits_for_it(monkeypatch):
    spn = KINDS["SPN"].fit()
    found, circuit = [], threading.Thread(target=lambda: found.append(spn.circuit_), daemon=True)
    with halfway(monkeypatch, Request, "carry_out", lambda: spn.unlearn(1)):
        circuit.start()
        circuit.join(0.1)
        assert circuit.is_alive()
        assert spn.n_records_ == N_RECORDS
    circuit.join(60)
    assert found == [KINDS["SPN"].fit(TABLE.drop(index=1), TABLE.index.drop(1).tolist()).circuit_]


def test_removals_do_not_derive_circuits_for_nobody(kind, monkeypatch):
    model = kind.fit()
    circuit = model.circuit_
    monkeypatch.setattr(Model, "_derive", None)
    monkeypatch.setattr(Ensemble, "_mix", None)
    for name in range(5):
        model.unlearn(name)
    monkeypatch.undo()
    assert model.circuit_ != circuit


def test_readers_do_not_wait_for_a_fit_but_requests_do(kind, monkeypatch):
    model, rest = kind.fit(), TABLE[100:]
    before = answers(kind, model)
    asked = threading.Thread(target=lambda: model.unlearn(200), daemon=True)
    with halfway(monkeypatch, Model, "learn", lambda: model.fit(*kind.columns(rest), ids=rest.index.tolist())):
        asked.start()
        assert answers(kind, model) == before
    asked.join(60)
    assert answers(kind, model) == answers(kind, kind.fit(rest.drop(index=200), rest.index.drop(200).tolist()))


def test_classes_of_another_type_come_with_the_model_that_has_them():
    kind = KINDS["SPNClassifier"]
    model, rows = kind.fit(), PROBE.drop(columns="pays")
    known = {("in time",), ("late",), ("in time", "late"), (0,), (1,), (0, 1)}
    numbers = (TABLE["pays"] == "late").astype(int)

    def refit():
        for y in (numbers, TABLE["pays"]) * 2:
            model.fit(TABLE.drop(columns="pays"), y)

    def ask():
        for _ in range(30):
            assert tuple(sorted(set(model.predict(rows).tolist()))) in known
            assert tuple(model.classes_.tolist()) in known

    at_once(refit, ask, ask, ask)


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_that_are_taken_while_requests_come_are_whole(kind, take):
    model, copies = kind.fit(), []

    def remove(numbers):
        for number in numbers:
            model.unlearn(number)

    at_once(
        *(lambda first=first: remove(range(first, first + 20)) for first in range(0, 80, 20)),
        *(lambda: copies.extend(take(model) for _ in range(4)) for _ in range(3)),
    )
    for taken in copies:
        assert taken.verify()
        assert len(taken.ids_) == taken.n_records_
        taken.unlearn(taken.ids_[-1])
    assert_whole(kind, model, range(80))
    assert not vars(clone(model)).keys() - model.get_params().keys()


def test_files_that_are_written_while_requests_come_are_whole(kind, tmp_path):
    model = kind.fit()

    def save(number):
        for time_ in range(3):
            model.save(tmp_path / f"{number}-{time_}")

    at_once(
        *(lambda number=number: save(number) for number in range(3)),
        *(lambda first=first: [model.unlearn(name) for name in range(first, first + 20)] for first in (0, 20)),
        lambda: [model.verify() or pytest.fail("a model that is none") for _ in range(3)],
        lambda: [view.parameters for root in roots(model) for view in root.walk()],
    )
    for path in tmp_path.iterdir():
        assert type(model).load(path).verify()
    assert_whole(kind, model, range(40))


# -- interruptions -----------------------------------------------------------------------------------------------------


def test_who_waits_for_the_turn_can_be_interrupted(monkeypatch):
    spn = KINDS["SPN"].fit()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with halfway(monkeypatch, Request, "carry_out", lambda: spn.unlearn(1)):
            main = threading.main_thread().ident
            threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
            started = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                spn.unlearn(2)
            assert time.monotonic() - started < 20
    finally:
        signal.signal(signal.SIGINT, before)
    spn.unlearn(3)
    assert_whole(KINDS["SPN"], spn, [1, 3])


def test_a_request_in_another_thread_is_not_interrupted(monkeypatch):
    spn = KINDS["SPN"].fit()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), halfway(monkeypatch, Request, "carry_out", lambda: spn.unlearn(1)):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert_whole(KINDS["SPN"], spn, [1])

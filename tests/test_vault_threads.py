"""One vault, many threads: requests are carried out one after another, and every answer is that of one model."""

import signal
import threading
from itertools import count

import pytest

from many_threads import N_WRITERS, assert_each_answer_is_of_a_prefix, at_once, halfway, use
from unlearnspn import SPN, Vault, VaultError
from unlearnspn.publishing import Publication
from unlearnspn.request import Request
from unlearnspn.vault.home import Home
from unlearnspn.vault.ledger import Ledger
from vault_states import digests_of, features, fresh_digests, people

N_RECORDS = 300
TABLE, PROBE = people(N_RECORDS), features(people(12, seed=7))
PARAMETERS = {"min_rows": 30}
QUESTIONS = [
    lambda vault: vault.score_samples(PROBE).tobytes(),
    lambda vault: vault.expectation("age", given={"town": "Ulm"}),
    lambda vault: vault.sample(4, random_state=3).to_csv(),
    digests_of,
    len,
]


@pytest.fixture
def make(tmp_path):
    """Return a function that makes a vault, and opens it for writing."""
    opened = []

    def make_one():
        vault = Vault.create(tmp_path / f"{len(opened)}.uspn")
        opened.append(vault)
        vault.ingest(TABLE, "customer", "person")
        vault.fit(**PARAMETERS)
        return vault

    yield make_one
    for vault in opened:
        vault.close()


def assert_whole(vault, without):
    """Expect the model that never saw some of the records."""
    rest = TABLE[~TABLE["customer"].isin(without)]
    assert digests_of(vault) == fresh_digests(rest, **PARAMETERS)
    assert len(vault) == len(rest) == vault.root_.n_records
    assert vault.verify()


def writer(number):
    """Yield requests of one writer for ever; no two writers are concerned with the same record."""
    own, fresh = [f"c-{place}" for place in range(number, N_RECORDS, N_WRITERS)], count(10_000 + 1000 * number, 3)
    for step in count():
        if step % 3 == 0:
            new = people(3, seed=1000 * number + step, first=next(fresh))
            own += new["customer"].tolist()
            yield lambda vault, new=new: vault.learn(new).report
        elif step % 3 == 1:
            new = people(2, seed=1000 * number + step)
            new["customer"] = own[:2]
            yield lambda vault, new=new: vault.rectify(new).report
        else:
            ids = [own.pop(0), own.pop(-1)]
            yield lambda vault, ids=ids: vault.unlearn(ids, dry_run=True) and vault.unlearn(ids).report


def test_thirty_threads_unlearn_at_once(make):
    vault, names = make(), [f"c-{number}" for number in range(30)]
    outcomes = at_once(*(lambda name=name: vault.unlearn(name) for name in names))
    assert sorted(outcome.remaining for outcome in outcomes) == list(range(N_RECORDS - 30, N_RECORDS))
    assert len(vault.log()) == 33
    assert_whole(vault, names)


def test_writers_and_readers_at_once(make, capsys):
    vault, twin = make(), make()
    first = digests_of(vault)[1]
    used = use(vault, [writer(number) for number in range(N_WRITERS)], QUESTIONS)
    assert_each_answer_is_of_a_prefix(used, twin, first, QUESTIONS)
    assert digests_of(vault) == digests_of(twin)
    assert vault.verify()
    longest = 1e3 * max(read.seconds for read in used.reads)
    with capsys.disabled():
        print(
            f"\n{len(used.requests)} requests, {len(used.reads)} answers, the longest after {longest:.0f} ms", end=" "
        )


def test_many_first_readers(make):
    path = make()._home.path
    alone = [ask(SPN(**PARAMETERS).fit(features(TABLE), ids=TABLE["customer"].tolist())) for ask in QUESTIONS[:3]]
    with Vault.open(path) as vault:
        found = at_once(*(lambda: [ask(vault) for ask in QUESTIONS[:3]] for _ in range(16)))
    assert found == [alone] * 16


def answer(vault):
    """Return an answer, got in a thread of its own; fail if that has to wait."""
    found = []
    thread = threading.Thread(target=lambda: found.append(QUESTIONS[0](vault)), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "a reader has to wait"
    return found[0]


@pytest.mark.parametrize("dry_run", [False, True])
def test_readers_do_not_wait_for_a_request(make, monkeypatch, dry_run):
    vault, twin = make(), make()
    before = answer(vault)
    with halfway(monkeypatch, Ledger, "append", lambda: vault.unlearn("c-1")):
        assert answer(vault) == before
    twin.unlearn("c-1")
    assert answer(vault) == answer(twin) != before
    # Once more, and nobody has asked since the last request.
    vault.unlearn("c-2")
    twin.unlearn("c-2")
    with halfway(monkeypatch, Request, "carry_out", lambda: vault.unlearn("c-3", dry_run=dry_run)):
        assert answer(vault) == answer(twin)


def test_nobody_sees_what_could_not_be_stored(make, monkeypatch):
    vault = make()
    before, failed = answer(vault), []

    def fail(*_):
        assert answer(vault) == before
        raise OSError(28, "No space left on device")

    def remove():
        try:
            vault.unlearn("c-1")
        except VaultError as error:
            failed.append(error)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "append", fail)
        at_once(remove)
    assert failed
    assert answer(vault) == before
    assert_whole(vault, [])


def test_threads_that_read_follow_whoever_writes(make):
    writing = make()
    with Vault.open(writing._home.path) as reading:
        for number in range(5):
            answers = at_once(*(lambda: QUESTIONS[0](reading) for _ in range(8)))
            assert set(answers) == {QUESTIONS[0](writing)}
            writing.unlearn(f"c-{number}")


def test_nobody_is_answered_from_before_while_another_thread_reads_what_has_changed(make, monkeypatch):
    writing = make()
    with Vault.open(writing._home.path) as reading:
        answer(reading)
        writing.unlearn("c-1")
        found = []
        asking = threading.Thread(target=lambda: found.append(QUESTIONS[0](reading)), daemon=True)
        with halfway(monkeypatch, Home, "_read", reading.ids):
            asking.start()
            asking.join(0.2)
            assert asking.is_alive()
        asking.join(60)
        assert found == [QUESTIONS[0](writing)]


def test_in_a_turn_of_several_steps_answers_are_those_of_the_last_step(make):
    vault, twin = make(), make()
    twin.unlearn("c-1")
    before = QUESTIONS[0](vault)
    found = vault.take_turn(lambda: [QUESTIONS[0](vault), vault.unlearn("c-1").removed, QUESTIONS[0](vault)])
    assert found == [before, 1, QUESTIONS[0](twin)]
    with Vault.open(vault._home.path) as reading:
        assert reading.take_turn(lambda: QUESTIONS[0](reading)) == found[-1]
        vault.unlearn("c-2")
        assert reading.take_turn(lambda: QUESTIONS[0](reading)) == QUESTIONS[0](vault)


AMID_CHANGES = {
    "ask": lambda vault: vault.circuit_,
    "count": len,
    "unlearn": lambda vault: vault.unlearn("c-2"),
    "file": lambda vault: vault.desk.file("access", subject="p-3", who="anna"),
    "turn": lambda vault: vault.take_turn(lambda: None),
    "close": Vault.close,
}


@pytest.mark.parametrize("step", ["revise", "store"])
@pytest.mark.parametrize("name", AMID_CHANGES)
def test_nothing_comes_in_between_the_steps_of_a_change(make, name, step):
    vault, told = make(), []

    def tell(reached, done, total):
        if reached == step and done == 0:
            with pytest.raises(RuntimeError, match="is being changed by the one who asks"):
                AMID_CHANGES[name](vault)
            told.append(reached)

    vault.unlearn("c-1", progress=tell)
    assert told == [step]
    assert_whole(vault, ["c-1"])
    assert vault.verify()


def test_tables_that_come_one_by_one_change_nothing_else(make):
    vault = make()
    before = len(vault)

    def tables():
        yield people(5, first=1000, seed=1)
        vault.desk.file("access", subject="p-3", who="anna")

    with pytest.raises(RuntimeError, match="is being changed by the one who asks"):
        vault.ingest(tables())
    assert len(vault) == before
    assert vault.desk.requests() == []
    assert_whole(vault, [])


def test_ctrl_c_at_the_end_of_a_request_leaves_no_answer_of_before(make, monkeypatch):
    vault, twin = make(), make()
    twin.unlearn("c-1")
    answer(vault)
    publish = Publication.publish

    def interrupted(publication, facts, derive):
        if publication is vault._publication:
            signal.raise_signal(signal.SIGINT)
        publish(publication, facts, derive)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(Publication, "publish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            vault.unlearn("c-1")
    finally:
        signal.signal(signal.SIGINT, before)
    assert answer(vault) == answer(twin)


def test_a_key_that_is_changed_amid_an_audit_is_no_finding(make, monkeypatch):
    vault, contents, changed = make(), Home.contents, []
    with Vault.open(vault._home.path) as reading:

        def contents_then_change(home):
            found = contents(home)
            if home is reading._home and not changed:
                changed.append(vault.rotate_key())
            return found

        monkeypatch.setattr(Home, "contents", contents_then_change)
        assert reading.verify(relearn=False)
        assert changed


def test_readers_do_not_wait_for_an_audit(make, monkeypatch):
    path = make()._home.path
    with Vault.open(path) as vault:
        before, audits = answer(vault), []
        with halfway(monkeypatch, Home, "_read", lambda: audits.append(vault.verify())):
            assert answer(vault) == before
        assert all(audits)


def test_a_vault_is_closed_when_the_request_before_is_done(make, monkeypatch):
    vault = make()
    closing = threading.Thread(target=vault.close, daemon=True)
    with halfway(monkeypatch, Ledger, "append", lambda: vault.unlearn("c-1")):
        closing.start()
        closing.join(0.1)
        assert closing.is_alive()
    closing.join(60)
    with pytest.raises(VaultError, match="was closed here"):
        vault.score_samples(PROBE)
    with Vault.open(vault._home.path) as again:
        assert_whole(again, ["c-1"])


def test_who_reports_progress_cannot_ask_what_is_half_done(make):
    vault, caught = make(), []

    def ask(*_):
        try:
            vault.score_samples(PROBE)
        except RuntimeError as error:
            caught.append(str(error))

    vault.unlearn("c-1", progress=ask)
    assert "ask again when the request is done" in caught[0]
    assert_whole(vault, ["c-1"])

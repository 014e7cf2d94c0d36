"""However many threads there are, a fit, requests and scores are the same, bit for bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.generated import generate
from sequences import assert_like_retraining, sequences
from unlearnspn import SPN, threads

N_ROWS, N_LEAVING = 12_000, 300
#: Not so many that all is learned anew.
BATCH = range(1300, 3500)


@pytest.fixture(scope="module")
def frame():
    return generate(N_ROWS, 8).frame


@pytest.fixture
def cores(monkeypatch):
    """Return a function that sets how many cores there seem to be, and counts how often somebody asks."""
    asked = []

    def have(number):
        monkeypatch.setattr("os.sched_getaffinity", lambda _: asked.append(number) or set(range(number)), raising=False)
        return asked

    return have


def live(frame):
    """Return all that is known of a model when it was learned, and when records have come and gone."""
    spn = SPN(min_rows=50).fit(frame[:-100])
    known = [spn.digest(), spn.state_digest(), spn.score_samples(frame).tobytes()]
    for names in (range(N_LEAVING), BATCH):
        report = spn.unlearn(list(names))
        known += [report.nodes_visited, report.rows_moved, report.subnetworks_learned]
    spn.learn(frame[-100:], ids=frame.index[-100:])
    return [*known, spn.digest(), spn.state_digest(), spn.score_samples(frame).tobytes()]


def test_a_model_is_the_same_for_any_number_of_threads(frame, cores):
    cores(1)
    alone = live(frame)
    for number in (2, 7):
        asked = cores(number)
        assert live(frame) == alone
        assert asked.count(number) > 2


@pytest.fixture
def always(monkeypatch, cores):
    """Have threads do whatever they can do."""
    cores(3)
    monkeypatch.setattr(threads, "_MANY_ROWS", 0)


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(sequence=sequences())
def test_requests_that_threads_carry_out_are_like_retraining(always, sequence):
    assert_like_retraining(sequence)


def test_results_come_in_the_order_of_the_jobs_and_the_largest_is_the_first(always, cores):
    begun = []

    def act(number):
        begun.append(number)
        return number**2

    cores(2)
    jobs, sizes = [(number,) for number in range(40)], np.random.default_rng(0).permutation(40).tolist()
    assert threads.on_all_cores(act, jobs, sizes) == [number**2 for number in range(40)]
    assert begun[0] == sizes.index(39)
    assert sorted(begun) == list(range(40))


def test_what_fails_in_a_thread_fails(always):
    with pytest.raises(ZeroDivisionError):
        threads.on_all_cores(lambda number: 1 // number, [(1,), (0,), (2,)], [1, 1, 1])


@pytest.mark.parametrize(("n_cores", "n_jobs", "n_rows"), [(1, 5, 10**6), (2, 1, 10**6), (2, 5, 100)])
def test_little_work_needs_no_threads(cores, monkeypatch, n_cores, n_jobs, n_rows):
    cores(n_cores)
    monkeypatch.setattr(threads, "ThreadPoolExecutor", None)
    assert not threads.pays_on_all_cores(n_jobs, n_rows)
    assert threads.on_all_cores(abs, [(-1,)] * n_jobs, [n_rows // n_jobs] * n_jobs) == [1] * n_jobs

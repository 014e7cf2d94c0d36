"""However many threads there are, a fit, requests and scores of a long table are the same, bit for bit."""

import pytest

from unlearnspn import SPN
from unlearnspn.bench.generated import generate

N_ROWS, N_LEAVING = 12_000, 300


@pytest.fixture(scope="module")
def frame():
    return generate(N_ROWS, 8).frame


@pytest.fixture
def threads(monkeypatch):
    """Return a function that sets how many cores there seem to be, and counts how often somebody asks."""
    asked = []

    def have(number):
        monkeypatch.setattr("os.sched_getaffinity", lambda _: asked.append(number) or set(range(number)), raising=False)
        return asked

    return have


def live(frame):
    """Return all that is known of a model when it was learned, and when records have come and gone."""
    spn = SPN().fit(frame[:-100])
    first = [spn.digest(), spn.state_digest(), spn.score_samples(frame).tobytes()]
    spn.unlearn(list(range(N_LEAVING)))
    spn.learn(frame[-100:], ids=frame.index[-100:])
    return [*first, spn.digest(), spn.state_digest(), spn.score_samples(frame).tobytes()]


def test_a_model_is_the_same_for_any_number_of_threads(frame, threads):
    threads(1)
    alone = live(frame)
    for number in (2, 7):
        asked = threads(number)
        assert live(frame) == alone
        assert asked.count(number) > 2

"""SPFlow in a process of its own; its environment is made by the first test that asks for it."""

import pytest

from unlearnspn.bench.peers.client import Worker
from unlearnspn.bench.peers.environment import why_not


@pytest.fixture(scope="session")
def spflow():
    if reason := why_not():
        pytest.skip(reason)
    with Worker("SPFlow") as worker:
        yield worker

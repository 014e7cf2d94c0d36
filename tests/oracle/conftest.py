"""SPFlow in a process of its own; its environment is made by the first test that asks for it."""

import sys
from pathlib import Path

import pytest

# The peers' side is shared with the benchmarks.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture(scope="session")
def spflow():
    from peers.client import Worker
    from peers.environment import why_not

    if reason := why_not():
        pytest.skip(reason)
    with Worker("SPFlow") as worker:
        yield worker

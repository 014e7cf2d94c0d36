"""Peers in processes of their own; an environment is made by the first test that asks for it."""

import pytest

from benchmarks.peers.client import Worker
from benchmarks.peers.environment import why_not
from benchmarks.peers.libraries import DEEPROB_KIT, SPFLOW


@pytest.fixture(scope="session")
def spflow():
    yield from working(SPFLOW)


@pytest.fixture(scope="session")
def deeprob_kit():
    yield from working(DEEPROB_KIT)


def working(library):
    if reason := why_not():
        pytest.skip(reason)
    with Worker(library) as worker:
        yield worker

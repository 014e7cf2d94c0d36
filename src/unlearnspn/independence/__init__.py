"""Independence tests."""

from unlearnspn.independence.base import IndependenceTest
from unlearnspn.independence.gtest import GTest

__all__ = ["GTest", "IndependenceTest"]

"""Independence tests."""

from unlearnspn.independence.base import IndependenceTest
from unlearnspn.independence.gtest import GTest
from unlearnspn.independence.rdc import RDC

__all__ = ["RDC", "GTest", "IndependenceTest"]

"""How rows are filled in."""

from enum import StrEnum


class How(StrEnum):
    """How rows are filled in."""

    MEAN = "mean"
    MPE = "mpe"
    SAMPLE = "sample"

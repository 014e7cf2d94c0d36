"""Where figures come from: versions, processor, and whether others kept the machine busy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import asdict, dataclass
from typing import Any

_PACKAGES = ("unlearnspn", "numpy", "scikit-learn", "scipy", "pandas", "pyarrow", "dask", "distributed")


@dataclass(frozen=True)
class Machine:
    """The machine and the versions of what ran on it."""

    system: str
    processor: str
    cores: int
    load_average: float
    python: str
    versions: dict[str, str]

    @classmethod
    def here(cls) -> Machine:
        """Describe this machine as it is now."""
        return cls(
            platform.system(),
            platform.machine(),
            os.cpu_count() or 1,
            os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
            platform.python_version(),
            {name: _version(name) for name in _PACKAGES},
        )

    @property
    def is_busy(self) -> bool:
        """Whether others use so much of it that these are not the figures of a quiet machine."""
        return self.load_average >= self.cores / 2

    def as_json(self) -> dict[str, Any]:
        """Return what a file of results says."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.system} on {self.cores} {self.processor} cores, Python {self.python}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

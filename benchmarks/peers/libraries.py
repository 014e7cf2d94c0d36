"""The names of the libraries that are compared, and how SPFlow learns wherever it does."""

from __future__ import annotations

from typing import Any

OURS, SPFLOW, DEEPROB_KIT = "unlearnspn", "SPFlow", "deeprob-kit"
#: As the paper had it learn, with one process, which is faster.
SPFLOW_OPTIONS: dict[str, Any] = {"cols": "rdc", "rows": "kmeans", "min_instances_slice": 200, "cpus": 1}

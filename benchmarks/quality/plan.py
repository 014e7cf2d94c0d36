"""Which sets are learned, with which kinds of models."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import typer

from benchmarks.quality.models import KINDS, Kind
from benchmarks.quality.splits import has_train_split, names_in

_NOT_QUICK = ("plants",)


@dataclass(frozen=True)
class Plan:
    """How much of it to do."""

    folder: Path
    names: list[str]
    kinds: list[Kind]
    jobs: int = 1
    quick: bool = False
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path, names: str | None, models: str, jobs: int, quick: bool) -> Plan:
        """Return the plan that options ask for; None stands for all sets in the folder."""
        found, left_out = names_in(folder), []
        wanted = _listed(names, found, "--names", f"sets in {folder}") if names else found
        if quick and names is None:
            left_out += [f"{name} is not part of a quick run" for name in wanted if name in _NOT_QUICK]
            wanted = [name for name in wanted if name not in _NOT_QUICK]
        chosen = [KINDS[name] for name in _listed(models, list(KINDS), "--models", "models")]
        return cls(folder, wanted, chosen, jobs, quick, left_out)

    def claims(self, name: str) -> bool:
        """Tell whether a set is learned as published figures were."""
        return has_train_split(self.folder, name)

    def parameters(self) -> dict[str, Any]:
        """Return what the run depends on."""
        kinds = [{**asdict(kind), "estimator": kind.estimator.__name__} for kind in self.kinds]
        return {"sets": self.names, "models": kinds, "jobs": self.jobs, "quick": self.quick}


def _listed(text: str, known: list[str], option: str, what: str) -> list[str]:
    names = [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"no {what}: {', '.join(unknown)}; there are {', '.join(known)}", param_hint=option)
    return names

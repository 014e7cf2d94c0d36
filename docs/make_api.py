"""Write docs/api.md from the docstrings of everything public: python docs/make_api.py."""

from __future__ import annotations

import inspect
import re
import textwrap
from enum import EnumType
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import unlearnspn
import unlearnspn.vault
from unlearnspn import certificates, checks, plots

PAGE = Path(__file__).with_name("api.md")
_GROUPS: dict[str, tuple[ModuleType, list[str]]] = {
    "Estimators": (unlearnspn, ["SPN", "SPNEnsemble", "SPNClassifier", "SPNImputer"]),
    "Circuits": (unlearnspn, ["Circuit", "Range"]),
    "Vaults": (unlearnspn.vault, ["Vault", "Desk", "InboxRequest", "Hold", "Info", "Outcome"]),
    "Leaves": (
        unlearnspn,
        ["Gaussian", "Exponential", "LogNormal", "Poisson", "Histogram", "Categorical", "Bernoulli", "ChowLiu"],
    ),
    "Building blocks of the structure": (unlearnspn, ["GTest", "RDC", "QKMeans"]),
    "What requests give": (unlearnspn, ["Report", "ChangedOperation", "Verification", "Operation"]),
    "Errors": (
        unlearnspn,
        [
            "InvalidTableError",
            "InvalidEvidenceError",
            "ImpossibleEvidenceError",
            "UnseenCategoryWarning",
            "RecordIdError",
            "LastRecordError",
            "NotOnAClusterError",
            "WorkerLostError",
            "IdentifyingColumnWarning",
            "TextDatesWarning",
            "SameMembersWarning",
            "StorageError",
            "VaultError",
        ],
    ),
    "Certificates (`unlearnspn.certificates`)": (
        certificates,
        [
            *("Envelope", "Statement", "Receipt", "PublicKey", "KeyFile", "Audit", "Finding"),
            *("audit_certificate", "audit_ledger", "audit_receipt", "CertificateError", "KeyFileError"),
        ],
    ),
    "Pictures (`unlearnspn.plots`)": (plots, list(plots.__all__)),
    "The contract (`unlearnspn.checks`)": (
        checks,
        ["check_spn", "check_leaf", "check_independence", "check_clustering", "check_merging"],
    ),
}


def render() -> str:
    """Return the whole page."""
    parts = ["# API reference", "Made from the docstrings by `python docs/make_api.py`; a test keeps it up to date."]
    for title, (module, names) in _GROUPS.items():
        parts.append(f"## {title}")
        for name in names:
            parts += _entry(name, getattr(module, name))
    lines = "\n\n".join(parts).split("\n")
    return "\n".join(part for line in lines for part in _wrapped(line)) + "\n"


def _wrapped(line: str) -> list[str]:
    """Return a line of the page as lines of at most 120 characters."""
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def _entry(name: str, thing: Any) -> list[str]:
    shown = [f"### {name}", f"`{name}{_signature(thing)}`", _text(thing)]
    return [*shown, *_members(thing)] if inspect.isclass(thing) else shown


def _members(cls: type) -> list[str]:
    if issubclass(cls, Exception):
        return []
    lines = []
    # Members that other libraries' base classes bring along are in their documentation.
    ours = [vars(base) for base in cls.__mro__ if base.__module__.startswith("unlearnspn")]
    members = {name: member for scope in reversed(ours) for name, member in scope.items() if name[0] != "_"}
    for name, member in sorted(members.items()):
        function = getattr(member, "__func__", member)
        if isinstance(member, property | cached_property):
            lines.append(f"- **`{name}`**: {_summary(member)}")
        elif inspect.isfunction(function):
            lines.append(f"- **`{name}{_signature(function)}`**: {_summary(function)}")
    return ["\n".join(lines)] if lines else []


def _signature(thing: Any) -> str:
    if isinstance(thing, EnumType):  # Python's own, another one in each of its versions; nobody calls it
        return ""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _summary(thing: Any) -> str:
    return " ".join(inspect.getdoc(thing).split("\n\n")[0].split())  # type: ignore[union-attr]


def _text(thing: Any) -> str:
    """Return a docstring without its examples, its numpydoc parameters as a list."""
    text = re.split(r"\n\n(?:Examples\n-+\n|>>> )", inspect.getdoc(thing) or "")[0]
    text = re.sub(r"\nParameters\n-+\n", "\n", text)
    text = re.sub(
        r"^(\w+) : (.+)\n((?:    .+\n?)+)",
        lambda m: f"- `{m[1]}`: {m[2]}. {' '.join(m[3].split())}\n",
        text,
        flags=re.M,
    )
    return text.strip()


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

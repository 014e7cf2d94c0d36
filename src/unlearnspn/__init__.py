"""Sum-product networks for tabular data that can forget: removal equals retraining, bit for bit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unlearnspn.circuit import Circuit, Range
    from unlearnspn.clustering import QKMeans
    from unlearnspn.errors import (
        ImpossibleEvidenceError,
        InvalidEvidenceError,
        InvalidTableError,
        LastRecordError,
        NotOnAClusterError,
        RecordIdError,
        SameMembersWarning,
        TextDatesWarning,
        UnseenCategoryWarning,
        WorkerLostError,
    )
    from unlearnspn.estimators.base import Verification
    from unlearnspn.estimators.classifier import SPNClassifier
    from unlearnspn.estimators.ensemble import SPNEnsemble
    from unlearnspn.estimators.imputer import SPNImputer
    from unlearnspn.estimators.spn import SPN
    from unlearnspn.independence import RDC, GTest
    from unlearnspn.leaves import (
        Bernoulli,
        Categorical,
        ChowLiu,
        Exponential,
        Gaussian,
        Histogram,
        LogNormal,
        Poisson,
    )
    from unlearnspn.spn.operations import Operation
    from unlearnspn.spn.report import ChangedOperation, Report
    from unlearnspn.storage import StorageError
    from unlearnspn.vault import Vault, VaultError

__all__ = [
    "RDC",
    "SPN",
    "Bernoulli",
    "Categorical",
    "ChangedOperation",
    "ChowLiu",
    "Circuit",
    "Exponential",
    "GTest",
    "Gaussian",
    "Histogram",
    "IdentifyingColumnWarning",
    "ImpossibleEvidenceError",
    "InvalidEvidenceError",
    "InvalidTableError",
    "LastRecordError",
    "LogNormal",
    "NotOnAClusterError",
    "Operation",
    "Poisson",
    "QKMeans",
    "Range",
    "RecordIdError",
    "Report",
    "SPNClassifier",
    "SPNEnsemble",
    "SPNImputer",
    "SameMembersWarning",
    "StorageError",
    "TextDatesWarning",
    "UnseenCategoryWarning",
    "Vault",
    "VaultError",
    "Verification",
    "WorkerLostError",
]
__version__ = "0.1.0"

#: Where each name is. Modules are imported when one of their names is first asked for: numerics take half a
#: second to import and scikit-learn two, and whoever wants the version or an error needs none of them.
_NAMES_BY_MODULE = {
    "circuit": ("Circuit", "Range"),
    "clustering": ("QKMeans",),
    "errors": (
        "IdentifyingColumnWarning",
        "ImpossibleEvidenceError",
        "InvalidEvidenceError",
        "InvalidTableError",
        "LastRecordError",
        "NotOnAClusterError",
        "RecordIdError",
        "SameMembersWarning",
        "TextDatesWarning",
        "UnseenCategoryWarning",
        "WorkerLostError",
    ),
    "estimators.base": ("Verification",),
    "estimators.classifier": ("SPNClassifier",),
    "estimators.ensemble": ("SPNEnsemble",),
    "estimators.imputer": ("SPNImputer",),
    "estimators.spn": ("SPN",),
    "independence": ("GTest", "RDC"),
    "leaves": (
        "Bernoulli",
        "Categorical",
        "ChowLiu",
        "Exponential",
        "Gaussian",
        "Histogram",
        "LogNormal",
        "Poisson",
    ),
    "spn.operations": ("Operation",),
    "spn.report": ("ChangedOperation", "Report"),
    "storage": ("StorageError",),
    "vault": ("Vault", "VaultError"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

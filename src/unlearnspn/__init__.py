"""Sum-product networks for tabular data that can forget: removal equals retraining, bit for bit."""

from unlearnspn.circuit import Circuit, Range
from unlearnspn.clustering import QKMeans
from unlearnspn.errors import (
    ImpossibleEvidenceError,
    InvalidEvidenceError,
    InvalidTableError,
    LastRecordError,
    RecordIdError,
)
from unlearnspn.estimators import SPN, SPNClassifier, SPNImputer, Verification
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
from unlearnspn.network import Operation
from unlearnspn.report import ChangedOperation, Report
from unlearnspn.storage import StorageError

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
    "ImpossibleEvidenceError",
    "InvalidEvidenceError",
    "InvalidTableError",
    "LastRecordError",
    "LogNormal",
    "Operation",
    "Poisson",
    "QKMeans",
    "Range",
    "RecordIdError",
    "Report",
    "SPNClassifier",
    "SPNImputer",
    "StorageError",
    "Verification",
]
__version__ = "0.1.0"

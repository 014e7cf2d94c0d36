"""Sum-product networks for tabular data that can forget: removal equals retraining, bit for bit."""

from unlearnspn.clustering import QKMeans
from unlearnspn.errors import InvalidTableError, LastRecordError, RecordIdError
from unlearnspn.independence import RDC, GTest
from unlearnspn.leaves import Categorical, Gaussian
from unlearnspn.network import Operation
from unlearnspn.report import ChangedOperation, Report
from unlearnspn.spn import SPN, Verification

__all__ = [
    "RDC",
    "SPN",
    "Categorical",
    "ChangedOperation",
    "GTest",
    "Gaussian",
    "InvalidTableError",
    "LastRecordError",
    "Operation",
    "QKMeans",
    "RecordIdError",
    "Report",
    "Verification",
]
__version__ = "0.1.0"

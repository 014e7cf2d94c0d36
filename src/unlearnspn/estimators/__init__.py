"""Estimators after scikit-learn's conventions."""

from unlearnspn.estimators.base import BaseSPN, Verification
from unlearnspn.estimators.classifier import SPNClassifier
from unlearnspn.estimators.ensemble import SPNEnsemble
from unlearnspn.estimators.imputer import SPNImputer
from unlearnspn.estimators.spn import SPN

__all__ = ["SPN", "BaseSPN", "SPNClassifier", "SPNEnsemble", "SPNImputer", "Verification"]

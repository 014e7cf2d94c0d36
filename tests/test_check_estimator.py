"""scikit-learn's own checks of estimators: all of them pass."""

import warnings
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from unlearnspn import SPN, SPNClassifier, SPNEnsemble, SPNImputer

#: Checks that fail, by estimator, with their reasons; a check that passes although it is listed fails the test.
EXPECTED_FAILURES: dict[type, dict[str, str]] = {}


with warnings.catch_warnings():
    # Estimators of densities do not, so that they can be used without importing scikit-learn.
    warnings.filterwarnings("ignore", "Estimator SPN(Ensemble)? does not inherit from `sklearn.base.BaseEstimator`")
    every_check = parametrize_with_checks(
        [
            SPN(),
            SPN.from_paper(min_rows=10),
            SPNClassifier(),
            SPNEnsemble(n_members=3, subsample=0.5),
            SPNImputer(),
            SPNImputer(how="mpe", min_rows=10),
            SPNImputer(how="sample"),
        ],
        expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator), {}),
        xfail_strict=True,
    )


@every_check
def test_check(estimator: Any, check: Any) -> None:
    check(estimator)

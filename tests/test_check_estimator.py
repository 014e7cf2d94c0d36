"""scikit-learn's own checks of estimators."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from unlearnspn import SPN, SPNClassifier
from unlearnspn.estimators.imputer import SPNImputer

_ONE_CLUSTER = "the check sets n_clusters=1, and a clustering has at least two clusters"
_NO_COLUMNS = "the error says what is wrong in other words than the check expects"
_NOT_AN_ARRAY = "a table must have a length: objects with nothing but __array__ are refused"
_CLASSES = "with no more than min_rows=200 records the class is independent of the features"

#: Every check that fails, with its reason; a check that passes although it is listed fails the test.
EVERY_ESTIMATOR = {
    "check_dont_overwrite_parameters": _ONE_CLUSTER,
    "check_methods_subset_invariance": _ONE_CLUSTER,
    "check_fit2d_1sample": _ONE_CLUSTER,
    "check_fit2d_1feature": _ONE_CLUSTER,
    "check_fit2d_predict1d": _ONE_CLUSTER,
    "check_estimators_empty_data_messages": _NO_COLUMNS,
}
CLASSIFIER = {"check_classifier_data_not_an_array": _NOT_AN_ARRAY, "check_classifiers_train": _CLASSES}
IMPUTER = {"check_transformer_data_not_an_array": _NOT_AN_ARRAY}


def expected_failures(estimator: Any) -> dict[str, str]:
    own = {SPNClassifier: CLASSIFIER, SPNImputer: IMPUTER}.get(type(estimator), {})
    return {**EVERY_ESTIMATOR, **own}


@parametrize_with_checks(
    [
        SPN(),
        SPN.from_paper(min_rows=10),
        SPNClassifier(),
        SPNImputer(),
        SPNImputer(how="mpe", min_rows=10),
        SPNImputer(how="sample"),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_check(estimator: Any, check: Any) -> None:
    check(estimator)

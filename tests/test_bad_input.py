"""Bad requests: each is refused with an error that names the culprit, and changes nothing."""

import pickle
import re
import struct

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from unlearnspn import (
    SPN,
    Categorical,
    Gaussian,
    GTest,
    InvalidTableError,
    LastRecordError,
    Poisson,
    QKMeans,
    RecordIdError,
)
from unlearnspn.storage import StorageError

SECRET = "must-not-be-kept"
SECRET_NUMBER = 0.512345678912345
INF = float("inf")


def make_table(n=60):
    rng = np.random.default_rng(7)
    side = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "size": np.where(side, 8.0, 0.0) + rng.normal(size=n),
            "colour": np.where(side, "red", rng.choice(["green", "blue"], n)),
            "flag": side ^ (rng.random(n) < 0.1),
            "blank": np.full(n, np.nan),
        }
    )


TABLE = make_table()
FITTED = pickle.dumps(SPN(min_rows=10).fit(TABLE))
WITHOUT_3 = SPN(min_rows=10).fit(TABLE.drop(index=3), ids=[i for i in range(len(TABLE)) if i != 3])


def new_rows(**changed):
    """Two rows that could be added, except for what is changed; None leaves a column out."""
    columns = {
        "size": [SECRET_NUMBER, 1.5],
        "colour": [SECRET, "red"],
        "flag": [True, False],
        "blank": [np.nan, np.nan],
        **changed,
    }
    return pd.DataFrame({name: values for name, values in columns.items() if values is not None})


def snapshot(spn):
    scores = spn.score_samples(TABLE).tobytes()
    return spn.digest(), spn.state_digest(), spn.n_records_, spn.ids_, scores


def assert_nothing_secret(spn):
    dump = pickle.dumps(spn)
    assert SECRET.encode() not in dump
    assert struct.pack("<d", SECRET_NUMBER) not in dump


def assert_refused(request, error, culprit):
    """Run a request on a fitted model: it fails as told, changes nothing, and the model works on."""
    spn = pickle.loads(FITTED)
    before = snapshot(spn)
    with pytest.raises(error, match=culprit):
        request(spn)
    assert snapshot(spn) == before
    assert_nothing_secret(spn)
    spn.unlearn([3])
    assert spn.verify()
    assert (spn.digest(), spn.state_digest()) == (WITHOUT_3.digest(), WITHOUT_3.state_digest())


@pytest.mark.parametrize(
    ("ids", "culprit"),
    [
        ([3, 900, 901], r": 900, 901$"),
        (range(100, 110), r": 100, 101, 102, 103, 104, 105, 106, 107, 108, 109$"),
        (range(100, 112), r": 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 and 2 more$"),
        ("3", r": '3'$"),
        ([3, 4, 3], r"more than once: 3$"),
        ([3, None], r"missing in rows 2\b"),
        (pd.Series([3, pd.NA], dtype="Int64"), r"missing in rows 2\b"),
        ([3.0], r"3\.0 is of type float"),
        ([True], r"True is of type bool"),
        ([3, 2**64], r"18446744073709551616"),
    ],
)
def test_unlearn_refuses_bad_ids(ids, culprit):
    assert_refused(lambda spn: spn.unlearn(ids), RecordIdError, culprit)


def test_missing_ignore_skips_unknown_ids_only():
    spn = pickle.loads(FITTED)
    assert spn.unlearn([900, 3], missing="ignore").records_removed == 1
    assert spn.digest() == WITHOUT_3.digest()
    before = snapshot(spn)
    assert spn.unlearn([900, 901], missing="ignore").records_removed == 0
    assert snapshot(spn) == before
    assert_refused(lambda spn: spn.unlearn([900, 900], missing="ignore"), RecordIdError, "more than once: 900$")
    assert_refused(lambda spn: spn.unlearn([3], missing="skip"), ValueError, "missing='skip'")


@pytest.mark.parametrize(
    "request_with",
    [
        lambda spn, table: spn.learn(table),
        lambda spn, table: spn.rectify(table, ids=[5, 6]),
        lambda spn, table: spn.score_samples(table),
    ],
    ids=["learn", "rectify", "score"],
)
@pytest.mark.parametrize(
    ("changed", "culprit"),
    [
        ({"extra": [1, 2]}, r"unseen at fit: 'extra'"),
        ({"size": [0.5, INF]}, r"'size' has infinite values in rows 2\b"),
        ({"size": [-INF, 0.5]}, r"'size' has infinite values in rows 1\b"),
        ({"size": pd.Series([0.5, "n/a"], dtype=object)}, r"'size'.*row 2 holds 'n/a'"),
        ({"size": ["0.5", "1.5"]}, r"'size'.*row 1 holds '0.5'"),
        ({"size": [True, False]}, r"'size'.*row 1 holds True"),
        ({"colour": [1, 2]}, r"'colour'.*row 1 holds 1"),
        ({"colour": pd.Series(["red", 2], dtype=object)}, r"'colour'.*row 2 holds 2"),
        ({"flag": [0, 1]}, r"'flag'.*row 1 holds 0"),
        ({"flag": ["yes", "no"]}, r"'flag'.*row 1 holds 'yes'"),
        ({"flag": pd.to_datetime(["2024-01-01", "2024-01-02"])}, r"'flag'.*row 1 holds datetime"),
        # Nothing was ever seen in this column, but its type says numbers.
        ({"blank": ["text", "more"]}, r"'blank'.*row 1 holds 'text'"),
        ({"blank": [True, False]}, r"'blank'.*row 1 holds True"),
        ({"blank": [1.0, INF]}, r"'blank' has infinite values in rows 2\b"),
    ],
)
def test_tables_that_do_not_fit_are_refused(request_with, changed, culprit):
    table = new_rows(**changed)
    assert_refused(lambda spn: request_with(spn, table), InvalidTableError, culprit)


@pytest.mark.parametrize("method", ["learn", "score_samples"])
def test_tables_that_lack_a_column_are_refused(method):
    table = new_rows(flag=None)
    assert_refused(lambda spn: getattr(spn, method)(table), InvalidTableError, r"Missing columns: 'flag'")


@pytest.mark.parametrize("method", ["learn", "rectify", "score_samples"])
@pytest.mark.parametrize(
    "empty",
    [TABLE[:0], new_rows(size=[], colour=[], flag=[], blank=[]), np.empty((0, 4))],
    ids=["typed", "untyped", "array"],
)
def test_an_empty_table_is_refused_as_such(method, empty):
    ids = [[]] if method == "rectify" else []
    assert_refused(lambda spn: getattr(spn, method)(empty, *ids), InvalidTableError, "empty")


def test_arrays_of_another_width_are_refused():
    assert_refused(lambda spn: spn.learn(new_rows().to_numpy()[:, :3]), InvalidTableError, "3 features.* 4 ")


@pytest.mark.parametrize(
    ("method", "ids", "culprit"),
    [
        ("learn", [70, 5], r"exist already: 5\b"),
        ("learn", range(4, 6), r"exist already: 4, 5\b"),
        ("learn", [70, 70], r"more than once: 70$"),
        ("learn", [70, None], r"missing in rows 2\b"),
        ("learn", [70, float("nan")], r"missing in rows 2\b"),
        ("learn", pd.array([70, None], "Int64"), r"missing in rows 2\b"),
        ("learn", [70], r"1 ids for 2 rows"),
        ("learn", ["a", "b"], r"integers as ids, but 'a'"),
        ("learn", [70, 71.0], r"71\.0 is of type float"),
        ("learn", "nowhere", r"no column 'nowhere' for the ids"),
        ("rectify", [5, 70], r"no records with these ids: 70$"),
        ("rectify", [5, 5], r"more than once: 5$"),
        ("rectify", None, r"rectify needs the ids"),
    ],
)
def test_added_and_corrected_records_need_proper_ids(method, ids, culprit):
    error = InvalidTableError if isinstance(ids, str) else RecordIdError
    assert_refused(lambda spn: getattr(spn, method)(new_rows(), ids), error, culprit)


def test_the_last_record_stays():
    assert_refused(lambda spn: spn.unlearn(spn.ids_), LastRecordError, "last record")
    assert_refused(lambda spn: spn.unlearn([*spn.ids_, 900], missing="ignore"), LastRecordError, "last record")
    single = SPN().fit([[1.0, "a"]])
    before = single.digest(), single.state_digest()
    with pytest.raises(LastRecordError, match="last record"):
        single.unlearn(0)
    assert (single.digest(), single.state_digest(), single.ids_) == (*before, [0])
    single.rectify([[2.0, "b"]], [0])
    assert single.digest() == SPN().fit([[2.0, "b"]]).digest()
    assert list(single.root_.children[1].parameters["probabilities"]) == ["b"]


@pytest.mark.parametrize(
    ("table", "ids", "error", "culprit"),
    [
        (TABLE[:0], None, InvalidTableError, "empty"),
        (np.empty((0, 2)), None, InvalidTableError, "empty"),
        ([], None, InvalidTableError, "2D"),
        (pd.DataFrame(), None, InvalidTableError, "no columns"),
        (pd.DataFrame({"id": [1, 2]}), "id", InvalidTableError, "no columns|0 feature"),
        ([[1.0], [INF]], None, InvalidTableError, r"'x0' has infinite values in rows 2\b"),
        ([[1.0], ["x"]], None, InvalidTableError, r"'x0'.*row 2 holds 'x'"),
        (TABLE[:2], [1, 1], RecordIdError, r"more than once: 1$"),
        (TABLE[:2], [1, None], RecordIdError, r"missing in rows 2\b"),
        (TABLE[:2], [1], RecordIdError, "1 ids for 2 rows"),
        (TABLE[:2], [1, "x"], RecordIdError, "all integers or all strings"),
        (TABLE[:2].assign(key=["a", None]), "key", RecordIdError, r"missing in rows 2\b"),
        (TABLE[:2].assign(key=["a", "a"]), "key", RecordIdError, r"more than once: 'a'$"),
        (TABLE[:2], "key", InvalidTableError, "no column 'key'"),
        (TABLE[:2].to_numpy(), "key", InvalidTableError, "'key'"),
    ],
)
def test_fit_refuses_bad_tables_and_ids(table, ids, error, culprit):
    assert_refused(lambda spn: spn.fit(table, ids=ids), error, culprit)
    fresh = SPN()
    with pytest.raises(error, match=culprit):
        fresh.fit(table, ids=ids)
    with pytest.raises(NotFittedError):
        fresh.digest()


def test_infinite_values_are_refused_in_categorical_columns_too():
    for values in ([INF, 1.0], [INF, "x"]):
        with pytest.raises(InvalidTableError, match=r"'x0'.*infinite"):
            SPN(categorical_features="all").fit([[value] for value in values])


@pytest.mark.parametrize(
    "use",
    [
        lambda spn: spn.unlearn([0]),
        lambda spn: spn.learn(TABLE),
        lambda spn: spn.rectify(TABLE, ids=range(60)),
        lambda spn: spn.score_samples(TABLE),
        lambda spn: spn.score(TABLE),
        lambda spn: spn.verify(),
        lambda spn: spn.digest(),
        lambda spn: spn.state_digest(),
        lambda spn: spn.root_,
        lambda spn: spn.n_records_,
        lambda spn: spn.ids_,
    ],
)
def test_use_before_fit_says_so(use):
    spn = SPN()
    with pytest.raises(NotFittedError, match="SPN instance is not fitted yet"):
        use(spn)
    assert not spn.__sklearn_is_fitted__()


def test_a_refused_learn_leaves_no_trace_in_the_pickle():
    spn = pickle.loads(FITTED)
    snapshot(spn)
    before = len(pickle.dumps(spn))
    n = 5000
    table = pd.DataFrame({"size": [SECRET_NUMBER] * n, "colour": [SECRET] * n, "flag": [True] * n, "blank": [INF] * n})
    with pytest.raises(InvalidTableError, match=r"infinite values in rows 1, .* and 4990 more"):
        spn.learn(table)
    assert_nothing_secret(spn)
    assert len(pickle.dumps(spn)) < before + 1000


def test_refused_string_ids_leave_no_trace():
    spn = SPN(min_rows=10).fit(TABLE, ids=[f"r{i}" for i in range(len(TABLE))])
    with pytest.raises(InvalidTableError, match="infinite"):
        spn.learn(new_rows(blank=[1.0, INF]), ids=["id-" + SECRET, "id-2"])
    with pytest.raises(RecordIdError, match=re.escape(f"no records with these ids: 'id-{SECRET}'")):
        spn.unlearn(["r3", "id-" + SECRET])
    with pytest.raises(RecordIdError, match="strings as ids: pass the ids"):
        spn.learn(new_rows())
    assert_nothing_secret(spn)
    spn.unlearn("r3")
    assert spn.verify()
    assert "r3" not in spn.ids_


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"alpha": "much"}, "alpha"),
        ({"min_std": -1.0}, "min_std"),
        ({"min_std": float("nan")}, "min_std"),
        ({"threshold": float("nan")}, "threshold"),
        ({"n_bins": 300}, "n_bins"),
        ({"n_bins": 1}, "n_bins"),
        ({"min_rows": 0}, "min_rows"),
        ({"min_rows": 2.5}, "min_rows"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": "small"}, "epsilon"),
        ({"random_state": None}, "random_state"),
        ({"independence": "chi2"}, "independence"),
        ({"clustering": "dbscan"}, "clustering"),
        ({"leaves": {"nowhere": Gaussian()}}, "leaves.*'nowhere'"),
        ({"leaves": {"size": "triangular"}}, "leaves.*'triangular'"),
        ({"leaves": "gaussian"}, "leaves"),
        ({"factorization": "chow"}, "factorization"),
        ({"leaves": {"colour": Gaussian()}}, "'colour'"),
        ({"leaves": {"size": Categorical()}}, "'size'"),
        ({"categorical_features": 5}, "categorical_features"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, culprit):
    spn = pickle.loads(FITTED)
    before = snapshot(spn)
    spn.set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=culprit):
        spn.fit(TABLE)
    assert snapshot(spn) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"independence": GTest}, r"independence=GTest .*instance, such as GTest\(\)"),
        ({"clustering": QKMeans}, r"clustering=QKMeans .*instance, such as QKMeans\(\)"),
        ({"leaves": {"size": Poisson}}, r"leaves=Poisson .*instance, such as Poisson\(\)"),
    ],
)
def test_a_class_is_no_instance(parameters, message):
    with pytest.raises(TypeError, match=message):
        SPN(min_rows=10, **parameters).fit(TABLE)


def test_a_folder_that_is_no_model_is_said_to_be_none(tmp_path):
    for path in ("", tmp_path / "absent"):
        with pytest.raises(StorageError, match=f"cannot read '{path}': No such file or directory"):
            SPN.load(path)
    for path in (tmp_path, str(tmp_path)):
        with pytest.raises(StorageError, match=f"cannot read '{path}': the folder holds no model"):
            SPN.load(path)

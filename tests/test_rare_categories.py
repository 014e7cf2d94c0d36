"""Rare categories that are left out: exactly those of a fresh fit, after any request, in files and in the vault."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import run, run_json
from sequences import assert_like_retraining, sequences
from unlearnspn import SPN, Circuit, SPNClassifier, SPNEnsemble
from unlearnspn.vault import Vault

SECRET = "only one has this"


def people(codes):
    numbers = np.arange(len(codes))
    return pd.DataFrame({"code": codes, "age": 20.0 + numbers % 7, "city": [["Ulm", "Bonn"][i % 2] for i in numbers]})


CODES = ["a"] * 10 + ["b"] * 3 + ["c"] * 2 + [SECRET]


def make(least=3, **parameters):
    return SPN(min_rows=4, min_category_count=least, **parameters)


def test_rare_categories_are_not_in_the_model():
    spn = make().fit(people(CODES))
    circuit = spn.circuit_
    assert circuit.categories("code") == ["a", "b"]
    assert SECRET not in circuit.to_json()
    assert set(spn.sample(200, random_state=0)["code"]) == {"a", "b"}
    assert spn.probability({"code": SECRET}) == spn.probability({"code": "nobody has this"})
    blank = people([code if code in ("a", "b") else None for code in CODES])
    assert circuit == SPN(min_rows=4).fit(blank).circuit_
    assert spn.state_digest() != SPN(min_rows=4).fit(blank).state_digest()
    assert spn.verify()


def test_one_leaves_nothing_out():
    plain, explicit = SPN(min_rows=4).fit(people(CODES)), make(1).fit(people(CODES))
    assert plain.state_digest() == explicit.state_digest()


@pytest.mark.parametrize(
    ("request_", "categories"),
    [
        (lambda spn: spn.unlearn([10]), ["a"]),
        (lambda spn: spn.learn(people(["c"]), ids=[50]), ["a", "b", "c"]),
        (lambda spn: spn.rectify(people(["c"]), ids=[10]), ["a", "c"]),
        (lambda spn: spn.rectify(people(["b", "c"]), ids=[15, 11]), ["a", "b", "c"]),
        (lambda spn: spn.learn(people(["new"] * 3), ids=[50, 51, 52]), ["a", "b", "new"]),
        (lambda spn: spn.unlearn([15]), ["a", "b"]),
        (lambda spn: spn.unlearn(list(range(10))), ["b"]),
    ],
)
def test_categories_cross_the_bound_in_both_directions(request_, categories):
    spn = make().fit(people(CODES))
    request_(spn)
    assert spn.circuit_.categories("code") == categories
    assert spn.verify()


def test_what_is_left_out_counts_in_the_state():
    other = [*CODES[:-1], "another one"]
    one, two = make().fit(people(CODES)), make().fit(people(other))
    assert one.digest() == two.digest()
    assert one.state_digest() != two.state_digest()


def test_a_dry_run_changes_nothing_and_tells_the_digests():
    spn = make().fit(people(CODES))
    before = spn.state_digest()
    told = spn.unlearn([10], dry_run=True)
    assert spn.state_digest() == before
    assert spn.verify()
    assert spn.unlearn([10]).state_digest_after == told.state_digest_after == spn.state_digest()


@pytest.mark.parametrize("estimator", [SPN, SPNEnsemble])
def test_files_and_pickles_keep_what_is_left_out(estimator, tmp_path):
    parameters = {"n_members": 3, "subsample": 0.7} if estimator is SPNEnsemble else {}
    spn = estimator(min_rows=4, min_category_count=3, **parameters).fit(people(CODES))
    spn.save(tmp_path / "model")
    for model in (estimator.load(tmp_path / "model"), pickle.loads(pickle.dumps(spn)), spn):
        model.learn(people(["c", "c", "c"]), ids=[50, 51, 52])
        model.unlearn([11, 15])
        assert model.verify()
        assert "c" in model.circuit_.categories("code")
    assert model.state_digest() == spn.state_digest()
    spn.save(tmp_path / "after")
    assert SECRET.encode() not in (tmp_path / "after").read_bytes()


def test_classes_are_never_left_out():
    data = people(CODES)
    classifier = SPNClassifier(min_category_count=4).fit(data[["age", "city"]], data["code"])
    assert classifier.classes_.tolist() == sorted(set(CODES))
    classifier.unlearn([15])
    assert classifier.verify()


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(ValueError, match="min_category_count"):
        make(value).fit(people(CODES))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sequence=sequences(), least=st.integers(2, 6))
def test_every_request_equals_retraining(sequence, least):
    sequence.parameters["min_category_count"] = least
    assert_like_retraining(sequence)


# -- the vault -------------------------------------------------------------------------------------------------------


def test_a_vault_keeps_what_is_left_out_and_forgets_it(tmp_path):
    path = tmp_path / "people.uspn"
    data = people(CODES).assign(id=[f"r{i}" for i in range(16)], who=[f"p{i // 2}" for i in range(16)])
    with Vault.create(path) as vault:
        vault.ingest(data, ids="id", subjects="who")
        vault.fit(min_rows=4, min_category_count=3)
    with Vault.open(path, write=True) as vault:
        assert vault.circuit_.categories("code") == ["a", "b"]
        assert vault.ingest(data).skipped == 16
        vault.ingest(people(["c"]).assign(id="r50", who="p9"))
        assert vault.circuit_.categories("code") == ["a", "b", "c"]
        assert vault.verify()
    with Vault.open(path, write=True) as vault:
        assert vault.unlearn(["r10"], dry_run=True).removed == 1
        assert vault.circuit_.categories("code") == ["a", "b", "c"]
        vault.unlearn(["r10"])
        assert vault.circuit_.categories("code") == ["a", "c"]
        assert vault.unlearn(subject="p6").removed == 2  # r12 and r13, whose slots have changed
        assert vault.circuit_.categories("code") == ["a"]
        assert vault.unlearn(subject="p7").removed == 2
        assert vault.verify()
    assert SECRET.encode() not in path.read_bytes()
    assert SECRET.encode().hex().encode() not in path.read_bytes()
    with Vault.open(path, write=True) as vault:
        vault.fit(min_rows=4)
        assert vault.circuit_.categories("code") == ["a", "b", "c"]
        assert vault.verify()


@pytest.mark.parametrize("string_ids", [False, True])
def test_a_vault_equals_a_fresh_one_after_many_requests(tmp_path, string_ids):
    rng = np.random.default_rng(5)
    data = people(rng.choice([f"k{i}" for i in range(12)], 60).tolist())
    data["id"] = [f"r{i}" if string_ids else i for i in range(60)]
    held = data[:40].set_index("id", drop=False)
    with Vault.create(tmp_path / "v.uspn") as vault:
        vault.ingest(data[:40], ids="id")
        vault.fit(min_rows=8, min_category_count=4)
    for step in range(12):
        with Vault.open(tmp_path / "v.uspn", write=True) as vault:
            gone = rng.choice(held["id"].to_numpy(), 2, replace=False).tolist()
            vault.unlearn(gone)
            held = held.drop(index=gone)
            more = data[~data["id"].isin(held["id"])].sample(2, random_state=step)
            vault.ingest(more)
            held = pd.concat([held, more.set_index("id", drop=False)])
            fresh = SPN(min_rows=8, min_category_count=4).fit(held.reset_index(drop=True), ids="id")
            assert vault.info().digests.state == fresh.state_digest()
            assert vault.circuit_ == fresh.circuit_


def test_the_command_line(tmp_path):
    path, source = str(tmp_path / "people.uspn"), str(tmp_path / "people.csv")
    codes = [*["a"] * 20, *(f"code {i}" for i in range(40))]
    people(codes).assign(id=range(60)).to_csv(source, index=False)
    run("init", path)
    assert "'code'" in run("ingest", path, source, "--id", "id").stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("fit", path, "--min-category-count", "5").stderr == ""
        assert run("export", path, str(tmp_path / "circuit")).stderr == ""
    assert run_json("info", path)["parameters"]["min_category_count"] == 5
    assert Circuit.load(tmp_path / "circuit").categories("code") == ["a"]
    run("export", path, str(tmp_path / "circuit.json"))
    assert json.loads((tmp_path / "circuit.json").read_text())["columns"][0]["categories"] == ["a"]

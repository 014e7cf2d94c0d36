"""`SPNEnsemble`: a mixture of networks of subsamples, which forgets as exactly as one network."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from sequences import Held, apply_request, sequences
from unlearnspn import (
    SPN,
    InvalidTableError,
    LastRecordError,
    RecordIdError,
    SPNEnsemble,
    StorageError,
    checks,
)
from unlearnspn.model import Model
from unlearnspn.tables import read_table

X = load_iris().data


def digests(estimator):
    return estimator.digest(), estimator.state_digest()


def small(**parameters):
    return SPNEnsemble(**{"n_members": 4, "subsample": 0.5, "min_rows": 20, "threshold": 1.0, **parameters})


def mixed_table(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Bonn", "Ulm", "Kiel"], n_rows)
    cost = np.where(city == "Ulm", 5.0, 1.0) + rng.normal(0, 0.3, n_rows)
    return pd.DataFrame({"city": city, "cost": cost, "smoker": rng.random(n_rows) < 0.4})


def fresh(ensemble, table, rows):
    rows = sorted(rows)
    kept = table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
    return clone(ensemble).fit(kept, ids=rows)


def members(ensemble):
    return ensemble._model.members


# -- the contract ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:all \\d+ members are the same")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    sequence=sequences(),
    n_members=st.integers(1, 4),
    subsample=st.sampled_from([0.02, 0.3, 0.8, 1.0]),
)
def test_every_request_equals_retraining(sequence, n_members, subsample):
    def estimator():
        return SPNEnsemble(n_members, subsample, categorical_features=sequence.categorical, **sequence.parameters)

    rng = np.random.default_rng(sequence.shuffle)
    held = Held({number: number for number in range(sequence.n_first)})
    X, ids = held.table(sequence, rng)
    ensemble = estimator().fit(X, ids=ids)
    for kind, numbers in sequence.requests:
        before = digests(ensemble)
        report = apply_request(ensemble, sequence, held, kind, numbers)
        if report is None:
            continue
        X, ids = held.table(sequence, rng)
        retrained = estimator().fit(X, ids=ids)
        assert digests(ensemble) == digests(retrained)
        assert (report.digest_before, report.state_digest_before) == before
        assert (report.digest_after, report.state_digest_after) == digests(retrained)
        assert ensemble.circuit_ == retrained.circuit_
        assert ensemble.score_samples(sequence.pool).tobytes() == retrained.score_samples(sequence.pool).tobytes()
    assert ensemble.ids_ == sorted(sequence.name(number) for number in held.rows)
    assert ensemble.n_records_ == len(held.rows)
    assert ensemble.verify()


@pytest.mark.parametrize("subsample", [0.05, 0.6])
def test_the_contract_of_estimators(subsample):
    checks.check_spn(SPNEnsemble(3, subsample, min_rows=8))


def test_verify_learns_from_the_records():
    ensemble = small(subsample=1.0).fit(X)
    assert ensemble.verify()
    members(ensemble)[0].revise([0], [0], read_table(X[149:]))
    assert not ensemble.verify()


# -- which members hold what -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:all \\d+ members are the same")
@pytest.mark.parametrize("subsample", [0.01, 0.3, 0.8, 1.0])
def test_members_hold_their_share_and_every_record_is_held(subsample):
    rows = np.arange(3000)[:, None] % 7 + 0.0
    ensemble = SPNEnsemble(4, subsample, min_rows=10_000).fit(rows)
    sizes = [len(member.records) for member in members(ensemble)]
    expected = subsample + (1.0 - subsample) ** 4 / 4
    assert sizes == pytest.approx([expected * 3000] * 4, abs=120)
    assert set().union(*(member.ids for member in members(ensemble))) == set(range(3000))
    assert ensemble.n_records_ == 3000


@pytest.mark.filterwarnings("ignore:all \\d+ members are the same")
def test_who_holds_a_record_depends_on_its_id_alone():
    alone = small(subsample=0.3).fit(X[:1], ids=["somebody"])
    among = small(subsample=0.3).fit(X, ids=["somebody", *map(str, range(149))])
    holders = [member is not None for member in members(alone)]
    assert [bool(member.holds(["somebody"])[0]) for member in members(among)] == holders


def test_other_seeds_give_other_subsamples_and_members_other_networks():
    ensembles = [small(random_state=seed).fit(X) for seed in range(3)]
    held = {tuple(frozenset(member.ids) for member in members(each)) for each in ensembles}
    assert len(held) == 3
    whole = small(subsample=1.0, n_members=3).fit(X)
    assert [root.n_records for root in whole.roots_] == [150] * 3
    assert len({member.settings.seed for member in members(whole)}) == 3


def test_only_members_that_hold_a_record_are_touched():
    ensemble = small(n_members=8, subsample=0.3).fit(X)
    before = [member.show() for member in members(ensemble)]
    holders = [bool(member.holds([17])[0]) for member in members(ensemble)]
    assert 0 < sum(holders) < 8
    report = ensemble.unlearn(17)
    assert [member.show() is not old for member, old in zip(members(ensemble), before, strict=True)] == holders
    assert report.nodes_visited >= sum(holders)


def test_members_come_and_go_with_their_records():
    ensemble = small(n_members=6, subsample=0.1).fit(X[:2], ids=[0, 1])
    assert [member is None for member in members(ensemble)].count(True) >= 3
    start = digests(ensemble)
    report = ensemble.learn(X[2:30], ids=range(2, 30))
    assert all(member is not None for member in members(ensemble))
    assert report.subnetworks_learned >= 3
    ensemble.unlearn(range(2, 30))
    assert digests(ensemble) == start
    assert len(ensemble.roots_) == sum(member is not None for member in members(ensemble))


# -- all or nothing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("request_of", ["unlearn", "learn", "rectify"])
def test_a_request_that_fails_in_one_member_changes_none(monkeypatch, error, request_of):
    table = mixed_table()
    ensemble = small(subsample=1.0).fit(table)
    before, circuit, ids = digests(ensemble), ensemble.circuit_, ensemble.ids_
    send = {
        "unlearn": lambda: ensemble.unlearn([3, 4]),
        "learn": lambda: ensemble.learn(table[:2].assign(city="Rom"), ids=[500, 501]),
        "rectify": lambda: ensemble.rectify(table[:2].assign(city="Rom"), ids=[3, 4]),
    }[request_of]
    original, failing = Model.revise, members(ensemble)[2]

    def revise(model, *arguments):
        if model is failing:
            raise error("in the third member")
        return original(model, *arguments)

    monkeypatch.setattr(Model, "revise", revise)
    with pytest.raises(error, match="in the third member"):
        send()
    monkeypatch.undo()
    assert digests(ensemble) == before
    assert ensemble.circuit_ == circuit
    assert ensemble.ids_ == ids
    assert ensemble.verify()
    assert [member.digests for member in members(ensemble)] == [m.digests for m in members(clone(ensemble).fit(table))]
    send()
    assert digests(ensemble) != before
    assert ensemble.verify()


def test_refused_requests_change_nothing():
    ensemble = small(leaves={"smoker": "bernoulli"}).fit(mixed_table())
    before = digests(ensemble)
    row = mixed_table()[:1]
    with pytest.raises(RecordIdError, match="no records with these ids: 999"):
        ensemble.unlearn([3, 999])
    with pytest.raises(RecordIdError, match="exist already"):
        ensemble.learn(row, ids=[5])
    with pytest.raises(RecordIdError, match="no records"):
        ensemble.rectify(row, ids=[999])
    with pytest.raises(InvalidTableError, match="feature names"):
        ensemble.learn(row.rename(columns={"city": "town"}))
    with pytest.raises(LastRecordError, match="last record"):
        ensemble.unlearn(range(120))
    assert ensemble.unlearn([999], missing="ignore").records_removed == 0
    assert digests(ensemble) == before


def test_values_that_no_leaf_models_are_refused():
    table = pd.DataFrame({"flag": [0, 1, 0, 1, 1], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    ensemble = small(categorical_features=["flag"], leaves={"flag": "bernoulli"}).fit(table)
    with pytest.raises(InvalidTableError, match="'bernoulli'"):
        ensemble.learn(pd.DataFrame({"flag": [7], "x": [1.0]}))


def test_a_dry_run_reports_what_the_request_does():
    table = mixed_table()
    ensemble = small().fit(table)
    before = digests(ensemble)
    for send in (
        lambda dry: ensemble.unlearn([1, 2, 3], dry_run=dry),
        lambda dry: ensemble.rectify(table[10:12], ids=[20, 21], dry_run=dry),
        lambda dry: ensemble.learn(table[:3], ids=[1, 2, 3], dry_run=dry),
    ):
        planned = send(True)
        assert planned.digest_before == ensemble.digest()
        done = send(False)
        assert replace(planned, dry_run=False, seconds=done.seconds) == done
    assert digests(ensemble) != before


def test_the_report_adds_the_members_up():
    ensemble = small(n_members=2, subsample=1.0).fit(X)
    singles = [pickle.loads(pickle.dumps(member)) for member in members(ensemble)]
    reports = [single.revise(list(range(40, 70)), [], None) for single in singles]
    report = ensemble.unlearn(range(40, 70))
    assert report.records_removed == 30
    assert report.nodes_visited == sum(each.nodes_visited for each in reports)
    assert report.subnetworks_learned == sum(each.subnetworks_learned for each in reports)
    assert report.rows_moved == sum(each.rows_moved for each in reports)
    changes = [f"{k}:{change.address}" for k, each in enumerate(reports) for change in each.changed_operations]
    assert [change.address for change in report.changed_operations] == changes
    assert report.recoded == all(each.recoded for each in reports)


# -- the mixture -------------------------------------------------------------------------------------------------------


def test_densities_are_those_of_the_members_by_their_numbers_of_records():
    table = mixed_table()
    ensemble = small(subsample=0.4, factorization="chow-liu").fit(table)
    circuits = [member.circuit for member in members(ensemble)]
    sizes = np.array([len(member.records) for member in members(ensemble)])
    weights = np.log(sizes / sizes.sum())
    queries = [
        table,
        table.assign(cost=np.nan),
        table[["cost", "city"]].assign(smoker=None)[["city", "cost", "smoker"]],
    ]
    for rows in queries:
        densities = [circuit.score_samples(rows) for circuit in circuits]
        mixed = logsumexp(np.array(densities) + weights[:, None], axis=0)
        assert ensemble.score_samples(rows) == pytest.approx(mixed, abs=1e-10)
    event = {"city": "Ulm", "smoker": True}
    single = [circuit.probability(event) for circuit in circuits]
    assert ensemble.probability(event) == pytest.approx(np.exp(weights) @ single)
    means = [circuit.expectation("cost") for circuit in circuits]
    assert ensemble.expectation("cost") == pytest.approx(np.exp(weights) @ means)


@pytest.mark.parametrize("factorization", ["naive", "chow-liu"])
def test_categories_that_only_some_members_know(factorization):
    table = mixed_table()
    table.loc[7, "city"] = "Rom"
    table.loc[8, "city"] = "Bern"
    ensemble = small(subsample=0.3, factorization=factorization).fit(table)
    assert ensemble.circuit_.categories("city") == ["Bern", "Bonn", "Kiel", "Rom", "Ulm"]
    holders = np.array([member.holds([7, 8]) for member in members(ensemble)]).T
    assert not holders.all(axis=1).any()
    sizes = np.array([len(member.records) for member in members(ensemble)])
    expected = 0.0
    for member, size, knows in zip(members(ensemble), sizes, holders.T, strict=True):
        circuit = member.circuit
        rom = circuit.probability({"city": "Rom"})
        expected += size / sizes.sum() * (rom if knows[0] else rom / ((~knows).sum() + 0.01))
    assert ensemble.probability({"city": "Rom"}) == pytest.approx(expected)
    known = ensemble.probability({"city": {"Bern", "Bonn", "Kiel", "Rom", "Ulm"}})
    assert known + ensemble.probability({"city": "Atlantis"}) == pytest.approx(1.0)
    assert 0.0 < ensemble.probability({"city": "Atlantis"}) < ensemble.probability({"city": "Rom"})
    assert ensemble.predict_proba(table, target="city").sum(axis=1) == pytest.approx(np.ones(120))


def test_what_a_bernoulli_column_cannot_be_stays_impossible():
    table = pd.DataFrame({"flag": [1, 0] + [None] * 38, "x": np.arange(40.0)})
    ensemble = small(subsample=0.2, categorical_features=["flag"], leaves={"flag": "bernoulli"}).fit(table)
    ignorant = [member for member in members(ensemble) if not member.holds([0, 1]).any()]
    assert ignorant
    assert ensemble.probability({"flag": {0, 1}}) == pytest.approx(1.0)
    assert ensemble.probability({"flag": 2}) == 0.0


def test_answers_come_as_the_kind_of_table_that_was_learned():
    ensemble = small().fit(mixed_table())
    rows = ensemble.sample(5, given={"city": "Ulm"}, random_state=0)
    assert isinstance(rows, pd.DataFrame)
    assert rows.city.tolist() == ["Ulm"] * 5
    gaps = mixed_table().assign(city=None)
    filled = ensemble.impute(gaps)
    assert (filled.city == mixed_table().city).mean() > 0.6
    assert ensemble.marginal(["cost"]).columns == ["cost"]


def test_an_ensemble_of_one_is_a_network_of_all_records():
    ensemble = small(n_members=1, subsample=0.1).fit(X)
    (root,) = ensemble.roots_
    assert root.n_records == 150
    assert ensemble.circuit_ == members(ensemble)[0].circuit


def test_held_out_rows_are_more_likely_than_under_one_network():
    # On average over splits: on one of them, either may be lucky.
    gains = []
    for split in range(5):
        order = np.random.default_rng(split).permutation(150)
        learned, held_out = X[order[:100]], X[order[100:]]
        single = np.mean([SPN(min_rows=20, random_state=seed).fit(learned).score(held_out) for seed in range(5)])
        gains.append(SPNEnsemble(10, min_rows=20).fit(learned).score(held_out) - single)
    assert np.mean(gains) > 0.2


# -- scikit-learn, pickles and files -----------------------------------------------------------------------------------


def test_nothing_works_before_fit_and_clones_are_unfitted():
    with pytest.raises(NotFittedError, match="SPNEnsemble"):
        small().digest()
    ensemble = small(random_state=3).fit(X)
    copy = clone(ensemble)
    assert copy.get_params() == ensemble.get_params()
    with pytest.raises(NotFittedError):
        _ = copy.roots_
    assert digests(copy.fit(X)) == digests(ensemble)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_members": 0}, "n_members=0 must be an integer of 1 to 1000"),
        ({"n_members": 2.0}, "n_members=2.0 must be an integer"),
        ({"subsample": 0.0}, "subsample=0.0 must be a positive number"),
        ({"subsample": 1.5}, "subsample=1.5 must be a share of the records, at most 1"),
        ({"min_rows": 0}, "min_rows=0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(X)


def test_digests_tell_parameters_apart():
    shown = [small(**p).fit(X) for p in ({}, {"n_members": 5}, {"subsample": 0.51}, {"random_state": 1})]
    assert len({ensemble.state_digest() for ensemble in shown}) == 4


def test_partial_fit_adds_records():
    parts = small().partial_fit(X[:50]).partial_fit(X[50:])
    assert digests(parts) == digests(small().fit(X))


def test_a_pickled_ensemble_is_the_same_and_can_unlearn():
    ensemble = small().fit(mixed_table())
    again = pickle.loads(pickle.dumps(ensemble))
    assert digests(again) == digests(ensemble)
    assert again.circuit_ == ensemble.circuit_
    again.unlearn([5])
    assert digests(again) == digests(fresh(ensemble, mixed_table(), set(range(120)) - {5}))


@pytest.mark.parametrize("subsample", [0.03, 0.5])
@pytest.mark.parametrize("ids", [list(range(30)), [f"c-{i}" for i in range(30)]], ids=["integers", "strings"])
def test_a_file_holds_the_same_ensemble(tmp_path, subsample, ids):
    table = mixed_table(30)
    ensemble = small(subsample=subsample, min_rows=3, n_members=40).fit(table, ids=ids)
    ensemble.unlearn(ids[3:5])
    ensemble.save(tmp_path / "one")
    retrained = clone(ensemble).fit(table.drop([3, 4]), ids=ids[:3] + ids[5:])
    retrained.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    again = SPNEnsemble.load(tmp_path / "one")
    assert digests(again) == digests(ensemble)
    assert again.circuit_ == ensemble.circuit_
    assert again.get_params() == ensemble.get_params()
    assert again.ids_ == ensemble.ids_
    assert isinstance(again.sample(2, random_state=0), pd.DataFrame)
    again.learn(table[3:5], ids=ids[3:5])
    assert digests(again) == digests(clone(ensemble).fit(table, ids=ids))


def test_files_of_other_estimators_are_refused(tmp_path):
    small().fit(X).save(tmp_path / "ensemble")
    SPN().fit(X).save(tmp_path / "spn")
    with pytest.raises(StorageError, match="holds a 'ensemble', not a 'model'"):
        SPN.load(tmp_path / "ensemble")
    with pytest.raises(StorageError, match="holds a 'model', not a 'ensemble'"):
        SPNEnsemble.load(tmp_path / "spn")

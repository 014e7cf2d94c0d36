"""Every question gets the same answer, to the last bit, after requests as from a model learned afresh."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from random_models import RandomModel, laws, random_models
from unlearnspn import SPN, Histogram, ImpossibleEvidenceError, InvalidEvidenceError, Range
from unlearnspn.circuit.layout import lift, lower
from unlearnspn.circuit.validation import validate


def circuit_answers(circuit):
    """Return what tells a circuit apart from others."""
    arrays = {name: array.tobytes() for name, array in circuit.layout.arrays().items()}
    return circuit.digest(), circuit.columns, arrays


def questions(model: RandomModel):
    """Return all questions, as functions of a model; what they are about is the same each time."""
    rng = np.random.default_rng(model.seed)
    rows, names = model.rows(rng, 12), model.names
    evidence = model.evidence(rng, model.some_columns(rng, least=1, most=2), ranges=2)
    event = {
        f"x{v}": Range(below=2.0) if not model.recipes[v].categorical else model.table[0, v] for v in range(len(names))
    }
    columns = [f"x{v}" for v in model.some_columns(rng, least=1)]
    numeric = [f"x{v}" for v, recipe in enumerate(model.recipes) if not recipe.categorical]
    categorical = [f"x{v}" for v, recipe in enumerate(model.recipes) if recipe.categorical]
    asked = {
        "score_samples": lambda spn: spn.score_samples(rows).tobytes(),
        "score": lambda spn: spn.score(model.table),
        "marginal": lambda spn: circuit_answers(spn.marginal(columns)),
        "condition": lambda spn: circuit_answers(spn.condition(evidence)),
        "probability": lambda spn: spn.probability(event),
        "log_probability": lambda spn: spn.log_probability({names[0]: event[names[0]]}, given=evidence),
        "expectation": lambda spn: spn.expectation(numeric, given=evidence),
        "variance": lambda spn: spn.variance(numeric),
        "moment": lambda spn: spn.moment(dict.fromkeys(numeric[:2], 2), central=True),
        "sample": lambda spn: str(spn.sample(9, given=evidence, random_state=3).tolist()),
        "mpe": lambda spn: str(spn.mpe(rows).tolist()),
        "digest": lambda spn: circuit_answers(spn.circuit_),
        "json": lambda spn: spn.circuit_.to_json(),
    }
    for how in ("mpe", "mean", "sample"):
        asked[f"impute by {how}"] = lambda spn, how=how: str(spn.impute(rows, how=how, random_state=4).tolist())
    for name in categorical:
        asked[f"predict_proba of {name}"] = lambda spn, name=name: spn.predict_proba(rows, target=name).tobytes()
    if len(names) > 1:
        asked["mutual_information"] = lambda spn: spn.mutual_information(names[0], names[-1], 5)
    return asked


def ask(question, spn):
    """Return the answer, or what was wrong with the question: the records that made it possible may have gone."""
    try:
        return question(spn)
    except (ImpossibleEvidenceError, InvalidEvidenceError) as error:
        return str(error)


def more_rows(model, rng, n_rows):
    """Return rows to add or put in the place of others: like the table's, some with something new."""
    width = len(model.recipes)
    rows = model.table[rng.integers(0, len(model.table), (n_rows, 1)), np.arange(width)]
    for v, recipe in enumerate(model.recipes):
        new = rng.random(n_rows) < 0.3
        if not recipe.categorical:
            rows[new, v] = 40.0  # far out, so that the scale of the column changes
        elif recipe.leaf is None and model.unseen(v) is not None:
            rows[new, v] = model.unseen(v)
    return rows


def send_requests(model, spn, kinds):
    """Send requests to a model, and return the records that it should hold then."""
    rng = np.random.default_rng(model.seed + 1)
    held = dict(enumerate(model.table.tolist()))
    for kind in kinds:
        spn.circuit_  # noqa: B018 - so that there is one to be brought up to date
        size = min(int(rng.choice([1, 1, 3])), len(held) - 1)
        # The latest records are the likely ones to have something that no other has.
        some = (
            sorted(held)[len(held) - size :]
            if rng.random() < 0.5
            else rng.choice(sorted(held), size, replace=False).tolist()
        )
        rows = more_rows(model, rng, size or 1)
        if kind == "learn":
            ids = [max(held) + 1 + i for i in range(len(rows))]
            spn.learn(rows, ids=ids)
            held.update(zip(ids, rows.tolist(), strict=True))
        elif some and kind == "rectify":
            spn.rectify(rows[: len(some)], ids=some)
            held.update(zip(some, rows.tolist(), strict=False))
        elif some:
            spn.unlearn(some)
            for number in some:
                del held[number]
    return held


def fresh_model(model, held, rng):
    """Learn from scratch, from rows in another order."""
    ids = list(held)
    rng.shuffle(ids)
    table = np.empty((len(ids), len(model.recipes)), object)
    table[:] = [held[number] for number in ids]
    return model.estimator().fit(table, ids=ids)


@laws(15)
@given(
    model=random_models(),
    kinds=st.lists(st.sampled_from(["unlearn", "unlearn", "learn", "rectify"]), min_size=1, max_size=4),
)
def test_every_question_gets_the_answer_of_a_fresh_model(model, kinds):
    spn = model.estimator().fit(model.table)
    held = send_requests(model, spn, kinds)
    fresh = fresh_model(model, held, model.rng())
    from_scratch = pickle.loads(pickle.dumps(spn))
    assert spn.circuit_ == fresh.circuit_ == from_scratch.circuit_
    if spn.circuit_.domains != fresh.circuit_.domains:
        return  # what a column may hold was read off other rows, so that some questions are refused by one of the two
    for name, question in questions(model).items():
        expected = ask(question, fresh)
        assert ask(question, spn) == expected, name
        assert ask(question, from_scratch) == expected, name


@laws(12)
@given(model=random_models())
def test_a_circuit_is_in_good_order_whatever_it_came_from(model):
    rng = model.rng()
    evidence = model.evidence(rng, model.some_columns(rng, least=1), ranges=5)
    columns = [f"x{v}" for v in model.some_columns(rng, least=1)]
    circuit = model.circuit
    for one in (
        circuit,
        circuit.condition(evidence),
        circuit.marginal(columns),
        circuit.condition(evidence).marginal(columns),
    ):
        numeric = one.domains.is_numeric.tolist()
        validate(one.layout, [None if v else int(n) for v, n in zip(numeric, one.domains.n_categories, strict=True)])
        # Nothing is left to prune.
        assert lower(lift(one.layout)).same(one.layout)


@pytest.mark.parametrize("factorization", ["naive", "chow-liu"])
def test_what_no_request_touched_is_brought_up_to_date_with_its_columns(factorization):
    """Smoothing knows how many categories a column has, though they may all be in another cluster."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 50)
    words = np.array(["a", "b"], object)[rng.integers(0, 2, (2, 100))]
    table = np.empty((100, 4), object)
    table[:, 0], table[:, 1] = 100.0 * group + rng.standard_normal(100), 70.0 * group + rng.standard_normal(100)
    table[:, 2], table[:, 3] = words
    table[3, 2] = "rare"
    estimator = SPN(min_rows=60, threshold=0.01, n_clusters=2, max_rounds=1, factorization=factorization)
    spn, rest = clone(estimator).fit(table), np.delete(np.arange(100), 3)
    before = spn.circuit_
    assert not spn.unlearn(3).recoded
    assert [child.n_records for child in spn.root_.children] in ([49, 50], [50, 49])
    fresh = clone(estimator).fit(table[rest], ids=rest)
    assert spn.circuit_ == fresh.circuit_
    assert spn.score_samples(table).tobytes() == fresh.score_samples(table).tobytes()
    assert not spn.learn(table[3:4], ids=[3]).recoded
    assert spn.circuit_ == before


def test_a_circuit_from_before_is_left_as_it_was():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.standard_normal(100), rng.integers(0, 3, 100)])
    spn = RandomModel(("normal", "normal"), 2, 0.0, {"min_rows": 10, "threshold": 0.2}, 0).estimator().fit(table)
    before = spn.circuit_
    digest, scores = before.digest(), before.score_samples(table).tobytes()
    assert spn.circuit_ is before
    spn.unlearn([0, 1, 2], dry_run=True)
    assert spn.circuit_ is before
    spn.unlearn([0, 1, 2])
    assert spn.circuit_ is not before
    assert spn.circuit_ != before
    assert (before.digest(), before.score_samples(table).tobytes()) == (digest, scores)
    spn.learn(table[:3], ids=[0, 1, 2])
    assert spn.circuit_ == before
    assert spn.to_circuit() is spn.circuit_
    assert hash(spn.circuit_) == hash(before)


def test_a_refused_request_leaves_the_circuit_as_it_was():
    spn = RandomModel(("normal", "words"), 60, 0.0, {"min_rows": 10}, 3).spn
    before = spn.circuit_
    with pytest.raises(ValueError, match="no records with these ids"):
        spn.unlearn([1, 99999])
    assert spn.circuit_ is before


@pytest.mark.parametrize("seed", [6, 7, 8, 14])
def test_equal_parts_of_a_network_are_shared_whatever_was_there_before(seed):
    """A circuit made after a removal had shared equal parts which that of a fresh model had not."""
    table = np.zeros((6, 5))
    table[:, 3], table[3:, 4] = [0.1, 0.1, 0.1, 0.2, 0.3, 0.2], [1.0, 0.0, 2.0]
    setting = {"n_clusters": 2, "threshold": 0.2, "n_bins": 2, "leaves": {"x3": Histogram(3, 0.5)}}
    estimator = SPN(min_rows=1, random_state=seed, **setting)
    for removals in permutations(range(3), 2):
        spn, rest = clone(estimator).fit(table), list(range(6))
        for removed in removals:
            spn.unlearn(removed)
            rest.remove(removed)
            assert spn.circuit_ == clone(estimator).fit(table[rest], ids=rest).circuit_

"""Marginals, conditionals and probabilities of events: brute force, and the rules that they obey among each other."""

import math

import numpy as np
import pytest
from hypothesis import given

from brute_force import NEVER_SEEN, BruteForce, assert_same_logs
from random_models import CATEGORICAL, laws, random_models, random_range
from unlearnspn import Range
from unlearnspn.circuit.expressions import Unit

NEGLIGIBLE = 1e-12


def fulfils(row, evidence):
    """Tell which evidence a row is known to contradict, by hand; a missing value contradicts nothing."""
    for name, wanted in evidence.items():
        value = row[int(name[1:])]
        if wanted is None or value is None:
            continue
        if isinstance(wanted, Range):
            if value not in wanted:
                return False
        elif not any(
            value == one and isinstance(value, bool) == isinstance(one, bool)
            for one in (wanted if isinstance(wanted, list) else [wanted])
        ):
            return False
    return True


def joint(row, evidence):
    """Return what is known of each column by a row and the evidence together."""
    known = {f"x{v}": value for v, value in enumerate(row)}
    return known | {name: wanted for name, wanted in evidence.items() if known[name] is None}


@laws(12)
@given(model=random_models(least=2))
def test_scoring_a_marginal_is_scoring_with_the_rest_missing(model):
    rng = model.rng()
    rows, columns = model.rows(rng, 20), model.some_columns(rng, least=1)
    rng.shuffle(columns)
    blanked = np.full_like(rows, None)
    blanked[:, columns] = rows[:, columns]
    marginal = model.circuit.marginal([f"x{v}" for v in columns])
    assert marginal.columns == [f"x{v}" for v in columns]
    assert_same_logs(marginal.score_samples(rows[:, columns]), model.circuit.score_samples(blanked))


@laws(12)
@given(model=random_models(least=2, most=4))
def test_a_marginal_is_the_whole_summed_up(model):
    rng = model.rng()
    columns = model.some_columns(rng, least=1, most=len(model.recipes) - 1)
    rest = [v for v in range(len(model.recipes)) if v not in columns and model.recipes[v].categorical]
    numeric = [v for v in range(len(model.recipes)) if v not in columns and v not in rest]
    row = model.rows(rng, 1)[0]
    summed = {f"x{v}": row[v] for v in columns}
    summed |= {f"x{v}": [*model.circuit.categories(f"x{v}"), NEVER_SEEN] for v in rest} | {
        f"x{v}": Range() for v in numeric[:1]
    }
    by_hand = BruteForce(model.circuit).total(summed)
    scored = model.circuit.marginal([f"x{v}" for v in columns]).score_samples([row[columns].tolist()])
    assert math.exp(scored[0]) == pytest.approx(by_hand, rel=1e-8, abs=1e-300)


def everything(model, v):
    """Return all categories of a column, and one never seen if there can be one."""
    unseen = model.unseen(v)
    return [*model.circuit.categories(f"x{v}"), *([] if unseen is None else [unseen])] or ["anything"]


def nameless(model, v):
    """Return the probability of a third boolean, which cannot be named but has one."""
    return BruteForce(model.circuit).total({f"x{v}": NEVER_SEEN}) if model.unseen(v) is None else 0.0


@laws(18)
@given(model=random_models(least=2))
def test_a_conditional_is_the_joint_over_the_evidence(model):
    rng = model.rng()
    evidence = model.evidence(rng, model.some_columns(rng, least=1, most=3), but=model.related)
    slow = BruteForce(model.circuit)
    conditional = model.circuit.condition(evidence)
    rows = np.concatenate([model.rows(rng, 4), np.full((1, len(model.recipes)), None)])
    probability = slow.total(evidence)
    expected = [
        slow.total(joint(row, evidence)) / probability if fulfils(row, evidence) else 0.0 for row in rows.tolist()
    ]
    assert np.exp(conditional.score_samples(rows)) == pytest.approx(expected, rel=1e-7, abs=1e-12)


@laws(18)
@given(model=random_models(least=2))
def test_probabilities_of_events_are_summed_up_densities(model):
    rng = model.rng()
    slow = BruteForce(model.circuit)
    event = with_mass(model, rng, model.evidence(rng, model.some_columns(rng, least=1, most=3)))
    given_columns = [v for v in model.some_columns(rng, most=2) if f"x{v}" not in event]
    evidence = model.evidence(rng, given_columns, ranges=0)
    by_hand = slow.total(event | evidence) / slow.total(evidence)
    assert model.circuit.probability(event, given=evidence) == pytest.approx(by_hand, rel=1e-7, abs=1e-12)
    assert model.circuit.log_probability(event, given=evidence) == pytest.approx(
        math.log(by_hand) if by_hand else -math.inf, rel=1e-6, abs=1e-9
    )


def with_mass(model, rng, event):
    """Exchange numbers, which have a density and no probability, for ranges, of which there may be one."""
    numeric = [
        name for name, wanted in event.items() if wanted is not None and not model.recipes[int(name[1:])].categorical
    ]
    for name in numeric:
        del event[name]
    for name in numeric[:1]:
        v = int(name[1:])
        values = [value for value in model.table[:, v].tolist() if value is not None and value == value]
        event[name] = random_range(rng, values[rng.integers(len(values))])
    return event


@laws(18)
@given(model=random_models())
def test_probabilities_of_complements_add_up_to_one(model):
    rng = model.rng()
    for v, recipe in enumerate(model.recipes):
        name = f"x{v}"
        if recipe.categorical:
            known = everything(model, v)
            chosen = [category for category in known if rng.random() < 0.5]
            others = [category for category in known if not any(category is one for one in chosen)]
            total = sum(model.circuit.probability({name: part}) for part in (chosen, others))
            assert total + nameless(model, v) == pytest.approx(1.0, abs=NEGLIGIBLE)
            continue
        bound = 0.0 if model.table[0, v] is None or model.table[0, v] != model.table[0, v] else model.table[0, v]
        for parts in ([Range(below=bound), Range(at_least=bound)], [Range(at_most=bound), Range(above=bound)]):
            total = sum(model.circuit.probability({name: part}) for part in parts)
            assert total == pytest.approx(1.0, abs=NEGLIGIBLE)
        assert model.circuit.probability({name: Range()}) == pytest.approx(1.0, abs=NEGLIGIBLE)


@laws(12)
@given(model=random_models(least=2))
def test_a_split_event_is_the_sum_of_its_parts(model):
    rng = model.rng()
    v = int(rng.integers(len(model.recipes)))
    others = with_mass(model, rng, model.evidence(rng, [u for u in range(len(model.recipes)) if u != v]))
    if model.recipes[v].categorical:
        parts = [[category] for category in everything(model, v)]
        if model.kinds[v] == "plain flags":
            return  # a third boolean would be missing
    else:
        parts = [Range(below=1.0), Range(at_least=1.0, at_most=2.0), Range(above=2.0)]
    total = sum(model.circuit.probability(others | {f"x{v}": part}) for part in parts)
    assert total == pytest.approx(model.circuit.probability(others), rel=1e-10, abs=NEGLIGIBLE)


@laws(18)
@given(model=random_models(least=2))
def test_conditioning_twice_is_conditioning_once(model):
    rng = model.rng()
    evidence = model.evidence(rng, range(len(model.recipes)), ranges=5, but=model.related)
    names = list(evidence)
    rng.shuffle(names)
    cut = int(rng.integers(len(names) + 1))
    first, second = ({name: evidence[name] for name in part} for part in (names[:cut], names[cut:]))
    once, twice = model.circuit.condition(evidence), model.circuit.condition(first).condition(second)
    rows = np.concatenate([model.rows(rng, 20), model.table])
    assert_same_logs(twice.score_samples(rows), once.score_samples(rows), 1e-10)
    again = twice.condition(evidence)
    assert_same_logs(again.score_samples(rows), once.score_samples(rows), 1e-10)


@laws(12)
@given(model=random_models(least=2))
def test_narrowing_evidence_step_by_step_is_narrowing_it_at_once(model):
    rng = model.rng()
    for v, recipe in enumerate(model.recipes):
        if recipe.categorical:
            wide, narrow = everything(model, v), everything(model, v)[:1]
        elif recipe.leaf == "poisson":
            wide, narrow = Range(at_most=9.0), Range(at_least=1.0, at_most=5.0)
        else:
            wide, narrow = Range(at_most=9.0), Range(at_least=0.5, at_most=5.0)
        rows = model.rows(rng, 20)
        if v in model.related:
            rows[:, [u for u in range(len(model.recipes)) if u != v]] = None
        at_once, by_steps = model.circuit.condition({f"x{v}": narrow}), model.circuit.condition({f"x{v}": wide})
        probability = by_steps.probability({f"x{v}": narrow})
        both = model.circuit.probability({f"x{v}": narrow}, given={f"x{v}": wide})
        assert probability == both
        by_steps = by_steps.condition({f"x{v}": narrow})
        assert_same_logs(by_steps.score_samples(rows), at_once.score_samples(rows), 1e-10)


@laws(18)
@given(model=random_models(least=2))
def test_marginal_and_condition_commute(model):
    rng = model.rng()
    columns = model.some_columns(rng, least=1)
    names = [f"x{v}" for v in columns]
    evidence = model.evidence(rng, [v for v in columns if rng.random() < 0.6], ranges=5)
    rows = np.concatenate([model.rows(rng, 20), model.table])[:, columns]
    one, other = model.circuit.marginal(names).condition(evidence), model.circuit.condition(evidence).marginal(names)
    assert one.columns == other.columns == names
    assert_same_logs(one.score_samples(rows), other.score_samples(rows), 1e-10)


@laws(12)
@given(model=random_models(least=2))
def test_marginals_of_marginals_are_marginals(model):
    rng = model.rng()
    columns = model.some_columns(rng, least=1)
    rows = model.rows(rng, 20)[:, columns[:1]]
    inner = model.circuit.marginal([f"x{v}" for v in columns])
    one, other = inner.marginal(f"x{columns[0]}"), model.circuit.marginal([f"x{columns[0]}"])
    assert_same_logs(one.score_samples(rows), other.score_samples(rows))


@laws(12)
@given(model=random_models(least=2))
def test_the_chain_rule(model):
    rng = model.rng()
    row = model.table[rng.integers(len(model.table))]
    order = rng.permutation(len(row)).tolist()
    total, evidence = 0.0, {}
    for v in order:
        conditional = model.circuit.condition(evidence).marginal(f"x{v}")
        total += conditional.score_samples(np.array([[row[v]]], object))[0]
        evidence[f"x{v}"] = row[v]
    assert_same_logs(total, model.circuit.score_samples(row[None])[0], 1e-11)


@laws(9)
@given(model=random_models(columns=CATEGORICAL, least=2))
def test_bayes_rule(model):
    rng = model.rng()
    row = model.table[rng.integers(len(model.table))]
    if row[0] is None or row[1] is None:
        return
    a, b = {"x0": row[0]}, {"x1": row[1]}
    circuit = model.circuit
    assert circuit.probability(a, given=b) * circuit.probability(b) == pytest.approx(
        circuit.probability(b, given=a) * circuit.probability(a), rel=1e-12
    )
    assert circuit.probability(a | b) == pytest.approx(
        math.exp(circuit.marginal(["x0", "x1"]).score_samples(row[None, :2])[0]), rel=1e-12
    )


@laws(12)
@given(model=random_models(least=2))
def test_conditionals_stay_circuits_in_good_order(model):
    rng = model.rng()
    circuit = model.circuit.condition(model.evidence(rng, model.some_columns(rng, least=1), ranges=3))
    layout = circuit.layout
    assert circuit.columns == model.circuit.columns
    for u in range(len(layout)):
        children = layout.children_of(u)
        assert (children < u).all()
        if layout.units[u] == Unit.SUM:
            weights = layout.log_weights[layout.child_starts[u] : layout.child_starts[u + 1]]
            assert children.size > 1
            assert np.isfinite(weights).all()
            assert math.fsum(np.exp(weights)) == pytest.approx(1.0, abs=NEGLIGIBLE)
        elif layout.units[u] == Unit.CATEGORICAL:
            assert math.fsum(np.exp(layout.parameters_of(u))) == pytest.approx(1.0, abs=NEGLIGIBLE)


def test_improbable_events_have_a_logarithm():
    from unlearnspn import SPN

    circuit = SPN().fit(np.arange(50.0).reshape(-1, 1)).circuit_
    event = {"x0": Range(above=2000.0)}
    assert circuit.probability(event) == 0.0
    assert -100000.0 < circuit.log_probability(event) < -745.0
    assert circuit.condition(event).expectation("x0") > 2000.0

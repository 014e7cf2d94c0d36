"""Joint normals in circuits, made by hand: each question against SciPy, brute force or draws."""

import json
import math
from dataclasses import replace
from itertools import product as combinations

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from brute_force import BruteForce, assert_same_logs
from unlearnspn import SPN, Circuit, Range
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.expressions import Normal, Unit, categorical, mixture, numeric, product
from unlearnspn.circuit.layout import lower
from unlearnspn.circuit.mixing import mix
from unlearnspn.circuit.validation import InvalidCircuitError, validate
from unlearnspn.errors import ImpossibleEvidenceError
from unlearnspn.schema import Kind
from unlearnspn.storage import StorageError
from unlearnspn.storage.circuits import read_circuit, write_circuit
from unlearnspn.tables import Family

INF, NAN = math.inf, math.nan
ONE = (np.array([1.0, -2.0, 0.5]), np.array([[1.0, 0.6, -0.3], [0.6, 2.0, 0.4], [-0.3, 0.4, 0.7]]))
OTHER = (np.array([3.0, 1.0, 0.0]), np.array([[0.5, -0.4, 0.1], [-0.4, 1.0, 0.2], [0.1, 0.2, 1.5]]))
SHARES = (0.3, 0.7)


def normal(mean, covariances, variables=None) -> Normal:
    variables = np.arange(len(mean)) if variables is None else variables
    return Normal(np.array(variables, np.int32), np.array(mean, float), np.linalg.cholesky(covariances))


def circuit_of(root, kinds="xxx") -> Circuit:
    """Return a circuit of columns x0, x1, …: "x" for numbers, "c" for the categories a and b."""
    columns = [
        Domain(f"x{v}", Kind.NUMERIC, Family.NUMBER, has_fraction=True)
        if kind == "x"
        else Domain(f"x{v}", Kind.CATEGORICAL, Family.TEXT, ("a", "b"))
        for v, kind in enumerate(kinds)
    ]
    layout = lower(root)
    validate(layout, [None if kind == "x" else 2 for kind in kinds])
    return Circuit(layout, Domains(tuple(columns)))


@pytest.fixture(scope="module")
def single():
    return circuit_of(normal(*ONE))


@pytest.fixture(scope="module")
def mixed():
    return circuit_of(mixture([normal(*ONE), normal(*OTHER)], np.log(SHARES).tolist()))


@pytest.fixture(scope="module")
def deep():
    """Return a circuit with a normal beside a category, over columns that do not follow each other, and another."""
    own = mixture([normal(*ONE, [0, 2, 4]), normal(*OTHER, [0, 2, 4])], np.log(SHARES).tolist())
    part = product([own, categorical(1, np.log([0.5, 0.4, 0.1])), numeric(Unit.GAUSSIAN, 3, 1.0, 2.0)])
    pair = product([normal(OTHER[0][:2], OTHER[1][:2, :2], [0, 3]), numeric(Unit.EXPONENTIAL, 2, 3.0)])
    pair = product([pair, categorical(1, np.log([0.2, 0.7, 0.1])), numeric(Unit.GAUSSIAN, 4, 0.0, 1.0)])
    return circuit_of(mixture([part, pair], np.log([0.6, 0.4]).tolist()), "xcxxx")


def scipys(parts, shares, known, values):
    """Return the density of some numbers under a mixture."""
    own = [
        share * stats.multivariate_normal(mean[known], covariances[np.ix_(known, known)]).pdf(values)
        for share, (mean, covariances) in zip(shares, parts, strict=True)
    ]
    return sum(own)


# --- scores ---


@pytest.mark.parametrize("pattern", [p for p in combinations([True, False], repeat=3) if any(p)])
def test_every_pattern_of_missing_values_is_scored_as_by_scipy(mixed, single, pattern):
    rows = np.random.default_rng(0).normal(1.0, 2.0, (50, 3))
    known = np.flatnonzero(pattern)
    blanked = np.where(pattern, rows, NAN)
    expected = np.log(scipys([ONE, OTHER], SHARES, known, rows[:, known]))
    np.testing.assert_allclose(mixed.score_samples(blanked), np.atleast_1d(expected), rtol=1e-12, atol=1e-12)
    expected = np.log(scipys([ONE], [1.0], known, rows[:, known]))
    np.testing.assert_allclose(single.score_samples(blanked), np.atleast_1d(expected), rtol=1e-12, atol=1e-12)


def test_a_row_of_which_nothing_is_known_has_density_one(mixed):
    assert abs(mixed.score_samples(np.full((2, 3), NAN))).max() < 1e-15


def test_many_numbers_are_scored_with_every_number_of_missing_values():
    rng = np.random.default_rng(1)
    slopes = rng.normal(size=(12, 12))
    circuit = circuit_of(normal(rng.normal(size=12), slopes @ slopes.T + 0.1 * np.eye(12)), "x" * 12)
    rows = np.where(rng.random((400, 12)) < rng.random((400, 1)), NAN, rng.normal(0.0, 3.0, (400, 12)))
    assert_same_logs(circuit.score_samples(rows), BruteForce(circuit).score_rows(rows.tolist()))


def random_rows(rng, n):
    rows = rng.normal(1.0, 2.0, (n, 3))
    rows[rng.random(rows.shape) < 0.3] = NAN
    return rows


@pytest.mark.parametrize("n_threads", ["1", "3"])
def test_blocks_and_threads_and_rows_alone_give_the_same_bits(mixed, monkeypatch, n_threads):
    rows = random_rows(np.random.default_rng(2), 150_001)
    whole = mixed.score_samples(rows)
    monkeypatch.setattr("unlearnspn.circuit.scoring.n_cores", lambda: int(n_threads))
    assert mixed.score_samples(rows).tobytes() == whole.tobytes()
    assert mixed.score_samples(rows[7:1500]).tobytes() == whole[7:1500].tobytes()
    for row in range(60):
        assert mixed.score_samples(rows[row : row + 1])[0] == whole[row]
    table = rows[:300].astype(object)
    assert mixed.score_samples(table).tobytes() == whole[:300].tobytes()


def test_all_circuits_are_scored_as_by_the_slow_evaluator(deep):
    rng = np.random.default_rng(3)
    rows = rng.normal(1.0, 2.0, (200, 5)).astype(object)
    rows[:, 1] = rng.choice(["a", "b", "never seen"], 200)
    rows[rng.random(rows.shape) < 0.3] = None
    assert_same_logs(deep.score_samples(rows), BruteForce(deep).score_rows(rows.tolist()))


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-12])
def test_almost_equal_numbers_keep_their_digits_beside_missing_ones(gap):
    factor = np.array([[1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.3, 1.0, gap]])
    circuit = circuit_of(Normal(np.arange(3, dtype=np.int32), np.zeros(3), factor))
    near = np.array([[NAN, 0.5, 0.5 + 2.0 * gap]])
    expected = stats.norm.logpdf(0.5, 0.0, 1.09**0.5) + stats.norm.logpdf(near[0, 2] - 0.5, 0.0, gap)
    # The numbers themselves have no more digits.
    allowed = 1e-9 + 1e-15 / gap
    assert abs(circuit.score_samples(near)[0] - expected) < allowed
    marginal = circuit.marginal(["x1", "x2"])
    assert abs(marginal.score_samples(near[:, 1:])[0] - expected) < allowed


# --- conditioning ---


def conditional(mean, covariances, known, values):
    """Return mean and covariances of the rest given values."""
    rest = np.setdiff1d(np.arange(len(mean)), known)
    slopes = np.linalg.solve(covariances[np.ix_(known, known)], covariances[np.ix_(known, rest)]).T
    left = covariances[np.ix_(rest, rest)] - slopes @ covariances[np.ix_(known, rest)]
    return rest, mean[rest] + slopes @ (np.array(values) - mean[known]), left


@pytest.mark.parametrize("known", [[0], [1], [2], [0, 2], [1, 2], [0, 1, 2]])
def test_values_leave_the_joint_density_over_theirs(mixed, known):
    values = [0.7, -0.4, 1.1]
    evidence = {f"x{v}": values[v] for v in known}
    given = mixed.condition(evidence)
    rows = np.random.default_rng(4).normal(1.0, 1.5, (40, 3))
    rows[:, known] = np.array(values)[known]
    joint = np.log(scipys([ONE, OTHER], SHARES, np.arange(3), rows))
    alone = math.log(scipys([ONE, OTHER], SHARES, known, np.array(values)[known]))
    np.testing.assert_allclose(given.score_samples(rows), joint - alone, rtol=1e-9, atol=1e-9)
    rows[:, known[0]] += 1.0
    assert (given.score_samples(rows) == -INF).all()


def test_means_and_deviations_given_a_value(single):
    rest, mean, covariances = conditional(*ONE, [1], [0.5])
    for place, v in enumerate(rest.tolist()):
        name = f"x{v}"
        assert math.isclose(single.expectation(name, given={"x1": 0.5}), mean[place], rel_tol=1e-12)
        found = single.moment({name: 2}, central=True, given={"x1": 0.5})
        assert math.isclose(found, covariances[place, place], rel_tol=1e-12)
    assert math.isclose(
        single.moment({"x0": 1, "x2": 1}, central=True, given={"x1": 0.5}), covariances[0, 1], rel_tol=1e-12
    )


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, INF), (-INF, -3.0), (4.0, INF)])
def test_a_range_leaves_the_means_and_covariances_of_a_cut_off_normal(single, bounds):
    mean, covariances = ONE
    std = covariances[1, 1] ** 0.5
    cut = stats.truncnorm(*((np.array(bounds) - mean[1]) / std), mean[1], std)
    given = single.condition({"x1": Range(at_least=bounds[0], at_most=bounds[1])})
    slopes = covariances[:, 1] / covariances[1, 1]
    expected = mean + slopes * (cut.mean() - mean[1])
    for v in range(3):
        assert math.isclose(given.expectation(f"x{v}"), expected[v], rel_tol=1e-9)
    matrix = covariances + np.outer(slopes, slopes) * (cut.var() - covariances[1, 1])
    for u, v in combinations(range(3), repeat=2):
        powers = {f"x{u}": 2} if u == v else {f"x{u}": 1, f"x{v}": 1}
        # Within pieces a little of the covariances with the number in the range is lost.
        allowed = 1e-3 * abs(matrix[u, v]) if 1 in (u, v) and u != v else 1e-8
        assert abs(given.moment(powers, central=True) - matrix[u, v]) < allowed
    low, high = bounds
    event = Range(at_least=low, at_most=high)
    assert math.isclose(
        single.probability({"x1": event}),
        stats.norm.cdf(high, mean[1], std) - stats.norm.cdf(low, mean[1], std),
        rel_tol=1e-9,
    )


def test_a_range_leaves_the_density_to_the_accuracy_of_its_pieces(single):
    mean, covariances = ONE
    low, high = -2.0, 1.0
    given = single.condition({"x0": Range(at_least=low, at_most=high)})
    points = np.random.default_rng(5).multivariate_normal(mean, covariances, 400)
    points = points[(low <= points[:, 0]) & (points[:, 0] <= high)]
    mass = math.log(single.probability({"x0": Range(at_least=low, at_most=high)}))
    expected = stats.multivariate_normal(mean, covariances).logpdf(points) - mass
    assert abs(given.score_samples(points) - expected).max() < 0.15
    assert abs((given.score_samples(points) - expected).mean()) < 2e-3
    # Without the number in the range hardly anything is lost.
    for point in points[:20, 1]:
        rest, left_mean, left = conditional(mean[:2], covariances[:2, :2], [1], [point])
        assert rest.tolist() == [0]
        inside = stats.norm(left_mean[0], left[0, 0] ** 0.5)
        exact = stats.norm.logpdf(point, mean[1], covariances[1, 1] ** 0.5) + math.log(
            inside.cdf(high) - inside.cdf(low)
        )
        assert abs(given.score_samples(np.array([[NAN, point, NAN]]))[0] - (exact - mass)) < 1e-4


def test_ranges_of_two_numbers(single):
    mean, covariances = ONE
    ranges = {"x0": Range(at_least=0.0, at_most=3.0), "x1": Range(above=-1.0)}
    pair = stats.multivariate_normal(mean[:2], covariances[:2, :2])
    density = lambda y, x: pair.pdf([x, y])  # noqa: E731
    mass = integrate.dblquad(density, 0.0, 3.0, -1.0, 12.0, epsabs=1e-10)[0]
    assert math.isclose(single.probability(ranges), mass, rel_tol=1e-7)
    assert math.isclose(
        single.probability({"x1": Range(above=-1.0)}, given={"x0": Range(at_least=0.0, at_most=3.0)}),
        mass / single.probability({"x0": Range(at_least=0.0, at_most=3.0)}),
        rel_tol=1e-3,
    )
    given = single.condition(ranges)
    validate(given.layout, [None] * 3)
    for v in (0, 1):
        moment = lambda y, x, v=v: (x, y)[v] * pair.pdf([x, y])  # noqa: E731
        exact = integrate.dblquad(moment, 0.0, 3.0, -1.0, 12.0, epsabs=1e-10)[0] / mass
        assert abs(given.expectation(f"x{v}") - exact) < 2e-3
    assert given.probability({"x1": Range(above=-1.0)}) == pytest.approx(1.0)
    assert given.probability({"x1": Range(below=-1.0)}) == 0.0


def test_ranges_in_a_mixture_weigh_its_parts(mixed, deep):
    event = {"x0": Range(at_least=2.0)}
    masses = [
        share * stats.norm.sf(2.0, mean[0], matrix[0, 0] ** 0.5)
        for share, (mean, matrix) in zip(SHARES, [ONE, OTHER], strict=True)
    ]
    assert math.isclose(mixed.probability(event), sum(masses), rel_tol=1e-12)
    given, slow = deep.condition({"x0": Range(at_least=2.0), "x1": "a"}), BruteForce(deep)
    validate(given.layout, [None, 2, None, None, None])
    by_hand = slow.mean(lambda x2, **others: x2, ["x2"], {"x0": Range(at_least=2.0), "x1": "a"})
    assert math.isclose(given.expectation("x2"), by_hand, rel_tol=1e-8)


def test_evidence_in_two_steps_is_evidence_at_once_to_the_accuracy_of_pieces(single):
    once = single.condition({"x0": Range(at_least=0.0), "x1": -1.0})
    twice = single.condition({"x0": Range(at_least=0.0)}).condition({"x1": -1.0})
    for name in ("x0", "x2"):
        assert math.isclose(once.expectation(name), twice.expectation(name), abs_tol=1e-3)


# --- marginals ---


@pytest.mark.parametrize("columns", [[2, 0], [1], [2, 1, 0], [0, 1, 2], [1, 0]])
def test_marginals_have_the_columns_in_any_order(mixed, columns):
    marginal = mixed.marginal([f"x{v}" for v in columns])
    validate(marginal.layout, [None] * len(columns))
    assert marginal.columns == [f"x{v}" for v in columns]
    rows = np.random.default_rng(6).normal(1.0, 2.0, (30, 3))[:, columns]
    expected = np.log(scipys([ONE, OTHER], SHARES, columns, rows))
    np.testing.assert_allclose(marginal.score_samples(rows), expected, rtol=1e-12, atol=1e-12)
    assert (Unit.NORMAL in marginal.layout.units) == (len(columns) > 1)


# --- moments ---


def test_moments_are_those_of_the_mixture(mixed):
    means = [mean for mean, _ in (ONE, OTHER)]
    whole = np.average(means, axis=0, weights=SHARES)
    assert [mixed.expectation(f"x{v}") for v in range(3)] == pytest.approx(whole.tolist(), rel=1e-13)
    matrix = sum(
        share * (covariances + np.outer(mean - whole, mean - whole))
        for share, (mean, covariances) in zip(SHARES, (ONE, OTHER), strict=True)
    )
    assert math.isclose(mixed.moment({"x0": 1, "x2": 1}, central=True), matrix[0, 2], rel_tol=1e-12)
    assert math.isclose(mixed.moment({"x1": 2}, central=True), matrix[1, 1], rel_tol=1e-12)


def test_mixed_moments_are_those_of_brute_force(deep):
    slow = BruteForce(deep)
    for powers in ({"x0": 1, "x2": 1}, {"x0": 2, "x3": 1}, {"x2": 1, "x4": 2}):
        names = list(powers)
        by_hand = slow.mean(lambda powers=powers, **x: math.prod(x[name] ** p for name, p in powers.items()), names, {})
        assert math.isclose(deep.moment(powers), by_hand, rel_tol=1e-8)


# --- samples and filling in ---


def test_samples_have_the_means_and_covariances(mixed):
    rows = mixed.sample(200_000, random_state=0)
    whole = np.average([ONE[0], OTHER[0]], axis=0, weights=SHARES)
    matrix = sum(
        share * (covariances + np.outer(mean - whole, mean - whole))
        for share, (mean, covariances) in zip(SHARES, (ONE, OTHER), strict=True)
    )
    np.testing.assert_allclose(rows.mean(axis=0), whole, atol=0.02)
    np.testing.assert_allclose(np.cov(rows.T), matrix, atol=0.04)
    assert stats.kstest(rows[:2000] @ [1.0, 0.5, -1.0], stats.norm.cdf).pvalue < 1e-6  # no normal by itself
    again = mixed.sample(200_000, random_state=0)
    assert rows.tobytes() == again.tobytes()


def test_samples_given_a_value_and_a_range(single):
    _, mean, covariances = conditional(*ONE, [1], [0.5])
    rows = single.sample(100_000, given={"x1": 0.5}, random_state=1)
    assert (rows[:, 1] == 0.5).all()
    np.testing.assert_allclose(rows[:, [0, 2]].mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(rows[:, [0, 2]].T), covariances, atol=0.03)
    rows = single.sample(100_000, given={"x1": Range(above=0.0)}, random_state=2)
    assert rows[:, 1].min() > 0.0
    cut = stats.truncnorm(-ONE[0][1] / 2**0.5, INF, ONE[0][1], 2**0.5)
    assert abs(rows[:, 0].mean() - (1.0 + 0.3 * (cut.mean() + 2.0))) < 0.02


def test_missing_values_are_filled_in_by_conditional_means(single, mixed):
    rows = random_rows(np.random.default_rng(7), 60)
    for how in ("mean", "mpe"):
        filled = single.impute(rows, how=how)
        for row, own in zip(rows, filled, strict=True):
            known = np.flatnonzero(~np.isnan(row))
            rest, mean, _ = conditional(*ONE, known, row[known])
            np.testing.assert_allclose(own[rest], mean, rtol=1e-11, atol=1e-11)
            assert own[known].tolist() == row[known].tolist()
    # In a mixture by how probable its parts are.
    filled = mixed.impute(rows, how="mean")
    for row, own in zip(rows, filled, strict=True):
        known = np.flatnonzero(~np.isnan(row))
        if 0 < known.size < 3:
            weights = [
                scipys([part], [share], known, row[known]) for share, part in zip(SHARES, (ONE, OTHER), strict=True)
            ]
            means = [conditional(*part, known, row[known])[1] for part in (ONE, OTHER)]
            rest = np.setdiff1d(np.arange(3), known)
            np.testing.assert_allclose(own[rest], np.average(means, axis=0, weights=weights), rtol=1e-10, atol=1e-10)


def test_what_max_product_fills_in_reaches_the_best_part(deep):
    rng = np.random.default_rng(8)
    rows = rng.normal(1.0, 2.0, (60, 5)).astype(object)
    rows[:, 1] = rng.choice(["a", "b"], 60)
    rows[rng.random(rows.shape) < 0.5] = None
    slow, filled = BruteForce(deep), deep.impute(rows, how="mpe")
    assert_same_logs(slow.best_part(filled.tolist()), slow.best_part(rows.tolist()), 1e-9)


def test_rows_are_filled_in_alone_as_among_others(mixed):
    rows = random_rows(np.random.default_rng(9), 40)
    for how in ("mean", "mpe"):
        filled = mixed.impute(rows, how=how)
        for row in range(40):
            assert mixed.impute(rows[row : row + 1], how=how).tobytes() == filled[row : row + 1].tobytes()


def test_missing_values_are_filled_in_by_draws(single):
    rows = np.tile([0.2, NAN, NAN], (100_000, 1))
    filled = single.impute(rows, how="sample", random_state=3)
    _, mean, covariances = conditional(*ONE, [0], [0.2])
    np.testing.assert_allclose(filled[:, 1:].mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(filled[:, 1:].T), covariances, atol=0.03)


# --- dependence ---


def information_of(circuit, a, b, n_parts):
    """Return the mutual information of parts of equal probability, by SciPy's probabilities of boxes."""
    slow, ends = BruteForce(circuit), []
    for name in (a, b):
        low, high = np.full(n_parts - 1, -60.0), np.full(n_parts - 1, 60.0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = slow.below(name, middle) >= np.arange(1, n_parts) / n_parts
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        ends.append(np.array([-60.0, *high, 60.0]))
    joint = np.zeros((n_parts, n_parts))
    places = [int(name[1:]) for name in (a, b)]
    for share, (mean, covariances) in zip(SHARES, (ONE, OTHER), strict=True):
        pair = stats.multivariate_normal(mean[places], covariances[np.ix_(places, places)])
        below = np.array([[pair.cdf([x, y]) for y in ends[1]] for x in ends[0]])
        joint += share * np.diff(np.diff(below, axis=0), axis=1)
    expected = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    return float((joint * np.log(joint / expected)).sum())


@pytest.mark.parametrize(("a", "b"), [("x0", "x1"), ("x2", "x0")])
def test_mutual_information_is_that_of_the_boxes(mixed, a, b):
    assert math.isclose(mixed.mutual_information(a, b, 6), information_of(mixed, a, b, 6), rel_tol=1e-6)


def test_mutual_information_of_a_normal_is_nearly_the_known_one(single):
    correlation = 0.6 / 2**0.5
    exact = -0.5 * math.log(1.0 - correlation**2)
    assert 0.95 * exact < single.mutual_information("x0", "x1", 64) < exact
    assert single.marginal(["x0", "x1"]).mutual_information("x1", "x0", 64) == pytest.approx(
        single.mutual_information("x0", "x1", 64)
    )


def test_mutual_information_beside_products(deep):
    for a, b in (("x0", "x2"), ("x0", "x1"), ("x1", "x3"), ("x3", "x0"), ("x4", "x0")):
        found = deep.mutual_information(a, b, 8)
        assert 0.0 < found < 2.0
        assert math.isclose(found, deep.mutual_information(b, a, 8), rel_tol=1e-9)


# --- files and other tools ---


@pytest.mark.parametrize("name", ["single", "mixed", "deep"])
def test_files_give_back_the_same_circuit(request, tmp_path, name):
    circuit = request.getfixturevalue(name)
    write_circuit(tmp_path / "circuit", circuit.layout, circuit.domains, {})
    layout, domains, _ = read_circuit(tmp_path / "circuit")
    loaded = Circuit(layout, domains, circuit.origin)
    assert loaded == circuit
    assert loaded.layout.same(circuit.layout)
    circuit.save(tmp_path / "whole")
    assert Circuit.load(tmp_path / "whole") == circuit


def test_a_tampered_file_is_refused(tmp_path, mixed):
    layout = replace(mixed.layout, normal_variables=np.array([0, 1, 7, 0, 1, 2], np.int32))
    write_circuit(tmp_path / "circuit", layout, mixed.domains, {})
    with pytest.raises(StorageError, match="its variable does not exist"):
        read_circuit(tmp_path / "circuit")


def test_exports_have_joint_normals(mixed, deep):
    for circuit in (mixed, deep):
        said = circuit.to_json()
        assert "NaN" not in said
        json.loads(said)
        assert "normal" in said.lower()
        assert "normal" in circuit.to_graphviz().lower()
        assert len(circuit.to_networkx()) == len(circuit.layout)
        assert f"{len(circuit.layout.normals)} joint normals" in repr(circuit)


def test_a_mixture_of_circuits_is_one(single, mixed):
    whole = mix([single, mixed], np.log([0.4, 0.6]).tolist(), 0.01, None)
    validate(whole.layout, [None] * 3)
    rows = random_rows(np.random.default_rng(10), 50)
    parts = 0.4 * np.exp(single.score_samples(rows)) + 0.6 * np.exp(mixed.score_samples(rows))
    np.testing.assert_allclose(np.exp(whole.score_samples(rows)), parts, rtol=1e-12)


# --- validation ---


def arrays_of(own, **arrays):
    return replace(lower(own), **arrays)


FAULTS = [
    ({"normal_variables": np.array([1, 0, 2], np.int32)}, "its variables are not in order"),
    ({"normal_variables": np.array([0, 0, 2], np.int32)}, "its variables are not in order"),
    ({"normal_variables": np.array([0, 1, 3], np.int32)}, "its variable does not exist"),
    ({"normal_variables": np.array([-1, 1, 2], np.int32)}, "its variable does not exist"),
    ({"normal_variables": np.array([0, 1, 2**31 - 1], np.int32)}, "its variable does not exist"),
    ({"normal_variables": np.array([0, 1], np.int32)}, "not divided among the joint normals"),
    ({"normal_variables": np.array([0, 1, 2, 2], np.int32)}, "not divided among the joint normals"),
    ({"normal_starts": np.array([0, 2])}, "not divided among the joint normals"),
    ({"normal_starts": np.array([1, 3])}, "not divided among the joint normals"),
    ({"normal_starts": np.array([0, 1, 3])}, "not divided among the joint normals"),
    ({"normal_starts": np.array([0])}, "not divided among the joint normals"),
    ({"normal_starts": np.zeros(0, np.int64)}, "not divided among the joint normals"),
    ({"normal_starts": np.array([0, -3])}, "not divided among the joint normals"),
    ({"normal_starts": np.array([0, 0]), "normal_variables": np.zeros(0, np.int32)}, "not divided"),
]


@pytest.mark.parametrize(("arrays", "fault"), FAULTS)
def test_normals_that_are_none_are_named(arrays, fault):
    with pytest.raises(InvalidCircuitError, match=fault):
        validate(arrays_of(normal(*ONE), **arrays), [None] * 3)


@pytest.mark.parametrize("starts", [[0, 4, 2, 6], [0, 2**62, 3, 6], [0, 3, 3, 6], [0, -1, 3, 6]])
def test_starts_of_normals_go_up(starts):
    three = mixture([normal(*ONE), normal(*OTHER), normal(*ONE)], np.log([0.3, 0.3, 0.4]).tolist())
    layout = replace(lower(three), normal_starts=np.array(starts), normal_variables=np.array([0, 1, 2] * 2, np.int32))
    with pytest.raises(InvalidCircuitError, match="not divided among the joint normals"):
        validate(layout, [None] * 3)


def test_normals_are_over_numbers():
    with pytest.raises(InvalidCircuitError, match="one of its variables is no number"):
        validate(lower(normal(*ONE)), [None, 2, None])


@pytest.mark.parametrize("length", [0, 1, 5, 8, 10])
def test_normals_have_as_many_parameters_as_they_need(length):
    layout = lower(normal(*ONE)).with_parameters(np.array([0, length]), np.ones(length))
    with pytest.raises(InvalidCircuitError, match="does not have the parameters that it needs"):
        validate(layout, [None] * 3)


@pytest.mark.parametrize("place", range(9))
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_parameters_of_normals_are_finite(place, value):
    layout = lower(normal(*ONE))
    parameters = layout.parameters.copy()
    parameters[place] = value
    with pytest.raises(InvalidCircuitError, match="not those of a joint normal"):
        validate(layout.with_parameters(layout.parameter_starts, parameters), [None] * 3)


@pytest.mark.parametrize("place", [3, 5, 8])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_diagonals_of_normals_are_positive(place, value):
    layout = lower(normal(*ONE))
    parameters = layout.parameters.copy()
    parameters[place] = value
    with pytest.raises(InvalidCircuitError, match="not those of a joint normal"):
        validate(layout.with_parameters(layout.parameter_starts, parameters), [None] * 3)


def test_normals_have_no_children_and_no_variable_of_their_own():
    layout = lower(normal(*ONE))
    with pytest.raises(InvalidCircuitError, match="only inputs have a variable"):
        validate(replace(layout, variables=np.array([0], np.int32)), [None] * 3)
    whole = lower(product([normal(*ONE), numeric(Unit.GAUSSIAN, 3, 0.0, 1.0)]))
    children = np.diff(whole.child_starts)
    assert children[whole.normals].tolist() == [0]
    units = whole.units.copy()
    units[-1] = Unit.NORMAL
    with pytest.raises(InvalidCircuitError, match=r"has children|not divided"):
        validate(replace(whole, units=units), [None] * 4)


def test_normals_are_smooth_and_decomposable():
    with pytest.raises(InvalidCircuitError, match="not decomposable"):
        validate(lower(product([normal(*ONE), numeric(Unit.GAUSSIAN, 2, 0.0, 1.0)])), [None] * 3)
    pair = normal(ONE[0][:2], ONE[1][:2, :2])
    with pytest.raises(InvalidCircuitError, match="not smooth"):
        validate(lower(mixture([normal(*ONE), pair], [math.log(0.5)] * 2)), [None] * 3)
    with pytest.raises(InvalidCircuitError, match="leaves out variable"):
        validate(lower(pair), [None] * 3)


# --- extreme values ---

EXTREME = [1e308, -1e308, 1.7e308, -1.7e308, 1e200, -1e-308, 0.0, 1e9, NAN]


def extreme_circuits():
    small, large = np.array([[1e-200, 0.0], [1e-200, 1e-202]]), np.array([[1e200, 0.0], [1e-200, 1e-200]])
    huge = np.array([[1e308, 0.0], [-1e308, 1e300]])
    for factor in (small, large, huge, np.array([[1.0, 0.0], [1.0, 1e-15]])):
        yield circuit_of(Normal(np.arange(2, dtype=np.int32), np.array([0.0, 1.0]), factor), "xx")
    parts = [Normal(np.arange(2, dtype=np.int32), np.zeros(2), factor) for factor in (np.eye(2), 1e3 * np.eye(2))]
    yield circuit_of(mixture(parts, [math.log(0.5)] * 2), "xx")


@pytest.mark.filterwarnings("error")
def test_extreme_values_are_never_not_a_number():
    rows = np.array(list(combinations(EXTREME, repeat=2)))
    for circuit in extreme_circuits():
        scores = circuit.score_samples(rows)
        assert not np.isnan(scores).any()
        possible = rows[scores > -INF]
        for how in ("mean", "mpe", "sample"):
            assert np.isfinite(circuit.impute(possible, how=how, random_state=0)).all()
        assert np.isfinite(circuit.sample(50, random_state=0)).all()
        for value in EXTREME[:-1]:
            for wanted in (value, Range(above=value), Range(at_most=value)):
                try:
                    given = circuit.condition({"x0": wanted})
                except ImpossibleEvidenceError:
                    continue
                validate(given.layout, [None, None])
                assert not np.isnan(given.score_samples(rows)).any()
                assert not math.isnan(given.expectation("x1"))
                assert not math.isnan(circuit.log_probability({"x0": Range(above=value), "x1": Range(below=value)}))


def test_units_of_any_size_are_scored_beside_missing_values():
    factor = np.array([[1e200, 0.0, 0.0], [1.0, 1e-200, 0.0], [1e-200, 1e-200, 1e-200]])
    circuit = circuit_of(Normal(np.arange(3, dtype=np.int32), np.zeros(3), factor))
    found = circuit.score_samples(np.array([[NAN, 1.0, NAN], [2e200, NAN, NAN], [NAN, NAN, 1e-200]]))
    expected = [stats.norm.logpdf(1.0), stats.norm.logpdf(2.0) - 200 * math.log(10)]
    expected.append(stats.norm.logpdf(1.0 / 3**0.5) - 0.5 * math.log(3) + 200 * math.log(10))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_far_evidence_is_understood(mixed):
    for value in (1e3, -1e5, 1e8):
        given = mixed.condition({"x0": value})
        _, means, _ = conditional(*ONE, [0], [value])  # the wider of both
        assert math.isclose(given.expectation("x1"), means[0], rel_tol=1e-9)
        filled = mixed.impute(np.array([[value, NAN, NAN]]), how="mean")
        np.testing.assert_allclose(filled[0, 1:], means, rtol=1e-9)
    for value in (60.0, 1e4):
        given = mixed.condition({"x0": Range(above=value)})
        assert value < given.expectation("x0") < value + 1.0
        expected = ONE[0][1] + 0.6 * (given.expectation("x0") - 1.0)
        assert math.isclose(given.expectation("x1"), expected, rel_tol=1e-6)


@pytest.mark.parametrize(
    "evidence",
    [
        {"x0": 0.5},
        {"x0": Range(above=0.2)},
        {"x1": Range(above=-1.0, below=2.0), "x2": 0.1},
        {"x0": Range(at_most=-1.0), "x3": 0.3},
    ],
)
def test_questions_given_evidence_are_those_of_the_circuit_given_it(evidence):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(300, 5))
    spn = SPN(min_rows=150, n_clusters=2).fit(table)
    circuit = spn.condition(evidence)
    assert circuit.layout.normals.size
    for name in ("x0", "x2", "x4"):
        event = {name: Range(above=0.4)}
        assert spn.probability(event, given=evidence) == pytest.approx(circuit.probability(event), rel=1e-6, abs=1e-9)
        assert spn.expectation(name, given=evidence) == pytest.approx(circuit.expectation(name), rel=1e-9, abs=1e-12)
        assert spn.variance(name, given=evidence) == pytest.approx(circuit.variance(name), rel=1e-6, abs=1e-12)
    both = {"x4": 1, "x1": 1}
    assert spn.moment(both, given=evidence) == pytest.approx(circuit.moment(both), rel=1e-3, abs=1e-3)
    assert list(spn.expectation(["x4", "x0"], given=evidence)) == ["x4", "x0"]


def test_impossible_evidence_is_named_where_columns_are_left_out():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 3))
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(k=rng.integers(0, 5, 200))
    spn = SPN().fit(frame)
    assert spn.circuit_.layout.normals.size
    for ask in (spn.expectation, spn.variance, lambda name, given: spn.probability({name: 1.0}, given=given)):
        with pytest.raises(ImpossibleEvidenceError, match=r"column 'k' holds whole numbers.* none is 2\.5"):
            ask("c", given={"k": 2.5})

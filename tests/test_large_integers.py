"""Integers that no double holds: as categories they stay what they are, as numbers they are refused."""

import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from command_line import run, run_json
from unlearnspn import SPN, Circuit, ImpossibleEvidenceError, InvalidEvidenceError, InvalidTableError, Range
from unlearnspn.tables import read_table, token
from unlearnspn.vault import Vault

BIG = 2**53
CODES = [BIG, BIG + 1, BIG + 2, -BIG - 1, 2**62 + 1]
HUGE = [10**30, 10**30 + 1, 10**400]
N = 40


def rows(codes):
    return [codes[i % len(codes)] for i in range(N)]


def with_gap(codes):
    return [*rows(codes)[:-1], None]


HOLDERS = {
    "pandas int64": lambda: pd.DataFrame({"code": rows(CODES)}),
    "pandas uint64": lambda: pd.DataFrame({"code": np.array(rows([BIG, BIG + 1, 2**64 - 1]), np.uint64)}),
    "pandas Int64": lambda: pd.DataFrame({"code": pd.array(with_gap(CODES), "Int64")}),
    "pandas Arrow": lambda: pd.DataFrame({"code": pd.array(with_gap(CODES), "int64[pyarrow]")}),
    "pandas category": lambda: pd.DataFrame({"code": pd.Categorical(with_gap(CODES))}),
    "pandas objects": lambda: pd.DataFrame({"code": pd.Series(with_gap(CODES + HUGE), dtype=object)}),
    "polars Int64": lambda: pl.DataFrame({"code": with_gap(CODES)}),
    "polars UInt64": lambda: pl.DataFrame({"code": pl.Series(with_gap([BIG + 1, 2**64 - 1]), dtype=pl.UInt64)}),
    "polars Int128": lambda: pl.DataFrame({"code": pl.Series(with_gap([BIG + 1, 10**30 + 1]), dtype=pl.Int128)}),
    "polars Decimal": lambda: pl.DataFrame(
        {"code": pl.Series([None if c is None else Decimal(c) for c in with_gap(CODES)], dtype=pl.Decimal(30, 2))}
    ),
    "arrow int64": lambda: pa.table({"code": with_gap(CODES)}),
    "arrow decimal": lambda: pa.table(
        {"code": pa.array([None if c is None else Decimal(c) for c in with_gap(CODES)], pa.decimal128(30, 2))}
    ),
    "array": lambda: np.array(rows(CODES)).reshape(-1, 1),
    "objects": lambda: np.array(with_gap(CODES + HUGE), object).reshape(-1, 1),
    "lists": lambda: [[code] for code in with_gap(CODES + HUGE)],
}


def column_of(table):
    values = read_table(table).columns[0].objects().tolist()
    return [None if value is None or value != value else int(value) for value in values]


@pytest.mark.parametrize("holder", HOLDERS)
def test_codes_are_categories_of_their_own(holder):
    table = HOLDERS[holder]()
    spn = SPN(categorical_features="all").fit(table)
    name = spn.circuit_.columns[0]
    wanted = column_of(table)
    present = {value for value in wanted if value is not None}
    assert set(spn.circuit_.categories(name)) == present
    assert {type(category) for category in spn.circuit_.categories(name)} == {int}
    for code in present:
        share = spn.probability({name: code})
        assert share == pytest.approx(wanted.count(code) / N, abs=0.03)
        assert spn.probability({name: Range(at_least=code, at_most=code)}) == share
    sample = spn.sample(200, random_state=1)
    assert set(column_of(sample)) == present
    scores = spn.score_samples(table)
    for code, score in zip(wanted, scores.tolist(), strict=True):
        assert score == (0.0 if code is None else pytest.approx(spn.log_probability({name: code})))


@pytest.mark.parametrize("holder", [name for name in HOLDERS if "decimal" not in name.lower()])
def test_types_hold_them_in_samples(holder):
    table = HOLDERS[holder]()
    sample = SPN(categorical_features="all").fit(table).sample(50, random_state=0)
    if isinstance(table, pd.DataFrame):
        assert sample.dtypes.tolist() == table.dtypes.tolist()
    elif isinstance(table, pl.DataFrame | pa.Table):
        assert sample.schema == table.schema
    elif isinstance(table, np.ndarray):
        assert sample.dtype == table.dtype


def test_codes_survive_files_pickles_and_requests(tmp_path):
    codes = CODES + HUGE
    table = pd.DataFrame({"code": pd.Series(rows(codes), dtype=object), "x": np.arange(N) % 7.0})
    make = lambda: SPN(categorical_features=["code"], min_rows=5)  # noqa: E731
    spn = make().fit(table)
    spn.save(tmp_path / "model")
    spn.circuit_.save(tmp_path / "circuit")
    for again in (SPN.load(tmp_path / "model"), pickle.loads(pickle.dumps(spn))):
        assert again.state_digest() == spn.state_digest()
        assert again.circuit_.categories("code") == sorted(codes)
    assert Circuit.load(tmp_path / "circuit").categories("code") == sorted(codes)
    assert json.loads(spn.circuit_.to_json())["columns"][0]["categories"] == sorted(codes)
    gone = [i for i in range(N) if table["code"][i] == BIG + 1]
    spn.unlearn(gone)
    assert BIG + 1 not in spn.circuit_.categories("code")
    kept = table.drop(index=gone)
    assert spn.state_digest() == make().fit(kept, ids=kept.index).state_digest()


def test_equal_numbers_are_one_category_however_they_are_held():
    values = [BIG, 2**60, 2**200, 1.5, 3]
    columns = [[[value] for value in values], [[float(value)] for value in values]]
    categories = [SPN(categorical_features=[0]).fit(column).circuit_.categories("x0") for column in columns]
    assert categories[0] == categories[1]
    assert list(map(type, categories[0])) == list(map(type, categories[1]))
    assert token(2**60) == token(2.0**60)
    assert token(2**60) != token(2**60 + 1)


@pytest.mark.parametrize("holder", [name for name in HOLDERS if name != "pandas category"])
def test_numeric_columns_that_would_lose_digits_are_refused(holder):
    table = HOLDERS[holder]()
    with pytest.raises(InvalidTableError, match=r"holds \d+.* in row \d.*round.*categorical_features"):
        SPN().fit(table)


@pytest.mark.parametrize("table", [[[1.0], [10**400]], pd.DataFrame({"x0": [1, -(10**400)]})])
def test_numbers_beyond_all_doubles_are_refused(table):
    with pytest.raises(InvalidTableError, match=r"'x0' holds -?1000.* would round to -?infinity"):
        SPN().fit(table)


def test_records_that_would_lose_digits_are_refused_and_change_nothing():
    spn = SPN().fit(pd.DataFrame({"a": [1, 2, BIG]}))
    before = spn.state_digest()
    more = pd.DataFrame({"a": [BIG + 1]})
    with pytest.raises(InvalidTableError, match=f"'a' holds {BIG + 1} in row 1"):
        spn.learn(more)
    with pytest.raises(InvalidTableError, match="round"):
        spn.rectify(more, ids=[1])
    assert spn.state_digest() == before
    assert spn.learn(pd.DataFrame({"a": [2**60]})).records_added == 1


def test_decimals_are_refused_only_if_they_lose_digits():
    cents = [[Decimal(number) / 100] for number in range(N)]
    assert SPN().fit(cents).expectation("x0") == pytest.approx(0.195)
    exact = Decimal("0.12345678901234567890")
    with pytest.raises(InvalidTableError, match=str(exact)):
        SPN().fit([*cents, [exact]])
    with pytest.raises(InvalidTableError, match="more digits"):
        SPN(categorical_features="all").fit([*cents, [exact]])


def test_infinite_and_endless_numbers_are_still_refused():
    for value in (float("inf"), Decimal("1e400"), Decimal("Infinity")):
        for features in (None, "all"):
            with pytest.raises(InvalidTableError, match=r"infinite|too large|inf"):
                SPN(categorical_features=features).fit([[1], [value]])


def test_times_in_whole_nanoseconds_are_evidence_by_their_density():
    """Doubles lie 256 apart here, and none is nearer to a value than the next value is."""
    rng = np.random.default_rng(0)
    hours = rng.poisson(5, 300)
    table = pd.DataFrame({"at": (1_700_000_000 + 3600 * hours) * 10**9, "x": hours + rng.normal(size=300)})
    model = SPN(min_rows=50).fit(table)
    seen, continuous = int(table["at"][0]), SPN(min_rows=50).fit(table.astype(float))
    assert model.expectation("x", given={"at": seen}) == continuous.expectation("x", given={"at": float(seen)})
    assert model.sample(3, given={"at": seen}, random_state=0)["at"].tolist() == [seen] * 3
    assert model.probability({"at": seen}) == continuous.probability({"at": float(seen)}) == 0.0
    assert 0.0 < model.probability({"at": Range(at_least=seen)}) < 1.0


@pytest.mark.parametrize("leaf", ["gaussian", "histogram"])
@pytest.mark.parametrize("start", [2**45, 2**51])
def test_probabilities_and_moments_of_large_whole_numbers_are_those_of_small_ones(leaf, start):
    counts = np.random.default_rng(0).poisson(5, 300)
    table = pd.DataFrame({"k": start + counts})
    model = SPN(leaves={"k": leaf}, factorization="naive").fit(table)
    probabilities = {count: model.probability({"k": start + count}) for count in range(-30, 40)}
    assert sum(probabilities.values()) == pytest.approx(1.0, abs=1e-6)
    of_some = model.probability({"k": Range(at_least=start + 2, at_most=start + 7)})
    assert of_some == pytest.approx(sum(probabilities[count] for count in range(2, 8)))
    mean = sum(count * probability for count, probability in probabilities.items())
    assert model.expectation("k") - start == pytest.approx(mean, abs=0.6)
    assert model.variance("k") == pytest.approx(counts.var(), rel=0.2)


@pytest.mark.parametrize("leaf", ["gaussian", "exponential", "histogram", "poisson"])
@pytest.mark.filterwarnings("error")
def test_evidence_may_be_as_far_away_as_the_type_reaches(leaf):
    rng = np.random.default_rng(0)
    counts = rng.poisson(5, 300)
    model = SPN(min_rows=50, leaves={"k": leaf}).fit(pd.DataFrame({"k": counts, "x": counts + rng.normal(size=300)}))
    for value in (2**51 + 1, 2**52, 2**53 + 1, 2**60, 2**63 - 1, 2**63):
        assert model.probability({"k": value}) == 0.0
        assert -5.0 < model.expectation("x", given={"k": value}) < 20.0
        assert model.expectation("k", given={"k": value}) == pytest.approx(value, rel=1e-12)
        assert -5.0 < model.expectation("x", given={"k": Range(at_least=value)}) < 20.0
        assert model.probability({"x": Range(above=0)}, given={"k": Range(below=value)}) > 0.9
    for value in (2**64, 2**70, -(2**63)):
        assert model.probability({"k": value}) == 0.0
        with pytest.raises(ImpossibleEvidenceError, match="column 'k' holds whole numbers from 0 on, and none is"):
            model.expectation("x", given={"k": value})
    with pytest.raises(InvalidEvidenceError, match="column 'k' cannot be 1000"):
        model.probability({"k": 10**400})
    assert model.probability({"k": Range(below=10**400)}) == 1.0


def test_a_far_category_has_no_mean_but_a_probability():
    spn = SPN(categorical_features="all").fit([[1], [10**400]])
    assert spn.probability({"x0": 10**400}) == pytest.approx(0.5, abs=0.01)
    with pytest.raises(ValueError, match="too large"):
        spn.expectation("x0")


# -- sources and vaults ----------------------------------------------------------------------------------------------


def write_source(path):
    lines = [(i + BIG, code) for i, code in enumerate(rows(CODES))]
    if path.suffix == ".csv":
        path.write_text("id,code,x\n" + "".join(f"{i},{code},{i % 7}\n" for i, code in lines))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"id": i, "code": c, "x": i % 7}) + "\n" for i, c in lines))
    else:
        ids, codes = zip(*lines, strict=True)
        pl.DataFrame({"id": ids, "code": codes, "x": [i % 7 for i in ids]}).write_parquet(path)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_codes_go_through_sources_and_the_vault(tmp_path, suffix):
    source, path = tmp_path / f"people{suffix}", str(tmp_path / "people.uspn")
    write_source(source)
    run("init", path)
    run("ingest", path, str(source), "--id", "id")
    assert "'code' holds" in run("fit", path, code=4).stderr
    run("fit", path, "--set", 'categorical_features=["code"]')
    assert run_json("ingest", path, str(source))["skipped"] == N
    with Vault.open(path, write=True) as vault:
        assert vault.circuit_.categories("code") == sorted(CODES)
        vault.unlearn([str(BIG + 1)])
        assert vault.verify()
    with Vault.open(path) as vault:
        assert vault.info().n_records == N - 1
        assert vault.circuit_.categories("code") == sorted(CODES)
        wanted = vault.probability({"code": BIG + 1})
    assert run_json("query", path, f"code = {BIG + 1}")["probability"] == pytest.approx(wanted)
    drawn = run("sample", path, "-n", "60").stdout.splitlines()[1:]
    assert {line.split(",")[0] for line in drawn} == set(map(str, CODES))


def test_a_vault_keeps_codes_before_there_is_a_model(tmp_path):
    table = pd.DataFrame({"id": np.arange(N) + BIG, "code": pd.Series(with_gap(CODES + HUGE), dtype=object)})
    with Vault.create(tmp_path / "v.uspn") as vault:
        vault.ingest(table, ids="id")
        assert vault.ingest(table).skipped == N
    with Vault.open(tmp_path / "v.uspn", write=True) as vault:
        vault.unlearn([BIG + 1])
        vault.fit(categorical_features="all")
        assert vault.info().n_records == N - 1
        assert set(vault.circuit_.categories("code")) == set(CODES + HUGE)
        more = pd.DataFrame({"id": [BIG + 1], "code": [BIG + 3]})
        vault.ingest(more)
        assert BIG + 3 in vault.circuit_.categories("code")
        assert vault.verify()

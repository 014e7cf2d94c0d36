"""Dates, times of day and durations: numbers to the model, and to people what they were."""

import datetime as dt
import sqlite3
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from command_line import run, run_json
from unlearnspn import (
    SPN,
    Circuit,
    InvalidEvidenceError,
    InvalidTableError,
    Range,
    SPNClassifier,
    SPNEnsemble,
    SPNImputer,
    TextDatesWarning,
    plots,
)
from unlearnspn.tables import Family, read_table
from unlearnspn.tables.origins import CellType
from unlearnspn.tables.times import read_text
from unlearnspn.tables.writing import Times, write_table
from unlearnspn.vault import Vault

N = 200
ZONE = "Europe/Berlin"
_R = np.random.default_rng(0)
#: To the second, so that every resolution holds them.
SECONDS = np.datetime64("2024-03-01T12:00:00", "s") + (_R.normal(size=N) * 20 * 86_400).astype("m8[s]")
DAYS = SECONDS.astype("M8[D]")
WAITS = (600 * _R.exponential(size=N)).astype("m8[s]")
CLOCK = [dt.time(int(hour), int(minute), 15) for hour, minute in _R.integers(0, (24, 60), (N, 2))]
X = _R.normal(size=N)
#: What is missing, without a unit: `np.datetime64("NaT")` and its like, which NumPy 2.5 deprecates.
NO_DATE, NO_DURATION = (np.array([np.iinfo(np.int64).min]).view(kind)[0] for kind in ("M8", "m8"))


def objects(kind):
    stamps = SECONDS.astype("M8[us]").tolist()
    zoned = [stamp.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(ZONE)) for stamp in stamps]
    columns = {"at": stamps, "when": zoned, "day": DAYS.tolist(), "wait": WAITS.astype("m8[us]").tolist()}
    columns |= {"clock": CLOCK, "x": X.tolist()}
    if kind == "lists":
        return [list(row) for row in zip(*columns.values(), strict=True)]
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}).astype(
        {"x": float}
    )


def in_pandas(unit):
    at = pd.Series(SECONDS.astype(f"M8[{unit}]"))
    return pd.DataFrame(
        {
            "at": at,
            "when": at.dt.tz_localize("UTC").dt.tz_convert(ZONE),
            "day": pd.Series(DAYS.tolist(), dtype=object),
            "wait": WAITS.astype(f"m8[{unit}]"),
            "clock": pd.Series(CLOCK, dtype=object),
            "x": X,
        }
    )


def in_polars(unit):
    at = pl.Series(SECONDS.astype(f"M8[{unit}]"))
    return pl.DataFrame(
        {
            "at": at,
            "when": at.dt.replace_time_zone("UTC").dt.convert_time_zone(ZONE),
            "day": pl.Series(DAYS.tolist()),
            "wait": WAITS.astype(f"m8[{unit}]"),
            "clock": CLOCK,
            "x": X,
        }
    )


def in_arrow(unit):
    ticks = pa.array(SECONDS.astype(f"M8[{unit}]").astype(np.int64))
    clock = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return pa.table(
        {
            "at": ticks.cast(pa.timestamp(unit)),
            "when": ticks.cast(pa.timestamp(unit, ZONE)),
            "day": pa.array(DAYS.tolist(), pa.date64() if unit == "ms" else pa.date32()),
            "wait": pa.array(WAITS.astype(f"m8[{unit}]")),
            "clock": pa.array(CLOCK, pa.time64("us")).cast(clock),
            "x": X,
        }
    )


TABLES = {
    **{f"pandas {unit}": lambda unit=unit: in_pandas(unit) for unit in ("s", "ms", "us", "ns")},
    **{f"polars {unit}": lambda unit=unit: in_polars(unit) for unit in ("ms", "us", "ns")},
    **{f"arrow {unit}": lambda unit=unit: in_arrow(unit) for unit in ("s", "ms", "us", "ns")},
    "pandas of arrow": lambda: in_arrow("us").to_pandas(types_mapper=pd.ArrowDtype),
    "pandas objects": lambda: objects("pandas"),
    "lists": lambda: objects("lists"),
}


def types(table):
    if isinstance(table, pd.DataFrame):
        first = [
            type(value) if str(kind) == "object" else None
            for value, kind in zip(table.iloc[0], table.dtypes, strict=True)
        ]
        return list(zip(table.dtypes, first, strict=True))
    if isinstance(table, pl.DataFrame | pa.Table):
        return table.schema
    return [type(value) for value in table[0]]


def blanked(table):
    """Return the table with every third row missing in all columns but the last."""
    gone = np.arange(N) % 3 == 0
    if isinstance(table, pd.DataFrame):
        return table.assign(**{name: table[name].mask(gone) for name in table.columns[:-1]})
    if isinstance(table, pl.DataFrame):
        return table.with_columns(
            pl.when(pl.Series(~gone)).then(pl.col(name)).alias(name) for name in table.columns[:-1]
        )
    if isinstance(table, pa.Table):
        lists = [[None if g else v for g, v in zip(gone, c.to_pylist(), strict=True)] for c in table.columns[:-1]]
        columns = [pa.array(values, kind) for values, kind in zip(lists, table.schema.types, strict=False)]
        return pa.table([*columns, table.column(5)], schema=table.schema)
    return [[None] * 5 + row[5:] if g else row for g, row in zip(gone, table, strict=True)]


def first_values(table):
    """Return the values of the first rows as Python has them, whatever the library."""
    if isinstance(table, pd.DataFrame):
        rows = table.head(4).astype(object).to_numpy().tolist()
        return [
            [getattr(v, "to_pydatetime", getattr(v, "to_pytimedelta", lambda v=v: v))() for v in row] for row in rows
        ]
    if isinstance(table, pa.Table):
        return [list(row.values()) for row in table.slice(0, 4).to_pylist()]
    return [list(row) for row in (table.head(4).rows() if isinstance(table, pl.DataFrame) else table[:4])]


@pytest.fixture(scope="module")
def expected():
    return SPN(min_rows=50).fit(in_polars("us"))


@pytest.mark.parametrize("name", TABLES)
def test_the_same_instants_give_the_same_model_and_come_back_in_their_type(name, expected, tmp_path):
    table = TABLES[name]()
    model = SPN(min_rows=50).fit(table)
    same = in_polars("us")
    if name == "lists":
        same.columns = [f"x{number}" for number in range(6)]
        expected = SPN(min_rows=50).fit(same)
    assert (model.digest(), model.state_digest()) == (expected.digest(), expected.state_digest())
    assert model.score_samples(table).tobytes() == expected.score_samples(same).tobytes()
    model.circuit_.save(tmp_path / "circuit")
    model.save(tmp_path / "model")
    for asked in (model, Circuit.load(tmp_path / "circuit"), SPN.load(tmp_path / "model")):
        drawn = asked.sample(20, random_state=0)
        assert types(drawn) == types(table)
        columns = read_table(drawn).columns
        assert np.abs(columns[0].numbers() - columns[0].numbers().mean()).max() < 200 * 86_400
        assert (np.mod(columns[2].numbers(), 86_400) == 0.0).all()
        assert (columns[3].numbers() >= 0.0).all()
        assert ((columns[4].numbers() >= 0.0) & (columns[4].numbers() < 86_400)).all()


@pytest.mark.parametrize("name", TABLES)
def test_missing_ones_are_learned_and_filled_in(name):
    table, holes = TABLES[name](), blanked(TABLES[name]())
    model = SPN(min_rows=50).fit(holes)
    assert model.verify()
    if name != "lists":
        assert model.digest() == SPN(min_rows=50).fit(blanked(in_polars("us"))).digest()
    for how in ("mean", "sample", "mpe"):
        filled = model.impute(holes, how=how, random_state=0)
        assert types(filled) == types(table)
        assert not any(column.missing().any() for column in read_table(filled).columns)
    values, before = first_values(filled), first_values(table)
    assert [row[:5] for row in values[1:3]] == [row[:5] for row in before[1:3]]


def test_arrays_of_dates_masked_or_not():
    array = np.stack([SECONDS, SECONDS + WAITS], axis=1)
    for unit in ("s", "ms", "us", "ns"):
        model = SPN(min_rows=50).fit(array.astype(f"M8[{unit}]"))
        assert model.digest() == SPN(min_rows=50).fit(array).digest()
        assert model.sample(3, random_state=0).dtype == np.dtype(f"M8[{unit}]")
    holes = array.copy()
    holes[::3, 0] = "NaT"
    masked = np.ma.array(array, mask=np.isnat(holes))
    assert SPN(min_rows=50).fit(masked).digest() == SPN(min_rows=50).fit(holes).digest()
    assert not np.isnat(SPNImputer(min_rows=50).fit(array).transform(holes)).any()
    durations = np.stack([WAITS, 2 * WAITS], axis=1)
    assert SPN(min_rows=50).fit(durations).sample(3, random_state=0).dtype == np.dtype("m8[s]")


def test_questions_speak_of_dates(expected):
    noon = dt.datetime(2024, 3, 1, 12)
    later = expected.probability({"at": Range(at_least=noon)})
    assert later == pytest.approx(np.mean(np.datetime64(noon) <= SECONDS), abs=0.05)
    for same in ("2024-03-01T12:00", "2024-03-01 12:00:00", np.datetime64(noon), pd.Timestamp(noon)):
        assert expected.probability({"at": Range(at_least=same)}) == later
    zoned = noon.replace(tzinfo=dt.UTC)
    berlin = expected.probability({"when": Range(at_least=zoned.astimezone(ZoneInfo(ZONE)))})
    assert berlin == expected.probability({"when": Range(at_least="2024-03-01T12:00Z")})
    assert berlin == expected.probability({"when": Range(at_least="2024-03-01T13:00:00+01:00")})
    assert 0.3 < expected.probability({"wait": Range(below=dt.timedelta(minutes=7))}) < 0.7
    assert expected.probability({"wait": Range(below="PT7M")}) == expected.probability(
        {"wait": Range(below=np.timedelta64(7, "m"))}
    )
    assert expected.probability({"clock": Range(at_least=dt.time(0))}) == pytest.approx(1.0)
    assert 0.3 < expected.probability({"clock": Range(below="12:00")}) < 0.7
    given_later = expected.expectation("at", given={"at": Range(at_least=noon)})
    assert noon < given_later < noon + dt.timedelta(days=60)


def test_means_are_dates_and_durations(expected):
    means = expected.expectation(["at", "when", "day", "wait", "clock"])
    drawn = expected.sample(20_000, random_state=0, within_span=False)
    assert abs(means["at"] - drawn["at"].mean()) < dt.timedelta(days=1)
    assert means["when"].utcoffset() is not None
    assert abs(means["when"] - means["at"].replace(tzinfo=dt.UTC)) < dt.timedelta(days=1)
    assert abs(means["day"] - means["at"]) < dt.timedelta(days=1)
    assert abs(means["wait"] - drawn["wait"].mean()) < dt.timedelta(seconds=30)
    clock = drawn["clock"].cast(pl.Int64).mean() / 1e9
    asked = means["clock"]
    assert abs(asked.hour * 3600 + asked.minute * 60 - clock) < 900
    assert expected.variance("at") == pytest.approx(drawn["at"].cast(pl.Int64).var() / 1e12, rel=0.1)


def test_a_date_is_a_day(expected):
    days = [dt.date(2023, 11, 1) + dt.timedelta(days=number) for number in range(300)]
    masses = [expected.probability({"day": day}) for day in days]
    assert sum(masses) == pytest.approx(1.0, abs=1e-3)
    drawn = expected.sample(20_000, random_state=0)["day"]
    march = (drawn >= dt.date(2024, 3, 1)) & (drawn <= dt.date(2024, 3, 31))
    asked = expected.probability({"day": Range(at_least="2024-03-01", at_most="2024-03-31")})
    assert asked == pytest.approx(march.mean(), abs=0.02)
    assert expected.sample(5, given={"day": "2024-03-05"}, random_state=0)["day"].to_list() == [dt.date(2024, 3, 5)] * 5
    # With a time, a date is all of its day.
    day = expected.probability({"at": dt.date(2024, 3, 5)})
    assert day == expected.probability({"at": Range(at_least="2024-03-05", below="2024-03-06")}) > 0.0
    assert expected.probability({"at": dt.datetime(2024, 3, 5)}) == 0.0


def test_a_date_with_a_time_counts_only_while_it_is_there():
    table = pl.DataFrame({"day": DAYS.tolist(), "x": X})
    for estimator in (SPN(min_rows=50), SPNEnsemble(n_members=3, subsample=0.7, min_rows=50)):
        model = estimator.fit(table)
        before, day = model.probability({"day": "2024-03-05"}), model.digest()
        model.learn(pl.DataFrame({"day": [dt.datetime(2024, 3, 5, 17)], "x": [0.0]}), ids=[N])
        assert model.sample(5, random_state=0).schema["day"] == pl.Datetime("us")
        model.unlearn([N])
        assert model.digest() == day
        assert model.probability({"day": "2024-03-05"}) == before
        assert model.sample(5, random_state=0).schema == table.schema


def test_durations_are_negative_only_where_a_record_is():
    table = pl.DataFrame({"wait": WAITS.astype("m8[us]"), "x": X})
    model = SPN(min_rows=50).fit(table)
    assert model.probability({"wait": Range(below="PT0S")}) == 0.0
    drawn = model.sample(20_000, random_state=0)["wait"]
    assert drawn.min() == dt.timedelta(0)
    assert model.probability({"wait": dt.timedelta(0)}) == pytest.approx((drawn == dt.timedelta(0)).mean(), abs=0.02)
    assert abs(model.expectation("wait") - drawn.mean()) < dt.timedelta(seconds=30)
    model.learn(pl.DataFrame({"wait": [dt.timedelta(seconds=-90)], "x": [0.0]}), ids=[N])
    assert model.probability({"wait": Range(below="PT0S")}) > 0.0
    model.unlearn([N])
    assert model.probability({"wait": Range(below="PT0S")}) == 0.0


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"at": 5.0}, "'at' holds date values: 5.0 is no date, such as 2024-02-29"),
        ({"at": "yesterday"}, "'at' holds date values"),
        ({"at": "2024-02-30"}, "day is out of range"),
        ({"at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}, "'at' holds date values"),
        ({"when": dt.datetime(2024, 1, 1)}, "'when' holds instant values.*2024-02-29T12:30:00Z"),
        ({"when": Range(above="2024-01-01")}, "'when' holds instant values"),
        ({"wait": Range(above=5)}, "'wait' holds duration values"),
        ({"clock": dt.timedelta(1)}, "'clock' holds time of day values"),
        ({"x": dt.date(2024, 1, 1)}, "'x' is numeric"),
        ({"x": Range(above="2024-01-01")}, "'x' holds number values"),
    ],
)
def test_evidence_of_another_kind_is_refused(expected, evidence, message):
    with pytest.raises(InvalidEvidenceError, match=message):
        expected.probability(evidence)


def test_missing_evidence_constrains_nothing_and_ranges_of_categories_need_numbers(expected):
    for missing in (None, pd.NaT, NO_DATE):
        assert expected.probability({"at": missing}) == 1.0
    codes = SPN(categorical_features="all").fit([[1], [2], [3]])
    with pytest.raises(InvalidEvidenceError, match="'2024-01-01' is no number"):
        codes.probability({"x0": Range(above="2024-01-01")})


def test_ranges_that_cannot_be_are_refused():
    for bounds in ({"above": "soon"}, {"at_least": dt.date(2024, 1, 1), "below": 5}, {"above": pd.NaT}):
        with pytest.raises(InvalidEvidenceError):
            Range(**bounds)
    with pytest.raises(InvalidEvidenceError, match="is empty"):
        Range(at_least="2024-01-02", below="2024-01-01")


def test_tables_of_another_kind_are_refused(expected):
    table = in_polars("us")
    with pytest.raises(InvalidTableError, match="'at' held date values at fit and now holds number values"):
        expected.score_samples(table.with_columns(at=pl.lit(5.0)))
    with pytest.raises(InvalidTableError, match="'when' held instant values at fit and now holds date values"):
        expected.score_samples(table.with_columns(when=pl.col("at")))


def test_what_numbers_cannot_tell_apart_is_refused():
    fine = pd.DataFrame({"at": pd.to_datetime(["2024-01-01T00:00:00.123456789"])})
    with pytest.raises(InvalidTableError, match=r"'at' holds 2024-01-01T00:00:00\.123456789 in row 1.*microseconds"):
        SPN().fit(fine)
    short = pd.DataFrame({"wait": pd.to_timedelta([1, 123_456_789_012_345], unit="ns")})
    assert SPN().fit(short).n_records_ == 2
    far = pd.DataFrame({"at": pd.Series(["0001-01-01", "9999-12-31"], dtype="datetime64[s]")})
    assert SPN().fit(far).n_records_ == 2


def test_dates_are_never_categories_unasked():
    table = pd.DataFrame({"at": SECONDS})
    for chosen in ("all", ["at"]):
        with pytest.raises(InvalidTableError, match="'at' holds date values, which are modelled as numbers"):
            SPN(categorical_features=chosen).fit(table)
    with pytest.raises(InvalidTableError, match="'x0' mixes kinds of values"):
        SPN().fit([[dt.date(2024, 1, 1)], [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], ["soon"]][:2] * 3)
    with pytest.raises(InvalidTableError, match="y holds date values"):
        SPNClassifier().fit(X[:, None], SECONDS)
    for texts in (np.datetime_as_string(DAYS), [day.strftime("%d.%m.%Y") for day in DAYS.tolist()]):
        with pytest.warns(TextDatesWarning, match="'at' holds dates or times as texts"):
            SPN().fit(pd.DataFrame({"at": texts[:20]}))


@pytest.mark.filterwarnings("error::unlearnspn.TextDatesWarning")
def test_dates_as_texts_are_categories_where_somebody_says_so():
    table = pd.DataFrame({"at": np.datetime_as_string(DAYS[:20])})
    assert SPN(categorical_features=["at"]).fit(table).circuit_.categories("at")


def test_pictures_show_dates():
    pytest.importorskip("matplotlib").use("Agg")
    table = in_pandas("us")
    model = SPN(min_rows=50).fit(table)
    chart = plots.plot_marginal(model, "at", data=table)
    chart.figure.canvas.draw()
    assert any(label.get_text().startswith("2024-0") for label in chart.get_xticklabels())
    chart = plots.plot_joint(model, "at", "wait", data=table)
    chart.figure.canvas.draw()
    assert any(label.get_text().startswith("2024-0") for label in chart.get_xticklabels())


# -- files, databases and commands -----------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "id": [f"c{number}" for number in range(N)],
        "at": np.datetime_as_string(SECONDS),
        "when": [f"{text}Z" for text in np.datetime_as_string(SECONDS).tolist()],
        "day": np.datetime_as_string(DAYS),
        "wait": [f"PT{seconds}S" for seconds in WAITS.astype(int).tolist()],
        "clock": [clock.isoformat() for clock in CLOCK],
        "x": X,
    }
)
FAMILIES = {"at": "date", "when": "instant", "day": "date", "wait": "duration", "clock": "time of day", "x": "number"}


def csv(path):
    FRAME.to_csv(path / "people.csv", index=False)
    return [str(path / "people.csv")]


def json_lines(path):
    FRAME.to_json(path / "people.jsonl", orient="records", lines=True, double_precision=15)
    return [str(path / "people.jsonl")]


def parquet(path):
    table = in_arrow("us")
    pyarrow.parquet.write_table(table.add_column(0, "id", pa.array(FRAME["id"])), path / "people.parquet")
    return [str(path / "people.parquet")]


def sqlite(path):
    with sqlite3.connect(path / "people.db") as connection:
        FRAME.to_sql("people", connection, index=False)
    connection.close()
    return [f"sqlite:///{path / 'people.db'}", "--table", "people"]


def duck(path):
    table = in_arrow("us").add_column(0, "id", pa.array(FRAME["id"]))
    with duckdb.connect(path / "people.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return [str(path / "people.duckdb"), "--table", "people"]


@pytest.mark.parametrize("source", [csv, json_lines, parquet, sqlite, duck])
def test_sources_with_dates_go_into_vaults_and_come_out_of_commands(source, tmp_path):
    alike = SPN(min_rows=50).fit(in_polars("us"), ids=FRAME["id"].tolist())
    vault, arguments = str(tmp_path / "people.uspn"), source(tmp_path)
    run("init", vault)
    told = run_json("ingest", vault, *arguments, "--id", "id")
    assert told["columns"] == FAMILIES
    run("fit", vault, "--set", "min_rows=50")
    with Vault.open(vault) as opened:
        assert opened.circuit_.probability({"at": Range(below="2024-03-01")}) == pytest.approx(
            alike.probability({"at": Range(below="2024-03-01")}), rel=1e-6
        )
    row = run_json("sample", vault, "-n", "1", "--seed", "0")["rows"][0]
    assert dt.datetime.fromisoformat(row["at"])
    assert len(row["day"]) == 10
    assert row["wait"].startswith("P")
    assert dt.datetime.fromisoformat(row["when"]).tzinfo
    assert dt.time.fromisoformat(row["clock"])
    answer = run_json("query", vault, "day >= 2024-03-01", "--given", "at < 2024-03-20", "--expect", "wait")
    assert 0.0 < answer["probability"] < 1.0
    assert answer["mean of wait"].startswith("PT")
    held = run_json("access", vault, "--id", "c7")["records"][0]
    assert held["day"] == FRAME["day"][7]
    assert held["at"] == FRAME["at"][7]
    assert run_json("verify", vault)
    (tmp_path / "holes.csv").write_text("id,at,when,day,wait,clock,x\nc0,,,,,,1.5\n")
    filled = run_json("impute", vault, str(tmp_path / "holes.csv"))["rows"][0]
    assert len(filled["day"]) == 10
    assert filled["at"].startswith("202")
    assert filled["x"] == 1.5
    assert run_json("score", vault, *arguments)["rows"][0]["id"] == "c0"
    (tmp_path / "bad.csv").write_text("id,at,when,day,wait,clock,x\nn,2024-13-01,,,,,1.5\n")
    message = run("learn", vault, str(tmp_path / "bad.csv"), code=4).stderr
    assert "column 'at' holds '2024-13-01' in row 1, which is no date such as 2024-02-29" in message


# -- objects -----------------------------------------------------------------------------------------------------------

IN_OBJECTS = {
    "dates of numpy": [np.datetime64("2024-01-01"), np.datetime64("2024-01-03"), NO_DATE],
    "durations of numpy": [np.timedelta64(3, "h"), np.timedelta64(90, "s"), NO_DURATION],
    "dates of pandas": [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-03 12:00"), pd.NaT],
    "decimals": [Decimal("1.5"), Decimal("2.5"), Decimal("NaN")],
}


@pytest.mark.parametrize("name", IN_OBJECTS)
def test_what_is_missing_hides_no_value_wherever_it_stands(name):
    values = IN_OBJECTS[name]
    first, last = ([values[place] for place in order] for order in ((2, 0, 1), (0, 1, 2)))
    one, other = (read_table(pd.DataFrame({"a": pd.Series(each, dtype=object)})).columns[0] for each in (first, last))
    assert one.family is other.family
    assert one.numbers().tolist()[1:] == other.numbers().tolist()[:2]
    assert not np.isnan(other.numbers()[:2]).any()
    orders = ((first, [2, 0, 1]), (last, [0, 1, 2]))
    digests = {SPN().fit(pd.DataFrame({"a": pd.Series(each, dtype=object)}), ids=ids).digest() for each, ids in orders}
    assert len(digests) == 1


@pytest.mark.parametrize("zoned_first", [False, True])
def test_dates_with_and_without_a_time_zone_are_not_mixed(zoned_first):
    values = [[dt.datetime(2024, 1, 1)], [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]]
    with pytest.raises(InvalidTableError, match="column 'x0' mixes kinds of values"):
        SPN().fit(values[::-1] if zoned_first else values)


TOO_FINE = {
    "far dates": dt.datetime(9000, 1, 1, microsecond=1),
    "long durations": dt.timedelta(days=365 * 400, microseconds=1),
    "the longest duration": dt.timedelta.max,
    "nanoseconds": np.datetime64("2024-01-01T01:00:00.000000001"),
}


@pytest.mark.parametrize("name", TOO_FINE)
def test_objects_that_are_finer_than_can_be_told_are_refused_by_column_and_row(name):
    usual = dt.timedelta(1) if isinstance(TOO_FINE[name], dt.timedelta) else dt.datetime(2024, 1, 1)
    with pytest.raises(InvalidTableError, match=r"column 'a' holds .* in row 2, which is finer than"):
        SPN().fit(pd.DataFrame({"a": pd.Series([usual, TOO_FINE[name]], dtype=object)}))


def test_months_in_objects_are_refused_by_the_name_of_the_column():
    months = pd.Series([np.datetime64("2024-01", "M"), np.datetime64("2024-02", "M")], dtype=object)
    with pytest.raises(InvalidTableError, match=r"column 'a' has type .*: convert it to one of days, seconds or finer"):
        SPN().fit(pd.DataFrame({"a": months}))


def test_no_part_of_a_second_that_is_written_is_cut_off():
    assert read_text("12:30:00.123456789", Family.TIME) == 45000.123456789
    assert read_text("2024-01-01T00:00:00.123456000", Family.DATE) == read_text(
        "2024-01-01T00:00:00.123456", Family.DATE
    )
    with pytest.raises(ValueError, match="finer than numbers of its size can tell"):
        read_text("2024-01-01T00:00:00.123456789", Family.DATE)


NANOSECONDS = [45_296_123_456_789, None, 1, 0, 86_399_999_999_999]
IN_NANOSECONDS = pa.array(NANOSECONDS, pa.time64("ns"))
CLOCKS = {
    "arrow": lambda: pa.table({"a": IN_NANOSECONDS}),
    "polars": lambda: pl.DataFrame({"a": pl.Series(NANOSECONDS).cast(pl.Time)}),
    "pandas with Arrow": lambda: pd.DataFrame({"a": pd.Series(IN_NANOSECONDS, dtype=pd.ArrowDtype(pa.time64("ns")))}),
    "duckdb": lambda: duckdb.from_arrow(pa.table({"a": IN_NANOSECONDS})),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_nanoseconds_of_times_of_day_are_kept(name):
    table = read_table(CLOCKS[name]())
    texts = ("12:34:56.123456789", "00:00:00.000000001", "00:00", "23:59:59.999999999")
    known = [read_text(text, Family.TIME) for text in texts]
    np.testing.assert_array_equal(table.columns[0].numbers(), [known[0], np.nan, *known[1:]])
    back = write_table(table.origin, ["a"], [Times(table.columns[0].numbers(), CellType("time", ("us",)))])
    assert pa.table(back)["a"].cast("int64").to_pylist() == NANOSECONDS


def test_a_column_of_times_of_day_may_be_empty():
    assert read_table(pa.table({"a": pa.nulls(3, pa.time64("ns"))})).columns[0].family is Family.EMPTY

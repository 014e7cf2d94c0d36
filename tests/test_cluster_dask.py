"""Tables of Dask, on a cluster of this process and on one of processes: the same models, the same errors."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.datasets import load_iris, load_wine

from command_line import run, run_json
from sequences import sequences
from shards import cut
from test_cluster_exactness import Case, assert_like_local, examples
from unlearnspn import RDC, SPN, SPNClassifier, SPNEnsemble
from unlearnspn.errors import InvalidTableError, NotOnAClusterError, RecordIdError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="inproc://"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def people(n=400, seed=0):
    """A table with numbers, dates, texts, flags, and what is missing here and there."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    table = pd.DataFrame(
        {
            "customer": [f"c-{number}" for number in rng.permutation(n)],
            "age": rng.normal(30 + 10 * group, 5).round(),
            "income": np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(group, 0.5))),
            "visits": rng.poisson(group + 1),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "town": pd.array(rng.choice(["Ulm", "Bonn", "Köln"], n), dtype="string[pyarrow]"),
            "kind": pd.Categorical(np.where(group > 1, "new", "old")),
            "member": rng.random(n) < 0.2 + 0.2 * group,
        }
    )
    table.loc[rng.random(n) < 0.05, "town"] = None
    return table


def assert_same(one, other):
    assert one.digest() == other.digest()
    assert one.state_digest() == other.state_digest()
    assert one.circuit_ == other.circuit_


@pytest.mark.parametrize("n_partitions", [1, 5, 17])
def test_a_model_is_the_one_learned_locally(client, n_partitions):
    table = people()
    cut = dd.from_pandas(table.sample(frac=1, random_state=n_partitions), npartitions=n_partitions, sort=False)
    spn, local = SPN(min_rows=40).fit(cut, ids="customer"), SPN(min_rows=40).fit(table, ids="customer")
    assert_same(spn, local)
    more = people(5, 9).assign(customer=[f"n-{number}" for number in range(5)])
    for request in (
        lambda each: each.unlearn(["c-7"]),
        lambda each: each.unlearn([f"c-{number}" for number in range(20, 60)]),
        lambda each: each.learn(more),
        lambda each: each.rectify(more.assign(age=99.0)),
        lambda each: each.unlearn(["c-8", "nobody"], missing="ignore"),
        lambda each: each.rectify(dd.from_pandas(more.assign(visits=3), npartitions=2)),
        lambda each: each.unlearn(dd.from_pandas(more, npartitions=2)["customer"]),
        lambda each: each.learn(dd.from_pandas(more, npartitions=2)),
        lambda each: each.unlearn(["c-9"], dry_run=True),
    ):
        assert request(spn).state_digest_after == request(local).state_digest_after
        assert_same(spn, local)
    assert spn.verify()
    assert (spn.n_records_, spn.ids_) == (local.n_records_, local.ids_)


class OnDask(Case):
    """Rows in a table of Dask, some of whose partitions may be empty."""

    def shared(self, X, ids, rng):
        table = self.frame(X).assign(id=ids)
        parts = [table.iloc[places] for places in cut(len(X), rng.integers(1, 8), rng)]
        return self.estimator().fit(cut_frames(*parts), ids="id")


@examples(15)
@given(sequence=sequences())
def test_sequences(client, sequence):
    with dask.config.set({"dataframe.convert-string": False}):  # what objects are is for us to find out
        assert_like_local(OnDask(sequence))


def test_empty_partitions_and_categories_that_one_partition_has(client):
    table = people(200)
    table.loc[table.index[-1], "town"] = "Aachen"
    parts = [table.iloc[:0], table.iloc[:150], table.iloc[150:150], table.iloc[150:]]
    cut = dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])
    assert_same(SPN(min_rows=40).fit(cut, ids="customer"), SPN(min_rows=40).fit(table, ids="customer"))


def test_records_are_numbered_in_the_order_of_the_partitions(client):
    table = people().drop(columns="customer")
    spn, local = SPN().fit(dd.from_pandas(table, npartitions=3, sort=False)), SPN().fit(table)
    assert_same(spn, local)
    assert spn.learn(table.iloc[:2]).records_added == 2
    assert spn.ids_ == list(range(402))


def test_a_classifier_and_an_ensemble(client, tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    cut, classes = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    classifier, local = SPNClassifier().fit(cut, classes), SPNClassifier().fit(X, y)
    assert_same(classifier, local)
    for each in (classifier, local):
        each.unlearn([3, 60, 170])
        each.rectify(None, [2], ids=[5])
    assert_same(classifier, local)
    assert classifier.predict(cut).compute().tolist() == local.predict(X).tolist()
    assert classifier.predict_proba(cut).compute().to_numpy().tolist() == local.predict_proba(X).tolist()
    ensemble, local = (SPNEnsemble(n_members=3, subsample=0.6, min_rows=30).fit(each) for each in (cut, X))
    assert_same(ensemble, local)
    for each in (ensemble, local):
        each.unlearn([3, 60, 170])
    assert_same(ensemble, local)
    assert ensemble.verify()
    ensemble.save(tmp_path / "ensemble")
    for each in (ensemble, local):
        each.unlearn([4, 61])
    assert_same(SPNEnsemble.load(tmp_path / "ensemble", client=client), local)


def test_progress(client, capsys):
    told = []
    cut = dd.from_pandas(people(), npartitions=3, sort=False)
    SPN(min_rows=40).fit(cut, ids="customer", progress=lambda *step: told.append(step))
    words = [what for what, _, _ in told]
    assert words[:3] == ["loading partitions", "reading partitions", "taking values over"]
    assert "picking seeds" in words
    shares = [done / total for _, done, total in told[1:] if total]
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= 1
    SPN(min_rows=40).fit(cut, ids="customer", progress=True)
    assert not capsys.readouterr().out


def test_questions_about_tables_are_answered_lazily(client):
    table = people()
    cut = dd.from_pandas(table, npartitions=4, sort=False)
    spn = SPN().fit(table, ids="customer")
    lazy = spn.score_samples(cut)
    assert isinstance(lazy, dd.Series)
    rows = table.drop(columns="customer")
    assert lazy.compute().tolist() == spn.score_samples(rows).tolist()
    columns = dd.from_pandas(rows, npartitions=4, sort=False)
    assert spn.impute(columns).compute().equals(spn.impute(rows))
    proba = spn.predict_proba(columns, target="town").compute()
    assert proba.to_numpy().tolist() == spn.predict_proba(rows, target="town").tolist()
    assert list(proba.columns) == spn.circuit_.categories("town")


def cut_frames(*frames):
    return dd.from_map(lambda number: frames[number], range(len(frames)), meta=frames[0].iloc[:0])


def bad_inputs():
    table = people(60)
    twice = pd.concat([table, table.iloc[:1]], ignore_index=True)
    infinite = table.astype({"age": "float64"})
    infinite.loc[42, "age"] = np.inf
    without = table.assign(customer=table["customer"].where(table.index != 50))
    yield "twice", [twice.iloc[:30], twice.iloc[30:]], RecordIdError, r"'c-\d+' in partitions 0 and 1"
    yield (
        "infinite",
        [infinite.iloc[:30], infinite.iloc[30:]],
        InvalidTableError,
        ("partition 1: column 'age' has infinite values in rows 13"),
    )
    yield "missing id", [without.iloc[:30], without.iloc[30:]], RecordIdError, "partition 1: ids are missing in rows 21"
    yield (
        "other columns",
        [table.iloc[:30], table.iloc[30:].rename(columns={"age": "years"})],
        InvalidTableError,
        ("partition 1 has other columns than partition 0: it lacks 'age' and it has 'years' besides"),
    )
    yield (
        "other types",
        [table.iloc[:30], table.iloc[30:].assign(visits="many")],
        InvalidTableError,
        ("column 'visits' holds int64 in partition 0, but .* in partition 1"),
    )
    yield "nothing", [table.iloc[:0], table.iloc[:0]], InvalidTableError, "the table is empty: 0 sample"


@pytest.mark.parametrize(("frames", "kind", "words"), [pytest.param(*each, id=name) for name, *each in bad_inputs()])
def test_bad_input_is_refused_with_the_partition(client, frames, kind, words):
    with pytest.raises(kind, match=words):
        SPN().fit(cut_frames(*frames), ids="customer")


def test_the_same_words_as_locally(client):
    table = people(60)
    table["age"] = table["age"].where(table.index != 3, np.inf)
    with pytest.raises(InvalidTableError) as local:
        SPN().fit(table, ids="customer")
    with pytest.raises(InvalidTableError) as shared:
        SPN().fit(dd.from_pandas(table, npartitions=1, sort=False), ids="customer")
    assert str(shared.value) == f"partition 0: {local.value}"


@pytest.mark.parametrize(
    ("spn", "words"),
    [
        (SPN(independence="rdc"), "Use independence='gtest'"),
        (SPN(independence=RDC()), "Use independence='gtest'"),
        (SPN(min_category_count=3), "leave it at 1"),
    ],
)
def test_what_cannot_be_put_together_is_refused(client, spn, words):
    with pytest.raises(NotOnAClusterError, match=words):
        spn.fit(dd.from_pandas(people(60), npartitions=2, sort=False), ids="customer")


def test_what_stays_where_it_is_is_refused(client):
    spn = SPN().fit(dd.from_pandas(people(60), npartitions=2, sort=False), ids="customer")
    with pytest.raises(NotOnAClusterError, match="save it into a folder"):
        spn.__getstate__()
    with pytest.raises(NotOnAClusterError, match="look at circuit_"):
        spn.root_  # noqa: B018
    with pytest.raises(RecordIdError, match="pass its name"):
        SPN().fit(dd.from_pandas(people(60), npartitions=2, sort=False), ids=list(range(60)))
    with pytest.raises(InvalidTableError, match="there is no column 'who'"):
        SPN().fit(dd.from_pandas(people(60), npartitions=2, sort=False), ids="who")


def test_a_folder(client, tmp_path):
    table = people()
    spn, local = SPN(min_rows=40).fit(dd.from_pandas(table, npartitions=4), ids="customer"), SPN(min_rows=40)
    local.fit(table, ids="customer")
    spn.save(tmp_path / "model")
    files = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}
    assert len(files) == 5
    spn.unlearn(["c-7"])
    local.unlearn(["c-7"])
    after = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}
    assert len(after) == 5
    assert len(set(after.items()) & set(files.items())) == 3  # one partition, and the model's file
    loaded = SPN.load(tmp_path / "model", client=client)
    assert_same(loaded, local)
    assert loaded.score_samples(table).tolist() == local.score_samples(table).tolist()
    loaded.rectify(table.iloc[:3].assign(town="Jena"))
    local.rectify(table.iloc[:3].assign(town="Jena"))
    assert_same(SPN.load(tmp_path / "model"), local)


@pytest.mark.deep
def test_processes(tmp_path):
    X = load_iris(as_frame=True).data
    X.to_parquet(tmp_path / "iris.parquet", row_group_size=40)
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        spn, local = SPN(min_rows=20).fit(dd.read_parquet(tmp_path, split_row_groups=True)), SPN(min_rows=20).fit(X)
        assert_same(spn, local)
        for each in (spn, local):
            each.unlearn([3, 77])
        assert_same(spn, local)


def test_the_command(client, tmp_path):
    table = people()
    (tmp_path / "people").mkdir()
    for number in range(3):
        table.iloc[number::3].to_parquet(tmp_path / "people" / f"{number}.parquet")
    source, model = str(tmp_path / "people"), str(tmp_path / "model")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", processes=False
    ) as cluster:
        options = ("--cluster", cluster.scheduler_address, "--id", "customer", "--min-rows", "40")
        told = run_json("fit", source, "--model", model, *options)
        assert "learned from 400 records" in run("fit", source, "--model", model, *options).stdout
        assert "--model FOLDER" in run("fit", source, *options, code=2).stderr
        run("fit", str(tmp_path / "nowhere"), "--model", model, *options, code=3)
    local = SPN(min_rows=40).fit(table, ids="customer")
    assert told == {"model": model, "records": 400, "digest": local.digest(), "state": local.state_digest()}
    assert SPN.load(model, client=client).state_digest() == local.state_digest()


def test_dask_is_imported_only_where_a_table_of_it_comes():
    code = (
        "import sys; from unlearnspn import SPN; spn = SPN().fit([[0.0, 'a'], [1.0, 'b']]); spn.unlearn(1);"
        "spn.score_samples([[0.5, 'a']]); print({name for name in sys.modules if name.partition('.')[0] in "
        "('dask', 'distributed')})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"

"""Whatever fails while a cluster learns or changes a model: it is as it was before, or as it should be after."""

import errno
import os
import shutil
from itertools import count

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client

from faulty_clusters import Kill, done_in_time, in_time, running_cluster, wait_for_all, worker_pids
from remains import masked, remains_in
from shards import fit_in_shards, load_in_shards
from unlearnspn import SPN
from unlearnspn.cluster import dask_tables
from unlearnspn.cluster import folder as folders
from unlearnspn.cluster.folder import MODEL, Folder, open_folder
from unlearnspn.cluster.shard import Shard
from unlearnspn.errors import WorkerLostError
from unlearnspn.storage import StorageError
from unlearnspn.tables import read_table

#: How many workers the deep run kills.
N_KILLS = int(os.environ.get("UNLEARNSPN_CLUSTER_KILLS", "40"))
N_ROWS, N_PARTITIONS = 160, 4


def people(numbers, seed=0):
    """Return a table of some people."""
    rng = np.random.default_rng([seed, *numbers])
    size = len(numbers)
    return pd.DataFrame(
        {
            "id": [f"p-{number}" for number in numbers],
            "height": rng.normal(170, 9, size).round(1),
            "children": rng.integers(0, 6, size) * 1.0,
            "town": rng.choice(["Ulm", "Jena", "Hof"], size),
            "smokes": rng.choice(["yes", "no"], size),
        }
    )


TABLE = people(range(N_ROWS))


def estimator():
    return SPN(min_rows=20)


def local_digest(table):
    return estimator().fit(table, ids="id").state_digest()


class Request:
    """Something asked of a model, and the table that it leads to."""

    def __init__(self, kind, numbers, seed):
        self.kind, self.ids = kind, [f"p-{number}" for number in numbers]
        self.came = people(numbers, seed + 1)

    @classmethod
    def of(cls, kind, seed):
        rng = np.random.default_rng(seed)
        numbers = rng.permutation(N_ROWS)[: 1 if kind == "removal" else 9].tolist()
        return cls(kind, [1000 + number for number in numbers] if kind == "learn" else numbers, seed)

    def ask(self, spn):
        if self.kind == "learn":
            return spn.learn(self.came, ids="id")
        return spn.rectify(self.came, ids="id") if self.kind == "rectify" else spn.unlearn(self.ids)

    def carried_out(self, table):
        staying = table[~table["id"].isin(self.ids)]
        return staying if self.kind in ("removal", "batch") else pd.concat([staying, self.came], ignore_index=True)


KINDS = ["removal", "batch", "learn", "rectify"]


def files_in(path):
    return {file.name for file in path.iterdir()}


def assert_no_leftovers(path):
    stored = open_folder(path, ())
    assert files_in(path) == {MODEL, *(part.name for part in stored.folder.parts.values() if part.name)}


@pytest.fixture(scope="module")
def client():
    with running_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def saved(client, tmp_path_factory):
    """A folder with a model of the whole table, to be copied."""
    path = tmp_path_factory.mktemp("cluster") / "model"
    done_in_time(lambda: fit_on(client).save(path))
    return path


def fit_on(client):
    return estimator().fit(dd.from_pandas(TABLE, npartitions=N_PARTITIONS), ids="id")


def load_on(client, path):
    return SPN.load(path, client=client)


def kill_during_fit(client, kill, monkeypatch):
    """Kill a worker during a fit: it is right, or says what happened; the next one is right."""
    wait_for_all(client)
    wanted = local_digest(TABLE)
    kill.installed(monkeypatch)
    spn, error = in_time(fit_on, client)
    came = kill.finish()
    assert error is None or isinstance(error, WorkerLostError), repr(error)
    if error is None:
        assert spn.state_digest() == wanted
    wait_for_all(client, [kill.pid])
    again = done_in_time(fit_on, client)
    assert again.state_digest() == wanted
    return came


def kill_during_request(client, saved, path, request, kill, monkeypatch):
    """Kill a worker during a request to a model in a folder, or right after it; all there is must fit together."""
    shutil.copytree(saved, path)
    before, after = local_digest(TABLE), local_digest(request.carried_out(TABLE))
    assert before != after
    wait_for_all(client)
    spn = done_in_time(load_on, client, path)
    assert len(spn._model.records.shards._actors) == 2
    kill.installed(monkeypatch)
    report, error = in_time(request.ask, spn)
    came = kill.finish()
    is_done = error is None
    assert is_done or isinstance(error, WorkerLostError), repr(error)
    if is_done:
        assert report.state_digest_after == after
    assert spn.state_digest() == (after if is_done else before)
    _, error = in_time(Request.of("removal", 99).ask, spn)
    assert isinstance(error, WorkerLostError), "whoever asks further must be told that a worker is lost"
    assert spn.state_digest() == (after if is_done else before)
    circuit = done_in_time(circuit_if_there, spn)
    local = estimator().fit(request.carried_out(TABLE) if is_done else TABLE, ids="id")
    assert circuit is None or circuit == local.circuit_
    wait_for_all(client, [kill.pid])
    loaded = done_in_time(load_on, client, path)
    assert loaded.state_digest() == after if is_done else loaded.state_digest() in (before, after)
    assert_no_leftovers(path)
    if loaded.state_digest() == before:
        done_in_time(request.ask, loaded)
    assert loaded.state_digest() == after
    assert_no_leftovers(path)
    assert done_in_time(loaded.verify)
    shutil.rmtree(path)
    return came


def kill_during_load(client, saved, path, kill, monkeypatch):
    """Kill a worker while a model is loaded: it is right, or says what happened; the next one is right."""
    shutil.copytree(saved, path)
    wait_for_all(client)
    kill.installed(monkeypatch)
    spn, error = in_time(load_on, client, path)
    came = kill.finish()
    assert error is None or isinstance(error, WorkerLostError), repr(error)
    if error is None:
        assert spn.state_digest() == local_digest(TABLE)
    wait_for_all(client, [kill.pid])
    again = done_in_time(load_on, client, path)
    assert again.state_digest() == local_digest(TABLE)
    assert_no_leftovers(path)
    shutil.rmtree(path)
    return came


def test_a_fit_says_that_a_worker_was_lost(client, monkeypatch):
    """It is lost while the other one waits for what it has to give, which Dask would do for ever."""
    assert kill_during_fit(client, Kill(worker_pids(client)[0], "take", "before"), monkeypatch)


def test_a_fit_right_after_a_worker_was_lost(client, monkeypatch):
    """Partitions that were meant for it are loaded by another one; nobody waits until it comes back."""
    wait_for_all(client)
    gone, workers = "tcp://127.0.0.1:1", dask_tables._workers(client)
    monkeypatch.setattr(dask_tables, "_workers", lambda _: [gone, *workers])
    assert done_in_time(fit_on, client).state_digest() == local_digest(TABLE)


def test_a_client_that_was_closed(client, saved, tmp_path):
    path = shutil.copytree(saved, tmp_path / "model")
    wait_for_all(client)
    with Client(client.cluster, set_as_default=False) as other:
        spn = done_in_time(load_on, other, path)
    _, error = in_time(Request.of("batch", 1).ask, spn)
    assert isinstance(error, WorkerLostError)
    assert spn.state_digest() == local_digest(TABLE)


@pytest.mark.parametrize(
    ("kind", "point", "when"),
    [
        pytest.param("removal", "store", "before", marks=pytest.mark.deep),
        ("rectify", "store", "after"),  # the parts are there, the file of the model is not
        ("learn", "commit", "before"),  # the file of the model is there, and the shards do not know
        pytest.param("batch", None, "after", marks=pytest.mark.deep),  # between requests
    ],
)
def test_a_folder_holds_the_model_from_before_or_after(client, saved, tmp_path, monkeypatch, kind, point, when):
    victim = worker_pids(client)[KINDS.index(kind) % 2]
    kill, request = Kill(victim, point, when), Request.of(kind, seed=3)
    came = kill_during_request(client, saved, tmp_path / "model", request, kill, monkeypatch)
    assert came == (point is not None)


def random_moment(rng):
    """Return at which call a worker is to be killed, or by which method; and when, before it or after it began."""
    how = rng.integers(3)
    if how == 0:
        return 0, float(rng.uniform(0, 0.15))
    point = int(rng.integers(1, 17)) if how == 1 else str(rng.choice(["prepare", "store", "commit", "give", "take"]))
    return point, ["before", "after", float(rng.exponential(0.004))][rng.integers(3)]


@pytest.mark.cluster_faults
def test_workers_are_killed_at_random(client, saved, tmp_path, monkeypatch):
    rng = np.random.default_rng(int(os.environ.get("UNLEARNSPN_CLUSTER_SEED", "0")))
    n_amid = 0
    for number in range(N_KILLS):
        what, (point, when) = str(rng.choice(["fit", "load", *KINDS])), random_moment(rng)
        print(f"kill {number}: during {what}, at {point}, {when}", flush=True)
        with monkeypatch.context() as patched:
            wait_for_all(client)
            kill = Kill(worker_pids(client)[rng.integers(2)], point, when)
            if what == "fit":
                n_amid += kill_during_fit(client, kill, patched)
            elif what == "load":
                n_amid += kill_during_load(client, saved, tmp_path / "model", kill, patched)
            else:
                request = Request.of(what, int(rng.integers(1 << 20)))
                n_amid += kill_during_request(client, saved, tmp_path / "model", request, kill, patched)
    assert n_amid > N_KILLS / 4, "nearly all were killed too late, so that little would have been shown"


# -- without processes: disks that are full, and processes that end too early ------------------------------------------


@pytest.fixture
def shared(tmp_path):
    """A model in two shards of this process, kept in a folder."""
    parts = [TABLE.iloc[start : start + 40] for start in range(0, N_ROWS, 40)]
    spn = fit_in_shards(estimator(), parts, 2)
    spn.save(tmp_path / "model")
    return spn


def failing(function, is_here, error):
    """Return a function that raises instead of carrying out some calls."""

    def called(*arguments, **options):
        if is_here(*arguments):
            raise error
        return function(*arguments, **options)

    return called


def no_space():
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_model(path, *_):
    return path.name == MODEL


def nth_call(n):
    """Return what tells one call from others."""
    numbers = count()
    return lambda *_: next(numbers) == n


def second_part():
    """Return what tells the second partition that is written from others."""
    numbers = count()
    return lambda path, *_: path.name.startswith("part-") and next(numbers) == 1


def assert_unchanged_then_changed(shared, path, kind, monkeypatch, is_here):
    """Have a request fail; nothing has changed, and it succeeds when it is asked again."""
    request, before, files = Request.of(kind, seed=5), shared.state_digest(), files_in(path)
    after = local_digest(request.carried_out(TABLE))
    with monkeypatch.context() as patched:
        patched.setattr(folders, "write_file", failing(folders.write_file, is_here, no_space()))
        with pytest.raises(StorageError, match="No space left"):
            request.ask(shared)
    assert shared.state_digest() == before == local_digest(TABLE)
    assert files_in(path) == files
    assert load_in_shards(path, 3).digests[1] == before
    assert shared.verify()
    request.ask(shared)
    assert shared.state_digest() == after
    assert load_in_shards(path, 3).digests[1] == after
    assert shared.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_no_space_for_the_file_of_the_model(shared, tmp_path, monkeypatch, kind):
    assert_unchanged_then_changed(shared, tmp_path / "model", kind, monkeypatch, is_model)


@pytest.mark.parametrize("kind", ["batch", "rectify"])
def test_no_space_for_a_partition(shared, tmp_path, monkeypatch, kind):
    assert_unchanged_then_changed(shared, tmp_path / "model", kind, monkeypatch, second_part())


@pytest.mark.parametrize("n_failures", [1, 2])
def test_a_file_of_the_model_of_which_nobody_knows_whether_it_lasts(shared, tmp_path, monkeypatch, n_failures):
    """The file is exchanged, but the folder cannot be synchronised: whichever is found, its partitions are there."""
    path, left = tmp_path / "model", list(range(n_failures))

    def exchanged_but_not_synchronised(file, parts):
        write_file(file, parts)
        if is_model(file) and left:
            left.pop()
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    write_file, request, before = folders.write_file, Request.of("rectify", seed=5), shared.state_digest()
    exchanged, put_back = [], Folder._put_back
    with monkeypatch.context() as patched:
        patched.setattr(folders, "write_file", exchanged_but_not_synchronised)
        patched.setattr(Folder, "_put_back", lambda folder: exchanged.append(folder._now()) or put_back(folder))
        with pytest.raises(StorageError, match="Input/output"):
            request.ask(shared)
    assert shared.state_digest() == before
    after = local_digest(request.carried_out(TABLE))
    for said, digest in ((None, before), (exchanged[0], after)):
        copied = shutil.copytree(path, tmp_path / f"found {said is None}")
        if said is not None:
            (copied / MODEL).write_bytes(said)
        assert load_in_shards(copied, 2).digests[1] == digest
        assert_no_leftovers(copied)
    request.ask(shared)
    assert_no_leftovers(path)
    assert load_in_shards(path, 2).digests[1] == shared.state_digest() == after


def test_a_worker_that_was_thought_to_be_lost_writes_late(shared, tmp_path, monkeypatch):
    path, late, write_file = tmp_path / "model", [], folders.write_file

    def never_done(file, parts):
        late.append((file, [bytes(part) for part in parts]))
        raise WorkerLostError("a worker of the cluster was lost")

    with monkeypatch.context() as patched:
        patched.setattr(folders, "write_file", never_done)
        with pytest.raises(WorkerLostError):
            Request("rectify", [7], seed=1).ask(shared)
    request = Request("rectify", [7], seed=2)
    loaded = load_in_shards(path, 2)
    loaded.revise(request.ids, request.ids, loaded.settings.schema.arranged(read_table(request.came, without="id")))
    write_file(*late[0])
    assert len(files_in(path)) > len(loaded.folder.parts) + 1
    assert load_in_shards(path, 2).digests[1] == local_digest(request.carried_out(TABLE))
    assert_no_leftovers(path)


def test_two_models_that_are_kept_in_one_folder(shared, tmp_path):
    path, request = tmp_path / "model", Request.of("batch", seed=7)
    other = load_in_shards(path, 2)
    request.ask(shared)
    with pytest.raises(StorageError, match="somebody else has changed"):
        other.revise(["p-1"], [], None)
    assert other.digests[1] == local_digest(TABLE)
    assert load_in_shards(path, 2).digests[1] == local_digest(request.carried_out(TABLE))
    assert_no_leftovers(path)


def circuit_if_there(spn):
    """Return the circuit of a model, None if it cannot be derived without the workers that are lost."""
    try:
        return spn.circuit_
    except WorkerLostError:
        return None


@pytest.mark.parametrize("leaves", ["chow-liu", "naive"])
@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_shard_cannot_carry_out_what_others_have(tmp_path, monkeypatch, kind, is_kept, leaves):
    """With a folder the request is carried out, for it counts what is there; without one it is not."""
    path, request = tmp_path / "model", Request.of(kind, seed=8)
    settings = {"min_rows": 20, "factorization": leaves}
    shared = fit_in_shards(SPN(**settings), [TABLE.iloc[start : start + 40] for start in range(0, N_ROWS, 40)], 2)
    if is_kept:
        shared.save(path)
    is_last = nth_call(0 if kind in ("removal", "learn") else 1)  # which concern one shard
    with monkeypatch.context() as patched:
        patched.setattr(Shard, "commit", failing(Shard.commit, is_last, MemoryError("there is no more")))
        if is_kept:
            request.ask(shared)
        else:
            with pytest.raises(MemoryError):
                request.ask(shared)
    table = request.carried_out(TABLE) if is_kept else TABLE
    local = SPN(**settings).fit(table, ids="id")
    assert (shared.digest(), shared.state_digest()) == (local.digest(), local.state_digest())
    with pytest.raises(WorkerLostError, match="load the model from its folder, or fit it again"):
        Request.of("removal", 99).ask(shared)
    circuit = circuit_if_there(shared)
    assert circuit is None or circuit == local.circuit_
    if is_kept:
        assert load_in_shards(path, 2).digests[1] == local.state_digest()


@pytest.mark.parametrize("kind", ["learn", "rectify"])
def test_a_shard_cannot_get_ready(shared, tmp_path, monkeypatch, kind):
    """Others are ready by then, and hold what is not to come."""
    request, shards = Request.of(kind, seed=8), shared._model.records.shards._shards
    request.came["town"] = "Suhl"
    with monkeypatch.context() as patched:
        patched.setattr(Shard, "prepare", failing(Shard.prepare, nth_call(1), MemoryError("there is no more")))
        with pytest.raises(MemoryError):
            request.ask(shared)
    assert not remains_in([shards], masked({"town": [b"Suhl"]}))
    assert shared.state_digest() == local_digest(TABLE)
    assert shared.verify()
    assert_no_leftovers(tmp_path / "model")
    request.ask(shared)
    assert remains_in([shards], masked({"town": [b"Suhl"]}))
    after = local_digest(request.carried_out(TABLE))
    assert shared.state_digest() == load_in_shards(tmp_path / "model", 2).digests[1] == after
    assert shared.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_loading_sweeps_what_a_process_left_that_ended_too_early(shared, tmp_path, monkeypatch, kind):
    path, request = tmp_path / "model", Request.of(kind, seed=6)
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "sweep", lambda folder: None)
        request.ask(shared)
    (path / f".{MODEL}.0123456789abcdef.tmp").write_bytes(b"cut o")
    (path / ".part-00001-7.uspn.0123456789abcdef.tmp").write_bytes(b"cut o")
    n_files = len(files_in(path))
    assert load_in_shards(path, 2).digests[1] == local_digest(request.carried_out(TABLE))
    assert len(files_in(path)) < n_files - 2
    assert_no_leftovers(path)


@pytest.mark.parametrize("is_here", [second_part(), is_model])
def test_a_folder_that_cannot_be_written_keeps_the_model_that_is_there(shared, tmp_path, monkeypatch, is_here):
    path, files = tmp_path / "model", files_in(tmp_path / "model")
    other = fit_in_shards(estimator(), [people(range(45)), people(range(45, 90))], 2)
    with monkeypatch.context() as patched:
        patched.setattr(folders, "write_file", failing(folders.write_file, is_here, no_space()))
        with pytest.raises(StorageError, match="No space left"):
            other.save(path)
    assert files_in(path) == files
    assert load_in_shards(path, 1).digests[1] == shared.state_digest()
    other.save(path)
    assert load_in_shards(path, 1).digests[1] == other.state_digest()
    assert_no_leftovers(path)

"""Folders of models that somebody has changed: refused, whatever they say."""

import errno
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shards import estimator_in_shards, fit_in_shards, load_in_shards
from unlearnspn import SPN, SPNEnsemble
from unlearnspn.cluster.folder import MODEL
from unlearnspn.storage import StorageError
from unlearnspn.storage.container import Container, pack, unpack

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"id": range(60), "x": RNG.normal(size=60), "a": RNG.choice(["p", "q"], 60)})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    fit_in_shards(SPN(min_rows=20), [TABLE[:25], TABLE[25:]], 2).save(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def rewrite(path, kind, change):
    """Change the document of a file, and seal it again."""
    container = unpack(path.read_bytes(), kind)
    document, arrays = dict(container.document), dict(container.arrays)
    change(document, arrays)
    path.write_bytes(b"".join(bytes(part) for part in pack(Container(kind, document, arrays))))


def part(folder, number):
    return next(folder.glob(f"part-0000{number}-*"))


def of_model(change):
    return lambda folder: rewrite(folder / MODEL, "model in a folder", change)


def of_part(change):
    return lambda folder: rewrite(part(folder, 0), "partition", change)


def leave_out_a_partition(document, arrays):
    document["partitions"] = document["partitions"][:1]


def swap_names(document, arrays):
    (one, name, n), (other, another, m) = document["partitions"]
    document["partitions"] = [[one, another, n], [other, name, m]]


def name_a_file_elsewhere(document, arrays):
    document["partitions"][0][1] = "../" + document["partitions"][0][1]


def repeat_a_record(document, arrays):
    arrays["ids"] = np.concatenate([arrays["ids"][:-1], [59]])


CHANGES = {
    "a partition left out": (of_model(leave_out_a_partition), "how many records"),
    "names of partitions swapped": (of_model(swap_names), "cannot be in a file"),
    "a file elsewhere": (of_model(name_a_file_elsewhere), "cannot be in a file"),
    "a number of a wrong type": (of_model(lambda document, _: document.update(n_records="60")), "how many records"),
    "another digest": (of_model(lambda document, _: document.update(digest="0" * 64)), "another digest"),
    "no partitions": (of_model(lambda document, _: document.update(partitions=None)), "which partitions"),
    "an entry too many": (of_model(lambda document, _: document.update(more=1)), "does not describe a model"),
    "other values": (of_part(lambda _, arrays: arrays.update(values=arrays["values"] + 1)), "another digest"),
    "fewer records than said": (of_part(lambda document, _: document.update(n_records=3)), "not the partition"),
    "a record of another partition": (of_part(repeat_a_record), "ids must be unique"),
    "an array too many": (of_part(lambda _, arrays: arrays.update(more=np.zeros(3))), "unknown entries"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_a_folder_that_was_changed_is_refused(folder, change, words):
    change(folder)
    with pytest.raises(ValueError, match=words):
        load_in_shards(folder, 2)


def test_a_file_that_is_missing_is_named(folder):
    name = part(folder, 1).name
    part(folder, 1).unlink()
    with pytest.raises(StorageError, match=f"the file '{name}' of a partition is missing"):
        load_in_shards(folder, 2)


@pytest.mark.parametrize("number", range(40))
def test_flipped_bits_are_found(folder, number):
    rng = np.random.default_rng(number)
    file = sorted(folder.iterdir())[number % 3]
    content = bytearray(file.read_bytes())
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    file.write_bytes(content)
    with pytest.raises(StorageError):
        load_in_shards(folder, 2)


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear all")
    spn = fit_in_shards(SPN(min_rows=20), [TABLE], 1)
    with pytest.raises(StorageError, match="holds other things, such as 'letter"):
        spn.save(tmp_path)
    with pytest.raises(StorageError, match="a file is there"):
        spn.save(tmp_path / "letter.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_an_ensemble_whose_disk_is_full_is_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "ensemble"
    ensemble = SPNEnsemble(n_members=3, subsample=0.6, min_rows=20)
    fit_in_shards(ensemble, [TABLE[:25], TABLE[25:40], TABLE[40:]], 2).save(path)
    before, files = (ensemble.digest(), ensemble.state_digest()), sorted(file.name for file in path.iterdir())

    def full(*arguments):
        raise StorageError("cannot write: No space left on device")

    for name in ("write_part", "write_file"):
        with monkeypatch.context() as patched:
            patched.setattr(f"unlearnspn.cluster.folder.{name}", full)
            with pytest.raises(StorageError, match="No space left"):
                ensemble.unlearn([3, 30, 55])
        assert (ensemble.digest(), ensemble.state_digest()) == before
        assert sorted(file.name for file in path.iterdir()) == files
        assert estimator_in_shards(SPNEnsemble, path, 2).state_digest() == before[1]
    values = [np.float64(TABLE["x"][place]).tobytes() for place in (3, 30, 55)]
    assert all(any(value in file.read_bytes() for file in path.iterdir()) for value in values)
    ensemble.unlearn([3, 30, 55])
    assert not any(value in file.read_bytes() for file in path.iterdir() for value in values)
    rest = TABLE.drop([3, 30, 55])
    fresh = SPNEnsemble(n_members=3, subsample=0.6, min_rows=20).fit(rest, ids="id")
    assert ensemble.state_digest() == fresh.state_digest()
    assert estimator_in_shards(SPNEnsemble, path, 1).state_digest() == fresh.state_digest()
    assert ensemble.verify()


@pytest.mark.parametrize("kind", [SPN, SPNEnsemble])
def test_a_request_is_carried_out_where_files_of_the_earlier_state_cannot_be_deleted(tmp_path, monkeypatch, kind):
    parameters = {"min_rows": 20} | ({"n_members": 3, "subsample": 0.6} if kind is SPNEnsemble else {})
    path, estimator = tmp_path / "model", kind(**parameters)
    fit_in_shards(estimator, [TABLE[:25], TABLE[25:40], TABLE[40:]], 2).save(path)

    def fails(*arguments, **named):
        raise OSError(errno.EIO, "Input/output error")

    def fresh(gone):
        return kind(**parameters).fit(TABLE.drop(gone), ids="id").state_digest()

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", fails)
        with pytest.raises(StorageError, match="cannot delete files of an earlier state"):
            estimator.unlearn([3, 30])
    assert estimator.state_digest() == fresh([3, 30])
    assert estimator.n_records_ == 58
    estimator.unlearn([55])
    assert estimator.state_digest() == fresh([3, 30, 55])
    values = [np.float64(TABLE["x"][place]).tobytes() for place in (3, 30, 55)]
    assert not any(value in file.read_bytes() for file in path.iterdir() for value in values)
    assert estimator_in_shards(kind, path, 2).state_digest() == fresh([3, 30, 55])
    assert estimator.verify()


def test_a_folder_is_loaded_by_the_class_that_saved_it(folder):
    with pytest.raises(StorageError, match="holds a SPN, not a SPNEnsemble"):
        SPNEnsemble.load(folder, client=object())

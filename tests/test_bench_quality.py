"""Tuning on binary sets: by the tuning rows, on the splits that are there."""

import numpy as np
import pytest
import typer

from unlearnspn import SPNEnsemble
from unlearnspn.bench.progress import Bar
from unlearnspn.bench.quality import run
from unlearnspn.bench.quality.models import ENSEMBLE, INDEPENDENT, TREES
from unlearnspn.bench.quality.plan import Plan
from unlearnspn.bench.quality.search import n_trials, search
from unlearnspn.bench.quality.splits import load_splits, names_in


def write(folder, name, split, n_rows, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n_rows)
    rows = np.column_stack([first, first ^ (rng.random(n_rows) < 0.1), rng.integers(0, 2, n_rows)])
    np.savetxt(folder / f"{name}.{split}.data", rows, fmt="%d", delimiter=",")


@pytest.fixture
def folder(tmp_path):
    for seed, (split, n_rows) in enumerate({"train": 400, "valid": 100, "test": 2000}.items()):
        write(tmp_path, "whole", split, n_rows, seed)
        if split != "train":
            write(tmp_path, "partial", split, n_rows, seed)
    write(tmp_path, "lonely", "test", 10, 0)
    return tmp_path


def test_sets_are_found_by_their_splits(folder):
    assert names_in(folder) == ["partial", "whole"]
    assert len(load_splits(folder, "whole").learn) == 400
    partial = load_splits(folder, "partial")
    assert (len(partial.learn), len(partial.tune), len(partial.test)) == (90, 10, 2000)


def test_the_best_on_the_tuning_rows_comes_first(folder):
    steps = []
    found = search(folder, "whole", TREES, quick=True, jobs=1, done=lambda: steps.append(1))
    assert len(found) == len(steps) == n_trials(folder, "whole", TREES, quick=True)
    assert found == sorted(found, key=lambda candidate: -candidate.tuning)
    splits = load_splits(folder, "whole")
    best = TREES.make(list(splits.learn.columns), found[0].params).fit(splits.learn)
    assert best.score(splits.tune) == pytest.approx(found[0].tuning)
    # two coins, and a copy of one that is wrong once in ten times
    assert best.score(splits.test) == pytest.approx(-2 * np.log(2) - 0.325, abs=0.06)


def test_finalists_get_more_seeds(folder):
    first = len(INDEPENDENT.candidates(3, quick=False))
    assert n_trials(folder, "whole", INDEPENDENT, quick=False) == first + 8 * 9


def test_what_is_untuned_is_always_tried():
    assert all({} in kind.candidates(3, quick=True) for kind in (INDEPENDENT, TREES, ENSEMBLE))


def test_targets_are_claimed_only_with_the_train_split(folder, monkeypatch):
    monkeypatch.setattr(run, "PUBLISHED", dict.fromkeys(["whole", "partial"], run.Published(-2.0, -1.0)))
    plan = Plan.of(folder, None, "chow-liu", 1, quick=True)
    (section,) = run.measure(plan, Bar(shown=False))
    targets = {row["data"]: row["test"].target for row in section.rows}
    assert targets["partial"] is None
    assert targets["whole"].bound == -2.0
    assert section.notes[1] == (
        "single, Chow-Liu trees, untuned: SPN(factorization='chow-liu') with Bernoulli leaves, all else by default."
    )
    assert any(note.startswith("partial: its train split is not at hand") for note in section.notes)


def test_an_ensemble_is_compared_with_id_spn():
    assert run._target("nltcs", TREES).bound == -6.11
    assert run._target("nltcs", ENSEMBLE).bound == pytest.approx(-6.0802)
    assert run._target("unknown", TREES) is None


def test_what_is_untuned_is_said_and_made():
    assert INDEPENDENT.untuned == "SPN(factorization='naive')"
    assert (
        ENSEMBLE.untuned == "SPNEnsemble(factorization='chow-liu', n_members=20, max_rounds=10) with Bernoulli leaves"
    )
    made, usual = ENSEMBLE.make(["a"], {}).get_params(), SPNEnsemble().get_params()
    differing = {name: value for name, value in made.items() if value != usual[name]}
    assert differing == {"n_members": 20, "max_rounds": 10, "leaves": {"a": "bernoulli"}, "categorical_features": "all"}


def test_unknown_names_are_refused(folder):
    with pytest.raises(typer.BadParameter, match="nonsense"):
        Plan.of(folder, "nonsense", "chow-liu", 1, quick=True)
    with pytest.raises(typer.BadParameter, match="forest"):
        Plan.of(folder, None, "forest", 1, quick=True)

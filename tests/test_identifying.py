"""Columns that identify are named, at ingest and fit, and again where their values leave the model."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from command_line import run, run_json
from unlearnspn import SPN, Circuit, IdentifyingColumnWarning, SPNEnsemble
from unlearnspn.identifying import identifies
from unlearnspn.vault import Vault

N = 80


def people(n=N):
    return pd.DataFrame(
        {
            "passport": [f"P{i:05}" for i in range(n)],
            "city": [["Ulm", "Bonn", "Köln"][i % 3] for i in range(n)],
            "age": [20.0 + i % 40 for i in range(n)],
        }
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1] * 30, True),
        ([1] * 29, False),
        ([1] * 16 + [14], True),
        ([1] * 15 + [15], False),
        ([2] * 50, False),
        ([], False),
    ],
)
def test_more_than_half_of_thirty_values_occur_once(counts, expected):
    assert identifies(np.array(counts, int)) is expected


def test_fit_names_the_columns():
    with pytest.warns(IdentifyingColumnWarning, match=r"column 'passport', .*min_category_count"):
        SPN().fit(people())
    with pytest.warns(IdentifyingColumnWarning, match="columns 'passport', 'date'"):
        SPN().fit(people().assign(date=[str(i) for i in range(N)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SPN().fit(people().drop(columns="passport"))
        SPN().fit(people(20))


@pytest.fixture
def spn():
    with pytest.warns(IdentifyingColumnWarning):
        return SPN().fit(people())


@pytest.mark.parametrize(
    "leave",
    [
        lambda model, path: model.sample(3),
        lambda model, path: model.circuit_.to_json(),
        lambda model, path: model.circuit_.to_graphviz(),
        lambda model, path: model.circuit_.to_networkx(),
        lambda model, path: model.circuit_.save(path),
    ],
    ids=["sample", "json", "graphviz", "networkx", "save"],
)
def test_whatever_shows_the_values_warns_again(spn, leave, tmp_path):
    with pytest.warns(IdentifyingColumnWarning, match="'passport'"):
        leave(spn, tmp_path / "circuit")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leave(spn.marginal(["city", "age"]), tmp_path / "other")


def test_a_circuit_remembers_it_in_a_file(spn, tmp_path):
    with pytest.warns(IdentifyingColumnWarning):
        spn.circuit_.save(tmp_path / "circuit")
    circuit = Circuit.load(tmp_path / "circuit")
    assert circuit == spn.circuit_
    with pytest.warns(IdentifyingColumnWarning, match="'passport'"):
        circuit.sample(3)


def test_a_column_that_no_longer_identifies_is_not_named(spn):
    spn.learn(people().assign(passport="none"), ids=range(1000, 1000 + N))
    spn.learn(people().assign(passport="none"), ids=range(2000, 2000 + N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spn.sample(3)


@pytest.mark.filterwarnings("ignore::unlearnspn.errors.SameMembersWarning")
def test_ensembles_warn():
    with pytest.warns(IdentifyingColumnWarning):
        ensemble = SPNEnsemble(n_members=2).fit(people())
    with pytest.warns(IdentifyingColumnWarning):
        ensemble.sample(2)


def test_a_warning_made_an_error_leaves_nothing_behind(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentifyingColumnWarning)
        spn = SPN()
        with pytest.raises(IdentifyingColumnWarning):
            spn.fit(people())
        assert not hasattr(spn, "_model")
        with Vault.create(tmp_path / "v.uspn") as vault:
            with pytest.raises(IdentifyingColumnWarning):
                vault.ingest(people(), ids=range(N))
            assert vault.info().n_records == 0


def test_commands_say_it_on_stderr(tmp_path):
    source, path = str(tmp_path / "people.csv"), str(tmp_path / "people.uspn")
    people().assign(id=np.arange(N)).to_csv(source, index=False)
    run("init", path)
    for command in (
        ("ingest", path, source, "--id", "id"),
        ("fit", path),
        ("sample", path),
        ("export", path, str(tmp_path / "circuit")),
        ("export", path, str(tmp_path / "circuit.json")),
    ):
        result = run(*command)
        assert result.stderr.count("\n") == 1
        assert result.stderr.startswith(
            "unlearnspn: warning: nearly every record has a value of its own in column 'pas"
        )
        assert "warning" not in result.stdout
    assert json.loads((tmp_path / "circuit.json").read_text())["columns"]
    assert run_json("info", path)["n_records"] == N

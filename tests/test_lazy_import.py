"""`import unlearnspn` is cheap: what is costly to import waits until it is asked for."""

import importlib
import pickle
import subprocess
import sys

import pytest

import unlearnspn
from unlearnspn.parameters import Parameters

LIBRARIES = {
    "duckdb",
    "joblib",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "sklearn",
    "sqlalchemy",
}
HEAVY = LIBRARIES | {"numpy", "rich", "typer"}


def modules_after(statement, *arguments):
    """Return all modules that a new interpreter has imported when a statement has run."""
    code = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {statement}"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def imported_after(statement):
    """Return which of the heavy packages a new interpreter has imported after a statement."""
    return HEAVY & modules_after(statement)


def modules_of_command(*words):
    """Return all modules that a command of the command line has imported when it is done."""
    return modules_after("from unlearnspn.cli import app; app()", *words)


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """Return the path of a vault with a model, of numbers and categories."""
    path = tmp_path_factory.mktemp("vault") / "people.uspn"
    table = [[20.0 + i % 50, i % 7, "late" if i % 3 else "in time"] for i in range(60)]
    with unlearnspn.Vault.create(path) as made:
        made.ingest(table, ids=range(60))
        made.fit(min_rows=20)
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "import unlearnspn",
        "import unlearnspn; unlearnspn.__version__, dir(unlearnspn)",
        "from unlearnspn import errors",
        "from unlearnspn import certificates",
    ],
)
def test_the_package_alone_imports_nothing_heavy(statement):
    assert imported_after(statement) == set()


def test_a_circuit_is_served_without_scikit_learn():
    assert imported_after("from unlearnspn import Circuit, Range") == {"numpy"}


def test_the_command_line_imports_what_a_command_needs():
    assert imported_after("from unlearnspn.cli import app") <= {"rich", "typer"}


@pytest.mark.parametrize(
    "words", [("log",), ("certificate", "show"), ("info",), ("unlearn", "--yes", "--id", "7"), ("verify",)]
)
def test_commands_on_a_vault_import_no_library_but_numpy(vault, words):
    assert modules_of_command(*words, vault) & LIBRARIES == set()


def test_init_imports_no_library_but_numpy(tmp_path):
    assert modules_of_command("init", tmp_path / "new.uspn") & LIBRARIES == set()


@pytest.mark.parametrize("words", [("log",), ("certificate", "show")])
def test_the_ledger_is_read_without_the_engine(vault, words):
    modules = modules_of_command(*words, vault)
    assert "unlearnspn.vault.ledger" in modules
    assert not modules & {"unlearnspn.model", "unlearnspn.circuit", "unlearnspn.vault.vault"}


def test_a_vault_knows_nothing_of_estimators():
    modules = modules_after("from unlearnspn import Vault")
    assert "unlearnspn.model" in modules
    assert not modules & {*LIBRARIES, "unlearnspn.estimators"}


@pytest.mark.parametrize(
    "statement",
    [
        "spn = unlearnspn.SPN(min_rows=2).fit([[1.0, 2.0], [3.0, 5.0]]); spn.unlearn(1); spn.score([[1, 2]])",
        "unlearnspn.SPNEnsemble(n_members=2)",
        "unlearnspn.Vault",
    ],
)
def test_an_estimator_of_densities_is_used_without_scikit_learn(statement):
    assert imported_after(f"import unlearnspn; {statement}") <= {"numpy", "narwhals"}


def test_a_classifier_imports_no_library_that_scikit_learn_does_not():
    statement = "import sklearn.base"
    assert HEAVY & modules_after(f"{statement}; from unlearnspn import SPNClassifier, SPNImputer") <= modules_after(
        statement
    ) | {"narwhals"}


def test_parameters_of_a_vault_are_those_of_an_estimator():
    assert Parameters().by_name() == unlearnspn.SPN().get_params()
    assert list(Parameters().by_name()) == list(unlearnspn.SPN().get_params())


def test_estimators_do_not_import_the_command_line():
    assert not imported_after("from unlearnspn import SPN, SPNClassifier, SPNImputer") & {"rich", "typer", "matplotlib"}


def test_all_names_are_there_and_listed():
    assert set(unlearnspn.__all__) <= set(dir(unlearnspn))
    assert sorted(unlearnspn._MODULES) == sorted(unlearnspn.__all__)
    for name in unlearnspn.__all__:
        module = importlib.import_module(f"unlearnspn.{unlearnspn._MODULES[name]}")
        assert getattr(unlearnspn, name) is getattr(module, name)
        assert getattr(unlearnspn, name).__name__ == name


def test_names_that_do_not_exist_are_refused():
    with pytest.raises(AttributeError, match="module 'unlearnspn' has no attribute 'SPNRegressor'"):
        _ = unlearnspn.SPNRegressor
    with pytest.raises(ImportError, match="SPNRegressor"):
        from unlearnspn import SPNRegressor  # noqa: F401


def test_a_new_process_unpickles_what_it_has_not_imported():
    pickled = pickle.dumps(unlearnspn.SPN(min_rows=7))
    code = f"import pickle; print(pickle.loads({pickled!r}).min_rows)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "7"

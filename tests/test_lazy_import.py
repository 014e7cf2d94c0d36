"""`import unlearnspn` is cheap: what is costly to import waits until it is asked for."""

import importlib
import pickle
import subprocess
import sys

import pytest

import unlearnspn

HEAVY = {"numpy", "pandas", "scipy", "sklearn", "narwhals", "rich", "typer", "matplotlib"}


def imported_after(statement):
    """Return which of the heavy packages a new interpreter has imported after a statement."""
    code = f"{statement}; import sys; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return HEAVY & set(output.split())


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
    assert imported_after("from unlearnspn import Circuit, Range") <= {"numpy", "narwhals", "scipy"}


def test_the_command_line_imports_what_a_command_needs():
    assert imported_after("from unlearnspn.cli import app") <= {"rich", "typer"}


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

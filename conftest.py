"""What holds for all tests and doctests: compiled modules are those of the sources."""

import os
from pathlib import Path

import pytest

from compiled_modules import stale_modules

#: Tests run in a process for each core: threads of BLAS would only wait for each other.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
#: The doctests of a compiled module are found by its source, but pytest shall not mind that it is not what runs.
os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"


def pytest_configure():
    stale = stale_modules(Path(__file__).parent / "src")
    if stale:
        raise pytest.UsageError(f"compiled before they were changed: {', '.join(stale)}: run pip install -e . again")


def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(getattr(item, "module", None), "sequences"):  # random tables, in which a column may well identify
            item.add_marker(pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let a worker that is done take tests from another one, lest it waits for this one's last tests."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None

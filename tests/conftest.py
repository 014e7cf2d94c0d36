"""What holds for all tests: kernels are compiled, and a test that takes minutes begins first, so that no core waits."""

import pytest

from unlearnspn.compiling import compile_always

# What small tables would not have compiled is to be tested, too; `test_written.py` compares both.
compile_always()

_LONGEST = "test_compiled_code_stays_in_bounds"


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name != _LONGEST)
    for item in items:
        if hasattr(getattr(item, "module", None), "sequences"):  # random tables, in which a column may well identify
            item.add_marker(pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning"))

"""The order of the tests: one that takes minutes begins first, so that no core waits for it at the end."""

_LONGEST = "test_compiled_code_stays_in_bounds"


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name != _LONGEST)

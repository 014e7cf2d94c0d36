"""Late kernels: run as they are written they do what they do compiled, bit for bit, and are compiled when that pays."""

from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numba.core import config
from numba.core.registry import CPUDispatcher
from sklearn.datasets import load_wine

from both_ways import both_ways, late_kernels
from leaf_data import slice_of
from sequences import assert_like_retraining, sequences
from unlearnspn import SPN, Categorical, ChowLiu, Gaussian, QKMeans, Range, Vault, ground, threads
from unlearnspn.checks import check_clustering
from unlearnspn.compiling import elements, inner_kernel, kernel, kernels, late_kernel, per_element, per_row
from unlearnspn.compiling.cache import KernelCache
from unlearnspn.compiling.written import run
from unlearnspn.portable_math import x_log_x_table

#: What the interpreter may leave to compiled code: a mean square that is too large for a number.
REFUSED = {("shift_totals", "OverflowError")}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sequence=sequences())
def test_every_request_does_the_same_as_written_and_compiled(sequence):
    with both_ways() as calls:
        assert_like_retraining(sequence)
    assert {(name, type(error).__name__) for name, error in calls if error} <= REFUSED


def test_every_late_kernel_does_the_same_as_written_and_compiled(tmp_path, monkeypatch):
    wine = load_wine(as_frame=True).frame.astype({"target": "str"})
    wine.iloc[::7, 2] = None
    wine["cellar"] = [f"cellar {number % 40}" for number in range(len(wine))]  # more than there are codes for
    x_log_x_table.cache_clear()
    with both_ways() as calls:
        spn = SPN(min_rows=20).fit(wine)
        for name in range(0, 60, 3):
            spn.unlearn([name], dry_run=True)
            spn.unlearn([name])
        spn.learn(wine.loc[[3, 6]], ids=[3, 6])
        spn.rectify(wine.loc[[4, 5]], ids=[8, 11])
        spn.probability({"alcohol": Range(above=13)}, given={"target": "0"})
        spn.score(wine)
        assert [leaf.parameters for leaf in spn.root_.walk() if leaf.distribution == "chow-liu"]
        assert spn.verify()
        spn = SPN(min_rows=20, independence="rdc").fit(wine)
        for name in range(10):
            spn.unlearn([name])
        _keep_tables_and_rounds()
        check_clustering(QKMeans(3, max_rounds=2))
        _revise_a_tree()
        _keep_in_vault(wine, tmp_path)
        _score_categories_that_are_numbers()
        monkeypatch.setattr(threads, "_MANY_ROWS", 0)
        monkeypatch.setattr(threads, "n_cores", lambda: 2)
        SPN(min_rows=10).fit(wine).unlearn(list(range(130, 138)))
    assert not [error for _, error in calls if error]
    assert {name for name, _ in calls} == late_kernels()


def _keep_tables_and_rounds():
    """Remove from so many records of few variables that tables of pairs are kept, and rounds of k-means."""
    x = np.random.default_rng(0).normal(size=300)
    spn = SPN(min_rows=30, max_rounds=2).fit(np.column_stack([x, np.abs(x), x * x]))
    for name in range(9):
        spn.unlearn([name])


def _revise_a_tree():
    """Take a row out of a tree's statistics and put others in, which networks do not: they keep but hashes."""
    data = slice_of([1.5, 2.5, 9.0, 4.0, 5.0, 7.5], list("abaabb"), categorical=[False, True])
    tree, rows = ChowLiu().over([Gaussian(), Categorical()]), data.records.rows
    revised = tree.revise(tree.learn(data, rows[:4]), data, rows[:1], rows[4:])
    assert all(map(np.array_equal, revised[:2], tree.learn(data, rows[1:])[:2]))


def _score_categories_that_are_numbers():
    X = np.random.default_rng(0).integers(0, 4, (60, 3)).astype(float)
    spn = SPN(min_rows=20, categorical_features="all").fit(X)
    X[::5, 0], X[::7, 1], X[::9, 2] = np.nan, 1.5, 300.0  # missing, and never seen
    assert spn.score(X) == spn.score(X.tolist())


def _keep_in_vault(table, folder):
    with Vault.create(folder / "wine.uspn") as vault:
        vault.ingest(table.assign(number=range(len(table))), "number")
        vault.fit(min_rows=20)
        for name in range(10):
            vault.unlearn([name])


# -- a kernel --------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_leisure(monkeypatch, tmp_path):
    """Compile when it pays, with nothing compiled before."""
    monkeypatch.delenv("UNLEARNSPN_COMPILE")
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))


@kernel
def doubled(value):
    return value * 2


def sum_doubled(codes, found):
    total = 0
    for i in range(codes.size):
        found[i] = doubled(codes[i])
        total += found[i]
    return total


@pytest.fixture
def summing(at_leisure):
    return late_kernel(elements)(sum_doubled)


CODES = np.array([1, 100, 255], np.uint8)


def test_little_work_is_done_as_it_is_written(summing):
    found = np.zeros(3, np.int16)
    assert type(summing(CODES, found)) is int
    assert found.tolist() == [2, 200, 510]
    assert not summing.overloads
    assert not doubled.overloads


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.float32, np.float64])
def test_numbers_have_64_bits_whatever_an_array_keeps_them_in(at_leisure, monkeypatch, kind):
    def product(numbers):
        total = 1
        for number in numbers:
            total *= number * 77 + number / 3
        return total

    numbers = np.array([1, 3, 99], kind)
    written = late_kernel(elements)(product)(numbers)
    monkeypatch.setenv("UNLEARNSPN_COMPILE", "always")
    assert late_kernel(elements)(product)(numbers) == written


def test_much_work_is_compiled(summing):
    codes = np.zeros(10**6, np.uint8)
    assert summing(codes, codes.astype(np.int64)) == 0
    assert len(summing.overloads) == 1


def test_a_library_does_the_work_meanwhile(at_leisure, monkeypatch):
    @late_kernel(elements, meanwhile=lambda numbers: "of a library")
    def total(numbers):
        return numbers.sum()

    assert total(CODES) == "of a library"
    monkeypatch.setattr(kernels, "_PATIENCE", 0.0)
    assert total(CODES) == 356


def test_what_has_taken_long_is_compiled(summing, monkeypatch):
    summing(CODES, np.zeros(3, np.int64))
    monkeypatch.setattr(kernels, "_PATIENCE", 0.0)
    assert summing(CODES, np.zeros(3, np.int64)) == 712
    assert len(summing.overloads) == 1


@pytest.fixture
def notes(monkeypatch):
    """Keep for other processes how long each run takes."""
    monkeypatch.setattr(kernels, "_SECONDS_TO_LOAD", 0.0)


def test_what_has_taken_long_in_earlier_processes_is_compiled(summing, notes, monkeypatch):
    for _ in range(2):
        summing(CODES, np.zeros(3, np.int64))
    other = late_kernel(elements)(sum_doubled)
    assert other._seconds_before == summing._seconds > 0
    other(CODES, np.zeros(3, np.int64))
    both = late_kernel(elements)(sum_doubled)
    assert both._seconds_before == summing._seconds + other._seconds
    assert not both._takes_long(0)
    monkeypatch.setattr(kernels, "_PATIENCE", summing._seconds / both._seconds_to_compile)
    assert both(CODES, np.zeros(3, np.int64)) == 712
    assert len(both.overloads) == 1


def test_what_takes_no_longer_than_loading_is_not_kept(summing, tmp_path):
    summing(CODES, np.zeros(3, np.int64))
    assert not list(tmp_path.rglob("*.seconds"))
    assert late_kernel(elements)(sum_doubled)._seconds_before == 0


def test_another_kernel_by_the_same_name_has_not_run(summing, notes, monkeypatch):
    summing(CODES, np.zeros(3, np.int64))
    monkeypatch.setitem(globals(), "doubled", late_kernel)  # it calls something else now
    assert late_kernel(elements)(sum_doubled)._seconds_before == 0


def test_seconds_that_cannot_be_read_or_written_are_none(summing, notes, tmp_path, monkeypatch):
    summing(CODES, np.zeros(3, np.int64))
    (file,) = tmp_path.rglob("*.seconds")
    file.write_text("so much")
    assert late_kernel(elements)(sum_doubled)._seconds_before == 0
    monkeypatch.setattr("unlearnspn.compiling.cache.TemporaryDirectory", _fail)
    assert summing(CODES, np.zeros(3, np.int64)) == 712
    assert not summing.overloads
    assert file.read_text() == "so much"


def _fail(**_):
    raise OSError(28, "No space left on device")


def test_work_is_done_once_whether_or_not_its_seconds_can_be_kept(at_leisure, notes, monkeypatch):
    @late_kernel(elements)
    def increase(numbers):
        numbers[0] += 1

    monkeypatch.setattr(KernelCache, "write_seconds", _fail)  # a TypeError: it takes no seconds
    numbers = np.zeros(1)
    increase(numbers)
    assert numbers.tolist() == [1.0]
    assert not increase.overloads


def test_all_is_compiled_on_demand(summing, monkeypatch):
    monkeypatch.setenv("UNLEARNSPN_COMPILE", "always")
    assert summing(CODES, np.zeros(3, np.int64)) == 712
    assert len(summing.overloads) == 1


def test_another_demand_is_an_error(summing, monkeypatch):
    monkeypatch.setenv("UNLEARNSPN_COMPILE", "Always")
    with pytest.raises(ValueError, match="UNLEARNSPN_COMPILE is 'Always': set it to 'always', or leave it unset"):
        summing(CODES, np.zeros(3, np.int64))
    monkeypatch.setenv("UNLEARNSPN_COMPILE", "")
    assert summing(CODES, np.zeros(3, np.int64)) == 712
    assert not summing.overloads


def test_what_is_on_disk_is_used(summing):
    summing.compile(tuple(map(summing.typeof_pyval, (CODES, np.zeros(3, np.int64)))))
    other = late_kernel(elements)(sum_doubled)
    assert other(CODES, np.zeros(3, np.int64)) == 712
    assert other.stats.cache_hits.total() == 1


def test_in_threads_kernels_are_compiled(summing):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(summing, CODES, np.zeros(3, np.int64)).result() == 712
    assert len(summing.overloads) == 1


def test_a_kernel_may_become_compiled_in_another_thread_meanwhile(at_leisure):
    def work(codes, found):
        if current_thread() is main_thread():
            with ThreadPoolExecutor(1) as pool:
                pool.submit(summing, codes, found.copy()).result()
        return 0

    summing = late_kernel(work)(sum_doubled)
    assert summing(CODES, np.zeros(3, np.int64)) == 712
    assert len(summing.overloads) == 1
    assert type(summing).__call__ is CPUDispatcher.__call__


def test_what_the_interpreter_refuses_is_compiled_and_leaves_no_traces(at_leisure):
    @late_kernel(elements)
    def divide(numbers, by):
        numbers[0] += 1
        return 1.0 / float(by) + numbers[0]

    numbers = np.zeros(1)
    assert divide(numbers, 0) == np.inf
    assert numbers.tolist() == [1.0]


def test_an_interruption_leaves_no_traces(at_leisure):
    def interrupted(numbers, small):
        numbers[0], small[0] = 1, 1
        raise KeyboardInterrupt

    numbers, small = np.zeros(1), np.zeros(1, np.uint8)
    with pytest.raises(KeyboardInterrupt):
        run(interrupted, (numbers, small))
    assert numbers.tolist() == small.tolist() == [0]


# -- a kernel within a kernel ------------------------------------------------------------------------------------------


@inner_kernel(elements)
def fill(found, codes):
    for i in range(codes.size):
        found[i] = doubled(codes[i])


@pytest.fixture
def outer(at_leisure, monkeypatch):
    """Return a late kernel with little work of its own, and nothing known of the kernel within."""

    @late_kernel(lambda *_: 0)
    def fill_twice(found, codes):
        fill(found, codes)
        fill(found, found.copy())

    nothing = {"overloads": type(fill.overloads)(), "_seconds": 0.0, "_seconds_before": 0.0, "_was_due": False}
    for name, value in nothing.items():
        monkeypatch.setattr(fill, name, value)
    monkeypatch.setattr(fill, "_looked_up", set())
    return fill_twice


def test_little_work_is_done_as_it_is_written_within_too(outer):
    found = np.zeros(3, np.int16)
    outer(found, CODES)
    assert found.tolist() == [4, 400, 1020]
    assert not outer.overloads
    assert not fill.overloads
    assert 0 < fill._seconds < outer._seconds


def test_much_work_is_compiled_within(outer, monkeypatch):
    monkeypatch.setattr(kernels, "_SECONDS_A_STEP", 1.0)
    monkeypatch.setattr(kernels, "copying", lambda *_: 0)
    found = np.zeros(3, np.int16)
    outer(found, CODES)
    assert found.tolist() == [4, 400, 1020]
    assert not outer.overloads
    assert len(fill.overloads) == 1
    # neither has taken long: to compile is not to run as it is written
    assert fill._seconds == 0
    assert outer._seconds < kernels._Kernel.seconds_compiling
    assert outer._seconds < 0.1


def test_python_gets_what_is_within_compiled(outer):
    fill(np.zeros(3, np.int64), CODES)
    assert len(fill.overloads) == 1


def test_whether_anything_is_on_disk(summing):
    assert KernelCache(sum_doubled).is_empty()
    summing.compile(tuple(map(summing.typeof_pyval, (CODES, np.zeros(3, np.int64)))))
    assert not KernelCache(sum_doubled).is_empty()


def test_an_interruption_while_the_ground_is_made_for_compiled_code_is_one(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    X = load_wine().data
    with monkeypatch.context() as patch:
        patch.setattr(ground, "make_ground", interrupt)
        with pytest.raises(KeyboardInterrupt):
            SPN().fit(X)
    SPN().fit(X)


def test_work():
    assert elements(1, np.zeros(3), (np.zeros(5), np.zeros((4, 2)))) == 8
    assert per_row(10)(np.zeros(8), np.zeros(3), 7) == 30
    assert per_element(10, 1)(7, np.zeros(3), np.zeros(5)) == 30
    assert per_element(2, 1, 2, 2)(7, np.zeros(3), np.zeros(5)) == 150

"""From the network to the circuit: what is derived for many nodes in one go is what each leaf says of itself."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from unlearnspn import SPN, Bernoulli, Exponential, Gaussian, Histogram, Operation, threads
from unlearnspn.circuit.expressions import Input, Product
from unlearnspn.spn import derive

pytestmark = pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning")


def table():
    """Return a table of numbers, categories, what is both of them almost, and missing values."""
    frame = load_wine(as_frame=True).frame.astype({"target": "str"})
    rng = np.random.default_rng(0)
    frame["sweet"] = rng.random(len(frame)) < 0.3
    frame["cellar"] = [f"cellar {number}" for number in rng.integers(0, 3, len(frame))]
    frame["label"] = [f"label {number}" for number in range(len(frame))]  # more than there are codes for
    return frame.mask(rng.random(frame.shape) < 0.05)


SETTINGS = {
    "trees": {},
    "independent": {"factorization": "naive"},
    "own leaves": {"leaves": {"alcohol": Histogram(), "sweet": Bernoulli(), "proline": Exponential()}},
    "gaussians": {"factorization": "naive", "leaves": {"alcohol": Gaussian(min_std=0.2)}},
}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS)
def model(request):
    return SPN(min_rows=15, **request.param).fit(table())._model


def nodes_with_rows(node, rows):
    """Yield each node with the rows that it was learned from."""
    yield node, rows
    for child in node.children:
        yield from nodes_with_rows(child, child.gather_rows() if node.operation is Operation.SPLIT_DATA else rows)


def pending(model):
    """Return all nodes as if each were still to be derived."""
    holders = {id(model.root): None}
    for node in model.root.walk():
        keeps = node.rows is not None or node.operation is Operation.SPLIT_DATA
        holders |= {id(child): node if keeps else holders[id(node)] for child in node.children}
    found = []
    for node in model.root.walk():
        keeps = node.rows is not None or node.operation is Operation.SPLIT_DATA
        found.append(derive.Pending(b"", node, node if keeps else holders[id(node)], []))
    return found


def express_each(model, node, rows):
    """Return the expression of each leaf of a node, as the leaf gives it."""
    learner = model.learner
    for leaf in node.factors:
        statistics = learner.statistics_of(node, leaf, lambda: rows)
        yield learner.leaf(leaf.scope).express(statistics, learner.slice(leaf.scope, node.key))


def factors_of(part):
    return [*part.inputs.unpack(), *part.inner] if isinstance(part, Product) else [part]


def described(part):
    return part.unit, part.variable, part.parameters.tolist()


def test_leaves_that_follow_from_counts_are_what_they_say_of_themselves(model):
    nodes = list(nodes_with_rows(model.root, model.records.rows))
    counted = derive._counted_leaves(model.learner, [node for node, _ in nodes])
    n_counted = 0
    for (node, rows), inputs in zip(nodes, counted, strict=True):
        own = {leaf.variable: described(leaf) for leaf in express_each(model, node, rows) if isinstance(leaf, Input)}
        found = [described(part) for part in inputs.unpack()]
        assert found == [own[part[1]] for part in found]
        n_counted += len(found)
    assert n_counted > 0


def test_parameters_of_a_node_do_not_stay_when_it_goes(model):
    for inputs in derive._counted_leaves(model.learner, list(model.root.walk())):
        assert inputs.parameters.base is None


def test_leaves_keep_their_order(model):
    nodes = list(nodes_with_rows(model.root, model.records.rows))
    for (node, rows), each in zip(nodes, pending(model), strict=True):
        (counted,) = derive._counted_leaves(model.learner, [node])
        found = derive._express_leaves(model.learner, each, counted, {})
        inputs = [part for each in found for part in factors_of(each)]
        expected = [part for each in express_each(model, node, rows) for part in factors_of(each)]
        assert len(inputs) == len(expected)
        pairs = [(a, b) for a, b in zip(inputs, expected, strict=True) if isinstance(b, Input)]
        assert [described(a) for a, _ in pairs] == [described(b) for _, b in pairs]


def test_a_circuit_is_the_same_for_any_number_of_threads(monkeypatch):
    frame, layouts, done = table(), [], []

    def on_all_cores(function, jobs, sizes):
        done.append(len(jobs))
        return threads.on_all_cores(function, jobs, sizes)

    monkeypatch.setattr(derive, "on_all_cores", on_all_cores)
    monkeypatch.setattr(derive, "_LARGE", 1)
    for n_cores, many_rows in ((1, 4000), (3, 0)):
        monkeypatch.setattr(threads, "n_cores", lambda n_cores=n_cores: n_cores)
        monkeypatch.setattr(threads, "_MANY_ROWS", many_rows)
        spn = SPN(min_rows=15).fit(frame)
        layouts.append(spn.circuit_.layout)
        spn.unlearn([3, 4, 5])
        layouts.append(spn.circuit_.layout)
    alone, threaded = ([each.arrays() for each in pair] for pair in (layouts[:2], layouts[2:]))
    assert done
    for one, other in zip(alone, threaded, strict=True):
        assert {name: array.tobytes() for name, array in one.items()} == {
            name: array.tobytes() for name, array in other.items()
        }

"""Pictures, by what is drawn: boxes, words, lines, and that no text covers another one."""

import re
import subprocess
import sys
from collections import Counter
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import trapezoid
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError

from unlearnspn import SPN, InvalidTableError, Operation, SPNClassifier
from unlearnspn.plots import plot_joint, plot_marginal, plot_network, plot_removal
from unlearnspn.plots.joint_numbers import SHARES, region_levels
from unlearnspn.plots.touched import Touch, find_touches

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


def with_class(load):
    bunch = load(as_frame=True)
    return bunch.data.assign(target=[str(bunch.target_names[target]) for target in bunch.target])


def mixed_table(n_rows=400, seed=0):
    """Numbers, counts, words, numbers that are categories, and gaps; everything depends on a hidden group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame(
        {
            "height": rng.normal(np.where(group, 180, 165), 7),
            "visits": rng.poisson(np.where(group, 2, 9)).astype(float),
            "town": np.where(rng.random(n_rows) < 0.8, np.where(group, "Aachen", "Bonn"), "Trier"),
            "grade": rng.integers(1, 5, n_rows) + group,
        }
    )
    frame.loc[frame.index[:7], "height"] = np.nan
    frame.loc[frame.index[:11], "town"] = None
    return frame


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    return mixed_table()


@pytest.fixture(scope="module")
def model(table):
    return SPN(min_rows=100, categorical_features=["town", "grade"], leaves={"visits": "poisson"}).fit(table)


@pytest.fixture(scope="module")
def wine():
    return SPN(min_rows=50).fit(with_class(load_wine))


@pytest.fixture(scope="module")
def deep():
    """A network of some 400 nodes, up to 15 branches deep."""
    return SPN(min_rows=50, n_clusters=2, max_rounds=1).fit(with_class(load_breast_cancer))


# -- reading a picture -----------------------------------------------------------------------------------------------


def boxes(ax):
    return [text for text in ax.texts if text.get_bbox_patch() is not None]


def words(ax):
    return [text.get_text() for text in ax.texts]


def legend_words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def n_shared(ax):
    """How many leaves share a box with another one that is counted."""
    return sum(
        int(re.match(r"(\d+) leaves", text.get_text())[1]) - 1 for text in boxes(ax) if "leaves" in text.get_text()
    )


def n_folded(ax):
    captions = [text for text in words(ax) if re.match(r"[\d,]+ nodes? folded", text)]
    return sum(int(text.split()[0].replace(",", "")) for text in captions)


def extents(ax):
    """Where all text is, with the boxes around it, in pixels."""
    ax.figure.draw_without_rendering()
    artists = [text.get_bbox_patch() or text for text in ax.texts] + ax.get_legend().get_texts()
    return [artist.get_window_extent() for artist in artists]


def assert_readable(ax):
    places = extents(ax)
    figure = ax.figure.bbox
    for place in places:
        assert figure.x0 <= place.x0
        assert place.x1 <= figure.x1
        assert figure.y0 <= place.y0
        assert place.y1 <= figure.y1
    for one, other in combinations(places, 2):
        assert not one.overlaps(other)


# -- the network -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_depth", [None, 0, 1, 3])
@pytest.mark.parametrize("name", ["wine", "deep", "model"])
def test_every_node_has_a_box_shares_one_or_is_folded(name, max_depth, request):
    spn = request.getfixturevalue(name)
    ax = plot_network(spn, max_depth=max_depth)
    n_nodes = sum(1 for _ in spn.root_.walk())
    assert len(boxes(ax)) + n_shared(ax) + n_folded(ax) == n_nodes
    caption = words(ax)[-1]
    assert caption.startswith(f"{n_nodes} nodes")
    assert (f"{n_folded(ax)} folded" in caption) == (n_folded(ax) > 0)


@pytest.mark.parametrize("size", [None, (10, 6), (4, 3)])
@pytest.mark.parametrize("name", ["wine", "deep"])
def test_no_text_covers_another_one_at_any_size(name, size, request):
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    assert_readable(plot_network(request.getfixturevalue(name), ax=ax))


def test_a_large_network_is_unfolded_as_far_as_there_is_room(deep):
    assert sum(1 for _ in deep.root_.walk()) > 60
    small = plot_network(deep, ax=plt.subplots(figsize=(6, 5))[1])
    large = plot_network(deep)
    assert 1 < len(boxes(small)) < len(boxes(large))
    assert n_folded(small) > n_folded(large) > 0
    assert large.figure.get_size_inches()[1] <= 12.5


def test_a_small_network_is_drawn_with_all_its_numbers():
    spn = SPN(min_rows=60).fit(with_class(load_iris))
    ax = plot_network(spn)
    drawn = words(ax)
    inner = [view for view in spn.root_.walk() if view.operation is not Operation.CREATE_LEAF]
    for view in inner:
        assert f"{'+' if view.weights else '×'} {view.n_records}" in drawn  # noqa: RUF001
        assert all(f"{weight:.2f}" in drawn for weight in view.weights)
    assert n_folded(ax) == 0
    leaves = " ".join(text.get_text() for text in boxes(ax) if not re.match("[+×] ", text.get_text()))  # noqa: RUF001
    assert all(name in leaves for name in spn.circuit_.columns)


def test_the_legend_names_the_operations_that_occur(wine):
    present = {str(view.operation) for view in wine.root_.walk()} - {Operation.CREATE_LEAF}
    listed = legend_words(plot_network(wine))
    assert all(any(operation in line for line in listed) for operation in present)
    assert len(listed) == len(present) + 1
    alone = legend_words(plot_network(SPN().fit([[0.0], [1.0]])))
    assert alone == ["leaves"]


def test_nodes_with_many_records_are_unfolded_first(deep):
    ax = plot_network(deep, ax=plt.subplots(figsize=(10, 5))[1])
    drawn = {int(text.get_text()[2:]) for text in boxes(ax) if text.get_text()[0] == "+"}
    largest = sorted({view.n_records for view in deep.root_.walk() if view.weights})[-2:]
    assert drawn >= set(largest)


def test_a_part_of_a_network_can_be_drawn(wine):
    part = max(wine.root_.children, key=lambda view: len(view.scope))
    ax = plot_network(part)
    assert len(boxes(ax)) > 1
    assert words(ax)[-1].startswith(f"{sum(1 for _ in part.walk())} nodes")


def test_trees_have_a_box_of_their_own():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 300)
    frame = pd.DataFrame({f"c{j}": np.where(rng.random(300) < 0.9, first, 1 - first).astype(str) for j in range(4)})
    spn = SPN(min_rows=300, factorization="chow-liu").fit(frame)
    assert "chow-liu leaf of 4: c0, c1, c2, c3" in words(plot_network(spn))


def test_names_are_written_as_they_are_and_shortened():
    frame = pd.DataFrame(
        {"cost in $ and $": [1.0, 2.0, 4.0], "a name much longer than anyone could want": [3.0, 1.0, 2.0]}
    )
    ax = plot_network(SPN(factorization="naive").fit(frame))
    ax.figure.draw_without_rendering()
    assert "2 leaves: cost in $ and $, a name much l…uld want" in words(ax)


def test_axes_given_are_used(wine, model, table):
    figure, axes = plt.subplots(2, 2)
    before = wine.root_
    assert plot_network(wine, ax=axes[0, 0]) is axes[0, 0]
    assert plot_removal(before, wine.root_, ax=axes[0, 1]) is axes[0, 1]
    assert plot_marginal(model, "height", table, ax=axes[1, 0]) is axes[1, 0]
    assert plot_joint(model, "height", "visits", table, ax=axes[1, 1]) is axes[1, 1]
    assert plt.get_fignums() == [figure.number]


def test_what_has_no_network_is_refused(wine):
    with pytest.raises(TypeError, match="not of Circuit"):
        plot_network(wine.circuit_)
    with pytest.raises(NotFittedError):
        plot_network(SPN())
    for depth in (-1, 1.5, True):
        with pytest.raises(ValueError, match=r"max_depth=.* must be a whole number"):
            plot_network(wine, max_depth=depth)


# -- what a request touched ------------------------------------------------------------------------------------------


def requests(spn, frame, number, seed):
    """Yield the network before and after, and the report, of random removals, additions and corrections."""
    rng = np.random.default_rng(seed)
    gone = []
    for turn in range(number):
        before = spn.root_
        if turn % 5 == 3:
            report = spn.learn(frame.loc[gone[-1:]], ids=gone[-1:])
            gone.pop()
        elif turn % 5 == 4:
            chosen = rng.choice(spn.ids_, 2, replace=False).tolist()
            report = spn.rectify(frame.loc[chosen[::-1]], ids=chosen)
        else:
            chosen = rng.choice(spn.ids_, 15 if turn % 20 == 10 else 1, replace=False).tolist()
            report = spn.unlearn(chosen)
            gone.extend(chosen)
        yield before, spn.root_, report


def nodes_of_their_own(root):
    """Return the addresses of all nodes but the leaves of products, which are looked after by these: not visited."""
    below = (
        child.address
        for view in root.walk()
        for child in view.children
        if view.operation is Operation.SPLIT_DATA or child.operation is not Operation.CREATE_LEAF
    )
    return {root.address, *below}


def test_touches_agree_with_the_reports():
    frame = with_class(load_wine)
    spn = SPN(min_rows=50, n_clusters=2, max_rounds=1, n_bins=4).fit(frame)
    seen = Counter()
    for before, after, report in requests(spn, frame, 60, seed=1):
        touches = find_touches(before, after)
        assert touches == find_touches(before, after, report.recoded)
        assert touches.keys() == {view.address for view in after.walk()}
        numbers, nodes = Counter(touches.values()), nodes_of_their_own(after)
        changed = [change.address for change in report.changed_operations]
        assert sorted(changed) == sorted(address for address, touch in touches.items() if touch is Touch.CHANGED)
        roots = {
            child.address
            for view in after.walk()
            for child in view.children
            if touches[child.address] is Touch.LEARNED and touches[view.address] is Touch.VISITED
        } & nodes
        assert len(roots) + len(changed) + report.recoded == report.subnetworks_learned
        if report.recoded:
            assert numbers.keys() == {Touch.LEARNED}
        else:
            revised = {address for address in nodes if touches[address] in (Touch.VISITED, Touch.CHANGED)}
            # A visit tells of some nodes that too much has changed there.
            given_up = roots & nodes_of_their_own(before)
            assert len(revised) + len(given_up) == report.nodes_visited
        seen.update([*numbers, "recoded"] if report.recoded else numbers.keys())
    assert all(seen[kind] > 2 for kind in [*Touch, "recoded"])


def test_a_removal_is_drawn_in_colours_with_a_caption():
    frame = with_class(load_wine)
    spn = SPN(min_rows=50, n_bins=4).fit(frame)
    kinds = Counter()
    for before, after, report in requests(spn, frame, 6, seed=1):
        touches = find_touches(before, after)
        ax = plot_removal(before, after, report)
        numbers = Counter(touches.values())
        expected = [f"{touch} ({n} node{'s' * (n != 1)})" for touch in Touch if (n := numbers[touch])]
        assert legend_words(ax) == expected
        n_touched = len(touches) - numbers[Touch.UNTOUCHED]
        assert (
            any(text.endswith(f"{n_touched} of {len(touches)} nodes touched") for text in words(ax)) or report.recoded
        )
        assert (
            any(text.startswith(f"{report.records_removed} record") for text in words(ax)) or not report.records_removed
        )
        shown = [text for text in words(ax) if "→" in text]
        assert len(shown) == min(3, len(report.changed_operations))
        assert len(boxes(ax)) + n_shared(ax) + n_folded(ax) == len(touches)
        colours = {text.get_bbox_patch().get_edgecolor() for text in boxes(ax)}
        if not n_folded(ax):
            assert len(colours) == len(numbers)
        kinds.update(numbers.keys())
        if n_touched < len(touches):
            assert_readable(ax)
        plt.close(ax.figure)
    assert len(kinds) == len(Touch)


def test_in_large_networks_what_was_touched_is_unfolded_first():
    spn = SPN(min_rows=50).fit(with_class(load_breast_cancer))
    before = spn.root_
    report = spn.unlearn([100])
    touches = find_touches(before, spn.root_)
    n_touched = sum(touch is not Touch.UNTOUCHED for touch in touches.values())
    assert n_touched < len(touches) / 2
    ax = plot_removal(before, spn, report)
    assert_readable(ax)
    assert n_folded(ax) > 0
    faded = ax.get_legend().get_patches()[0].get_edgecolor()
    n_in_colour = sum(text.get_bbox_patch().get_edgecolor() != faded for text in boxes(ax))
    assert n_in_colour / len(boxes(ax)) > 2 * n_touched / len(touches)


def test_a_removal_that_cannot_be_shown_is_refused():
    spn = SPN(min_rows=50).fit(with_class(load_wine))
    before = spn.root_
    rehearsed = spn.unlearn([3], dry_run=True)
    with pytest.raises(ValueError, match="dry run"):
        plot_removal(before, spn, rehearsed)
    report = spn.unlearn([3])
    with pytest.raises(ValueError, match="same network"):
        plot_removal(spn, spn)
    with pytest.raises(ValueError, match="same network"):
        plot_removal(spn.root_, spn.root_, report)
    assert legend_words(plot_removal(spn.root_, spn.root_))[0].startswith("untouched")


# -- one column ------------------------------------------------------------------------------------------------------


def area(line):
    return trapezoid(line.get_ydata(), line.get_xdata())


@pytest.mark.parametrize("leaf", ["gaussian", "log-normal", "exponential", "histogram"])
@pytest.mark.parametrize("with_data", [True, False])
def test_the_density_drawn_integrates_to_one(leaf, with_data):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.lognormal(1, 0.7, 500), "b": rng.normal(size=500)})
    spn = SPN(min_rows=100, leaves={"a": leaf}).fit(frame)
    ax = plot_marginal(spn, "a", frame if with_data else None)
    assert area(ax.lines[0]) == pytest.approx(1, abs=5e-3)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "density")
    assert legend_words(ax) == ["model", "data: 500 rows"][: 1 + with_data]
    if with_data:
        heights = [(bar.get_width(), bar.get_height()) for bar in ax.patches]
        assert sum(width * height for width, height in heights) == pytest.approx(1)


def test_narrow_peaks_are_not_missed():
    rng = np.random.default_rng(4)
    values = np.concatenate([np.zeros(900), rng.uniform(0, 1e6, 100)])
    spn = SPN(min_rows=50, min_std=1e-5).fit(pd.DataFrame({"a": values, "b": (values > 0).astype(float)}))
    ax = plot_marginal(spn, "a")
    assert area(ax.lines[0]) == pytest.approx(1, abs=0.02)
    assert len(ax.lines[0].get_xdata()) < 2000


def test_the_line_is_the_density_of_the_model(model):
    line = plot_marginal(model, "height").lines[0]
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert (np.diff(x) > 0).all()
    assert np.array_equal(y, np.exp(model.marginal("height").score_samples(x.reshape(-1, 1))))


def test_counts_have_probabilities(model, table):
    ax = plot_marginal(model, "visits", table)
    assert ax.get_ylabel() == "probability"
    assert sum(ax.lines[0].get_ydata()) == pytest.approx(1, abs=5e-3)
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1)


def test_categories_have_bars(model, table):
    ax = plot_marginal(model, "town", table)
    names = [text.get_text() for text in ax.get_yticklabels()]
    data, probabilities = ([bar.get_width() for bar in container] for container in ax.containers)
    assert set(names) == {"Aachen", "Bonn", "Trier"}
    assert probabilities == sorted(probabilities, reverse=True)
    for name, share, probability in zip(names, data, probabilities, strict=True):
        assert probability == pytest.approx(model.probability({"town": name}))
        assert share == pytest.approx((table["town"] == name).sum() / table["town"].notna().sum())
    assert "data: 400 rows, 11 missing" in legend_words(ax)


def test_numbers_as_categories_keep_their_order(model):
    ax = plot_marginal(model, "grade")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "2", "3", "4", "5"]


def test_many_categories_are_shown_together():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"c": [f"k{int(k)}" for k in rng.geometric(0.08, 2000)], "n": rng.normal(size=2000)})
    spn = SPN().fit(frame)
    ax = plot_marginal(spn, "c", frame)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == 20
    assert names[-1] == f"{frame['c'].nunique() - 19} others"
    for container in ax.containers:
        assert sum(bar.get_width() for bar in container) == pytest.approx(1, abs=1e-3)


def test_a_conditional_distribution_can_be_drawn(model, table):
    given = model.condition({"visits": 4.0})
    line = plot_marginal(given, "visits", table).lines[0]
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([4.0], [pytest.approx(1.0)])
    assert area(plot_marginal(given, "height").lines[0]) == pytest.approx(1, abs=5e-3)


def test_data_come_in_any_kind_of_table(model, table):
    expected = [bar.get_height() for bar in plot_marginal(model, "visits", table).patches]
    as_array = table[["height", "visits"]].to_numpy()
    numbers = SPN(min_rows=100, leaves={"x1": "poisson"}).fit(as_array)
    for spn, column, data in [
        (model, "visits", pl.from_pandas(table[["visits"]])),
        (numbers, "x1", as_array),
        (numbers, "x1", table[["visits"]].rename(columns={"visits": "x1"})),
    ]:
        assert [bar.get_height() for bar in plot_marginal(spn, column, data).patches] == expected


def test_a_classifier_shows_its_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    classifier = SPNClassifier(min_rows=50).fit(X, y)
    ax = plot_marginal(classifier, "target")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2"]
    assert len(plot_joint(classifier, "petal width (cm)", "target", X.assign(target=y)).get_yticklabels()) == 3


def test_columns_without_values_or_unseen_categories_are_drawn(model, table):
    nothing = table.assign(height=np.nan)
    ax = plot_marginal(model, "height", nothing)
    assert legend_words(ax) == ["model"]
    assert not ax.patches
    ax = plot_marginal(model, "town", table.assign(town="Ulm"))
    assert [bar.get_width() for bar in ax.containers[0]] == [0, 0, 0]


def test_columns_and_data_that_do_not_fit_are_refused(model, table):
    with pytest.raises(InvalidTableError, match="there is no column 'age'"):
        plot_marginal(model, "age")
    with pytest.raises(InvalidTableError, match="the data have no column 'height'; their columns are 'visits'"):
        plot_marginal(model, "height", table[["visits"]])
    with pytest.raises(InvalidTableError, match="3 columns without names, but the model has 4"):
        plot_marginal(model, "height", np.zeros((5, 3)))
    with pytest.raises(InvalidTableError, match="held number values"):
        plot_marginal(model, "height", table.assign(height="tall"))
    with pytest.raises(TypeError, match="of an SPN or a Circuit, not of DataFrame"):
        plot_marginal(table, "height")


# -- two columns -----------------------------------------------------------------------------------------------------


def test_regions_hold_what_the_legend_says(wine):
    circuit = wine.marginal(["alcohol", "proline"])
    levels = region_levels(circuit)
    densities = np.exp(circuit.score_samples(circuit.sample(20_000, random_state=99)))
    for share, level in zip(SHARES, levels, strict=True):
        assert (densities > level).mean() == pytest.approx(share, abs=0.015)


def test_two_numbers_are_regions_and_points(wine):
    frame = with_class(load_wine)
    ax = plot_joint(wine, "alcohol", "proline", frame)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("alcohol", "proline")
    assert legend_words(ax) == ["25 %", "50 %", "75 %", "95 %", "data: 178 rows"]
    points = ax.collections[-1].get_offsets()
    assert np.array_equal(points, frame[["alcohol", "proline"]].to_numpy())
    contours = ax.collections[0]
    assert np.array_equal(contours.levels[:4], region_levels(wine.marginal(["alcohol", "proline"])))
    assert legend_words(plot_joint(wine, "alcohol", "proline"))[-1] == "95 %"


def test_many_points_are_thinned():
    frame = pd.DataFrame(np.random.default_rng(6).normal(size=(5000, 2)), columns=["a", "b"])
    ax = plot_joint(SPN(min_rows=2500).fit(frame), "a", "b", frame)
    assert len(ax.collections[-1].get_offsets()) <= 2000
    assert legend_words(ax)[-1] == "data: 5,000 rows,\none in 3 drawn"


@pytest.mark.parametrize("columns", [("height", "visits"), ("visits", "height")])
def test_counts_are_cells(model, table, columns):
    ax = plot_joint(model, *columns, table)
    cells = ax.collections[0].get_coordinates()
    side = cells[0, :, 0] if columns[0] == "visits" else cells[:, 0, 1]
    assert np.array_equal(np.diff(side), np.ones(len(side) - 1))
    assert legend_words(ax)[-1] == "data: 400 rows, 7 missing"


def test_flat_densities_have_regions_too():
    frame = pd.DataFrame(np.random.default_rng(7).uniform(size=(300, 2)), columns=["a", "b"])
    spn = SPN(min_rows=300, leaves={"a": "histogram", "b": "histogram"}).fit(frame)
    ax = plot_joint(spn, "a", "b")
    assert (np.diff(ax.collections[0].levels) > 0).all()


def test_two_categories_are_a_table_in_percent(model, table):
    ax = plot_joint(model, "town", "grade", table)
    rows = [text.get_text() for text in ax.get_yticklabels()]
    columns = [text.get_text() for text in ax.get_xticklabels()]
    assert len(words(ax)) == len(rows) * len(columns) == 15
    observed = table.dropna(subset=["town"])
    for text in ax.texts:
        column, row = (round(place) for place in text.get_position())
        town, grade = rows[row], int(columns[column])
        shares = re.fullmatch(r"([\d.<]+)\n\(([\d.<]+)\)", text.get_text())
        probability = model.probability({"town": town, "grade": grade})
        share = ((observed["town"] == town) & (observed["grade"] == grade)).mean()
        for written, value in zip(shares.groups(), (probability, share), strict=True):
            assert float(written.strip("<")) == pytest.approx(100 * value, abs=0.0501)
    assert sum(float(text.split("\n")[0].strip("<")) for text in words(ax)) == pytest.approx(100, abs=0.5)
    assert ax.get_xlabel() == "grade\n(percent, data in brackets)"
    assert "(" not in "".join(words(plot_joint(model, "town", "grade")))


@pytest.mark.parametrize("columns", [("height", "town"), ("town", "height"), ("visits", "grade")])
def test_a_number_and_a_category_are_densities_in_rows(model, table, columns):
    ax = plot_joint(model, *columns, table)
    number, category = columns if columns[0] in ("height", "visits") else columns[::-1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (number, category)
    labels = [text.get_text().split("\n") for text in ax.get_yticklabels()]
    curves = [line for line in ax.lines if line.get_color() != "#B0B0B0"]
    assert len(curves) == len(labels) == len(model.circuit_.categories(category))
    for row, ((name, share), curve) in enumerate(zip(labels, curves, strict=True)):
        value = int(name) if category == "grade" else name
        heights = row - np.asarray(curve.get_ydata())
        assert 0 <= heights.min() < heights.max() <= 0.89
        given = model.condition({category: value}).marginal(number)
        densities = np.exp(given.score_samples(np.asarray(curve.get_xdata()).reshape(-1, 1)))
        assert np.allclose(heights / heights.max(), densities / densities.max(), atol=1e-12)
        assert f"{100 * model.probability({category: value}):.0f}" in {share[:-2], str(round(float(share[:-2])))}
    n_missing = table[list(columns)].isna().any(axis=1).sum()
    assert legend_words(ax)[0] == "model"
    assert legend_words(ax)[1] == "data: 400 rows" + (f", {n_missing} missing" if n_missing else "")


def test_one_column_is_no_pair(model):
    with pytest.raises(InvalidTableError, match="plot_marginal draws one"):
        plot_joint(model, "town", "town")


# -- without matplotlib ----------------------------------------------------------------------------------------------


def test_without_matplotlib_it_says_what_to_install(wine, monkeypatch):
    before = wine.root_
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plot_network(wine),
        lambda: plot_marginal(wine, "alcohol"),
        lambda: plot_joint(wine, "alcohol", "proline"),
        lambda: plot_removal(before, wine.root_),
    ):
        with pytest.raises(ImportError, match=re.escape("pip install 'unlearnspn[plot]'")):
            draw()


def test_importing_the_pictures_does_not_import_matplotlib():
    code = "import sys, unlearnspn.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Flat arrays: what a circuit is stored as and executed from.

Units stand in topological order, children before parents, the root last.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Input, Inputs, Normal, Product, Sum, Tree, Unit, mixture, product
from unlearnspn.circuit.tree_nodes import TreeNode, prune, unpack, unroll

Units = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int32]
Starts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layout:
    """All units of a circuit."""

    #: What each unit is, a `Unit`.
    units: npt.NDArray[np.uint8]
    #: The variable of each input; -1 for all others.
    variables: Indices
    #: Unit u has the children `children[child_starts[u]:child_starts[u + 1]]`, with weights in `log_weights` (0 below
    #: a product or a tree).
    child_starts: npt.NDArray[np.int64]
    children: Indices
    log_weights: Floats
    #: Unit u has the parameters `parameters[parameter_starts[u]:parameter_starts[u + 1]]`.
    parameter_starts: npt.NDArray[np.int64]
    parameters: Floats
    #: The nth tree has the nodes `tree_nodes[tree_starts[n]:tree_starts[n + 1]]`, see `Tree`.
    tree_starts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    tree_nodes: Indices = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    #: The nth joint normal has the variables `normal_variables[normal_starts[n]:normal_starts[n + 1]]`.
    normal_starts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    normal_variables: Indices = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        for each in fields(self):
            getattr(self, each.name).flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays come out of a pickle writeable; so they go through `__post_init__`, all of them, by their places.
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def __len__(self) -> int:
        return len(self.units)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays by name; those of trees and of joint normals only if there are any."""
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        left_out = (() if len(self.tree_nodes) else TREE_ARRAYS) + (() if len(self.normals) else NORMAL_ARRAYS)
        return {name: array for name, array in arrays.items() if name not in left_out}

    def same(self, other: Layout) -> bool:
        """Tell whether both hold the same bits."""
        if len(self.arrays()) != len(other.arrays()):
            return False
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)

    def children_of(self, unit: int) -> Indices:
        """Return the children of a unit."""
        return self.children[self.child_starts[unit] : self.child_starts[unit + 1]]

    def parameters_of(self, unit: int) -> Floats:
        """Return the parameters of a unit."""
        return self.parameters[self.parameter_starts[unit] : self.parameter_starts[unit + 1]]

    def with_weights(self, log_weights: Floats) -> Layout:
        """Return the same circuit with other weights."""
        return replace(self, log_weights=log_weights)

    def with_parameters(self, parameter_starts: npt.NDArray[np.int64], parameters: Floats) -> Layout:
        """Return the same circuit with other parameters."""
        return replace(self, parameter_starts=parameter_starts, parameters=parameters)

    @cached_property
    def inputs(self) -> npt.NDArray[np.int64]:
        """The units that are inputs."""
        return np.flatnonzero(is_input(self.units))

    @cached_property
    def trees(self) -> npt.NDArray[np.int64]:
        """The units that are trees."""
        return np.flatnonzero(self.units == Unit.TREE)

    def nodes_of(self, tree: int) -> Indices:
        """Return the lines of a tree's nodes, given its number among the trees."""
        return self.tree_nodes[self.tree_starts[tree] : self.tree_starts[tree + 1]]

    @cached_property
    def normals(self) -> npt.NDArray[np.int64]:
        """The units that are joint normals."""
        return np.flatnonzero(self.units == Unit.NORMAL)

    def normal_at(self, number: int) -> Normal:
        """Return a joint normal, given its number among them."""
        variables = self.normal_variables[self.normal_starts[number] : self.normal_starts[number + 1]]
        own, n = self.parameters_of(int(self.normals[number])), len(variables)
        factor = np.zeros((n, n))
        factor.flat[_below_diagonal(n)] = own[n:]
        return Normal(variables, own[:n], factor)

    def inputs_of(self, variable: int) -> npt.NDArray[np.int64]:
        """Return the inputs of one variable."""
        return np.flatnonzero(self.variables == variable)

    def categories_of(self, variable: int) -> Floats:
        """Return the log-probabilities that the inputs of a categorical variable have, a line for each."""
        starts = self.parameter_starts[self.inputs_of(variable)]
        length = self.parameter_starts[self.inputs_of(variable)[0] + 1] - starts[0]
        return self.parameters[starts[:, None] + np.arange(length)]


TREE_ARRAYS = ("tree_starts", "tree_nodes")
NORMAL_ARRAYS = ("normal_starts", "normal_variables")


def is_input(units: Units) -> npt.NDArray[np.bool_]:
    """Tell which units are inputs."""
    return (units > Unit.PRODUCT) & (units < Unit.TREE)


def lower(root: Expression) -> Layout:
    """Write an expression into arrays: every unit once, each product and each tree right after its inputs."""
    layout, trees, normals = _lower(root, whole=True)
    layout = _with_trees(layout, trees) if trees else layout
    return _with_normals(layout, normals) if normals else layout


class Outline(NamedTuple):
    """A circuit but for what is inside its trees and joint normals; these beside it, in the order of their units."""

    layout: Layout
    trees: list[Tree]
    normals: list[Normal]


def outline(root: Expression, known: Callable[[Sequence[Expression]], list[Outline]] | None = None) -> Outline:
    """Write an expression into arrays but for what is inside trees and joint normals.

    `known` returns the outlines of some expressions, and need not make anew what it has made before: it is asked for
    the parts of the mixtures at the top, as most of them are the same in one circuit and the next.
    """
    tops = [root] if isinstance(root, Sum) else [each for each in getattr(root, "inner", ()) if isinstance(each, Sum)]
    if not tops or known is None:
        return _lower(root, whole=False)
    parts = [part for top in tops for part in top.parts]
    found = iter(known(parts))
    mixed = {id(top): _outline_above([next(found) for _ in top.parts], top) for top in tops}
    if isinstance(root, Sum):
        return mixed[id(root)]
    assert isinstance(root, Product)
    inner = [mixed.get(id(each)) or outline(each) for each in root.inner]
    return _outline_above(inner, root)


def _outline_above(below: list[Outline], top: Sum | Product) -> Outline:
    """Return the outline of a sum or a product, given those of its parts, which come one after another."""
    layouts = [each.layout for each in below]
    ends = np.cumsum([len(layout) for layout in layouts])
    starts, own = np.concatenate([[0], ends]), top.inputs if isinstance(top, Product) else Inputs.pack([])
    children = np.concatenate([starts[-1] + np.arange(own.number), ends - 1])
    line = Inputs.join([own, _PRODUCT if isinstance(top, Product) else _SUM])
    weights = np.zeros(len(children)) if isinstance(top, Product) else np.array(top.log_weights)
    child_counts = [np.diff(layout.child_starts) for layout in layouts]
    child_counts.append(np.array([0] * own.number + [len(children)]))
    joined = Layout(
        np.concatenate([*(layout.units for layout in layouts), line.units]),
        np.concatenate([*(layout.variables for layout in layouts), line.variables]),
        starts_of(np.concatenate(child_counts)),
        np.concatenate(
            [layout.children + start for layout, start in zip(layouts, starts, strict=False)] + [children]
        ).astype(np.int32),
        np.concatenate([*(layout.log_weights for layout in layouts), weights]),
        starts_of(np.concatenate([*(np.diff(layout.parameter_starts) for layout in layouts), line.parameter_counts])),
        np.concatenate([*(layout.parameters for layout in layouts), line.parameters]),
    )
    trees = [tree for each in below for tree in each.trees]
    return Outline(joined, trees, [normal for each in below for normal in each.normals])


def _lower(root: Expression, whole: bool) -> Outline:
    places: dict[int, int] = {}
    units: list[Inputs] = []
    trees: list[Tree] = []
    normals: list[Normal] = []
    children, child_counts, log_weights = array("i"), array("q"), array("d")
    n_units = 0
    for part in _children_first(root):
        if isinstance(part, Input):
            units.append(Inputs.pack([part]))
        elif isinstance(part, Sum):
            units.append(_SUM)
            children.extend([places[id(child)] for child in part.parts])
            child_counts.append(len(part.parts))
            log_weights.extend(part.log_weights)
        elif isinstance(part, Tree) and not whole:
            units.append(_TREE)
            trees.append(part)
            child_counts.append(0)
        elif isinstance(part, Normal):
            units.append(_normal_line(part) if whole else _NORMAL)
            normals.append(part)
            child_counts.append(0)
        else:
            n_inputs = part.inputs.number
            inner = part.inner if isinstance(part, Product) else ()
            units += (part.inputs, _PRODUCT if isinstance(part, Product) else _tree_line(part))
            if isinstance(part, Tree):
                trees.append(part)
            children.extend(range(n_units, n_units + n_inputs))
            children.extend([places[id(child)] for child in inner])
            child_counts.append(n_inputs + len(inner))
            log_weights.frombytes(bytes(8 * (n_inputs + len(inner))))
            n_units += n_inputs
        places[id(part)] = n_units
        n_units += 1
    return Outline(_layout(units, child_counts, children, log_weights), trees, normals)


def outline_of(layout: Layout) -> Outline:
    """Return what `outline` gives of the expression that was written into a layout."""
    if not len(layout.trees) and not len(layout.normals):
        return Outline(layout, [], [])
    counts = np.diff(layout.parameter_starts)
    trees = [_tree_at(layout, number, unit, counts) for number, unit in enumerate(layout.trees.tolist())]
    users = np.repeat(layout.units, np.diff(layout.child_starts))
    keep = ~is_input(layout.units)
    keep[layout.children[users != Unit.TREE]] = True
    keep[-1] = True
    is_plain = keep & (layout.units != Unit.TREE) & (layout.units != Unit.NORMAL)
    child_counts = np.where(is_plain, np.diff(layout.child_starts), 0)[keep]
    parameter_counts = np.where(is_plain, counts, 0)
    left = Layout(
        layout.units[keep],
        layout.variables[keep],
        starts_of(child_counts),
        (np.cumsum(keep) - 1)[layout.children[users != Unit.TREE]].astype(np.int32),
        layout.log_weights[users != Unit.TREE],
        starts_of(parameter_counts[keep]),
        layout.parameters[np.repeat(is_plain, counts)],
    )
    return Outline(left, trees, [layout.normal_at(number) for number in range(len(layout.normals))])


def _tree_at(layout: Layout, number: int, unit: int, counts: Starts) -> Tree:
    """Return a tree, given its number among the trees and among the units."""
    inputs = layout.children_of(unit)
    parameters = [layout.parameters_of(part) for part in inputs.tolist()]
    packed = Inputs(layout.units[inputs], layout.variables[inputs], counts[inputs], np.concatenate(parameters))
    return Tree(layout.nodes_of(number), layout.parameters_of(unit), packed)


def _layout(lines: list[Inputs], child_counts: array[int], children: array[int], log_weights: array[float]) -> Layout:
    units, variables, parameter_counts, parameters = (np.concatenate(arrays) for arrays in zip(*lines, strict=True))
    counts = np.zeros(len(units), np.int64)
    counts[~is_input(units)] = child_counts
    return Layout(
        units,
        variables,
        starts_of(counts),
        np.array(children, np.int32),
        np.array(log_weights, np.float64),
        starts_of(parameter_counts),
        parameters,
    )


def _with_trees(layout: Layout, trees: list[Tree]) -> Layout:
    counts = np.array([len(tree.nodes) for tree in trees], np.int64)
    return replace(layout, tree_starts=starts_of(counts), tree_nodes=np.concatenate([tree.nodes for tree in trees]))


def _with_normals(layout: Layout, normals: list[Normal]) -> Layout:
    variables = [normal.variables for normal in normals]
    counts = np.array([len(each) for each in variables], np.int64)
    return replace(layout, normal_starts=starts_of(counts), normal_variables=np.concatenate(variables, dtype=np.int32))


def _normal_line(normal: Normal) -> Inputs:
    """Return the line of a joint normal."""
    own = np.concatenate([normal.mean, normal.factor.flat[_below_diagonal(len(normal.mean))]])
    return Inputs(np.array([Unit.NORMAL], np.uint8), np.array([-1], np.int32), np.array([own.size], np.int64), own)


@cache
def _below_diagonal(n: int) -> npt.NDArray[np.intp]:
    """Return the places of a lower triangle in a square, line by line."""
    return np.flatnonzero(np.tri(n))


def _tree_line(tree: Tree) -> Inputs:
    """Return the line of a tree, after those of its inputs."""
    n_parameters = np.array([tree.log_tables.size], np.int64)
    return Inputs(np.array([Unit.TREE], np.uint8), np.array([-1], np.int32), n_parameters, tree.log_tables)


def _inner(unit: Unit) -> Inputs:
    """Return the line of a sum, a product, or of a tree or a joint normal that is not looked into."""
    return Inputs(np.array([unit], np.uint8), np.array([-1], np.int32), np.zeros(1, np.int64), np.zeros(0))


_SUM, _PRODUCT, _TREE, _NORMAL = map(_inner, (Unit.SUM, Unit.PRODUCT, Unit.TREE, Unit.NORMAL))


def starts_of(counts: npt.NDArray[np.int64]) -> Starts:
    """Return where each of several runs starts that have so many elements, and at the end where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _children_first(root: Expression) -> list[Expression]:
    """List every part once but for the inputs of products and trees, children before parents; circuits may be deep."""
    order: list[Expression] = []
    seen: set[int] = set()
    pending: list[tuple[Expression, bool]] = [(root, False)]
    while pending:
        part, ready = pending.pop()
        if ready:
            order.append(part)
        elif id(part) not in seen:
            seen.add(id(part))
            pending.append((part, True))
            if isinstance(part, Sum | Product):
                below = part.parts if isinstance(part, Sum) else part.inner
                pending.extend((child, False) for child in reversed(below))
    return order


def lift(
    layout: Layout,
    change: Callable[[int, Input], Expression] = lambda unit, part: part,
    tree: Callable[[list[TreeNode]], Expression] = prune,
    normal: Callable[[int, Normal], Expression] = lambda unit, part: part,
) -> Expression:
    """Read an expression out of arrays, pruning anew, with inputs and trees exchanged for what is made of them."""
    uses = np.bincount(layout.children, minlength=len(layout))
    made: list[Expression] = []
    n_trees = n_normals = 0
    for unit, kind in enumerate(layout.units.tolist()):
        start, end = layout.child_starts[unit], layout.child_starts[unit + 1]
        parts = [made[child] for child in layout.children[start:end].tolist()]
        if kind == Unit.SUM:
            part = mixture(parts, layout.log_weights[start:end].tolist())
        elif kind == Unit.PRODUCT:
            part = product(parts)
        elif kind == Unit.TREE:
            part = tree(unpack(layout.nodes_of(n_trees), layout.parameters_of(unit), parts))
            n_trees += 1
        elif kind == Unit.NORMAL:
            part = normal(unit, layout.normal_at(n_normals))
            n_normals += 1
        else:
            part = change(unit, Input(Unit(kind), int(layout.variables[unit]), layout.parameters_of(unit)))
        # A tree's parts are shared, whoever mixes them.
        if isinstance(part, Sum) and uses[unit] > 1 and not part.shared and kind != Unit.TREE:
            part = Sum(part.parts, part.log_weights, shared=True)
        made.append(part)
    return made[-1]


def unrolled(layout: Layout) -> Layout:
    """Return the same distribution with sums and products in place of trees."""
    return lower(lift(layout, tree=_plain_parts)) if len(layout.trees) else layout


def _plain_parts(nodes: list[TreeNode]) -> Expression:
    """Return a tree as sums and products, pruned if there is something to prune."""
    plain, tables = unroll(nodes), [node.log_table for node in nodes if node.log_table is not None]
    is_pruned = all(table.shape[1] > 1 and bool((table > -np.inf).all()) for table in tables)
    return plain if is_pruned else lift(lower(plain))

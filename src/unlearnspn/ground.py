"""What compiled code stands on: the records, their coding, and the settings of the learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import typeof, types
from numba.experimental import structref

from unlearnspn.arrays import first_reaching
from unlearnspn.clustering.space import Space, line_offsets
from unlearnspn.coding import Codes, Features, Levels
from unlearnspn.compiling import kernel
from unlearnspn.exact_sum import Bits, Rows, Words
from unlearnspn.hashing import Keys
from unlearnspn.pair_tables import shift_pairs_hash, shift_values_hash
from unlearnspn.slices import Counts, Flags, Scope


@structref.register
class GroundType(types.StructRef):
    """The compiler's view of a `Ground`: a pointer, so that it costs next to nothing to hand it on."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Forget about literal types."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class Ground(structref.StructRefProxy):
    """What a walk needs to know besides the network."""

    __slots__ = ("__dict__", "_numba_type_")

    codes: Codes
    features: Features
    bits: Bits
    #: The levels by halves of words, and how many halves each takes: one type, so that kernels are compiled once.
    levels: Levels
    level_width: int
    keys: Keys
    live: Flags
    is_numeric: Flags
    place: Counts
    sizes: Counts
    prints: Keys
    #: The limbs of each variable's sums, see `Window`.
    windows: Counts
    #: Whether a code of a variable may stand for different values.
    hides: Flags
    #: How each variable's leaves keep their statistics, and whether it can be part of a tree.
    leaf_kinds: npt.NDArray[np.uint8]
    joins_tree: Flags
    #: Whether compiled code can ask all questions, and whether the answers are kept.
    is_compiled: bool
    keeps_answers: bool
    min_rows: int
    cut: float
    #: Among more records than this the independence test keeps tables.
    tables_above: int
    logs: Counts
    n_clusters: int
    #: None if there are none, so that nothing of them is compiled.
    max_rounds: int | None
    #: The lattice's spacing among so many variables.
    spacings: Counts

    @classmethod
    def of(cls, *fields: Any) -> Ground:
        """Make a ground that is handed to compiled code only when that is called."""
        ground = object.__new__(cls)
        vars(ground).update(zip(cls.__annotations__, fields, strict=True))
        return ground

    def __getattr__(self, name: str) -> Any:
        """Return the type, by which kernels are chosen, or what compiled code is handed, once it is asked for.

        When kernels are chosen what they are handed is made, too, for they could not bear a failure.
        """
        if name == "_numba_type_":
            _ = self._meminfo
            value = self._type
        elif name == "_type":
            value = _type_of(self)
        elif name == "_meminfo":
            value = make_ground(*vars(self).values())._meminfo
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value


def _type_of(ground: Ground) -> GroundType:
    """Return the type of a ground; to find those of its fields takes longer than to see that they are as before."""
    fields = vars(ground)
    kinds = tuple([_kind_of(value) for value in fields.values()])
    if kinds not in _KNOWN_TYPES:
        _KNOWN_TYPES[kinds] = GroundType([(name, typeof(value)) for name, value in fields.items()])
    return _KNOWN_TYPES[kinds]


def _kind_of(value: Any) -> object:
    """Return what the type of a value follows from."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    return type(value)


#: By the kinds of a ground's fields.
_KNOWN_TYPES: dict[tuple[object, ...], GroundType] = {}

structref.define_proxy(Ground, GroundType, list(Ground.__annotations__))


@kernel
def make_ground(
    codes: Codes,
    features: Features,
    bits: Bits,
    levels: Levels,
    level_width: int,
    keys: Keys,
    live: Flags,
    is_numeric: Flags,
    place: Counts,
    sizes: Counts,
    prints: Keys,
    windows: Counts,
    hides: Flags,
    leaf_kinds: npt.NDArray[np.uint8],
    joins_tree: Flags,
    is_compiled: bool,
    keeps_answers: bool,
    min_rows: int,
    cut: float,
    tables_above: int,
    logs: Counts,
    n_clusters: int,
    max_rounds: int | None,
    spacings: Counts,
) -> Ground:
    """Make a ground; compiled, so that the constructor comes from the cache."""
    return Ground(
        codes,
        features,
        bits,
        levels,
        level_width,
        keys,
        live,
        is_numeric,
        place,
        sizes,
        prints,
        windows,
        hides,
        leaf_kinds,
        joins_tree,
        is_compiled,
        keeps_answers,
        min_rows,
        cut,
        tables_above,
        logs,
        n_clusters,
        max_rounds,
        spacings,
    )


@kernel
def space_of(ground: Ground, scope: Scope, key: np.uint64) -> Space:
    """Return where the rows of a node lie."""
    return Space(
        ground.features,
        ground.keys,
        scope,
        ground.is_numeric,
        line_offsets(scope, ground.is_numeric, ground.sizes),
        ground.prints,
        key,
        ground.n_clusters,
        ground.spacings[scope.size],
        ground.max_rounds,
    )


@kernel
def tree_scope(ground: Ground, scope: Scope, informative: npt.NDArray[Any]) -> Scope:
    """Return the variables that form a tree, if some do: one that has no two values could tell nothing."""
    tree, n_joining = np.empty(scope.size, np.int64), 0
    for i in range(scope.size):
        if ground.joins_tree[scope[i]] and informative[i]:
            tree[n_joining] = scope[i]
            n_joining += 1
    return tree[:n_joining]


@kernel
def shift_tree(ground: Ground, words: Words, at: int, tree: Scope, rows: Rows, sign: int) -> None:
    """Count rows in, or out, in what is kept of a tree."""
    codes, prints = ground.codes, ground.prints
    shift_pairs_hash(words, at, codes, rows, tree, prints, sign)
    shift_values_hash(words, at + 2, codes, ground.bits, rows, tree, prints, ground.is_numeric, ground.place, sign)


@kernel
def _value(ground: Ground, row: int, v: int) -> int:
    """Return something that tells values of a variable apart; -1 for a missing one."""
    if not ground.is_numeric[v]:
        at = ground.level_width * ground.place[v]
        level = int(ground.levels[row, at])
        return level if ground.level_width == 1 else (int(ground.levels[row, at + 1]) << 16) | (level & 0xFFFF)
    bits = ground.bits[row, ground.place[v]]
    if (bits >> 52) & 0x7FF == 0x7FF:
        return -1
    return int(bits) if bits << 1 else 0  # zeros of either sign are equal


@kernel
def among(rows: Rows, row: int) -> bool:
    """Tell whether a row is among some, which are sorted."""
    place = first_reaching(rows, row)
    return bool(place < rows.size and rows[place] == row)


@kernel
def look_for_another(ground: Ground, rows: Rows, without: Rows, v: int, first: int) -> tuple[int, bool]:
    """Look for a value that differs from the first, which is the first one found if it is -1."""
    for row in rows:
        value = _value(ground, row, v)
        if value == -1 or value == first or (without.size and among(without, row)):
            continue
        if first != -1:
            return first, True
        first = value
    return first, False

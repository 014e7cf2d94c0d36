"""Coders turn raw values into small integers for the decisions about structure.

Preprocessing is part of the model: everything a coder knows (categories, bin edges, scale) is a function of the
records and is revised with them. Coders are immutable; a revision gives a new one.

Numeric columns: centre and scale are the exact mean and deviation, rounded to a coarse lattice, and so are the edges
of the bins; see `binning`.
Categorical columns: each category has a code for as long as a record has it. Codes depend on history, hence nothing
that is compared or released does: digests and random choices go by the category's own fingerprint.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain, count
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.binning import Between, Search, answered, lay_edges, search_crowd
from unlearnspn.hashing import Keys, derive_key, fingerprint
from unlearnspn.rows import number_codes
from unlearnspn.statistics.moments import Moments
from unlearnspn.tables import Category, token
from unlearnspn.tables.cells import rank

#: A feature of 4096 is one standard deviation of its column.
FEATURE_STD = number_codes.FEATURE_STD
FEATURE_LIMIT = number_codes.FEATURE_LIMIT
FEATURE_MISSING = number_codes.FEATURE_MISSING
#: Categorical columns with more categories than this are grouped by hash for the decisions about structure.
MAX_GROUPS = 32
#: A code is a byte; one of them is for missing values, and a usual value has a bin of its own between two others.
MOST_BINS = 252
#: The deviation of a usual value in steps of its column: 95 % of what is drawn is nearer to it than to another.
_USUAL_STD = 0.25

CENTRE_SPACING = 2.0
SMALLEST_SCALE = 2.0**-1022
_NO_DIGEST = bytes(blake2b.MAX_DIGEST_SIZE)
#: How many words a digest has.
DIGEST_WORDS = 8

#: What compiled code needs to know of a column: one line of words each, scale and centre by their bits.
IS_NUMERIC, PLACE, LEVELS_START, SCALE, CENTRE, N_FIELDS = range(6)

Columns = npt.NDArray[np.int64]
Digests = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.uint8]
Features = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class NumericCoder:
    """Bins and scale of a numeric column."""

    key: int
    n_bins: int
    #: The standard deviation, rounded down to a power of two; 1 if all values are equal.
    scale: float
    #: The mean, rounded to a multiple of two scales.
    centre: float
    edges: Floats
    #: A fingerprint for each code.
    prints: Keys
    #: Whether there are two different values.
    varies: bool
    #: The value that more than half of the records have, if there is one, and another.
    usual: float | None = None
    #: What values may be multiples of, and whether there is a usual value and all of them are.
    unit: float = 1.0
    on_grid: bool = False

    @classmethod
    def learn(
        cls, key: int, values: Floats, n_bins: int, moments: Moments, unit: float = 1.0
    ) -> tuple[NumericCoder, int]:
        """Learn from a whole column and its moments; return the slack as well, see `search_crowd`."""
        return answered(cls.search(key, n_bins, moments, unit), values)

    @classmethod
    def search(cls, key: int, n_bins: int, moments: Moments, unit: float) -> Search[tuple[NumericCoder, int]]:
        """Ask of a column's values what its coder follows from, given their moments."""
        scale, centre = _scale_and_centre(moments)
        crowd, slack = yield from search_crowd(moments.n, centre, scale)
        varies = bool(moments.spread())
        usual = crowd.usual if varies else None
        edges = lay_edges(crowd.centre, crowd.scale, n_bins, usual)
        coder = cls(key, n_bins, scale, centre, edges, _bin_prints(key, len(edges) + 2), varies, usual, unit)
        # Where all values are equal, any other may make theirs a usual one.
        on_grid = usual is not None and not (yield Between(unit))
        return coder.with_grid(on_grid), slack if varies else -1

    def with_grid(self, on_grid: bool) -> NumericCoder:
        """Return the coder that knows whether all values of the column are on a grid, if it has a usual one."""
        return replace(self, on_grid=on_grid)

    @property
    def usual_std(self) -> float:
        """The standard deviation of the usual value, infinite where the column has no grid."""
        return _USUAL_STD * self.unit if self.on_grid else math.inf

    def holds(self, moments: Moments, slack: int) -> bool:
        """Tell whether nothing changes, given the moments there will be, and what is left of the slack."""
        varies = bool(moments.spread())
        return (slack >= 0 or not varies) and self._is_laid_like(moments, varies)

    def _is_laid_like(self, moments: Moments, varies: bool) -> bool:
        return varies == self.varies and _scale_and_centre(moments) == (self.scale, self.centre)

    @property
    def n_codes(self) -> int:
        """Code 0 is missing, then one for each bin."""
        return len(self.edges) + 2

    def codes(self, values: Floats) -> Codes:
        """Return each value's bin."""
        return self._coded(values)[0]

    def features(self, values: Floats) -> Features:
        """Return each value in units of the scale from the centre, as an integer."""
        return self._coded(values)[1]

    def _coded(self, values: Floats) -> tuple[Codes, Features]:
        codes, features = np.zeros((len(values), 1), np.uint8), np.zeros((len(values), 1), np.int16)
        self.write_codes(values[:, np.newaxis], 0, np.arange(len(values)), codes, features, 0)
        return codes[:, 0], features[:, 0]

    def write_codes(
        self,
        values: Floats,
        place: int,
        rows: npt.NDArray[np.int64],
        codes: Codes,
        features: Features,
        variable: int,
    ) -> None:
        """Write codes and features of some rows of a column of values into a column of each."""
        number_codes.code_numbers(values, place, rows, self.edges, self.centre, self.scale, codes, features, variable)

    def codes_like(self, other: NumericCoder) -> bool:
        """Tell whether both coders give every value the same code and feature."""
        same_edges = self.edges is other.edges or np.array_equal(self.edges, other.edges)
        same_scale = self.scale == other.scale and self.centre == other.centre
        return same_edges and same_scale and self.usual == other.usual

    @cached_property
    def released(self) -> bytes:
        """Fingerprint of what the released model shows of this column: centre and scale, and its usual value."""
        usual = b"" if self.usual is None else struct.pack("<d?", self.usual, self.on_grid)
        return struct.pack("<dd", self.centre, self.scale) + usual

    @cached_property
    def kept(self) -> bytes:
        """Fingerprint of everything kept."""
        return self.edges.tobytes()


def _scale_and_centre(moments: Moments) -> tuple[float, float]:
    scale = 1.0
    if moments.n and moments.spread():
        scale = max(math.ldexp(1.0, moments.log2_variance() // 2), SMALLEST_SCALE)
    spacing = CENTRE_SPACING * scale
    if moments.n == 0 or not math.isfinite(spacing):
        return scale, 0.0
    mean = moments.mean()
    centre = float(np.floor(mean / spacing + 0.5)) * spacing
    return scale, centre if math.isfinite(centre) else mean


@lru_cache(1024)
def _bin_prints(key: int, n_codes: int) -> Keys:
    """Return the fingerprints of a numeric column's codes."""
    prints = np.array([derive_key(key, "bin", bytes([code])) for code in range(n_codes)], np.uint64)
    prints.setflags(write=False)
    return prints


@dataclass(frozen=True, eq=False)
class CategoricalCoder:
    """The categories of a column by code; a code that nobody uses any more is free (None)."""

    key: int
    categories: tuple[Category | None, ...]
    index: dict[bytes, int]
    category_prints: Keys
    #: What stands for each category of this column in the digest of the records, a line of words each.
    category_digests: Digests

    @classmethod
    def learn(cls, key: int, categories: Sequence[Category]) -> CategoricalCoder:
        """Learn the codes of the given distinct categories, in the order of their tokens."""
        return cls(key, (), {}, np.zeros(0, np.uint64), _no_digests(0)).extend(categories)

    @classmethod
    def by_code(cls, key: int, categories: Sequence[Category | None]) -> CategoricalCoder:
        """Return the coder that gives each category its place in a list as its code; None for codes that are free."""
        present = {code: category for code, category in enumerate(categories) if category is not None}
        return cls.learn(key, ())._with(present, len(categories))

    def extend(self, categories: Sequence[Category]) -> CategoricalCoder:
        """Give a code to every category that has none, free codes first."""
        new = [category for category in sorted(categories, key=token) if token(category) not in self.index]
        if not new:
            return self
        free = [code for code, category in enumerate(self.categories) if category is None]
        codes = chain(free, count(len(self.categories)))
        changed = dict(zip(codes, new, strict=False))
        return self._with(changed, len(self.categories) + max(0, len(new) - len(free)))

    def drop(self, codes: Sequence[int]) -> CategoricalCoder:
        """Forget the categories of some codes, which nobody has any more."""
        return self._with(dict.fromkeys(codes), len(self.categories)) if codes else self

    def _with(self, changed: Mapping[int, Category | None], n_codes: int) -> CategoricalCoder:
        """Return a coder with other categories, or none, for some codes; what stays is not hashed again."""
        by_code = [*self.categories, *([None] * (n_codes - len(self.categories)))]
        index, prints, digests = self.index.copy(), np.zeros(n_codes, np.uint64), _no_digests(n_codes)
        prints[: len(self.categories)], digests[: len(self.categories)] = self.category_prints, self.category_digests
        for code, category in changed.items():
            if (before := by_code[code]) is not None:
                del index[token(before)]
            by_code[code] = category
        codes, names = list(changed), [None if new is None else token(new) for new in changed.values()]
        index.update((name, code) for code, name in zip(codes, names, strict=True) if name is not None)
        prints[codes], digests[codes] = _name_categories(self.key, names)
        return CategoricalCoder(self.key, tuple(by_code), index, prints, digests)

    @property
    def n_levels(self) -> int:
        """How many categories there are now."""
        return len(self.index)

    @cached_property
    def canonical_codes(self) -> npt.NDArray[np.int64]:
        """The codes in use, in the canonical order of their categories: booleans, numbers by value, strings."""
        return np.array([code for _, code in self._in_order], np.int64)

    @cached_property
    def canonical_categories(self) -> tuple[Category, ...]:
        """The categories that there are now, in canonical order."""
        return tuple([category for (_, category), _ in self._in_order])

    @cached_property
    def _in_order(self) -> list[tuple[tuple[int, Category], int]]:
        """What the categories that there are now are sorted by, and the code of each."""
        return sorted([(rank(category), code) for code, category in enumerate(self.categories) if category is not None])

    @property
    def grouped(self) -> bool:
        """Whether there are too many categories for a code each."""
        return self.n_levels > MAX_GROUPS

    @property
    def n_codes(self) -> int:
        """Code 0 is missing, then one for each category, or for each group of them."""
        return 1 + (MAX_GROUPS if self.grouped else len(self.categories))

    def levels(self, categories: Sequence[Category], unknown: int = -2) -> Levels:
        """Return the codes of the given categories."""
        return np.array([self.index.get(token(category), unknown) for category in categories], np.int32)

    def codes(self, levels: Levels) -> Codes:
        """Return the code of each level for decisions about structure."""
        if not self.grouped:
            return (levels + 1).astype(np.uint8)
        groups = (self.category_prints % np.uint64(MAX_GROUPS)).astype(np.int64) + 1
        return np.where(levels < 0, 0, groups[levels]).astype(np.uint8)

    @property
    def crowded(self) -> bool:
        """Whether so many codes are free that those in use must be given out anew."""
        return not self.grouped and len(self.categories) > MAX_GROUPS

    def codes_like(self, other: CategoricalCoder) -> bool:
        """Tell whether both coders give every category they share the same code, among equally many."""
        return self.grouped == other.grouped and self.n_codes == other.n_codes

    @cached_property
    def prints(self) -> Keys:
        """A fingerprint for each code; that of a category does not depend on its code."""
        missing = np.array([derive_key(self.key, "missing")], np.uint64)
        return np.concatenate([missing, _group_prints(self.key) if self.grouped else self.category_prints])

    @cached_property
    def released(self) -> bytes:
        """Fingerprint of what the released model shows of this column: its categories."""
        return fingerprint(sorted(self.index))


@lru_cache(1024)
def _group_prints(key: int) -> Keys:
    """Return the fingerprints of groups of categories: always the same, and many."""
    prints = np.array([derive_key(key, "group", bytes([group])) for group in range(MAX_GROUPS)], np.uint64)
    prints.setflags(write=False)
    return prints


def _name_categories(key: int, names: Sequence[bytes | None]) -> tuple[Keys, Digests]:
    """Return fingerprint and digest of each category in the column that has this key, by its token; zeros for none.

    Digests are as long as BLAKE2b makes them: a record's are added up, and it takes all of that to tell sums apart.
    """
    salt = key.to_bytes(blake2b.SALT_SIZE, "little")
    prints = [0 if name is None else derive_key(key, "category", name) for name in names]
    digests = [_NO_DIGEST if name is None else blake2b(name, salt=salt).digest() for name in names]
    words = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return np.array(prints, np.uint64), words.reshape(-1, DIGEST_WORDS)


def _no_digests(number: int) -> Digests:
    return np.zeros((number, DIGEST_WORDS), np.uint64)


_NO_CATEGORIES = CategoricalCoder.learn(0, ())


Coder = NumericCoder | CategoricalCoder


@dataclass(frozen=True, eq=False)
class Encoding:
    """The coders of all variables, with what compiled code needs of them in arrays."""

    coders: tuple[Coder, ...]
    #: Number of codes of each variable.
    sizes: npt.NDArray[np.int64]
    #: Fingerprint of each code: one line for each variable, padded with zeros.
    prints: Keys
    #: Where each variable's levels start in one long list of them all, and their number at the end.
    level_starts: npt.NDArray[np.int64]
    #: Fingerprint of each level, in that list.
    level_prints: Keys
    #: What stands for each level in the digest of the records.
    level_digests: Digests
    _columns: Columns | None = None

    @classmethod
    def of(cls, coders: Sequence[Coder]) -> Encoding:
        """Gather coders."""
        lines = [coder.prints for coder in coders]
        prints = np.zeros((len(lines), max(map(len, lines))), np.uint64)
        for v, line in enumerate(lines):
            prints[v, : len(line)] = line
        categorical = [coder if isinstance(coder, CategoricalCoder) else _NO_CATEGORIES for coder in coders]
        return cls(
            tuple(coders),
            np.array([coder.n_codes for coder in coders], np.int64),
            prints,
            np.cumsum([0, *(len(coder.categories) for coder in categorical)]),
            np.concatenate([coder.category_prints for coder in categorical]),
            np.concatenate([coder.category_digests for coder in categorical]),
        )

    def __reduce__(self) -> tuple[Callable[[Sequence[Coder]], Encoding], tuple[tuple[Coder, ...]]]:
        # Everything else follows from the coders.
        return Encoding.of, (self.coders,)

    def columns(self, is_numeric: npt.NDArray[np.bool_], place: npt.NDArray[np.int64]) -> Columns:
        """Return what compiled code needs to know of the columns and of their coding."""
        if self._columns is None:
            columns = np.zeros((len(self.coders), N_FIELDS), np.int64)
            columns[:, IS_NUMERIC], columns[:, PLACE], columns[:, LEVELS_START] = (
                is_numeric,
                place,
                self.level_starts[:-1],
            )
            numbers = columns.view(np.float64)
            for v, coder in enumerate(self.coders):
                if isinstance(coder, NumericCoder):
                    numbers[v, SCALE], numbers[v, CENTRE] = coder.scale, coder.centre
            object.__setattr__(self, "_columns", columns)
        assert self._columns is not None
        return self._columns

    @cached_property
    def released(self) -> bytes:
        """Fingerprint of what the released model shows of the columns."""
        return fingerprint(coder.released for coder in self.coders)

    @cached_property
    def kept(self) -> bytes:
        """Fingerprint of everything kept."""
        numeric = [coder.kept for coder in self.coders if isinstance(coder, NumericCoder)]
        return fingerprint([self.released, *numeric])

    @cached_property
    def usual(self) -> tuple[npt.NDArray[np.int64], Floats, npt.NDArray[np.bool_]]:
        """The variables that have a usual value, with the unit of each, and whether all values are multiples of it."""
        found = [(v, coder) for v, coder in enumerate(self.coders) if isinstance(coder, NumericCoder)]
        found = [(v, coder) for v, coder in found if coder.usual is not None]
        return (
            np.array([v for v, _ in found], np.int64),
            np.array([coder.unit for _, coder in found]),
            np.array([coder.on_grid for _, coder in found], np.bool_),
        )

    def coming_from(self, before: Encoding) -> Encoding:
        """Return this encoding with the fingerprints of categories that are about to vanish still in place."""
        if self.prints is before.prints:
            return self
        return replace(self, prints=np.where(self.prints == 0, before.prints, self.prints), _columns=None)

    def codes_like(self, other: Encoding) -> bool:
        """Tell whether records coded by one need no recoding for the other."""
        return all(
            a is b or a.codes_like(b)  # type: ignore[arg-type]
            for a, b in zip(self.coders, other.coders, strict=True)
        )

    @property
    def most_categories(self) -> int:
        """How many codes the column with most categories has given out."""
        listed = [coder.categories for coder in self.coders if isinstance(coder, CategoricalCoder)]
        return max(map(len, listed), default=0)

    @property
    def crowded(self) -> bool:
        """Whether some column's codes must be given out anew."""
        return any(isinstance(coder, CategoricalCoder) and coder.crowded for coder in self.coders)

    def numeric(self, variable: int) -> NumericCoder:
        """Return the coder of a numeric variable."""
        coder = self.coders[variable]
        assert isinstance(coder, NumericCoder)
        return coder

    def categorical(self, variable: int) -> CategoricalCoder:
        """Return the coder of a categorical variable."""
        coder = self.coders[variable]
        assert isinstance(coder, CategoricalCoder)
        return coder

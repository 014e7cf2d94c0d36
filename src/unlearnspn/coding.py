"""Coders turn raw values into small integers for the decisions about structure.

Preprocessing is part of the model: everything a coder knows (categories, bin edges, scale) is a function of the
records and is revised with them. Coders are immutable; a revision gives a new one.

Numeric columns: the edges of the bins are the values of a few landmark records, those with the smallest keyed hash, so
a removal almost never moves an edge. Centre and scale are the exact mean and deviation, rounded to a coarse lattice.
Categorical columns: each category has a code for as long as a record has it. Codes depend on history, hence nothing
that is compared or released does: digests and random choices go by the category's own fingerprint.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from unlearnspn.exact_sum import Moments
from unlearnspn.hashing import Keys, derive_key, fingerprint, hash_counts
from unlearnspn.tables import Category, token

#: A feature of 4096 is one standard deviation of its column.
FEATURE_STD = 4096
FEATURE_LIMIT = 32767
FEATURE_MISSING = -32768
#: Categorical columns with more categories than this are grouped by hash for the decisions about structure.
MAX_GROUPS = 32

_CENTRE_SPACING = 4.0
_SMALLEST_SCALE = 2.0**-1022

Codes = npt.NDArray[np.uint8]
Features = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NumericCoder:
    """Bins and scale of a numeric column."""

    key: int
    moments: Moments
    n_landmarks: int
    landmarks: Keys
    edges: Floats
    #: A fingerprint for each code.
    prints: Keys

    @classmethod
    def learn(cls, key: int, values: Floats, hashes: Keys, n_bins: int) -> NumericCoder:
        """Learn from a whole column and its records' landmark hashes."""
        moments = Moments.of(values.reshape(-1, 1), np.arange(len(values)))
        prints = np.array([derive_key(key, "bin", bytes([code])) for code in range(n_bins + 1)], np.uint64)
        return cls(key, moments, n_bins - 1, *_pick_landmarks(values, hashes, n_bins - 1), prints)

    def revise(
        self,
        moments: Moments,
        values: Floats,
        hashes: Keys,
        remaining: Callable[[], tuple[Floats, Keys]],
    ) -> NumericCoder:
        """Take the moments there will be, and the values and landmark hashes of the records that leave or come."""
        landmarks, edges = self.landmarks, self.edges
        if self._touches(values, hashes):
            landmarks, edges = _pick_landmarks(*remaining(), self.n_landmarks)
        return NumericCoder(self.key, moments, self.n_landmarks, landmarks, edges, self.prints)

    def _touches(self, values: Floats, hashes: Keys) -> bool:
        """Tell whether a record with such a hash is, or would be, a landmark."""
        if self.landmarks.size == self.n_landmarks:
            near = hashes <= self.landmarks[-1]
            # Almost always nobody is near: that needs no look at the values.
            return bool(near.any() and not np.isnan(values[near]).all())
        return not np.isnan(values).all()

    @property
    def n_codes(self) -> int:
        """Code 0 is missing, then one for each bin."""
        return len(self.edges) + 2

    @cached_property
    def scale(self) -> float:
        """The standard deviation, rounded down to a power of two; 1 if all values are equal."""
        if self.moments.n == 0 or self.moments.spread() == 0:
            return 1.0
        return max(math.ldexp(1.0, self.moments.log2_variance() // 2), _SMALLEST_SCALE)

    @cached_property
    def centre(self) -> float:
        """The mean, rounded to a multiple of four scales."""
        spacing = _CENTRE_SPACING * self.scale
        if self.moments.n == 0 or not math.isfinite(spacing):
            return 0.0
        mean = self.moments.mean()
        centre = float(np.floor(mean / spacing + 0.5)) * spacing
        return centre if math.isfinite(centre) else mean

    def codes(self, values: Floats) -> Codes:
        """Return each value's bin."""
        bins = np.searchsorted(self.edges, values, side="left") + 1
        return np.where(np.isnan(values), 0, bins).astype(np.uint8)

    def features(self, values: Floats) -> Features:
        """Return each value in units of the scale from the centre, as an integer."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint((values - self.centre) / self.scale * FEATURE_STD)
        clipped = np.clip(scaled, -FEATURE_LIMIT, FEATURE_LIMIT)
        return np.where(np.isnan(values), FEATURE_MISSING, clipped).astype(np.int16)

    def codes_like(self, other: NumericCoder) -> bool:
        """Tell whether both coders give every value the same code and feature."""
        same_edges = self.edges is other.edges or np.array_equal(self.edges, other.edges)
        return same_edges and self.scale == other.scale and self.centre == other.centre

    @property
    def released(self) -> bytes:
        """Fingerprint of what the released model shows of this column: centre and scale."""
        return struct.pack("<dd", self.centre, self.scale)

    def kept(self) -> bytes:
        """Fingerprint everything kept."""
        return fingerprint([*self.moments.to_bytes(), self.landmarks.tobytes(), self.edges.tobytes()])


def _pick_landmarks(values: Floats, hashes: Keys, number: int) -> tuple[Keys, Floats]:
    observed = ~np.isnan(values)
    values, hashes = values[observed], hashes[observed]
    if hashes.size > number:
        chosen = np.argpartition(hashes, number - 1)[:number]
        values, hashes = values[chosen], hashes[chosen]
    return np.sort(hashes), np.unique(values)


@dataclass(frozen=True, eq=False)
class CategoricalCoder:
    """The categories of a column by code; a code that nobody uses any more is free (None)."""

    key: int
    categories: tuple[Category | None, ...]
    index: dict[bytes, int]
    category_prints: Keys
    #: 16 bytes that stand for each category in the digest of the records.
    category_digests: npt.NDArray[np.uint8]

    @classmethod
    def learn(cls, key: int, categories: Sequence[Category]) -> CategoricalCoder:
        """Learn the codes of the given distinct categories, in canonical order."""
        return cls(key, (), {}, np.zeros(0, np.uint64), np.zeros((0, 16), np.uint8)).extend(categories)

    def extend(self, categories: Sequence[Category]) -> CategoricalCoder:
        """Give a code to every category that has none, free codes first."""
        new = [category for category in sorted(categories, key=token) if token(category) not in self.index]
        if not new:
            return self
        by_code = list(self.categories)
        free = [code for code, category in enumerate(by_code) if category is None]
        for category in new:
            if free:
                by_code[free.pop(0)] = category
            else:
                by_code.append(category)
        return self._with(by_code)

    def drop(self, codes: Sequence[int]) -> CategoricalCoder:
        """Forget the categories of some codes, which nobody has any more."""
        if not codes:
            return self
        by_code = list(self.categories)
        for code in codes:
            by_code[code] = None
        return self._with(by_code)

    def _with(self, by_code: Sequence[Category | None]) -> CategoricalCoder:
        tokens = [None if category is None else token(category) for category in by_code]
        index = {name: code for code, name in enumerate(tokens) if name is not None}
        prints = [0 if name is None else derive_key(self.key, "category", name) for name in tokens]
        digests = [bytes(16) if name is None else blake2b(name, digest_size=16).digest() for name in tokens]
        table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)
        return CategoricalCoder(self.key, tuple(by_code), index, np.array(prints, np.uint64), table)

    @property
    def n_levels(self) -> int:
        """How many categories there are now."""
        return len(self.index)

    @cached_property
    def canonical_codes(self) -> npt.NDArray[np.int64]:
        """The codes in use, in the canonical order of their categories: booleans, numbers by value, strings."""
        present = [(_rank(category), code) for code, category in enumerate(self.categories) if category is not None]
        return np.array([code for _, code in sorted(present)], np.int64)

    @cached_property
    def canonical_categories(self) -> tuple[Category, ...]:
        """The categories that there are now, in canonical order."""
        by_code = [self.categories[code] for code in self.canonical_codes.tolist()]
        return tuple(category for category in by_code if category is not None)

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

    @property
    def prints(self) -> Keys:
        """A fingerprint for each code; that of a category does not depend on its code."""
        missing = np.array([derive_key(self.key, "missing")], np.uint64)
        if self.grouped:
            groups = [derive_key(self.key, "group", bytes([group])) for group in range(MAX_GROUPS)]
            return np.concatenate([missing, np.array(groups, np.uint64)])
        return np.concatenate([missing, self.category_prints])

    @cached_property
    def released(self) -> bytes:
        """Fingerprint of what the released model shows of this column: its categories."""
        return fingerprint(sorted(self.index))


def _rank(category: Category) -> tuple[int, Category]:
    """Return what categories of all types can be sorted by."""
    if isinstance(category, bool):
        return 0, category
    return (2 if isinstance(category, str) else 1), category


Coder = NumericCoder | CategoricalCoder


@dataclass(frozen=True, eq=False)
class Encoding:
    """The coders of all variables, with what kernels need of them in arrays."""

    coders: tuple[Coder, ...]
    #: Number of codes of each variable.
    sizes: npt.NDArray[np.int64]
    #: Fingerprint of each code: one line for each variable, padded with zeros.
    prints: Keys
    #: How many records have each level, one categorical variable after another.
    level_counts: npt.NDArray[np.int64]
    #: Where each variable's levels start in `level_counts`, and their number at the end.
    level_starts: npt.NDArray[np.int64]
    #: Fingerprint of each level, laid out like `level_counts`.
    level_prints: Keys
    #: 16 bytes that stand for each level in the digest of the records; zeros, last, for a missing one.
    level_digests: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, coders: Sequence[Coder]) -> Encoding:
        """Gather coders; nothing is counted yet."""
        lines = [coder.prints for coder in coders]
        prints = np.zeros((len(lines), max(map(len, lines))), np.uint64)
        for v, line in enumerate(lines):
            prints[v, : len(line)] = line
        sizes = np.array([coder.n_codes for coder in coders], np.int64)
        categorical = [coder if isinstance(coder, CategoricalCoder) else None for coder in coders]
        starts = np.cumsum([0, *(0 if coder is None else len(coder.categories) for coder in categorical)])
        counts = np.zeros(starts[-1], np.int64)
        nothing = CategoricalCoder.learn(0, ())
        levels = np.concatenate([(coder or nothing).category_prints for coder in categorical])
        digests = [(coder or nothing).category_digests for coder in categorical]
        digests.append(np.zeros((1, 16), np.uint8))
        return cls(tuple(coders), sizes, prints, counts, starts, levels, np.concatenate(digests))

    def revised(
        self,
        coders: Sequence[Coder],
        minus: npt.NDArray[np.int32],
        plus: npt.NDArray[np.int32],
        variables: npt.NDArray[np.int64],
    ) -> Encoding:
        """Take levels out and put others in, [row, column] for some variables; categories nobody has vanish."""
        encoding = self._with_coders(coders)
        counts, starts = encoding.level_counts.copy(), encoding.level_starts[variables]
        gone = (minus + starts)[minus >= 0]
        np.subtract.at(counts, gone, 1)
        np.add.at(counts, (plus + starts)[plus >= 0], 1)
        encoding = replace(encoding, level_counts=counts)
        vanished = np.unique(gone[counts[gone] == 0])
        return encoding._without_levels(vanished) if vanished.size else encoding

    def _with_coders(self, coders: Sequence[Coder]) -> Encoding:
        """Exchange the coders, at little cost if no category came or went; counts are kept."""
        same = all(
            new is old or (isinstance(new, NumericCoder) and new.n_codes == old.n_codes)
            for old, new in zip(self.coders, coders, strict=True)
        )
        if same:
            return replace(self, coders=tuple(coders))
        encoding = Encoding.of(coders)
        for v in range(len(coders)):
            old = self.level_counts[self.level_starts[v] : self.level_starts[v + 1]]
            start = encoding.level_starts[v]
            encoding.level_counts[start : start + old.size] = old
        return encoding

    def _without_levels(self, vanished: npt.NDArray[np.int64]) -> Encoding:
        owners = np.searchsorted(self.level_starts, vanished, side="right") - 1
        coders = list(self.coders)
        for v in np.unique(owners).tolist():
            codes = vanished[owners == v] - self.level_starts[v]
            coders[v] = self.categorical(v).drop(codes.tolist())
        return self._with_coders(coders)

    def kept(self) -> list[bytes]:
        """Fingerprint everything kept: each numeric column, and all levels with their counts."""
        numeric = [coder.kept() for coder in self.coders if isinstance(coder, NumericCoder)]
        return [*numeric, hash_counts(self.level_counts, self.level_prints)]

    def coming_from(self, before: Encoding) -> Encoding:
        """Return this encoding with the fingerprints of categories that are about to vanish still in place."""
        if self.prints is before.prints:
            return self
        return replace(self, prints=np.where(self.prints == 0, before.prints, self.prints))

    def codes_like(self, other: Encoding) -> bool:
        """Tell whether records coded by one need no recoding for the other."""
        return all(
            a is b or a.codes_like(b)  # type: ignore[arg-type]
            for a, b in zip(self.coders, other.coders, strict=True)
        )

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

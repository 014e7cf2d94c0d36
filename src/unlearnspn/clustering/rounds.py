"""What a run of Q-k-means keeps, in words, so that it can be revised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unlearnspn.arrays import put
from unlearnspn.clustering.space import Lines, Space
from unlearnspn.compiling import kernel
from unlearnspn.exact_sum import Words
from unlearnspn.hashing import Keys, mix64
from unlearnspn.slices import Counts, Rows

_HEAD = 3  # how many seeds there are, how many rounds, and how many sizes


class Rounds(NamedTuple):
    """What a run keeps: the seeds' slots; each round's sums, counts and resulting centroids; the final sizes."""

    seeds: Rows
    counts: Lines
    sizes: Counts
    sums: Lines
    centroids: Lines


@kernel
def seeds_at(words: Words, start: int) -> Rows:
    """Return the seeds of what is kept in words from somewhere on."""
    return words[start + _HEAD : start + _HEAD + words[start]]


@kernel
def rounds_at(words: Words, start: int, width: int) -> Rounds:
    """Return what is kept in words from somewhere on, for lines of some width; nothing is copied."""
    n_seeds, n_rounds, n_sizes = words[start], words[start + 1], words[start + 2]
    seeds = start + _HEAD
    counts = seeds + n_seeds
    sizes = counts + n_rounds * n_seeds
    sums = sizes + n_sizes
    centroids = sums + n_rounds * n_seeds * width
    end = centroids + (n_rounds + 1) * n_seeds * width
    return Rounds(
        words[seeds:counts],
        words[counts:sizes].reshape(n_rounds, n_seeds),
        words[sizes:sums],
        words[sums:centroids].reshape(n_rounds, n_seeds, width),
        words[centroids:end].reshape(n_rounds + 1, n_seeds, width),
    )


@kernel
def length_of_rounds(words: Words, start: int, width: int) -> int:
    """Return how many words are kept from somewhere on, for lines of some width."""
    n_seeds, n_rounds, n_sizes = words[start], words[start + 1], words[start + 2]
    return int(_HEAD + n_seeds + n_rounds * n_seeds + n_sizes + (2 * n_rounds + 1) * n_seeds * width)


def line_width(words: Words) -> int:
    """Return the width of the lines of what is kept in words of their own."""
    n_seeds, n_rounds, n_sizes = words[:_HEAD].tolist()
    in_lines = words.size - _HEAD - n_seeds - n_rounds * n_seeds - n_sizes
    return int(in_lines // (n_seeds * (2 * n_rounds + 1)))


@kernel
def copy_lines(lines: Lines, copy: Lines) -> None:
    """Copy some lines."""
    for i in range(lines.shape[0]):
        put(copy[i], 0, lines[i])


@kernel
def copy_rounds(
    counts: Lines, sums: Lines, centroids: Lines, to_counts: Lines, to_sums: Lines, to_centroids: Lines
) -> None:
    """Copy some rounds to where there may be room for more."""
    copy_lines(counts, to_counts)
    for r in range(len(centroids)):
        copy_lines(centroids[r], to_centroids[r])
        if r < len(sums):
            copy_lines(sums[r], to_sums[r])


@kernel
def to_words(rounds: Rounds) -> Words:
    """Write what is kept as words."""
    seeds, counts, sizes, sums, centroids = rounds
    words = np.empty(_HEAD + seeds.size + counts.size + sizes.size + sums.size + centroids.size, np.int64)
    words[0], words[1], words[2] = seeds.size, len(counts), sizes.size
    kept = rounds_at(words, 0, centroids.shape[2])
    put(kept.seeds, 0, seeds)
    put(kept.sizes, 0, sizes)
    copy_rounds(counts, sums, centroids, kept.counts, kept.sums, kept.centroids)
    return words


@kernel
def _names(space: Space) -> Keys:
    """Return two hashes for each entry of a line: of the variable and the place, or of the category's fingerprint."""
    names = np.empty((2, space.offsets[-1]), np.uint64)
    for i in range(space.scope.size):
        v, start = space.scope[i], space.offsets[i]
        for entry in range(start, space.offsets[i + 1]):
            place = entry - start
            name = space.prints[v, 0] + np.uint64(place) if space.is_numeric[v] else space.prints[v, place]
            names[0, entry] = mix64(name)
            names[1, entry] = mix64(names[0, entry])
    return names


@kernel
def _hash_line(names: Keys, line: Counts) -> tuple[np.uint64, np.uint64]:
    """Hash a line, independently of the codes' order and of codes that nobody has."""
    low, high = np.uint64(0), np.uint64(0)
    for entry in range(line.size):
        value = np.uint64(line[entry])
        low += value * names[0, entry]
        high += value * names[1, entry]
    return low, high


@kernel
def describe_rounds(space: Space, rounds: Rounds) -> Words:
    """Return words that are equal exactly if what is kept is, whatever slots records and codes categories have."""
    names, (n_rounds, n_seeds, _) = _names(space), rounds.sums.shape
    words = np.empty(3 + n_seeds + rounds.counts.size + rounds.sizes.size + 2 * n_seeds * (2 * n_rounds + 1), np.int64)
    words[0], words[1], words[2] = n_seeds, n_rounds, rounds.sizes.size
    at = 3
    for seed in rounds.seeds:
        words[at] = np.int64(space.keys[seed])
        at += 1
    for counts in rounds.counts:
        put(words, at, counts)
        at += n_seeds
    put(words, at, rounds.sizes)
    at += rounds.sizes.size
    for lines in (rounds.sums, rounds.centroids):
        for r in range(len(lines)):
            for k in range(n_seeds):
                low, high = _hash_line(names, lines[r, k])
                words[at], words[at + 1] = np.int64(low), np.int64(high)
                at += 2
    return words

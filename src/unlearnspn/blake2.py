"""BLAKE2b (RFC 7693) in compiled code: of a message of words, and of many lines, added up, several at a time.

To call a library for a line takes longer than to digest it, and the processor can do the same to several lines at once:
compiled code takes a fifth of the time. Until it pays to compile it the library is called.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import inlined, kernel, late_kernel

Lines = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
_Words = tuple[np.uint64, ...]

#: How many words a digest has, and how many of a line are taken in at a time.
DIGEST_WORDS, BLOCK_WORDS = 8, 16
#: So many lines at a time, of which the compiler sees that it can do the same to several; of fewer it does not.
_LANES = 16
#: The fractions of the square roots of the first primes, by which words are stirred.
_ROOTS: _Words = (
    np.uint64(0x6A09E667F3BCC908),
    np.uint64(0xBB67AE8584CAA73B),
    np.uint64(0x3C6EF372FE94F82B),
    np.uint64(0xA54FF53A5F1D36F1),
    np.uint64(0x510E527FADE682D1),
    np.uint64(0x9B05688C2B3E6C1F),
    np.uint64(0x1F83D9ABFB41BD6B),
    np.uint64(0x5BE0CD19137E2179),
)
#: What says of a digest that it has 64 bytes, or 32, no key, and no other digests below.
_SETTINGS, _SHORT_SETTINGS = np.uint64(0x01010040), np.uint64(0x01010020)
_ALL_BITS = ~np.uint64(0)


def total_by_library(lines: Lines) -> Words:
    """Digest one line after another."""
    as_bytes = lines.view(f"V{lines.shape[1] * lines.itemsize}").ravel().tolist()
    digests = np.frombuffer(b"".join([blake2b(line).digest() for line in as_bytes]), "<u8")
    return np.asarray(digests.reshape(-1, DIGEST_WORDS).sum(axis=0, dtype=np.uint64))


@late_kernel(len, meanwhile=total_by_library)
def total_digest(lines: Lines) -> Words:
    """Return the sum of the digests of lines, word by word.

    >>> line = np.arange(3).reshape(1, 3)
    >>> total_digest(line).tobytes() == blake2b(line.tobytes()).digest()
    True
    """
    total = np.zeros(DIGEST_WORDS, np.uint64)
    states, blocks = np.zeros(DIGEST_WORDS * _LANES, np.uint64), np.zeros(BLOCK_WORDS * _LANES, np.uint64)
    for first in range(0, len(lines), _LANES):
        some = lines[first : first + _LANES]
        _digest(some, states, blocks)
        for k in range(DIGEST_WORDS):
            for lane in range(len(some)):
                total[k] += states[k * _LANES + lane]
    return total


@kernel
def _digest(lines: Lines, states: Words, blocks: Words) -> None:
    """Digest up to as many lines as there are lanes; each word of all of them lies together, here and in blocks."""
    width = lines.shape[1]
    for k in range(DIGEST_WORDS):
        states[k * _LANES : (k + 1) * _LANES] = _ROOTS[k] ^ (_SETTINGS if k == 0 else np.uint64(0))
    for start in range(0, width, BLOCK_WORDS):
        end = min(start + BLOCK_WORDS, width)
        for k in range(BLOCK_WORDS):
            for lane in range(len(lines)):
                blocks[k * _LANES + lane] = lines[lane, start + k] if start + k < end else 0
        _compress(states, blocks, np.uint64(8 * end), _ALL_BITS if end == width else np.uint64(0))


@kernel
def _compress(states: Words, blocks: Words, n_bytes: np.uint64, last: np.uint64) -> None:
    """Take a block of each line in; told are how many bytes have been taken then, and all bits if these are all."""
    for lane in range(_LANES):
        _take_in(states, blocks, lane, _LANES, n_bytes, last)


@kernel
def digest_message(message: Lines, n_words: int, state: Words, block: Words) -> None:
    """Digest so many words of a message, at least one: the first four words of the state are its digest of 32 bytes.

    The state has room for eight words, and the block for sixteen.
    """
    for k in range(DIGEST_WORDS):
        state[k] = _ROOTS[k]
    state[0] ^= _SHORT_SETTINGS
    for start in range(0, n_words, BLOCK_WORDS):
        end = min(start + BLOCK_WORDS, n_words)
        for k in range(BLOCK_WORDS):
            block[k] = np.uint64(message[start + k]) if start + k < end else np.uint64(0)
        _take_in(state, block, 0, 1, np.uint64(8 * end), _ALL_BITS if end == n_words else np.uint64(0))


@inlined
def _take_in(states: Words, blocks: Words, lane: int, n_lanes: int, n_bytes: np.uint64, last: np.uint64) -> None:
    """Take the block of one lane in."""
    a, b, c, d, e, f, g, h = _eight(blocks, lane, n_lanes)
    i, j, k, l, m, n, o, p = _eight(blocks, lane + 8 * n_lanes, n_lanes)  # noqa: E741
    s0, s1, s2, s3, s4, s5, s6, s7 = state = _eight(states, lane, n_lanes)
    r0, r1, r2, r3, r4, r5, r6, r7 = _ROOTS
    mix: _Words = s0, s1, s2, s3, s4, s5, s6, s7, r0, r1, r2, r3, r4 ^ n_bytes, r5, r6 ^ last, r7
    mix = _stir(mix, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    mix = _stir(mix, o, k, e, i, j, p, n, g, b, m, a, c, l, h, f, d)
    mix = _stir(mix, l, i, m, a, f, c, p, n, k, o, d, g, h, b, j, e)
    mix = _stir(mix, h, j, d, b, n, m, l, o, c, g, f, k, e, a, p, i)
    mix = _stir(mix, j, a, f, h, c, e, k, p, o, b, l, m, g, i, d, n)
    mix = _stir(mix, c, m, g, k, a, l, i, d, e, n, h, f, p, o, b, j)
    mix = _stir(mix, m, f, b, p, o, n, e, k, a, h, g, d, j, c, i, l)
    mix = _stir(mix, n, l, h, o, m, b, d, j, f, a, p, e, i, g, c, k)
    mix = _stir(mix, g, p, o, j, l, d, a, i, m, c, n, h, b, e, k, f)
    mix = _stir(mix, k, c, i, e, h, g, b, f, p, l, j, o, d, m, n, a)
    mix = _stir(mix, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    mix = _stir(mix, o, k, e, i, j, p, n, g, b, m, a, c, l, h, f, d)
    _put_eight(states, lane, n_lanes, state, mix)


@inlined
def _stir(
    mix: _Words,
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    d: np.uint64,
    e: np.uint64,
    f: np.uint64,
    g: np.uint64,
    h: np.uint64,
    i: np.uint64,
    j: np.uint64,
    k: np.uint64,
    l: np.uint64,  # noqa: E741
    m: np.uint64,
    n: np.uint64,
    o: np.uint64,
    p: np.uint64,
) -> _Words:
    """Stir the words of a block in, two at a time: a round."""
    v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = mix
    v0, v4, v8, v12 = _stir_two(v0, v4, v8, v12, a, b)
    v1, v5, v9, v13 = _stir_two(v1, v5, v9, v13, c, d)
    v2, v6, v10, v14 = _stir_two(v2, v6, v10, v14, e, f)
    v3, v7, v11, v15 = _stir_two(v3, v7, v11, v15, g, h)
    v0, v5, v10, v15 = _stir_two(v0, v5, v10, v15, i, j)
    v1, v6, v11, v12 = _stir_two(v1, v6, v11, v12, k, l)
    v2, v7, v8, v13 = _stir_two(v2, v7, v8, v13, m, n)
    v3, v4, v9, v14 = _stir_two(v3, v4, v9, v14, o, p)
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15


@inlined
def _stir_two(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64) -> _Words:
    a = a + b + x
    d = _turn(d ^ a, 32)
    c = c + d
    b = _turn(b ^ c, 24)
    a = a + b + y
    d = _turn(d ^ a, 16)
    c = c + d
    return a, _turn(b ^ c, 63), c, d


@inlined
def _turn(word: np.uint64, n_bits: int) -> np.uint64:
    """Turn a word to the right."""
    return (word >> np.uint64(n_bits)) | (word << np.uint64(64 - n_bits))


@inlined
def _eight(words: Words, at: int, step: int) -> _Words:
    """Return eight words of a lane."""
    return (
        words[at],
        words[at + step],
        words[at + 2 * step],
        words[at + 3 * step],
        words[at + 4 * step],
        words[at + 5 * step],
        words[at + 6 * step],
        words[at + 7 * step],
    )


@inlined
def _put_eight(states: Words, at: int, step: int, state: _Words, mix: _Words) -> None:
    """Write what has become of a lane's state."""
    states[at] = state[0] ^ mix[0] ^ mix[8]
    states[at + step] = state[1] ^ mix[1] ^ mix[9]
    states[at + 2 * step] = state[2] ^ mix[2] ^ mix[10]
    states[at + 3 * step] = state[3] ^ mix[3] ^ mix[11]
    states[at + 4 * step] = state[4] ^ mix[4] ^ mix[12]
    states[at + 5 * step] = state[5] ^ mix[5] ^ mix[13]
    states[at + 6 * step] = state[6] ^ mix[6] ^ mix[14]
    states[at + 7 * step] = state[7] ^ mix[7] ^ mix[15]

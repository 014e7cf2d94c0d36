"""Keyed hashes: the mixer loses nothing, fingerprints cannot be confused, sums do not see an order."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unlearnspn.hashing import derive_key, fingerprint, integer_bytes
from unlearnspn.mixing import hash_counts, key_of_cluster, key_of_scope, mix_integer, mix_keys

WORD = 1 << 64
words = st.integers(0, WORD - 1)


def undo_shift(x, shift):
    """Invert x ^ (x >> shift)."""
    result = x
    for _ in range(64 // shift + 1):
        result = x ^ (result >> shift)
    return result


def unmix(x):
    x = undo_shift(x, 31) * pow(0x94D049BB133111EB, -1, WORD) % WORD
    x = undo_shift(x, 27) * pow(0xBF58476D1CE4E5B9, -1, WORD) % WORD
    return (undo_shift(x, 30) - 0x9E3779B97F4A7C15) % WORD


def signed(word):
    return word - WORD if word >= WORD // 2 else word


def mix(word):
    """Scatter 64 bits as published."""
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


def test_the_mixer_is_splitmix64():
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    states = [0x9E3779B97F4A7C15 * step % WORD for step in range(4)]
    assert [mix_integer(signed(state)) for state in states] == published


@given(words)
def test_the_mixer_can_be_undone(word):
    assert unmix(mix_integer(signed(word))) == word
    assert mix_integer(signed(word)) == mix(word)


@given(words, st.integers(0, 2**40))
def test_keys_of_clusters_follow_from_the_parent(parent, number):
    key = mix((mix(parent ^ 0x9E3779B97F4A7C15) + number) % WORD)
    assert key_of_cluster(parent, number) == key == key_of_cluster(np.uint64(parent), np.int64(number))


@given(words, st.lists(st.integers(0, 1000), max_size=9))
def test_keys_of_scopes_follow_from_the_parent(parent, scope):
    key = mix(parent ^ 0x94D049BB133111EB)
    for variable in scope:
        key = mix((key + variable) % WORD)
    assert key_of_scope(parent, np.array(scope, np.int64)) == key


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=20), words, words)
def test_mix_keys_keeps_keys_apart_and_depends_on_the_salt(keys, salt, other):
    array = np.array(keys, np.uint64)
    hashes = mix_keys(array, np.uint64(salt))
    assert len(set(hashes.tolist())) == len(set(keys))
    assert [unmix(h) ^ salt for h in hashes.tolist()] == keys
    assert (hashes[0] == mix_keys(array, np.uint64(other))[0]) == (salt == other)


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_fingerprints_are_equal_only_for_equal_sequences(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (one == other)


@given(st.binary(max_size=12), st.data())
def test_fingerprints_tell_where_parts_end(blob, data):
    cuts = st.lists(st.integers(0, len(blob)), max_size=4).map(sorted)
    first, second = data.draw(cuts), data.draw(cuts)
    assume(first != second)

    def split(at):
        return [blob[a:b] for a, b in zip([0, *at], [*at, len(blob)], strict=True)]

    assert fingerprint(split(first)) != fingerprint(split(second))


def test_fingerprints_frame_lengths_themselves():
    # A part that looks like the frame of another sequence must not be taken for it.
    inner = (1).to_bytes(8, "little") + (0).to_bytes(8, "little")
    assert len({fingerprint(parts) for parts in ([], [b""], [b"", b""], [inner], [inner, b""])}) == 5


@settings(deadline=None)
@given(st.dictionaries(words, st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_hash_counts_ignores_order_and_what_does_not_occur(counts, data):
    def hashed(items):
        return hash_counts(np.array([n for _, n in items], np.int64), np.array([p for p, _ in items], np.uint64))

    items = list(counts.items())
    reference = hashed(items)
    assert hashed(data.draw(st.permutations(items))) == reference
    assert hashed([item for item in items if item[1]]) == reference
    name, count = data.draw(st.sampled_from(items))
    assert hashed([*((p, n) for p, n in items if p != name), (name, count + 1)]) != reference


def test_derived_keys_are_distinct():
    details = [b"", b"\0", b"\0\0", *(n.to_bytes(4, "little") for n in range(1, 300))]
    parents, purposes = [0, 1, 256, WORD - 1], ["", "bin", "bins", "cluster", "scope"]
    keys = {derive_key(parent, purpose, detail) for parent in parents for purpose in purposes for detail in details}
    assert len(keys) == len(parents) * len(purposes) * len(details)
    assert all(0 <= key < WORD for key in keys)


def test_derived_keys_tell_purpose_from_detail():
    assert len({derive_key(0, "abc"[:cut], b"abc"[cut:]) for cut in range(4)}) == 4


@given(st.integers(-(2**5000), 2**5000))
def test_integer_bytes_can_be_read_and_waste_nothing(value):
    written = integer_bytes(value)
    assert int.from_bytes(written, "little", signed=True) == value
    assert len(written) <= abs(value).bit_length() // 8 + 1

"""Erased means erased: after a removal no file of the vault holds a value, an id or a subject of the record."""

import struct
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest

from unlearnspn import Vault
from unlearnspn.ids import record_keys
from unlearnspn.tables import token
from vault_states import people

NUMBER, WHOLE, TEXT, SUBJECT = 48151623.42108, 987654321012.0, "Zwölfboxkämpfer\U0001f94a", "Viktor Unvergessen"
IDS = {True: "id-7c6f3a09-unique", False: 7234567890123456789}


def encodings(value):
    """Return what the bytes of a value may be, in whatever form a file might have it."""
    if isinstance(value, str):
        return [value.encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be")] + [value.encode().hex().encode()]
    if isinstance(value, int):
        return [struct.pack("<q", value), struct.pack(">q", value), str(value).encode(), b"%x" % value]
    whole = int(value)
    written = [repr(value).encode(), struct.pack("<d", value), struct.pack(">d", value), struct.pack("<d", value).hex()]
    if value == whole:
        written += [struct.pack("<q", whole), struct.pack(">q", whole), str(whole).encode()]
    return [part.encode() if isinstance(part, str) else part for part in written]


def found_in(folder, needles, vault):
    """Return which of the needles occur in some file of a folder, or in what the ledger's entries enclose."""
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    contents["ledger"] = b"\n".join(entry.payload for entry in vault.log())
    assert len(contents) > 3
    return {(name, needle) for name, content in contents.items() for needle in needles if needle in content}


def planted(string_ids):
    """Return people among whom one is like nobody else."""
    table = people(260, seed=4)
    table["income"] = np.round(np.random.default_rng(1).normal(3e4, 5e3, len(table)), 2)
    table["account"] = np.arange(len(table)) * 7.0
    if not string_ids:
        table["customer"] = np.arange(len(table)) + 10
    one = table.iloc[[100]].copy()
    one["customer"], one["person"] = IDS[string_ids], SUBJECT
    one["income"], one["account"], one["town"] = NUMBER, WHOLE, TEXT
    return table, one, pd.concat([table, one], ignore_index=True)


@pytest.mark.parametrize("string_ids", [True, False])
@pytest.mark.parametrize("how", ["id", "subject", "rectify", "batch"])
@pytest.mark.parametrize("when", ["before fit", "after fit", "learned"])
def test_nothing_remains_in_any_file(tmp_path, string_ids, how, when):
    table, one, both = planted(string_ids)
    needles = [part for value in (NUMBER, WHOLE, TEXT) for part in encodings(value)]
    owner = [part for value in (SUBJECT, IDS[string_ids]) for part in encodings(value)]
    hashes = [record_keys([IDS[string_ids]]).tobytes(), blake2b(token(TEXT), digest_size=16).digest()]
    with Vault.create(tmp_path / "people.uspn", guard=True) as vault:
        vault.ingest(table if when == "learned" else both, "customer", "person")
        if when != "before fit":
            vault.fit(min_rows=20)
        if when == "learned":
            vault.learn(one)
        found = {needle for _, needle in found_in(tmp_path, needles + owner, vault)}
        for value in (NUMBER, WHOLE, TEXT, SUBJECT, IDS[string_ids]):
            assert found & set(encodings(value)), f"{value!r} was never there: this test would prove nothing"
        if how == "rectify":
            replacement = table.iloc[[5]].assign(customer=IDS[string_ids], person="p-1")
            vault.rectify(replacement)
            owner = encodings(SUBJECT)
            hashes = hashes[1:]
        elif how == "subject":
            assert vault.unlearn(subject=SUBJECT).removed == 1
        elif how == "batch":
            vault.unlearn([IDS[string_ids], *table["customer"].tolist()[:50]])
        else:
            vault.unlearn(IDS[string_ids])
        assert found_in(tmp_path, needles + owner + hashes, vault) == set()
        assert vault.verify()
    assert (tmp_path / "people.uspn-journal").stat().st_size == 0


@pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning")
def test_nothing_remains_of_many_removals_one_by_one(tmp_path):
    rng = np.random.default_rng(8)
    table = people(150, seed=2)
    table["account"] = rng.integers(10**12, 10**13, len(table)).astype(float)
    table["note"] = [f"note {number:020d}" for number in rng.integers(10**15, 10**16, len(table))]
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        vault.fit(min_rows=10)
        order = rng.permutation(len(table))
        for count, place in enumerate(order[:120].tolist()):
            vault.unlearn(table["customer"][place])
            if count % 20 == 19:
                gone = table.iloc[order[: count + 1]]
                needles = [part for value in (*gone["account"], *gone["note"]) for part in encodings(value)]
                # Short texts may be part of others.
                needles += [b"c-%d\0" % place for place in order[: count + 1].tolist()]
                assert found_in(tmp_path, needles, vault) == set()


def test_all_that_was_held_is_erased_with_the_last_record(tmp_path):
    table, _, both = planted(True)
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(both, "customer", "person")
        vault.fit(min_rows=20)
        vault.unlearn(both["customer"].tolist())
        towns = [name.encode() for name in table["town"].unique()]
        values = [struct.pack("<d", value) for value in table["income"]]
        needles = [*towns, *values, *(part for value in (NUMBER, WHOLE, TEXT, SUBJECT) for part in encodings(value))]
        assert found_in(tmp_path, needles, vault) == set()


def test_an_ingest_that_was_taken_back_leaves_nothing(tmp_path):
    table, one, _ = planted(True)
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")

        def tables():
            yield one
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            vault.ingest(tables())
        assert len(vault) == len(table)
        needles = [part for value in (NUMBER, WHOLE, TEXT, SUBJECT, IDS[True]) for part in encodings(value)]
        assert found_in(tmp_path, needles, vault) == set()

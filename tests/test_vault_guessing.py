"""Guessing what left: with the vault's file alone, trying every candidate out tells nothing of who was removed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import re
from functools import partial

import pandas as pd
import pytest

from unlearnspn import SPN, Vault
from unlearnspn.certificates.canonical import encode_json
from vault_states import stored_arrays

AGES, CITIES, PAYS = (30.0, 40.0, 50.0), ("Bonn", "Kiel", "Trier"), ("late", "in time")
N_RECORDS = 40


def people(number=N_RECORDS):
    rows = list(itertools.islice(itertools.cycle(itertools.product(AGES, CITIES, PAYS)), number))
    table = pd.DataFrame(rows, columns=["age", "city", "pays"])
    table.insert(0, "customer", [f"c-{i}" for i in range(number)])
    return table


def make(path, change):
    """Make a vault, change it, and leave its file alone: no key, no guard, no lock."""
    with Vault.create(path) as vault:
        vault.ingest(people(), "customer")
        vault.fit(min_rows=10)
        outcome = change(vault)
    for beside in path.parent.iterdir():
        if beside != path:
            beside.unlink()
    return outcome


def held(path):
    """Return the records that the file holds; an attacker reads them as easily as the owner."""
    with Vault.open(path) as vault:
        contents = vault._home.contents()
        batch = contents.all()
        columns = {column.name: column.objects().tolist() for column in batch.table.columns}
        return pd.DataFrame({"customer": batch.ids, **columns}).astype({"age": float})


def words(path):
    """Return all that the file says, as texts of bytes: the file itself, and what is encoded within the ledger."""
    with Vault.open(path) as vault:
        payloads = [envelope.payload for envelope in vault.log()]
    return b"\n".join([path.read_bytes(), *payloads])


def traces_of(candidate_digest, keys):
    """Yield whatever a ledger could say of a digest: itself, hashes of it, commitments under any key in the file."""
    encodings = [candidate_digest.encode(), bytes.fromhex(candidate_digest)]
    encodings += [encode_json([name, candidate_digest]) for name in ("model", "state")]
    for encoding in encodings:
        yield encoding
        for hashed in (hashlib.sha256(encoding).digest(), *(hmac.digest(key, encoding, "sha256") for key in keys)):
            yield from (hashed, hashed.hex().encode(), base64.b64encode(hashed))


def confirmed(path, candidates):
    """Return the candidates whose models the file confirms: those that somebody could guess."""
    said, keys = words(path), nonces(path)
    return [
        name
        for name, table in candidates.items()
        if any(trace in said for digest in digests_of(table) for trace in traces_of(digest, keys))
    ]


def nonces(path):
    """Return every run of 32 bytes that the vault keeps by itself."""
    with Vault.open(path) as vault:
        contents = vault._home.contents()
        return [value for value in vars(contents).values() if isinstance(value, bytes)]


def digests_of(table):
    spn = SPN(min_rows=10).fit(table.drop(columns="customer"), ids=table["customer"])
    return spn.digest(), spn.state_digest()


def with_record(table, name, values):
    return pd.concat([table, pd.DataFrame([[name, *values]], columns=table.columns)], ignore_index=True)


def test_the_present_state_is_confirmed_so_the_attack_would_find_a_past_one(tmp_path):
    path = tmp_path / "people.uspn"
    make(path, lambda vault: vault.unlearn("c-7"))
    assert confirmed(path, {"present": held(path)}) == ["present"]


def test_no_candidate_for_a_removed_record_is_confirmed(tmp_path):
    path = tmp_path / "people.uspn"
    make(path, lambda vault: vault.unlearn("c-7"))
    rest = held(path)
    assert len(rest) == N_RECORDS - 1
    candidates = {values: with_record(rest, "c-7", values) for values in itertools.product(AGES, CITIES, PAYS)}
    assert confirmed(path, candidates) == []


def test_no_candidate_for_a_removed_id_is_confirmed(tmp_path):
    path = tmp_path / "people.uspn"
    make(path, lambda vault: vault.unlearn("c-7"))
    rest, values = held(path), people().loc[7, ["age", "city", "pays"]].tolist()
    free = [name for name in (f"c-{number}" for number in range(60)) if name not in set(rest["customer"])]
    assert "c-7" in free
    assert confirmed(path, {name: with_record(rest, name, values) for name in free}) == []


def test_no_candidate_for_a_corrected_value_is_confirmed(tmp_path):
    path = tmp_path / "people.uspn"
    correction = people().iloc[[7]].assign(age=50.0, city="Kiel")
    make(path, lambda vault: vault.rectify(correction))
    now = held(path).set_index("customer")
    candidates = {}
    for age, city in itertools.product(AGES, CITIES):
        before = now.copy()
        before.loc["c-7", ["age", "city"]] = age, city
        if not before.equals(now):
            candidates[age, city] = before.reset_index()
    assert confirmed(path, candidates) == []


def stored_after_a_fit(path, *steps):
    """Return what a vault stores after some steps and a fit, but for its own name and the nonce."""
    with Vault.create(path) as vault:
        for step in steps:
            step(vault)
        vault.fit(min_rows=10)
        records = held(path)
    arrays = stored_arrays(path)
    return records, {name: arrays[name].tobytes() for name in arrays.keys() - {"vault", "nonce"}}


def test_after_another_fit_things_lie_where_they_would_if_those_who_left_had_never_been_there(tmp_path):
    table = people(90)
    records, stored = stored_after_a_fit(
        tmp_path / "people.uspn",
        lambda vault: vault.ingest(table.sample(frac=1.0, random_state=1), "customer"),
        lambda vault: vault.fit(min_rows=10),
        lambda vault: vault.unlearn([f"c-{number}" for number in range(3, 60, 2)]),
        lambda vault: vault.learn(table.iloc[[0, 1]].assign(customer=["c-7", "c-900"], city="Ulm")),
        lambda vault: vault.rectify(table.iloc[[2]].assign(age=50.0, city="Kiel")),
        lambda vault: vault.unlearn(["c-900"]),
    )
    assert len(records) == 62
    again, fresh = stored_after_a_fit(
        tmp_path / "fresh.uspn",
        lambda vault: vault.ingest(records.sample(frac=1.0, random_state=2), "customer"),
    )
    assert again.equals(records)
    assert stored == fresh


CHANGES = {
    "unlearn": lambda vault, row: vault.unlearn(f"c-{row}"),
    "rectify": lambda vault, row: vault.rectify(people().iloc[[row]].assign(age=77.0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_entry_says_the_same_whoever_left(tmp_path, change):
    """Neither which operations changed nor whether values were coded anew: both tell candidates apart."""
    said = set()
    for row in range(0, N_RECORDS, 3):
        path = tmp_path / f"{row}.uspn"
        make(path, partial(CHANGES[change], row=row))
        with Vault.open(path) as vault:
            statement = json.loads(vault.log()[-1].payload)
        said.add(re.sub(r'[0-9a-f]{16,}|"[^"]*Z"', "", json.dumps(statement, sort_keys=True)))
    assert len(said) == 1

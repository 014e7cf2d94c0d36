"""Finding people by values, whose records these are, and requests that are entered together."""

import datetime

import pandas as pd
import pytest

from unlearnspn import InvalidTableError, Vault
from unlearnspn.vault import InboxError, NewRequest, Wish
from vault_states import people


@pytest.fixture(params=[False, True], ids=["drafts", "model"])
def vault(request, tmp_path):
    table = people(90)
    table["since"] = [datetime.datetime(2024, 1, 1 + i % 9, 8) for i in range(90)]
    table["member"] = [i % 2 == 0 for i in range(90)]
    table.loc[5, ["age", "town"]] = None
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        if request.param:
            vault.fit(min_rows=20)
        vault.table = table
        yield vault


def ids_of(table):
    return sorted(table["customer"])


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ({"town": "iel"}, lambda t: t["town"] == "Kiel"),
        ({"town": "KIEL", "member": "true"}, lambda t: (t["town"] == "Kiel") & t["member"]),
        ({"visits": "3"}, lambda t: t["visits"] == 3),
        ({"since": "2024-01-03"}, lambda t: t["since"].dt.day == 3),
        ({"since": "2024-01-03T08:00"}, lambda t: t["since"].dt.day == 3),
        ({"since": "2024-01-03T08:00:01"}, lambda t: t["visits"] < 0),
        ({"town": "Atlantis"}, lambda t: t["visits"] < 0),
    ],
)
def test_people_are_found_by_values(vault, wanted, condition):
    found = vault.find_like(wanted)
    assert [row[0] for row in found.rows] == ids_of(vault.table[condition(vault.table)])


def test_no_more_than_so_many_are_found(vault):
    assert len(vault.find_like({}, limit=7)) == 7


@pytest.mark.parametrize("wanted", [{"height": "1"}, {"age": "old"}, {"member": "maybe"}, {"since": "3.1.2024"}])
def test_values_that_cannot_be_are_refused(vault, wanted):
    with pytest.raises(InvalidTableError):
        vault.find_like(wanted)


def test_an_empty_vault_has_nobody(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        assert len(vault.find_like({"town": "Ulm"})) == 0
        vault.ingest(pd.DataFrame({"id": ["a"], "town": ["Ulm"]}), "id")
        vault.unlearn(["a"])
        assert len(vault.find_like({"town": "Ulm"})) == 0


def test_holds_are_found_for_records_too(vault):
    vault.desk.hold("p-2", who="anna", reason="a claim")
    by_ids = vault.desk.file("erase", ids=["c-7", "nobody"], who="anna")
    other = vault.desk.file("erase", subject="p-3", who="anna")
    assert [hold.subject for hold in vault.desk.holds_on(by_ids.id)] == ["p-2"]
    assert vault.desk.holds_on(other.id) == []


def test_requests_are_entered_together_or_not_at_all(vault):
    good = [NewRequest(Wish.ERASE, "p-1", request_id="a"), NewRequest(Wish.ACCESS, None, ("c-9",))]
    with pytest.raises(InboxError, match="another request 'a'"):
        vault.desk.file_all([*good, NewRequest(Wish.ERASE, "p-2", request_id="a")], who="anna")
    assert vault.desk.requests() == []
    assert len(vault.desk.file_all([*good, good[0]], who="anna")) == 3
    assert len(vault.desk.requests()) == 2


def test_a_refusal_leaves_in_memory_what_is_there(vault):
    vault.desk.file("erase", subject="p-1", who="anna", request_id="a")
    before = vault._home.contents()
    with pytest.raises(InboxError):
        vault.desk.deny("a", ground="", who="anna", reason="")
    assert vault._home.contents() is before

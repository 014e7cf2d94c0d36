"""What a vault offers: records, subjects, requests, evidence; and what it says when a request cannot be carried out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unlearnspn import SPN, Circuit, InvalidTableError, RecordIdError, Vault, VaultError
from unlearnspn.certificates import Action, Item, Kind, audit_certificate, audit_receipt
from unlearnspn.vault import ReturningRecordError
from vault_states import digests_of, features, fresh_digests, people, require_stored

PARAMETERS = {"min_rows": 20}


@pytest.fixture
def vault(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(people(120), "customer", "person")
        yield vault


@pytest.fixture
def fitted(vault):
    vault.fit(**PARAMETERS)
    return vault


def without(table, *names):
    return table[~table["customer"].isin(names)]


# -- records ---------------------------------------------------------------------------------------------------------


def test_an_ingest_can_be_run_again(vault):
    again = vault.ingest(people(120))
    assert (again.added, again.skipped, again.certificate) == (0, 120, None)
    more = pd.concat([people(120), people(5, first=500)])
    outcome = vault.ingest(more)
    assert (outcome.added, outcome.skipped, len(vault)) == (5, 120, 125)
    vault.fit(**PARAMETERS)
    again = vault.ingest(more)
    assert (again.added, again.skipped) == (0, 125)
    vault.ingest(people(5, first=600))
    assert digests_of(vault) == fresh_digests(pd.concat([more, people(5, first=600)]), **PARAMETERS)


@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize("column", ["age", "town", "person"])
def test_an_ingest_does_not_replace_values(vault, is_fitted, column):
    if is_fitted:
        vault.fit(**PARAMETERS)
    changed = people(120)
    changed.loc[7, column] = 99.5 if column == "age" else "Rom"
    with pytest.raises(RecordIdError, match=r"exist already, with other values: 'c-7'; use rectify"):
        vault.ingest(changed)
    assert len(vault) == 120


def test_tables_come_one_after_another_or_not_at_all(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        told = []
        parts = [people(120).iloc[start : start + 40] for start in (0, 40, 80)]
        vault.ingest(iter(parts), "customer", "person", progress=lambda *what: told.append(what))
        assert [done for what, done, _ in told if what == "ingest"] == [40, 80, 120]
        assert len(vault) == 120
        with pytest.raises(InvalidTableError, match=r"other columns than the vault \(missing: 'town'\)"):
            vault.ingest(iter([people(10, first=300), people(10, first=400).drop(columns="town")]))
        assert len(vault) == 120
        vault.fit(**PARAMETERS, progress=lambda *what: told.append(what))
        assert ("fit", 0, 1) in told
        assert digests_of(vault) == fresh_digests(people(120), **PARAMETERS)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_answers_come_as_the_kind_of_table_that_went_in(tmp_path, library):
    table = people(90)
    given = {"pandas": table, "polars": pl.from_pandas(table), "arrow": pl.from_pandas(table).to_arrow()}[library]
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(given, "customer", "person")
        vault.fit(**PARAMETERS)
    with Vault.open(tmp_path / "people.uspn") as vault:
        sample = vault.sample(5, random_state=0)
        assert type(sample).__module__.split(".")[0] == type(given).__module__.split(".")[0]
        assert digests_of(vault) == fresh_digests(table, **PARAMETERS)


def test_columns_may_come_in_another_order_and_say_more_later(tmp_path):
    first = people(50).assign(note=None, score=np.nan)
    second = people(50, first=100).assign(note="new", score=3.5)
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(first, "customer", "person")
        vault.ingest(second[sorted(second.columns)])
        assert vault.info().families["note"] == "text"
        vault.fit(**PARAMETERS)
        assert vault.probability({"note": "new"}) > 0.4
        assert vault.verify()
        with pytest.raises(InvalidTableError, match="column 'note' held text values before and now holds number"):
            vault.learn(people(3, first=200).assign(note=1.0, score=1.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(age=[*table["age"][:-1], np.inf]), "infinite"),
        (lambda table: table.assign(customer="c-500"), "unique"),
        (lambda table: table.assign(customer=[None, "a", "b"]), "ids are missing"),
        (lambda table: table.assign(customer=[1, 2, 3]), "another kind"),
        (lambda table: table.assign(extra=1), "unknown: 'extra'"),
        (lambda table: table.drop(columns="customer"), "no column 'customer'"),
        (lambda table: table.iloc[:0], "no rows"),
        (lambda table: table.assign(age="old"), "'age' held number values before and now holds text"),
    ],
)
def test_tables_that_do_not_fit_are_refused(fitted, change, message):
    before = digests_of(fitted)
    for send, first in ((fitted.learn, 500), (fitted.rectify, 0), (fitted.ingest, 500)):
        with pytest.raises(ValueError, match=message):
            send(change(people(3, first=first)))
    assert digests_of(fitted) == before
    assert len(fitted) == 120


def test_subjects_are_needed_but_for_corrections(fitted):
    table = people(3, first=500).drop(columns="person")
    for send in (fitted.learn, fitted.ingest):
        with pytest.raises(ValueError, match="no column 'person' for the subjects"):
            send(table)
    before = fitted.access(["c-0"]).as_dicts()[0]
    fitted.rectify(pd.DataFrame({"customer": ["c-0"], "age": [99.5]}))
    assert fitted.access(["c-0"]).as_dicts() == [before | {"age": 99.5}]
    assert fitted.verify()


def test_names_and_values_are_never_run(tmp_path):
    nasty = ["'; DROP TABLE pages; --", '"quoted"', "$(touch pwned)", "../../etc/passwd", "a\x00b", "=1+1", "<b>", ""]
    table = pd.DataFrame(
        {
            "id'; --": [f"{name}{i}" for i, name in enumerate(nasty * 8)],
            'x"; DELETE FROM ledger; --': [float(i) for i in range(64)],
            "; rm -rf /": nasty * 8,
        }
    )
    with Vault.create(tmp_path / "it's; a $vault.uspn") as vault:
        vault.ingest(table, "id'; --", subjects=nasty * 8)
        vault.fit(min_rows=10)
        require_stored(vault)
        for name in nasty[:3]:
            assert vault.unlearn(subject=name).removed == 8
        assert vault.verify()
        expected = sorted(table["id'; --"][[i for i in range(64) if i % 8 > 2]])
        assert vault.ids() == expected
    with Vault.open(tmp_path / "it's; a $vault.uspn") as vault:
        assert vault.ids() == expected
    assert not (tmp_path / "pwned").exists()


def test_texts_that_are_no_unicode_are_kept(tmp_path):
    table = np.array([[f"\ud800{i % 3}", float(i)] for i in range(40)], object)
    ids = [f"\udfff{i}" for i in range(40)]
    with Vault.create(tmp_path / "odd.uspn") as vault:
        vault.ingest(table, ids, subjects=[f"\udc80{i // 2}" for i in range(40)])
        vault.fit(min_rows=10)
        vault.unlearn(subject="\udc803")
        vault.unlearn(ids[0])
    with Vault.open(tmp_path / "odd.uspn") as vault:
        assert vault.ids() == sorted(set(ids) - {ids[0], ids[6], ids[7]})
        assert vault.verify()


# -- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_subject_leaves_with_all_records(vault, is_fitted):
    if is_fitted:
        vault.fit(**PARAMETERS)
    outcome = vault.unlearn(subject="p-5", request_id="17/2026", operator="registry")
    assert (outcome.removed, outcome.remaining) == (3, 117)
    assert not {"c-15", "c-16", "c-17"} & set(vault.ids())
    with pytest.raises(RecordIdError, match="no records of the subject 'p-5'"):
        vault.unlearn(subject="p-5")
    if not is_fitted:
        vault.fit(**PARAMETERS)
    assert digests_of(vault) == fresh_digests(without(people(120), "c-15", "c-16", "c-17"), **PARAMETERS)
    statement = outcome.certificate.statement
    assert (statement.request.id, statement.request.operator) == ("17/2026", "registry")
    assert (statement.counts.removed, statement.counts.remaining) == (3, 117)


def test_subjects_of_whatever_type_are_found(tmp_path):
    table = people(30).assign(person=[None, 7.0, 8.0] * 10)
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        assert vault.unlearn(subject=7, dry_run=True).removed == 10
        assert vault.unlearn(subject="8").removed == 10
        with pytest.raises(RecordIdError, match="no records of the subject nan"):
            vault.unlearn(subject=float("nan"))


def test_requests_keep_the_digests_of_a_fresh_fit(fitted):
    table = people(120)
    fitted.unlearn(["c-1", "c-2"])
    table = without(table, "c-1", "c-2")
    added = people(7, seed=3, first=900)
    fitted.learn(added)
    table = pd.concat([table, added])
    corrected = table.iloc[[5, 50]].assign(age=71.5, town="Bonn", person="p-new")
    fitted.rectify(corrected)
    table = pd.concat([without(table, *corrected["customer"]), corrected])
    assert digests_of(fitted) == fresh_digests(table, **PARAMETERS)
    assert fitted.unlearn(subject="p-new").removed == 2
    assert fitted.verify()


def test_a_dry_run_writes_nothing(fitted, tmp_path):
    before = (tmp_path / "people.uspn").read_bytes()
    tried = fitted.unlearn(subject="p-2", dry_run=True)
    assert (tried.removed, tried.remaining, tried.certificate, tried.receipts()) == (3, 117, None, [])
    fitted.learn(people(3, first=500), dry_run=True)
    fitted.rectify(people(3), dry_run=True)
    assert fitted.unlearn(fitted.ids(), dry_run=True).remaining == 0
    assert (tmp_path / "people.uspn").read_bytes() == before
    assert len(fitted) == 120


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ids": "c-999"}, "no records with these ids: 'c-999'"),
        ({"ids": ["c-1", "c-1"]}, "occur more than once: 'c-1'"),
        ({"ids": [5]}, "no records with these ids: 5"),
        ({"ids": []}, "nothing to remove"),
        ({"ids": ["c-999"], "missing": "ignore"}, "nothing to remove"),
        ({"ids": "c-1", "missing": "maybe"}, "neither 'error' nor 'ignore'"),
        ({}, "either which ids are to be removed, or whose records"),
        ({"ids": "c-1", "subject": "p-1"}, "either which ids are to be removed, or whose records"),
        ({"subject": "nobody"}, "no records of the subject 'nobody'"),
        ({"ids": "c-1", "request_id": "x" * 300}, "1 to 200 characters"),
        ({"ids": "c-1", "operator": "two\nlines"}, "1 to 200 characters"),
    ],
)
def test_requests_that_cannot_be_carried_out_change_nothing(fitted, asked, message):
    before, n_entries = digests_of(fitted), fitted.info().n_entries
    with pytest.raises(ValueError, match=message):
        fitted.unlearn(**asked)
    assert (digests_of(fitted), fitted.info().n_entries) == (before, n_entries)
    assert fitted.unlearn(["c-999", "c-1"], missing="ignore").removed == 1


def test_the_guard_tells_who_comes_back(fitted):
    fitted.unlearn("c-1")
    fitted.learn(people(120).iloc[[1]])
    fitted.turn_guard_on()
    assert fitted.info().guard
    fitted.unlearn("c-1")
    fitted.unlearn(subject="p-9")
    with pytest.raises(ReturningRecordError, match="would come back: 'record c-1'; leave them out, or allow it"):
        fitted.learn(people(120).iloc[[1]])
    with pytest.raises(ReturningRecordError, match="'subject p-9'"):
        fitted.ingest(people(1, first=700).assign(person="p-9"))
    with Vault.open(fitted.info().path) as reader:
        assert reader.info().guard
    assert fitted.learn(people(120).iloc[[1]], allow_returning=True).added == 1
    assert fitted.verify()


# -- evidence --------------------------------------------------------------------------------------------------------


def test_every_change_is_an_entry_and_removals_can_be_proven(fitted):
    removal = fitted.unlearn(["c-4", "c-8"])
    person = fitted.unlearn(subject="p-20")
    fitted.rectify(people(2))
    fitted.learn(people(2, first=800))
    fitted.rotate_key()
    log = fitted.log()
    assert [entry.statement.action for entry in log] == [
        *(Action.INIT, Action.INGEST, Action.FIT, Action.REMOVAL, Action.REMOVAL),
        *(Action.CORRECTION, Action.ADDITION, Action.KEY_ROTATION),
    ]
    assert log[3] == removal.certificate
    assert fitted.log(first=6) == log[6:]
    first_key = log[0].statement.introduced
    assert audit_certificate(removal.certificate.encoded, first_key)
    assert fitted.verify(key=first_key, head=removal.certificate.digest)
    receipts = removal.receipts()
    assert [receipt.items for receipt in receipts] == [[Item(Kind.RECORD, "c-4")], [Item(Kind.RECORD, "c-8")]]
    assert audit_receipt(receipts[0], removal.certificate, Item(Kind.RECORD, "c-4"))
    assert not audit_receipt(receipts[0], removal.certificate, Item(Kind.RECORD, "c-8"))
    (receipt,) = person.receipts()
    assert audit_receipt(receipt, person.certificate, Item(Kind.SUBJECT, "p-20"))
    assert len(receipt.items) == 4


def test_verify_notices_what_is_not_the_same(fitted, monkeypatch):
    other = SPN(**PARAMETERS).fit(features(people(120, seed=1)), ids=people(120)["customer"].tolist())
    assert not fitted.verify(head="0" * 64)
    monkeypatch.setattr(type(other._model), "relearn", lambda model: other._model)
    audit = fitted.verify()
    assert [finding.check for finding in audit.failures] == ["retraining"]
    assert fitted.verify(relearn=False)


def test_a_key_that_was_wiped_signs_no_more(fitted, tmp_path):
    old = (tmp_path / "people.uspn.key").read_bytes()
    fitted.rotate_key()
    new = (tmp_path / "people.uspn.key").read_bytes()
    assert old != new
    fitted.unlearn("c-3")
    fitted.close()
    (tmp_path / "people.uspn.key").write_bytes(old)
    with pytest.raises(ValueError, match="does not hold the key"):
        Vault.open(tmp_path / "people.uspn", write=True)


@pytest.mark.parametrize("step", ["storage.files.put", "vault.home.put"])
def test_a_creation_that_was_interrupted_can_be_repeated(tmp_path, monkeypatch, step):
    def die(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"unlearnspn.{step}", die)
        with pytest.raises(KeyboardInterrupt):
            Vault.create(tmp_path / "people.uspn", guard=True)
    assert {path.name for path in tmp_path.iterdir()} <= {"people.uspn.guard", "people.uspn.lock"}
    with Vault.create(tmp_path / "people.uspn", guard=True) as vault:
        assert vault.verify()


def test_the_key_may_be_elsewhere(tmp_path):
    (tmp_path / "keys").mkdir()
    key = tmp_path / "keys" / "mine.pem"
    with Vault.create(tmp_path / "people.uspn", key=key) as vault:
        vault.ingest(people(10), "customer")
    assert not (tmp_path / "people.uspn.key").exists()
    with Vault.open(tmp_path / "people.uspn", write=True, key=key) as vault:
        vault.unlearn("c-1")
        assert vault.verify()


# -- questions -------------------------------------------------------------------------------------------------------


def test_a_vault_answers_what_a_model_answers(fitted, tmp_path):
    spn = SPN(**PARAMETERS).fit(features(people(120)), ids=people(120)["customer"].tolist())
    asked = features(people(30, seed=5))
    assert fitted.score_samples(asked).tobytes() == spn.score_samples(asked).tobytes()
    assert fitted.probability({"town": "Ulm"}) == spn.probability({"town": "Ulm"})
    fitted.export(tmp_path / "people.circuit")
    assert Circuit.load(tmp_path / "people.circuit").score(asked) == spn.score(asked)
    assert fitted.root_.n_records == 120
    info = fitted.info()
    assert (info.n_records, info.columns, info.id_kind) == (120, ("age", "visits", "town", "pays"), "texts")
    assert (info.id_column, info.subject_column, info.fitted) == ("customer", "person", True)
    assert info.parameters["min_rows"] == 20
    assert fitted.read_id("c-7") == "c-7"


def test_a_vault_without_a_model_says_so(vault):
    for ask in (lambda: vault.score(people(3)), lambda: vault.root_, lambda: vault.export("nowhere")):
        with pytest.raises(ValueError, match="has no model yet: call fit first"):
            ask()
    assert vault.verify()


def test_a_vault_without_records_says_so(tmp_path):
    with Vault.create(tmp_path / "empty.uspn") as vault:
        with pytest.raises(ValueError, match="the vault is empty: ingest records first"):
            vault.fit()
        with pytest.raises(RecordIdError, match="no records with these ids"):
            vault.unlearn("c-1")
        assert vault.ids() == []
        assert vault.info().id_kind is None
        assert vault.verify()


def test_ids_that_are_numbers_are_read_as_such(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(people(40).assign(customer=range(100, 140)), "customer", "person")
        assert vault.read_id("117") == 117
        with pytest.raises(RecordIdError, match="have integers as ids, and 'x' is none"):
            vault.read_id("x")
        vault.fit(**PARAMETERS)
        assert vault.unlearn([117, 118]).removed == 2
        require_stored(vault)
        assert vault.verify()


def test_components_of_users_must_be_handed_in(tmp_path):
    from dataclasses import dataclass

    from unlearnspn import GTest

    @dataclass(frozen=True)
    class Stricter(GTest):
        pass

    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(people(100), "customer", "person")
        vault.fit(independence=Stricter(1.0), **PARAMETERS)
        before = digests_of(vault)
    with pytest.raises(VaultError, match="pass it in components"):
        Vault.open(tmp_path / "people.uspn")
    with Vault.open(tmp_path / "people.uspn", write=True, components=[Stricter]) as vault:
        assert digests_of(vault) == before
        vault.unlearn("c-1")
        assert vault.verify()


@pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning")
@pytest.mark.parametrize("string_ids", [False, True])
def test_subjects_stay_with_their_records_when_all_get_other_slots(tmp_path, string_ids):
    number = 70
    table = people(number).assign(town=[f"town {i}" for i in range(number)])
    if not string_ids:
        table["customer"] = range(100, 100 + number)
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer", "person")
        vault.fit(**PARAMETERS)
        records = vault._home.contents().learned.model.records
        # So many towns go that the codes of the others are given out anew, and the records with them.
        vault.unlearn(table["customer"].tolist()[:45])
        assert vault._home.contents().learned.model.records is not records
        require_stored(vault)
        vault.learn(table.iloc[:1].assign(person="p-last"))
    with Vault.open(tmp_path / "people.uspn", write=True) as vault:
        assert vault.unlearn(subject="p-last").removed == 1
        assert vault.unlearn(subject="p-20").removed == 3
        assert sorted(table["customer"][45:60]) == sorted(set(vault.ids()) & set(table["customer"][45:60]))
        assert vault.verify()


def test_levels_are_stored_anew_when_they_take_more_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("unlearnspn.slots._MOST_IN_TWO_BYTES", 30)
    table = pd.DataFrame({"customer": range(60), "name": [f"n{i % 25}" for i in range(60)], "x": np.arange(60) % 7.0})
    more = pd.DataFrame({"customer": range(100, 120), "name": [f"m{i}" for i in range(20)], "x": np.arange(20) % 5.0})
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(table, "customer")
        vault.fit(min_rows=20, categorical_features=["name"])
        vault.unlearn([3])
        vault.learn(more)
        vault.unlearn([105, 7])
        digests = digests_of(vault)
    with Vault.open(tmp_path / "people.uspn") as vault:
        assert digests_of(vault) == digests
        assert vault.verify()

"""The API: every path does what it says, each change is made once, and numbers are those of the library."""

import datetime as dt
import math
import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from many_threads import halfway
from services import API, GROUND, TABLE, another, api_of, full, make_vault, opened, removal, token, wait_for
from unlearnspn import Vault
from unlearnspn.certificates import Envelope, Item, Kind, PublicKey, Receipt, audit_certificate, audit_receipt
from unlearnspn.service.roles import Scope
from unlearnspn.vault import VaultError
from unlearnspn.vault.deadlines import due_after, latest_extension
from unlearnspn.vault.learned import Learned
from vault_states import digests_of, fresh_digests, people

ARROW = "application/vnd.apache.arrow.stream"
AS_ARROW = {"content-type": ARROW, "accept": ARROW}


@pytest.fixture
def service(tmp_path):
    with opened(make_vault(tmp_path)) as service:
        yield service


@pytest.fixture
def api(service):
    return api_of(service)


def post(api, path, body=None, status=200, **more):
    answer = api.post(f"{API}{path}", json=body, **more) if body is not None else api.post(f"{API}{path}", **more)
    assert answer.status_code == status, answer.text
    if status >= 400:
        assert_problem(answer)
    return answer.json() if status != 204 else None


def get(api, path, status=200, **more):
    answer = api.get(f"{API}{path}", **more)
    assert answer.status_code == status, answer.text
    if status >= 400:
        assert_problem(answer)
    return answer


def assert_problem(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == answer.status_code
    assert problem["detail"]


def ago(days):
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def file(api, request_id, wish="erase", verified=True, **person):
    body = {"wish": wish, "request_id": request_id, **(person or {"subject": "p-7"})}
    post(api, "/requests", body, 201)
    if verified:
        post(api, f"/requests/{request_id}/verify-identity")


def new_records(number=3, first=900):
    return people(number, seed=1, first=first).to_dict("records")


# -- removals --------------------------------------------------------------------------------------------------------


def test_a_removal_its_certificate_and_receipt(service, api):
    done = post(api, "/removals", removal(received=ago(2)))
    assert (done["removed"], done["remaining"], done["request"], done["dry_run"]) == (3, 87, "r-1", False)
    key = PublicKey.from_pem(get(api, "/key").content)
    envelope = done["envelope"].encode()
    assert audit_certificate(envelope, key)
    assert audit_certificate(get(api, f"/ledger/{done['entry']}/certificate").content.strip(), key)
    (receipt,) = done["receipts"]
    for item in (Item(Kind.SUBJECT, "p-7"), Item(Kind.RECORD, "c-21")):
        assert audit_receipt(Receipt.decode(receipt.encode()), Envelope.decode(envelope), item)
    assert not audit_receipt(Receipt.decode(receipt.encode()), Envelope.decode(envelope), Item(Kind.SUBJECT, "p-8"))
    assert digests_of(service.vault) == fresh_digests(TABLE[TABLE["person"] != "p-7"], min_rows=20)
    assert Envelope.decode(envelope).statement.request.operator.startswith("crm (token ")
    request = get(api, "/requests/r-1").json()
    assert (request["state"], request["subject"], request["ids"]) == ("done", None, [])
    assert (request["ground"], request["entry"]) == (GROUND, done["entry"])
    assert service.vault.verify()


def test_a_repeated_removal_gives_the_same_certificate(service, api):
    first = post(api, "/removals", removal())
    again = post(api, "/removals", removal())
    assert again["envelope"] == first["envelope"]
    assert (again["removed"], again["remaining"], again["receipts"]) == (3, 87, [])
    assert len(service.vault.log()) == first["entry"] + 1
    other = api_of(service)
    assert post(other, "/removals", removal())["envelope"] == first["envelope"]


def test_a_removal_that_was_made_without_the_service_is_not_made_again(service, api):
    done = service.vault.unlearn(subject="p-7", request_id="r-1")
    assert post(api, "/removals", removal())["envelope"].encode() == done.certificate.encoded


@pytest.mark.parametrize(
    "other",
    [
        {"subject": "p-8"},
        {"subject": None, "ids": ["c-30"]},
        {"subject": None, "ids": ["c-21", "c-30"]},
    ],
)
def test_the_id_of_a_removal_is_nobody_elses(service, api, other):
    post(api, "/removals", removal())
    post(api, "/removals", removal(**other), 409)
    assert len(service.vault) == 87


def test_the_id_of_something_else_is_no_removals(service, api):
    post(api, "/additions?request_id=r-1", {"records": new_records()})
    post(api, "/removals", removal(), 409)
    file(api, "r-2", "access", subject="p-8")
    post(api, "/removals", removal("p-8", "r-2"), 409)
    file(api, "r-3", "erase", subject="p-9")
    post(api, "/removals", removal("p-8", "r-3"), 409)
    assert len(service.vault) == 93


def test_a_removal_takes_up_the_request_that_was_filed(api):
    file(api, "r-1", verified=False)
    done = post(api, "/removals", removal())
    assert get(api, "/requests/r-1").json()["entry"] == done["entry"]


def test_a_removal_is_answered_with_its_receipt_although_the_audit_log_cannot_be_written(service, api):
    with full(service):
        done = post(api, "/removals", removal())
        assert (done["removed"], len(done["receipts"])) == (3, 1)
    assert post(api, "/removals", removal())["envelope"] == done["envelope"]
    assert [entry.what for entry in service.audit.entries(limit=2)] == ["erased", "signed in"]


def test_two_of_the_same_removals_at_the_same_time_are_one(service):
    path, client, answers = f"{API}/removals", api_of(service), []
    client.get(f"{API}/requests")
    clients = [another(client) for _ in range(4)]
    ready = threading.Barrier(len(clients))

    def ask(client):
        ready.wait()
        answers.append(client.post(path, json=removal()))

    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len({answer.json()["envelope"] for answer in answers}) == 1
    assert sum(len(answer.json()["receipts"]) for answer in answers) == 1
    assert len(service.vault) == 87


def test_who_is_not_there_cannot_be_removed_and_is_not_written_down(service, api):
    post(api, "/removals", removal("p-700"), 404)
    post(api, "/removals", {"ids": ["c-7000"], "request_id": "r-1", "ground": GROUND}, 404)
    assert service.desk.requests() == []


def test_by_ids_each_record_has_a_receipt(api):
    done = post(api, "/removals", {"ids": ["c-1", "c-2"], "request_id": "r-1", "ground": GROUND})
    assert (done["removed"], len(done["receipts"])) == (2, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": ["c-1"]},
        {"subject": None},
        {"subject": ""},
        {"subject": 7},
        {"request_id": "with blank"},
        {"request_id": "x" * 201},
        {"request_id": "ümlaut"},
        {"request_id": "a\r\nset-cookie: b"},
        {"request_id": "p-7"},
        {"request_id": None},
        {"ground": ""},
        {"ground": "  "},
        {"ground": "p-7 asked for it"},
        {"received": "yesterday"},
        {"received": "2999-01-01T00:00:00Z"},
        {"received": "2026-02-30T00:00:00Z"},
        {"unknown": 1},
        {"subject": None, "ids": []},
        {"subject": None, "ids": ["c-1", 1]},
        {"subject": None, "ids": ["c-1", "c-1"]},
        {"subject": None, "ids": [1.5]},
        {"subject": None, "ids": [True]},
    ],
)
def test_wrong_removals_are_refused(service, api, wrong):
    post(api, "/removals", removal() | wrong, 422)
    assert (len(service.vault), service.desk.requests()) == (90, [])


def test_a_removed_record_is_in_no_answer_after_its_removal_has_returned(service, api):
    kept = people(90)
    kept.loc[21:23, "town"] = "Elfenweg 81920"
    kept.loc[21:23, "age"] = 131.5
    post(
        api, "/corrections?request_id=k-1", {"records": kept.loc[21:23, ["customer", "town", "age"]].to_dict("records")}
    )
    assert "Elfenweg" in get(api, "/model").text
    assert "Elfenweg" in get(api, "/model/circuit").text
    post(api, "/removals", removal())
    asked = [
        get(api, f"/{path}") for path in ("model", "model/circuit", "requests", "ledger", "ledger/export", "metrics")
    ]
    asked += [api.post(f"{API}/requests/search", json={}), api.post(f"{API}/model/sample", json={"n": 300, "seed": 1})]
    for answer in asked:
        assert answer.status_code == 200
        assert not [name for name in ("Elfenweg", 'p-7"', "c-21", "c-22", "131.5") if name in answer.text]
    for person in ({"subject": "p-7"}, {"ids": ["c-22"]}):
        post(api, "/access", person, 404)
    assert len(post(api, "/access", {"subject": "p-8"})["records"]) == 3


def test_a_dry_run_changes_nothing(service, api, tmp_path):
    def state():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}, digests_of(service.vault)

    file(api, "q-1")
    before = state()
    for tried in (post(api, "/removals/try-out", {"subject": "p-7"}), post(api, "/requests/q-1/try-out")):
        assert (tried["removed"], tried["dry_run"], tried["certificate"], tried["envelope"]) == (3, True, None, None)
        digests = tried["report"]["model_digest"]
        assert digests["before"] == digests_of(service.vault)[0] != digests["after"]
    assert state() == before
    post(api, "/removals/try-out", {"subject": "p-700"}, 404)
    assert digests["after"] == fresh_digests(TABLE[TABLE["person"] != "p-7"], min_rows=20)[0]


# -- requests --------------------------------------------------------------------------------------------------------


def test_a_request_from_filing_to_certificate(api):
    received = ago(3)
    filed = post(api, "/requests", {"wish": "erase", "subject": "p-7", "request_id": "q-1", "received": received}, 201)
    assert (filed["state"], filed["due"], filed["verified_by"]) == ("open", due_after(received), None)
    assert filed["days_left"] in range(24, 29)
    post(api, "/requests/q-1/erase", {"ground": GROUND}, 409)
    verified = post(api, "/requests/q-1/verify-identity")
    assert verified["verified_by"].startswith("crm (token ")
    assert post(api, "/requests/q-1/verify-identity") == verified
    post(api, "/requests/q-1/notes", {"text": "called back"})
    until = latest_extension(received)
    extended = post(api, "/requests/q-1/extend", {"until": until, "reason": "many records"})
    assert (extended["due"], extended["is_extended"]) == (until, True)
    post(api, "/requests/q-1/extend", {"until": until, "reason": "again"}, 409)
    done = post(api, "/requests/q-1/erase", {"ground": GROUND})
    again = post(api, "/requests/q-1/erase", {"ground": GROUND})
    assert (again["envelope"], again["receipts"]) == (done["envelope"], [])
    request = get(api, "/requests/q-1").json()
    steps = ["filed", "identity verified", "remark", "extended", "approved", "done"]
    assert [step["what"] for step in request["steps"]] == steps
    assert {step["note"] for step in request["steps"]} == {""}
    assert request["commitment"]
    post(api, "/requests/q-1/notes", {"text": "it was p-7"}, 409)
    post(api, "/requests/q-1/withdraw", status=409)


def test_a_request_may_be_filed_again_under_its_id_and_by_nobody_else(api):
    body = {"wish": "erase", "subject": "p-7", "request_id": "q-1", "note": "by letter"}
    first = post(api, "/requests", body, 201)
    assert post(api, "/requests", body, 201) == first
    for other in ({"subject": "p-8"}, {"wish": "access"}, {"subject": None, "ids": ["c-21"]}):
        post(api, "/requests", body | other, 409)
    post(api, "/requests/q-1/verify-identity")
    post(api, "/requests/q-1/erase", {"ground": GROUND})
    assert post(api, "/requests", body, 201)["state"] == "done"
    for other in ({"subject": "p-8"}, {"wish": "access"}, {"subject": None, "ids": ["c-30"]}):
        post(api, "/requests", body | other, 409)


def test_denying_and_withdrawing(api):
    file(api, "q-1")
    post(api, "/requests/q-1/deny", {"ground": "Art. 12(5)"}, 422)
    post(api, "/requests/q-1/deny", {"ground": "Art. 12(5)", "reason": ""}, 422)
    denied = post(api, "/requests/q-1/deny", {"ground": "Art. 12(5)", "reason": "manifestly unfounded"})
    assert (denied["state"], denied["ground"], denied["days_left"]) == ("denied", "Art. 12(5)", None)
    post(api, "/requests/q-1/erase", {"ground": GROUND}, 409)
    post(api, "/removals", removal(request_id="q-1"), 409)
    file(api, "q-2", "access")
    assert post(api, "/requests/q-2/withdraw")["state"] == "withdrawn"


@pytest.mark.parametrize(
    ("until", "status"), [("tomorrow", 422), ("2026-01-31", 422), ("2999-01-01T00:00:00Z", 422), ("", 422)]
)
def test_wrong_extensions(api, until, status):
    file(api, "q-1")
    post(api, "/requests/q-1/extend", {"until": until, "reason": "many records"}, status)
    assert get(api, "/requests/q-1").json()["is_extended"] is False


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("verify-identity", None),
        ("extend", {"until": "2026-12-31T00:00:00Z", "reason": "r"}),
        ("deny", {"ground": "g", "reason": "r"}),
        ("withdraw", None),
        ("notes", {"text": "t"}),
        ("try-out", None),
        ("erase", {"ground": "g"}),
        ("access", None),
        ("correct", {"records": [{"customer": "c-1", "age": 1.0}]}),
    ],
)
def test_what_is_not_there_is_not_found(api, path, body):
    post(api, f"/requests/q-404/{path}", body, 404)


def test_access_gives_all_records_and_may_be_repeated(service, api):
    file(api, "q-1", "access", subject="p-3")
    held = service.vault.access(subject="p-3").as_dicts()
    assert post(api, "/requests/q-1/access") == {"records": held}
    assert get(api, "/requests/q-1").json()["state"] == "done"
    assert post(api, "/requests/q-1/access") == {"records": held}
    assert post(api, "/access", {"subject": "p-3"}) == {"records": held}
    post(api, "/removals", removal("p-3"))
    post(api, "/requests/q-1/access", status=409)


def test_a_correction_of_a_persons_records(service, api):
    file(api, "q-1", "correct", subject="p-3")
    others = {"records": [{"customer": "c-9", "age": 33.0}, {"customer": "c-30", "age": 33.0}]}
    post(api, "/requests/q-1/correct", others, 409)
    done = post(api, "/requests/q-1/correct", {"records": [{"customer": "c-9", "age": 33.0}]})
    again = post(api, "/requests/q-1/correct", {"records": [{"customer": "c-9", "age": 33.0}]})
    assert done["envelope"] == again["envelope"]
    assert service.vault.access("c-9").as_dicts()[0]["age"] == 33.0
    post(api, "/requests/q-1/correct", {"records": []}, 422)


def test_a_hold_blocks_erasure_until_it_is_lifted(service, api):
    post(api, "/holds", {"subject": "p-7", "reason": "a lawsuit"}, 204)
    (hold,) = get(api, "/holds").json()
    assert (hold["subject"], hold["reason"]) == ("p-7", "a lawsuit")
    file(api, "q-1")
    for path, body in (
        ("/requests/q-1/erase", {"ground": GROUND}),
        ("/removals", removal()),
        ("/removals", {"ids": ["c-21", "c-50"], "request_id": "r-2", "ground": GROUND}),
    ):
        assert "legal hold" in post(api, path, body, 409)["detail"]
    assert len(service.vault) == 90
    post(api, "/holds/lift", {"subject": "p-7"}, 204)
    post(api, "/holds/lift", {"subject": "p-7"}, 409)
    assert post(api, "/removals", removal())["removed"] == 3
    post(api, "/holds", {"subject": "p-7", "reason": "too late"}, 404)
    post(api, "/holds", {"subject": "p-8", "reason": " "}, 422)


def test_searching(api):
    for number, (wish, subject, days) in enumerate(
        [("erase", "p-7", 3), ("access", "p-7", 60), ("erase", "p-17", 1), ("erase", "p-8", 0)]
    ):
        body = {"wish": wish, "subject": subject, "request_id": f"q-{number}", "received": ago(days)}
        post(api, "/requests", body, 201)
    post(api, "/requests", {"wish": "access", "ids": ["c-70"], "request_id": "q-9"}, 201)
    post(api, "/requests/q-3/withdraw")

    def found(**wanted):
        return [request["id"] for request in post(api, "/requests/search", wanted)]

    assert found() == ["q-1", "q-0", "q-2", "q-9", "q-3"] == [each["id"] for each in get(api, "/requests").json()]
    assert found(person="P-7") == ["q-1", "q-0"]
    assert found(person="p-7", wishes=["erase"]) == ["q-0"]
    assert found(person="c-70") == ["q-9"]
    assert found(states=["withdrawn", "done"]) == ["q-3"]
    assert found(late=True) == ["q-1"]
    assert found(person="nobody") == []
    assert [each["id"] for each in get(api, "/requests/q-0/related").json()] == ["q-1"]
    for wrong in ({"states": ["lost"]}, {"late": 0}, {"late": "yes"}):
        post(api, "/requests/search", wrong, 422)


# -- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_arrow", [False, True])
def test_additions_and_corrections_once(service, api, as_arrow):
    added = people(3, seed=1, first=900)

    def send(path, table, status=200):
        if as_arrow:
            return post(api, path, content=stream(pa.Table.from_pandas(table)), headers=AS_ARROW, status=status)
        return post(api, path, {"records": table.to_dict("records")}, status)

    done = send("/additions?request_id=a-1", added)
    assert (done["added"], done["remaining"]) == (3, 93)
    assert send("/additions?request_id=a-1", added)["envelope"] == done["envelope"]
    send("/additions?request_id=a-1", people(2, seed=2, first=950), 409)
    send("/additions?request_id=a-2", added, 422)
    corrected = added[["customer", "age"]].assign(age=[1.0, 2.5, 3.0])
    changed = send("/corrections?request_id=k-1", corrected)
    assert (changed["removed"], changed["added"]) == (3, 3)
    assert send("/corrections?request_id=k-1", corrected)["envelope"] == changed["envelope"]
    for path in ("/corrections?request_id=a-1", "/additions?request_id=k-1"):
        send(path, corrected if "corrections" in path else added, 409)
    send("/corrections?request_id=k-1", corrected[:2], 409)
    everything = pd.concat([TABLE, added.assign(age=[1.0, 2.5, 3.0])])
    assert digests_of(service.vault) == fresh_digests(everything, min_rows=20)


def test_no_change_closes_a_request_of_a_person_by_its_id(service, api):
    file(api, "q-1")
    post(api, "/additions?request_id=q-1", {"records": new_records()}, 409)
    post(api, "/corrections?request_id=q-1", {"records": [{"customer": "c-30", "age": 1.0}]}, 409)
    assert get(api, "/requests/q-1").json()["state"] == "open"
    assert len(service.vault) == 90


def test_what_cannot_be_added_or_corrected(service, api):
    record = new_records(1)[0]
    for wrong in (
        [record | {"age": "old"}],
        [record | {"customer": None}],
        [record, record],
        [record | {"unheard": 1}],
        [{"customer": "x"}],
        [{}],
    ):
        post(api, "/additions?request_id=a-1", {"records": wrong}, 422)
    post(api, "/corrections?request_id=k-1", {"records": [{"customer": "c-900", "age": 1.0}]}, 404)
    post(api, "/additions", {"records": [record]}, 422)
    assert len(service.vault) == 90


def test_guarded_records_come_back_only_if_that_is_allowed(service, api):
    service.vault.turn_guard_on()
    gone = TABLE[TABLE["person"] == "p-7"].to_dict("records")
    post(api, "/removals", removal())
    post(api, "/additions?request_id=a-1", {"records": gone}, 409)
    assert post(api, "/additions?request_id=a-1&allow_returning=true", {"records": gone})["added"] == 3


def typed_table():
    rng = np.random.default_rng(3)
    number = 60
    return pd.DataFrame(
        {
            "id": np.arange(number),
            "person": [f"p-{i // 2}" for i in range(number)],
            "visits": rng.poisson(4, number),
            "smokes": rng.random(number) < 0.3,
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, number), "D"),
            "seen": pd.to_datetime("2024-01-01", utc=True) + pd.to_timedelta(rng.integers(0, 10**7, number), "s"),
            "weight": np.where(rng.random(number) < 0.2, np.nan, np.round(rng.normal(70, 9, number), 2)),
        }
    )


@pytest.fixture
def typed(tmp_path):
    with Vault.create(tmp_path / "typed.uspn") as vault:
        vault.ingest(typed_table(), "id", "person")
        vault.fit(min_rows=20)
    with opened(tmp_path / "typed.uspn") as service:
        yield service


def test_dates_booleans_integers_and_what_is_missing(typed):
    api = api_of(typed)
    sent = {
        "id": 900,
        "person": "p-900",
        "visits": 3,
        "smokes": True,
        "since": "2021-02-28",
        "seen": "2024-02-29T12:30:00Z",
        "weight": None,
    }
    post(api, "/additions?request_id=a-1", {"records": [sent, sent | {"id": 901, "smokes": None, "since": None}]})
    first, second = post(api, "/access", {"subject": "p-900"})["records"]
    assert (first["id"], first["visits"], first["smokes"], first["weight"]) == (900, 3, True, None)
    assert (first["since"][:10], first["seen"][:19].replace(" ", "T")) == ("2021-02-28", "2024-02-29T12:30:00")
    assert (second["smokes"], second["since"]) == (None, None)
    assert isinstance(first["visits"], int)
    held = typed.vault.access([900, 901]).as_dicts()
    assert held[0]["seen"] == dt.datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    again = {name: value for name, value in first.items() if name not in ("id", "person")}
    post(api, "/additions?request_id=a-2", {"records": [again | {"id": 902, "person": "p-901"}]})
    (third,) = post(api, "/access", {"ids": [902]})["records"]
    assert {**third, "id": 900, "person": "p-900"} == first
    for wrong in ({"smokes": "maybe"}, {"since": "soon"}, {"since": 5}, {"visits": True}, {"id": "nine"}, {"id": 1.5}):
        post(api, "/additions?request_id=a-3", {"records": [sent | {"id": 903} | wrong]}, 422)
    assert post(api, "/removals", {"ids": [900, 901], "request_id": "r-1", "ground": GROUND})["removed"] == 2
    post(api, "/removals", {"ids": ["902"], "request_id": "r-2", "ground": GROUND}, 404)
    assert typed.vault.verify()


def test_questions_about_all_kinds_are_answered_as_by_the_library(typed):
    api, circuit = api_of(typed), typed.vault.circuit_
    rows = typed_table().head(7)
    sent = [
        {
            "visits": row.visits,
            "smokes": bool(row.smokes),
            "since": str(row.since.date()),
            "weight": nan_to_none(row.weight),
        }
        for row in rows.itertuples()
    ]
    expected = circuit.score_samples(rows[["visits", "smokes", "since", "weight"]].reindex(columns=circuit.columns))
    assert post(api, "/model/score", {"records": sent})["log_densities"] == expected.tolist()
    event, given = {"smokes": True}, {"since": {"at_least": "2021-01-01"}}
    asked = post(api, "/model/probability", {"event": event, "given": given})["probability"]
    from unlearnspn import Range

    assert asked == circuit.probability(event, given={"since": Range(at_least="2021-01-01")})


def nan_to_none(value):
    return None if math.isnan(value) else value


# -- questions -------------------------------------------------------------------------------------------------------


def stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def read_stream(content):
    with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
        return reader.read_all()


def test_scores_are_those_of_the_library(service, api):
    table = TABLE.drop(columns=["customer", "person"])
    expected = service.vault.circuit_.score_samples(table)
    assert post(api, "/model/score", {"records": table.to_dict("records")})["log_densities"] == expected.tolist()
    answer = api.post(f"{API}/model/score", content=stream(pa.Table.from_pandas(table)), headers=AS_ARROW)
    assert answer.headers["content-type"] == ARROW
    assert read_stream(answer.content)["log_density"].to_pylist() == expected.tolist()
    in_json = api.post(
        f"{API}/model/score", content=stream(pa.Table.from_pandas(table)), headers={"content-type": ARROW}
    )
    assert in_json.json()["log_densities"] == expected.tolist()
    as_categories = pa.table({name: pa.array(table[name]).dictionary_encode() for name in ("town", "pays")})
    answer = api.post(f"{API}/model/score", content=stream(as_categories), headers=AS_ARROW)
    partly = service.vault.circuit_.score_samples(table.assign(age=np.nan, visits=np.nan))
    assert read_stream(answer.content)["log_density"].to_pylist() == partly.tolist()


def test_what_is_missing_or_never_seen(service, api):
    whole = {"age": 40.0, "visits": 2, "town": "Ulm", "pays": "late"}
    answers = post(
        api, "/model/score", {"records": [whole, {"town": "Ulm"}, {"town": None, "age": 40}, whole | {"town": "Rom"}]}
    )["log_densities"]
    assert answers[1] == math.log(service.vault.probability({"town": "Ulm"}))
    assert answers[3] == service.vault.circuit_.score_samples(pd.DataFrame([whole | {"town": "Rom"}]))[0]
    post(api, "/model/score", {"records": [{"unheard": 1}]}, 422)
    post(api, "/model/score", {"records": [{"age": "old"}]}, 422)


def test_probabilities_expectations_samples_and_imputations(service, api):
    circuit = service.vault.circuit_
    from unlearnspn import Range

    given = {"age": {"at_least": 30, "below": 50}, "town": ["Ulm", "Bonn"]}
    as_library = {"age": Range(at_least=30, below=50), "town": ["Ulm", "Bonn"]}
    asked = post(api, "/model/probability", {"event": {"pays": "late"}, "given": given})
    assert asked == {"probability": circuit.probability({"pays": "late"}, given=as_library)}
    means = post(api, "/model/expectation", {"columns": ["age", "visits"], "given": given})["means"]
    assert means == {name: circuit.expectation(name, given=as_library) for name in ("age", "visits")}
    drawn = post(api, "/model/sample", {"n": 5, "seed": 7, "given": {"town": "Ulm"}})["records"]
    assert drawn == circuit.sample(5, given={"town": "Ulm"}, random_state=7).to_dict("records")
    answer = api.post(
        f"{API}/model/sample", json={"n": 5, "seed": 7, "given": {"town": "Ulm"}}, headers={"accept": ARROW}
    )
    assert read_stream(answer.content).to_pylist() == drawn
    rows = [{"age": 40.0, "visits": None, "town": "Ulm", "pays": None}]
    for how in ("mean", "mpe"):
        filled = post(api, f"/model/impute?how={how}", {"records": rows})["records"]
        assert filled[0]["age"] == 40.0
        assert filled[0]["pays"] in ("late", "in time")
        assert filled[0]["visits"] is not None
    assert [column["name"] for column in get(api, "/model").json()["columns"]] == list(circuit.columns)
    assert get(api, "/model/circuit").json()


def test_whoever_takes_the_circuit_is_in_the_audit_log_with_the_entry_of_its_model(service, api):
    for entry in ("2", "3"):
        before = service.vault.log()
        assert get(api, "/model/circuit").text == service.vault.circuit_.to_json()
        told = service.audit.entries()[0]
        assert (told.who.partition(" (")[0], told.what, told.about) == ("crm", "circuit taken", entry)
        assert len(service.vault.log()) == len(before)
        service.vault.unlearn(subject=f"p-{entry}")
    with full(service):
        get(api, "/model/circuit", 500)


@pytest.mark.parametrize("asked_before", [True, False])
def test_the_circuit_of_before_is_given_while_a_model_is_learned(service, api, monkeypatch, asked_before):
    with Vault.open(service.path) as reader:
        before = reader.circuit_.to_json()
    if asked_before:
        get(api, "/model")
    body, jobs = {"request_id": "f-1", "parameters": {"alpha": 5.0}}, []
    with halfway(monkeypatch, Learned, "fit", lambda: jobs.append(post(api, "/fits", body, 202))):
        assert soon(lambda: get(api, "/model/circuit").text) == before
        assert next((each.what, each.about) for each in service.audit.entries()) == ("circuit taken", "2")
        assert soon(lambda: get(api, "/model").json())["columns"]
    assert wait_for(api, jobs[0])["state"] == "done"
    assert get(api, "/model/circuit").text == service.vault.circuit_.to_json() != before
    assert next((each.what, each.about) for each in service.audit.entries()) == ("circuit taken", "3")


def test_there_is_no_circuit_while_the_first_model_is_learned(tmp_path, monkeypatch):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(TABLE, "customer", "person")
    with opened(tmp_path / "people.uspn") as service:
        api, jobs = api_of(service), []
        with halfway(monkeypatch, Learned, "fit", lambda: jobs.append(post(api, "/fits", {"request_id": "f-1"}, 202))):
            detail = soon(lambda: get(api, "/model/circuit", 409).json()["detail"])
            assert detail == "there is no circuit yet: a model is being learned, ask again when that is done"
        assert wait_for(api, jobs[0])["state"] == "done"
        assert get(api, "/model/circuit").json()


def soon(ask):
    """Return an answer, and fail if that has to wait."""
    found = []
    thread = threading.Thread(target=lambda: found.append(ask()), daemon=True)
    thread.start()
    thread.join(20)
    assert found, "whoever asks has to wait"
    return found[0]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("probability", {"event": {"unheard": 1}}),
        ("probability", {"event": {"age": {"above": 5, "at_least": 5}}}),
        ("probability", {"event": {"age": "old"}}),
        ("probability", {"event": {"town": {"above": 5}}}),
        ("probability", {"event": {"age": {"over": 5}}}),
        ("probability", {}),
        ("expectation", {"columns": ["town"]}),
        ("expectation", {"columns": ["unheard"]}),
        ("expectation", {"columns": []}),
        ("sample", {"n": 0}),
        ("sample", {"n": 10**9}),
        ("sample", {"n": 2, "seed": -1}),
        ("sample", {"n": 2, "seed": False}),
        ("sample", {"n": "2"}),
        ("impute?how=best", {"records": [{"age": 1}]}),
        ("score", {"records": []}),
        ("score", {"records": [[1]]}),
        ("score", {"records": [{"age": [1]}]}),
    ],
)
@pytest.mark.filterwarnings("ignore::unlearnspn.errors.UnseenCategoryWarning")
def test_questions_that_cannot_be_answered(api, path, body):
    post(api, f"/model/{path}", body, 422)


def test_a_vault_without_a_model(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(TABLE, "customer", "person")
    with opened(tmp_path / "people.uspn") as service:
        api = api_of(service)
        for path in ("/model", "/model/circuit"):
            assert "no model" in get(api, path, 409).json()["detail"]
        post(api, "/model/probability", {"event": {"pays": "late"}}, 409)
        assert post(api, "/removals", removal())["removed"] == 3
        job = wait_for(api, post(api, "/fits", {"request_id": "f-1", "parameters": {"min_rows": 20}}, 202))
        assert job["state"] == "done"
        assert digests_of(service.vault) == fresh_digests(TABLE[TABLE["person"] != "p-7"], min_rows=20)


def test_the_last_record_may_leave(tmp_path):
    with opened(make_vault(tmp_path, people(3), min_rows=2)) as service:
        api = api_of(service)
        assert post(api, "/removals", removal("p-0"))["remaining"] == 0
        get(api, "/model", 409)
        assert post(api, "/removals", removal("p-0"))["remaining"] == 0
        assert service.vault.verify()


# -- ledger and jobs -------------------------------------------------------------------------------------------------


def test_the_ledger(service, api):
    post(api, "/removals", removal())
    entries = get(api, "/ledger").json()
    assert [entry["action"] for entry in entries] == ["init", "ingest", "fit", "removal"]
    assert [entry["entry"] for entry in get(api, "/ledger?first=1&limit=2").json()] == [1, 2]
    assert [entry["entry"] for entry in get(api, "/ledger?action=removal").json()] == [3]
    assert [entry["entry"] for entry in get(api, "/ledger?request_id=r-1").json()] == [3]
    assert get(api, "/ledger/3").json() == entries[3]
    assert get(api, "/ledger/head").json() == {"entry": 3, "digest": entries[3]["digest"]}
    exported = get(api, "/ledger/export").content.splitlines()
    assert [Envelope.decode(line).digest for line in exported] == [entry["digest"] for entry in entries]
    page = get(api, "/ledger/3/page")
    assert page.headers["content-disposition"] == 'attachment; filename="certificate-3.html"'
    for path in ("/ledger/4", "/ledger/4/certificate", "/ledger/4/page"):
        get(api, path, 404)
    for path in ("/ledger/-1", "/ledger/x", "/ledger?limit=0", "/ledger?first=-1", "/ledger?action=murder"):
        get(api, path, 422)


def test_everything_is_verified_in_the_background(service, api):
    post(api, "/removals", removal())
    started = post(api, "/verifications", status=202)
    assert started["kind"] == "verification"
    job = wait_for(api, started)
    assert (job["state"], job["share"], job["error"]) == ("done", 1.0, None)
    assert job["result"]["verified"] is True
    assert job["result"]["head"] == get(api, "/ledger/head").json()["digest"]
    get(api, "/jobs/j-404", 404)


def test_a_damaged_vault_is_not_verified(service, api, tmp_path):
    path = tmp_path / "people.uspn"
    content = bytearray(path.read_bytes())
    place = content.rindex(b"\x00" * 8)
    content[place] ^= 0xFF
    path.write_bytes(content)
    job = wait_for(api, post(api, "/verifications", status=202))
    assert job["state"] == "failed" or job["result"]["verified"] is False


def test_progress_can_be_watched(service, api, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    verify = Vault.verify

    def slowly(vault, *arguments, progress=None, **named):
        def told(step, done, total):
            progress(step, done, total)
            if step.startswith("learning"):
                reached.set()
                assert go_on.wait(20)

        return verify(vault, *arguments, progress=told, **named)

    monkeypatch.setattr(Vault, "verify", slowly)
    started = post(api, "/verifications", status=202)
    assert reached.wait(20)
    job = get(api, f"/jobs/{started['id']}").json()
    assert (job["state"], job["step"]) == ("running", "learning from scratch")
    waiting = post(api, "/fits", {"request_id": "f-9"}, 202)
    assert get(api, f"/jobs/{waiting['id']}").json()["state"] == "waiting"
    assert post(api, "/removals", removal())["removed"] == 3, "nobody waits for a verification"
    go_on.set()
    assert wait_for(api, started)["state"] == "done"
    assert wait_for(api, waiting)["state"] == "done"


def test_a_fit_once(service, api):
    body = {"request_id": "f-1", "parameters": {"min_rows": 30}}
    first = wait_for(api, post(api, "/fits", body, 202))
    assert first["state"] == "done"
    again = wait_for(api, post(api, "/fits", body, 202))
    assert again["result"] == first["result"]
    assert digests_of(service.vault) == fresh_digests(TABLE, min_rows=30)
    post(api, "/fits", {"request_id": "f-2", "parameters": {"unheard": 1}}, 422)
    post(api, "/additions?request_id=a-1", {"records": new_records()})
    post(api, "/fits", {"request_id": "a-1"}, 409)
    post(api, "/removals", removal(request_id="f-1"), 409)
    failed = wait_for(api, post(api, "/fits", {"request_id": "f-3", "parameters": {"min_rows": -1}}, 202))
    assert failed["state"] == "failed"
    assert "min_rows" in failed["error"]
    assert service.vault.verify()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_rows", 1 << 63),
        ("min_rows", "many"),
        ("min_std", 10**400),
        ("threshold", 10**400),
        ("n_clusters", 1 << 63),
        ("random_state", None),
        ("random_state", 0.5),
        ("leaves", "poisson"),
        ("independence", 1),
        ("clustering", None),
    ],
)
def test_a_fit_with_a_parameter_that_cannot_be_fails_and_says_which(service, api, name, value):
    before = digests_of(service.vault)
    failed = wait_for(api, post(api, "/fits", {"request_id": "f-1", "parameters": {name: value}}, 202))
    assert failed["state"] == "failed"
    assert name in failed["error"]
    assert digests_of(service.vault) == before


def test_health_metrics_and_description(api, service):
    assert get(api, "/health").json()["status"] == "ok"
    post(api, "/removals", removal())
    post(api, "/removals", removal("p-700", "r-2"), 404)
    figures = get(api, "/metrics").text
    assert "unlearnspn_records 87.0" in figures
    assert "unlearnspn_requests_open 0.0" in figures
    assert 'unlearnspn_answers_total{path="/api/…/removals",status="200"} 1.0' in figures
    assert 'unlearnspn_answers_total{path="/api/…/removals",status="404"} 1.0' in figures
    paths = get(api, "/openapi.json").json()["paths"]
    assert "/api/v1/removals" in paths
    for path, methods in paths.items():
        for method, operation in methods.items():
            assert operation["responses"].keys() >= {"401", "403", "404", "409", "413", "422"}, (method, path)


def test_the_description_says_that_a_person_is_named_in_one_way(api):
    schemas = get(api, "/openapi.json").json()["components"]["schemas"]
    for name in ("PersonBody", "FileBody", "RemovalBody"):
        assert [way["required"] for way in schemas[name]["oneOf"]] == [["subject"], ["ids"]]


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/holds", "GET, POST"), ("/holds/lift", "POST"), ("/ledger/3", "GET"), ("/requests/x", "GET")],
)
def test_an_undocumented_method_is_told_which_there_are(api, path, methods):
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
        answer = api.request(method, f"{API}{path}")
        assert (answer.status_code, answer.headers.get_list("allow")) == (405, [methods])
        assert_problem(answer)


def test_one_process_owns_the_vault(service, tmp_path):
    with pytest.raises(VaultError, match="is being changed by somebody else"), opened(tmp_path / "people.uspn"):
        pass


def test_tokens_open_nothing_but_what_they_are_for(service):
    reader = api_of(service, Scope.READ_REQUESTS)
    assert get(reader, "/requests").json() == []
    post(reader, "/removals", removal(), 403)
    unknown = api_of(service)
    unknown.headers["authorization"] = f"Bearer {token(service)[:-1]}"
    assert get(unknown, "/requests", 401).headers["www-authenticate"] == "Bearer"

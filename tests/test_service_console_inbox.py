"""The console's inbox: listing, filtering and searching requests, new ones by form and by table, several, holds."""

import pytest

from consoles import Visitor, downloads, words
from services import make_vault, opened
from unlearnspn import Vault
from unlearnspn.certificates import Receipt, utc_now
from unlearnspn.service.console.texts import names
from unlearnspn.service.desk_service import Person
from unlearnspn.service.roles import Role
from unlearnspn.vault import NewRequest, Wish
from vault_states import people

NASTY = '"><script>alert(1)</script>'
ESCAPED = "&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"


@pytest.fixture
def service(tmp_path):
    with opened(make_vault(tmp_path)) as service:
        yield service


@pytest.fixture
def anna(service):
    return Visitor(service)


def file(service, subject="p-7", request_id="q-1", wish=Wish.ERASE, verified=False, **more):
    person = subject if isinstance(subject, Person) else Person(subject)
    service.file(wish, person, who="anna", request_id=request_id, **more)
    if verified:
        service.verify_identity(request_id, who="anna")


# -- listing -----------------------------------------------------------------------------------------------------------


def test_both_languages_have_the_same_texts():
    assert names("en") == names("de")


def test_the_inbox_shows_what_is_asked_and_how_long_there_is(service, anna):
    assert "There are no requests here" in words(anna.get("/"))
    file(service, received="2020-01-31T08:00:00Z", note="hush")
    file(service, Person(None, ("c-30", "c-31")), "q-2", Wish.ACCESS, verified=True)
    text = words(anna.get("/"))
    assert "days overdue" in text
    assert "c-30 , c-31" in text or "c-30, c-31" in text
    assert "verified by anna" in text
    assert "not verified yet" in text
    assert text.index("q-1") < text.index("q-2")
    assert "hush" not in text


def test_texts_are_german_for_germans(service):
    file(service, received="2020-01-31T08:00:00Z")
    text = words(Visitor(service, language="de").get("/"))
    assert "Tage überfällig" in text
    assert "31.01.2020" in text


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"late", "access", "done"}),
        ("?state=open", {"late", "access"}),
        ("?state=done", {"done"}),
        ("?wish=access", {"access"}),
        ("?late=yes", {"late"}),
        ("?state=open&wish=erase", {"late"}),
        ("?state=nonsense&page=99", {"late", "access", "done"}),
    ],
)
def test_requests_are_filtered(service, anna, query, shown):
    file(service, "p-1", "late", received="2020-01-31T08:00:00Z")
    file(service, "p-2", "access", Wish.ACCESS)
    file(service, "p-3", "done", verified=True)
    service.erase("done", ground="Art. 17(1)(a)", who="anna")
    page = anna.get(f"/{query}").text
    assert {name for name in ("late", "access", "done") if f'href="/requests/{name}"' in page} == shown


def test_people_are_searched_by_a_form_that_names_them_in_no_address(service, anna):
    file(service)
    file(service, "p-8", "q-2")
    page = anna.post("/search", person="P-8")
    assert "q-2" in page.text
    assert 'href="/requests/q-1"' not in page.text
    assert "p-8" not in str(page.url)
    assert 'action="/search"' in page.text


def test_long_lists_have_pages(service, anna):
    service.desk.file_all(
        [NewRequest(Wish.ERASE, f"s-{number}", request_id=f"r-{number:03}") for number in range(120)],
        who="anna",
    )
    pages = [anna.get(f"/?page={number}").text for number in (1, 2, 3)]
    assert [page.count('href="/requests/r-') for page in pages] == [50, 50, 20]
    assert anna.post("/search", person="s-", page="3").text.count('href="/requests/r-') == 20


def test_requests_of_one_person_are_together_and_duplicates_are_told(service, anna):
    file(service, "p-7", "a")
    file(service, "p-8", "b")
    file(service, "p-7", "c")
    file(service, "p-7", "d", Wish.ACCESS)
    page = anna.get("/")
    order = [page.text.index(f'value="{name}"') for name in "acdb"]
    assert order == sorted(order)
    assert page.text.count('class="follows"') == 2
    text = words(page)
    assert "Likely a duplicate of c" in text
    assert "Likely a duplicate of a" in text
    assert "2 other requests of this person" in text


# -- new requests ------------------------------------------------------------------------------------------------------


def test_a_request_is_filed_by_form(service, anna):
    answer = anna.post("/requests", wish="access", subject=" p-7 ", received="2026-01-31", note="by letter")
    assert answer.status_code == 303
    (request,) = service.desk.requests()
    assert answer.headers["location"] == f"/requests/{request.id}"
    assert (request.wish, request.subject, request.received) == (Wish.ACCESS, "p-7", "2026-01-31T00:00:00Z")
    assert "by letter" in words(anna.get(answer.headers["location"]))


def test_a_request_for_records_received_today(service, anna):
    anna.post("/requests", wish="erase", ids="c-1\r\n c-2\r\n\r\n", received=utc_now()[:10], request_id="2026-17")
    request = service.desk.get("2026-17")
    assert request.ids == ("c-1", "c-2")
    assert request.days_left >= 27


@pytest.mark.parametrize(
    "fields",
    [
        {"subject": "p-1", "ids": "c-1"},
        {},
        {"subject": "p-1", "received": "2999-01-01"},
        {"subject": "p-1", "received": "yesterday"},
        {"subject": "p-1", "request_id": "a/b"},
        {"subject": "p-1", "request_id": "new"},
        {"subject": "p-1", "wish": "praise"},
        {"subject": "x" * 1001},
        {"subject": "p-1", "note": "x" * 2001},
        {"subject": "p-2", "request_id": "q-1"},
    ],
)
def test_what_cannot_be_filed_comes_back_with_what_was_typed(service, anna, fields):
    file(service)
    answer = anna.post("/requests", **{"wish": "erase", "note": NASTY} | fields)
    assert answer.status_code in (409, 422)
    assert 'class="problem"' in answer.text
    assert NASTY not in answer.text
    assert "note" in fields or ESCAPED in answer.text
    assert len(service.desk.requests()) == 1


def test_numbers_are_ids_where_the_vault_has_numbers(tmp_path):
    table = people(40)
    table["customer"] = range(40)
    with opened(make_vault(tmp_path, table)) as service:
        anna = Visitor(service)
        anna.post("/requests", wish="erase", ids="7\n8", request_id="a")
        assert service.desk.get("a").ids == (7, 8)
        answer = anna.post("/requests", wish="erase", ids="seven", request_id="b")
        assert answer.status_code == 422
        assert "integers" in answer.text


TABLE = "\ufeffwish;subject;ids;received;request_id;note\nerase;p-1;;2026-02-01;t-1;by letter\naccess;;c-9 c-10;;;\n\n"


@pytest.mark.parametrize("as_file", [True, False])
def test_a_table_of_requests_is_filed(service, anna, as_file):
    if as_file:
        answer = anna.post("/requests/import", {"file": ("requests.csv", TABLE.encode(), "text/csv")}, table="")
    else:
        answer = anna.post("/requests/import", table=TABLE)
    assert answer.status_code == 200
    assert "Requests filed: 2" in words(answer)
    first, second = sorted(service.desk.requests(), key=lambda request: request.received)
    assert (first.id, first.subject, first.received) == ("t-1", "p-1", "2026-02-01T00:00:00Z")
    assert (second.wish, second.ids) == (Wish.ACCESS, ("c-9", "c-10"))
    assert [entry.about for entry in service.audit.entries()][:2] == [second.id, first.id]


def test_a_table_with_wrong_lines_is_not_filed_at_all(service, anna):
    file(service)
    rows = ["wish,subject,note,request_id", 'erase,p-1,"two\nlines",', "forget,p-2,,", "erase,,,"]
    table = "\n".join([*rows, "erase,p-3,,a", "erase,p-4,,a", "erase,p-9,,q-1"])
    answer = anna.post("/requests/import", table=table)
    assert answer.status_code == 422
    text = words(answer)
    assert all(f"Line {line}:" in text for line in (4, 5, 7, 8))
    assert not any(f"Line {line}:" in text for line in (2, 3, 6))
    assert len(service.desk.requests()) == 1


@pytest.mark.parametrize(
    "table",
    [
        "",
        "wish,subject\n",
        "subject\np-1\n",
        "wish,wish\n",
        "wish,name\nerase,p-1\n",
        "wish,subject\nerase,p-1,x,y\n",
        'wish,subject\nerase,"p-1\n',
        "wish,subject\n" + "erase,p-1\n" * 5001,
    ],
)
def test_what_is_no_table_is_refused(service, anna, table):
    answer = anna.post("/requests/import", table=table)
    assert answer.status_code == 422
    assert 'class="problem"' in answer.text
    assert service.desk.requests() == []


def test_a_file_that_is_no_text_is_refused(service, anna):
    answer = anna.post(
        "/requests/import", {"file": ("a.csv", b"wish,subject\nerase,M\xfcller\n", "text/csv")}, table=""
    )
    assert answer.status_code == 422
    assert "UTF-8" in answer.text


# -- several -----------------------------------------------------------------------------------------------------------


def test_several_are_shown_before_anything_happens(service, anna):
    file(service, "p-1", "a", verified=True)
    file(service, "p-2", "b")
    file(service, "p-3", "c", Wish.ACCESS, verified=True)
    file(service, "p-4", "d", verified=True)
    service.hold("p-4", who="anna", reason="a claim")
    text = words(anna.post("/requests/several", do="erase", id=["a", "b", "c", "d"]))
    assert "cannot be undone" in text
    for reason in ("not verified yet", "does not ask for erasure", "legal hold on the person"):
        assert reason in text
    assert all(request.is_open for request in service.desk.requests())


def test_several_are_erased_each_with_its_receipt(service, anna):
    for number in range(3):
        file(service, f"p-{number}", f"e-{number}", verified=True)
    file(service, "p-2", "twice", verified=True)
    service.hold("p-1", who="anna", reason="a claim")
    chosen = ["e-0", "e-1", "e-2", "twice"]
    page = anna.post("/requests/several", do="erase", id=chosen, confirmed="yes", ground="Art. 17(1)(a)")
    assert "legal hold" in words(page)
    receipts = downloads(page)
    entries = [service.desk.get(name).entry for name in ("e-0", "e-2")]
    assert sorted(receipts) == sorted(f"receipt-{entry}.json" for entry in entries)
    assert all(f'href="/ledger/{entry}"' in page.text for entry in entries)
    assert Receipt.decode(receipts[f"receipt-{entries[1]}.json"]).items[0].id == "p-2"
    assert service.desk.get("twice").entry == entries[1]
    assert service.desk.get("e-1").is_open


def test_several_are_verified_extended_denied_and_withdrawn(service, anna):
    for number in range(8):
        file(service, f"p-{number}", f"r-{number}")
    anna.post("/requests/several", do="verify", id=["r-0", "r-1"], confirmed="yes")
    anna.post("/requests/several", do="withdraw", id=["r-2", "r-3"], confirmed="yes")
    fields = {"ground": "Art. 12(5)", "ground_text": "every day", "reason": "too many"}
    anna.post("/requests/several", do="deny", id=["r-4", "r-5"], confirmed="yes", **fields)
    for months in ("1", "2"):
        anna.post(
            "/requests/several", do="extend", id=f"r-{5 + int(months)}", confirmed="yes", months=months, reason="w"
        )
    requests = {request.id: request for request in service.desk.requests()}
    assert [requests[f"r-{number}"].verified_by for number in range(3)] == ["anna", "anna", None]
    assert [str(requests[f"r-{number}"].state) for number in range(2, 6)] == ["withdrawn"] * 2 + ["denied"] * 2
    assert requests["r-4"].ground == "Art. 12(5): every day"
    assert 55 < requests["r-6"].days_left < 65
    assert 85 < requests["r-7"].days_left < 95


@pytest.mark.parametrize("do", ["deny", "extend"])
def test_several_need_a_reason(service, anna, do):
    file(service)
    answer = anna.post("/requests/several", do=do, id="q-1", confirmed="yes", ground="Art. 12(5)")
    assert answer.status_code == 422
    assert "the reason is missing" in words(answer)
    assert service.desk.get("q-1").is_open


def test_nothing_chosen_nothing_done(service, anna):
    assert "No request was chosen" in words(anna.post("/requests/several", do="verify"))
    assert anna.post("/requests/several", do="dance", id="q-1").status_code == 422
    assert anna.post("/requests/several", do="verify", id="nobody").status_code == 404


# -- trying out --------------------------------------------------------------------------------------------------------


def test_what_an_erasure_would_do_is_shown_and_not_done(service, anna):
    file(service, verified=True)
    before, preview = service.vault.info(), service.preview("q-1")
    page = anna.post("/requests/q-1/try-out")
    text, change = words(page), preview.change
    assert (page.status_code, page.text.count('<svg class="network"')) == (200, 1)
    assert "nothing has changed" in text
    assert f"This person 3 {change.of_removed.before:.6g} {change.of_removed.after:.6g}" in text
    assert f"Others 87 {change.of_others.before:.6g} {change.of_others.after:.6g}" in text
    drawn = [page.text.count(f'class="node {touch}"') for touch in ("untouched", "visited", "changed", "learned")]
    assert sum(drawn) == page.text.count('class="node ') > 0
    assert sum(drawn[1:]) > 0
    assert preview.outcome.report.digest_after[:16] in text
    assert service.vault.info() == before
    assert service.desk.get("q-1").is_open


def test_without_a_model_records_are_counted(tmp_path):
    with Vault.create(tmp_path / "people.uspn") as vault:
        vault.ingest(people(30), "customer", "person")
    with opened(tmp_path / "people.uspn") as service:
        file(service, verified=True)
        page = Visitor(service).post("/requests/q-1/try-out")
        assert "only records would be removed" in words(page)
        assert "<svg" not in page.text


# -- holds -------------------------------------------------------------------------------------------------------------


def test_holds_are_placed_shown_and_lifted(service, anna):
    file(service)
    assert anna.post("/holds", subject="p-7", reason="a claim").headers["location"] == "/holds"
    assert "a claim" in words(anna.get("/holds"))
    assert "legal hold" in words(anna.get("/"))
    answer = anna.post("/holds/lift", subject="p-7", request="q-1")
    assert answer.headers["location"] == "/requests/q-1"
    assert "There are no legal holds" in words(anna.get("/holds"))
    for fields in ({"subject": "p-7"}, {"reason": "a claim"}, {"subject": "x" * 1001, "reason": "a claim"}):
        assert anna.post("/holds", **fields).status_code == 422
    assert anna.post("/holds/lift", subject="p-7").status_code == 409


# -- finding -----------------------------------------------------------------------------------------------------------


def test_people_are_found_and_requests_filed_for_them(service, anna):
    assert "By values" in words(anna.get("/find"))
    for fields in ({"subject": "p-7"}, {"id": "c-21"}):
        page = anna.post("/find", **fields)
        assert 'value="p-7"' in page.text
    town = service.vault.access(ids=["c-21"]).as_dicts()[0]["town"]
    page = anna.post("/find", **{"value.2": town[:2].lower()})
    assert "c-21" in words(page)
    assert "p-7" in anna.post("/requests/new", subject="p-7").text
    assert "p-7" not in "".join(f"{entry.what} {entry.about}" for entry in service.audit.entries())


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 422),
        ({"subject": "p-7", "id": "c-1"}, 422),
        ({"value.0": "old"}, 422),
        ({"subject": "nobody"}, 404),
        ({"id": "nobody"}, 404),
        ({"value.2": "Atlantis"}, 200),
    ],
)
def test_who_is_not_there_is_not_found(anna, fields, status):
    answer = anna.post("/find", **fields)
    assert answer.status_code == status
    assert "Find a person" in words(answer)


# -- who may do what ---------------------------------------------------------------------------------------------------


def test_an_auditor_reads_and_changes_nothing(service):
    file(service)
    rolf = Visitor(service, Role.AUDITOR)
    for path in ("/", "/holds", "/requests/q-1"):
        page = rolf.get(path)
        assert page.status_code == 200
        assert "<button>" not in page.text.replace('<button class="quiet">', "")
        assert "/requests/several" not in page.text
    assert rolf.post("/search", person="p-7").status_code == 200
    for path in ("/find", "/requests/new"):
        assert rolf.get(path).status_code == 403
    for path in (
        "/find",
        "/requests",
        "/requests/new",
        "/requests/import",
        "/requests/several",
        "/holds",
        "/holds/lift",
    ):
        assert rolf.post(path, subject="p-7", wish="erase", reason="r", do="erase", id="q-1").status_code == 403
    assert len(service.desk.requests()) == 1


PATHS = ("/search", "/find", "/requests", "/requests/import", "/requests/several", "/holds", "/holds/lift")


@pytest.mark.parametrize("path", [*PATHS, "/requests/new"])
def test_forms_need_the_token_of_the_session(anna, path):
    for csrf in ("", "wrong"):
        assert anna.client.post(path, data={"csrf": csrf, "subject": "p-7"}).status_code == 403
    assert anna.client.post(path, data={}).status_code == 403
    anna.client.cookies.clear()
    assert anna.client.post(path, data={"csrf": anna.csrf}).headers["location"] == "/sign-in"


@pytest.fixture
def nasty(tmp_path):
    table = people(90)
    table.loc[table["person"] == "p-7", "person"] = NASTY
    table.loc[5, ["customer", "town"]] = NASTY
    with opened(make_vault(tmp_path, table.rename(columns={"pays": NASTY}))) as service:
        yield service


def test_everything_is_escaped(nasty):
    anna = Visitor(nasty)
    file(nasty, NASTY, "q-1", note=NASTY)
    file(nasty, Person(None, (NASTY,)), "q-2")
    nasty.hold(NASTY, who="anna", reason=NASTY)
    for page in (
        anna.get("/"),
        anna.get("/holds"),
        anna.get("/find"),
        anna.get("/requests/q-1"),
        anna.get("/requests/q-2"),
        anna.post("/requests/q-1/find"),
        anna.post("/search", person=NASTY),
        anna.post("/find", subject=NASTY),
        anna.post("/find", **{"value.2": NASTY}),
        anna.post("/requests/new", subject=NASTY, ids=NASTY, note=NASTY),
        anna.post("/requests/import", table=NASTY),
        anna.post("/requests/several", do="deny", id=["q-1", "q-2"], reason=NASTY, ground_text=NASTY),
    ):
        assert ESCAPED in page.text
        assert "<script>" not in page.text


def test_a_request_whose_id_has_slashes_has_a_page(service, anna):
    file(service, "p-7", "DSB 17/2026?")
    page = anna.get("/")
    assert 'href="/requests/DSB%2017/2026%3F"' in page.text
    assert anna.get("/requests/DSB%2017/2026%3F").status_code == 200
    answer = anna.post("/requests/DSB%2017%2F2026%3F/verify")
    assert answer.headers["location"] == "/requests/DSB%2017%2F2026%3F"
    assert service.desk.get("DSB 17/2026?").verified_by == "anna"

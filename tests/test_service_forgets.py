"""The desk forgets, too: once an erasure is done, nothing that the service keeps names the person any more."""

import html
import json
import re
import struct
import sys
import tempfile
import threading
from hashlib import blake2b

import pandas as pd
import pyarrow as pa
import pytest

from consoles import Visitor, words
from remains import masked, remains_in
from services import API, GROUND, TABLE, api_of, make_vault, opened, routes_of, wait_for
from test_service_api import AS_ARROW, ago, stream
from test_service_console_model import ask
from test_vault_erasure import encodings, found_in
from unlearnspn.hashing import derive_key
from unlearnspn.ids import record_keys
from unlearnspn.tables import token
from unlearnspn.vault import State
from unlearnspn.vault.database import PAGE_BYTES
from unlearnspn.vault.deadlines import latest_extension

SUBJECT, IDS = "Viktor Unvergessen", ["id-7c6f3a09-unique", "id-81b2aa47-unique", "id-e0d94c15-unique"]
NUMBER, WHOLE, TOWN = 48151623.42108, 987654321012.0, "Zwölfboxkämpfer\U0001f94a"
#: Longer than a page of the vault's file, and told by any part of it.
LONG = " ".join(f"gobbledegook{place:06}" for place in range(PAGE_BYTES // 9))
REMARK, REASON, CLAIM = "calls himself Quastenflosser", "quicksilverish in all he says", "a claim of one Klabautermann"
OLD_TOWN = "Hintertupfingen-Oberdorf"
PARTS_OF_LONG = [LONG[place : place + 30] for place in range(0, len(LONG), 900)]
NAMED = [SUBJECT, *IDS, REMARK, REASON, CLAIM]
VALUES = [NUMBER, WHOLE, TOWN, OLD_TOWN, *PARTS_OF_LONG]
FEATURES = ["age", "visits", "town", "pays"]
AGE, VISITS, TOWNS, PAYS = range(4)
REQUESTS = ["q-form", "q-table", "q-api", "q-given", "q-denied", "q-withdrawn", "q-corrected"]
#: Packages whose modules are searched for what they keep, too.
SEARCHED = {"unlearnspn", "fastapi", "starlette", "jinja2", "pydantic", "sqlite3", "re"}


def forms(value):
    """Return what the bytes of a value may be in a file, in JSON or on a page; those of a text in UTF-8 first."""
    written = [json.dumps(value)[1:-1].encode(), html.escape(value).encode()] if isinstance(value, str) else []
    return [*encodings(value), *written]


def prints():
    """Return what stands for a record, a name or a category where they are compared."""
    keys = [derive_key(0, "variable", place.to_bytes(4, "little")) for place in range(len(FEATURES))]
    categories = [struct.pack("<Q", derive_key(keys[TOWNS], "category", token(town))) for town in (TOWN, OLD_TOWN)]
    return {
        **{f"key of {name}": [record_keys([name]).tobytes()] for name in IDS},
        "prints of towns": categories,
        **{f"pattern of {name}": [re.escape(name.casefold()).encode()] for name in (SUBJECT, *IDS)},
        "digests of towns": [blake2b(token(town), digest_size=16).digest() for town in (TOWN, OLD_TOWN)],
    }


def records():
    """Return what is held on the person."""
    rows = TABLE.iloc[:3].assign(customer=IDS, person=SUBJECT, age=NUMBER, visits=WHOLE, town=TOWN, pays=LONG)
    return rows.assign(town=[TOWN, OLD_TOWN, TOWN])


@pytest.fixture
def service(tmp_path, monkeypatch):
    for name in ("vault", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    table = pd.concat([TABLE.iloc[3:], records()], ignore_index=True)
    with opened(make_vault(tmp_path / "vault", table)) as service:
        yield service


NEEDLES = {str(value): forms(value) for value in (*NAMED, *VALUES)}


class Desk:
    """A desk that is told of a person by every way there is, and searched for what it keeps of them."""

    def __init__(self, service, folder):
        self.service, self.folder = service, folder
        self.anna, self.api = Visitor(service), api_of(service)
        self.in_files, self.in_memory = set(), set()

    def post(self, path, body=None, status=200, **more):
        answer = self.api.post(f"{API}{path}", **({} if body is None else {"json": body}), **more)
        assert answer.status_code == status, answer.text
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.json() if is_json and answer.content else None

    def form(self, path, status=200, _files=None, **fields):
        answer = self.anna.post(path, _files, **fields)
        assert answer.status_code == status, words(answer)
        return answer

    def note(self):
        """Take note of what is kept now: some of it will be gone before the erasure."""
        self.in_files |= self.files()
        self.in_memory |= set(self.memory())

    def files(self):
        """Return what is named in files: of the vault, of the service, and temporary ones."""
        names = {form: name for name, found in (NEEDLES | prints()).items() for form in found}
        temporary = [path.read_bytes() for path in (self.folder / "temporary").rglob("*") if path.is_file()]
        found = {form for _, form in found_in(self.folder / "vault", names, self.service.vault)}
        return {names[form] for form in found} | {
            names[form] for form in names if any(form in each for each in temporary)
        }

    def memory(self):
        """Return what live objects of the service name, and how they are reached."""
        modules = [vars(module) for name, module in sys.modules.items() if name.partition(".")[0] in SEARCHED]
        roots = [self.service, self.anna.client.app, self.api.app, *modules]
        return remains_in(roots, masked(NEEDLES | prints()))

    def pages(self):
        """Return what pages and answers name, and where."""
        found = {}
        for answer in self._answers():
            assert answer.status_code < 500, answer.text
            for name in [
                name for name, looked_for in NEEDLES.items() if any(form in answer.content for form in looked_for)
            ]:
                found.setdefault(name, set()).add(answer.request.url.path)
        return found

    def _answers(self):
        places = {
            "request_id": REQUESTS,
            "entry": range(len(self.service.vault.log())),
            "job_id": [job.id for job in self.service.jobs.all()],
        }
        for method, path in routes_of(self.api.app):
            if method == "GET":
                client = self.api if path.startswith(API) else self.anna.client
                name = path.partition("{")[2].partition("}")[0].partition(":")[0]
                for value in places[name] if name else [None]:
                    yield client.get(path.partition("{")[0] + (str(value) + path.partition("}")[2] if name else ""))
        yield self.api.post(f"{API}/requests/search", json={})
        yield self.api.post(f"{API}/model/sample", json={"n": 300, "seed": 1})
        yield self.anna.post("/search", person="")
        yield self.anna.post("/ledger", text="q")
        yield ask(self.anna, "expectation", column=str(PAYS))
        yield self.anna.get(f"/model/pair?a={TOWNS}&b={PAYS}")


def tell_of_requests(desk):
    """Have requests filed, by form, by table and by API, and something done with each."""
    desk.form("/requests", 303, wish="erase", subject=SUBJECT, request_id="q-form", note=REMARK, received=ago(3)[:10])
    table = (
        f"wish,subject,ids,note,request_id\naccess,{SUBJECT},,{REMARK},q-table\nerase,,{' '.join(IDS)},,q-withdrawn\n"
    )
    desk.form("/requests/import", _files={"file": ("requests.csv", table.encode(), "text/csv")}, table="")
    large = f"wish,subject,note\nforget,{SUBJECT},{REMARK}\n" + f"erase,{SUBJECT},{REMARK * 40}\n" * 2000
    desk.form("/requests/import", 422, _files={"file": ("requests.csv", large.encode(), "text/csv")}, table="")
    desk.form("/requests/import", 422, table=f"wish,subject\nforget,{SUBJECT}\n")
    for name, wish in (("q-api", "correct"), ("q-given", "access"), ("q-denied", "erase"), ("q-corrected", "correct")):
        desk.post("/requests", {"wish": wish, "ids": IDS, "request_id": name, "note": f"{REMARK}: {LONG[:1900]}"}, 201)
        desk.post(f"/requests/{name}/verify-identity")
    desk.form("/requests/q-form/verify", 303)
    desk.form("/requests/q-form/note", 303, text=f"{REMARK}, of {TOWN}")
    desk.post("/requests/q-api/notes", {"text": f"{REMARK}, of {TOWN}"})
    received = desk.service.desk.get("q-form").received
    desk.form("/requests/q-form/extend", 303, until=latest_extension(received)[:10], reason=REASON)
    desk.post("/requests/q-denied/deny", {"ground": "Art. 12(5)", "reason": REASON})
    desk.form("/requests/q-withdrawn/withdraw", 303)
    desk.form("/holds", 303, subject=SUBJECT, reason=CLAIM)
    desk.note()
    desk.form("/requests/q-form/erase", 409, ground="Art. 17(1)(a)", confirmed="yes")
    desk.post("/holds/lift", {"subject": SUBJECT}, 204)


def look_for_them(desk):
    """Have them searched, found by their values, and what is held on them shown and handed over."""
    desk.post("/requests/search", {"person": SUBJECT})
    desk.form("/search", person=SUBJECT)
    for fields in ({"subject": SUBJECT}, {"id": IDS[0]}, {"value.2": TOWN[:8]}, {"value.0": str(NUMBER)}):
        assert IDS[0] in desk.form("/find", **fields).text
    desk.form("/requests/new", subject=SUBJECT, note=REMARK)
    desk.form("/requests/q-form/find")
    desk.form("/requests/q-form/try-out")
    assert desk.post("/access", {"subject": SUBJECT})["records"][0]["town"] == TOWN
    desk.post("/requests/q-given/access")
    desk.post("/removals/try-out", {"ids": IDS})
    desk.post("/requests/q-form/try-out")


def ask_the_model(desk):
    """Have the model asked about their values."""
    rows = records()[FEATURES]
    desk.post("/model/score", {"records": rows.to_dict("records")})
    desk.post("/model/score", content=stream(pa.Table.from_pandas(rows)), headers=AS_ARROW)
    desk.post("/model/impute", {"records": [{"town": TOWN, "pays": None}]})
    desk.post("/model/probability", {"event": {"town": TOWN}, "given": {"pays": LONG}})
    desk.post("/model/expectation", {"columns": ["age"], "given": {"town": [TOWN, OLD_TOWN]}})
    desk.post("/model/probability", {"event": {"town": REMARK}})
    desk.post("/model/sample", {"n": 3, "given": {"town": TOWN}})
    held_out = {"file": ("rows.csv", rows.to_csv(index=False).encode(), "text/csv")}
    desk.form("/model/held-out", 303, _files=held_out)
    assert ask(desk.anna, "probability", [(TOWNS, "=", TOWN)], [(AGE, "=", str(NUMBER))]).status_code == 200
    assert ask(desk.anna, "sample", [(TOWNS, "=", TOWN)], n_rows="5").status_code == 200


def fail_with_them(desk):
    """Ask for what is refused in words that name them, in the background, too."""
    body = {"subject": SUBJECT, "request_id": "r-1", "ground": f"{SUBJECT} asked for it"}
    desk.post("/removals", body, 422)
    desk.post("/removals", body | {"subject": f"{SUBJECT} junior", "ground": GROUND}, 404)
    desk.post("/requests/q-form/erase", {"ground": f"{SUBJECT} asked for it"}, 422)
    desk.form("/requests/q-form/deny", 422, ground="Art. 12(5)", ground_text=SUBJECT, reason=REASON)
    desk.post("/requests/q-corrected/correct", {"records": [{"customer": IDS[0], "age": TOWN}]}, 422)
    desk.post("/requests/q-corrected/correct", {"records": [{"customer": f"{IDS[0]}-x", "town": TOWN}]}, 404)
    page = desk.form("/requests/q-corrected/correct")
    assert TOWN in html.unescape(page.text)
    desk.form("/requests/q-corrected/correct", 422, save="yes", **{f"id.{place}": IDS[place] for place in range(3)})
    desk.post("/additions?request_id=a-1", {"records": records().to_dict("records")}, 422)
    desk.anna.client.post("/sign-in", data={"name": SUBJECT, "password": TOWN})
    failed = desk.post("/fits", {"request_id": "f-1", "parameters": {"factorization": SUBJECT}}, 202)
    assert SUBJECT in wait_for(desk.api, failed)["error"]


def work_in_the_background(desk):
    """Have everything verified, and the model learned anew."""
    assert wait_for(desk.api, desk.post("/verifications", status=202))["state"] == "done"
    assert wait_for(desk.api, desk.post("/fits", {"request_id": "f-2", "parameters": {"min_rows": 20}}, 202))["result"]


def correct(desk):
    """Replace one of their values, which nobody has any more from then on."""
    desk.note()
    desk.post("/requests/q-corrected/correct", {"records": [{"customer": IDS[1], "town": TOWN}]})
    desk.note()


# -- erasing -----------------------------------------------------------------------------------------------------------


def erased_by_form(desk):
    assert SUBJECT in desk.form("/requests/q-form/erase", ground="Art. 17(1)(a)").text
    desk.form("/requests/q-form/erase", ground="Art. 17(1)(a)", confirmed="yes")
    return "q-form"


def erased_among_several(desk):
    desk.form("/requests/several", do="erase", id=["q-form"], ground="Art. 17(1)(a)", confirmed="yes")
    return "q-form"


def erased_by_api(desk):
    desk.post("/requests/q-form/erase", {"ground": GROUND})
    return "q-form"


def erased_by_ids_and_form(desk):
    desk.form("/requests", 303, wish="erase", ids="\n".join(IDS), request_id="q-ids")
    desk.form("/requests/q-ids/verify", 303)
    desk.form("/requests/q-ids/erase", ground="Art. 17(1)(a)", confirmed="yes")
    return "q-ids"


def removed_by_ids(desk):
    desk.post("/removals", {"ids": IDS, "request_id": "q-ids", "ground": GROUND})
    return "q-ids"


OFTEN, DEEP = [erased_by_form, erased_by_api], [erased_among_several, erased_by_ids_and_form, removed_by_ids]


@pytest.mark.filterwarnings("ignore::unlearnspn.errors.UnseenCategoryWarning")
@pytest.mark.parametrize(
    "erase",
    [*OFTEN, *[pytest.param(way, marks=pytest.mark.deep) for way in DEEP]],
    ids=[way.__name__ for way in [*OFTEN, *DEEP]],
)
def test_nothing_names_whom_the_desk_was_told_of_by_every_way(service, tmp_path, erase):
    desk = Desk(service, tmp_path)
    for tell in (tell_of_requests, look_for_them, ask_the_model, fail_with_them, work_in_the_background, correct):
        tell(desk)
    assert desk.in_files >= set(NEEDLES)
    assert desk.in_memory >= {*NEEDLES, "prints of towns", *(f"key of {name}" for name in IDS)}
    assert set(desk.pages()) >= {*NAMED, TOWN} - {CLAIM}
    before = {name: service.desk.get(name) for name in REQUESTS}
    assert [name for name in before if before[name].is_open] == ["q-form", "q-table", "q-api"]
    own = erase(desk)
    assert_forgotten(desk)
    assert_kept(service, before, own)


def test_work_that_was_asked_for_before_an_erasure_and_fails_after_it_names_nobody(service, tmp_path):
    desk, go_on = Desk(service, tmp_path), threading.Event()
    service.jobs.start("something", "anna", lambda progress: {"waited": go_on.wait(30)})
    waiting = desk.post("/fits", {"request_id": "f-1", "parameters": {"factorization": SUBJECT}}, 202)
    desk.post("/removals", {"subject": SUBJECT, "request_id": "r-1", "ground": GROUND})
    go_on.set()
    assert "nobody keeps why" in wait_for(desk.api, waiting)["error"]
    assert_forgotten(desk)


def assert_forgotten(desk):
    assert desk.files() == set()
    assert desk.memory() == {}
    assert desk.pages() == {}


def assert_kept(service, before, own):
    """Make sure that all that names nobody is still there, with the certificate's commitment."""
    removal = service.vault.log()[-1].statement
    assert removal.request.id == own
    for old in before.values():
        now = service.desk.get(old.id)
        assert now.is_nameless
        assert now.commitment == removal.commitment
        assert (now.wish, now.received, now.due, now.is_extended) == (old.wish, old.received, old.due, old.is_extended)
        assert [step.what for step in now.steps][: len(old.steps)] == [step.what for step in old.steps]
        assert {step.note for step in now.steps} == {""}
        assert now.state is (State.DONE if old.is_open else old.state)
        assert now.entry == (removal.link.entry if old.is_open else old.entry)
        assert old.is_open or now.ground == old.ground
    assert service.desk.get(own).ground.startswith("Art. 17(1)")
    assert service.vault.verify()


# -- whom nobody knows -------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(tmp_path):
    """A desk of a vault that holds nothing of the person."""
    for name in ("vault", "temporary"):
        (tmp_path / name).mkdir()
    with opened(make_vault(tmp_path / "vault")) as service:
        yield Desk(service, tmp_path)


def test_nothing_is_kept_of_a_removal_of_somebody_who_is_not_there(stranger):
    stranger.post("/removals", {"subject": SUBJECT, "request_id": "r-1", "ground": GROUND}, 404)
    stranger.post("/removals", {"ids": IDS, "request_id": "r-2", "ground": GROUND}, 404)
    stranger.post("/removals", {"ids": [*IDS, "c-1"], "request_id": "r-3", "ground": GROUND}, 404)
    stranger.post("/removals", {"subject": SUBJECT, "request_id": "r-4", "ground": f"{SUBJECT} wants it"}, 422)
    stranger.post("/removals/try-out", {"subject": SUBJECT}, 404)
    stranger.post("/access", {"subject": SUBJECT}, 404)
    stranger.post("/holds", {"subject": SUBJECT, "reason": CLAIM}, 404)
    assert_forgotten(stranger)
    assert stranger.service.desk.requests() == []


@pytest.mark.parametrize("how", ["deny", "withdraw"])
def test_nothing_is_kept_of_a_closed_request_of_somebody_who_is_not_there(stranger, how):
    stranger.form("/requests", 303, wish="erase", subject=SUBJECT, request_id="q-form", note=REMARK)
    stranger.post("/requests", {"wish": "access", "ids": IDS, "request_id": "q-api", "note": TOWN}, 201)
    stranger.note()
    assert stranger.in_files >= {SUBJECT, *IDS, REMARK, TOWN} <= stranger.in_memory
    for name in ("q-form", "q-api"):
        reason = {"ground": "Art. 12(5)", "reason": REASON} if how == "deny" else {}
        stranger.form(f"/requests/{name}/{how}", 303, **reason)
    assert_forgotten(stranger)

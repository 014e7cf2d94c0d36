"""Names, values and texts that try to be script: none runs, on any page, whoever has written it."""

import pytest

from conftest import PASSWORD, add_users
from serving import serving
from unlearnspn import Vault
from unlearnspn.service.desk_service import DeskService, Person
from unlearnspn.service.roles import Role
from unlearnspn.vault import Wish
from vault_states import people

SCRIPT = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}<svg onload=alert(3)>"


def hostile_table():
    """Return people whose names, values and columns are script."""
    table = people(120)
    table["customer"] = [f"{SCRIPT}{item}" for item in table["customer"]]
    table["person"] = [f"{SCRIPT}{item}" for item in table["person"]]
    table["town"] = [f"{town}{SCRIPT}" for town in table["town"]]
    return table.rename(columns={"pays": f"pays{SCRIPT}", "age": f"</title>{SCRIPT}age"})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A service whose vault, inbox, users, tokens and ledger are full of script."""
    path = tmp_path_factory.mktemp("hostile") / "people.uspn"
    table = hostile_table()
    with Vault.create(path, operator="init") as vault:
        vault.ingest(table, "customer", "person", operator=SCRIPT[:150])
        vault.fit(min_rows=20, operator=f"<b>{SCRIPT[:100]}")
    add_users(path)
    service = DeskService.open(path)
    subjects = sorted(set(table["person"]))
    for number, wish in enumerate([Wish.ERASE, Wish.ERASE, Wish.ACCESS, Wish.CORRECT]):
        person, name = Person(subjects[number // 2]), f"q-{number}"
        service.file(wish, person, who=SCRIPT[:150], request_id=name, note=SCRIPT)
        service.verify_identity(name, who=f"{SCRIPT[:100]}")
        service.note(name, SCRIPT, who="anna")
    service.file(Wish.ERASE, Person(None, (table["customer"][90],)), who="anna", request_id="q-ids")
    service.deny("q-ids", ground=f"Art. 12(5) {SCRIPT}", who="anna", reason=SCRIPT)
    service.hold(subjects[9], who="anna", reason=SCRIPT)
    service.accounts.add(f"mallory{SCRIPT[:100]}", Role.AUDITOR, PASSWORD)
    service.tokens.add(SCRIPT[:90], ["ledger:read"], 3, "anna")
    service.audit.write(SCRIPT, SCRIPT, SCRIPT)
    service.close()
    with serving(path) as served:
        yield served.url, subjects


def look_at(visitor):
    """Nothing of the page came from a text of somebody, and all of it is still there as a text."""
    made = visitor.page.locator("img[src='x'], script:not([src]), svg[onload]").count()
    assert made == 0, visitor.page.url
    assert "49<svg" not in visitor.text(), "a text was taken for a template"


@pytest.mark.parametrize("user", ["anna", "rolf"])
def test_no_page_runs_what_a_text_says(hostile, visit, user):
    url, _ = hostile
    visitor = visit(url)
    visitor.sign_in(user)
    pages = ["/", "/requests/new", "/holds", "/ledger", "/ledger/1", "/ledger/2", "/model", "/model/network"]
    pages += ["/model/pair", "/model/questions", "/people", "/audit", *(f"/requests/q-{n}" for n in range(4))]
    for path in [*pages, "/requests/q-ids", "/requests/%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/<script>"]:
        visitor.go(path)
        look_at(visitor)
    for path in ("/?state=<script>alert(1)</script>", "/ledger?search=%22><script>alert(1)</script>&action=<b>"):
        visitor.go(path)
        look_at(visitor)


def test_what_is_typed_comes_back_as_text(hostile, visit):
    url, subjects = hostile
    visitor = visit(url)
    page = visitor.page
    visitor.go("/sign-in")
    page.get_by_label("Name").fill(SCRIPT)
    page.get_by_label("Password").fill(SCRIPT)
    with page.expect_navigation():
        page.locator("main button").click()
    look_at(visitor)
    visitor.sign_in("anna")
    page.get_by_role("searchbox").fill(SCRIPT)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    look_at(visitor)
    visitor.go("/requests/q-0")
    visitor.click("button", "Show what is held")
    look_at(visitor)
    visitor.go("/requests/q-0")
    visitor.click("button", "Try it out")
    look_at(visitor)
    visitor.go("/requests/q-3")
    visitor.click("button", "Open the form")
    look_at(visitor)
    visitor.go("/requests/new")
    page.get_by_label("Subject").first.fill(f"nobody{SCRIPT}")
    page.get_by_label("or paste the table here").fill(f"wish,subject\nsell,{SCRIPT}\n")
    visitor.click("button", "Check and file all")
    look_at(visitor)
    visitor.go("/requests/q-0")
    page.locator("form[action$='/erase'] select").select_option(index=1)
    visitor.click("button", "Approve and erase …")
    look_at(visitor)
    visitor.click("button", "Erase for good")
    look_at(visitor)
    assert "The person was erased" in visitor.text()
    visitor.go("/")
    assert subjects[0] not in visitor.text()

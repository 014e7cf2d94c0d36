"""A hundred thousand people, and thousands of requests: pages stay quick."""

import time

import pytest

from conftest import add_users, make_vault
from serving import serving
from unlearnspn.service.desk_service import DeskService
from unlearnspn.vault import Wish
from unlearnspn.vault.inbox import NewRequest
from vault_states import people

N_PEOPLE, N_REQUESTS = 100_000, 5000
#: How long a page may take, from the click until it is there; beside other work on the machine.
SECONDS = 2.0


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "people.uspn"
    table = people(N_PEOPLE)
    table["person"] = [f"p-{number}" for number in range(N_PEOPLE)]
    make_vault(path, table)
    add_users(path)
    service = DeskService.open(path)
    service.desk.file_all([NewRequest(Wish.ERASE, f"p-{3 * number}") for number in range(N_REQUESTS)], who="web")
    service.close()
    with serving(path) as served:
        yield served.url


def test_pages_stay_quick(many, visit):
    visitor = visit(many)
    visitor.sign_in("anna")
    page, slow = visitor.page, {}

    def within(what, act):
        began = time.monotonic()
        act()
        page.wait_for_load_state()
        seconds = time.monotonic() - began
        if seconds > SECONDS:
            slow[what] = seconds

    within("inbox", lambda: visitor.go("/"))
    within("last pages of the inbox", lambda: visitor.go("/?page=90"))
    within("ledger", lambda: visitor.go("/ledger"))
    within("model", lambda: visitor.go("/model"))
    visitor.go("/")
    page.get_by_role("searchbox").fill("p-14997")
    within("search", lambda: visitor.click("button", "Search"))
    assert "p-14997" in visitor.text()
    within("request", page.locator("tbody a[href^='/requests/']").first.click)
    within("identity", lambda: visitor.click("button", "I have verified the identity"))
    within("what is held", lambda: visitor.click("button", "Show what is held"))
    within("back", lambda: visitor.click("link", "Back to the request"))
    within("try out", lambda: visitor.click("button", "Try it out"))
    within("back again", lambda: visitor.click("link", "Back to the request"))
    page.locator("form[action$='/erase'] select").select_option(index=1)
    within("approve", lambda: visitor.click("button", "Approve and erase …"))
    within("erase", lambda: visitor.click("button", "Erase for good"))
    assert "The person was erased" in visitor.text()
    assert slow == {}

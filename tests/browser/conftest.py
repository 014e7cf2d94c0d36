"""A real browser before a real service. It is Chromium as the system has it; `CHROMIUM` names another one."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from serving import serving
from unlearnspn import Vault
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.roles import Role
from vault_states import people

PASSWORD = "correct horse battery"
#: Chromium calls nobody: the service must work offline, and so must the tests.
_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert path, "there is no Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield browser
        browser.close()


class Visitor:
    """Somebody at a browser, who fails if a page runs what it should not, or calls others."""

    def __init__(self, browser, url, **options):
        self.url = url
        self.problems = []
        self.context = browser.new_context(accept_downloads=True, **({"locale": "en-GB"} | options))
        self.context.on("request", self._note_request)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("dialog", lambda dialog: (self.problems.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("pageerror", lambda error: self.problems.append(f"a script failed: {error}"))
        self.page.on("console", self._note_message)

    def _note_request(self, request):
        if not request.url.startswith((self.url, "data:")):
            self.problems.append(f"somebody else is called: {request.url}")

    def _note_message(self, message):
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.problems.append(f"the browser says: {message.text}")

    def go(self, path):
        """Open a page of the service."""
        return self.page.goto(self.url + path)

    def sign_in(self, name, password=PASSWORD):
        """Sign in."""
        self.go("/sign-in")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.locator("main").get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(self.url + "/")

    def click(self, role, name, **options):
        """Click on something by its role and name."""
        self.page.get_by_role(role, name=name, **options).first.click()

    def text(self):
        """Return all that the page says."""
        return self.page.locator("body").inner_text()

    def download(self, act):
        """Do something that begins a download; return its content."""
        with self.page.expect_download() as waiting:
            act()
        return Path(waiting.value.path()).read_bytes()


@pytest.fixture
def visit(browser):
    """Return what opens a browser for somebody at a service; at the end nothing may have gone wrong in it."""
    visitors = []

    def open_browser(url, **options):
        visitors.append(Visitor(browser, url, **options))
        return visitors[-1]

    yield open_browser
    for visitor in visitors:
        assert visitor.problems == []
        visitor.context.close()


def make_vault(path, table):
    """Make a vault of people with a model."""
    with Vault.create(path) as vault:
        vault.ingest(table, "customer", "person")
        vault.fit(min_rows=max(20, len(table) // 8))


def add_users(path):
    """Add an officer and an auditor."""
    service = DeskService.open(path)
    try:
        service.accounts.add("anna", Role.OFFICER, PASSWORD)
        service.accounts.add("rolf", Role.AUDITOR, PASSWORD)
    finally:
        service.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A service that runs, with an officer and an auditor; the path of its vault, and its address."""
    path = tmp_path_factory.mktemp("desk") / "people.uspn"
    make_vault(path, people(300))
    add_users(path)
    with serving(path) as served:
        yield path, served.url

"""An auditor, a keyboard without a mouse, a narrow screen, a dark one, and German."""

import re

import pytest

#: All pages that need no request of their own.
PAGES = [
    *("/", "/requests/new", "/holds", "/find", "/ledger", "/ledger/1", "/ledger/2"),
    *("/model", "/model/network", "/model/pair", "/model/questions", "/people", "/audit", "/account"),
]


def file_request(visitor, subject, wish="Erasure"):
    """File a request, and return its id."""
    visitor.go("/requests/new")
    visitor.page.get_by_label(wish).first.check()
    visitor.page.get_by_label("Subject").first.fill(subject)
    visitor.click("button", "File the request")
    return re.search(r"/requests/(\S+)$", visitor.page.url)[1]


@pytest.fixture(scope="module")
def request_id(desk, browser):
    """A request of a person, whose identity is verified."""
    from conftest import Visitor

    visitor = Visitor(browser, desk[1])
    visitor.sign_in("anna")
    found = file_request(visitor, "p-5")
    visitor.click("button", "I have verified the identity")
    visitor.context.close()
    return found


def test_an_auditor_who_tries_to_remove_is_refused(desk, visit, request_id):
    visitor = visit(desk[1])
    visitor.sign_in("rolf")
    visitor.go(f"/requests/{request_id}")
    for words in ("Approve and erase", "Show what is held", "Deny", "Add the remark"):
        assert words not in visitor.text()
    csrf = visitor.page.locator("input[name=csrf]").first.get_attribute("value")
    for path, fields in (
        (f"/requests/{request_id}/erase", {"ground": "Art. 17(1)(b)", "confirmed": "yes"}),
        (f"/requests/{request_id}/find", {}),
        ("/requests", {"wish": "erase", "subject": "p-6"}),
        ("/people", {"name": "eve", "role": "officer", "password": "correct horse battery"}),
    ):
        answer = visitor.context.request.post(visitor.url + path, form={"csrf": csrf, **fields}, max_redirects=0)
        assert answer.status in (403, 404)
    visitor.go("/ledger")
    visitor.click("button", "Verify everything now")
    visitor.page.get_by_text("VERIFIED", exact=True).wait_for()


def press_until(page, selector, key="Tab", most=200):
    """Go on with a key until something has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by the keyboard on {page.url}")


def follow(page, key="Enter"):
    """Press a key that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_by_the_keyboard_alone(desk, visit):
    visitor = visit(desk[1])
    page = visitor.page
    visitor.go("/sign-in")
    press_until(page, "input[name=name]")
    page.keyboard.type("anna")
    press_until(page, "input[name=password]")
    page.keyboard.type("correct horse battery")
    follow(page)
    press_until(page, "a[href='/requests/new']")
    follow(page)
    press_until(page, "input[name=subject]")
    page.keyboard.type("p-31")
    follow(page)
    press_until(page, "form[action$='/verify'] button")
    follow(page)
    press_until(page, "form[action$='/erase'] select")
    page.keyboard.press("ArrowDown")
    press_until(page, "form[action$='/erase'] button")
    follow(page)
    press_until(page, "form[action$='/erase'] button")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    follow(page)
    assert "The person was erased" in visitor.text()
    press_until(page, "a[download]")
    content = visitor.download(lambda: page.keyboard.press("Enter"))
    assert b'"p-31"' in content


def overflow(page):
    """Return by how many pixels a page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_narrow_screen(desk, visit, request_id):
    visitor = visit(desk[1], viewport={"width": 360, "height": 740}, has_touch=True)
    visitor.sign_in("anna")
    too_wide = {}
    for path in [*PAGES, f"/requests/{request_id}"]:
        assert visitor.go(path).status == 200, path
        if overflow(visitor.page) > 0:
            too_wide[path] = overflow(visitor.page)
    assert too_wide == {}


_CONTRASTS = """() => {
  const shade = text => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    const part = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return {light: 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b), opaque: a === 1};
  };
  const ground = node => {
    for (; node; node = node.parentElement) {
      const found = shade(getComputedStyle(node).backgroundColor);
      if (found.opaque) return found.light;
    }
    return 1;
  };
  const poor = [];
  for (const node of document.querySelectorAll("h1,h2,p,a,button,td,th,label,span,dt,dd,summary,li,small")) {
    if (!node.offsetParent || !node.innerText.trim() || node.closest("[disabled]")) continue;
    const [a, b] = [shade(getComputedStyle(node).color).light, ground(node)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) poor.push(node.innerText.slice(0, 40) + ": " + contrast.toFixed(2));
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read(desk, visit, request_id, scheme):
    """Each text has the contrast that WCAG 2 asks for, by day and by night."""
    visitor = visit(desk[1], color_scheme=scheme)
    visitor.sign_in("anna")
    for path in [*PAGES, f"/requests/{request_id}"]:
        visitor.go(path)
        assert visitor.page.evaluate(_CONTRASTS) == [], path
        ground = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground))) < 80) == (scheme == "dark")


_UNNAMED = """() => [...document.querySelectorAll("input,select,textarea,button,a,img,svg[role=img]")]
  .filter(node => node.type !== "hidden")
  .filter(node => node.offsetParent !== null || node.tagName === "svg")
  .filter(node => !(node.labels?.length || node.getAttribute("aria-label") || node.getAttribute("aria-labelledby")
    || node.textContent.trim() || node.querySelector("title") || node.getAttribute("alt")))
  .map(node => node.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_everything_has_a_name_for_screen_readers(desk, visit, request_id, language):
    visitor = visit(desk[1], locale=language)
    visitor.go("/sign-in")
    visitor.page.locator("input[name=name]").fill("anna")
    visitor.page.locator("input[name=password]").fill("correct horse battery")
    visitor.page.locator("main button").click()
    for path in [*PAGES, f"/requests/{request_id}"]:
        visitor.go(path)
        page = visitor.page
        assert page.evaluate(_UNNAMED) == [], path
        assert page.locator("h1").count() == 1, path
        assert page.locator("html").get_attribute("lang") == language[:2]
        repeated = page.evaluate(
            "() => [...document.querySelectorAll('[id]')].map(n => n.id).filter((id, i, all) => all.indexOf(id) !== i)"
        )
        assert repeated == [], path

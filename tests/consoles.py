"""What tests of the console share: somebody who looks at pages and sends their forms, as a browser does."""

import base64
import html
import re

from services import add_user, sign_in
from unlearnspn.service.roles import Role

_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_DOWNLOAD = re.compile(r'<a[^>]*download="([^"]+)"[^>]*href="data:[^";]*(?:;charset=utf-8)?;base64,([^"]+)"')


class Visitor:
    """Somebody who has signed in."""

    def __init__(self, service, role=Role.OFFICER, language="en", name=None):
        self.service = service
        self.name = name or ("anna" if role is Role.OFFICER else "rolf")
        if self.name not in [user.name for user in service.accounts.all()]:
            add_user(service, self.name, role)
        self.client = sign_in(service, self.name, **{"accept-language": language})
        self.csrf = csrf_of(self.client.get("/"))

    def get(self, path):
        """Look at a page."""
        return self.client.get(path)

    def post(self, path, _files=None, **fields):
        """Send a form with the token of the session."""
        return self.client.post(path, data={"csrf": self.csrf} | fields, files=_files)


def csrf_of(page):
    """Return the token that forms of a page send along."""
    found = _CSRF.search(page.text)
    assert found is not None, page.text
    return html.unescape(found[1])


def words(page):
    """Return the text of a page without tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def downloads(page):
    """Return the files that a page holds in its links, by their names."""
    return {name: base64.b64decode(content) for name, content in _DOWNLOAD.findall(page.text)}

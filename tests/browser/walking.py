"""Doing what a page of the docs says: its commands in a shell, and its steps in a browser.

A step says `Fill **Label** with `value``, `Choose `value` in **Label**`, `Tick **Label**`, `Click **Name**` or
`See **text**`, in any case and any sentence.
"""

import re

_STEP = re.compile(
    r"(?:\b[Ff]ill \*\*(?P<field>[^*]+)\*\* with `(?P<value>[^`]*)`)"
    r"|(?:\b[Cc]hoose `(?P<option>[^`]*)` in \*\*(?P<list>[^*]+)\*\*)"
    r"|(?:\b[Tt]ick \*\*(?P<box>[^*]+)\*\*)"
    r"|(?:\b[Cc]lick \*\*(?P<click>[^*]+)\*\*)"
    r"|(?:\b[Ss]ee \*\*(?P<see>[^*]+)\*\*)"
)
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shell_blocks(text):
    """Return the commands of a page."""
    return _BLOCK.findall(text)


def steps(text):
    """Return what is to be done in a browser, in order; line ends do not count."""
    return [found.groupdict() for found in _STEP.finditer(" ".join(text.split()))]


def labelled(page, label):
    """Return the field whose label begins so; hints may follow."""
    return page.get_by_label(re.compile(rf"^\s*{re.escape(label)}")).first


def take_step(page, step):
    """Do what a step says."""
    if step["field"]:
        labelled(page, step["field"]).fill(step["value"])
    elif step["list"]:
        labelled(page, step["list"]).select_option(label=step["option"])
    elif step["box"]:
        labelled(page, step["box"]).check()
    elif step["click"]:
        name = step["click"]
        button = page.get_by_role("button", name=name, exact=True)
        (button if button.count() else page.get_by_role("link", name=name, exact=True)).first.click()
        page.wait_for_load_state()
    else:
        page.get_by_text(step["see"]).first.wait_for()
